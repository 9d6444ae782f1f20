# The plan of the study: what the rules below make, and from what. All logic is in the package.
import sys

VERSION = "0.2.0"  # of the workflow, and of the package that it needs
try:
    from circlet import __version__ as INSTALLED
except ImportError:
    INSTALLED = "not installed"
# Snakemake checks environment variables unless it lints.
if INSTALLED == "not installed" and not workflow.check_envvars:

    include: "unplanned.smk"

else:
    if INSTALLED != VERSION:
        sys.exit(
            f"error: the workflow is circlet {VERSION}, the Python package circlet of {sys.executable} "
            f"is {INSTALLED}; install circlet {VERSION} there, or use the workflow of the package's "
            "version; see docs/running.md"
        )

    from circlet import pipeline
    from circlet.study.blocks import JOB_LOG, LOG
    from circlet.study import contributions, cost, planning

    if workflow.modifier.is_main_snakefile() and not workflow.configfiles:
        pipeline.checked("config/config.yaml")  # before Snakemake reads it

        configfile: "config/config.yaml"

    PLAN = pipeline.Pipeline(workflow, config)


STUDY = PLAN.study
REQUESTS = PLAN.requests
# The folders of collections are a resource, not a parameter: moving one re-runs no job.
COLLECTIONS = PLAN.collections
CONDA = "../envs/circlet.yaml"


def shown(made):
    """Return the outputs of a target; Snakemake's own report shows the figures, and the report."""
    first, *others = map(PLAN.place, made.outputs)
    if made.kind == "figures":
        labels = {"figure": made.name.replace("_", " ")}
        caption, category = "../report/figure.rst", PLAN.section(made)
    elif made.name == "report":
        labels = {"page": "verdicts, figures, and what made them"}
        caption, category = "../report/report.rst", "Scorecard"
    else:
        return [first, *others]
    return [report(first, caption=caption, category=category, labels=labels), *others]
