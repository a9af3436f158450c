"""The tokenizers of byte-pair encoding: one training for all T that share their settings."""

BYTE_PAIR = tokenizers_of("bpe", "parity-bpe")

# Those that follow parallel text; the others do not depend on it.
FOLLOWERS = [name for name, entry in BYTE_PAIR.items() if entry.follows_text]
if FOLLOWERS and not DEVELOPMENT_TEXT:
    stop(
        f"tokenizers.{FOLLOWERS[0]}: follows parallel text, and this run has none; name some under corpora.development"
    )
TRAINING_OPTIONS = {
    name: options(
        coverage=SETTINGS.vocabularies.coverage if entry.unit == "characters" else None,
        development=DEVELOPMENT_TEXT.pattern if name in FOLLOWERS else None,
        **entry.options(),
    )
    for name, entry in BYTE_PAIR.items()
}

# The name says what a training depends on besides the text, as of a descent of JOINT, and the contents of the user's
# parallel text, which no job makes.
DEVELOPMENT_CONTENT = DEVELOPMENT_TEXT.fingerprint(LANGUAGES) if FOLLOWERS else ""
PAIR_TRAININGS = {
    name: training_name(
        entry,
        TRAINING_OPTIONS[name],
        DEVELOPMENT_CONTENT if name in FOLLOWERS else "",
        REVISION["tokenizers"],
        *text_words(TEXT),
        *LAYOUT,
    )
    for name, entry in BYTE_PAIR.items()
}


rule bpe_training:
    input:
        train=expand("<results>/corpora/{lang}/train.txt", lang=LANGUAGES),
        heldout=expand("<results>/corpora/{lang}/heldout.txt", lang=LANGUAGES),
        weights="<results>/corpora/weights.tsv",
        development=lambda wildcards: (
            DEVELOPMENT_TEXT.inputs(LANGUAGES) if of_training(wildcards) in FOLLOWERS else []
        ),
        rules=TEXT_RULES,
    output:
        directory("<results>/tokenizers/.bpe/{training}"),
    log:
        "<logs>/tokenizers/.bpe/{training}.log",
    benchmark:
        "<logs>/benchmarks/tokenizers/.bpe/{training}.tsv"
    wildcard_constraints:
        training=one_of(PAIR_TRAININGS.values()),
    priority: 1  # export and evaluation wait for it
    conda:
        "../envs/tokenizers.yaml"
    resources:
        mem_mb=memory(600, 25),
        runtime=minutes(30, 0.5),
    params:
        results=verbatim(RESULTS),
        own=lambda wildcards: TRAINING_OPTIONS[of_training(wildcards)],
        text=verbatim(shlex.join([*text_words(TEXT), *LAYOUT])),
        totals=lambda wildcards: totals_of(f".bpe/{wildcards.training}", BYTE_PAIR, PAIR_TRAININGS),
        revision=REVISION["tokenizers"],
    message:
        "Training byte-pair encoding on the text of all languages: {wildcards.training}"
    shell:
        """
        vocap bpe \
            --corpora {params.results:q}/corpora \
            --weights {input.weights:q} \
            {params.own} \
            {params.text} \
            {params.totals} \
            --curve {output:q}/sizes.tsv \
            -o {output:q}/{{total}} >{log:q} 2>&1
        """


# A T that is added runs its training again, for all T, and leaves their tokenizers as they are, as in rule pick_joint.
use rule pick_joint as pick_bpe with:
    input:
        made=lambda wildcards: once(wildcards.name, f"{RESULTS}/tokenizers/.bpe/{PAIR_TRAININGS[wildcards.name]}"),
        train=expand("<results>/corpora/{lang}/train.txt", lang=LANGUAGES),
        weights="<results>/corpora/weights.tsv",
        development=lambda wildcards: DEVELOPMENT_TEXT.inputs(LANGUAGES) if wildcards.name in FOLLOWERS else [],
    output:
        expand("<results>/tokenizers/{{name}}/{file}", file=[*BYTE_PAIR_FILES, "sizes.tsv"]),
    log:
        "<logs>/tokenizers/{name}/pick_bpe.log",
    benchmark:
        "<logs>/benchmarks/tokenizers/{name}/pick_bpe.tsv"
    wildcard_constraints:
        name=one_of(BYTE_PAIR),
    params:
        total=lambda wildcards: BYTE_PAIR[wildcards.name].total,
    message:
        "Taking {wildcards.name} from its training"


# Its only form is tokenizer.json: nothing to compare.
rule export_bpe:
    input:
        model="<results>/tokenizers/{name}/tokenizer.json",
        evaluation="<results>/tokenizers/{name}/evaluation.tsv",
    output:
        expand("<results>/tokenizers/{{name}}/huggingface/{file}", file=EXPORTED),
        card=f"<results>/tokenizers/{{name}}/huggingface/{CARD}",
    log:
        "<logs>/tokenizers/{name}/export.log",
    benchmark:
        "<logs>/benchmarks/tokenizers/{name}/export.tsv"
    wildcard_constraints:
        name=one_of(BYTE_PAIR),
    conda:
        "../envs/tokenizers.yaml"
    resources:
        mem_mb=memory(1600),
        runtime=minutes(30),
    params:
        layout=verbatim(options(layout=SETTINGS.layout.text())),
        text=verbatim(CARD_TEXT),
        folder=lambda wildcards, output: Path(output.card).parent,
        revision=REVISION["tokenizers"],
    message:
        "Exporting {wildcards.name} for Hugging Face"
    shell:
        """
        (
            vocap export {input.model:q} {params.layout} -o {params.folder:q}
            vocap card {input.model:q} --evaluation {input.evaluation:q} --text {params.text:q} -o {output.card:q}
        ) 2>{log:q}
        """
