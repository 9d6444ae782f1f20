# Figures: one rule per figure that the study has the tables for; then the pages.
FIGURES = [target for target in TARGETS if target.kind == "figures"]
# Where ../report/figure.rst finds them; as parameters they would draw a figure again.
config["captions"] = {
    f"figure_{figure.name}": targets.caption(figure.name, study) for figure in FIGURES
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
        localrule: True
        conda:
            CONDA
        resources:
            collections=COLLECTIONS,
        params:
            name=figure.name,
            study=lambda wildcards, figure=figure: argument(figure.study.json),
            key=key(figure),
            tables=table_keys(figure),
        shell:
            "python -m circlet figure {params.name} --study {params.study:q} --key {params.key} "
            "--tables={params.tables:q} {resources.collections} --log {log:q}"


rule figures:
    input:
        [figure.outputs for figure in FIGURES],


*_, REPORT, EXPLORER = TARGETS


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
        study=lambda wildcards: argument(REPORT.study.json),
        key=key(REPORT),
        tables=table_keys(REPORT),
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
        study=lambda wildcards: argument(EXPLORER.study.json),
        key=key(EXPLORER),
        tables=table_keys(EXPLORER),
    shell:
        "python -m circlet explorer --study {params.study:q} --key {params.key} "
        "--tables={params.tables:q} {resources.collections} --log {log:q}"
