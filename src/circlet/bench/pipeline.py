"""The pipeline around the trainer, measured: what a thousand runs cost besides being trained."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from circlet import io, products
from circlet.plan import Study
from circlet.training import loop

RUNS, BLOCK = 1000, 100
SNAKEFILE = "Snakefile"


def _config(results: Path, runs: int, steps: int) -> dict[str, Any]:
    """A study of a table of ten blocks: the same steps are logged as in one of 2000 steps."""
    return {
        "results": str(results),
        "reproduce": {"table1": "weight_decay"},
        "experiments": {
            "weight_decay": {
                "system": "constant_attention",
                "parameters": {"weight_decay": 0.6},
                "steps": steps,
                "block": min(BLOCK, runs),
                "seeds": {"count": runs},
                "log": {"curves": {"every": steps // 40}, "signals": {"every": steps // 20}},
            }
        },
    }


def _timed(work: Callable[[], Any]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _command(*command: str) -> float:
    return _timed(
        lambda: subprocess.run([sys.executable, "-m", *command], check=True, capture_output=True)
    )


def measure() -> Iterator[dict[str, Any]]:
    """Rows: what is done, how often for 1000 runs in blocks of 100, seconds in all.

    Wall time, each done once or, of commands, three times (the median).
    """
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results"
        study = Study(_config(results, RUNS, 40))
        blocks = list(study.blocks)
        n = len(blocks)

        def row(what: str, times: int, seconds: float) -> dict[str, Any]:
            return {"what": what, "times": times, "seconds": seconds}

        yield row("plan", 1, _timed(lambda: list(Study(_config(results, RUNS, 40)).ordered_blocks)))
        if Path(SNAKEFILE).exists():
            config = Path(folder) / "config.yaml"
            config.write_text(study.json)
            command = ("snakemake", "--profile", "profiles/local", "--dry-run", "--quiet", "all")
            seconds = [_command(*command, "--configfile", str(config)) for _ in range(3)]
            yield row("dry run, ten blocks, tables, figures", 1, sorted(seconds)[1])
        tiny = Study(_config(Path(folder) / "tiny", 1, 40))
        seconds = [_command("circlet", "run", "--study", tiny.json) for _ in range(3)]
        yield row("start of jobs, one run of 40 steps in each", n, n * sorted(seconds)[1])

        loop.settle()
        cpu, point = torch.device("cpu"), blocks[0].point
        first = list(blocks[0].seeds)
        with torch.no_grad():
            yield row(
                "initial values and splits", n, n * _timed(lambda: loop.Part(point, first, cpu, {}))
            )
        tables = loop.run(point, first, cpu)
        for block in blocks:
            loop.run_block(block, cpu)
        footer, scratch = io.provenance() | {"spec": point.spec}, Path(folder) / "log.parquet"
        writing = _timed(lambda: [io.write(tables[kind], scratch, footer) for kind in point.logs])
        yield row("logs to Parquet", n * len(point.logs), n * writing)
        reading = _timed(lambda: [io.read_log(b, kind) for b in blocks for kind in point.logs])
        yield row("logs from Parquet", n * len(point.logs), reading)
        made = products.ordered(study)
        for package in ("analysis", "figures", "pages.report"):
            products.load(f"circlet.{package}")  # a part of the start of jobs
        for kind in ("analysis", "figures", "pages"):
            own = [product for product in made if product.module.split(".")[1] == kind]
            name = {"analysis": "tables", "figures": "figures", "pages": "report"}[kind]
            yield row(name, len(own), _timed(lambda own=own: [products.make(p) for p in own]))
