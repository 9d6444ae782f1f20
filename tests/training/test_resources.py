"""The resources that a plan requests from a scheduler, against those that blocks use."""

import os

import pytest
from conftest import ROOT, config, output_of

from circlet.study import cost, measured, planning, targets

STUDY = planning.plan_file(ROOT / "config/smoke.yaml")

# Each makes another part of the estimate large: the process, couples of pairs, logged parameters,
# a large modulus, logged signals and embeddings, many small runs, double precision.
BLOCKS = {
    "nothing": ("particles", {"steps": 2, "parameters": {"p": 5}}),
    "couples": (
        "particles", {"steps": 3, "block": 20, "seeds": {"count": 20}, "parameters": {"p": 40}},
    ),
    "parameters": (
        "constant_attention",
        {"steps": 600, "block": 50, "seeds": {"count": 50},
         "log": {"parameters": {"every": 2}, "curves": {"every": 1}}},
    ),
    "sequences": (
        "sparse_transformer",
        {"epochs": 40, "block": 50, "seeds": {"count": 50},
         "log": {"parameters": {"every": 4}, "gradient_norms": {"every": 8}},
         "parameters": {"n_train": 512, "batch_size": 64}},
    ),
    "whole sets": (
        "sparse_transformer",
        {"steps": 3, "block": 30, "seeds": {"count": 30}, "parameters": {"p": 3, "length": 16}},
    ),
    "wide": (
        "sparse_transformer",
        {"steps": 3, "parameters": {"batch_size": 2048, "hidden": 2000, "d": 32}},
    ),
    "modulus": ("embedding_mlp", {"steps": 3, "parameters": {"p": 211}}),
    "logs": (
        "embedding_mlp",
        {"steps": 200, "log": {"parameters": {"every": 2}, "signals": {"every": 1},
                               "embeddings": {"every": 2}}},
    ),
    "runs": (
        "embedding_mlp",
        {"steps": 300, "block": 50, "seeds": {"count": 50}, "log": {"signals": {"every": 1}},
         "parameters": {"p": 13, "d": 24, "hidden": 16}},
    ),
    "double": (
        "embedding_mlp",
        {"steps": 3, "dtype": "float64", "parameters": {"p": 97, "d": 256, "hidden": 256}},
    ),
}  # fmt: skip


# Runs a command with checkpoints at an interval and prints its peak memory in kB, without a
# kernel, which would take less: a job may run on a machine without a compiler. The parent's
# `wait4` would not do: it counts the memory that the parent had when it forked.
MEASURE = """
import re, sys
from circlet import cli, native
from circlet.training import checkpoint

native.uncovered = lambda *_: "it is not asked for"
checkpoint.FIRST = checkpoint.MOST = float(sys.argv[1])
cli.main(sys.argv[2:])
print(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
"""


def peak_mb(*command, checkpoint_seconds=1e9, **options):
    return int(output_of(MEASURE, str(checkpoint_seconds), *command, **options)) * 1024 / 1e6


LONG = ("couples", "parameters", "sequences", "wide", "logs", "runs", "double")


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n in LONG else ()) for n in BLOCKS]
)
def test_blocks_stay_within_their_memory(tmp_path, name):
    """The estimate is an upper bound, and at most twice the measured peak."""
    system, settings = BLOCKS[name]
    study = planning.plan(config(tmp_path, system=system, **settings))
    peak = peak_mb("run", "--device", "cpu", "--study", study.json)
    assert peak <= cost.memory_mb(next(study.blocks)) <= 2 * peak


@pytest.mark.slow
def test_checkpoints_are_within_the_memory_of_a_block(tmp_path):
    system, settings = BLOCKS["parameters"]
    study = planning.plan(config(tmp_path, system=system, **settings))
    peak = peak_mb("run", "--device", "cpu", "--study", study.json, checkpoint_seconds=0.05)
    assert peak <= cost.memory_mb(next(study.blocks))


@pytest.mark.parametrize("name", ["survival", "forecast"])
def test_tables_stay_within_their_memory(project, name):
    table = next(p for p in targets.tables(STUDY) if p.name == name)
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    peak = peak_mb("table", name, "--study", STUDY.json, cwd=project.folder, env=environment)
    assert peak <= table.memory_mb


@pytest.mark.parametrize("name", ["config", "standard"])
def test_the_shipped_studies_fit_a_small_machine(name):
    study = planning.plan_file(ROOT / f"config/{name}.yaml")
    assert max(map(cost.memory_mb, study.blocks)) < 1200
    assert max(table.memory_mb for table in targets.tables(study)) < 2000


def test_the_default_study_trains_for_minutes(monkeypatch):
    """At 60 billion operations a second, the speed of kernels on a core of 2023."""
    monkeypatch.setattr(
        measured, "of_kernel",
        lambda p: measured.Timed(p.system.flops_per_step(**p.parameters) / 60e9, {}),
    )  # fmt: skip
    seconds = sum(map(cost.cpu_seconds, planning.plan_file(ROOT / "config/config.yaml").blocks))
    assert 100 < seconds < 300
