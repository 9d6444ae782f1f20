# Figures: one rule per figure that the study has the tables for; then the pages.
FIGURES = PLAN.of_kind("figures")
# Where ../report/figure.rst finds them; as parameters they would draw a figure again. The config
# of a module belongs to the workflow around it, so this is another.
config = config | {
    "captions": {figure.name: targets.caption(figure.name, STUDY) for figure in FIGURES}
}

for figure in FIGURES:

    rule:
        name:
            f"figure_{figure.name}"
        input:
            lambda wildcards, figure=figure: PLAN.inputs(figure),
        output:
            report(
                PLAN.place(figure.outputs[0]),
                caption="../report/figure.rst",
                category="figures",
                labels={"figure": figure.name.replace("_", " ")},
            ),
            PLAN.place(figure.outputs[1]),
        log:
            PLAN.place(figure.job_log),
        priority: PLAN.turn(figure)
        localrule: True
        conda:
            CONDA
        resources:
            collections=COLLECTIONS,
        params:
            name=figure.name,
            study=lambda wildcards, figure=figure: PLAN.argument(figure.study.json),
            key=PLAN.key(figure),
            tables=PLAN.table_keys(figure),
        shell:
            "python -m circlet figure {params.name} --study {params.study:q} --key {params.key} "
            "--tables={params.tables:q} {resources.collections} --log {log:q}"


rule figures:
    input:
        [PLAN.place(path) for figure in FIGURES for path in figure.outputs],


REPORT, EXPLORER = PLAN.of_kind("pages")


rule report:
    input:
        lambda wildcards: PLAN.inputs(REPORT),
    output:
        report(
            PLAN.place(REPORT.outputs[0]),
            caption="../report/report.rst",
            category="report",
            labels={"page": "scorecard, figures, and what made them"},
        ),
    log:
        PLAN.place(REPORT.job_log),
    localrule: True
    conda:
        CONDA
    resources:
        collections=COLLECTIONS,
    params:
        study=lambda wildcards: PLAN.argument(REPORT.study.json),
        key=PLAN.key(REPORT),
        tables=PLAN.table_keys(REPORT),
    shell:
        "python -m circlet report --study {params.study:q} --key {params.key} "
        "--tables={params.tables:q} {resources.collections} --log {log:q}"


rule explorer:
    input:
        lambda wildcards: PLAN.inputs(EXPLORER),
    output:
        PLAN.place(EXPLORER.outputs[0]),
    log:
        PLAN.place(EXPLORER.job_log),
    localrule: True
    conda:
        CONDA
    resources:
        collections=COLLECTIONS,
    params:
        study=lambda wildcards: PLAN.argument(EXPLORER.study.json),
        key=PLAN.key(EXPLORER),
        tables=PLAN.table_keys(EXPLORER),
    shell:
        "python -m circlet explorer --study {params.study:q} --key {params.key} "
        "--tables={params.tables:q} {resources.collections} --log {log:q}"
