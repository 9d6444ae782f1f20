# Logs: one job per block of seeds, one rule per system.
for system in STUDY.systems:

    rule:
        name:
            system
        input:
            lambda wildcards: PLAN.inputs(PLAN.block(wildcards)),
        output:
            # `snakemake --cache` needs names; none may be that of a method of lists, such as index.
            **{
                f"log_{kind}": f"{PLAN.folder}/{LOG}".replace("{kind}", kind)
                for kind in STUDY.known[system].kinds
            },
        log:
            f"{PLAN.folder}/{JOB_LOG}",
        wildcard_constraints:
            experiment="|".join(STUDY.of_systems([system])),
            seeds=r"\d+-\d+",
        priority: lambda wildcards: PLAN.priority(wildcards.experiment)
        conda:
            CONDA
        resources:
            mem_mb=lambda wildcards, attempt: PLAN.memory(
                cost.memory_mb(PLAN.block(wildcards), PLAN.gpus(wildcards) > 0),
                attempt,
            ),
            runtime=lambda wildcards, attempt: PLAN.runtime(
                cost.minutes(PLAN.block(wildcards)), attempt
            ),
            # Only where it is needed: Kubernetes and AWS Batch, which names it _gpus, refuse 0.
            gpu=lambda wildcards: PLAN.gpus(wildcards) or None,
            _gpus=lambda wildcards: PLAN.gpus(wildcards) or None,
            collections=COLLECTIONS,
            checkpoints=PLAN.checkpoints,
            device=lambda wildcards: "cuda" if PLAN.gpus(wildcards) else "cpu",
        params:
            study=PLAN.block_study,
            version=lambda wildcards: PLAN.block(wildcards).point.version,
        shell:
            # Sets of texts have the same order in every process.
            "PYTHONHASHSEED=0 python -m circlet run --study {params.study:q} --output {output:q} {resources.collections} {resources.checkpoints} --device {resources.device} --log {log:q}"


# Targets: the logs of one experiment, `snakemake logs_NAME`, and those of all.
for experiment in STUDY.config.experiments:

    rule:
        name:
            f"logs_{experiment}"
        input:
            [
                PLAN.place(path)
                for point in STUDY.experiment(experiment)
                for block in point.blocks
                for path in block.logs
            ],


rule logs:
    input:
        [PLAN.place(path) for block in PLAN.blocks.values() for path in block.logs],
