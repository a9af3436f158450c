"""Algorithm 1: how many pieces each language gets, for every allocation of the configuration."""


rule allocation:
    """Every named allocation"""
    input:
        expand("results/allocation/{name}/allocation.tsv", name=SETTINGS.allocation),


rule allocate:
    input:
        curves=expand("results/vocabularies/{lang}/curve.tsv", lang=LANGUAGES),
        indexes=expand("results/vocabularies/{lang}/pieces.npz", lang=LANGUAGES),
        characters=expand("results/vocabularies/{lang}/characters.tsv", lang=LANGUAGES),
        weights="results/corpora/weights.tsv",
    output:
        allocation="results/allocation/{name}/allocation.tsv",
        vocabulary="results/allocation/{name}/vocabulary.tsv",
        summary="results/allocation/{name}/summary.json",
    log:
        "logs/allocation/{name}.log",
    benchmark:
        "logs/benchmarks/allocation/{name}.tsv"
    wildcard_constraints:
        name=one_of(SETTINGS.allocation),
    conda:
        "../envs/allocation.yaml"
    resources:
        mem_mb=memory(3600),
        runtime=minutes(60),
    params:
        arguments=allocation_arguments,
        folder=lambda wildcards, output: Path(output[0]).parent,
        revision=REVISION["allocation"],
    message:
        "Allocating {wildcards.name}"
    shell:
        "vocap allocate --vocabularies results/vocabularies --weights {input.weights:q}"
        " {params.arguments} -o {params.folder:q} > {log:q} 2>&1"
