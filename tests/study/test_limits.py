"""Configs that the plan refuses because their jobs would fail or never end."""

import json
import time

import pytest
from conftest import ROOT, SYSTEMS, config, experiment, refused

from circlet.cli import main
from circlet.errors import ConfigError
from circlet.lazy_import import load
from circlet.study import cost, limits, planning
from circlet.study.seeds import Seeds
from circlet.training import autograd

# Far more than any of these plans takes, far less than forever.
SECONDS = 5


def message(make):
    began = time.process_time()
    text = refused(make)
    assert time.process_time() - began < SECONDS
    assert len(text) < 1200
    return text


def of(*experiments):
    names = [f"e{i}" for i in range(len(experiments))]
    return {"results": "r", "experiments": dict(zip(names, experiments, strict=True))}


def decays(n):
    return {"weight_decay": [i / 2**15 for i in range(n)]}


START = 2**31 - 2
KEEP = [{"keep": {"frequencies": list(range(1, 81))}}]

# Configs that were accepted once, and then failed in the job or never ended.
REFUSED = {
    "large seed": (config(seeds={"count": 2, "first": 2**31}), "e.seeds.first: 2147483648 is"),
    "last seed": (config(seeds={"count": 4, "first": START}), "the last seed would be 2147483649"),
    "shared seed": (config(seeds={"count": 2, "embedding": 2**31}), "e.seeds.embedding"),
    "shared seeds": (config(seeds={"count": 2, "network": [2**31]}), "e.seeds.network"),
    "an option": (config("-x"), "results: '-x' is not a plain path"),
    "here": (config("."), "results: '.' must be a folder of its own"),
    "long path": (config("x/" * 600), "results: has 1200 characters"),
    "two zeros": (config(sweep={"weight_decay": [0.0, -0.0]}), "two points are p17_d2_wd0: "),
    "long name": (config(system="embedding_mlp", parameters={"p": 163}, interventions=KEEP),
                  "makes a name of 2"),
    "nothing to train on": (
        config(system="embedding_mlp", sweep={"p": [59, 3]}, parameters={"train_fraction": 0.1}),
        "p3_d128_train_fraction-0.1_wd0.5 has p = 3, train_fraction = 0.1"),
    "many logged steps": (config(steps=10**7, log={"parameters": {"every": 1}}),
                          "e.log.parameters: more than 1000000 steps of a log; log fewer"),
    "large log": (config(steps=10**6, log={"parameters": {"every": 1}},
                         block=40, seeds={"count": 40}),
                  "e.log.parameters: a block of p17_d2_wd0 would have 27640027640 values"),
    "large parameter": (config(parameters={"hidden": 2**31}), "hidden: 2147483648 is greater"),
    "many steps": (config(steps=10**18), "steps: 1000000000000000000 is greater than"),
    "many epochs": (config(system="sparse_transformer", epochs=2**30), "are 68719476736 steps"),
    "many blocks": (config(block=1, seeds={"count": 10**7}),
                    "with it the study has 10000000 blocks, at most 100000"),
    "many points": (config(sweep=decays(10**4) | {"d": [1, 2, 3]}), "the study has 30000 points"),
    "many points in all": (of(*[experiment(sweep=decays(10**4))] * 3), "the study has 30000 point"),
    "many values": (config(sweep=decays(20_000)), "sweep.weight_decay: has 20000 entries"),
    "many cases": (config(cases=[{"p": 5}] * 20_000), "e.cases: has 20000 entries"),
    "many per decade": (config(log={"signals": {"per_decade": 10**9}}), "maximum of 1000"),
    "many experiments": (of(*[experiment()] * 1001), "experiments: has 1001 entries"),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "expected"), REFUSED.values(), ids=REFUSED)
def test_what_no_job_can_do_is_refused_in_one_line(monkeypatch, changes, expected):
    monkeypatch.chdir(ROOT)
    assert expected in message(lambda: planning.plan(changes))


DOCUMENTS = {
    "missing": (None, "No such file"),
    "UTF-16": ("results: r".encode("utf-16"), "not YAML: 'utf-8' codec"),
    "an object": (b"results: !!python/object/apply:os.system [id]", "could not determine"),
}


