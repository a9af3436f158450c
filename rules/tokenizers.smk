"""The tokenizers, their Hugging Face export, and how well languages are served.

REQUIRED INPUTS
    results/allocation/{name}/vocabulary.tsv, results/vocabularies/{lang}/models, curve.tsv
    results/corpora/{lang}/train.txt, heldout.txt, weights.tsv, mix/{alpha}.txt
    tokenizers from elsewhere, parallel and development text
OUTPUTS
    results/tokenizers/{name}/sentencepiece.model or tokenizer.json, pieces.tsv, description.json
    results/tokenizers/{name}/huggingface, evaluation.tsv and the other tables
    results/tokenizers/{name}/tiktoken, {name}.gguf, where the entry's export names them
    results/pretraining/tokenizers/{tokenizer}, of those from elsewhere
"""

MADE_HERE = {name: entry for name, entry in PLAN.tokenizers.items() if entry.made}
# Those of SentencePiece, whose export is compared with the model.
TWO_FORMS = [name for name, entry in MADE_HERE.items() if entry.file == FILES[0]]
FITTED = {name: entry for name, entry in MADE_HERE.items() if entry.kind == "vocap"}
ALLOCATION_OF = {name: entry.allocation for name, entry in FITTED.items()}
JOINT = {name: entry for name, entry in MADE_HERE.items() if entry.kind == "joint"}
MONO = {name: entry for name, entry in MADE_HERE.items() if entry.kind == "mono"}
BYTE_PAIR = {
    name: entry for name, entry in MADE_HERE.items() if entry.kind in ("bpe", "parity-bpe")
}
# The cuts of those from elsewhere, of which tiktoken's ranks have one.
BASELINE_SPLITS = {
    name: entry.split for name, entry in PLAN.tokenizers.items() if name not in MADE_HERE
}

# The tables of a tokenizer by language; that of parallel text where there is some.
EVALUATION_TABLES = [
    "evaluation.tsv",
    "unknown.tsv",
    "roundtrip.tsv",
    "bits.npz",
]
if PARALLEL_TEXT:
    EVALUATION_TABLES.append("parallel.tsv")

# The text settings of each tokenizer as options; a fitted one takes the rows besides
# its pieces alone.
OWN_TEXT = {name: shlex.join(text_words(entry.text_of(TEXT))) for name, entry in JOINT.items()}
OWN_TEXT |= {
    name: shlex.join(text_words(entry.text_of(TEXT).rows_alone())) for name, entry in FITTED.items()
}

# Where the text comes from, with its licences, for the model cards: a list in Markdown.
STARTER_PACKAGES = ", ".join(
    f"{name} ({PACKAGES[name].licence})" for name in SETTINGS.corpora.starter.packages
)
READ_SOURCES = {source.name: source.source for source in PLAN.sources.values()}
LICENCES = {}  # terms to the names of the sources
for name, source in sorted(READ_SOURCES.items()):
    LICENCES.setdefault(source.terms(STARTER_PACKAGES), []).append(name)
CARD_TEXT = verbatim(
    "\n".join(f"- {', '.join(names)}: {terms}." for terms, names in LICENCES.items())
)
# the file of a model does not hold the longest input
EXPORT_LAYOUT = verbatim(options(layout=SETTINGS.layout.text() or "xlm-r"))
BPE_EXPORT_LAYOUT = verbatim(options(layout=SETTINGS.layout.text()))


rule tokenizers:
    """Every named tokenizer, exported and evaluated"""
    input:
        measured=[
            *expand(f"<results>/tokenizers/{{name}}/huggingface/{CARD}", name=MADE_HERE),
            *expand("<results>/tokenizers/{name}/evaluation.tsv", name=PLAN.tokenizers),
        ],
        forms=[
            f"<results>/tokenizers/{name}/{file.format(name=name)}"
            for name, entry in MADE_HERE.items()
            for form in entry.export or ()
            for file in FORMS[form]
        ],
    message:
        "The stage tokenizers is made"


