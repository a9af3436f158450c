"""The multilingual tokenizers, their Hugging Face export, its parity, and how well each language is served."""

ALL_TOKENIZERS = tokenizers_of("vocap", "joint", "bpe", "parity-bpe", "mono", "file")
FITTED = tokenizers_of("vocap")
JOINT = {name: SETTINGS.tokenizers[name] for name in tokenizers_of("joint")}
MONO = {name: SETTINGS.tokenizers[name] for name in tokenizers_of("mono")}
UNIGRAM = tokenizers_of("vocap", "joint", "mono")
BYTE_PAIR = {name: SETTINGS.tokenizers[name] for name in tokenizers_of("bpe", "parity-bpe")}
MADE_HERE = [*UNIGRAM, *BYTE_PAIR]
COMPARED = compared_pairs(SETTINGS.tokenizers, SETTINGS.allocation)

# Parallel text, if there is some: then one table more for each tokenizer.
PARALLEL_TABLE = {"parallel_table": "<results>/tokenizers/{name}/parallel.tsv"} if PARALLEL_TEXT else {}

# The text of all languages, by alpha (Equation 3): their training lines, or a sample; its files, and as options.
FITTED_ALPHA = {name: SETTINGS.allocation[SETTINGS.tokenizers[name].allocation].alpha for name in FITTED}
ALPHAS = [*FITTED_ALPHA.values(), *(entry.alpha for entry in JOINT.values())]
if SAMPLED_ALPHAS:
    TEXT_FILES = {alpha: [f"{RESULTS}/corpora/mix/{alpha}.txt"] for alpha in ALPHAS}
    READ_OPTIONS = {alpha: {"alpha": alpha, "mix": f"{RESULTS}/corpora/mix/{alpha}.txt"} for alpha in ALPHAS}
else:
    TEXT_FILES = {alpha: [f"{RESULTS}/corpora/{lang}/train.txt" for lang in LANGUAGES] for alpha in ALPHAS}
    READ_OPTIONS = {alpha: {"alpha": alpha, "corpora": f"{RESULTS}/corpora"} for alpha in ALPHAS}

# The text settings of each tokenizer, and its layout, as options; a fitted one takes the rows besides its pieces alone.
OWN_TEXT = {name: SETTINGS.tokenizers[name].text(TEXT) for name in (*FITTED, *JOINT)}
JOINT_TEXT = {name: shlex.join([*text_words(OWN_TEXT[name]), *LAYOUT]) for name in JOINT}
FITTED_ROWS = {name: shlex.join([*text_words(OWN_TEXT[name].rows_alone()), *LAYOUT]) for name in FITTED}

# Where the text comes from, with its licences, for the model cards: a list in Markdown.
STARTER_PACKAGES = ", ".join(f"{name} ({PACKAGES[name].licence})" for name in SETTINGS.corpora.starter.packages)
LICENCES = {}  # terms to the names of the sources
for name, source in sorted({source.name: source.source for source in SOURCES.values()}.items()):
    LICENCES.setdefault(source.terms(STARTER_PACKAGES), []).append(name)


rule tokenizers:
    """Every named tokenizer, exported and evaluated"""
    input:
        expand(
            "<results>/tokenizers/{name}/parity.tsv",
            name=UNIGRAM,
        ),
        expand(
            f"<results>/tokenizers/{{name}}/huggingface/{CARD}",
            name=MADE_HERE,
        ),
        expand("<results>/tokenizers/{name}/evaluation.tsv", name=ALL_TOKENIZERS),
        [f"{RESULTS}/tokenizers/diff/{a}-{b}" for a, b in COMPARED],
    message:
        "The stage tokenizers is made"


