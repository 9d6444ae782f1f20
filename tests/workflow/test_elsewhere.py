"""circlet without its clone: the wheel, the workflow as a module, a deployment by snakedeploy."""

import os
import re
import shlex
import shutil
import site
import subprocess
import sys
import sysconfig
import zipfile
from importlib import metadata
from pathlib import Path

import pandas as pd
import pytest
import yaml
from conftest import MINE, ROOT, config, config_of, experiment, project_copy, project_files
from packaging.requirements import Requirement

import circlet
from circlet import native
from circlet.storage import locks, parquet
from circlet.study import contributions, planning, targets

TEXT = (ROOT / "docs/running.md").read_text().partition("\n## In other projects\n")[2]
[CONFIG] = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
[SNAKEFILE] = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
CATALOG = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
WORKFLOW = ROOT / "workflow/Snakefile"
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
        known = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
        known["PATH"] = f"{Path(self.python).parent}:{known['PATH']}"  # an activated environment
        if self.python == sys.executable:
            known["PYTHONPATH"] = str(ROOT / "src")
        how = () if command[0] == "-c" else ("-m",)
        done = subprocess.run(
            [self.python, *how, *map(str, command)], cwd=self.path, env=known | environment,
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


def module(name, config='config["{name}"]', prefix="{name}", snakefile=WORKFLOW):
    """Return the Snakefile's text of a module with all its rules."""
    lines = [f"module {name}:", f"    snakefile: {str(snakefile)!r}"]
    if config:
        lines.append(f"    config: {config.format(name=name)}")
    if prefix:
        lines.append(f"    prefix: {prefix.format(name=name)!r}")
    return "\n".join([*lines, f"use rule * from {name} as {name}_*", ""])


# --- The wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A wheel of the project."""
    folder = tmp_path_factory.mktemp("wheel")
    project_copy(folder / "clone")  # pip builds in the folder itself
    command = ["pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run(
        [sys.executable, "-m", *command, "--wheel-dir", folder, folder / "clone"], check=True
    )
    [path] = folder.glob("circlet-*.whl")
    return path


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """A Python that has the wheel and its dependencies, and does not see the clone."""
    folder = tmp_path_factory.mktemp("python")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    # An editable install has a .pth file, which Python reads only in site directories.
    known = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib"), *site.getsitepackages()]
    [own] = folder.glob("lib/python*/site-packages")
    (own / "dependencies.pth").write_text("\n".join(dict.fromkeys(known)))
    zipfile.ZipFile(wheel).extractall(own)
    return folder / "bin/python"


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


@pytest.mark.slow
def test_a_wheel_makes_a_study_in_an_empty_environment(wheel, tmp_path):
    """Only what pip installs with it is available, by links to this installation."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    python = tmp_path / "venv/bin/python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet"]
    subprocess.run([*pip, "--no-deps", "--no-index", wheel], check=True)
    [own] = (tmp_path / "venv").glob("lib/python*/site-packages")
    [circlet_itself] = metadata.distributions(name="circlet", path=[str(own)])
    todo, known = needs(circlet_itself, ()), set()
    while todo:
        one = todo.pop()
        if str(one) not in known:
            known.add(str(one))
            found = metadata.distribution(one.name)
            assert one.specifier.contains(found.version, prereleases=True), one
            todo += needs(found, one.extras)
            for name in {file.parts[0] for file in found.files} - {"..", "__pycache__"}:
                if not (own / name).exists():
                    (own / name).symlink_to(found.locate_file(name))
    assert not (own / "pytest").exists()
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


# --- As snakedeploy lays it out


DEPLOYED = """
configfile: "config/config.yaml"

module circlet:
    snakefile:
        gitfile({repository!r}, path="workflow/Snakefile", ref="HEAD")
    config:
        config

use rule * from circlet
"""


@pytest.fixture
def deployed(tmp_path, python):
    """The result of `snakedeploy deploy-workflow` on a repository, beside an installed package.

    snakedeploy names the file by ``github(...)``; one in a repository on disk is read the same way.
    Before version 0.17 snakedeploy left out ``profiles``.
    """
    repository = project_copy(tmp_path / "repository").folder
    git = ["git", "-C", repository, "-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "All"]):
        subprocess.run([*git, *command], check=True)
    folder = Folder(tmp_path / "deployed", python=python)
    (folder.path / "workflow").mkdir()
    (folder.path / "workflow/Snakefile").write_text(DEPLOYED.format(repository=str(repository)))
    shutil.copytree(repository / "config", folder.path / "config")
    shutil.rmtree(repository / "src")  # so that the installed package is used
    (folder.path / "config/config.yaml").write_text(
        dumped(config(system="particles") | {"reproduce": {}, "figures": []})
    )
    return folder


@pytest.mark.slow
def test_what_snakedeploy_lays_out_runs_with_the_command_of_the_catalog(deployed):
    folder = deployed.path
    deployed.run("snakemake", "--cores", "all")
    for name in ("tables/runs.parquet", "report.html", "explorer.html"):
        assert (folder / "results" / name).exists()
    assert not (folder / "results/study.json").exists()  # config/config.yaml is the study
    flags = shlex.split(CATALOG["mandatory-flags"]["flags"])
    assert "Nothing to be done" in deployed.run("snakemake", "--cores", "all", *flags)
    text = (folder / "config/config.yaml").read_text()
    (folder / "config/config.yaml").write_text(text.replace("results: results", "results: 'a b'"))
    assert deployed.line().startswith("error: config/config.yaml: results: 'a b' is not")
    (folder / "config/config.yaml").write_text(f"{text}results: twice\n")
    assert deployed.line().startswith("error: config/config.yaml: 'results' is given twice")
    (folder / "config/config.yaml").write_text(text)
    shutil.copytree(ROOT / "profiles", folder / "profiles")
    said = deployed.run("snakemake", "--cores", "all")
    assert "Using workflow specific profile profiles/default" in said
    assert "Nothing to be done" in said


def test_the_catalog_names_no_file_that_a_deployed_folder_lacks():
    flags = CATALOG["mandatory-flags"]["flags"]
    assert "profile" not in flags
    settings = yaml.safe_load((ROOT / "profiles/default/config.yaml").read_text())
    assert {flag.removeprefix("--") for flag in flags.split() if flag[:2] == "--"} <= set(settings)


# --- As a module


@pytest.mark.slow
def test_two_modules_with_rules_of_ones_own(tmp_path):
    """The text is from the docs. A rule with `run:` starts another Snakemake, which plans both."""
    snakefile = SNAKEFILE.replace("path/to/circlet", str(ROOT))
    folder = Folder(tmp_path / "host", snakefile, CONFIG)
    folder.snakemake()
    losses = pd.read_csv(folder.path / "losses.csv")
    assert len(losses) == 10
    assert losses["slow"].mean() != losses["fast"].mean()
    for name in ("slow", "fast"):
        logs = {path.parts[-5] for path in folder.path.glob(f"{name}/**/seeds_*/runs.parquet")}
        assert logs == {"logs"}
    assert {path.name for path in folder.path.iterdir()} == {
        "Snakefile", "config.yaml", "losses.csv", "slow", "fast", ".snakemake"
    }  # fmt: skip
    status = folder.run("circlet", "status", "--study", "slow/results/study.json")
    assert re.search(r"^total +10 +10 ", status, re.MULTILINE)

    assert "Nothing to be done" in folder.snakemake("slow_table_runs", "all")
    listed = folder.snakemake("fast_all", "--dry-run", "--quiet", "rules")
    assert "fast_report" in listed
    assert "slow_" not in listed
    text = (folder.path / "config.yaml").read_text()
    (folder.path / "config.yaml").write_text(text.replace("0.02", "0.03"))
    jobs = folder.snakemake("--dry-run", "--quiet", "rules")
    assert re.search(r"^fast_constant_attention +1$", jobs, re.MULTILINE)
    assert "slow_" not in jobs


STUDY = config(system="particles") | {"reproduce": {}}


@pytest.mark.slow
def test_the_results_of_a_module_are_locked_and_its_failures_are_explained(tmp_path):
    events = "from circlet import pipeline\nonstart:\n    pipeline.start()\n"
    events += "onerror:\n    pipeline.explain()\n"
    text = events + HEAD + module("one") + module("two")
    folder = Folder(tmp_path / "host", text, {"one": config_of("mine"), "two": STUDY})
    shutil.copytree(MINE, folder.path / "mine", ignore=shutil.ignore_patterns("__pycache__"))
    equations = folder.path / "mine/equations/drift.py"
    equations.write_text(equations.read_text().replace("1 - rate", "1 - rates"))
    with locks.lock(folder.path / "two/results"):
        said = folder.snakemake("one_table_runs", check=False)
    assert f"another Snakemake works on two/results (process {os.getpid()} on" in said
    assert "Traceback" not in said
    assert not (folder.path / "one/results/logs").exists()
    said = folder.snakemake("one_table_runs", "--keep-going", check=False)
    assert "\nmodule one:\n0 of 4 runs are done.\n2 failed:\n  e/p5_d2_r0.1/00000-00001: " in said
    assert "python -m circlet partial --study one/results/study.json" in said
    assert "partial --study two/results/study.json" in said


@pytest.mark.slow
def test_the_command_for_what_is_done_works_as_it_is_printed(tmp_path):
    """This includes configs of several files, calls from another folder, and paths with spaces."""
    folder = Folder(tmp_path / "a folder")
    shutil.copytree(MINE, folder.path / "mine", ignore=shutil.ignore_patterns("__pycache__"))
    equations = folder.path / "mine/equations/drift.py"
    equations.write_text(equations.read_text().replace("1 - rate", "1 - rates"))
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


@pytest.mark.parametrize(("study", "line"), [
    ({"experiments": {"e": experiment(stps=5)}}, "experiments.e: unknown key 'stps' ("),
    ({"results": 5}, "results: 5 is not of type 'string'"),
    ({"collections": ["nowhere"]}, "collections: {here}/nowhere: there is no such folder"),
    (None, "has no config: write `config: config` into the module statement"),
])  # fmt: skip
def test_an_error_in_the_config_of_a_module_is_one_line(tmp_path, study, line):
    content = {"one": STUDY | study if isinstance(study, dict) else study}
    folder = Folder(tmp_path / "host", HEAD + module("one"), content)
    expected = f"error: module one: {line.format(here=folder.path)}"
    assert folder.line("--dry-run").startswith(expected)


@pytest.mark.slow
def test_modules_that_write_to_the_same_folder_are_refused(tmp_path):
    other = STUDY | {"experiments": {"f": experiment("particles")}}
    text = HEAD + module("one", prefix="") + module("two", prefix="")
    folder = Folder(tmp_path / "host", text, {"one": STUDY, "two": other})
    assert folder.line("--dry-run").startswith(
        "error: module two: results: module one writes to results, too; give each module its own "
    )
    folder = Folder(tmp_path / "host", text, {"one": STUDY, "two": other | {"results": "more"}})
    assert "two_particles" in folder.snakemake("--dry-run", "two_logs")


@pytest.mark.slow
def test_collections_of_one_name_in_two_modules_are_refused(tmp_path):
    """Both collections would be the same Python package."""
    folders = [tmp_path / "host" / place / "mine" for place in ("a", "b")]
    for own in folders:
        shutil.copytree(MINE, own, ignore=shutil.ignore_patterns("__pycache__"))
    given = {name: config_of(str(own)) for name, own in zip(("one", "two"), folders, strict=True)}
    folder = Folder(tmp_path / "host", HEAD + module("one") + module("two"), given)
    assert folder.line("--dry-run") == (
        f"error: module two: collections: {folders[1]} and {folders[0]} of another module have one "
        "name; rename one"
    )


@pytest.mark.slow
def test_a_module_with_a_collection_and_its_captions(tmp_path):
    """Captions are in Snakemake's report; also those of a changed rule, and of a nested module."""
    folder = Folder(tmp_path / "host", config={"study": config_of("mine")})
    shutil.copytree(MINE, folder.path / "mine", ignore=shutil.ignore_patterns("__pycache__"))
    inner = module("one", config="config", prefix="inner")
    inner += "use rule table_runs from one as one_table_runs with:\n    threads: 2\n"
    (folder.path / "inner.smk").write_text(inner)
    outer = module("all", 'config["study"]', "outer", "inner.smk")
    (folder.path / "Snakefile").write_text(HEAD + outer)
    figure = "outer/inner/results/figures/mine.distances.svg"
    folder.snakemake("all_one_table_runs", figure)
    assert len(pd.read_parquet(folder.path / "outer/inner/results/tables/runs.parquet")) == 4
    folder.snakemake("--report", "report.html", figure)
    assert (
        "Distance from the origin at the end, by rate" in (folder.path / "report.html").read_text()
    )


def test_a_job_of_a_module_on_a_cluster_makes_what_was_planned(tmp_path, monkeypatch):
    """On the cluster Snakemake reads the config again; each module has its own plan."""
    folder = Folder(
        tmp_path / "host", HEAD + module("one") + module("two"), {"one": STUDY, "two": STUDY}
    )
    planned = {}
    for name in ("one", "two"):
        study = planning.plan(STUDY | {"results": f"{name}/results"})
        keys = " ".join(f"{t.kind}/{t.name}={t.key}" for t in targets.ordered(study))
        planned |= {f"CIRCLET_STUDY_{name}": study.json, f"CIRCLET_KEYS_{name}": keys,
                    f"CIRCLET_FOLDER_{name}": "results"}  # fmt: skip
    edited = STUDY | {"experiments": {"e": experiment("particles", steps=9)}, "results": "other"}
    Folder(folder.path, config={"one": edited, "two": edited})
    [block] = planning.plan(STUDY | {"results": "two/results"}).blocks
    planned |= {"CIRCLET_GPUS": "0", "CIRCLET_GPU_SHARES": "1", "CIRCLET_GROUP": "1"}
    folder.snakemake(block.log("runs"), "--mode", "remote", CIRCLET_COSTS="costs", **planned)
    monkeypatch.chdir(folder.path)
    assert parquet.is_current(block)


# --- Versions


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


def test_the_changelog_begins_with_the_version():
    text = (ROOT / "CHANGELOG.md").read_text()
    assert re.search(r"^## (\S+)", text, re.MULTILINE)[1] == circlet.__version__