rule fit:
    input:
        allocation=lambda wildcards: (
            f"{RESULTS}/allocation/{ALLOCATION_OF[wildcards.name]}/vocabulary.tsv"
        ),
        weights="<results>/corpora/weights.tsv",
    output:
        expand("<results>/tokenizers/{{name}}/{file}", file=FILES),
    log:
        "<logs>/tokenizers/fit/{name}.log",
    benchmark:
        "<logs>/benchmarks/tokenizers/fit/{name}.tsv"
    wildcard_constraints:
        name=one_of(FITTED),
    priority: 1  # export and evaluation wait for it
    conda:
        "../envs/tokenizers.yaml"
    resources:
        **needs("fit"),
    params:
        **run_params("tokenizers"),
        allocation=lambda wildcards: f"{RESULTS}/allocation/{ALLOCATION_OF[wildcards.name]}",
        # The models that scores come from: those of the languages, or of an allocation
        # that has its own.
        vocabularies=lambda wildcards: (
            f"{RESULTS}/allocation/{ALLOCATION_OF[wildcards.name]}/vocabularies"
            if ALLOCATION_OF[wildcards.name] in BY_PIECES
            else f"{RESULTS}/vocabularies"
        ),
        alpha=lambda wildcards: SETTINGS.allocation[ALLOCATION_OF[wildcards.name]].alpha,
        text=lambda wildcards: OWN_TEXT[wildcards.name],
        layout=LAYOUT_OPTIONS,
    message:
        "Fitting the scores of {wildcards.name}"
    shell:
        """
        vocap fit \
            --allocation {params.allocation:q} \
            --vocabularies {params.vocabularies:q} \
            --weights {input.weights:q} \
            --alpha {params.alpha} \
            {params.text} \
            {params.layout} \
            -o {params.folder:q} 2>{log:q}
        """


# The text of all languages (Equation 3): their training lines, or a sample. Of each
# tokenizer its files, and its settings as options, with those that name the files.
JOINT_TEXT = {
    name: (
        [f"{RESULTS}/corpora/mix/{entry.alpha}.txt"]
        if SAMPLED_ALPHAS
        else [f"{RESULTS}/corpora/{lang}/train.txt" for lang in LANGUAGES]
    )
    for name, entry in JOINT.items()
}
# Those of all training lines learn from the counts, but where they have symbols of their
# own, or a layout has other tokens than the counts know: lines with these are read again.
COUNTED = [
    name
    for name, entry in JOINT.items()
    if not SAMPLED_ALPHAS
    and not LAYOUT
    and set(entry.text_of(TEXT).user_defined_symbols) <= set(TEXT.user_defined_symbols)
]
# Keys of an entry that are no options of its training.
NO_OPTIONS = ("kind", "total", "export")
# The text settings are in OWN_TEXT.
JOINT_OPTIONS = {
    name: shlex.join(
        [
            f"--mix={JOINT_TEXT[name][0]}" if SAMPLED_ALPHAS else f"--corpora={RESULTS}/corpora",
            *words_of(SETTINGS.vocabularies, "engine", "sizes"),
            *words_of(entry, *NO_OPTIONS, "byte_fallback", "user_defined_symbols"),
        ]
    )
    for name, entry in JOINT.items()
}

# All T with the same settings come from one descent, named after what it depends on
# besides the text. JOINT counts the characters of the training lines itself: with those
# of the curves it would be trained again with each added size.
DESCENTS = {
    name: descent_name(
        entry,
        SETTINGS.vocabularies.coverage,
        SETTINGS.corpora.mix.sentences,
        REVISION["tokenizers"],
        *text_words(TEXT),
        *LAYOUT,
    )
    for name, entry in JOINT.items()
}
# of each descent one of its tokenizers
DESCENDED = {descent: name for name, descent in reversed(DESCENTS.items())}


