"""A copy of the project in which commands can be run and files edited; the finished smoke study."""

import fcntl
import hashlib
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOW = ROOT / "workflow/Snakefile"
# The copy of the project in pytest's cache is no part of its repository.
os.environ["GIT_CEILING_DIRECTORIES"] = str(ROOT / ".pytest_cache")


def edit(file, old, new, times=-1):
    """Replace text in a file that contains it, everywhere or the first ``times`` times."""
    text = file.read_text()
    assert old in text, f"{file} has no {old!r}"
    file.write_text(text.replace(old, new, times))


def module(name, config='config["{name}"]', prefix="{name}", snakefile=WORKFLOW):
    """Return the Snakefile's text of a module with all its rules."""
    lines = [f"module {name}:", f"    snakefile: {str(snakefile)!r}"]
    lines.append(f"    config: {config.format(name=name)}")
    if prefix:
        lines.append(f"    prefix: {prefix.format(name=name)!r}")
    return "\n".join([*lines, f"use rule * from {name} as {name}_*", ""])


class Project:
    """A copy of the project in which commands can be run and files edited."""

    def __init__(self, folder: Path):
        self.folder = folder

    def begin(self, *command, start=subprocess.Popen, **options):
        """Start a module, or some code, in the project."""
        how = () if command[0] == "-c" else ("-m",)
        return start(
            [sys.executable, *how, *map(str, command)],
            cwd=self.folder,
            env=os.environ | {"PYTHONPATH": str(self.folder / "src")},
            text=True,
            **options,
        )

    def run(self, *command, check=True, **options):
        done = self.begin(*command, start=subprocess.run, capture_output=True, **options)
        if check and done.returncode:
            raise AssertionError(f"{command}: {done.returncode}\n{done.stdout}\n{done.stderr}")
        return done

    def snakemake(self, *arguments, config="config/smoke.yaml", **options):
        # Targets come first: --configfile takes all following arguments.
        chosen = ("--profile", "profiles/local", "--configfile", config)
        return self.run("snakemake", *arguments, *chosen, **options)

    def would_run(self, config="config/smoke.yaml"):
        """Return the jobs that a dry run announces, by rule, without targets."""
        return self.announced(self.snakemake("--dry-run", config=config).stdout.splitlines())

    @staticmethod
    def announced(lines):
        """Return the jobs in the output of a dry run, by rule, without targets."""
        if "job" not in (line.split(" ")[0] for line in lines):
            assert any("Nothing to be done" in line for line in lines), lines
            return {}
        first = next(i for i, line in enumerate(lines) if line.startswith("job ")) + 2
        jobs = {}
        for line in lines[first:]:
            rule, count = line.split()
            if rule == "total":
                break
            jobs[rule] = int(count)
        targets = ("all", "default", "tables", "figures")
        return {rule: n for rule, n in jobs.items() if rule not in targets}

    def write(self, config, content):
        """Write a config, with its keys in their order."""
        (self.folder / config).write_text(yaml.safe_dump(content, sort_keys=False))

    def edit(self, file, old, new):
        edit(self.folder / file, old, new, 1)

    def half_written(self):
        """Return temporary files of `files.atomic` that were left behind."""
        return [
            p for p in self.folder.glob("results/**/.*") if re.search(r"\.[0-9a-f]{8}\.", p.name)
        ]

    def copy(self, folder: Path) -> "Project":
        shutil.copytree(self.folder, folder, symlinks=True)
        return Project(folder)


