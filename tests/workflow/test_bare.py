"""The workflow where only Snakemake is installed, as in the environment of Snakemake's catalog."""

import os
import re
import subprocess
import sys
import sysconfig

GOOD = "Congratulations, your workflow is in a good condition!"
KINDS = {"system", "one_of_tables", "one_of_figures", "report", "explorer"}


def snakemake(project, *arguments):
    """Return the exit status and the output of Snakemake in a copy of the project.

    Python skips its .pth files, which lead to circlet, and finds none of the packages that circlet
    needs and Snakemake does not.
    """
    hidden = project.folder / "hidden"
    hidden.mkdir(exist_ok=True)
    for name in ("circlet", "msgspec", "numpy", "pandas", "pyarrow", "torch"):
        (hidden / f"{name}.py").write_text("raise ImportError")
    done = subprocess.run(
        [sys.executable, "-S", "-m", "snakemake", *arguments],
        cwd=project.folder,
        env=os.environ | {"PYTHONPATH": f"{hidden}{os.pathsep}{sysconfig.get_path('purelib')}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.returncode, done.stdout


def test_without_the_package_the_linter_sees_a_rule_of_each_kind(empty_project):
    status, said = snakemake(empty_project, "--dry-run")
    assert status == 1
    assert said.splitlines()[-1].startswith("error: the workflow is circlet ")
    assert f"of {sys.executable} is not installed; install circlet " in said
    status, said = snakemake(empty_project, "--lint")
    assert (status, GOOD in said) == (0, True), said
    for name in ("simulate", "tables", "publish"):
        rules = empty_project.folder / f"workflow/rules/{name}.smk"
        rules.write_text(re.sub(r"\n        log:\n.*", "", rules.read_text()))
    status, said = snakemake(empty_project, "--lint")
    assert status == 1
    assert set(re.findall(r"Lints for rule (\w+)", said)) == KINDS