rule joint_descent:
    input:
        text=lambda wildcards: JOINT_TEXT[DESCENDED[wildcards.descent]],
        heldout=expand("<results>/corpora/{lang}/heldout.txt", lang=LANGUAGES),
        counts=lambda wildcards: COUNTS if DESCENDED[wildcards.descent] in COUNTED else [],
        weights="<results>/corpora/weights.tsv",
    output:
        directory("<results>/tokenizers/.joint/{descent}"),
    log:
        "<logs>/tokenizers/joint_descent/{descent}.log",
    benchmark:
        "<logs>/benchmarks/tokenizers/joint_descent/{descent}.tsv"
    wildcard_constraints:
        descent=one_of(DESCENTS.values()),
    priority: 2  # long, and ready as soon as the text is: not to be left for the end
    conda:
        "../envs/tokenizers.yaml"
    resources:
        **needs("joint_descent"),
        memory=MEMORY,
    params:
        **run_params("tokenizers"),
        settings=lambda wildcards: JOINT_OPTIONS[DESCENDED[wildcards.descent]],
        counts=lambda wildcards: (COUNTS_OPTION if DESCENDED[wildcards.descent] in COUNTED else ""),
        text=lambda wildcards: OWN_TEXT[DESCENDED[wildcards.descent]],
        layout=LAYOUT_OPTIONS,
        totals=lambda wildcards: totals_of(
            f".joint/{wildcards.descent}", JOINT, DESCENTS, lambda *of: "/points/" in joint_of(*of)
        ),
    message:
        "Training the joint tokenizers: one descent over the text of all languages"
    shell:
        """
        vocap joint {resources.memory} \
            --weights {input.weights:q} \
            --characters {params.results:q}/corpora \
            {params.counts} \
            {params.settings} \
            {params.text} \
            {params.layout} \
            {params.totals} \
            --heldout {params.results:q}/corpora \
            --curve {output:q}/sizes.tsv \
            --points {output:q}/points/{{total}} \
            -o {output:q}/{{total}} 2>{log:q}
        """


# An added T that is a point of the curve is taken from the descent, another one runs it
# again and leaves the other tokenizers; another text, weights or settings make all again.
rule pick_joint:
    input:
        made=lambda wildcards: once(
            f"tokenizers/{wildcards.name}/sizes.tsv",
            f"{RESULTS}/tokenizers/.joint/{DESCENTS[wildcards.name]}",
        ),
        text=lambda wildcards: JOINT_TEXT[wildcards.name],
        weights="<results>/corpora/weights.tsv",
    output:
        expand("<results>/tokenizers/{{name}}/{file}", file=[*FILES, "sizes.tsv"]),
    log:
        "<logs>/tokenizers/pick_joint/{name}.log",
    benchmark:
        "<logs>/benchmarks/tokenizers/pick_joint/{name}.tsv"
    wildcard_constraints:
        name=one_of(JOINT),
    localrule: True
    conda:
        "../envs/tokenizers.yaml"
    resources:
        **needs("pick_joint"),
    params:
        **run_params("tokenizers"),
        place=lambda wildcards: joint_of(
            f".joint/{DESCENTS[wildcards.name]}", JOINT[wildcards.name].total
        ),
    message:
        "Taking {wildcards.name} from its descent"
    shell:
        "cp {params.place:q}/* {input.made:q}/sizes.tsv {params.folder:q} 2> {log:q}"


rule mono:
    input:
        curve=lambda wildcards: f"{RESULTS}/vocabularies/{MONO[wildcards.name].language}/curve.tsv",
    output:
        expand("<results>/tokenizers/{{name}}/{file}", file=FILES),
    log:
        "<logs>/tokenizers/mono/{name}.log",
    benchmark:
        "<logs>/benchmarks/tokenizers/mono/{name}.tsv"
    wildcard_constraints:
        name=one_of(MONO),
    localrule: True
    conda:
        "../envs/tokenizers.yaml"
    resources:
        **needs("mono"),
    params:
        **run_params("tokenizers"),
        models=lambda wildcards, input: Path(input.curve).with_name("models"),
        size=lambda wildcards: MONO[wildcards.name].size,
        language=lambda wildcards: MONO[wildcards.name].language,
        layout=LAYOUT_OPTIONS,
    message:
        "Making a tokenizer of one language's model: {wildcards.name}"
    shell:
        """
        vocap mono \
            --model {params.models:q}/{params.size}.model \
            --language {params.language} \
            {params.layout} \
            -o {params.folder:q} 2>{log:q}
        """


