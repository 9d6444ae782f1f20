# In place of a plan where the package is not installed, which Snakemake's catalog lints: one target
# of each kind, so that the linter sees every rule. Nothing can be made.
from types import SimpleNamespace

LOG = "logs/{experiment}/{point}/{seeds}/{kind}.parquet"
JOB_LOG = "job_logs/{experiment}/{point}/{seeds}.log"


def target(name):
    paths = [f"{PLAN.folder}/{name}.svg", f"{PLAN.folder}/{name}.png"]
    log = f"{PLAN.folder}/{name}.log"
    return SimpleNamespace(
        name=name, kind=name, outputs=paths, job_log=log, is_small=False
    )


def nothing(*_):
    return ""


STUDY = SimpleNamespace(
    systems=["system"],
    specs={"system": SimpleNamespace(kinds=["kind"])},
    of_systems=list,
    config=SimpleNamespace(experiments=["experiment"]),
)
PLAN = SimpleNamespace(
    study=STUDY,
    folder="results",
    is_default=True,
    collections="",
    checkpoints="",
    logs=list,
    of_kind=lambda kind: (
        [target("report"), target("explorer")]
        if kind == "pages"
        else [target(f"one_of_{kind}")]
    ),
    place=str,
    priority=lambda what: 0,
    key=nothing,
    table_keys=nothing,
    block_study=nothing,
    block_priority=nothing,
    requests=SimpleNamespace(
        provided=nothing,
        group=nothing,
        block_memory=nothing,
        block_runtime=nothing,
        whole_gpus=nothing,
        shard=nothing,
    ),
)
pipeline = SimpleNamespace(rule_of=lambda target: target.name)
contributions = SimpleNamespace(caption=nothing)
