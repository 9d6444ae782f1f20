"""Measure the pipeline around the trainer: the overhead of a thousand runs besides training."""

import contextlib
import importlib.util
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from circlet import build
from circlet.bench import plain
from circlet.bench.training import CPU, spread
from circlet.errors import CircletError, ConfigError
from circlet.lazy_import import load
from circlet.storage import parquet, provenance
from circlet.study import registry, targets
from circlet.study.planning import plan
from circlet.training import job
from circlet.training.run import run_group

RUNS, BLOCK, STEPS, REPEATS = 1000, 100, 40, 3
NEEDED = ("jinja2", "matplotlib", "pandas", "scipy", "seaborn", "sklearn", "statsmodels")
PROFILE = "profiles/local"
KINDS = {"tables": "tables", "figures": "figures", "pages": "report and explorer"}
SYSTEM = min(plain.systems())  # any of them


def _config(results: Path, runs: int) -> dict[str, Any]:
    """A table's worth of runs with about the logs of a study; short, as they are not measured."""
    config = {
        "results": str(results),
        "experiments": {
            "bench": {
                "system": SYSTEM,
                "parameters": plain.of(SYSTEM).CASE.parameters,
                "steps": STEPS,
                "block": min(BLOCK, runs),
                "seeds": {"count": runs},
                "log": {"curves": {"every": 1}, "signals": {"every": 2}},
            }
        },
    }
    for role in (role for collection in registry.SHIPPED for role in collection.roles):
        named = config | {"reproduce": {role: "bench"}}
        with contextlib.suppress(ConfigError):  # not a role that this experiment can have
            plan(named)
            return named  # so that there are figures, too
    return config


def _in_project() -> bool:
    """Whether Snakemake can be started here."""
    return Path("Snakefile").exists() and Path(PROFILE).exists()


def check_packages() -> None:
    """Raise CircletError if a package is missing that the pipeline needs and training does not."""
    needed = (*NEEDED, "snakemake") if _in_project() else NEEDED
    if missing := [name for name in needed if importlib.util.find_spec(name) is None]:
        raise CircletError(
            f"bench: the pipeline needs {' and '.join(missing)}, not installed here; install "
            "circlet with its dependencies, or measure training alone with --training-only"
        )


def _timed(work: Callable[[], Any]) -> list[float]:
    """Seconds by the clock, of repeated work."""
    found = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        work()
        found.append(time.perf_counter() - started)
    return found


def _command(*command: str) -> None:
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True)
    if done.returncode:
        raise CircletError(f"bench: `{' '.join(command[:3])} ...` failed: {done.stderr[-500:]}")


def measure() -> Iterator[dict[str, Any]]:
    """Rows: what is done, how often for 1000 runs in ten blocks, and seconds in all.

    Each is repeated three times, except tables, figures and report, of which there are many. Jobs
    and the dry run are separate processes; the rest runs in this one.
    """
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results"
        config = _config(results, RUNS)
        study = plan(config)
        blocks = list(study.blocks)
        n = len(blocks)
        made = targets.ordered(study)

        def row(what: str, times: int, seconds: list[float], scale: int = 1) -> dict[str, Any]:
            return {
                "what": what,
                "times": times,
                "seconds": spread([scale * value for value in seconds]),
            }

        yield row("plan", 1, _timed(lambda: list(plan(config).ordered_blocks)))
        if _in_project():
            path = Path(folder) / "config.yaml"
            path.write_text(study.json)
            command = ("snakemake", "--profile", PROFILE, "--dry-run", "--quiet", "all")
            dry = _timed(lambda: _command(*command, "--configfile", str(path)))
            yield row("dry run", 1, dry)
        tiny = plan(_config(Path(folder) / "tiny", 1)).json
        # With as little work as a job can have.
        one = _timed(lambda: _command("circlet", "run", "--device", "cpu", "--study", tiny))
        yield row("start of jobs of blocks", n, one, n)
        one = _timed(lambda: _command("circlet", "table", "runs", "--study", tiny))
        yield row("start of jobs of tables, figures, pages", len(made), one, len(made))

        point, seeds = blocks[0].point, list(blocks[0].seeds)
        with torch.no_grad():
            drawn = _timed(lambda: next(run_group(point, seeds, CPU)))
            yield row("initial values and splits", n, drawn, n)
            *_, group = run_group(point, seeds, CPU)
            tables = group.tables()
            yield row("logs as tables", n, _timed(group.tables), n)
        footer, path = provenance.made_by() | {"spec": point.spec}, Path(folder) / "log.parquet"

        def write() -> None:
            for kind in point.logs:
                parquet.write(tables[kind], path, footer)

        yield row("logs to Parquet", n * len(point.logs), _timed(write), n)
        for block in blocks:
            job.run_block(block, "cpu")
        reading = _timed(lambda: [parquet.read_log(b, kind) for b in blocks for kind in point.logs])
        yield row("logs from Parquet", n * len(point.logs), reading)
        for kind, name in KINDS.items():
            own = [target for target in made if target.kind == kind]
            load(own[0].module)  # a part of the start of its job
            started = time.perf_counter()
            for target in own:
                build.make(target)
            yield row(name, len(own), [time.perf_counter() - started])
