"""Pre-training: blocks of token ids, every named model, code lengths of causal ones.

REQUIRED INPUTS
    the whole text of each language, results/corpora/{lang}/heldout.txt, weights.tsv
    results/tokenizers/{tokenizer} or results/pretraining/tokenizers/{tokenizer}
OUTPUTS
    results/pretraining/tokens/{tokenizer}/{lang}
    results/pretraining/{name}/model, metrics.jsonl, description.json
    of causal models: results/pretraining/{name}/code-length.tsv, code-length.npz
"""

MODELS = PLAN.models
CAUSAL = [name for name, entry in MODELS.items() if entry.causal]
MODEL_TOKENIZERS = sorted({entry.tokenizer for entry in MODELS.values()})


rule pretraining:
    """Every named model"""
    input:
        expand("<results>/pretraining/{name}/metrics.jsonl", name=MODELS),
        expand("<results>/pretraining/{name}/code-length.tsv", name=CAUSAL),
    message:
        "The stage pretraining is made"


# The whole text of a language, of which vocabularies are learnt on a sample: from a
# source of its own, or from theirs.
MODEL_SOURCES = PLAN.pretraining_sources or SOURCES
MODEL_TEXT_STAGE = "pretraining" if PLAN.pretraining_sources else "corpora"  # of its listing
MODEL_BATCHES = [LanguageBatch(LANGUAGES)] if PLAN.pretraining_sources else PLAN.batches
for batch in MODEL_BATCHES:

    rule:
        name:
            f"tokenize{batch.suffix}"
        input:
            text=lambda wildcards: MODEL_SOURCES[language_of(wildcards)].inputs(
                RESULTS, MODEL_TEXT_STAGE
            ),
            heldout=expand("<results>/corpora/{lang}/heldout.txt", lang=batch.places),
            model=lambda wildcards: PLAN.tokenizer_file(wildcards.tokenizer),
        # The blocks beside their description are written with it, whole or not at all.
        output:
            expand(
                "<results>/pretraining/tokens/{{tokenizer}}/{lang}/description.json",
                lang=batch.places,
            ),
        log:
            f"<logs>/pretraining/tokenize{batch.suffix}/{{tokenizer}}{batch.branch}.log",
        benchmark:
            f"<logs>/benchmarks/pretraining/tokenize{batch.suffix}/{{tokenizer}}{batch.branch}.tsv"
        wildcard_constraints:
            tokenizer=one_of(MODEL_TOKENIZERS),
            lang=one_of(batch.languages),
        # the model waits for that of all languages, and the report for the model
        priority: 2 if batch.together else 0
        localrule: SETTINGS.corpora.fetch and not batch.together
        conda:
            "../envs/tokenizers.yaml"
        resources:
            # of text elsewhere the size is not known; a retry goes on behind the last whole file
            **needs(
                f"tokenize{batch.suffix}",
                minutes=1440 if LISTED[MODEL_TEXT_STAGE] and not batch.together else 60,
            ),
        params:
            **run_params("pretraining"),
            each=each_of(batch),
            lang=language_of,
            blocks=lambda wildcards, output: Path(output[0]).parents[1],
            length=SETTINGS.pretraining.block,
            stored=lambda wildcards: shlex.join(
                words_of(MODEL_SOURCES[language_of(wildcards)].stored)
            ),
            # Snakemake takes a file for new by a newer date alone
            versions=lambda wildcards: text_versions(
                MODEL_SOURCES[language_of(wildcards)],
                f"{RESULTS}/pretraining/tokens/{wildcards.tokenizer}/{language_of(wildcards)}/description.json",
            ),
            # of one language they depend on the input, so are not watched
            files=(
                verbatim(MODEL_SOURCES["{lang}"].texts([STARTER_TEXT]))
                if batch.together
                else lambda wildcards, input: MODEL_SOURCES[wildcards.lang].texts(
                    input.get("text")
                )
            ),
        message:
            (
                "Tokenizing the starter corpus with {wildcards.tokenizer}"
                if batch.together
                else "Tokenizing the text of {wildcards.lang} with {wildcards.tokenizer}"
            )
        shell:
            """
            vocap {params.each} tokenize {params.files:q} \
                --tokenizer {input.model:q} \
                --language {params.lang} \
                --heldout {params.results:q}/corpora/{params.lang}/heldout.txt \
                --length {params.length} \
                {params.stored} \
                -o {params.blocks:q}/{params.lang} 2>{log:q}
            """


