# What is looked at.
rule figures:
    input:
        [],


rule report:
    input:
        [],
