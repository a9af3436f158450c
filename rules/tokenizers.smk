"""The multilingual tokenizers, their Hugging Face export, its parity, and how well each language is served."""

ALL_TOKENIZERS = {name: entry for name, entry in SETTINGS.tokenizers.items() if not absent_tokenizer(name)}
MADE_HERE = [name for name, entry in ALL_TOKENIZERS.items() if entry.made]
TWO_FORMS = [
    name for name in MADE_HERE if ALL_TOKENIZERS[name].file == FILES[0]
]  # SentencePiece's, and the export
FITTED = tokenizers_of("vocap")
JOINT = tokenizers_of("joint")
MONO = tokenizers_of("mono")
COMPARED = compared_pairs(SETTINGS.tokenizers, SETTINGS.allocation)

# Parallel text, if there is some: then one table more for each tokenizer.
PARALLEL_TABLE = {"parallel_table": "<results>/tokenizers/{name}/parallel.tsv"} if PARALLEL_TEXT else {}

# The text settings of each tokenizer, and its layout, as options; a fitted one takes the rows besides its pieces alone.
OWN_TEXT = {name: entry.text(TEXT) for name, entry in (FITTED | JOINT).items()}
OWN_OPTIONS = {
    name: shlex.join([*text_words(text.rows_alone() if name in FITTED else text), *LAYOUT])
    for name, text in OWN_TEXT.items()
}

# Where the text comes from, with its licences, for the model cards: a list in Markdown.
STARTER_PACKAGES = ", ".join(f"{name} ({PACKAGES[name].licence})" for name in SETTINGS.corpora.starter.packages)
LICENCES = {}  # terms to the names of the sources
for name, source in sorted({source.name: source.source for source in SOURCES.values()}.items()):
    LICENCES.setdefault(source.terms(STARTER_PACKAGES), []).append(name)
CARD_TEXT = "\n".join(f"- {', '.join(names)}: {terms}." for terms, names in LICENCES.items())


rule tokenizers:
    """Every named tokenizer, exported and evaluated"""
    input:
        expand("<results>/tokenizers/{name}/parity.tsv", name=TWO_FORMS),
        expand(f"<results>/tokenizers/{{name}}/huggingface/{CARD}", name=MADE_HERE),
        expand("<results>/tokenizers/{name}/evaluation.tsv", name=ALL_TOKENIZERS),
        [f"{RESULTS}/tokenizers/diff/{a}-{b}" for a, b in COMPARED],
    message:
        "The stage tokenizers is made"


rule fit:
    input:
        allocation=lambda wildcards: f"{RESULTS}/allocation/{allocation_of(wildcards)[0]}/vocabulary.tsv",
        weights="<results>/corpora/weights.tsv",
    output:
        expand("<results>/tokenizers/{{name}}/{file}", file=FILES),
    log:
        "<logs>/tokenizers/{name}/fit.log",
    benchmark:
        "<logs>/benchmarks/tokenizers/{name}/fit.tsv"
    wildcard_constraints:
        name=one_of(FITTED),
    priority: 1  # export and evaluation wait for it
    conda:
        "../envs/tokenizers.yaml"
    resources:
        mem_mb=memory(3600),
        runtime=minutes(60),
    params:
        allocation=lambda wildcards: f"{RESULTS}/allocation/{allocation_of(wildcards)[0]}",
        # The models that scores come from: those of the languages, or of an allocation that has its own.
        vocabularies=lambda wildcards: (
            f"{RESULTS}/allocation/{allocation_of(wildcards)[0]}/vocabularies"
            if allocation_of(wildcards)[1].needs_text
            else f"{RESULTS}/vocabularies"
        ),
        alpha=lambda wildcards: allocation_of(wildcards)[1].alpha,
        scores=lambda wildcards: FITTED[wildcards.name].scores,
        own=lambda wildcards: OWN_OPTIONS[wildcards.name],
        folder=lambda wildcards, output: Path(output[0]).parent,
        revision=REVISION["tokenizers"],
    message:
        "Fitting the scores of {wildcards.name}"
    shell:
        """
        vocap fit \
            --allocation {params.allocation:q} \
            --vocabularies {params.vocabularies:q} \
            --weights {input.weights:q} \
            --alpha {params.alpha} \
            --scores {params.scores} \
            {params.own} \
            -o {params.folder:q} 2>{log:q}
        """


# All T with the same settings come from one descent. Its name says what it depends on besides the text: with other
# settings tokenizers are made again. JOINT counts the characters of the training lines itself: with those of the curves
# it would be trained again with each size that is added.
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