rule pretrain:
    input:
        blocks=lambda wildcards: expand(
            "<results>/pretraining/tokens/{tokenizer}/{lang}/description.json",
            tokenizer=MODELS[wildcards.name].tokenizer,
            lang=LANGUAGES,
        ),
        tokenizer=lambda wildcards: PLAN.tokenizer_file(MODELS[wildcards.name].tokenizer),
        # The same ids as the tokenizer's file, which is watched: an export is made
        # again with its card.
        exported=ancient(
            lambda wildcards: "{}/huggingface/tokenizer.json".format(
                tokenizer_folder(SETTINGS, MODELS[wildcards.name].tokenizer)
            )
        ),
        weights=lambda wildcards: (
            [] if MODELS[wildcards.name].weights != "corpora" else "<results>/corpora/weights.tsv"
        ),
    # Checkpoints lie beside the outputs, undeclared: a job that was stopped resumes from
    # them when it is started again.
    output:
        model=directory("<results>/pretraining/{name}/model"),
        metrics="<results>/pretraining/{name}/metrics.jsonl",
        description="<results>/pretraining/{name}/description.json",
    log:
        "<logs>/pretraining/pretrain/{name}.log",
    benchmark:
        "<logs>/benchmarks/pretraining/pretrain/{name}.tsv"
    wildcard_constraints:
        name=one_of(MODELS),
    priority: 2  # long
    conda:
        "../envs/pretraining.yaml"
    threads: SETTINGS.pretraining.threads
    resources:
        **needs("pretrain", minutes=1440),
    params:
        **run_params("pretraining"),
        settings=lambda wildcards: recipe_json(MODELS[wildcards.name]),
        threads=SETTINGS.pretraining.threads,
        seed=SETTINGS.seed,
        languages=",".join(LANGUAGES),
        tokenizer=lambda wildcards, input: Path(input.tokenizer).parent,
        tokens=lambda wildcards: f"{RESULTS}/pretraining/tokens/{MODELS[wildcards.name].tokenizer}",
        weights=lambda wildcards, input: options(weights=input.weights or None),
        # depends on the output, so Snakemake does not watch it: another number trains
        # nothing again
        every=lambda wildcards, output: MODELS[wildcards.name].checkpoint_every,
    message:
        "Pre-training {wildcards.name}"
    shell:
        "vocap launch --threads {threads} vocap pretrain"
        " --tokenizer {params.tokenizer:q}"
        " --tokens {params.tokens:q}"
        " --languages {params.languages}"
        " {params.weights}"
        " --settings-json {params.settings:q}"
        " --seed {params.seed}"
        " --threads {params.threads}"
        " --checkpoint-every {params.every}"
        " -o {params.folder:q} 2> {log:q}"


rule code_length:
    input:
        model="<results>/pretraining/{name}/model",
        heldout=expand("<results>/corpora/{lang}/heldout.txt", lang=LANGUAGES),
        parallel=PARALLEL_TEXT.inputs(LANGUAGES) if PARALLEL_TEXT else [],
    output:
        table="<results>/pretraining/{name}/code-length.tsv",
        lines="<results>/pretraining/{name}/code-length.npz",
    log:
        "<logs>/pretraining/code_length/{name}.log",
    benchmark:
        "<logs>/benchmarks/pretraining/code_length/{name}.tsv"
    wildcard_constraints:
        name=one_of(CAUSAL),
    conda:
        "../envs/pretraining.yaml"
    threads: SETTINGS.pretraining.threads
    resources:
        **needs("code_length", minutes=240),
    params:
        **run_params("pretraining"),
        threads=SETTINGS.pretraining.threads,
        languages=",".join(LANGUAGES),
        parallel=PARALLEL_OPTIONS,
    message:
        "Measuring the code length of text under {wildcards.name}"
    shell:
        "vocap code-length"
        " --model {input.model:q}"
        " --corpora {params.results:q}/corpora"
        " --languages {params.languages}"
        " {params.parallel}"
        " --threads {params.threads}"
        " -o {output.table:q} 2> {log:q}"
