# Figures: one rule per figure that the study has the tables for; then the pages.
FIGURES = PLAN.of_kind("figures")
# Where ../report/figure.rst finds them; as parameters they would draw a figure again. The config
# of a module belongs to the workflow around it, so this is another.
config = config | {
    "captions": {
        figure.name: contributions.caption(figure.name, STUDY) for figure in FIGURES
    }
}

for figure in FIGURES:

    rule:
        name:
            pipeline.rule_of(figure)
        input:
            lambda wildcards, figure=figure: PLAN.inputs(figure),
        output:
            report(
                PLAN.place(figure.outputs[0]),
                caption="../report/figure.rst",
                category=PLAN.section(figure),
                labels={"figure": figure.name.replace("_", " ")},
            ),
            PLAN.place(figure.outputs[1]),
        log:
            PLAN.place(figure.job_log),
        priority: PLAN.priority(figure)
        localrule: True
        conda:
            CONDA
        resources:
            collections=COLLECTIONS,
        params:
            name=figure.name,
            study=lambda wildcards, figure=figure: planning.argument(figure.study.json),
            key=PLAN.key(figure),
            tables=PLAN.table_keys(figure),
        shell:
            "PYTHONHASHSEED=0 python -m circlet figure {params.name} --study {params.study:q} --key {params.key} "
            "--tables={params.tables:q} --output {output:q} {resources.collections} --log {log:q}"


rule figures:
    input:
        [PLAN.place(path) for figure in FIGURES for path in figure.outputs],


# The pages: the report, which is in Snakemake's own, too, and the explorer.
for page in PLAN.of_kind("pages"):

    rule:
        name:
            pipeline.rule_of(page)
        input:
            lambda wildcards, page=page: PLAN.inputs(page),
        output:
            (
                report(
                    PLAN.place(page.outputs[0]),
                    caption="../report/report.rst",
                    category="Scorecard",
                    labels={"page": "verdicts, figures, and what made them"},
                )
                if page.name == "report"
                else PLAN.place(page.outputs[0])
            ),
        log:
            PLAN.place(page.job_log),
        localrule: True
        conda:
            CONDA
        resources:
            collections=COLLECTIONS,
        params:
            name=page.name,
            study=lambda wildcards, page=page: planning.argument(page.study.json),
            key=PLAN.key(page),
            tables=PLAN.table_keys(page),
        shell:
            "PYTHONHASHSEED=0 python -m circlet {params.name} --study {params.study:q} --key {params.key} "
            "--tables={params.tables:q} --output {output:q} {resources.collections} --log {log:q}"
