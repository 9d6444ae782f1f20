import json
from dataclasses import replace

import pytest
import yaml
from conftest import SYSTEMS, config, experiment, planned, refused
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from circlet.config import schema
from circlet.config.experiment import Experiment, Schedule
from circlet.config.schedules import steps_of
from circlet.study import cost, declared_systems, measured, planning
from circlet.study.points import canonical
from circlet.systems.spec import Log, number

# The same examples on every machine, however slow.
ANYWHERE = settings(derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))


def test_a_part_has_one_order_however_its_study_is_given():
    """So a table made by hand has its rows in the same order as Snakemake's."""
    swept = experiment(sweep={"weight_decay": [0, 1], "hidden": [8, 4]})
    kept = [{"keep": {"strongest": [1, 2], "of": "b"}}]
    study = planned(c=swept | {"interventions": kept}, b=swept, a=experiment("particles"))
    parts = [s.subset(["c", "b", "a"]) for s in (study, planning.plan(json.loads(study.json)))]
    assert study.points[0].experiment == "c"
    assert parts[0].points[0].experiment == "a"
    assert [p.key for p in parts[0].points] == [p.key for p in parts[1].points]
    assert {p.key for p in parts[0].points} == {p.key for p in study.points}
    assert list(parts[0].parameters) == list(parts[1].parameters)


def test_paths_are_readable():
    changes = config(sweep={"weight_decay": [0.5]}, parameters={"p": 59, "d": 128})
    block = next(planning.plan(changes).blocks)
    named = "results/logs/e/p59_d128_wd0.5/seeds_00000-00001/runs.parquet"
    assert str(block.log("runs")) == named


RATES = {"learning_rate": [0.01, 0.001]}


def names(**changes):
    return [point.name for point in planning.plan(config(**changes)).points]


def test_what_is_swept_is_in_names_even_at_its_default():
    assert names(sweep=RATES) == [f"p17_d2_learning_rate-{rate}_wd0" for rate in (0.01, 0.001)]
    assert names(parameters={"learning_rate": 0.01}) == ["p17_d2_wd0"]
    assert names(sweep={"dtype": ["float32"]}) == ["p17_d2_wd0_dtype-float32"]
    cases = [{"learning_rate": 0.01}, {"hidden": 8}]
    assert names(cases=cases) == [f"p17_d2_hidden-{n}_learning_rate-0.01_wd0" for n in (32, 8)]
    constructed = [{"construct": {"ratio": 1, "size": [80, 40]}}]
    assert names(interventions=constructed) == [
        f"p17_d2_wd0_construct-ratio-1-size-{size}" for size in (80, 40)
    ]


@pytest.mark.parametrize("sweep", [{}, RATES, RATES | {"products": ["float32", "tf32"]}])
def test_the_job_of_a_block_has_the_names_and_makes_what_is_planned(sweep):
    size = [80, 40] if sweep else 80
    base = experiment(interventions=[{"construct": {"ratio": 1, "size": size}}], sweep=sweep)
    keep = [{"keep": {"strongest": 1, "of": "plain"}}]
    experiments = {"plain": experiment(sweep=sweep), "base": base}
    experiments["next"] = experiment(interventions=keep, sweep=sweep)
    many = {"block": None, "seeds": {"count": 100}}
    experiments["cases"] = experiment(cases=[{"p": 5}], sweep=sweep, **many)
    kinds = ("curves", "signals", "embeddings", "parameters")
    systems = () if sweep else SYSTEMS  # the same with any sweep
    for system, kind in ((s, k) for s in systems for k in kinds if k in SYSTEMS[s].kinds):
        for i, schedule in enumerate(({}, {"every": 2}, {"at": [3, 5]}, {"every": 50})):
            experiments[f"{system}_{kind}_{i}"] = experiment(system, log={kind: schedule})
    blocks = list(planned(**experiments).blocks)
    assert {block.point.experiment for block in blocks} == experiments.keys()
    for block in blocks:
        (again,) = planning.plan(json.loads(block.json)).blocks
        assert (again.logs, again.inputs, again.json) == (block.logs, block.inputs, block.json)
        assert again.point.spec == block.point.spec, block.key


