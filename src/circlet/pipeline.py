"""Interface of Snakemake's rules to circlet: the plan, the inputs of jobs, a lock on the results.

The workflow may run by itself or as a module of another workflow, even several times in one.
This module does not import Snakemake: rules pass the object ``workflow``. `start`, `finish` and
`explain` handle the events of a workflow; Snakemake ignores the handlers of its modules, so the
enclosing workflow may call these functions.
"""

import os
import re
import shlex
import sys
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from circlet import job_server, terminal
from circlet.config import reading
from circlet.errors import CircletError, ConfigError
from circlet.job_requests import Requests
from circlet.lazy_import import load
from circlet.storage import files, kept, locks, progress, remote
from circlet.study import limits, measured, planning, sources, targets
from circlet.study.blocks import Block
from circlet.study.targets import Target

if TYPE_CHECKING:
    from snakemake.workflow import Workflow

    from circlet.watch import Display

LONG_AGO = 10**6  # seconds, the age of the log of a block that never began
FOLDERS: dict[str, str] = {}  # of users' collections in this workflow, by name
USES: dict[Path, "Pipeline"] = {}  # uses of the workflow in this process, by results folder


def start() -> None:
    """Lock the results of all uses, and write the files that later jobs need."""
    for use in USES.values():
        # Snakemake's own lock (off, see profiles/default) outlives a killed Snakemake; this one
        # ends with its process, so that the same command resumes.
        use.lock = locks.lock(use.study.results)
        try:
            if not use.is_in_file:
                files.write_text(use.study_file, use.frozen)
        except CircletError as error:
            sys.exit(f"error: {error}")
        use.is_at_work = True


def finish() -> None:
    """Print the path of the report when all is made."""
    for use in USES.values():
        use.end_display()
        kept.remove(use.study)
        report = use.study.results / "report.html"
        if not use.modules and report in use.requested:
            print(f"report: {use.address(report)}", file=sys.stderr)


def explain() -> None:
    """Print what has failed and what to do."""
    for use in USES.values():
        use.end_display()
        kept.restore_all(use.study)
        whose = f"\n{use.name}:" if use.modules else ""
        which = ("--configfile", use.name) if use.is_in_file else ("--study", use.study_file)
        if use.storage:
            which = (*which, "--from", use.address(use.study.results))
        partial = f"{terminal.python()} -m circlet partial {shlex.join(map(str, which))}"
        if use.workflow.overwrite_workdir:
            partial = f"cd {shlex.quote(str(Path.cwd()))} && {partial}"
        print(whose + terminal.failures(use.study, partial), file=sys.stderr)


def is_displayed() -> bool:
    """Return whether to display progress instead of Snakemake's lists of jobs."""
    return [use.has_display for use in USES.values()] == [True]


def display(jobs: Mapping[str, int]) -> "Display | None":
    """Start the display, given the number of jobs by rule; None while no job may begin."""
    [use] = USES.values()
    if not use.is_at_work:
        return None
    again = [path for t in use.targets if rule_of(t) in jobs for path in t.outputs]
    for system in use.study.systems:
        blocks = [b for b in use.blocks.values() if b.point.system.name == system]
        if jobs.get(system) == len(blocks):
            again += [path for block in blocks for path in block.logs]
    old = {path: path.stat().st_mtime for path in again if path.exists()}
    watch, since = load("circlet.watch"), time.time()
    use.display = watch.Display(lambda: watch.Watch(use.study, use.requested, old, since))
    use.display.start()
    job_server.start(jobs.get("total", 0))
    return use.display


def checked(path: str | Path) -> dict[str, Any]:
    """Read a config file more strictly than Snakemake, which accepts duplicate keys."""
    try:
        content = reading.read(path)
        if "__use_yte__" in content:
            raise ConfigError("__use_yte__: must not be there: it lets a config execute code")
        return content
    except CircletError as error:
        sys.exit(f"error: {path}: {error}")


