# Tables, figures and pages: one rule for each that the study has the inputs for.
TABLES, FIGURES, PAGES = map(PLAN.of_kind, ("tables", "figures", "pages"))
# Where ../report/figure.rst finds them; as parameters they would draw a figure again. The config
# of a module belongs to the workflow around it, so this is another.
config = config | {
    "captions": {
        figure.name: contributions.caption(figure.name, STUDY) for figure in FIGURES
    }
}

for made in [*TABLES, *FIGURES, *PAGES]:

    rule:
        name:
            pipeline.rule_of(made)
        input:
            lambda wildcards, made=made: PLAN.inputs(made),
        output:
            shown(made),
        log:
            PLAN.place(made.job_log),
        priority: PLAN.priority(made)
        localrule: made.is_small
        conda:
            CONDA
        resources:
            mem_mb=lambda wildcards, attempt, made=made: REQUESTS.memory(
                made.memory_mb, attempt
            ),
            runtime=lambda wildcards, attempt: REQUESTS.runtime(60, attempt),
            collections=COLLECTIONS,
        params:
            name=made.name,
            command=pipeline.rule_of(made).replace("_", " ", 1),
            study=lambda wildcards, made=made: planning.argument(made.study.json),
            key=PLAN.key(made),
            tables=PLAN.table_keys(made),
        shell:
            "PYTHONHASHSEED=0 python -m circlet {params.command} --study {params.study:q} --key {params.key} "
            "--tables={params.tables:q} --output {output:q} {resources.collections} --log {log:q}"


rule tables:
    input:
        [PLAN.place(path) for table in TABLES for path in table.outputs],


rule figures:
    input:
        [PLAN.place(path) for figure in FIGURES for path in figure.outputs],