def project_files() -> list[str]:
    """Return the names of the project's files, as a clone would have them."""
    command = ["git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    return [name for name in filter(None, listed.split("\0")) if (ROOT / name).is_file()]


def project_copy(folder: Path) -> Project:
    """Copy the files of the project, its kernels and compiled modules, without results."""
    suffixes = (".so", ".pyc")
    compiled = [p for p in (ROOT / "src").rglob("*") if p.suffix in suffixes]
    built = [str(path.relative_to(ROOT)) for path in compiled]
    for name in [*project_files(), *built]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    return Project(folder)


def made_from() -> str:
    """Return a hash of all that the results of a study follow from."""
    tops = ("Snakefile", "workflow", "src", "config", "profiles", "constraints.txt")
    files = sorted(name for name in project_files() if Path(name).parts[0] in tops)
    content = hashlib.sha256(f"{sys.version} {files} {MAKE}".encode())
    for name in files:
        content.update((ROOT / name).read_bytes())
    return content.hexdigest()[:16]


def children_seconds():
    """Return the computing time of all ended child processes."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def start_seconds():
    """Computing time of importing torch and pandas: the unit of time limits in tests."""
    before = children_seconds()
    subprocess.run([sys.executable, "-c", "import torch, pandas"], check=True)
    return children_seconds() - before


# All that the jobs of a study do, in two processes: Snakemake would start 120. The files that each
# target reads are listed in reads.json.
MAKE = """
import json, sys
from itertools import groupby
from multiprocessing import get_context
from pathlib import Path
from circlet import build
from circlet.storage import parquet
from circlet.study import targets
from circlet.study import planning
from circlet.training import job

study = planning.plan_file(sys.argv[1])
paths, reading = [], parquet.reading
parquet.reading = lambda path: paths.append(str(path)) or reading(path)

def run(i):
    job.run_block(blocks[i], "cpu")

def make(i):
    paths.clear()
    build.make(made[i])
    return f"{made[i].kind}/{made[i].name}", sorted(set(paths))

def level(target):
    return 1 + max(map(level, target.tables), default=0)

def levels(items, key):
    order = sorted(range(len(items)), key=lambda i: key(items[i]))
    return [list(same) for _, same in groupby(order, lambda i: key(items[i]))]

blocks, made = study.ordered_blocks, targets.ordered(study)
with get_context("fork").Pool(2) as pool:
    for some in levels(blocks, lambda block: block.point.depth):
        pool.map(run, some, 1)
    steps = levels(made, lambda target: (target.kind == "pages", level(target)))
    reads = {name: files for some in steps for name, files in pool.map(make, some, 1)}
Path("reads.json").write_text(json.dumps(reads))
"""


# Snakemake waits a tenth of a second before each file that it touches.
TOUCH = """
import sys, types
from snakemake import cli
from snakemake.executors import touch
touch.time = types.SimpleNamespace(sleep=lambda seconds: None)
cli.main(["--touch", "--forceall", "--cores", "1", "--configfile", *sys.argv[1:]])
"""


def finish(project: Project, config="config/smoke.yaml"):
    """Make a study without Snakemake, then let Snakemake record it as its own."""
    project.run("-c", MAKE, config)
    project.run("-c", TOUCH, config)


@pytest.fixture(scope="session")
def finished(pytestconfig):
    """The project with a finished smoke study. Do not change it: take a ``project``.

    It is kept for later calls of pytest and shared with concurrent ones, until an edit requires
    a new one.
    """
    cache = pytestconfig.cache.mkdir("finished")
    folder = cache / made_from()
    with (cache / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for other in cache.glob("*/done"):
            if time.time() - other.stat().st_mtime > 86_400:  # younger ones may be in use
                shutil.rmtree(other.parent)
        failed = folder / f"failed-{os.environ.get('PYTEST_XDIST_TESTRUNUID', os.getpid())}"
        if failed.exists():
            pytest.fail(failed.read_text())
        if not (folder / "done").exists():
            shutil.rmtree(folder, ignore_errors=True)
            project = project_copy(folder)
            try:
                finish(project)
            except AssertionError as error:  # other workers would wait as long for the same error
                failed.write_text(str(error))
                raise
            (folder / "done").touch()
    return Project(folder)


@pytest.fixture
def project(finished, tmp_path):
    """A private copy of the project with its finished smoke study."""
    return finished.copy(tmp_path / "project")


@pytest.fixture
def empty_project(tmp_path):
    """A private copy of the project without results."""
    return project_copy(tmp_path / "project")
