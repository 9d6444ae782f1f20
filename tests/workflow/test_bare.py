"""The workflow where only Snakemake is installed, as in the environment of Snakemake's catalog."""

import re

from test_elsewhere import Folder

KINDS = {"system", "one_of_tables", "one_of_figures", "report", "explorer"}


def test_without_the_package_the_linter_sees_a_rule_of_each_kind(empty_project, tmp_path):
    for hidden in ("circlet", "msgspec", "pyarrow", "torch"):
        (tmp_path / f"{hidden}.py").write_text("raise ImportError")
    for name in ("simulate", "targets"):
        rules = empty_project.folder / f"workflow/rules/{name}.smk"
        rules.write_text(re.sub(r"\n        log:\n.*", "", rules.read_text()))
    folder = Folder(empty_project.folder)
    said = folder.run("snakemake", "--lint", check=False, PYTHONPATH=str(tmp_path))
    assert set(re.findall(r"Lints for rule (\w+)", said)) == KINDS
    assert set(re.findall(r"^ +\* (.+):$", said, re.MULTILINE)) == {"No log directive defined"}
