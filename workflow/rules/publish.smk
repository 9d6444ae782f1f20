# Figures: one rule per module of circlet.figures that the study has the tables for; then
# the report page.
FIGURES = products.figures(study)

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
            study=figure.study.json,
            code=figure.code,
        shell:
            "python -m circlet figure {params.name} --study {params.study:q} --log {log:q}"


rule figures:
    input:
        [figure.outputs for figure in FIGURES],


REPORT = products.report(study)


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
        study=REPORT.study.json,
        code=REPORT.code,
        captions=[products.caption(figure.name) for figure in FIGURES],
    shell:
        "python -m circlet report --study {params.study:q} --log {log:q}"


EXPLORER = products.explorer(study)


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
        study=EXPLORER.study.json,
        code=EXPLORER.code,
    shell:
        "python -m circlet explorer --study {params.study:q} --log {log:q}"