# A tokenizer from elsewhere, in the layout of ours: models are trained with <s> 0 ...
# <mask> T-1.
rule adopt:
    input:
        lambda wildcards: PLAN.source_file(wildcards.tokenizer) or [],
    output:
        model="<results>/pretraining/tokenizers/{tokenizer}/sentencepiece.model",
        pieces="<results>/pretraining/tokenizers/{tokenizer}/pieces.tsv",
        description="<results>/pretraining/tokenizers/{tokenizer}/description.json",
        exported=expand(
            "<results>/pretraining/tokenizers/{{tokenizer}}/huggingface/{file}", file=EXPORTED
        ),
    log:
        "<logs>/pretraining/adopt/{tokenizer}.log",
    benchmark:
        "<logs>/benchmarks/pretraining/adopt/{tokenizer}.tsv"
    localrule: True
    conda:
        "../envs/tokenizers.yaml"
    resources:
        **needs("adopt"),
    params:
        **run_params("tokenizers"),
    message:
        "Laying out {wildcards.tokenizer} for pre-training"
    shell:
        """
        (
            vocap mono --model {input:q} --language all -o {params.folder:q}
            vocap export {output.model:q} --layout=xlm-r -o {params.folder:q}/huggingface
        ) 2>{log:q}
        """


# Those that follow parallel text; the others do not depend on it.
FOLLOWERS = PLAN.followers
TRAINING_OPTIONS = {
    name: shlex.join(
        [
            *words_of(entry, *NO_OPTIONS),
            *(
                [f"--development={DEVELOPMENT_TEXT.pattern}", "--parity"]
                if name in FOLLOWERS
                else []
            ),
        ]
    )
    for name, entry in BYTE_PAIR.items()
}

# The name says what a training depends on besides the text, as of a descent of JOINT,
# and the contents of the user's parallel text, which no job makes.
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
# of each training one of its tokenizers
TRAINED = {training: name for name, training in reversed(PAIR_TRAININGS.items())}


rule bpe_training:
    input:
        train=expand("<results>/corpora/{lang}/train.txt", lang=LANGUAGES),
        heldout=expand("<results>/corpora/{lang}/heldout.txt", lang=LANGUAGES),
        counts=COUNTS,
        weights="<results>/corpora/weights.tsv",
        development=lambda wildcards: (
            DEVELOPMENT_TEXT.inputs(LANGUAGES) if TRAINED[wildcards.training] in FOLLOWERS else []
        ),
    output:
        directory("<results>/tokenizers/.bpe/{training}"),
    log:
        "<logs>/tokenizers/bpe_training/{training}.log",
    benchmark:
        "<logs>/benchmarks/tokenizers/bpe_training/{training}.tsv"
    wildcard_constraints:
        training=one_of(PAIR_TRAININGS.values()),
    priority: 1  # export and evaluation wait for it
    conda:
        "../envs/tokenizers.yaml"
    resources:
        **needs("bpe_training"),
        memory=MEMORY,
    params:
        **run_params("tokenizers"),
        settings=lambda wildcards: TRAINING_OPTIONS[TRAINED[wildcards.training]],
        counts=verbatim(COUNTS_OPTION),
        text=TEXT_OPTIONS,
        layout=LAYOUT_OPTIONS,
        totals=lambda wildcards: totals_of(
            f".bpe/{wildcards.training}", BYTE_PAIR, PAIR_TRAININGS, larger_than
        ),
    message:
        "Training byte-pair encoding on the text of all languages: {wildcards.training}"
    shell:
        """
        vocap bpe {resources.memory} \
            --corpora {params.results:q}/corpora \
            {params.counts} \
            --weights {input.weights:q} \
            {params.settings} \
            {params.text} \
            {params.layout} \
            {params.totals} \
            --curve {output:q}/sizes.tsv \
            -o {output:q}/{{total}} >{log:q} 2>&1
        """