rule joint_descent:
    input:
        text=lambda wildcards: text_files(JOINT[of_descent(wildcards)].alpha),
        heldout=expand("<results>/corpora/{lang}/heldout.txt", lang=LANGUAGES),
        weights="<results>/corpora/weights.tsv",
        rules=TEXT_RULES,
    output:
        directory("<results>/tokenizers/.joint/{descent}"),
    log:
        "<logs>/tokenizers/.joint/{descent}.log",
    benchmark:
        "<logs>/benchmarks/tokenizers/.joint/{descent}.tsv"
    wildcard_constraints:
        descent=one_of(DESCENTS.values()),
    priority: 1  # long, and ready as soon as the text is: not to be left for the end
    conda:
        "../envs/tokenizers.yaml"
    resources:
        mem_mb=memory(330, 15),  # 772 MB for 65 MB of 86 languages
        runtime=minutes(30, 0.2),
    params:
        results=verbatim(RESULTS),
        coverage=SETTINGS.vocabularies.coverage,
        alpha=lambda wildcards: JOINT[of_descent(wildcards)].alpha,
        text=lambda wildcards: text_option(JOINT[of_descent(wildcards)].alpha),
        own=lambda wildcards: OWN_OPTIONS[of_descent(wildcards)],
        totals=lambda wildcards: totals_of(f".joint/{wildcards.descent}", JOINT, DESCENTS),
        revision=REVISION["tokenizers"],
    message:
        "Training the joint tokenizers: one descent over the text of all languages"
    shell:
        """
        vocap joint \
            --weights {input.weights:q} \
            --characters {params.results:q}/corpora \
            --coverage {params.coverage} \
            --alpha {params.alpha} \
            {params.text} \
            {params.own} \
            {params.totals} \
            --heldout {params.results:q}/corpora \
            --curve {output:q}/sizes.tsv \
            -o {output:q}/{{total}} 2>{log:q}
        """


# A T that is added runs its descent again, for all T, and leaves their tokenizers as they are; these are made again for
# another text, other weights and other settings.
rule pick_joint:
    input:
        made=lambda wildcards: once(wildcards.name, f"{RESULTS}/tokenizers/.joint/{DESCENTS[wildcards.name]}"),
        text=lambda wildcards: text_files(JOINT[wildcards.name].alpha),
        weights="<results>/corpora/weights.tsv",
    output:
        expand("<results>/tokenizers/{{name}}/{file}", file=[*FILES, "sizes.tsv"]),
    log:
        "<logs>/tokenizers/{name}/pick_joint.log",
    benchmark:
        "<logs>/benchmarks/tokenizers/{name}/pick_joint.tsv"
    wildcard_constraints:
        name=one_of(JOINT),
    localrule: True
    conda:
        "../envs/tokenizers.yaml"
    resources:
        mem_mb=memory(50),
        runtime=minutes(10),
    params:
        total=lambda wildcards: JOINT[wildcards.name].total,
        folder=lambda wildcards, output: Path(output[0]).parent,
        revision=REVISION["tokenizers"],
    message:
        "Taking {wildcards.name} from its descent"
    shell:
        "cp {input.made:q}/{params.total}/* {input.made:q}/sizes.tsv {params.folder:q} 2> {log:q}"


rule mono:
    input:
        curve=lambda wildcards: f"{RESULTS}/vocabularies/{MONO[wildcards.name].language}/curve.tsv",
    output:
        expand("<results>/tokenizers/{{name}}/{file}", file=FILES),
    log:
        "<logs>/tokenizers/{name}/mono.log",
    benchmark:
        "<logs>/benchmarks/tokenizers/{name}/mono.tsv"
    wildcard_constraints:
        name=one_of(MONO),
    localrule: True
    conda:
        "../envs/tokenizers.yaml"
    resources:
        mem_mb=memory(200),
        runtime=minutes(10),
    params:
        models=lambda wildcards, input: Path(input.curve).with_name("models"),
        size=lambda wildcards: MONO[wildcards.name].size,
        language=lambda wildcards: MONO[wildcards.name].language,
        layout=verbatim(shlex.join(LAYOUT)),
        folder=lambda wildcards, output: Path(output[0]).parent,
        revision=REVISION["tokenizers"],
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


