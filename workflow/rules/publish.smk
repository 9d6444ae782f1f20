# Figures: one rule per module of circlet.figures that the study has the tables for. The report.
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
        params:
            name=figure.name,
            study=figure.study.json,
            code=figure.code,
        conda:
            CONDA
        shell:
            "{CIRCLET} figure {params.name} --study {params.study:q} --log {log:q}"


rule figures:
    input:
        [figure.outputs for figure in FIGURES],


rule report:
    input:
        [],
