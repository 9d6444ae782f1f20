# Tables: one rule per table that the study has the inputs for.
TABLES = PLAN.of_kind("tables")

for table in TABLES:

    rule:
        name:
            pipeline.rule_of(table)
        input:
            lambda wildcards, table=table: PLAN.inputs(table),
        output:
            [PLAN.place(path) for path in table.outputs],
        log:
            PLAN.place(table.job_log),
        priority: PLAN.priority(table)
        localrule: table.is_small
        conda:
            CONDA
        resources:
            mem_mb=lambda wildcards, attempt, table=table: REQUESTS.memory(
                table.memory_mb, attempt
            ),
            runtime=lambda wildcards, attempt: REQUESTS.runtime(60, attempt),
            collections=COLLECTIONS,
        params:
            name=table.name,
            study=lambda wildcards, table=table: planning.argument(table.study.json),
            key=PLAN.key(table),
            tables=PLAN.table_keys(table),
        shell:
            "PYTHONHASHSEED=0 python -m circlet table {params.name} --study {params.study:q} --key {params.key} "
            "--tables={params.tables:q} --output {output:q} {resources.collections} --log {log:q}"


rule tables:
    input:
        [PLAN.place(path) for table in TABLES for path in table.outputs],