rule fit:
    input:
        allocation=lambda wildcards: f"{RESULTS}/allocation/{SETTINGS.tokenizers[wildcards.name].allocation}/vocabulary.tsv",
        weights="<results>/corpora/weights.tsv",
        text=lambda wildcards: TEXT_FILES[FITTED_ALPHA[wildcards.name]],
    output:
        model="<results>/tokenizers/{name}/sentencepiece.model",
        pieces="<results>/tokenizers/{name}/pieces.tsv",
        description="<results>/tokenizers/{name}/description.json",
    log:
        "<logs>/tokenizers/{name}/fit.log",
    benchmark:
        "<logs>/benchmarks/tokenizers/{name}/fit.tsv"
    wildcard_constraints:
        name=one_of(FITTED),
    priority: 1  # export, parity and evaluation wait for it
    conda:
        "../envs/tokenizers.yaml"
    resources:
        mem_mb=memory(3600, 1),  # the text's word types, where scores are counted: 67 MB for 26 MB
        runtime=minutes(60, 0.2),
    params:
        # The models that scores come from: those of the languages, or of an allocation that has its own.
        vocabularies=lambda wildcards: (
            f"{RESULTS}/allocation/{SETTINGS.tokenizers[wildcards.name].allocation}/vocabularies"
            if SETTINGS.allocation[SETTINGS.tokenizers[wildcards.name].allocation].needs_text
            else f"{RESULTS}/vocabularies"
        ),
        arguments=lambda wildcards: options(
            allocation=f"{RESULTS}/allocation/{SETTINGS.tokenizers[wildcards.name].allocation}",
            **READ_OPTIONS[FITTED_ALPHA[wildcards.name]],
            scores=SETTINGS.tokenizers[wildcards.name].scores,
        ),
        rows=lambda wildcards: FITTED_ROWS[wildcards.name],
        folder=lambda wildcards, output: Path(output[0]).parent,
        revision=REVISION["tokenizers"],
    message:
        "Fitting the scores of {wildcards.name}"
    shell:
        "vocap fit --vocabularies {params.vocabularies:q} --weights {input.weights:q}"
        " {params.arguments} {params.rows} -o {params.folder:q} 2> {log:q}"


# JOINT counts the characters of the training lines itself, of which its text is made: with those of the curves it would
# be trained again with each size that is added.
if SETTINGS.vocabularies.engine == "ladder":

    # All T with the same settings share one descent over the text.
    DESCENTS = group_by_descent(JOINT.values())
    DESCENT_OPTIONS = {
        name: options(
            engine="ladder",
            coverage=SETTINGS.vocabularies.coverage,
            **READ_OPTIONS[entry.alpha],
        )
        for name, entry in JOINT.items()
    }

    # In its path, the settings that a descent depends on: others give other files, for which tokenizers are made again.
    DESCENT_FOLDERS = {
        name: joint_folder(
            entry,
            SETTINGS.vocabularies.coverage,
            SETTINGS.corpora.mix.sentences,
            REVISION["tokenizers"],
            *text_words(TEXT),
            *LAYOUT,
        )
        for name, entry in JOINT.items()
    }

    for number, group in enumerate(DESCENTS, start=1):
        names = [next(name for name, entry in JOINT.items() if entry == member) for member in group]

        rule:
            name:
                f"joint_descent_{number}"
            input:
                text=TEXT_FILES[group[0].alpha],
                heldout=expand("<results>/corpora/{lang}/heldout.txt", lang=LANGUAGES),
                weights="<results>/corpora/weights.tsv",
                rules=TEXT_RULES,
            output:
                expand("<results>/{folder}/{file}", folder=[DESCENT_FOLDERS[name] for name in names], file=FILES),
                sizes=Path(RESULTS, DESCENT_FOLDERS[names[0]]).parent / "sizes.tsv",
            log:
                f"<logs>/{descent_name(group)}.log",
            benchmark:
                f"<logs>/benchmarks/{descent_name(group)}.tsv"
            priority: 1  # long, and ready as soon as the text is: not to be left for the end
            conda:
                "../envs/tokenizers.yaml"
            resources:
                mem_mb=memory(330, 15),  # 772 MB for 65 MB of 86 languages
                runtime=minutes(30, 0.2),
            params:
                results=verbatim(RESULTS),
                arguments=verbatim(DESCENT_OPTIONS[names[0]]),
                text=verbatim(JOINT_TEXT[names[0]]),
                # Depends on the output, so is not watched: the same T may come from a descent for more of them.
                totals=lambda wildcards, output: options(
                    total=sorted({int(Path(file).parent.name) for file in output if file != output.sizes})
                ),
                folder=Path(RESULTS, DESCENT_FOLDERS[names[0]]).parent,
                revision=REVISION["tokenizers"],
            message:
                "Training the joint tokenizers: one descent over the text of all languages"
            shell:
                "vocap joint --weights {input.weights:q} --characters {params.results:q}/corpora"
                " {params.arguments} {params.text} {params.totals} --curve {output.sizes:q}"
                " --heldout {params.results:q}/corpora -o {params.folder:q}/{{total}} 2> {log:q}"

    # A T that is added to the configuration runs its descent again, for all T, and leaves their tokenizers as they are
    # (ancient); these are made again for another text, other weights and other settings.
    rule pick_joint:
        input:
            picked=ancient(
                lambda wildcards: expand(
                    "<results>/{folder}/{file}", folder=DESCENT_FOLDERS[wildcards.name], file=FILES
                )
            ),
            sizes=ancient(lambda wildcards: Path(RESULTS, DESCENT_FOLDERS[wildcards.name]).parent / "sizes.tsv"),
            text=lambda wildcards: TEXT_FILES[JOINT[wildcards.name].alpha],
            weights="<results>/corpora/weights.tsv",
        output:
            model="<results>/tokenizers/{name}/sentencepiece.model",
            pieces="<results>/tokenizers/{name}/pieces.tsv",
            description="<results>/tokenizers/{name}/description.json",
            sizes="<results>/tokenizers/{name}/sizes.tsv",
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
            folder=lambda wildcards, output: Path(output[0]).parent,
            revision=REVISION["tokenizers"],
        message:
            "Taking {wildcards.name} from its descent"
        shell:
            "cp {input.picked:q} {input.sizes:q} {params.folder:q} 2> {log:q}"