def test_a_point_keeps_its_folder_whatever_is_swept_later(tmp_path):
    def made(**changes):
        for point in planning.plan(config(tmp_path, **changes)).points:
            (tmp_path / "logs/e" / point.name).mkdir(parents=True, exist_ok=True)
        return names(results=tmp_path, **changes)

    plain = planning.plan(config(tmp_path)).points[0]
    assert made() == ["p17_d2_wd0"]
    rates = ["p17_d2_wd0", "p17_d2_learning_rate-0.001_wd0"]
    assert made(sweep=RATES) == rates
    kept = planning.plan(config(tmp_path, sweep=RATES)).points[0]
    assert (kept.spec, kept.blocks[0].json) == (plain.spec, plain.blocks[0].json)
    hidden = [SYSTEMS["constant_attention"].defaults["hidden"], 8]
    wider = [f"p17_d2_hidden-8_learning_rate-{rate}_wd0" for rate in (0.01, 0.001)]
    assert made(sweep=RATES | {"hidden": hidden}) == rates + wider
    assert made(sweep={"hidden": hidden}) == [rates[0], wider[0]]  # the rate is not swept any more


def test_numbers_are_canonical():
    assert {canonical(x) for x in (0.3, 3e-1, 0.299999999999999999)} == {"0.3"}
    assert canonical(0.123456789) == "0.123456789"


@settings(ANYWHERE, max_examples=30)
@given(
    decays=st.lists(
        st.floats(0, 2, allow_subnormal=False), min_size=1, max_size=4, unique_by=canonical
    ),
    more=st.integers(0, 3),
    blocks=st.integers(1, 3),
)
def test_what_exists_is_never_renamed(decays, more, blocks):
    before = planning.plan(config(sweep={"weight_decay": decays[:1]}, seeds={"count": 2 * blocks}))
    after = planning.plan(
        config(sweep={"weight_decay": decays}, seeds={"count": 2 * (blocks + more)})
    )
    old = {str(b.log("runs")): b.json for b in before.blocks}
    new = {str(b.log("runs")): b.json for b in after.blocks}
    assert old.items() <= new.items()


def test_grid_and_cases_combine():
    cases = [{"p": 5, "d": 3}, {"p": 7}]
    assert names(sweep={"weight_decay": [0, 1]}, cases=cases) == [
        "p5_d3_wd0", "p5_d3_wd1", "p7_d2_wd0", "p7_d2_wd1",
    ]  # fmt: skip


def test_blocks_cover_the_seeds_once():
    study = planning.plan(config(block=5, seeds={"first": 10, "count": 15}))
    seeds = [seed for block in study.blocks for seed in block.seeds]
    assert seeds == list(range(10, 25))
    assert [block.name for block in study.blocks] == ["00010-00014", "00015-00019", "00020-00024"]


def test_new_options_change_no_job_that_is_done(monkeypatch):
    """A later release adds a parameter and a kind of log, at their defaults."""
    before = [(block.json, block.point.spec) for block in planning.plan(config()).blocks]
    system = SYSTEMS["constant_attention"]
    parameters = {**system.parameters, "dropout": number("Share of units left out.", 0.0)}
    logs = {**system.logs, "gradient_norms": Log(None)}
    later = dict(SYSTEMS.items()) | {system.name: replace(system, parameters=parameters, logs=logs)}
    monkeypatch.setattr(declared_systems.Systems, "__getitem__", lambda _, name: later[name])
    assert planning.plan(config()).points[0].parameters["dropout"] == 0
    after = [(block.json, block.point.spec) for block in planning.plan(config()).blocks]
    assert after == before


# Keys of an experiment by what they change: runs, blocks of the same runs, or tables.
RUNS = {
    *("system", "parameters", "sweep", "sample", "cases", "steps", "epochs", "dtype", "products"),
    *("seeds", "interventions", "log"),
}
BLOCKS, TABLES = {"block", "keep_state"}, {"compare"}


