# The plan of the study: what the rules below make, and from what. All logic is in the package.
import hashlib
import json
import math
import os
import sys
import time
from pathlib import Path

from circlet import config as configuration
from circlet import io, locks, products, view
from circlet.errors import CircletError, ConfigError
from circlet.plan import Study
from circlet.points import JOB_LOG, LOG, kinds


def checked(path):
    """Read a config file more strictly than Snakemake does, which takes a key given twice."""
    try:
        if "__use_yte__" in configuration.read(path):
            raise ConfigError(
                "__use_yte__: must not be there: it lets a config execute code"
            )
    except CircletError as error:
        sys.exit(f"error: {path}: {error}")


for path in workflow.configfiles:
    checked(path)
if not workflow.configfiles:
    checked("config/config.yaml")  # before Snakemake reads it

    configfile: "config/config.yaml"


CONFIGFILE = workflow.configfiles[-1]
# In a job of a cluster a Snakemake reads the config and the code again, possibly after an edit. It
# must make what the Snakemake that submitted it has planned, which passes on its plan.
OUTER = not (workflow.remote_exec or workflow.subprocess_exec)
try:
    study = Study(
        config if OUTER else json.loads(Path(os.environ["CIRCLET_STUDY"]).read_text())
    )
except CircletError as error:
    sys.exit(f"error: {CONFIGFILE}: {error}")

# Jobs run `python -m circlet` with the interpreter that runs Snakemake.
os.environ.update(
    PATH=os.pathsep.join([os.path.dirname(sys.executable), *os.get_exec_path()])
)
CONDA = "../envs/circlet.yaml"


onstart:
    # Snakemake's own lock (off, see profiles/default) outlives a killed Snakemake; this one ends
    # with its process, so that the same command goes on.
    global lock
    lock = locks.lock(study.results)
    for path in JOB_CONFIGS.glob("*.json"):
        if time.time() - path.stat().st_mtime > 30 * 86_400:
            path.unlink()
    if not workflow.local_exec:
        written(study.json)


onerror:
    print(view.failures(study, str(CONFIGFILE)), file=sys.stderr)


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
        with io.atomic(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return path


PRODUCTS = products.ordered(study)

if OUTER:
    os.environ["CIRCLET_GPUS"] = str(provided("gpu") or 0)
    os.environ["CIRCLET_STUDY"] = str(job_config(study.json))
    os.environ["CIRCLET_KEYS"] = " ".join(
        f"{p.kind}/{p.name}={p.key}" for p in PRODUCTS
    )

KEYS = dict(pair.split("=") for pair in os.environ["CIRCLET_KEYS"].split())


envvars:
    "CIRCLET_GPUS",
    "CIRCLET_KEYS",
    "CIRCLET_STUDY",


def key(product):
    return KEYS.get(f"{product.kind}/{product.name}", "none")


def table_keys(product):
    return " ".join(f"{table.name}={key(table)}" for table in product.tables)


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


BLOCKS = {block.key: block for block in study.blocks}


def block_of(wildcards):
    return BLOCKS[wildcards.experiment, wildcards.point, wildcards.seeds]


def gpus(wildcards):
    return min(block_of(wildcards).gpus, int(os.environ["CIRCLET_GPUS"]))
