"""Requirements of a bare machine with a GPU: no Snakemake and no git.

The processes of these tests cannot find them. They run on the CPU.
"""

import json
import os
import subprocess
import sys

import pytest
from conftest import ROOT, config

from circlet.storage import parquet, provenance
from circlet.study import planning


@pytest.fixture
def bare(tmp_path):
    """Return a function that runs circlet as on such a machine, without some other packages."""

    def run(*arguments, hide=()):
        for package in ("snakemake", "snakemake_interface_common", *hide):
            error = f"ModuleNotFoundError(name={package!r})"
            (tmp_path / f"{package}.py").write_text(f"raise {error}")
        # Its path has no git.
        paths = {"PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT / 'src'}", "PATH": str(tmp_path)}
        return subprocess.run(
            [sys.executable, "-m", "circlet", *map(str, arguments)], capture_output=True, text=True,
            cwd=ROOT, env=os.environ | paths | {"CUDA_VISIBLE_DEVICES": ""},
        )  # fmt: skip

    return run


def test_runs_are_made_on_a_bare_machine(bare, tmp_path):
    study = config(tmp_path / "results")
    (tmp_path / "config.yaml").write_text(json.dumps(study))
    done = bare("run", "--configfile", tmp_path / "config.yaml")
    assert done.returncode == 0, done.stderr
    (block,) = planning.plan(study).blocks
    made = parquet.footer(block.log("runs"))
    assert made["commit"] is None
    assert made["versions"] == provenance.made_by()["versions"]
    assert None not in made["versions"].values()


@pytest.mark.parametrize(("package", "command"), [("jsonschema", "plan"), ("torch", "run")])
def test_a_package_that_is_missing_is_named(bare, package, command):
    """Whether the command line imports the package or a command does."""
    done = bare(command, hide=[package])
    assert done.returncode == 1
    assert done.stderr.startswith(
        f"error: the Python package {package} is not installed; install it"
    )
    assert done.stderr.count("\n") == 1