else:

    # Of SentencePiece's training. A constant: another number changes its sums; with one the ladder gives the same model.
    JOINT_THREADS = 1

    rule joint:
        input:
            text=lambda wildcards: TEXT_FILES[JOINT[wildcards.name].alpha],
            weights="<results>/corpora/weights.tsv",
            rules=TEXT_RULES,
        output:
            model="<results>/tokenizers/{name}/sentencepiece.model",
            pieces="<results>/tokenizers/{name}/pieces.tsv",
            description="<results>/tokenizers/{name}/description.json",
        log:
            "<logs>/tokenizers/{name}/joint.log",
        benchmark:
            "<logs>/benchmarks/tokenizers/{name}/joint.tsv"
        wildcard_constraints:
            name=one_of(JOINT),
        priority: 1  # long, and ready as soon as the text is: not to be left for the end
        conda:
            "../envs/tokenizers.yaml"
        threads: JOINT_THREADS
        resources:
            mem_mb=memory(1000, 45),
            runtime=minutes(60, 0.5),
        params:
            results=verbatim(RESULTS),
            arguments=lambda wildcards: options(
                engine="sentencepiece",
                total=JOINT[wildcards.name].total,
                coverage=SETTINGS.vocabularies.coverage,
                threads=JOINT_THREADS,
                **READ_OPTIONS[JOINT[wildcards.name].alpha],
            ),
            text=lambda wildcards: JOINT_TEXT[wildcards.name],
            folder=lambda wildcards, output: Path(output[0]).parent,
            revision=REVISION["tokenizers"],
        message:
            "Training {wildcards.name} on the text of all languages"
        shell:
            "vocap joint --weights {input.weights:q} --characters {params.results:q}/corpora {params.arguments} {params.text} -o {params.folder:q} 2> {log:q}"


rule mono:
    input:
        curve=lambda wildcards: f"{RESULTS}/vocabularies/{MONO[wildcards.name].language}/curve.tsv",
    output:
        model="<results>/tokenizers/{name}/sentencepiece.model",
        pieces="<results>/tokenizers/{name}/pieces.tsv",
        description="<results>/tokenizers/{name}/description.json",
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
        arguments=lambda wildcards: options(
            model=f"{RESULTS}/vocabularies/{MONO[wildcards.name].language}/models/{MONO[wildcards.name].size}.model",
            language=MONO[wildcards.name].language,
            layout=SETTINGS.layout.ids().text(),
        ),
        folder=lambda wildcards, output: Path(output[0]).parent,
        revision=REVISION["tokenizers"],
    message:
        "Making a tokenizer of one language's model: {wildcards.name}"
    shell:
        "vocap mono {params.arguments} -o {params.folder:q} 2> {log:q}"


# Files and no directory(), in which Snakemake would put a file of its own.
rule export:
    input:
        model=lambda wildcards: tokenizer_file(wildcards.name),
    output:
        expand("<results>/tokenizers/{{name}}/huggingface/{file}", file=EXPORTED),
    log:
        "<logs>/tokenizers/{name}/export.log",
    benchmark:
        "<logs>/benchmarks/tokenizers/{name}/export.tsv"
    conda:
        "../envs/tokenizers.yaml"
    resources:
        mem_mb=memory(1600),
        runtime=minutes(30),
    params:
        arguments=verbatim(options(layout=SETTINGS.layout.text())),
        folder=lambda wildcards, output: Path(output[0]).parent,
        revision=REVISION["tokenizers"],
    message:
        "Exporting {wildcards.name} for Hugging Face"
    shell:
        "vocap export {input.model:q} {params.arguments} -o {params.folder:q} 2> {log:q}"


