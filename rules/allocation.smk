"""The share of each language in a merged vocabulary, for every named allocation.

REQUIRED INPUTS
    results/vocabularies/{lang}/curve.tsv, pieces.npz, characters.tsv, models
    results/corpora/weights.tsv
    of rule pieces: results/corpora/{lang}/train.txt, heldout.txt; of fair ones the development text
OUTPUTS
    results/allocation/{name}/allocation.tsv, vocabulary.tsv, summary.json
    of rule pieces: results/allocation/{name}/vocabularies, results/allocation/trunks/{trunk}.npz
"""

BY_PIECES = [name for name, entry in SETTINGS.allocation.items() if entry.needs_text]
BY_CURVES = [name for name in SETTINGS.allocation if name not in BY_PIECES]

# Those whose weights follow parallel text; the others do not depend on it.
BY_TOKENS = [name for name, entry in SETTINGS.allocation.items() if entry.token_fairness]

# Each entry's settings that are no defaults, as options of the same names.
ALLOCATION_OPTIONS = {
    name: shlex.join(words_of(entry)) for name, entry in SETTINGS.allocation.items()
}
# The part of rule pieces that does not depend on T, once for all allocations that agree
# in the other settings.
TRUNKS = {entry.trunk: entry for entry in SETTINGS.allocation.values() if entry.needs_text}
# The largest T of each, in two steps, so that most T are added without another trunk.
TOTALS = {
    name: [
        entry.total
        for entry in SETTINGS.allocation.values()
        if entry.needs_text and entry.trunk == name
    ]
    for name in TRUNKS
}
LARGEST = {name: 100_000 if max(totals) <= 100_000 else 500_000 for name, totals in TOTALS.items()}
TABLES_OF_ALL = expand(
    "<results>/vocabularies/{lang}/{file}",
    lang=LANGUAGES,
    file=["curve.tsv", "pieces.npz", "characters.tsv"],
)


rule allocation:
    """Every named allocation"""
    input:
        expand("<results>/allocation/{name}/allocation.tsv", name=SETTINGS.allocation),
    message:
        "The stage allocation is made"


rule allocate:
    input:
        tables=TABLES_OF_ALL,
        weights="<results>/corpora/weights.tsv",
    output:
        allocation="<results>/allocation/{name}/allocation.tsv",
        vocabulary="<results>/allocation/{name}/vocabulary.tsv",
        summary="<results>/allocation/{name}/summary.json",
    log:
        "<logs>/allocation/allocate/{name}.log",
    benchmark:
        "<logs>/benchmarks/allocation/allocate/{name}.tsv"
    wildcard_constraints:
        name=one_of(BY_CURVES),
    priority: 3
    conda:
        "../envs/allocation.yaml"
    resources:
        **needs("allocate"),
    params:
        **run_params("allocation"),
        coverage=SETTINGS.vocabularies.coverage,
        settings=lambda wildcards: ALLOCATION_OPTIONS[wildcards.name],
    message:
        "Allocating {wildcards.name}"
    shell:
        """
        vocap allocate \
            --vocabularies {params.results:q}/vocabularies \
            --weights {input.weights:q} \
            --coverage {params.coverage} \
            {params.settings} \
            -o {params.folder:q} >{log:q} 2>&1
        """


rule trunk:
    input:
        train=expand("<results>/corpora/{lang}/train.txt", lang=LANGUAGES),
        counts=COUNTS,
        tables=TABLES_OF_ALL,
        weights="<results>/corpora/weights.tsv",
    output:
        "<results>/allocation/trunks/{trunk}.npz",
    log:
        "<logs>/allocation/trunk/{trunk}.log",
    benchmark:
        "<logs>/benchmarks/allocation/trunk/{trunk}.tsv"
    wildcard_constraints:
        trunk=one_of(TRUNKS),
    priority: 3  # long, and every T of the rule waits for it
    conda:
        "../envs/allocation.yaml"
    resources:
        **needs("trunk"),
        memory=MEMORY,
    params:
        **run_params("pieces"),
        counts=verbatim(COUNTS_OPTION),
        coverage=SETTINGS.vocabularies.coverage,
        alpha=lambda wildcards: TRUNKS[wildcards.trunk].alpha,
        beta=lambda wildcards: TRUNKS[wildcards.trunk].beta,
        per=lambda wildcards: TRUNKS[wildcards.trunk].per,
        largest=lambda wildcards: LARGEST[wildcards.trunk],
        without=lambda wildcards: options(without=",".join(TRUNKS[wildcards.trunk].without) or None),
        text=TEXT_OPTIONS,
    message:
        "Merging the text of all languages: {wildcards.trunk}"
    shell:
        """
        vocap trunk \
            {resources.memory} \
            --vocabularies {params.results:q}/vocabularies \
            --corpora {params.results:q}/corpora \
            {params.counts} \
            --weights {input.weights:q} \
            --coverage {params.coverage} \
            --alpha {params.alpha} \
            --beta {params.beta} \
            --per {params.per} \
            --largest {params.largest} \
            {params.without} \
            {params.text} \
            -o {output:q} >{log:q} 2>&1
        """


# Each T is a job of its own: one more changes nothing of the others, nor does a trunk that
# is made again for a larger T. What a trunk is made from is an input of each T too.
rule allocate_pieces:
    input:
        trunk=lambda wildcards: once(
            f"allocation/{wildcards.name}/summary.json",
            f"{RESULTS}/allocation/trunks/{SETTINGS.allocation[wildcards.name].trunk}.npz",
        ),
        texts=expand(
            "<results>/corpora/{lang}/{part}.txt", lang=LANGUAGES, part=["train", "heldout"]
        ),
        counts=COUNTS,
        tables=TABLES_OF_ALL,
        weights="<results>/corpora/weights.tsv",
        development=lambda wildcards: (
            DEVELOPMENT_TEXT.inputs(LANGUAGES) if wildcards.name in BY_TOKENS else []
        ),
    output:
        allocation="<results>/allocation/{name}/allocation.tsv",
        vocabulary="<results>/allocation/{name}/vocabulary.tsv",
        summary="<results>/allocation/{name}/summary.json",
        models=directory("<results>/allocation/{name}/vocabularies"),
    log:
        "<logs>/allocation/allocate_pieces/{name}.log",
    benchmark:
        "<logs>/benchmarks/allocation/allocate_pieces/{name}.tsv"
    wildcard_constraints:
        name=one_of(BY_PIECES),
    priority: 3
    conda:
        "../envs/allocation.yaml"
    resources:
        **needs("allocate_pieces"),
        memory=MEMORY,
    params:
        **run_params("pieces"),
        counts=verbatim(COUNTS_OPTION),
        coverage=SETTINGS.vocabularies.coverage,
        settings=lambda wildcards: ALLOCATION_OPTIONS[wildcards.name],
        development=lambda wildcards: (
            options(development=DEVELOPMENT_TEXT.pattern) if wildcards.name in BY_TOKENS else ""
        ),
        text=TEXT_OPTIONS,
    message:
        "Allocating {wildcards.name} by pieces"
    shell:
        """
        vocap allocate \
            {resources.memory} \
            --vocabularies {params.results:q}/vocabularies \
            --corpora {params.results:q}/corpora \
            {params.counts} \
            --weights {input.weights:q} \
            --trunk {input.trunk:q} \
            --coverage {params.coverage} \
            {params.settings} \
            {params.development} \
            {params.text} \
            -o {params.folder:q} >{log:q} 2>&1
        """
