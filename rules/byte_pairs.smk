"""The tokenizers of byte-pair encoding: one training for all T that share their settings."""

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

# The path names all that a training depends on besides the text: other settings give other files, for which tokenizers are
# made again, and so do other contents of the user's parallel text, which no job makes.
DEVELOPMENT_CONTENT = DEVELOPMENT_TEXT.fingerprint(LANGUAGES) if FOLLOWERS else ""
TRAINING_FOLDERS = {
    name: training_folder(
        entry,
        TRAINING_OPTIONS[name],
        DEVELOPMENT_CONTENT if name in FOLLOWERS else "",
        REVISION["tokenizers"],
        *text_words(TEXT),
        *LAYOUT,
    )
    for name, entry in BYTE_PAIR.items()
}
TRAININGS_OF_PAIRS = {}  # a folder of one training to the totals of its tokenizers and the first of their names
for name, folder in TRAINING_FOLDERS.items():
    TRAININGS_OF_PAIRS.setdefault(Path(folder).parent, (name, set()))[1].add(BYTE_PAIR[name].total)

for number, (folder, (name, totals)) in enumerate(TRAININGS_OF_PAIRS.items(), start=1):

    rule:
        name:
            f"bpe_training_{number}"
        input:
            train=expand("<results>/corpora/{lang}/train.txt", lang=LANGUAGES),
            heldout=expand("<results>/corpora/{lang}/heldout.txt", lang=LANGUAGES),
            weights="<results>/corpora/weights.tsv",
            development=DEVELOPMENT_TEXT.inputs(LANGUAGES) if name in FOLLOWERS else [],
            rules=TEXT_RULES,
        output:
            expand("<results>/{folder}/{total}/{file}", folder=folder, total=sorted(totals), file=BYTE_PAIR_FILES),
            sizes=f"<results>/{folder}/sizes.tsv",
        log:
            f"<logs>/{folder}-{'-'.join(map(str, sorted(totals)))}.log",
        benchmark:
            f"<logs>/benchmarks/{folder}-{'-'.join(map(str, sorted(totals)))}.tsv"
        priority: 1  # export and evaluation wait for it
        conda:
            "../envs/tokenizers.yaml"
        resources:
            mem_mb=memory(600, 25),
            runtime=minutes(30, 0.5),
        params:
            results=verbatim(RESULTS),
            arguments=verbatim(TRAINING_OPTIONS[name]),
            text=verbatim(shlex.join([*text_words(TEXT), *LAYOUT])),
            # Depends on the output, so is not watched: the same T may come from a training for more of them.
            totals=lambda wildcards, output: options(
                total=sorted({int(Path(file).parent.name) for file in output if file != output.sizes})
            ),
            folder=Path(RESULTS, folder),
            revision=REVISION["tokenizers"],
        message:
            f"Training byte-pair encoding on the text of all languages: {name}"
        shell:
            "vocap bpe --corpora {params.results:q}/corpora --weights {input.weights:q} {params.arguments} {params.text}"
            " {params.totals} --curve {output.sizes:q} -o {params.folder:q}/{{total}} > {log:q} 2>&1"


# A T that is added runs its training again, for all T, and leaves their tokenizers as they are, as in rule pick_joint.
rule pick_bpe:
    input:
        picked=ancient(
            lambda wildcards: expand(
                "<results>/{folder}/{file}", folder=TRAINING_FOLDERS[wildcards.name], file=BYTE_PAIR_FILES
            )
        ),
        sizes=ancient(lambda wildcards: f"{RESULTS}/{Path(TRAINING_FOLDERS[wildcards.name]).parent}/sizes.tsv"),
        train=expand("<results>/corpora/{lang}/train.txt", lang=LANGUAGES),
        weights="<results>/corpora/weights.tsv",
        development=lambda wildcards: DEVELOPMENT_TEXT.inputs(LANGUAGES) if wildcards.name in FOLLOWERS else [],
    output:
        model="<results>/tokenizers/{name}/tokenizer.json",
        config="<results>/tokenizers/{name}/tokenizer_config.json",
        pieces="<results>/tokenizers/{name}/pieces.tsv",
        description="<results>/tokenizers/{name}/description.json",
        sizes="<results>/tokenizers/{name}/sizes.tsv",
    log:
        "<logs>/tokenizers/{name}/pick_bpe.log",
    benchmark:
        "<logs>/benchmarks/tokenizers/{name}/pick_bpe.tsv"
    wildcard_constraints:
        name=one_of(BYTE_PAIR),
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
        "Taking {wildcards.name} from its training"
    shell:
        "cp {input.picked:q} {input.sizes:q} {params.folder:q} 2> {log:q}"
