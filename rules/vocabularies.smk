"""One model for every language and size, its ALP, and the curve that joins them.

REQUIRED INPUTS
    results/corpora/{lang}/train.txt, heldout.txt
OUTPUTS
    results/vocabularies/{lang}/curve.tsv, characters.tsv, pieces.npz
    results/vocabularies/{lang}/models/{size}.model (no declared output)
"""

ENGINE = SETTINGS.vocabularies.engine
SIZES = SETTINGS.vocabularies.sizes
# What the whole run trains for its page: byte-pair encoding and JOINT ask for no curve. Other
# rules name those that they read.
ASKED_CURVES = expand(
    "<results>/vocabularies/{lang}/curve.tsv",
    lang=LANGUAGES if SETTINGS.allocation or not SETTINGS.tokenizers else [],
)


rule vocabularies:
    """The ALP curve of every language"""
    input:
        expand("<results>/vocabularies/{lang}/curve.tsv", lang=LANGUAGES),
    message:
        "The stage vocabularies is made"


# The models themselves, models/{size}.model, are no declared outputs: a size that the
# text cannot reach has none. Those that are there stay, if text and options are the
# same: another size trains that size alone.
if ENGINE == "ladder":

    rule compile:
        output:
            touch("<results>/vocabularies/compiled.txt"),
        log:
            "<logs>/vocabularies/compile.log",
        benchmark:
            "<logs>/benchmarks/vocabularies/compile.tsv"
        # once, while packages are read; else the first ladders do it, each for itself
        priority: 4.5
        localrule: True
        conda:
            "../envs/vocabularies.yaml"
        resources:
            **needs("compile"),
        params:
            **run_params("vocabularies"),
        message:
            "Compiling the loops of ladders and descents"
        # Ctrl-C ends it without a traceback
        shell:
            "python -c 'import signal; signal.signal(signal.SIGINT, signal.SIG_DFL);"
            " import vocap.unigram.ladder, vocap.unigram.given_pieces' 2> {log:q}"


for batch in PLAN.batches if ENGINE == "ladder" else []:

    rule:
        name:
            f"ladder{batch.suffix}"
        input:
            ancient("<results>/vocabularies/compiled.txt"),
            train=expand("<results>/corpora/{lang}/train.txt", lang=batch.places),
            heldout=expand("<results>/corpora/{lang}/heldout.txt", lang=batch.places),
            counts=expand("<results>/corpora/{lang}/counts.npy", lang=batch.places),
        output:
            curve=expand("<results>/vocabularies/{lang}/curve.tsv", lang=batch.places),
            characters=expand("<results>/vocabularies/{lang}/characters.tsv", lang=batch.places),
            index=expand("<results>/vocabularies/{lang}/pieces.npz", lang=batch.places),
        log:
            f"<logs>/vocabularies/ladder{batch.suffix}{batch.branch}.log",
        benchmark:
            f"<logs>/benchmarks/vocabularies/ladder{batch.suffix}{batch.branch}.tsv"
        wildcard_constraints:
            lang=one_of(batch.languages),
        priority: 4  # all allocations wait for all curves
        conda:
            "../envs/vocabularies.yaml"
        threads: batch.threads
        resources:
            **needs(f"ladder{batch.suffix}"),
            memory=MEMORY,
        params:
            **run_params("vocabularies"),
            each=each_of(batch),
            lang=language_of,
            sizes=",".join(map(str, SIZES)),
            settings=shlex.join(words_of(SETTINGS.vocabularies, "engine", "sizes")),
            text=TEXT_OPTIONS,
        message:
            (
                "Training the languages of the starter corpus at all sizes"
                if batch.together
                else "Training {wildcards.lang} at all sizes"
            )
        shell:
            """
            vocap {params.each} ladder {params.results:q}/corpora/{params.lang}/train.txt \
                {resources.memory} \
                --heldout {params.results:q}/corpora/{params.lang}/heldout.txt \
                --counts {params.results:q}/corpora/{params.lang}/counts.npy \
                --sizes {params.sizes} \
                {params.settings} \
                {params.text} \
                -o {params.results:q}/vocabularies/{params.lang} >{log:q} 2>&1
            """


if ENGINE == "sentencepiece":

    rule train:
        input:
            train="<results>/corpora/{lang}/train.txt",
            heldout="<results>/corpora/{lang}/heldout.txt",
        output:
            point="<results>/vocabularies/{lang}/points/{size}.tsv",
        log:
            "<logs>/vocabularies/train/{lang}/{size}.log",
        benchmark:
            "<logs>/benchmarks/vocabularies/train/{lang}/{size}.tsv"
        conda:
            "../envs/vocabularies.yaml"
        resources:
            **needs("train"),
        params:
            **run_params("vocabularies"),
            models=f"{RESULTS}/vocabularies/{{lang}}/models",
            coverage=SETTINGS.vocabularies.coverage,
            text=TEXT_OPTIONS,
        message:
            "Training {wildcards.lang} at {wildcards.size} pieces"
        shell:
            """
            vocap train \
                --size {wildcards.size} \
                --train {input.train:q} \
                --heldout {input.heldout:q} \
                --models {params.models:q} \
                --coverage {params.coverage} \
                {params.text} \
                --point {output.point:q} 2>{log:q}
            """

    rule curve:
        input:
            points=expand("<results>/vocabularies/{{lang}}/points/{size}.tsv", size=SIZES),
            train="<results>/corpora/{lang}/train.txt",
        output:
            curve="<results>/vocabularies/{lang}/curve.tsv",
            characters="<results>/vocabularies/{lang}/characters.tsv",
            index="<results>/vocabularies/{lang}/pieces.npz",
        log:
            "<logs>/vocabularies/curve/{lang}.log",
        benchmark:
            "<logs>/benchmarks/vocabularies/curve/{lang}.tsv"
        # at once: Snakemake looks at every input of all jobs that are ready, each time
        # that one ends
        priority: 2
        localrule: True
        conda:
            "../envs/vocabularies.yaml"
        resources:
            **needs("curve"),
        params:
            **run_params("vocabularies"),
            models=f"{RESULTS}/vocabularies/{{lang}}/models",
            text=TEXT_OPTIONS,
        message:
            "Joining the sizes of {wildcards.lang}"
        shell:
            "vocap curve {params.text}"
            " --train {input.train:q}"
            " --models {params.models:q}"
            " -o {output.curve:q}"
            " --characters {output.characters:q}"
            " --index {output.index:q}"
            " {input.points:q} 2> {log:q}"
