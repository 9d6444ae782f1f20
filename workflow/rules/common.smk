# The plan of the study: what the rules below make, and from what. All logic is in the package.
import hashlib
import json
import math
import os
import shlex
import sys
import time
from pathlib import Path

from circlet import terminal
from circlet.errors import CircletError, ConfigError
from circlet.storage import files, locks
from circlet.study import config_file, cost, measured, targets
from circlet.study.plan import Study
from circlet.study.points import JOB_LOG, LOG


def checked(path):
    """Read a config file more strictly than Snakemake does, which takes a key given twice."""
    try:
        content = config_file.read(path)
        if "__use_yte__" in content:
            raise ConfigError(
                "__use_yte__: must not be there: it lets a config execute code"
            )
        return content
    except CircletError as error:
        sys.exit(f"error: {path}: {error}")


if not workflow.configfiles:
    checked("config/config.yaml")  # before Snakemake reads it

    configfile: "config/config.yaml"


for path in workflow.configfiles:
    # Snakemake leaves folders as they are given: relative to the file.
    config |= {k: v for k, v in checked(path).items() if k == "collections"}


CONFIGFILE = workflow.configfiles[-1]
# In a job of a cluster a Snakemake reads the config and the code again, possibly after an edit. It
# must make what the Snakemake that submitted it has planned, which passes on its plan.
OUTER = not (workflow.remote_exec or workflow.subprocess_exec)
try:
    study = Study.of(
        config if OUTER else json.loads(Path(os.environ["CIRCLET_STUDY"]).read_text())
    )
    TARGETS = targets.ordered(study)
    measured.measure(study.points)
except CircletError as error:
    sys.exit(f"error: {CONFIGFILE}: {error}")

# The study as it is now, for jobs that begin later.
FROZEN = json.dumps(study.config | {"collections": study.folders}, sort_keys=True)

# Jobs run `python -m circlet` with the interpreter that runs Snakemake.
os.environ.update(
    PATH=os.pathsep.join([os.path.dirname(sys.executable), *os.get_exec_path()])
)
CONDA = "../envs/circlet.yaml"


onstart:
    # Snakemake's own lock (off, see profiles/default) outlives a killed Snakemake; this one ends
    # with its process, so that the same command resumes.
    global lock
    lock = locks.lock(study.results)
    for path in JOB_CONFIGS.glob("*.json"):
        if time.time() - path.stat().st_mtime > 30 * 86_400:
            path.unlink()
    if not workflow.local_exec:
        written(FROZEN)


onerror:
    print(terminal.failures(study, str(CONFIGFILE)), file=sys.stderr)


def provided(name):
    """What a profile provides in all, under `resources`; None if it does not say."""
    given = workflow.global_resources.get(name)
    return given and given.value


JOB_CONFIGS = study.results / "job_configs"


def job_config(text):
    """Path of a file with a study, named by what is in it."""
    return JOB_CONFIGS / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"


def written(text):
    """The same, when it is there."""
    path = job_config(text)
    if not (path.exists() and path.read_text(encoding="utf-8") == text):
        with files.atomic(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return path


if OUTER:
    os.environ["CIRCLET_GPUS"] = str(provided("gpu") or 0)
    os.environ["CIRCLET_STUDY"] = str(job_config(FROZEN))
    os.environ["CIRCLET_KEYS"] = " ".join(f"{p.kind}/{p.name}={p.key}" for p in TARGETS)

KEYS = dict(pair.split("=") for pair in os.environ["CIRCLET_KEYS"].split())


envvars:
    "CIRCLET_GPUS",
    "CIRCLET_KEYS",
    "CIRCLET_STUDY",


def key(target):
    return KEYS.get(f"{target.kind}/{target.name}", "none")


def table_keys(target):
    return " ".join(f"{table.name}={key(table)}" for table in target.tables)


# Linux takes 128 KiB in one argument, and a whole shell command is one.
MAX_ARGUMENT = 100_000


def argument(text):
    """A study for the command line: itself, or if it is too long the name of a file with it."""
    if len(text) <= MAX_ARGUMENT:
        return text
    return str(job_config(text) if workflow.dryrun else written(text))


def more(amount, attempt):
    """What a job asks for: twice as much each time it is tried again."""
    return amount * 2 ** (attempt - 1)


def memory(megabytes, attempt):
    # On a cluster two more Snakemakes run in the job, and wait for the command.
    return more(megabytes + (0 if workflow.local_exec else 500), attempt)


def runtime(minutes, attempt):
    return min(more(minutes, attempt), provided("max_runtime") or math.inf)


# The folders of collections are a resource, not a parameter: moving one re-runs no job.
COLLECTIONS = f"--collections {shlex.join(study.folders)}" if study.folders else ""

BLOCKS = {block.key: block for block in study.blocks}


def block_of(wildcards):
    return BLOCKS[wildcards.experiment, wildcards.point, wildcards.seeds]


def gpus(wildcards):
    return min(cost.gpus(block_of(wildcards)), int(os.environ["CIRCLET_GPUS"]))
