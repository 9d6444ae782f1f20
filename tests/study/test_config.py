import json

import pytest
import reference
import yaml
from conftest import ROOT, SYSTEMS, config, experiment, refused

from circlet.config import schema
from circlet.config.collection import CollectionFile
from circlet.config.experiment import Schedule, Seeds
from circlet.study import planning, registry

LOW = {"metric": "test_loss", "below": 1}


def milestones(**given):
    return config() | {"milestones": given}


BAD = {
    "missing steps": (
        {"results": "r", "experiments": {"e": {"system": "particles", "seeds": {"count": 50}}}},
        "experiments.e: needs steps or epochs"),
    "misspelt key": ({"results": "r", "experiments": {"e": {"system": "particles", "step": 5}}},
                     "experiments.e: unknown key 'step'"),
    "no results": ({"experiments": {"e": experiment()}}, "needs 'results'"),
    "no list": (config(sweep={"p": 11}), "e.sweep.p: 11 must be a list: write [11]"),
    "two types": (config(dtype=["float32"]), "e.dtype: ['float32'] is a list: what varies"),
    "no mapping": (config(seeds=40), "e.seeds: 40 must be a mapping of keys"),
    "text": (config(sweep={"p": [11, "13"]}), "e.sweep.p: '13' is not of type 'integer'"),
    "wrong type": (config(steps="many"), "experiments.e.steps: 'many' is not of type 'integer'"),
    "a list": (config(parameters={"d": [2, 3]}), "what varies goes under `sweep`"),
    "until alone": (config(log={"signals": {"until": 3}}), "`until` limits `every`"),
    "YAML's 1e-4": (config(parameters={"learning_rate": "1e-4"}), "as text, write 0.0001"),
    "all pairs": (config(parameters={"train_fraction": 1}),
                  "train_fraction: 1.0 must be below 1"),
    "negative, swept": (config(sweep={"weight_decay": [0, -1]}), "weight_decay: -1.0 is less"),
    "nan": (config(parameters={"learning_rate": float("nan")}), "rate: nan must be finite"),
    "infinite": (config(sweep={"weight_decay": [float("inf")]}), "decay.0: inf must be finite"),
    "nan of a milestone": (milestones(low={"metric": "train_loss", "below": float("nan")}),
                      "milestones.low.below: nan must be finite"),
    "no block": (config(block="ten"), "experiments.e.block: 'ten' is not of type 'integer'"),
    "unknown parameter": (config(sweep={"wd": [1]}), "e.sweep: unknown key 'wd'"),
    "empty sweep": (config(sweep={"weight_decay": []}), "weight_decay: [] should be non-empty"),
    "both fixed and swept": (config(parameters={"p": 5}, sweep={"p": [5]}), "'p' is both"),
    "both swept and listed": (config(sweep={"p": [5]}, cases=[{"p": 7}]), "in sweep and in cases"),
    "no experiments": ({"results": "r", "experiments": {}}, "experiments: {} should be non-empty"),
    "slash in a name": ({"results": "r", "experiments": {"a/b": experiment()}},
                        "'a/b' is not a valid name"),
    "space in results": (config("my results"), "results: 'my results' is not a plain path"),
    "ragged blocks": (config(block=50, seeds={"count": 120}), "120 is not a multiple of the block"),
    "ragged start": (config(seeds={"count": 2, "first": 1}), "seeds.first: 1 is not a multiple"),
    "late step": (config(log={"embeddings": {"at": [6]}}), "log.embeddings.at: step 6 is beyond"),
    "role of nobody": (config() | {"reproduce": {"table1": "x"}}, "experiment 'x' (there are: e)"),
    "role in 3-D": (config(parameters={"d": 3}) | {"reproduce": {"table1": "e"}}, "with d = 2"),
    "role without the signals that it fits": (
        config(system="embedding_mlp", steps=50, log={"signals": {"every": 5}})
        | {"reproduce": {"ode_dimensions": "e"}}, "logs signals of every step to 50, e does not"),
    "number as a name": ({"results": "r", "experiments": {2024: experiment()}},
                         "2024 is not a valid name"),
    "keys of mixed types": (config() | {1: 2, "x": 3}, "unknown key '1', 'x'"),
    "unknown role": (config() | {"reproduce": {"table9": "e"}}, "unknown key 'table9'"),
    "no value": (config(steps=None), "e.steps: has no value: give one, or leave it out"),
    "a milestone that is not there": (milestones(memorised_stpe=None),
                                      "did you mean 'memorised_step'?"),
    "half a delay": (milestones(a=LOW | {"from": "memorised_step"}), "or from and to"),
    "a delay from nothing": (milestones(memorised_step=None),
                             "remove this usual one, too, with `delay: null`"),
    "a delay to nothing": (milestones(wait={"from": "memorised_step", "to": "x"}),
                           "no milestone with a metric 'x' (there are: m"),
    "a delay with a metric": (
        milestones(wait={
            "from": "memorised_step", "to": "generalised_step", "metric": "test_loss"}),
        "wait: with from and to, remove metric"),
    "a delay by a metric": (milestones(delay={"metric": "test_loss"}),
                            "delay: must have a metric, and either above or"),
    "unknown metric": (milestones(fast={"metric": "test_acuracy", "above": 1}),
                       "fast.metric: no system has a metric"),
    "no threshold": (milestones(fast={"metric": "test_loss"}),
                     "fast: must have a metric, and either above or below"),
    "two thresholds": (milestones(fast=LOW | {"above": 1}), "either above or below"),
    "an outcome as a milestone": (milestones(is_circle=LOW), "is also an outcome of a system"),
    "a column as a milestone": (milestones(run_id=LOW), "run_id: is also a column of tables"),
    "a parameter": (milestones(weight_decay=LOW), "weight_decay: is also a column of tables"),
    "a metric as a milestone": (milestones(train_loss=LOW), "loss: is also a column of tables"),
    "another milestone's column": (
        milestones(delay_after=LOW),
        "delay_after: is also a column of the milestone delay; choose another name, or remove"),
    "cases and a sample": (config(cases=[{"p": 5}, {"p": 7}], sample=5), "both cases and sample"),
    "more seeds nowhere": (
        config(cases=[{"p": 5, "d": 3}, {"p": 7}],
               seeds={"count": 2, "more": [{"where": {"p": 5, "d": 2}, "count": 4}]}),
        "e.seeds.more.0.where: no point has all of these values"),
    "two parents": (
        {"results": "r", "experiments": {
            "a": experiment("sparse_transformer"), "b": experiment("sparse_transformer"),
            "c": experiment("embedding_mlp", interventions=[
                {"keep": {"strongest": 1, "of": "a"}}, {"transfer": {"of": "b"}}])}},
        "c.interventions: all must start from one experiment, not a and b"),
    "dtype": (config(dtype="float16"), "e.dtype: 'float16' is not one of"),
    "k": (config(system="sparse_transformer", parameters={"k": 13}), "needs k <= length, but "),
    "vocabulary": (config(system="sparse_transformer", parameters={"p": 4}),
                   "needs vocabulary >= p, but "),
    "large batch": (config(system="sparse_transformer", parameters={"batch_size": 4096}),
                    "has n_train = 2048, batch_size = 4096"),
    "epochs": (config(epochs=5), "e.epochs: constant_attention has no batches; give steps"),
    "log of epochs": (config(log={"curves": {"every_epochs": 1}}),
                      "every_epochs: constant_attention has no batch"),
    "a former name": (config() | {"measures": []}, "(did you mean 'derived_metrics'? known: "),
    "order": (config(seeds={"count": 2, "order": 1}), "seeds.order: constant_attention has no bat"),
    "no frequencies": (
        config(system="sparse_transformer",
               interventions=[{"scale": {"frequency": 1, "factor": 2.0}}]),
        "scale acts on frequencies, but sparse_transformer has"),
    "no embedding": (config(system="networks.regression", interventions=[{"freeze": {}}]),
                     "freeze acts on the embedding, but networks.regr"),
    "products of float64": (
        config(products="tf32", sweep={"dtype": ["float32", "float64"]}),
        "e: p17_d2_wd0_dtype-float64_products-tf32 has products = tf32, which rounds",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("changes", "expected"), BAD.values(), ids=BAD)
def test_bad_config_is_one_line_that_names_the_key(changes, expected):
    assert expected in refused(lambda: planning.plan(changes))


def test_defaults_are_filled_in_and_the_given_config_is_left_alone():
    given = config()
    before = json.dumps(given)
    full = planning.plan(given).config.experiments["e"]
    assert json.dumps(given) == before
    assert full.dtype == "float32"
    assert full.log.curves == Schedule(every=50, per_decade=20)
    assert full.seeds == Seeds(count=2, first=0)


def test_yaml_anchors_and_merges(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text(
        "results: r\n"
        "experiments:\n"
        "  a: &a {system: particles, steps: 5, block: 2, seeds: {count: 2}}\n"
        "  b:\n    <<: *a\n    steps: 6\n"
    )
    assert [point.steps for point in planning.plan_file(path).points] == [5, 6]


def test_every_shipped_collection_says_what_it_may():
    for collection in registry.SHIPPED:
        path = collection.folder / "collection.yaml"
        if path.exists():
            schema.read(yaml.safe_load(path.read_text()), CollectionFile)


def test_the_reference_in_the_readme_is_that_of_the_code():
    readme = (ROOT / "config/README.md").read_text()
    made = [*map(reference.keys, reference.KINDS), reference.roles()]
    made += map(reference.parameters, SYSTEMS.values())
    made += [f"| `{name}` | {reference.limit(name)} |" for name in ("points", "blocks")]
    assert [text for text in made if text not in readme] == []


def test_shipped_configs_write_to_different_folders():
    studies = [yaml.safe_load(path.read_text()) for path in (ROOT / "config").glob("*.yaml")]
    folders = {study.get("results", "results") for study in studies}
    assert len(folders) == len(studies) > 5
