# circlet: from a config to tables, figures and a scorecard. See README.md.
from snakemake.utils import min_version

min_version("9.19")


include: "workflow/rules/common.smk"
include: "workflow/rules/simulate.smk"
include: "workflow/rules/tables.smk"
include: "workflow/rules/publish.smk"


rule all:
    default_target: True
    input:
        rules.tables.input,
        rules.figures.input,
        rules.report.output,
