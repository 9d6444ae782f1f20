"""The workflow where only Snakemake is installed, as in the environment of Snakemake's catalog."""

import re
import subprocess
import sys

import pytest
from conftest import ROOT
from projects import project_copy
from test_elsewhere import Folder

GOOD = "Congratulations, your workflow is in a good condition!"
KINDS = {"system", "one_of_tables", "one_of_figures", "report", "explorer"}


def test_without_the_package_the_linter_sees_a_rule_of_each_kind(empty_project, tmp_path):
    (tmp_path / "circlet.py").write_text("raise ImportError")  # hides the package
    for name in ("simulate", "targets"):
        rules = empty_project.folder / f"workflow/rules/{name}.smk"
        rules.write_text(re.sub(r"\n        log:\n.*", "", rules.read_text()))
    folder = Folder(empty_project.folder)
    said = folder.run("snakemake", "--lint", check=False, PYTHONPATH=str(tmp_path))
    assert set(re.findall(r"Lints for rule (\w+)", said)) == KINDS
    assert set(re.findall(r"^ +\* (.+):$", said, re.MULTILINE)) == {"No log directive defined"}


@pytest.mark.slow
def test_the_linter_passes_where_only_snakemake_is_installed(tmp_path):
    """Needs the network, or what pip has kept."""
    project = project_copy(tmp_path / "project")
    python = tmp_path / "venv/bin/python"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    pip = ("-m", "pip", "install", "--quiet", "--constraint", ROOT / "constraints.txt")
    subprocess.run([python, *pip, "snakemake"], check=True)
    folder = Folder(project.folder, python=python)
    assert GOOD in folder.run("snakemake", "--lint", PYTHONPATH="")
    said = folder.run("snakemake", "--dry-run", check=False, PYTHONPATH="")
    assert said.splitlines()[-1].startswith("error: the workflow is circlet ")
    assert f"of {python} is not installed; install circlet " in said
