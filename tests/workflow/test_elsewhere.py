"""circlet without its clone: the wheel, a deployment by snakedeploy, versions."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path

import pandas as pd
import pytest
import yaml
from conftest import MINE, ROOT, config, config_of, experiment
from packaging.requirements import Requirement
from projects import WORKFLOW, edit, module, project_copy, project_files

import circlet
from circlet import native
from circlet.study import contributions, planning

CATALOG = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
HEAD = 'configfile: "config.yaml"\n'


class Folder:
    """A user's folder with a Snakefile and a config."""

    def __init__(self, path, snakefile=None, config=None, python=sys.executable):
        self.path, self.python = path, str(python)
        path.mkdir(exist_ok=True)
        if snakefile:
            (path / "Snakefile").write_text(snakefile)
        if config:
            (path / "config.yaml").write_text(config if isinstance(config, str) else dumped(config))

    def run(self, *command, check=True, **environment):
        """Run a module with the folder's Python; return its output on both streams."""
        usual = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        usual["PATH"] = f"{Path(self.python).parent}:{usual['PATH']}"  # an activated environment
        if self.python == sys.executable:
            usual["PYTHONPATH"] = str(ROOT / "src")
        how = () if command[0] == "-c" else ("-m",)
        done = subprocess.run(
            [self.python, *how, *map(str, command)], cwd=self.path, env=usual | environment,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip
        assert (done.returncode == 0) == check, done.stdout
        return done.stdout

    def snakemake(self, *arguments, **options):
        return self.run("snakemake", "--cores", "2", *arguments, **options)

    def line(self, *arguments):
        """Return the only line of Snakemake's output."""
        lines = self.snakemake(*arguments, check=False).splitlines()
        assert len(lines) == 1, lines
        return lines[0]


def dumped(content):
    return yaml.safe_dump(content, sort_keys=False)


def copy_collection(folder, is_broken=False):
    """Copy a user's collection into a folder; the runs of a broken one fail."""
    copied = shutil.copytree(MINE, folder, ignore=shutil.ignore_patterns("__pycache__"))
    if is_broken:
        edit(copied / "equations/drift.py", "1 - rate", "1 - rates")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    project_copy(folder / "clone")  # pip builds in the folder itself
    command = ["pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run(
        [sys.executable, "-m", *command, "--wheel-dir", folder, folder / "clone"], check=True
    )
    [path] = folder.glob("circlet-*.whl")
    return path


@pytest.mark.slow
def test_a_wheel_has_every_file_of_the_package(wheel):
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    kernels = {name for name in packed if name.endswith(".so")}
    assert len(kernels) == (len(native.KINDS) if shutil.which("c++") else 0)
    files = {n.removeprefix("src/") for n in project_files() if n.startswith("src/")}
    assert packed - kernels == files
    assert wheel.name.startswith(f"circlet-{circlet.__version__}-")


def needs(distribution, extras):
    """Return what pip installs with a distribution and some of its extras."""
    asked = [Requirement(line) for line in distribution.requires or ()]
    kinds = [{"extra": extra} for extra in ("", *extras)]
    return [r for r in asked if not r.marker or any(map(r.marker.evaluate, kinds))]


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """A Python with the wheel, and what pip installs with it, by links to this installation."""
    folder = tmp_path_factory.mktemp("python")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    python = folder / "bin/python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", wheel], check=True)
    [packages] = folder.glob("lib/python*/site-packages")
    [circlet_itself] = metadata.distributions(name="circlet", path=[str(packages)])
    todo, linked = needs(circlet_itself, ()), set()
    while todo:
        one = todo.pop()
        if str(one) not in linked:
            linked.add(str(one))
            distribution = metadata.distribution(one.name)
            assert one.specifier.contains(distribution.version, prereleases=True), one
            todo += needs(distribution, one.extras)
            for name in {file.parts[0] for file in distribution.files} - {"..", "__pycache__"}:
                if not (packages / name).exists():
                    (packages / name).symlink_to(distribution.locate_file(name))
    assert not (packages / "pytest").exists()
    return python


@pytest.mark.slow
def test_a_wheel_makes_a_study_in_an_empty_environment(python, tmp_path):
    swept = experiment(sweep={"weight_decay": [0, 1]})
    study = {"results": "out", "experiments": {"e": swept}, "reproduce": {"weight_magnitudes": "e"}}
    folder = Folder(tmp_path / "mine", HEAD, study, python)
    chosen = ("--configfile", "config.yaml")
    where = folder.run("-c", "import circlet; print(circlet.__file__)")
    assert Path(where).is_relative_to(python.parents[1])
    plan = folder.run("circlet", "plan", *chosen)
    assert re.search(r"^total +2 +4 +2 ", plan, re.MULTILINE)
    assert re.search(r"^figures: .* weight_magnitudes$", plan, re.MULTILINE)
    folder.run("circlet", "run", *chosen)
    assert "partial: 4 of 4 runs" in folder.run("circlet", "partial", *chosen)
    folder.run("circlet", "table", "runs", *chosen)
    made = folder.path / "out"
    assert len(pd.read_parquet(made / "tables/runs.parquet")) == 4
    assert (made / "partial/figures/weight_magnitudes.svg").stat().st_size > 5000
    caption = contributions.caption("weight_magnitudes", planning.plan(study))
    assert caption[:20] in (made / "partial/report.html").read_text()
    assert (made / "partial/explorer.html").stat().st_size > 10_000
    (folder.path / "Snakefile").write_text(HEAD + module("one", "config", prefix=""))
    listed = folder.snakemake("one_all", "--dry-run", "--quiet", "rules")
    assert "one_figure_weight_magnitudes" in listed