def test_what_follows_from_each_key_is_decided():
    """A new key must be in `Point.identity` if it changes numbers."""
    assert {*Experiment.__struct_fields__} == RUNS | BLOCKS | TABLES


def test_momentum_is_of_one_optimizer_and_the_message_says_how_to_give_it():
    sweep = {"momentum": [0.9], "optimizer": ["adamw", "sgd"]}
    said = refused(lambda: planning.plan(config(system="networks.regression", sweep=sweep)))
    cases = yaml.safe_load(said.split("`")[1])
    assert len(planning.plan(config(system="networks.regression", **cases)).points) == 2


SCHEDULES = st.fixed_dictionaries(
    {},
    optional={
        "every": st.integers(1, 30),
        "every_epochs": st.integers(1, 8),
        "per_decade": st.integers(1, 40),
        "at": st.lists(st.integers(0, 60), max_size=5),
    },
)


@settings(ANYWHERE, max_examples=200)
@given(SCHEDULES, st.integers(0, 70), st.integers(60, 90), st.integers(1, 9))
def test_a_schedule_has_all_steps_that_it_names(schedule, until, steps, epoch):
    if "every" in schedule:
        schedule = schedule | {"until": until}
    listed = {0, steps, *range(11), *schedule.get("at", [])}
    listed |= set(range(0, min(until, steps) + 1, schedule.get("every", steps + 1)))
    listed |= set(range(0, steps + 1, epoch * schedule.get("every_epochs", steps + 1)))
    if density := schedule.get("per_decade"):
        listed |= {round(10 ** (i / density)) for i in range(2 * density)}
    listed = {step for step in listed if step <= steps}
    decoded = schema.decoded(schedule, Schedule)
    assert steps_of(decoded, steps, epoch, early=range(11)).tolist() == sorted(listed)


def test_cost_grows_with_the_study(monkeypatch):
    """Cost grows with what is trained and with what is recorded."""
    monkeypatch.setattr(measured, "of_kernel", lambda _: measured.Timed(2.0, {"curves": 3.0}))
    block = next(planning.plan(config(steps=500)).blocks)
    recorded = block.point.n_logged("curves")
    assert cost.cpu_seconds(block) == block.count * (500 * 2.0 + recorded * 3.0)
    assert cost.minutes(block) * 60 > 4 * cost.cpu_seconds(block)


@pytest.mark.parametrize(
    "change",
    [
        {"dtype": "float64"}, {"products": "tf32"}, {"steps": 6}, {"system": "particles"},
        {"parameters": {"hidden": 8}}, {"log": {"curves": {"every": 7}}},
        {"log": {"embeddings": {"at": [2]}}},
        *({"seeds": {"count": 2, kind: 3}} for kind in ("embedding", "network", "data")),
    ],
)  # fmt: skip
def test_what_determines_the_numbers_is_in_the_identity(change):
    assert planning.plan(config(**change)).points[0].spec != planning.plan(config()).points[0].spec


def test_products_stand_in_identities_where_they_are_rounded():
    """So runs of earlier versions keep their identities."""
    swept = planning.plan(config(sweep={"products": ["float32", "bfloat16"], "d": [2, 3]})).points
    assert swept[0].spec == planning.plan(config()).points[0].spec
    assert "products" not in swept[0].identity
    cases = planning.plan(config(cases=[{"dtype": "float64"}, {"products": "tf32"}])).points
    assert [point.arithmetic for point in cases] == [
        {"dtype": "float64", "products": "float32"}, {"dtype": "float32", "products": "tf32"},
    ]  # fmt: skip


def test_a_log_that_a_system_lacks_may_be_switched_off():
    off = config(system="particles", parameters={}, log={"curves": None})
    plain = config(system="particles", parameters={}, log={})
    assert planning.plan(off).points[0].spec == planning.plan(plain).points[0].spec
