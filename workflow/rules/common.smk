# The plan of the study: what the rules below make, and from what. All logic is in the package.
import os
import sys

from circlet import config as configuration
from circlet import products
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