# The export, its card and, of two forms, their comparison. The evaluation stands for the text of all languages:
# Snakemake looks at all inputs of all jobs that are ready whenever one ends. Files and no directory(), in which it would
# put a file of its own.
rule export:
    input:
        model=f"<results>/tokenizers/{{name}}/{FILES[0]}",
        evaluation="<results>/tokenizers/{name}/evaluation.tsv",
    output:
        expand("<results>/tokenizers/{{name}}/huggingface/{file}", file=EXPORTED),
        card=f"<results>/tokenizers/{{name}}/huggingface/{CARD}",
        parity="<results>/tokenizers/{name}/parity.tsv",
    log:
        "<logs>/tokenizers/{name}/export.log",
    benchmark:
        "<logs>/benchmarks/tokenizers/{name}/export.tsv"
    wildcard_constraints:
        name=one_of(TWO_FORMS),
    conda:
        "../envs/tokenizers.yaml"
    resources:
        mem_mb=memory(1600),
        runtime=minutes(120),
    params:
        results=verbatim(RESULTS),
        layout=verbatim(options(layout=SETTINGS.layout.text())),
        text=verbatim(CARD_TEXT),
        languages=",".join(LANGUAGES),
        seed=SETTINGS.seed,
        folder=lambda wildcards, output: Path(output.parity).parent,
        revision=REVISION["tokenizers"],
    message:
        "Exporting {wildcards.name} for Hugging Face, and comparing both forms"
    shell:
        """
        (
            vocap export {input.model:q} {params.layout} -o {params.folder:q}/huggingface
            vocap card {input.model:q} --evaluation {input.evaluation:q} --text {params.text:q} -o {output.card:q}
            vocap parity \
                --tokenizer {params.folder:q} \
                --corpora {params.results:q}/corpora \
                --languages {params.languages} \
                --seed {params.seed} \
                -o {output.parity:q}
        ) 2>{log:q}
        """


rule evaluate:
    input:
        tokenizer=lambda wildcards: (
            f"{tokenizer_folder(wildcards.name)}/{trained_file(wildcards.name)}"
            if wildcards.name in MADE_HERE
            else source_file(wildcards.name)
        ),
        heldout=expand("<results>/corpora/{lang}/heldout.txt", lang=LANGUAGES),
        parallel=PARALLEL_TEXT.inputs(LANGUAGES) if PARALLEL_TEXT else [],
    output:
        **PARALLEL_TABLE,
        evaluation="<results>/tokenizers/{name}/evaluation.tsv",
        unknown="<results>/tokenizers/{name}/unknown.tsv",
        round_trip="<results>/tokenizers/{name}/roundtrip.tsv",
    log:
        "<logs>/tokenizers/{name}/evaluate.log",
    benchmark:
        "<logs>/benchmarks/tokenizers/{name}/evaluate.tsv"
    conda:
        "../envs/tokenizers.yaml"
    resources:
        mem_mb=memory(1600),
        runtime=minutes(60),
    params:
        results=verbatim(RESULTS),
        languages=",".join(LANGUAGES),
        table=verbatim(SETTINGS.corpora.table),
        facts=[(TABLE[lang].script, TABLE[lang].resource) for lang in LANGUAGES],  # of the table, those that evaluation reads
        parallel=lambda wildcards: (
            options(
                parallel=PARALLEL_TEXT.pattern,
                parallel_output=f"{RESULTS}/tokenizers/{wildcards.name}/parallel.tsv",
            )
            if PARALLEL_TEXT
            else ""
        ),
        revision=REVISION["tokenizers"],
    message:
        "Measuring {wildcards.name} on every language's held-out text"
    shell:
        """
        vocap evaluate \
            --tokenizer {input.tokenizer:q} \
            --corpora {params.results:q}/corpora \
            --languages {params.languages} \
            --languages-table {params.table:q} \
            {params.parallel} \
            --unknown {output.unknown:q} \
            --round-trip {output.round_trip:q} \
            -o {output.evaluation:q} 2>{log:q}
        """


rule diff:
    input:
        a="<results>/tokenizers/{a}/sentencepiece.model",
        b="<results>/tokenizers/{b}/sentencepiece.model",
        evaluation_a="<results>/tokenizers/{a}/evaluation.tsv",  # for the held-out text of all languages
        evaluation_b="<results>/tokenizers/{b}/evaluation.tsv",
    output:
        directory("<results>/tokenizers/diff/{a}-{b}"),
    log:
        "<logs>/tokenizers/diff/{a}-{b}.log",
    benchmark:
        "<logs>/benchmarks/tokenizers/diff/{a}-{b}.tsv"
    wildcard_constraints:
        a=one_of(a for a, _ in COMPARED),
        b=one_of(b for _, b in COMPARED),
    conda:
        "../envs/tokenizers.yaml"
    resources:
        mem_mb=memory(1600),
        runtime=minutes(60),
    params:
        results=verbatim(RESULTS),
        languages=",".join(LANGUAGES),
        revision=REVISION["tokenizers"],
    message:
        "Comparing {wildcards.a} with {wildcards.b} on every language's held-out text"
    shell:
        """
        vocap diff {input.a:q} {input.b:q} \
            --corpora {params.results:q}/corpora \
            --languages {params.languages} \
            -o {output:q} >{log:q} 2>&1
        """
