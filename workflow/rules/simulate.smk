# Logs: one job per block of seeds, one rule per system.
for system in study.systems:

    rule:
        name:
            system
        input:
            lambda wildcards: block_of(wildcards).inputs,
        output:
            expand(
                f"{study.results}/{LOG}",
                kind=study.known[system].kinds,
                allow_missing=True,
            ),
        log:
            f"{study.results}/{JOB_LOG}",
        wildcard_constraints:
            experiment="|".join(study.of_systems([system])),
            seeds=r"\d+-\d+",
        conda:
            CONDA
        resources:
            mem_mb=lambda wildcards, attempt: memory(
                cost.memory_mb(block_of(wildcards), gpus(wildcards) > 0), attempt
            ),
            runtime=lambda wildcards, attempt: runtime(
                cost.minutes(block_of(wildcards)), attempt
            ),
            gpu=gpus,
            collections=COLLECTIONS,
            device=lambda wildcards: "cuda" if gpus(wildcards) else "cpu",
        params:
            study=lambda wildcards: argument(block_of(wildcards).study),
            version=lambda wildcards: block_of(wildcards).point.version,
        shell:
            "python -m circlet run --study {params.study:q} {resources.collections} --device {resources.device} --log {log:q}"


# Targets: the logs of one experiment, `snakemake logs_NAME`, and those of all.
for experiment in study.config["experiments"]:

    rule:
        name:
            f"logs_{experiment}"
        input:
            [b.logs for point in study.experiment(experiment) for b in point.blocks],


rule logs:
    input:
        [block.logs for block in BLOCKS.values()],
