"""The multilingual tokenizers, their Hugging Face export, its parity, and how well each language is served."""

ALL_TOKENIZERS = tokenizers_of("vocap", "joint", "mono", "file")
COMPARED = compared_pairs(SETTINGS.tokenizers, SETTINGS.allocation)

# Line-aligned text, if the user has some: then one table more for each tokenizer.
PARALLEL_TEXT = SETTINGS.corpora.parallel
PARALLEL_TABLE = {"parallel_table": "<results>/tokenizers/{name}/parallel.tsv"} if PARALLEL_TEXT else {}
PARALLEL_FILES = [
    path for lang in LANGUAGES if PARALLEL_TEXT and Path(path := PARALLEL_TEXT.replace("{lang}", lang)).exists()
]


rule tokenizers:
    """Every named tokenizer, exported and evaluated"""
    input:
        expand(
            "<results>/tokenizers/{name}/parity.tsv",
            name=tokenizers_of("vocap", "joint", "mono"),
        ),
        expand("<results>/tokenizers/{name}/evaluation.tsv", name=ALL_TOKENIZERS),
        [f"{RESULTS}/tokenizers/diff/{a}-{b}" for a, b in COMPARED],
    message:
        "The stage tokenizers is made"


rule fit:
    input:
        allocation=lambda wildcards: f"{RESULTS}/allocation/{SETTINGS.tokenizers[wildcards.name].allocation}/vocabulary.tsv",
        weights="<results>/corpora/weights.tsv",
        text=lambda wildcards: multilingual_files(fitted_alpha(wildcards.name)),
    output:
        model="<results>/tokenizers/{name}/sentencepiece.model",
        pieces="<results>/tokenizers/{name}/pieces.tsv",
        description="<results>/tokenizers/{name}/description.json",
    log:
        "<logs>/tokenizers/{name}/fit.log",
    benchmark:
        "<logs>/benchmarks/tokenizers/{name}/fit.tsv"
    wildcard_constraints:
        name=one_of(tokenizers_of("vocap")),
    priority: 1  # export, parity and evaluation wait for it
    conda:
        "../envs/tokenizers.yaml"
    resources:
        mem_mb=memory(3600, 1),  # the text's word types, where scores are counted: 67 MB for 26 MB
        runtime=minutes(60, 0.2),
    params:
        vocabularies=lambda wildcards: fitted_models(wildcards.name),
        arguments=fit_arguments,
        folder=lambda wildcards, output: Path(output[0]).parent,
        revision=REVISION["tokenizers"],
    message:
        "Fitting the scores of {wildcards.name}"
    shell:
        "vocap fit --vocabularies {params.vocabularies:q} --weights {input.weights:q}"
        " {params.arguments} -o {params.folder:q} 2> {log:q}"


# JOINT counts the characters of the training lines itself, of which its text is made: with those of the curves it would
# be trained again with each size that is added.
if SETTINGS.vocabularies.engine == "ladder":

    for number, (text, arguments, folders, descent) in enumerate(joint_descents(), start=1):

        rule:
            name:
                f"joint_descent_{number}"
            input:
                text=text,
                weights="<results>/corpora/weights.tsv",
            output:
                expand("{folder}/{file}", folder=folders, file=FILES),
            log:
                f"<logs>/{descent}.log",
            benchmark:
                f"<logs>/benchmarks/{descent}.tsv"
            priority: 1  # long, and ready as soon as the text is: not to be left for the end
            conda:
                "../envs/tokenizers.yaml"
            resources:
                mem_mb=memory(330, 15),  # 772 MB for 65 MB of 86 languages
                runtime=minutes(30, 0.2),
            params:
                results=verbatim(RESULTS),
                arguments=verbatim(arguments),
                # Depends on the output, so is not watched: the same T may come from a descent for more of them.
                totals=lambda wildcards, output: joint_totals(output),
                folder=Path(folders[0]).parent,
                revision=REVISION["tokenizers"],
            message:
                "Training the joint tokenizers: one descent over the text of all languages"
            shell:
                "vocap joint --weights {input.weights:q} --characters {params.results:q}/corpora"
                " {params.arguments} {params.totals} -o {params.folder:q}/{{total}} 2> {log:q}"

    rule pick_joint:
        input:
            picked_files,
        output:
            model="<results>/tokenizers/{name}/sentencepiece.model",
            pieces="<results>/tokenizers/{name}/pieces.tsv",
            description="<results>/tokenizers/{name}/description.json",
        log:
            "<logs>/tokenizers/{name}/pick_joint.log",
        benchmark:
            "<logs>/benchmarks/tokenizers/{name}/pick_joint.tsv"
        wildcard_constraints:
            name=one_of(tokenizers_of("joint")),
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
            "cp {input:q} {params.folder:q} 2> {log:q}"

