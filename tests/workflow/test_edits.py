"""After any sequence of edits, the same command gives the tables of a clean run.

Each sequence starts from a finished study of two systems, as small as they can be. After every edit
Snakemake runs `tables`. At the end every table must equal that of the last config in a fresh
folder, and a dry run must find nothing to do.

A sequence of three edits takes two minutes of computing time. CIRCLET_EDITS=20 tries 20 sequences,
by default 2.
"""

import copy
import itertools
import json
import os

import pandas as pd
import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, note, settings
from hypothesis import strategies as st
from projects import MAKE, finish, project_copy
from test_workflow import TIMES

from circlet.study import planning, targets

CONFIG = "config/edits.yaml"
SEQUENCES = int(os.environ.get("CIRCLET_EDITS", 2))

SMALL = {"p": 7, "d": 4, "hidden": 4}
KEEP = {"keep": {"strongest": 1, "of": "start"}}


def experiment(system, **changes):
    return {"system": system, "steps": 4, "block": 2, "seeds": {"count": 2}} | changes


FIRST = {
    "results": "results",
    "reproduce": {},
    "experiments": {
        "decay": experiment(
            "constant_attention",
            parameters={"p": 5, "hidden": 4},
            sweep={"weight_decay": [0.5, 1.0]},
            log={},
        ),
        "start": experiment("embedding_mlp", parameters=SMALL, log={}),
        "kept": experiment("embedding_mlp", parameters=SMALL, log={}, interventions=[KEEP]),
    },
}
FORCES = experiment("particles", parameters={"p": 5}, sweep={"f_a": [0.5, 1.0]}, log={})
MORE_DECAY = FIRST["experiments"]["decay"] | {"sweep": {"weight_decay": [0.0]}}


# Each edit changes a config in place by means of `draw`, and returns its description; None if it
# does not fit the config.


def other(draw, current, choices):
    """Draw a choice that differs from the current value."""
    return draw(st.sampled_from([choice for choice in choices if choice != current]))


def named(draw, config):
    """Draw an experiment of a config: its name and settings."""
    name = draw(st.sampled_from(sorted(config["experiments"])))
    return name, config["experiments"][name]


def base(settings):
    """Return the name of the experiment that another starts from, if any."""
    acts = [act["keep"]["of"] for act in settings.get("interventions", [])]
    return acts[0] if acts else None


def family(config, name):
    """Return the settings of an experiment and of all that must share its parameters and seeds."""
    every = config["experiments"]
    root = base(every[name]) or name
    return [settings for key, settings in every.items() if root in (key, base(settings))]


def seeds(config, draw):
    name, settings = named(draw, config)
    chosen = other(draw, settings["seeds"], [{"first": f, "count": c} for f in (0, 2)
                                             for c in (2, 4)])  # fmt: skip
    for relative in family(config, name):
        relative["seeds"] = dict(chosen)
    return f"{name}: seeds {chosen}"


def sweep(config, draw):
    swept = sorted(k for k, v in config["experiments"].items() if "sweep" in v)
    if not swept:
        return None
    name = draw(st.sampled_from(swept))
    ((parameter, current),) = config["experiments"][name]["sweep"].items()
    lists = [list(v) for n in (1, 2, 3) for v in itertools.permutations((0.5, 1.0, 2.0), n)]
    config["experiments"][name]["sweep"][parameter] = new = other(draw, current, lists)
    return f"{name}: {parameter} {current} -> {new}"


def steps(config, draw):
    name, settings = named(draw, config)
    settings["steps"] = new = other(draw, settings["steps"], [4, 7, 3, 6])
    return f"{name}: {new} steps"


def log(config, draw):
    name, settings = named(draw, config)
    kinds = ["embeddings", "signals", "parameters"]
    kind = draw(st.sampled_from(kinds[: 3 - (settings["system"] == "particles")]))
    schedules = [{"every": 1}, {"at": [2]}, {"per_decade": 3}, {"every": 1, "until": 2}, {}]
    schedules += [None] * (kind == "parameters")
    settings["log"][kind] = new = other(draw, settings["log"].get(kind, "unset"), schedules)
    return f"{name}: log {kind} {new}"


def dtype(config, draw):
    name, settings = named(draw, config)
    settings["dtype"] = new = other(draw, settings.get("dtype"), ["float64", "float32"])
    return f"{name}: {new}"


def block(config, draw):
    name, settings = named(draw, config)
    settings["block"] = new = 3 - settings["block"]
    return f"{name}: block {new}"


def parameter(config, draw):
    name, settings = named(draw, config)
    values = {"p": [7, 5], "embedding_std": [0.5, 1.0]}
    if settings["system"] != "particles":
        values |= {"hidden": [4, 5], "learning_rate": [0.02, 0.01]}
    key = draw(st.sampled_from(sorted(values) if settings["system"] != "particles" else ["p"]))
    new = other(draw, settings["parameters"].get(key), values[key])
    for relative in family(config, name):
        relative["parameters"] = relative["parameters"] | {key: new}
    return f"{name}: {key} {new}"


def intervention(config, draw):
    dependants = [settings for settings in config["experiments"].values() if base(settings)]
    if not dependants:
        return None
    act = dependants[0]["interventions"][0]["keep"]
    act["strongest"] = new = other(draw, act["strongest"], [2, [1, 2], [2, 1], 1])
    return f"keep the strongest {new}"


