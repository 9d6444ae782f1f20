"""The workflow where only Snakemake is installed, as in the environment of Snakemake's catalog."""

import os
import re
import subprocess
import sys

import pytest
from conftest import ROOT
from projects import project_copy

GOOD = "Congratulations, your workflow is in a good condition!"
KINDS = {"system", "one_of_tables", "one_of_figures", "report", "explorer"}


def snakemake(project, *arguments, python=sys.executable, path=""):
    """Return the exit status and the output of Snakemake in a copy of the project."""
    done = subprocess.run(
        [python, "-m", "snakemake", *arguments],
        cwd=project.folder,
        env=os.environ | {"PYTHONPATH": str(path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.returncode, done.stdout


@pytest.fixture
def hidden(tmp_path):
    """A folder that hides the package from a Python that has it."""
    (tmp_path / "circlet.py").write_text("raise ImportError")
    return tmp_path


def test_without_the_package_the_linter_sees_a_rule_of_each_kind(empty_project, hidden):
    status, said = snakemake(empty_project, "--lint", path=hidden)
    assert (status, GOOD in said) == (0, True), said
    for name in ("simulate", "tables", "publish"):
        rules = empty_project.folder / f"workflow/rules/{name}.smk"
        rules.write_text(re.sub(r"\n        log:\n.*", "", rules.read_text()))
    status, said = snakemake(empty_project, "--lint", path=hidden)
    assert status == 1
    assert set(re.findall(r"Lints for rule (\w+)", said)) == KINDS


@pytest.mark.slow
def test_the_linter_passes_where_only_snakemake_is_installed(tmp_path):
    """Needs the network, or what pip has kept."""
    project = project_copy(tmp_path / "project")
    python = tmp_path / "venv/bin/python"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    pip = ("-m", "pip", "install", "--quiet", "--constraint", ROOT / "constraints.txt")
    subprocess.run([python, *pip, "snakemake"], check=True)
    status, said = snakemake(project, "--lint", python=python)
    assert (status, GOOD in said) == (0, True), said
    status, said = snakemake(project, "--dry-run", python=python)
    assert status == 1
    assert said.splitlines()[-1].startswith("error: the workflow is circlet ")
    assert f"of {python} is not installed; install circlet " in said