# A smaller T has the first merges of a larger one; a larger T runs the training again and
# leaves the other tokenizers, as in rule pick_joint.
rule pick_bpe:
    input:
        made=lambda wildcards: once(
            f"tokenizers/{wildcards.name}/sizes.tsv",
            f"{RESULTS}/tokenizers/.bpe/{PAIR_TRAININGS[wildcards.name]}",
        ),
        train=expand("<results>/corpora/{lang}/train.txt", lang=LANGUAGES),
        weights="<results>/corpora/weights.tsv",
        development=lambda wildcards: (
            DEVELOPMENT_TEXT.inputs(LANGUAGES) if wildcards.name in FOLLOWERS else []
        ),
    output:
        expand("<results>/tokenizers/{{name}}/{file}", file=[*BYTE_PAIR_FILES, "sizes.tsv"]),
    log:
        "<logs>/tokenizers/pick_bpe/{name}.log",
    benchmark:
        "<logs>/benchmarks/tokenizers/pick_bpe/{name}.tsv"
    wildcard_constraints:
        name=one_of(BYTE_PAIR),
    priority: 2
    localrule: True
    conda:
        "../envs/tokenizers.yaml"
    resources:
        **needs("pick_bpe"),
    params:
        **run_params("tokenizers"),
        total=lambda wildcards: BYTE_PAIR[wildcards.name].total,
        larger=lambda wildcards: larger_than(
            f".bpe/{PAIR_TRAININGS[wildcards.name]}", BYTE_PAIR[wildcards.name].total
        )
        or "",
        text=TEXT_OPTIONS,
        layout=LAYOUT_OPTIONS,
    message:
        "Taking {wildcards.name} from its training"
    shell:
        """
        cp {input.made:q}/sizes.tsv {params.folder:q} 2>{log:q}
        if [ -n "{params.larger}" ]; then
            vocap cut-bpe {input.made:q}/{params.larger} \
                --total {params.total} \
                {params.text} \
                {params.layout} \
                -o {params.folder:q} 2>{log:q}
        else
            cp {input.made:q}/{params.total}/* {params.folder:q} 2>{log:q}
        fi
        """


# The file of the chat template, if any: exports are made again when it changes.
TEMPLATES = (
    [SETTINGS.layout.chat_template] if SETTINGS.layout.chat_template not in (None, "chatml") else []
)


# The export and its card. The evaluation stands for the text of all languages, of which
# both forms encode some lines: Snakemake looks at all inputs of ready jobs whenever one
# ends. Files and no directory(), in which it puts a file of its own.
rule export:
    input:
        model=f"<results>/tokenizers/{{name}}/{FILES[0]}",
        evaluation="<results>/tokenizers/{name}/evaluation.tsv",
        template=TEMPLATES,
    output:
        expand("<results>/tokenizers/{{name}}/huggingface/{file}", file=EXPORTED),
        card=f"<results>/tokenizers/{{name}}/huggingface/{CARD}",
    log:
        "<logs>/tokenizers/export/{name}.log",
    benchmark:
        "<logs>/benchmarks/tokenizers/export/{name}.tsv"
    wildcard_constraints:
        name=one_of(TWO_FORMS),
    priority: lambda wildcards: 2 * (wildcards.name in MODEL_TOKENIZERS)
    conda:
        "../envs/tokenizers.yaml"
    resources:
        **needs("export"),
    params:
        **run_params("tokenizers"),
        layout=EXPORT_LAYOUT,
        text=CARD_TEXT,
    message:
        "Exporting {wildcards.name} for Hugging Face, and comparing both forms"
    shell:
        """
        (
            vocap export {input.model:q} {params.layout} --corpora {params.results:q}/corpora -o {params.folder:q}
            vocap card {input.model:q} --evaluation {input.evaluation:q} --text {params.text:q} -o {output.card:q}
        ) 2>{log:q}
        """


