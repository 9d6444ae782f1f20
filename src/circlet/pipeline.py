"""What Snakemake's rules need from circlet: the plan, the inputs of jobs, a lock on the results.

The workflow may be used as a whole, or as a module of another workflow, also several times in one.
Nothing here imports Snakemake: its rules hand over the object ``workflow``.
"""

import hashlib
import json
import logging
import math
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

from circlet import terminal
from circlet.errors import CircletError, ConfigError
from circlet.lazy_import import load
from circlet.storage import files, locks, progress
from circlet.study import config_file, cost, limits, measured, targets
from circlet.study.plan import Study
from circlet.study.points import Block
from circlet.study.targets import Target

# Linux takes 128 KiB in one argument, and a whole shell command is one.
MAX_ARGUMENT = 100_000
FOLDERS: dict[str, str] = {}  # of users' collections in this workflow, by name
KEPT = 30 * 86_400  # seconds that files with studies of jobs are kept
# Events of Snakemake that the display of a study stands for.
OF_JOBS = ("run_info", "resources_info", "job_info", "group_info", "job_finished", "progress")
PATIENCE = 60  # most seconds for the command of `notify`


def checked(path: str | Path) -> dict[str, Any]:
    """Read a config file more strictly than Snakemake does, which takes a key given twice."""
    try:
        content = config_file.read(path)
        if "__use_yte__" in content:
            raise ConfigError("__use_yte__: must not be there: it lets a config execute code")
        return content
    except CircletError as error:
        sys.exit(f"error: {path}: {error}")


