# The plan of the study: what the rules below make, and from what. All logic is in the package.
import math
import os
import sys

from circlet import config as configuration
from circlet import io, products, view
from circlet.errors import CircletError
from circlet.plan import Study
from circlet.points import JOB_LOG, LOG, kinds

if not workflow.configfiles:

    configfile: "config/config.yaml"


try:
    for path in workflow.configfiles:
        configuration.read(path)  # stricter than Snakemake: refuses a key given twice
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
    lock = io.lock(study.results)


onerror:
    print(view.failures(study, str(path)), file=sys.stderr)


def provided(name):
    """What a profile provides in all, under `resources`; None if it does not say."""
    given = workflow.global_resources.get(name)
    return given and given.value


# The Snakemakes in a cluster's jobs are not told by the profile, but by this one.
if not (workflow.remote_exec or workflow.subprocess_exec):
    os.environ["CIRCLET_GPUS"] = str(provided("gpu") or 0)


envvars:
    "CIRCLET_GPUS",


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
