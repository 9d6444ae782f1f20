# A bare `snakemake` looks here; the workflow is where Snakemake's catalog looks for it.
include: "workflow/Snakefile"


# An included file's default target does not count.
rule default:
    default_target: True
    input:
        rules.all.input,