DEPLOYED = """
configfile: "config/config.yaml"

module circlet:
    snakefile:
        gitfile({repository!r}, path="workflow/Snakefile", ref="HEAD")
    config:
        config

use rule * from circlet
"""


@pytest.mark.slow
def test_what_snakedeploy_lays_out_runs_with_the_command_of_the_catalog(tmp_path, python):
    """This is the result of `snakedeploy deploy-workflow`, beside an installed package.

    snakedeploy names the file by ``github(...)``; one in a repository on disk is read the same way.
    Before version 0.17 snakedeploy left out ``profiles``.
    """
    repository = project_copy(tmp_path / "repository").folder
    git = ["git", "-C", repository, "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "All"]):
        subprocess.run([*git, *command], check=True)
    deployed = Folder(tmp_path / "deployed", python=python)
    folder = deployed.path
    (folder / "workflow").mkdir()
    (folder / "workflow/Snakefile").write_text(DEPLOYED.format(repository=str(repository)))
    shutil.copytree(repository / "config", folder / "config")
    shutil.rmtree(repository / "src")  # so that the installed package is used
    study = config(system="particles") | {"reproduce": {}, "figures": []}
    (folder / "config/config.yaml").write_text(dumped(study))
    deployed.run("snakemake", "--cores", "all")
    for name in ("tables/runs.parquet", "report.html", "explorer.html"):
        assert (folder / "results" / name).exists()
    assert not (folder / "results/study.json").exists()  # config/config.yaml is the study
    flags = shlex.split(CATALOG["mandatory-flags"]["flags"])
    assert "Nothing to be done" in deployed.run("snakemake", "--cores", "all", *flags)
    text = (folder / "config/config.yaml").read_text()
    (folder / "config/config.yaml").write_text(text.replace("results: results", "results: 'a b'"))
    assert deployed.line().startswith("error: config/config.yaml: results: 'a b' is not")
    (folder / "config/config.yaml").write_text(text)
    shutil.copytree(ROOT / "profiles", folder / "profiles")
    said = deployed.run("snakemake", "--cores", "all")
    assert "Using workflow specific profile profiles/default" in said
    assert "Nothing to be done" in said


STUDY = config(system="particles") | {"reproduce": {}}


@pytest.mark.slow
def test_the_command_for_what_is_done_works_as_it_is_printed(tmp_path):
    """This includes configs of several files, calls from another folder, and paths with spaces."""
    folder = Folder(tmp_path / "a folder")
    copy_collection(folder.path / "mine", is_broken=True)
    study = config_of("mine") | {"reproduce": {}}
    study["experiments"]["done"] = experiment("particles")
    (folder.path / "my study.yaml").write_text(dumped(study))
    more = {"experiments": {"done": {"parameters": {"p": 11}}}}
    (folder.path / "more.yaml").write_text(dumped(more))
    files = ["a folder/my study.yaml", "a folder/more.yaml"]
    host = Folder(tmp_path)
    options = ("--directory", "a folder", "--keep-going", "-s", WORKFLOW, "--configfile", *files)
    said = host.snakemake("logs_e", "logs_done", *options, check=False)
    (command,) = re.findall("runs done so far: (.*)", said)
    assert "partial: 2 of 6 runs" in host.run("-c", f"import os; os.system({command!r})")
    page = (folder.path / "results/partial/report.html").read_text()
    assert "p11" in page


def test_another_version_of_the_package_is_one_line(tmp_path):
    """One case is a deployed workflow with a package installed before or after it."""
    copied = shutil.copytree(ROOT / "workflow", tmp_path / "workflow")
    common = copied / "rules/common.smk"
    text = common.read_text()
    assert f'\nVERSION = "{circlet.__version__}"' in text
    common.write_text(text.replace(circlet.__version__, "9.9.9"))
    snakefile = HEAD + module("one", snakefile=copied / "Snakefile")
    folder = Folder(tmp_path / "host", snakefile, {"one": STUDY})
    assert folder.line("--dry-run") == (
        f"error: the workflow is circlet 9.9.9, the Python package circlet of {sys.executable} is "
        f"{circlet.__version__}; install circlet 9.9.9 there, or use the workflow of the package's "
        "version; see docs/running.md"
    )
    common.write_text(text.replace("from circlet import", "from circlet_of_nobody import"))
    assert f"is not installed; install circlet {circlet.__version__} there" in folder.line("-n")


def test_without_the_package_the_linter_sees_a_rule_of_each_kind(empty_project, tmp_path):
    """As where only Snakemake is installed: in the environment of Snakemake's catalog."""
    for hidden in ("circlet", "msgspec", "pyarrow", "torch"):
        (tmp_path / f"{hidden}.py").write_text("raise ImportError")
    for name in ("simulate", "targets"):
        rules = empty_project.folder / f"workflow/rules/{name}.smk"
        rules.write_text(re.sub(r"\n        log:\n.*", "", rules.read_text()))
    folder = Folder(empty_project.folder)
    said = folder.run("snakemake", "--lint", check=False, PYTHONPATH=str(tmp_path))
    kinds = {"system", "one_of_tables", "one_of_figures", "report", "explorer"}
    assert set(re.findall(r"Lints for rule (\w+)", said)) == kinds
    assert set(re.findall(r"^ +\* (.+):$", said, re.MULTILINE)) == {"No log directive defined"}


def test_the_changelog_begins_with_the_version():
    text = (ROOT / "CHANGELOG.md").read_text()
    assert re.search(r"^## (\S+)", text, re.MULTILINE)[1] == circlet.__version__