class Pipeline:
    """One use of the workflow. Ends the program with one line if its config is wrong."""

    def __init__(self, workflow: Any, config: dict[str, Any]):
        self.workflow = workflow
        # Names of the module and of those around it; none if the workflow is used as a whole.
        self.modules = [m.namespace for m in workflow.modifier_stack if m.namespace]
        # A part of the config, such as config["circlet"], may not be in any file.
        whole = config is workflow.modifier_stack[0].globals["config"]
        self.files = list(workflow.configfiles) if whole else []
        self.name = str(self.files[-1]) if self.files else f"module {'.'.join(self.modules)}"
        # In a job of a cluster a Snakemake reads the config and the code again, possibly after an
        # edit. It must make what the Snakemake that submitted it has planned, which passes on its
        # plan.
        self.outer = not (workflow.remote_exec or workflow.subprocess_exec)
        if provider := workflow.storage_settings.default_storage_provider:
            sys.exit(
                f"error: {self.name}: --default-storage-provider {provider}: circlet writes to "
                "local or shared folders only; leave this option out"
            )
        try:
            given = self._given(config) if self.outer else self._planned()
            self.study = Study.of(given)
            self.targets = targets.ordered(self.study)
            if self.outer:
                progress.check_parents(self.study)
                limits.check_measured(self.study.points)
        except CircletError as error:
            sys.exit(f"error: {self.name}: {error}")
        if self.modules:
            # By now the prefix of a module is in `results`, and so in rules and commands alike.
            # Snakemake, which knows the paths in rules alone, must not add it again.
            modifier = workflow.modifier
            modifier.path_modifier = type(modifier.path_modifier)(None, None, workflow)
        for folder in self.study.folders:
            other = FOLDERS.setdefault(Path(folder).name, folder)
            if other != folder:
                sys.exit(f"error: {self.name}: collections: {folder} and {other} of another module "
                         "have one name; rename one")  # fmt: skip
        # The study as it is now, for jobs that begin later.
        self.frozen = json.dumps(
            self.study.config | {"collections": self.study.folders}, sort_keys=True
        )
        self.job_configs = self.study.results / "job_configs"
        # How commands such as `status` get the study, if no single config file has all of it.
        self.study_file = self.study.results / "study.json"
        self.is_in_file = bool(self.outer and self.files) and checked(self.files[-1]) == given
        self.blocks = {block.key: block for block in self.study.blocks}
        # What is logged, by experiment: at least what the config asks for.
        self.schedules_file = self.job_configs / "schedules.json"
        self.logged = self._logged()
        self.display: Any = None
        self._prepare_environment()
        self._register()
        for handler in self._terminal_handlers():
            handler.addFilter(self._is_shown)

    def _given(self, config: dict[str, Any]) -> dict[str, Any]:
        """The config with the folders of its collections and of its results as they are meant."""
        if not isinstance(config, dict):
            raise ConfigError("its config must be a mapping of keys to values")
        if self.modules and not config:
            raise ConfigError("has no config: write `config: config` into the module statement")
        given = dict(config)
        # Snakemake leaves folders as they are given: relative to the file.
        for path in self.files:
            given |= {k: v for k, v in checked(path).items() if k == "collections"}
        folders, configfiles = given.get("collections"), self.workflow.configfiles
        if not self.files and isinstance(folders, list):
            here = Path(configfiles[-1]).resolve().parent if configfiles else Path.cwd()
            given["collections"] = [str(here / str(folder)) for folder in folders]
        if self.modules and isinstance(given.get("results"), str):
            prefix = self.workflow.modifier.path_modifier
            given["results"] = prefix.replace_prefix(f"{given['results']}/x").removesuffix("/x")
        return given

    def _variable(self, name: str) -> str:
        """An environment variable of this module alone."""
        return re.sub(r"\W", "_", "_".join(["CIRCLET", name, *self.modules]), flags=re.ASCII)

    def _planned(self) -> dict[str, Any]:
        """The config as it was when jobs were planned."""
        return json.loads(Path(os.environ[self._variable("STUDY")]).read_text(encoding="utf-8"))

    def _prepare_environment(self) -> None:
        """What jobs find in their environment, and Snakemakes that run in them."""
        study, keys = self._variable("STUDY"), self._variable("KEYS")
        if self.outer:
            os.environ["CIRCLET_GPUS"] = str(self.provided("gpu") or 0)
            os.environ["CIRCLET_COSTS"] = str(measured.folder())
            os.environ[study] = str(self._job_config(self.frozen))
            os.environ[keys] = " ".join(f"{t.kind}/{t.name}={t.key}" for t in self.targets)
        self.workflow.register_envvars("CIRCLET_GPUS", "CIRCLET_COSTS", study, keys)
        self.keys = dict(pair.split("=") for pair in os.environ[keys].split())
        # Jobs run `python -m circlet` with the interpreter that runs Snakemake.
        here = str(Path(sys.executable).parent)
        if os.get_exec_path()[:1] != [here]:
            os.environ["PATH"] = os.pathsep.join([here, *os.get_exec_path()])

    def _register(self) -> None:
        """Have Snakemake tell when it begins to run jobs, and when one has failed.

        It runs `onstart` and `onerror` of the main Snakefile alone, and only the last of each.
        """
        uses: dict[Path, Pipeline] = vars(self.workflow).setdefault("circlet", {})
        if not uses:
            _before(self.workflow, "onstart", uses, Pipeline.start)
            _before(self.workflow, "onsuccess", uses, Pipeline.finish)
            _before(self.workflow, "onerror", uses, Pipeline.explain)
        other = uses.setdefault(self.study.results, self)
        if other.frozen != self.frozen:
            sys.exit(
                f"error: {self.name}: results: {other.name} writes to {self.study.results}, too; "
                "give each module its own `prefix`, or each config its own `results`"
            )

    @property
    def is_default(self) -> bool:
        """Whether a bare `snakemake` makes all of it: not if a module's rules get other names."""
        return self.workflow.modifier.modify_rulename("all") == "all"

    def start(self) -> None:
        """Lock the results, and write down what later jobs need."""
        # Snakemake's own lock (off, see profiles/default) outlives a killed Snakemake; this one
        # ends with its process, so that the same command resumes.
        self.lock = locks.lock(self.study.results)
        try:
            _write(self.schedules_file, json.dumps(self.logged, sort_keys=True))
            for path in self.job_configs.glob("*.json"):
                if time.time() - path.stat().st_mtime > KEPT:
                    path.unlink()
            self._written(self.frozen)
            if not self.is_in_file:
                _write(self.study_file, self.frozen)
        except CircletError as error:
            sys.exit(f"error: {error}")
        if self.is_displayed:
            self._display()

    def finish(self) -> None:
        """Say where to look."""
        self._end_display()
        report = self.study.results / "report.html"
        if self.is_displayed and report in self._wanted():
            print(f"report: {report}", file=sys.stderr)
        self._notify("success", "")

    def explain(self) -> None:
        """Say what has failed, and what to do."""
        self._end_display()
        whose = f"\n{self.name}:" if self.modules else ""
        which = ("--configfile", self.name) if self.is_in_file else ("--study", self.study_file)
        partial = shlex.join(["python", "-m", "circlet", "partial", *map(str, which)])
        if self.workflow.overwrite_workdir:
            partial = f"cd {shlex.quote(str(Path.cwd()))} && {partial}"
        text = terminal.failures(self.study, partial)
        print(whose + text, file=sys.stderr)
        self._notify("failure", text)

    @property
    def is_displayed(self) -> bool:
        """Whether the display of the study replaces Snakemake's lists of jobs.

        Not in a workflow with jobs of others, nor if somebody asks to see everything.
        """
        return not (
            self.modules
            or not self.outer
            or self.workflow.dryrun
            or self.workflow.touch
            or self.workflow.execution_settings is None  # it does not run anything (yet)
            or self.workflow.execution_settings.no_hooks
            or self.workflow.output_settings.verbose
            or self.workflow.output_settings.printshellcmds
            or not self._terminal_handlers()
        )

    def _terminal_handlers(self) -> list[logging.StreamHandler]:
        """What writes Snakemake's messages to the terminal; none if a plugin of a user does."""
        handlers = logging.getLogger("snakemake.logging").handlers
        return [
            handler
            for handler in handlers
            if isinstance(handler, logging.StreamHandler) and handler.name == "DefaultStreamHandler"
        ]

    def _is_shown(self, record: logging.LogRecord) -> bool:
        """Whether a message of Snakemake is shown: not if the display says it."""
        is_of_jobs = getattr(record, "event", None) in OF_JOBS or str(record.msg).startswith(
            ("Select jobs", "Execute ", "Job ", "RuleException:\nCalledProcessError ")
        )
        return not (is_of_jobs and self.is_displayed and (not self.display or self.display.is_on))

    def _display(self) -> None:
        """Begin to display the study: as much of it as this Snakemake makes."""
        watch, dag = load("circlet.watch"), self.workflow.dag
        old = {Path(p) for job in dag.needrun_jobs(exclude_finished=False) for p in job.output}
        looking = watch.Watch(
            self.study,
            wanted=self._wanted(),
            old={path: path.stat().st_mtime for path in old if path.exists()},
            since=time.time(),
        )
        os.environ[progress.DISPLAYED] = "1"
        self.display = watch.Display(looking, self._terminal_handlers())
        self.display.start()

    def _wanted(self) -> set[Path]:
        """What this Snakemake makes, or has found to be there."""
        return {Path(path) for job in self.workflow.dag.jobs for path in job.output}

    def _end_display(self) -> None:
        if self.display is not None:
            self.display.stop()

    def _notify(self, status: str, text: str) -> None:
        """Run the command that the config has for the end of the study, if it has one."""
        if not self.study.notify:
            return
        told = {"CIRCLET_STATUS": status, "CIRCLET_RESULTS": str(self.study.results)}
        try:
            done = subprocess.run(
                self.study.notify, shell=True, env=os.environ | told, input=text, text=True,
                timeout=PATIENCE,
            )  # fmt: skip
            said = f"exit status {done.returncode}" if done.returncode else ""
        except (OSError, subprocess.TimeoutExpired) as error:
            said = f"took longer than {PATIENCE} s" if isinstance(
                error, subprocess.TimeoutExpired) else str(error)  # fmt: skip
        if said:
            print(f"{self.name}: notify: {said}", file=sys.stderr)

    @cached_property
    def _turns(self) -> tuple[dict[str, int], dict[str, int]]:
        return targets.turns(self.study, self.of_kind("figures"))

    def turn(self, what: Target | str) -> int:
        """Priority of a target, or of the blocks of an experiment: the first figures soon."""
        if not self.outer:
            return 0
        if isinstance(what, Target):
            return self._turns[1].get(f"{what.kind}/{what.name}", 0)
        return self._turns[0].get(what, 0)

    def provided(self, name: str) -> Any:
        """What a profile provides in all, under `resources`; None if it does not say."""
        given = self.workflow.global_resources.get(name)
        return given and given.value

    def of_kind(self, kind: str) -> list[Target]:
        """The tables, the figures or the pages."""
        return [target for target in self.targets if target.kind == kind]

    def key(self, target: Target) -> str:
        """The key that a target is planned with; jobs make nothing else."""
        return self.keys.get(f"{target.kind}/{target.name}", "none")

    def table_keys(self, target: Target) -> str:
        """The keys of the tables that a target reads."""
        return " ".join(f"{table.name}={self.key(table)}" for table in target.tables)

    def _job_config(self, text: str) -> Path:
        """Path of a file with a study, named by a hash of its content."""
        return self.job_configs / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"

    def _written(self, text: str) -> Path:
        """The same, when it is there."""
        path = self._job_config(text)
        if not (path.exists() and path.read_text(encoding="utf-8") == text):
            _write(path, text)
        return path

    def argument(self, text: str) -> str:
        """A study for the command line: itself, or if it is too long the name of a file with it."""
        if len(text) <= MAX_ARGUMENT:
            return text
        return str(self._job_config(text) if self.workflow.dryrun else self._written(text))

    def memory(self, megabytes: float, attempt: int) -> float:
        """Memory that a job requests: doubled at each further try."""
        # On a cluster two more Snakemakes run in the job, and wait for the command.
        own = megabytes + (0 if self.workflow.local_exec else 500)
        return own * 2 ** (attempt - 1)

    def runtime(self, minutes: float, attempt: int) -> float:
        """Time that a job requests: doubled at each further try, up to the profile's limit."""
        return min(minutes * 2 ** (attempt - 1), self.provided("max_runtime") or math.inf)

    @property
    def collections(self) -> str:
        """The option that names the folders of its user's collections."""
        folders = self.study.folders
        return f"--collections {shlex.join(folders)}" if folders else ""

    def block(self, wildcards: Any) -> Block:
        """The block that a job makes."""
        return self.blocks[wildcards.experiment, wildcards.point, wildcards.seeds]

    def block_study(self, wildcards: Any) -> str:
        """Config of the study that is just the block of a job, with what is logged of it."""
        block = self.block(wildcards)
        config = json.loads(block.study)
        usual = {kind: log.schedule for kind, log in block.point.system.logs.items()}
        logged = self.logged[block.point.experiment]
        config["experiments"][block.point.experiment]["log"] = {
            kind: schedule for kind, schedule in logged.items() if schedule != usual[kind]
        }
        return self.argument(json.dumps(config, sort_keys=True))

    def _logged(self) -> dict[str, dict[str, Any]]:
        """Schedules of all experiments: those that their logs have, if no step is lacking.

        So a schedule that asks for less runs nothing again, and nor does the next that asks for
        what is there.
        """
        asked = {name: own["log"] for name, own in self.study.config["experiments"].items()}
        try:
            known = json.loads(self.schedules_file.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return asked
        return {
            name: known[name]
            if (self.study.results / "logs" / name).is_dir()
            and known.get(name, {}).keys() == log.keys()
            and all(self._has(name, kind, known[name][kind]) for kind in log)
            else log
            for name, log in asked.items()
        }

    def _has(self, experiment: str, kind: str, schedule: Any) -> bool:
        """Whether a schedule has all steps that the points of an experiment ask for."""
        seen: set[tuple[int, int]] = set()
        for point in self.study.experiment(experiment):
            if (at := (point.steps, point.steps_per_epoch)) not in seen:
                seen.add(at)
                if not point.is_logged_by(kind, schedule):
                    return False
        return True

    def gpus(self, wildcards: Any) -> int:
        """Number of GPUs that the job requests."""
        return min(cost.gpus(self.block(wildcards)), int(os.environ["CIRCLET_GPUS"]))


def _write(path: Path, text: str) -> None:
    with files.atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _before(
    workflow: Any, event: str, uses: dict[Path, Pipeline], ours: Callable[[Pipeline], None]
) -> None:
    """Call ours at an event of Snakemake, before what Snakefiles say for it, now or later."""
    register, handler = getattr(workflow, event), f"_{event}"

    def add_ours() -> None:
        theirs = getattr(workflow, handler)

        def both(log: Any) -> None:
            for use in uses.values():
                ours(use)
            theirs(log)

        setattr(workflow, handler, both)

    def later(theirs: Callable[[Any], object]) -> None:
        before = getattr(workflow, handler)
        register(theirs)
        if getattr(workflow, handler) is not before:  # Snakemake leaves out that of a module
            add_ours()

    add_ours()
    setattr(workflow, event, later)
