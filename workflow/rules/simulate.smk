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
                for kind in STUDY.specs[system].kinds
            },
        log:
            f"{PLAN.folder}/{JOB_LOG}",
        wildcard_constraints:
            experiment="|".join(STUDY.of_systems([system])),
            seeds=r"\d+-\d+",
        priority: PLAN.block_priority
        group:
            REQUESTS.group if REQUESTS.provided("group_slot") else None
        conda:
            CONDA
        resources:
            mem_mb=REQUESTS.block_memory,
            runtime=REQUESTS.block_runtime,
            # Blocks of a group run one after another.
            group_slot=lambda wildcards: 1 if REQUESTS.group(wildcards) else None,
            grouped=lambda wildcards: "--grouped" if REQUESTS.group(wildcards) else "",
            # Only where it is needed: Kubernetes and AWS Batch, which names it _gpus, refuse 0.
            gpu=REQUESTS.whole_gpus,
            _gpus=REQUESTS.whole_gpus,
            gres=REQUESTS.shard,
            collections=COLLECTIONS,
            checkpoints=PLAN.checkpoints,
            device=lambda wildcards: "cuda" if REQUESTS.gpus(wildcards) else "cpu",
        params:
            study=PLAN.block_study,
            version=lambda wildcards: PLAN.block(wildcards).point.version,
        shell:
            # Sets of texts have the same order in every process.
            "PYTHONHASHSEED=0 python -m circlet run --study {params.study:q} --output {output:q} {resources.collections} {resources.checkpoints} {resources.grouped} --device {resources.device} --log {log:q}"


# Targets: the logs of one experiment, `snakemake logs_NAME`, and those of all.
for experiment in STUDY.config.experiments:

    rule:
        name:
            f"logs_{experiment}"
        input:
            lambda wildcards, experiment=experiment: PLAN.logs([experiment]),


rule logs:
    input:
        lambda wildcards: PLAN.logs(STUDY.config.experiments),