# Its only form is tokenizer.json: nothing to compare.
rule export_bpe:
    input:
        model="<results>/tokenizers/{name}/tokenizer.json",
        evaluation="<results>/tokenizers/{name}/evaluation.tsv",
        template=TEMPLATES,
    output:
        expand("<results>/tokenizers/{{name}}/huggingface/{file}", file=EXPORTED),
        card=f"<results>/tokenizers/{{name}}/huggingface/{CARD}",
    log:
        "<logs>/tokenizers/export_bpe/{name}.log",
    benchmark:
        "<logs>/benchmarks/tokenizers/export_bpe/{name}.tsv"
    wildcard_constraints:
        name=one_of(BYTE_PAIR),
    conda:
        "../envs/tokenizers.yaml"
    resources:
        **needs("export_bpe"),
    params:
        **run_params("tokenizers"),
        layout=BPE_EXPORT_LAYOUT,
        text=CARD_TEXT,
    message:
        "Exporting {wildcards.name} for Hugging Face"
    shell:
        """
        (
            vocap export {input.model:q} {params.layout} -o {params.folder:q}
            vocap card {input.model:q} --evaluation {input.evaluation:q} --text {params.text:q} -o {output.card:q}
        ) 2>{log:q}
        """


rule export_tiktoken:
    input:
        "<results>/tokenizers/{name}/tokenizer.json",
    output:
        expand("<results>/tokenizers/{{name}}/{file}", file=FORMS["tiktoken"]),
    log:
        "<logs>/tokenizers/export_tiktoken/{name}.log",
    benchmark:
        "<logs>/benchmarks/tokenizers/export_tiktoken/{name}.tsv"
    wildcard_constraints:
        name=one_of(BYTE_PAIR),
    conda:
        "../envs/tokenizers.yaml"
    resources:
        **needs("export_tiktoken"),
    params:
        **run_params("tokenizers"),
    message:
        "Exporting {wildcards.name} for tiktoken"
    shell:
        "vocap export {input:q} --format tiktoken -o {params.folder:q} 2> {log:q}"


rule export_gguf:
    input:
        lambda wildcards: PLAN.tokenizer_file(wildcards.name),
    output:
        "<results>/tokenizers/{name}/{name}.gguf",
    log:
        "<logs>/tokenizers/export_gguf/{name}.log",
    benchmark:
        "<logs>/benchmarks/tokenizers/export_gguf/{name}.tsv"
    wildcard_constraints:
        name=one_of(MADE_HERE),
    conda:
        "../envs/tokenizers.yaml"
    resources:
        **needs("export_gguf"),
    params:
        **run_params("tokenizers"),
    message:
        "Exporting {wildcards.name} for llama.cpp"
    shell:
        "vocap export {input:q} --format gguf -o {output:q} 2> {log:q}"


rule evaluate:
    input:
        tokenizer=lambda wildcards: (
            PLAN.tokenizer_file(wildcards.name)
            if wildcards.name in MADE_HERE
            else PLAN.source_file(wildcards.name) or []
        ),
        text=expand(
            "<results>/corpora/{lang}/{part}.txt", lang=LANGUAGES, part=["heldout", "train"]
        ),
        parallel=PARALLEL_TEXT.inputs(LANGUAGES) if PARALLEL_TEXT else [],
    output:
        expand("<results>/tokenizers/{{name}}/{table}", table=EVALUATION_TABLES),
    log:
        "<logs>/tokenizers/evaluate/{name}.log",
    benchmark:
        "<logs>/benchmarks/tokenizers/evaluate/{name}.tsv"
    # awaited, or slow
    priority: lambda wildcards: 2 * (wildcards.name in [*MODEL_TOKENIZERS, *BYTE_PAIR])
    conda:
        "../envs/tokenizers.yaml"
    resources:
        **needs("evaluate"),
    params:
        **run_params("tokenizers"),
        languages=",".join(LANGUAGES),
        table=SETTINGS.corpora.table,
        # of the table, those that evaluation reads
        facts=[(TABLE[lang].script, TABLE[lang].resource) for lang in LANGUAGES],
        parallel=PARALLEL_OPTIONS,
        split=lambda wildcards: options(split=BASELINE_SPLITS.get(wildcards.name)),
    message:
        "Measuring {wildcards.name} on every language's held-out text"
    shell:
        """
        vocap evaluate \
            --tokenizer {wildcards.name}={input.tokenizer:q} \
            {params.split} \
            --corpora {params.results:q}/corpora \
            --languages {params.languages} \
            --languages-table {params.table:q} \
            {params.parallel} \
            --tables {params.results:q}/tokenizers >{log:q} 2>&1
        """