# After export, which replaces the folder.
rule card:
    input:
        model=lambda wildcards: tokenizer_file(wildcards.name),
        description="<results>/tokenizers/{name}/description.json",
        evaluation="<results>/tokenizers/{name}/evaluation.tsv",
        exported="<results>/tokenizers/{name}/huggingface/tokenizer.json",
    output:
        f"<results>/tokenizers/{{name}}/huggingface/{CARD}",
    log:
        "<logs>/tokenizers/{name}/card.log",
    benchmark:
        "<logs>/benchmarks/tokenizers/{name}/card.tsv"
    localrule: True
    conda:
        "../envs/tokenizers.yaml"
    resources:
        mem_mb=memory(600),
        runtime=minutes(10),
    params:
        text=verbatim("\n".join(f"- {', '.join(names)}: {terms}." for terms, names in LICENCES.items())),
        revision=REVISION["tokenizers"],
    message:
        "Writing the model card of {wildcards.name}"
    shell:
        "vocap card {input.model:q} -o {output:q} --evaluation {input.evaluation:q} --text {params.text:q} 2> {log:q}"


rule parity_words:
    input:
        # Any of their models serves, and a new one has the same normaliser.
        curves=ancient(expand("<results>/vocabularies/{lang}/curve.tsv", lang=LANGUAGES)),
        text=expand(
            "<results>/corpora/{lang}/{part}.txt",
            lang=LANGUAGES,
            part=["train", "heldout"],
        ),
    output:
        "<results>/tokenizers/parity-words.jsonl",
    log:
        "<logs>/tokenizers/parity-words.log",
    benchmark:
        "<logs>/benchmarks/tokenizers/parity-words.tsv"
    priority: 1  # every comparison of two forms waits for it
    conda:
        "../envs/tokenizers.yaml"
    resources:
        mem_mb=memory(800),
        runtime=minutes(60),
    params:
        results=verbatim(RESULTS),
        languages=",".join(LANGUAGES),
        seed=SETTINGS.seed,
        revision=REVISION["tokenizers"],
    message:
        "Normalising the lines that parity compares"
    shell:
        "vocap parity-words --vocabularies {params.results:q}/vocabularies --corpora {params.results:q}/corpora"
        " --languages {params.languages} --sample 10000 --seed {params.seed} -o {output:q} 2> {log:q}"


# The words stand for the text of all languages, which makes them: Snakemake looks at all inputs of all jobs that are ready
# whenever one ends, and with two texts of 86 languages for each tokenizer this was half of its own time.
rule parity:
    input:
        model="<results>/tokenizers/{name}/sentencepiece.model",
        exported="<results>/tokenizers/{name}/huggingface/tokenizer.json",
        words="<results>/tokenizers/parity-words.jsonl",
    output:
        "<results>/tokenizers/{name}/parity.tsv",
    log:
        "<logs>/tokenizers/{name}/parity.log",
    benchmark:
        "<logs>/benchmarks/tokenizers/{name}/parity.tsv"
    conda:
        "../envs/tokenizers.yaml"
    resources:
        mem_mb=memory(1600),
        runtime=minutes(120),
    params:
        results=verbatim(RESULTS),
        folder=lambda wildcards, output: Path(output[0]).parent,
        languages=",".join(LANGUAGES),
        seed=SETTINGS.seed,
        revision=REVISION["tokenizers"],
    message:
        "Comparing both forms of {wildcards.name}, line by line"
    shell:
        "vocap parity --tokenizer {params.folder:q} --corpora {params.results:q}/corpora --languages {params.languages}"
        " --sample 10000 --seed {params.seed} --words {input.words:q} -o {output:q} 2> {log:q}"


rule evaluate:
    input:
        tokenizer=lambda wildcards: (
            source_file(wildcards.name)
            if SETTINGS.tokenizers[wildcards.name].kind == "file"
            else tokenizer_file(wildcards.name)
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
        "vocap evaluate --tokenizer {input.tokenizer:q} --corpora {params.results:q}/corpora --languages {params.languages}"
        " --languages-table {params.table:q} {params.parallel}"
        " -o {output.evaluation:q} --unknown {output.unknown:q} --round-trip {output.round_trip:q} 2> {log:q}"


# The evaluations stand for the held-out text of all languages, as the words do for rule parity.
rule diff:
    input:
        a="<results>/tokenizers/{a}/sentencepiece.model",
        b="<results>/tokenizers/{b}/sentencepiece.model",
        evaluation_a="<results>/tokenizers/{a}/evaluation.tsv",
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
        "vocap diff {input.a:q} {input.b:q} --corpora {params.results:q}/corpora --languages {params.languages}"
        " -o {output:q} > {log:q} 2>&1"
