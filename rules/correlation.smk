"""The correlation study (section 2.1): a model for each of a language's vocabularies, fine-tuned in that language.

These rules make the vocabularies' tokenizers, models and files; fine-tuning and scores are those of finetuning.smk.
"""

STUDY = plan_study(SETTINGS.correlation, SETTINGS.finetuning, LANGUAGES, assume=DRY_RUN)

for what, why in STUDY.left_out:
    left_out(what, why)


rule correlation:
    """ALP and the size of a vocabulary against what a model reaches"""
    input:
        points=["<results>/correlation/points.tsv"] if STUDY.tasks else [],
        # the models of a language without files wait for its task
        models=lambda wildcards: [
            f"{RESULTS}/correlation/{lang}/{size}/pretrained/metrics.jsonl"
            for lang, size in studied_vocabularies()
        ],
    message:
        "The stage correlation is made"


# Which models there are is known when the curves are: a size that a text does not reach
# is a hole. Jobs that SLURM starts have no use for it; with a checkpoint they would
# plan all that lies before them.
if STUDY.languages and workflow.is_main_process:

    checkpoint studied_sizes:
        input:
            expand("<results>/vocabularies/{lang}/curve.tsv", lang=STUDY.languages),
        output:
            "<results>/correlation/curves-known",
        log:
            "<logs>/correlation/studied_sizes.log",
        benchmark:
            "<logs>/benchmarks/correlation/studied_sizes.tsv"
        localrule: True
        conda:
            "../envs/finetuning.yaml"
        resources:
            **needs(200, 10),
        params:
            **run_params("correlation"),
        message:
            "The curves say which vocabularies of the study there are"
        shell:
            "touch {output:q} 2> {log:q}"


rule studied_tokenizer:
    input:
        "<results>/vocabularies/{lang}/curve.tsv",
    output:
        model="<results>/correlation/{lang}/{size}/tokenizer/sentencepiece.model",
        pieces="<results>/correlation/{lang}/{size}/tokenizer/pieces.tsv",
        description="<results>/correlation/{lang}/{size}/tokenizer/description.json",
        exported=expand(
            "<results>/correlation/{{lang}}/{{size}}/tokenizer/huggingface/{file}", file=EXPORTED
        ),
    log:
        "<logs>/correlation/studied_tokenizer/{lang}/{size}.log",
    benchmark:
        "<logs>/benchmarks/correlation/studied_tokenizer/{lang}/{size}.tsv"
    localrule: True
    conda:
        "../envs/tokenizers.yaml"
    resources:
        **needs(1600, 30),
    params:
        **run_params("tokenizers"),
        model=f"{RESULTS}/vocabularies/{{lang}}/models/{{size}}.model",
    message:
        "Making a tokenizer of {wildcards.size} ids for {wildcards.lang}"
    shell:
        "(vocap mono --model {params.model:q} --language {wildcards.lang} -o {params.folder:q}"
        " && vocap export {output.model:q} -o {params.folder:q}/huggingface) 2> {log:q}"


use rule tokenize as studied_text with:
    input:
        text=lambda wildcards: MODEL_SOURCES[wildcards.lang].inputs(RESULTS, MODEL_TEXT_STAGE),
        heldout="<results>/corpora/{lang}/heldout.txt",
        model=rules.studied_tokenizer.output.model,
    output:
        "<results>/correlation/{lang}/{size}/tokens/{lang}/description.json",
    log:
        "<logs>/correlation/studied_text/{lang}/{size}.log",
    benchmark:
        "<logs>/benchmarks/correlation/studied_text/{lang}/{size}.tsv"
    wildcard_constraints:
        lang=one_of(STUDY.languages),
    message:
        "Tokenizing the text of {wildcards.lang} with its vocabulary of {wildcards.size}"


use rule pretrain as studied_model with:
    input:
        blocks=rules.studied_text.output,
        tokenizer=rules.studied_tokenizer.output.model,
        exported=rules.studied_tokenizer.output.exported,
    output:
        model=directory("<results>/correlation/{lang}/{size}/pretrained/model"),
        metrics="<results>/correlation/{lang}/{size}/pretrained/metrics.jsonl",
        description="<results>/correlation/{lang}/{size}/pretrained/description.json",
    log:
        "<logs>/correlation/studied_model/{lang}/{size}.log",
    benchmark:
        "<logs>/benchmarks/correlation/studied_model/{lang}/{size}.tsv"
    wildcard_constraints:
        lang=one_of(STUDY.languages),
    resources:
        **needs(
            2000,
            1440,
            parameters=lambda wildcards: studied_model(
                SETTINGS, wildcards.lang, int(wildcards.size)
            ).parameters,
        ),
    params:
        settings=verbatim(recipe_json(SETTINGS.correlation.model)),
        languages=lambda wildcards: wildcards.lang,
        tokens=lambda wildcards, input: Path(str(input.blocks)).parents[1],
        weights="",
        every=lambda wildcards, output: SETTINGS.correlation.model.checkpoint_every,
    message:
        "Pre-training on {wildcards.lang} with its vocabulary of {wildcards.size}"


rule own_files:
    input:
        lambda wildcards: STUDY.files[wildcards.lang],
    output:
        directory("<results>/correlation/{lang}/xtreme"),
    log:
        "<logs>/correlation/own_files/{lang}.log",
    benchmark:
        "<logs>/benchmarks/correlation/own_files/{lang}.tsv"
    wildcard_constraints:
        lang=one_of(STUDY.tasks),
    localrule: True
    conda:
        "../envs/finetuning.yaml"
    resources:
        **needs(200, 10),
    params:
        **run_params("correlation"),
        folders=lambda wildcards, output: [
            f"{output}/{task}" for task in STUDY.tasks[wildcards.lang]
        ],
        copies=lambda wildcards, input, output: " && ".join(
            shlex.join(
                [
                    "cp",
                    path,
                    f"{output}/{Path(path).parent.name}/{as_english(path, wildcards.lang)}",
                ]
            )
            for path in input
        ),
    message:
        "Setting apart the files of {wildcards.lang}"
    shell:
        "(mkdir -p {params.folders:q} && {params.copies}) 2> {log:q}"


rule correlate:
    input:
        curves=expand("<results>/vocabularies/{lang}/curve.tsv", lang=STUDY.tasks),
        scored=lambda wildcards: [
            f"{RESULTS}/correlation/{lang}/{size}/{task}/selection.json"
            for lang, size in studied_vocabularies()
            for task in STUDY.tasks.get(lang, ())
        ],
    output:
        points="<results>/correlation/points.tsv",
        correlations="<results>/correlation/correlations.tsv",
    log:
        "<logs>/correlation/correlate.log",
    benchmark:
        "<logs>/benchmarks/correlation/correlate.tsv"
    localrule: True
    conda:
        "../envs/finetuning.yaml"
    resources:
        **needs(300, 10),
    params:
        **run_params("correlation"),
        sizes=options(size=SETTINGS.correlation.sizes),
        scored=lambda wildcards, input: [Path(selection).parent for selection in input.scored],
    message:
        "Correlating F1 with ALP and with the size of the vocabulary"
    shell:
        "vocap correlate --vocabularies {params.results:q}/vocabularies {params.sizes}"
        " -o {params.folder:q} {params.scored:q} 2> {log:q}"
