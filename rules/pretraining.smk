"""Pre-training: text to blocks of token ids, one job for every named model, and code lengths of causal ones."""

MODELS = {
    name: entry
    for name, entry in SETTINGS.pretraining.models.items()
    if not absent_tokenizer(entry.tokenizer)
}
CAUSAL = [name for name, entry in MODELS.items() if entry.causal]
MODEL_TOKENIZERS = sorted({entry.tokenizer for entry in MODELS.values()})

# The whole text of a language, of which vocabularies are learnt on a sample: from a
# source of its own, or from theirs.
MODEL_SOURCES = PRETRAINING_SOURCES or SOURCES
MODEL_TEXT_STAGE = "pretraining" if PRETRAINING_SOURCES else "corpora"  # of its downloads
TOKENIZED_TOGETHER = [] if PRETRAINING_SOURCES else TOGETHER

for name in SETTINGS.pretraining.models:
    if name not in MODELS:
        left_out(
            f"model {name}",
            f"its tokenizer {SETTINGS.pretraining.models[name].tokenizer} is left out",
        )


rule pretraining:
    """Every named model"""
    input:
        expand("<results>/pretraining/{name}/metrics.jsonl", name=MODELS),
        expand("<results>/pretraining/{name}/code-length.tsv", name=CAUSAL),
    message:
        "The stage pretraining is made"


# The blocks beside their description are written with it, whole or not at all.
rule tokenize:
    input:
        text=lambda wildcards: MODEL_SOURCES[wildcards.lang].inputs(RESULTS, MODEL_TEXT_STAGE),
        heldout="<results>/corpora/{lang}/heldout.txt",
        model=lambda wildcards: f"{tokenizer_folder(wildcards.tokenizer)}/{trained_file(wildcards.tokenizer)}",
    output:
        "<results>/pretraining/tokens/{tokenizer}/{lang}/description.json",
    log:
        "<logs>/pretraining/tokenize/{tokenizer}/{lang}.log",
    benchmark:
        "<logs>/benchmarks/pretraining/tokenize/{tokenizer}/{lang}.tsv"
    wildcard_constraints:
        tokenizer=one_of(MODEL_TOKENIZERS),
        lang=one_of(lang for lang in LANGUAGES if lang not in TOKENIZED_TOGETHER),
    conda:
        "../envs/tokenizers.yaml"
    resources:
        **needs(700, 60, minutes_per_mb=0.05),
    params:
        **run_params("pretraining"),
        each="",
        lang=lambda wildcards: wildcards.lang,
        blocks=lambda wildcards, output: Path(output[0]).parents[1],
        length=SETTINGS.pretraining.block,
        layout=lambda wildcards: layout_options(MODEL_SOURCES[wildcards.lang].source),
        files=lambda wildcards, input: MODEL_SOURCES[wildcards.lang].texts(input.get("text")),
    message:
        "Tokenizing the text of {wildcards.lang} with {wildcards.tokenizer}"
    shell:
        """
        vocap {params.each} tokenize {params.files:q} \
            --tokenizer {input.model:q} \
            --language {params.lang} \
            --heldout {params.results:q}/corpora/{params.lang}/heldout.txt \
            --length {params.length} \
            {params.layout} \
            -o {params.blocks:q}/{params.lang} 2>{log:q}
        """


if TOKENIZED_TOGETHER:

    use rule tokenize as tokenize_starter with:
        input:
            text=STARTER_TEXT,
            heldout=expand("<results>/corpora/{lang}/heldout.txt", lang=TOGETHER),
            model=lambda wildcards: f"{tokenizer_folder(wildcards.tokenizer)}/{trained_file(wildcards.tokenizer)}",
        output:
            expand(
                "<results>/pretraining/tokens/{{tokenizer}}/{lang}/description.json", lang=TOGETHER
            ),
        log:
            "<logs>/pretraining/tokenize_starter/{tokenizer}.log",
        benchmark:
            "<logs>/benchmarks/pretraining/tokenize_starter/{tokenizer}.tsv"
        wildcard_constraints:
            tokenizer=one_of(MODEL_TOKENIZERS),
        priority: 2  # the model waits for it, and the report for the model
        resources:
            **needs(1000, 60, minutes_per_mb=0.05),
        params:
            each=each_together,
            lang=verbatim("{lang}"),
            layout=layout_options(STARTED.source),
            files=verbatim(STARTED.texts([STARTER_TEXT])),
        message:
            "Tokenizing the starter corpus with {wildcards.tokenizer}"


# Checkpoints lie beside the outputs, undeclared: a job that was stopped resumes from
# them when it is started again.
rule pretrain:
    input:
        blocks=lambda wildcards: expand(
            "<results>/pretraining/tokens/{tokenizer}/{lang}/description.json",
            tokenizer=MODELS[wildcards.name].tokenizer,
            lang=LANGUAGES,
        ),
        tokenizer=lambda wildcards: (
            f"{tokenizer_folder(MODELS[wildcards.name].tokenizer)}/{trained_file(MODELS[wildcards.name].tokenizer)}"
        ),
        # The same ids as the tokenizer's file, which is watched: an export is made
        # again with its card.
        exported=ancient(
            lambda wildcards: f"{tokenizer_folder(MODELS[wildcards.name].tokenizer)}/huggingface/tokenizer.json"
        ),
        weights=lambda wildcards: (
            [] if MODELS[wildcards.name].weights != "corpora" else "<results>/corpora/weights.tsv"
        ),
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
        **needs(2000, 1440, parameters=parameters_of),
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
        **needs(2000, 240),
    params:
        **run_params("pretraining"),
        threads=SETTINGS.pretraining.threads,
        languages=",".join(LANGUAGES),
        parallel=verbatim(options(parallel=PARALLEL_TEXT.pattern) if PARALLEL_TEXT else ""),
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
