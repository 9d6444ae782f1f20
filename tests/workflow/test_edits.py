"""After any sequence of edits, the same command gives the tables of a clean run.

Each sequence starts from a finished study of two systems, as small as they can be. After every edit
Snakemake runs `tables`. At the end every table must equal that of the last config in a fresh
folder, and a dry run must find nothing to do.

A sequence takes two minutes of computing time. CIRCLET_EDITS=20 tries 20 sequences, by default 2.
"""

import itertools
import json
import os
from random import Random

import pandas as pd
import pytest
from conftest import experiment
from projects import MAKE, finish, project_copy
from test_workflow import TIMES

from circlet.study import planning, targets

CONFIG = "config/edits.yaml"
SEQUENCES = int(os.environ.get("CIRCLET_EDITS", 2))

# What an edit may change, by name: first the value in the first config.
CHOICES = {
    "steps": (4, 7, 3),
    "dtype": ("float32", "float64"),
    "block": (2, 1),
    "log": ({}, {"embeddings": {"every": 1}}, {"embeddings": {"at": [2]}},
            {"signals": {"per_decade": 3}}, {"parameters": {"every": 1}}),
    "hidden": (4, 5),
    "decays": ([0.5, 1.0], [2.0, 0.5], [1.0], [1.0, 2.0, 0.5]),
    "roles": ({}, {"weight_magnitudes": "decay"}),
    "p": (7, 5),
    "seeds": ({"count": 2}, {"first": 2, "count": 4}, {"count": 4}),
    "start": ("start", "renamed"),
    "steps of kept": (4, 6),
    "strongest": (1, 2, [1, 2], [2, 1]),
    "left out": (["forces"], [], ["kept"], ["kept", "forces"]),
}  # fmt: skip
FIRST = {name: values[0] for name, values in CHOICES.items()}


def config_of(chosen):
    """Return the config with a choice for each name."""
    common = {name: chosen[name] for name in ("steps", "dtype", "block", "log")}
    small = {"p": chosen["p"], "d": 4, "hidden": 4}
    start = experiment("embedding_mlp", parameters=small, seeds=chosen["seeds"], log={})
    keep = {"keep": {"strongest": chosen["strongest"], "of": chosen["start"]}}
    experiments = {
        "decay": experiment(
            "constant_attention",
            parameters={"p": 5, "hidden": chosen["hidden"]},
            sweep={"weight_decay": chosen["decays"]},
            **common,
        ),
        chosen["start"]: start,
        "kept": start | {"steps": chosen["steps of kept"], "interventions": [keep]},
        "forces": experiment("particles", parameters={"p": 5}, sweep={"f_a": [0.5, 1.0]}, log={}),
    }
    for name in chosen["left out"]:
        del experiments[name]
    return {"results": "results", "reproduce": chosen["roles"], "experiments": experiments}


def sequence(random):
    """Return the configs after two edits of four settings each, and after the second is undone."""
    edited = [FIRST]
    for _ in range(2):
        now = edited[-1]
        others = {k: [v for v in values if v != now[k]] for k, values in CHOICES.items()}
        changed = random.sample([*CHOICES], 4)
        edited.append(now | {name: random.choice(others[name]) for name in changed})
    return [config_of(chosen) for chosen in (*edited[1:], edited[1])]


def swapped(value):
    """Return the same numbers in the other type, 2 for 2.0 and 2.0 for 2, with keys reversed."""
    if isinstance(value, dict):
        return {key: swapped(value[key]) for key in reversed(value)}
    if isinstance(value, list):
        return [swapped(item) for item in value]
    if isinstance(value, float) and value == int(value):
        return int(value)
    return float(value) if isinstance(value, int) else value


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """The project with the first study finished."""
    project = project_copy(tmp_path_factory.mktemp("first") / "project")
    project.write(CONFIG, config_of(FIRST))
    finish(project, CONFIG)
    return project


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SEQUENCES))
def test_edits_end_with_the_tables_of_a_clean_run(first, tmp_path, seed):
    """Before each edit a log is deleted, and a log or a table gets a new time."""
    project, random = first.copy(tmp_path / "edited"), Random(seed)
    configs = sequence(random)
    for config in configs:
        logs, tables = (
            sorted(project.folder.glob(f"results/{pattern}.parquet"))
            for pattern in ("logs/*/*/*/*", "tables/*")
        )
        random.choice(logs + tables).touch()
        random.choice(logs).unlink()
        project.write(CONFIG, config)
        project.snakemake("tables", config=CONFIG)
    project.write(CONFIG, swapped(config))
    again = project.snakemake("tables", "--dry-run", config=CONFIG)
    assert "Nothing to be done" in again.stdout + again.stderr
    clean = project_copy(tmp_path / "clean")
    clean.write(CONFIG, config)
    clean.run("-c", MAKE, CONFIG)
    for table in targets.tables(planning.plan(config)):
        ours, theirs = (
            pd.read_parquet(p.folder / table.outputs[0]).drop(columns=[*TIMES], errors="ignore")
            for p in (project, clean)
        )
        pd.testing.assert_frame_equal(ours, theirs, obj=f"{table.name} of {json.dumps(configs)}")


def jobs(config):
    """Return the parameters by which Snakemake decides which jobs must run."""
    study = planning.plan(config)
    made = {target.name: target.study.json for target in targets.ordered(study)}
    return made | {block.key: block.json for block in study.blocks}


def test_another_spelling_of_any_config_changes_no_job():
    for config in itertools.chain(*(sequence(Random(seed)) for seed in range(20))):
        assert jobs(swapped(config)) == jobs(config)
