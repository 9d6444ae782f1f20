"""Requirements of a bare machine with a GPU: no Snakemake and no git.

The processes of these tests cannot find them. They run on the CPU.
"""

import json
import os
import subprocess
import sys

import pytest
from conftest import ROOT, config

from circlet import bench
from circlet.storage import parquet, provenance
from circlet.study import planning

# Python imports this file when it starts. The packages below cannot be imported.
HIDDEN = """
import importlib.machinery, os

PACKAGES = {"snakemake", "snakemake_interface_common", *os.environ.get("HIDE", "").split()}
finder = importlib.machinery.PathFinder
find_spec = finder.find_spec

def bare_find_spec(cls, name, path=None, target=None):
    return None if name.partition(".")[0] in PACKAGES else find_spec(name, path, target)

finder.find_spec = classmethod(bare_find_spec)
"""

# A short bench of one system.
BENCH = """
import sys
from circlet import bench, cli

if __name__ == "__main__":
    bench.training.systems = lambda: ["particles"]
    bench.SECONDS, bench.REPEATS = 0.01, 1
    cli.main(["bench", *sys.argv[1:]])
"""


@pytest.fixture
def bare(tmp_path):
    """Return a function that runs Python as on such a machine."""
    folder = tmp_path / "bare"
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(HIDDEN)
    (folder / "bench.py").write_text(BENCH)
    environment = os.environ | {
        "PYTHONPATH": f"{folder}{os.pathsep}{ROOT / 'src'}",
        "PATH": str(folder),  # no git
        "CUDA_VISIBLE_DEVICES": "",
    }

    def run(*arguments, expected=0, hide=""):
        command, own = [sys.executable, *map(str, arguments)], environment | {"HIDE": hide}
        done = subprocess.run(command, cwd=ROOT, env=own, capture_output=True, text=True)
        assert done.returncode == expected, done.stdout + done.stderr
        return done

    run.folder = folder
    return run


def test_runs_are_made_on_a_bare_machine(bare, tmp_path):
    study = config(tmp_path / "results")
    (tmp_path / "config.yaml").write_text(json.dumps(study))
    bare("-m", "circlet", "run", "--configfile", tmp_path / "config.yaml")
    (block,) = planning.plan(study).blocks
    made = parquet.footer(block.log("runs"))
    assert made["commit"] is None
    assert made["versions"] == provenance.made_by()["versions"]
    assert None not in made["versions"].values()


@pytest.mark.slow
def test_training_is_benched_on_a_bare_machine(bare):
    measured = json.loads(bare(bare.folder / "bench.py", "--json").stdout)
    assert [row["system"] for row in measured["training"]] == ["particles"]
    assert "particles" in bench.text(measured)


@pytest.mark.parametrize(("package", "command"), [("jsonschema", "plan"), ("torch", "run")])
def test_a_package_that_is_missing_is_named(bare, package, command):
    """Whether the command line imports the package or a command does."""
    said = bare("-m", "circlet", command, expected=1, hide=package).stderr
    assert said.startswith(f"error: the Python package {package} is not installed; install it")
    assert said.count("\n") == 1