class Pipeline:
    """One use of the workflow; a wrong config ends the program with one line."""

    def __init__(self, workflow: "Workflow", config: dict[str, Any]):
        self.workflow = workflow
        # Names of this module and of the enclosing ones; empty if the workflow runs by itself.
        self.modules: list[str] = []
        above = workflow.modifier
        while above:
            modifier, above = above, above.parent_modifier
            self.modules[:0] = [modifier.namespace] if modifier.namespace else []
        # A part of a config, such as config["circlet"], need not be a file of its own.
        whole = config is modifier.globals["config"]
        self.files = list(workflow.configfiles) if whole else []
        self.name = str(self.files[-1]) if self.files else f"module {'.'.join(self.modules)}"
        # Where Snakemake keeps the results, if not in a folder of this machine.
        storage = workflow.storage_settings
        self.storage = ""
        if storage and storage.default_storage_provider:
            self.storage = storage.default_storage_prefix or ""
        # In a cluster job another Snakemake reads the config and the code again, perhaps after an
        # edit. It must make what the submitting Snakemake has planned, so it gets that plan.
        self.outer = not (workflow.remote_exec or workflow.subprocess_exec)
        self.requests = Requests(workflow, self.storage, self.block, self.outer)
        try:
            # Results folder as rules name it: Snakemake adds the prefix of a module.
            self.folder = Path(os.environ.get(self._variable("FOLDER"), ""))
            used: dict[str, Any] = {}
            planned = "" if self.outer else os.environ.get(self._variable("STUDY"), "")
            if not planned:
                used = self._with_folders(config)
            decoded = planned and planning.decode(planned)
            self.study = replace(decoded or planning.plan(used), is_remote=bool(self.storage))
            self.targets = targets.ordered(self.study)
            # The study as it is now, for jobs that begin later.
            self.frozen = self.study.whole_json
            self.packed = planning.packed(self.frozen)
            if self.outer:
                if not self.storage:
                    progress.check_parents(self.study)
                limits.check_measured(self.study.points)
                if self.study.checkpoints:
                    remote.Remote(self.study.checkpoints)  # is its package installed?
            self._prepare_environment()
            sources.keep()
        except CircletError as error:
            sys.exit(f"error: {self.name}: {error}")
        for folder in self.study.folders:
            other = FOLDERS.setdefault(Path(folder).name, folder)
            if other != folder:
                sys.exit(f"error: {self.name}: collections: {folder} and {other} of another module "
                         "have one name; rename one")  # fmt: skip
        # File with the study for commands such as `status`, if no config file has all of it.
        self.study_file = self.study.results / "study.json"
        self.is_in_file = bool(self.outer and self.files) and self._contents[-1] == used
        self.blocks = {block.key: block for block in self.study.blocks}
        self.display: Display | None = None
        self.lock: Any = None  # while it is at work
        self.is_at_work = False  # whether the lock is held and jobs may run
        self.requested: set[Path] = set()  # files that Snakemake makes or finds
        self._register()

    @cached_property
    def _contents(self) -> list[dict[str, Any]]:
        """Contents of the config files."""
        return [checked(path) for path in self.files]

    def _with_folders(self, config: dict[str, Any]) -> dict[str, Any]:
        """Return the config with its folders resolved, those of collections and of results."""
        if self.modules and not config:
            raise ConfigError("has no config: write `config: config` into the module statement")
        resolved = dict(config)
        # Snakemake does not resolve folders, which are relative to the config file.
        for content in self._contents:
            resolved |= {k: v for k, v in content.items() if k == "collections"}
        folders, configfiles = resolved.get("collections"), self.workflow.configfiles
        if not self.files and isinstance(folders, list):
            config_folder = Path(configfiles[-1]).resolve().parent if configfiles else Path.cwd()
            resolved["collections"] = [reading.place(str(f), config_folder) for f in folders]
        results = resolved.get("results")
        self.folder = Path(str(results))
        if self.modules and isinstance(results, str):
            modifier = self.workflow.modifier.path_modifier
            resolved["results"] = modifier.replace_prefix(f"{results}/x").removesuffix("/x")
        return resolved

    def _variable(self, name: str) -> str:
        """Return the name of an environment variable of this module alone."""
        return re.sub(r"\W", "_", "_".join(["CIRCLET", name, *self.modules]), flags=re.ASCII)

    def _prepare_environment(self) -> None:
        """Set environment variables for jobs, and for Snakemakes that run in jobs."""
        study, keys, folder = map(self._variable, ("STUDY", "KEYS", "FOLDER"))
        if self.outer:
            os.environ[folder] = str(self.folder)
            os.environ["CIRCLET_COSTS"] = str(measured.folder())
            os.environ[study] = self.packed
            os.environ[keys] = " ".join(f"{t.kind}/{t.name}={t.key}" for t in self.targets)
        if not self.has_display:
            os.environ.pop(progress.DISPLAYED, None)
        self.workflow.register_envvars("CIRCLET_COSTS", study, keys, folder)
        self.keys = dict(pair.split("=") for pair in os.environ[keys].split())
        # Jobs run `python -m circlet` with the interpreter that runs Snakemake.
        python_folder = str(Path(sys.executable).parent)
        if os.get_exec_path()[:1] != [python_folder]:
            os.environ["PATH"] = os.pathsep.join([python_folder, *os.get_exec_path()])

    def _register(self) -> None:
        """Add this use to `USES`; exit if another study writes to the same folder."""
        if any(use.workflow is not self.workflow for use in USES.values()):
            USES.clear()
        other = USES.setdefault(self.study.results, self)
        if other.frozen != self.frozen:
            sys.exit(
                f"error: {self.name}: results: {other.name} writes to {self.study.results}, too; "
                "give each module its own `prefix`, or each config its own `results`"
            )

    @property
    def is_default(self) -> bool:
        """Whether a bare `snakemake` makes all targets: not if a module's rules are renamed."""
        return self.workflow.modifier.modify_rulename("all") == "all"

    def address(self, path: Path) -> str:
        """Return where a file or folder of the results lies."""
        return f"{self.storage.rstrip('/')}/{path}" if self.storage else str(path)

    @property
    def has_display(self) -> bool:
        """Whether progress is displayed during the run."""
        settings = self.workflow.execution_settings
        unseen = self.modules or self.storage or self.workflow.touch
        return not (unseen or (settings and settings.no_hooks))

    def end_display(self) -> None:
        """Stop the display, if there is one."""
        self.is_at_work = False
        if self.display is not None:
            self.display.stop()

    @cached_property
    def _priorities(self) -> tuple[dict[str, int], dict[str, int]]:
        return targets.priorities(self.study, self.of_kind("figures"))

    def priority(self, target: Target) -> int:
        """Return the priority of a target: first figures come soon, and no page has to wait."""
        if not self.outer:
            return 0
        return self._priorities[1].get(f"{target.kind}/{target.name}", targets.FOR_PAGES)

    def block_priority(self, wildcards: Any) -> int:
        """Return the priority of a block; in a group, first those that never began, or long ago.

        A group ends with the first block that fails, so the next try has to begin with others.
        """
        if self.outer:
            return self._priorities[0].get(wildcards.experiment, 0)
        try:
            log = self.block(wildcards).job_log.stat()
        except OSError:
            return LONG_AGO
        # Before a second try, Snakemake makes empty logs.
        return max(0, min(LONG_AGO, int(time.time() - log.st_mtime))) if log.st_size else LONG_AGO

    def of_kind(self, kind: str) -> list[Target]:
        """Return the targets of a kind: tables, figures or pages."""
        return [target for target in self.targets if target.kind == kind]

    def section(self, figure: Target) -> str:
        """Return the heading of a figure in Snakemake's report: its collection, or "Sweeps"."""
        owners = [c for c in self.study.collections if figure.name in c.modules("figures")]
        return owners[0].metadata.short or owners[0].name if owners else "Sweeps"

    def key(self, target: Target) -> str:
        """Return the planned key of a target; a job that gets another key fails."""
        return self.keys.get(f"{target.kind}/{target.name}", "none")

    def table_keys(self, target: Target) -> str:
        """Return the keys of the tables that a target reads."""
        return " ".join(f"{table.name}={self.key(table)}" for table in target.tables)

    @property
    def collections(self) -> str:
        """Command-line option with the folders of users' collections; empty without any."""
        folders = self.study.folders
        return f"--collections {shlex.join(folders)}" if folders else ""

    @property
    def checkpoints(self) -> str:
        """Command-line option with the address of checkpoints; empty without one."""
        url = self.study.checkpoints
        return f"--checkpoints {shlex.quote(f'{url}/{self.study.config.results}')}" if url else ""

    def place(self, path: Path) -> Path:
        """Return a path in the results as rules name it: without the prefix of a module."""
        return self.folder / path.relative_to(self.study.results)

    def inputs(self, what: Block | Target) -> list[Path]:
        """Return the files that a job reads; Snakemake calls this for every job it considers."""
        self.requested |= {*(what.logs if isinstance(what, Block) else what.outputs)}
        return [self.place(path) for path in what.inputs]

    def logs(self, experiments: Iterable[str]) -> list[Path]:
        """Return the logs of some experiments."""
        points = (point for name in experiments for point in self.study.experiment(name))
        return [self.place(path) for p in points for block in p.blocks for path in block.logs]

    def block(self, wildcards: Any) -> Block:
        """Return the block that a job makes."""
        return self.blocks[wildcards.experiment, wildcards.point, wildcards.seeds]

    def block_study(self, wildcards: Any) -> str:
        """Return the argument for the study that is just the block of a job."""
        return planning.argument(self.block(wildcards).json)


def rule_of(target: Target) -> str:
    """Return the name of the rule that makes a target."""
    name = f"{target.kind.removesuffix('s')}_{target.name}"
    return target.name if target.kind == "pages" else name
