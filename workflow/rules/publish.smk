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
            figure.inputs,
        output:
            report(
                figure.outputs[0],
                caption="../report/figure.rst",
                category="figures",
                labels={"figure": figure.name.replace("_", " ")},
            ),
            figure.outputs[1],
        log:
            figure.job_log,
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
        [figure.outputs for figure in FIGURES],


REPORT, EXPLORER = PLAN.of_kind("pages")


rule report:
    input:
        REPORT.inputs,
    output:
        report(
            REPORT.outputs[0],
            caption="../report/report.rst",
            category="report",
            labels={"page": "scorecard, figures, and what made them"},
        ),
    log:
        REPORT.job_log,
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
        EXPLORER.inputs,
    output:
        EXPLORER.outputs[0],
    log:
        EXPLORER.job_log,
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