else:

    rule joint:
        input:
            text=lambda wildcards: multilingual_files(SETTINGS.tokenizers[wildcards.name].alpha),
            weights="<results>/corpora/weights.tsv",
        output:
            model="<results>/tokenizers/{name}/sentencepiece.model",
            pieces="<results>/tokenizers/{name}/pieces.tsv",
            description="<results>/tokenizers/{name}/description.json",
        log:
            "<logs>/tokenizers/{name}/joint.log",
        benchmark:
            "<logs>/benchmarks/tokenizers/{name}/joint.tsv"
        wildcard_constraints:
            name=one_of(tokenizers_of("joint")),
        priority: 1  # long, and ready as soon as the text is: not to be left for the end
        conda:
            "../envs/tokenizers.yaml"
        threads: JOINT_THREADS
        resources:
            mem_mb=memory(1000, 45),
            runtime=minutes(60, 0.5),
        params:
            results=verbatim(RESULTS),
            arguments=joint_arguments,
            folder=lambda wildcards, output: Path(output[0]).parent,
            revision=REVISION["tokenizers"],
        message:
            "Training {wildcards.name} on the text of all languages"
        shell:
            "vocap joint --weights {input.weights:q} --characters {params.results:q}/corpora {params.arguments} -o {params.folder:q} 2> {log:q}"


rule mono:
    input:
        curve=lambda wildcards: f"{RESULTS}/vocabularies/{SETTINGS.tokenizers[wildcards.name].language}/curve.tsv",
    output:
        model="<results>/tokenizers/{name}/sentencepiece.model",
        pieces="<results>/tokenizers/{name}/pieces.tsv",
        description="<results>/tokenizers/{name}/description.json",
    log:
        "<logs>/tokenizers/{name}/mono.log",
    benchmark:
        "<logs>/benchmarks/tokenizers/{name}/mono.tsv"
    wildcard_constraints:
        name=one_of(tokenizers_of("mono")),
    localrule: True
    conda:
        "../envs/tokenizers.yaml"
    resources:
        mem_mb=memory(200),
        runtime=minutes(10),
    params:
        arguments=mono_arguments,
        folder=lambda wildcards, output: Path(output[0]).parent,
        revision=REVISION["tokenizers"],
    message:
        "Making a tokenizer of one language's model: {wildcards.name}"
    shell:
        "vocap mono {params.arguments} -o {params.folder:q} 2> {log:q}"


# Files and no directory(), in which Snakemake would put a file of its own.
rule export:
    input:
        model="<results>/tokenizers/{name}/sentencepiece.model",
        description="<results>/tokenizers/{name}/description.json",
        evaluation="<results>/tokenizers/{name}/evaluation.tsv",
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
        folder=lambda wildcards, output: Path(output[0]).parent,
        text=text_and_licences(),
        revision=REVISION["tokenizers"],
    message:
        "Exporting {wildcards.name} for Hugging Face"
    shell:
        "vocap export {input.model:q} -o {params.folder:q} --evaluation {input.evaluation:q} --text {params.text:q} 2> {log:q}"


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


rule parity:
    input:
        model="<results>/tokenizers/{name}/sentencepiece.model",
        exported="<results>/tokenizers/{name}/huggingface/tokenizer.json",
        words="<results>/tokenizers/parity-words.jsonl",
        text=expand(
            "<results>/corpora/{lang}/{part}.txt",
            lang=LANGUAGES,
            part=["train", "heldout"],
        ),
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
        tokenizer=evaluated_file,
        heldout=expand("<results>/corpora/{lang}/heldout.txt", lang=LANGUAGES),
        parallel=PARALLEL_FILES,
    output:
        **PARALLEL_TABLE,
        evaluation="<results>/tokenizers/{name}/evaluation.tsv",
        unknown="<results>/tokenizers/{name}/unknown.tsv",
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
        facts=[(TABLE[lang].script, TABLE[lang].resource) for lang in LANGUAGES],  # what evaluation reads of the table
        parallel=parallel_arguments,
        revision=REVISION["tokenizers"],
    message:
        "Measuring {wildcards.name} on every language's held-out text"
    shell:
        "vocap evaluate --tokenizer {input.tokenizer:q} --corpora {params.results:q}/corpora --languages {params.languages}"
        " --languages-table {params.table:q} {params.parallel}"
        " -o {output.evaluation:q} --unknown {output.unknown:q} 2> {log:q}"


rule diff:
    input:
        a="<results>/tokenizers/{a}/sentencepiece.model",
        b="<results>/tokenizers/{b}/sentencepiece.model",
        heldout=expand("<results>/corpora/{lang}/heldout.txt", lang=LANGUAGES),
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
