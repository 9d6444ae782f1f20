"""For any config, `plan` prints a plan or one line, soon and in little memory."""

import json
import subprocess
import sys

import fuzz
import pytest
from conftest import PATIENCE, ROOT

MUTANTS, CHUNK = 1000, 250  # chunks, so that several processes share the work


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, MUTANTS, CHUNK))
def test_every_config_is_a_plan_or_one_line(tmp_path, first):
    command = [sys.executable, ROOT / "tests/study/fuzz.py", str(first), str(CHUNK)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=PATIENCE)
    said = [json.loads(line) for line in done.stdout.splitlines()]
    found = [(line["seed"], line["wrong"]) for line in said if "wrong" in line]
    if not said or "plans" not in said[-1]:  # the process died, perhaps of deep recursion in C
        last = said[-1]["at"] if said else first
        found.append((last, f"ended with {done.returncode}: {done.stderr[-2000:]}"))
    assert not found, "\n\n".join(
        f"mutant {seed}: {wrong}\n{fuzz.mutant(seed)[:5000]}" for seed, wrong in found[:5]
    )
    # A mutant that is refused at its first key tests little: many must reach the points.
    assert said[-1]["plans"] > CHUNK / 20