def rename(config, draw):
    name, _ = named(draw, config)
    new = f"{name}_2" if not name.endswith("_2") else name.removesuffix("_2")
    if new in config["experiments"]:
        return None
    every = config["experiments"].items()
    config["experiments"] = {new if key == name else key: value for key, value in every}
    for relative in config["experiments"].values():
        if base(relative) == name:
            relative["interventions"][0]["keep"]["of"] = new
    roles = config["reproduce"].items()
    config["reproduce"] = {role: new if key == name else key for role, key in roles}
    return f"{name} -> {new}"


def add(config, draw):
    new = {"forces": FORCES, "more_decay": MORE_DECAY} | FIRST["experiments"]
    for name in list(new):
        if name in config["experiments"] or base(new[name]):
            del new[name]
    if not new:
        return None
    name = draw(st.sampled_from(list(new)))
    config["experiments"][name] = copy.deepcopy(new[name])
    return f"add {name}"


def remove(config, draw):
    name, _ = named(draw, config)
    gone = {name} | {k for k, v in config["experiments"].items() if base(v) == name}
    if len(gone) == len(config["experiments"]):
        return None
    for key in gone:
        del config["experiments"][key]
    roles = config["reproduce"].items()
    config["reproduce"] = {role: key for role, key in roles if key not in gone}
    return f"remove {sorted(gone)}"


def role(config, draw):
    fit = [k for k, v in config["experiments"].items() if v["system"] == "constant_attention"]
    if not fit:
        return None
    name = other(draw, config["reproduce"].get("weight_magnitudes"), [*fit, None])
    config["reproduce"] = {"weight_magnitudes": name} if name else {}
    return f"weight_magnitudes from {name}"


def swapped(value):
    """Return the same numbers in the other type, 2 for 2.0 and 2.0 for 2, with keys reversed."""
    if isinstance(value, dict):
        return {key: swapped(value[key]) for key in reversed(value)}
    if isinstance(value, list):
        return [swapped(item) for item in value]
    if isinstance(value, float) and value == int(value):
        return int(value)
    return float(value) if isinstance(value, int) else value


def spelling(config, draw):
    new = swapped(config)
    config.clear()
    config.update(new)
    return "other types of numbers, other order of keys"


def undo(config, draw):
    return "undo"


def delete(config, draw):
    return f"delete {draw(st.integers(0, 99))}"


def touch(config, draw):
    return f"touch {draw(st.integers(0, 99))}"


EDITS = [
    steps, undo, role, rename, sweep, delete, parameter, seeds, remove, spelling, log, dtype,
    intervention, touch, add, block,
]  # fmt: skip


@st.composite
def sequences(draw):
    """Draw edits, each with its description and the config after it."""
    configs, sequence = [FIRST], []
    for edit in draw(st.lists(st.sampled_from(EDITS), min_size=3, max_size=5, unique=True)):
        config = copy.deepcopy(configs[-1])
        said = edit(config, draw)
        if said is None:
            continue
        if edit is undo:
            config = copy.deepcopy(configs[-2] if len(configs) > 1 else FIRST)
        configs.append(config)
        sequence.append((edit, said, config))
    return sequence


def write(project, config):
    (project.folder / CONFIG).write_text(yaml.safe_dump(config, sort_keys=False))


def files(project, *patterns):
    """Return the files of the results that match, sorted."""
    return sorted(file for pattern in patterns for file in project.folder.glob(pattern))


def untold(frame):
    """Return a table without columns, such as times, that differ from run to run."""
    return frame.drop(columns=list(TIMES & set(frame.columns)))


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """The project with the first study finished."""
    project = project_copy(tmp_path_factory.mktemp("first") / "project")
    write(project, FIRST)
    finish(project, CONFIG)
    return project


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A function that returns a new folder at every call."""
    return lambda: tmp_path_factory.mktemp("edited") / "project"


@pytest.mark.slow
@settings(
    max_examples=SEQUENCES,
    derandomize=True,
    deadline=None,
    database=None,
    phases=[Phase.generate],  # no shrinking: each try takes a minute
    report_multiple_bugs=False,
    suppress_health_check=list(HealthCheck),
)
@given(sequence=sequences())
def test_edits_end_with_the_tables_of_a_clean_run(first, folder, sequence):
    project = first.copy(folder())
    for edit, said, config in sequence:
        note(said)
        write(project, config)
        if edit is delete:
            logs = files(project, "results/logs/*/*/*/*.parquet")
            logs[int(said.split()[1]) % len(logs)].unlink()
        if edit is touch:
            made = files(project, "results/logs/*/*/*/*.parquet", "results/tables/*.parquet")
            made[int(said.split()[1]) % len(made)].touch()
        done = project.snakemake("tables", config=CONFIG)
        if edit is spelling:
            assert "Nothing to be done" in done.stdout + done.stderr
    again = project.snakemake("tables", "--dry-run", config=CONFIG)
    assert "Nothing to be done" in again.stdout + again.stderr
    config = sequence[-1][2] if sequence else FIRST
    clean = project_copy(folder())
    write(clean, config)
    clean.run("-c", MAKE, CONFIG)
    for table in targets.tables(planning.plan_file(clean.folder / CONFIG)):
        ours, theirs = (
            untold(pd.read_parquet(p.folder / table.outputs[0])) for p in (project, clean)
        )
        pd.testing.assert_frame_equal(ours, theirs, obj=f"{table.name} of {json.dumps(config)}")


def jobs(config):
    """Return the parameters by which Snakemake decides which jobs must run."""
    study = planning.plan(copy.deepcopy(config))
    made = {target.name: target.study.json for target in targets.ordered(study)}
    return made | {block.key: block.study for block in study.blocks}


@settings(
    max_examples=20,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(sequence=sequences())
def test_another_spelling_of_any_config_changes_no_job(sequence):
    for _, _, config in sequence:
        assert jobs(swapped(config)) == jobs(config)
