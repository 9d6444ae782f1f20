"""Fixtures for all tests, and functions that make and run small studies."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from browsing import browser, empty_explorer, explore, page, page_of, visit  # noqa: F401
from projects import ROOT, empty_project, finished, project  # noqa: F401

from circlet import build, cli, native
from circlet.analysis.make import computed
from circlet.errors import ConfigError
from circlet.storage import parquet
from circlet.study import declared_systems, planning, registry, targets
from circlet.training import job, native_run
from circlet.training.group import tables
from circlet.training.run import group_size, run_group, settle_torch

# Seconds after which a test gives up waiting, even on a slow and busy machine.
TIMEOUT_S = 400
CPU = torch.device("cpu")
SYSTEMS = declared_systems.Systems(registry.SHIPPED)
built = pytest.mark.skipif(bool(native.missing()), reason="there is no C++ compiler")
MINE = ROOT / "tests/mine"  # a collection like a user's
NETWORKS = ROOT / "tests/networks"  # another, of networks
os.environ.pop("SLURM_JOB_ID", None)  # jobs of SLURM wait until it ends them
os.environ["PYTHONDONTWRITEBYTECODE"] = "1"  # for the processes of tests


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    """Also keep no compiled modules, whose time stamps miss a second edit within a second."""
    settle_torch()
    sys.dont_write_bytecode = True


def pytest_collection_modifyitems(items):
    """Begin with the slowest tests, so that no process is still busy with one when others end."""
    items.sort(key=lambda item: "workflow" not in item.path.parts)


def experiment(system="constant_attention", **changes):
    """Return an experiment of a config, small unless changed."""
    settings = {"system": system, "block": 2, "seeds": {"count": 2}}
    return settings | ({} if "epochs" in changes else {"steps": 5}) | changes


def config(results="results", **changes):
    """A config with one small experiment, ``e``, and the collection of its system."""
    study = {"results": str(results), "experiments": {"e": experiment(**changes)}}
    is_network = changes.get("system", "").startswith("networks.")
    return study | ({"collections": [str(NETWORKS)]} if is_network else {})


def point_of(results="results", **changes):
    """The first point of a config with one small experiment."""
    return planning.plan(config(results, **changes)).points[0]


def planned(results="results", others=None, /, **experiments):
    """A study of some experiments; ``others``: other keys of its config."""
    return planning.plan({"results": str(results), "experiments": experiments} | (others or {}))


@pytest.fixture
def mine(tmp_path):
    """A copy of a user's collection that has one module of each kind."""
    ignored = shutil.ignore_patterns("__pycache__")
    return shutil.copytree(MINE, tmp_path / "mine", ignore=ignored)


@pytest.fixture
def network(tmp_path, request):
    """A copy of a user's networks, with a name of its own, because modules are found by name."""
    copied = tmp_path / f"own{abs(hash(request.node.name)) % 10**9}"
    return shutil.copytree(NETWORKS, copied)


def wait(condition, what="what was expected", seconds=TIMEOUT_S):
    """Wait until a condition holds, polling often; return its value."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}"
        time.sleep(0.1)
    return value


@pytest.fixture
def begin():
    """Start processes of some code, with pipes to and from them; they end with the test."""
    started, pipes = [], {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}

    def begin(code, *arguments):
        started.append(subprocess.Popen([sys.executable, "-c", code, *arguments], **pipes))
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def output_of(code, *arguments, **options):
    """Run code in a new process; return what it prints."""
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=True, **options
    ).stdout.strip()


def refused(make):
    """Return the only line of the error with which a config is refused."""
    with pytest.raises(ConfigError) as caught:
        make()
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.fixture
def error_of(capsys):
    """Return a function that runs a command that must fail, and returns what it says of that."""

    def error_of(*command):
        capsys.readouterr()
        with pytest.raises(SystemExit) as end:
            cli.main([*map(str, command)])
        assert end.value.code == 1
        return capsys.readouterr().err

    return error_of


def written(study):
    """Return the config of a study as in a file, without defaults."""
    return json.loads(study.whole_json)


def config_of(*folders, results="results"):
    """A config with some collections, the first of which is ``mine``."""
    swept = experiment("mine.drift", sweep={"rate": [0.1, 0.5]}, log={})
    collections = {"collections": [str(folder) for folder in folders]}
    named = {"experiments": {"e": swept}, "reproduce": {"mine.rates": "e"}}
    return {"results": str(results)} | collections | named


def trained_logs(point, seeds, device=CPU, **others):
    """Train some runs of a point in PyTorch, in groups as a job does; return their logs by kind."""
    size = group_size(point, len(seeds), device)
    parts = [seeds[first : first + size] for first in range(0, len(seeds), size)]
    return tables(point, [[*run_group(point, part, device, **others)][-1] for part in parts])


def kernel_logs(point, seeds):
    """Return the same logs of runs that a kernel trains."""
    return tables(point, [[*native_run.run_alone(point, [seed])][-1] for seed in seeds])


def run_blocks(study):
    """Run all blocks of a study in this process, each after the blocks that it starts from."""
    for block in study.ordered_blocks:
        job.run_block(block, "cpu")
    return study


def ran(results="results", **settings):
    """A study of one small experiment that has run."""
    return run_blocks(planning.plan(config(results, **settings)))


def make_all(study):
    """Make all tables, figures and pages of a study."""
    for target in targets.ordered(study):
        build.make(target)


def make_tables(study, *names):
    """Make some tables of a study (or all), and the tables behind them; return the last one."""
    by_name = {t.name: t for t in targets.ordered(study) if t.kind == "tables"}
    needed = {t.name for name in names for t in targets.with_dependencies(by_name[name])}
    for name, table in by_name.items():
        if name in needed or not names:
            build.make(table)
    return parquet.read_table(study, names[-1]) if names else None


def table_of(module, study):
    """The table that a module computes for a study, as a reader gets it."""
    return computed(module, study, module.__name__).to_pandas()


def claim(kind, published=np.nan, n=np.nan, **others):
    """A claim with a published value from n runs; ``others``: its interval, margin, and so on."""
    unknown = ("published_low", "published_high", "margin", "least", "most")
    given = {"kind": kind, "column": "x", "published": published, "published_n": n, "rival": ""}
    return pd.Series(given | dict.fromkeys(unknown, np.nan) | others)


def circle(p, k):
    angle = 2 * np.pi * k * np.arange(p) / p
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def grid(p, columns):
    """Return a grid: n + 1 is one column further, n + columns one row further."""
    n = np.arange(p)
    return np.stack([n % columns, n // columns], axis=1) * np.array([1.0, 1.3])


def rewrite(path, change):
    """Replace the frame of a log or a table, as if it had been made so."""
    table = parquet.read(path)
    frame = change(table.to_pandas())
    assert {*frame} == {*table.column_names}
    made = pa.Table.from_pandas(frame, table.schema, preserve_index=False)
    parquet.write(made, path, parquet.footer(path))


def flipped(content, position, bit=4):
    """Return the same bytes except for one bit."""
    changed = bytearray(content)
    changed[position] ^= 1 << bit
    return bytes(changed)


@contextlib.contextmanager
def mounted(folder, options):
    """Mount a small file system; skip the test if mounting is not allowed."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("cannot mount a file system here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)
