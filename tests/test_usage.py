"""`status --usage`: requested against used memory and time."""

import re
import subprocess
import sys

from conftest import config, ran

from circlet.storage import parquet
from circlet.study import cost, planning
from circlet.usage import usage


def rows(text):
    lines = text.splitlines()
    names = re.split(r" {2,}", lines[0])
    return [dict(zip(names, re.split(r" {2,}", line), strict=True)) for line in lines[2:-1]]


def altered(study, **changes):
    """Write other values into the footers of a study's logs of runs."""
    for block in study.blocks:
        path = block.log("runs")
        made = {k: v for k, v in parquet.footer(path).items() if k != "sha256"} | changes
        parquet.write(parquet.read(path), path, {k: v for k, v in made.items() if v is not None})


def test_a_job_records_its_peak_of_memory(tmp_path):
    """As the kernel says at its end, when little can be added."""
    study = planning.plan(config(tmp_path))
    code = "import re, sys; from circlet import cli; cli.main(sys.argv[1:]); "
    code += "print(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])"
    command = [sys.executable, "-c", code, "run", "--device", "cpu", "--study", study.json]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    [block] = study.blocks
    assert 0.8 < parquet.footer(block.log("runs"))["peak_mb"] / (int(said) * 1024 / 1e6) <= 1.01


def test_requested_and_used(tmp_path):
    study = ran(tmp_path)
    altered(study, peak_mb=321, seconds=90.0)
    [block] = study.blocks
    [row] = rows(usage(study))
    assert (row["blocks"], row["done"]) == ("1", "1")
    assert (row["MB asked"], row["median"], row["most"]) == (
        str(cost.memory_mb(block)),
        "321",
        "321",
    )
    assert (row["min asked"], row["longest"]) == (str(cost.minutes(block)), "1.5")


def test_what_to_set(tmp_path):
    study = ran(tmp_path)
    [block] = study.blocks
    altered(study, peak_mb=2 * cost.memory_mb(block), seconds=60.0 * cost.minutes(block))
    *_, memory, time = usage(study).splitlines()
    at_least = 2 * cost.memory_mb(block) + 500
    assert int(re.search(r"--set-resources constant_attention:mem_mb=(\d+)$", memory)[1]) > at_least
    assert time.endswith(f"--set-resources constant_attention:runtime={2 * cost.minutes(block)}")


def test_logs_without_a_peak_and_blocks_that_are_not_done(tmp_path):
    study = ran(tmp_path)
    altered(study, peak_mb=None)
    larger = planning.plan(config(tmp_path, seeds={"count": 4}))
    [row] = rows(usage(larger))
    assert (row["blocks"], row["done"], row["most"]) == ("2", "1", "–")
    other = planning.plan(config(tmp_path / "other"))
    assert rows(usage(other))[0]["done"] == "0"
