# Figures: one rule per module of circlet.figures that the study has the tables for; then
# the report page.
FIGURES = [product for product in PRODUCTS if product.kind == "figures"]

for figure in FIGURES:

    rule:
        name:
            f"figure_{figure.name}"
        input:
            figure.inputs,
        output:
            report(
                figure.outputs[0],
                caption=f"../report/{figure.name}.rst",
                category="figures",
                labels={"figure": figure.name.replace("_", " ")},
            ),
            figure.outputs[1],
        log:
            figure.job_log,
        localrule: True
        conda:
            CONDA
        params:
            name=figure.name,
            study=lambda wildcards, figure=figure: argument(figure.study.json),
            key=key(figure),
            tables=table_keys(figure),
        shell:
            "python -m circlet figure {params.name} --study {params.study:q} --key {params.key} "
            "--tables={params.tables:q} --log {log:q}"


rule figures:
    input:
        [figure.outputs for figure in FIGURES],


*_, REPORT, EXPLORER = PRODUCTS


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
    params:
        study=lambda wildcards: argument(REPORT.study.json),
        key=key(REPORT),
        tables=table_keys(REPORT),
        captions=[products.caption(figure.name) for figure in FIGURES],
    shell:
        "python -m circlet report --study {params.study:q} --key {params.key} "
        "--tables={params.tables:q} --log {log:q}"


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
    params:
        study=lambda wildcards: argument(EXPLORER.study.json),
        key=key(EXPLORER),
        tables=table_keys(EXPLORER),
    shell:
        "python -m circlet explorer --study {params.study:q} --key {params.key} "
        "--tables={params.tables:q} --log {log:q}"