@pytest.mark.parametrize(("text", "expected"), DOCUMENTS.values(), ids=DOCUMENTS)
def test_what_is_no_config_ends_soon_and_in_one_line(tmp_path, text, expected):
    path = tmp_path / "c.yaml"
    if text:
        path.write_bytes(text)
    assert expected in message(lambda: planning.plan_file(path))


def test_a_study_as_json_is_refused_in_one_line(error_of):
    for text, expected in (("{", "--study: cannot be read as JSON"), ("5", "must be a mapping")):
        [line] = error_of("plan", "--study", text).splitlines()
        assert expected in line


def test_no_name_is_longer_than_a_file_system_allows():
    """The SLURM plugin makes one name from all wildcards of a job."""
    for n in range(50, 80):
        keep = [{"keep": {"frequencies": list(range(1, n))}}]
        changes = config(system="embedding_mlp", parameters={"p": 163}, interventions=keep)
        try:
            study = planning.plan(changes)
        except ConfigError:
            break
        block = next(study.blocks)
        assert len("_".join(block.key)) <= limits.LONGEST_NAME
    assert 50 < n < 79


@pytest.mark.parametrize("system", SYSTEMS)
def test_the_largest_log_that_the_plan_allows_fits_into_its_file(system):
    """The plan only knows the maximal length of names."""
    point = planning.plan(config(system=system)).points[0]
    arrays = autograd.equations(SYSTEMS[system]).initial(point.parameters, Seeds(0, 0, 0, 0))
    assert sum(map(len, arrays)) <= cost.NAMES_BYTES
    assert sum(array.size for array in arrays.values()) == cost.weights(point)
    if "embeddings" in point.logs:
        assert arrays["embedding"].size == cost.values(point, "embeddings")


@pytest.mark.parametrize("system", ["constant_attention", "embedding_mlp"])
@pytest.mark.parametrize("fraction", [1e-9, 0.0123, 0.1, 0.5, 0.99, 1 - 2**-53])
@pytest.mark.parametrize("p", [3, 4, 64])
def test_the_plan_knows_whether_there_are_pairs_to_train_and_to_test_on(system, fraction, p):
    parameters = {"p": p, "train_fraction": fraction}
    equations, defaults = load(SYSTEMS[system].equations), SYSTEMS[system].defaults
    mask = equations.train_mask(defaults | parameters, Seeds(0, 0, 0, 0))
    try:
        planning.plan(config(system=system, parameters=parameters))
    except ConfigError:
        assert not mask.any() or mask.all()
    else:
        assert mask.any()
        assert not mask.all()


def test_a_base_of_many_points_is_found_at_once():
    keep = [{"keep": {"strongest": 1, "of": "e0"}}]
    settings = experiment("embedding_mlp", sweep=decays(5000))
    began = time.process_time()
    study = planning.plan(of(settings, settings | {"interventions": keep}))
    assert time.process_time() - began < SECONDS
    for point in study.experiment("e1")[::999]:
        assert point.parent.parameters == point.parameters


def test_a_base_with_fewer_seeds_is_named():
    keep = [{"keep": {"strongest": 1, "of": "e0"}}]
    few = experiment("embedding_mlp", seeds={"first": 4, "count": 4})
    many = few | {"block": 50_000, "interventions": keep, "seeds": {"count": 10**9}}
    changes = of(few, many)
    assert "e0, which it starts from, has no seed 0" in message(lambda: planning.plan(changes))
    changes["experiments"]["e1"] |= {"block": 2, "seeds": {"first": 4, "count": 6}}
    assert "e0, which it starts from, has no seed 8" in message(lambda: planning.plan(changes))


def test_a_hundred_thousand_runs_are_planned_in_a_second(capsys):
    study = json.dumps(config(sweep=decays(200), block=50, seeds={"count": 500}))
    main(["plan", "--study", study])  # reads the declarations of modules, to cache them
    capsys.readouterr()
    began = time.process_time()
    main(["plan", "--study", study])
    assert time.process_time() - began < 1
    assert "100000" in capsys.readouterr().out


def test_a_study_is_packed_for_its_jobs():
    text = json.dumps({"results": "r'", "steps": [*range(50_000)]})
    packed = planning.packed(text)
    assert len(packed) < planning.MAX_ARGUMENT < len(text)
    assert not set(packed) & set("'\" \\$")
    assert planning.argument(text) == packed
    assert planning.unpacked(packed) == planning.unpacked(text) == text
