# The plan of the study: what the rules below make, and from what. All logic is in the package.
import hashlib
import math
import os
import sys

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


if not workflow.configfiles:
    # Before Snakemake reads it. What `--configfile` names it has read already.
    checked("config/config.yaml")

    configfile: "config/config.yaml"


for path in workflow.configfiles:
    checked(path)
try:
    study = Study(config)
except CircletError as error:
    sys.exit(f"error: {path}: {error}")

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


onerror:
    print(view.failures(study, str(path)), file=sys.stderr)


def provided(name):
    """What a profile provides in all, under `resources`; None if it does not say."""
    given = workflow.global_resources.get(name)
    return given and given.value


PRODUCTS = products.ordered(study)

# The Snakemakes in a cluster's jobs are not told by the profile and by the files as they are then,
# but by this one, as they are now.
if not (workflow.remote_exec or workflow.subprocess_exec):
    os.environ["CIRCLET_GPUS"] = str(provided("gpu") or 0)
    os.environ["CIRCLET_KEYS"] = " ".join(
        f"{p.kind}/{p.name}={p.key}" for p in PRODUCTS
    )

KEYS = dict(pair.split("=") for pair in os.environ["CIRCLET_KEYS"].split())


envvars:
    "CIRCLET_GPUS",
    "CIRCLET_KEYS",


def key(product):
    return KEYS.get(f"{product.kind}/{product.name}", "none")


def table_keys(product):
    return " ".join(f"{table.name}={key(table)}" for table in product.tables)


# Linux takes 128 KiB in one argument, and a whole shell command is one.
LONGEST = 100_000


def argument(text):
    """A study for the command line: itself, or if it is too long the name of a file with it."""
    if len(text) <= LONGEST:
        return text
    name = hashlib.sha256(text.encode()).hexdigest()[:16]
    path = study.results / "job_configs" / f"{name}.json"
    if not (workflow.dryrun or path.exists()):
        with io.atomic(path) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return str(path)


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
