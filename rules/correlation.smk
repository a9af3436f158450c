"""The correlation study (section 2.1): a model for each of a language's vocabularies, fine-tuned in that language."""

STUDY = plan_study(SETTINGS.correlation, SETTINGS.finetuning, LANGUAGES, assume=DRY_RUN)
STUDIED_PARAMETERS = lambda wildcards: count_parameters(SETTINGS.correlation.model.shape, int(wildcards.size) + 2)
STUDIED = "<results>/correlation/{lang}/{size}"
STUDIED_SIZES = f"{RESULTS}/correlation/sizes.tsv"
STUDIED_LOG = "<logs>/correlation/{lang}/{size}"
STUDIED_BENCHMARK = "<logs>/benchmarks/correlation/{lang}/{size}"

# (language, size) of the vocabularies that there are. A dry run that does not know the curves takes all; otherwise
# Snakemake asks again when it knows them.
STUDIED_VOCABULARIES = lambda: reached_sizes(
    (STUDIED_SIZES if DRY_RUN or not workflow.is_main_process else checkpoints.studied_sizes.get().output[0]),
    STUDY.languages,
    SETTINGS.correlation.sizes,
)
WITHOUT_TASK = set(STUDY.languages) - set(STUDY.tasks)

for what, why in STUDY.left_out:
    left_out(what, why)


rule correlation:
    """ALP and the size of a vocabulary against what a model reaches"""
    input:
        points=["<results>/correlation/points.tsv"] if STUDY.tasks else [],
        sizes=[STUDIED_SIZES] if STUDY.languages else [],
        # The models of a task are made for its runs.
        models=(
            (
                lambda wildcards: [
                    f"{RESULTS}/correlation/{lang}/{size}/pretrained/metrics.jsonl"
                    for lang, size in STUDIED_VOCABULARIES()
                    if lang in WITHOUT_TASK
                ]
            )
            if WITHOUT_TASK
            else []
        ),
    message:
        "The stage correlation is made"


# Which models there are is known when the curves are: a size that a text does not reach is a hole. Jobs that SLURM
# starts have no use for it; with a checkpoint they would plan all that lies before them.
if STUDY.languages and workflow.is_main_process:

    checkpoint studied_sizes:
        input:
            expand("<results>/vocabularies/{lang}/curve.tsv", lang=STUDY.languages),
        output:
            STUDIED_SIZES,
        log:
            "<logs>/correlation/sizes.log",
        benchmark:
            "<logs>/benchmarks/correlation/sizes.tsv"
        localrule: True
        conda:
            "../envs/vocabularies.yaml"
        resources:
            mem_mb=memory(200),
            runtime=minutes(10),
        params:
            results=verbatim(RESULTS),
            arguments=verbatim(options(language=STUDY.languages, size=SETTINGS.correlation.sizes)),
            revision=REVISION["correlation"],
        message:
            "Looking which vocabularies of the study there are"
        shell:
            "vocap studied-sizes --vocabularies {params.results:q}/vocabularies {params.arguments} -o {output:q} 2> {log:q}"


rule studied_tokenizer:
    input:
        "<results>/vocabularies/{lang}/curve.tsv",
    output:
        model=f"{STUDIED}/tokenizer/sentencepiece.model",
        pieces=f"{STUDIED}/tokenizer/pieces.tsv",
        description=f"{STUDIED}/tokenizer/description.json",
        exported=directory(f"{STUDIED}/tokenizer/huggingface"),
    log:
        f"{STUDIED_LOG}/tokenizer.log",
    benchmark:
        f"{STUDIED_BENCHMARK}/tokenizer.tsv"
    localrule: True
    conda:
        "../envs/tokenizers.yaml"
    resources:
        mem_mb=memory(1600),
        runtime=minutes(30),
    params:
        model=f"{RESULTS}/vocabularies/{{lang}}/models/{{size}}.model",
        folder=lambda wildcards, output: Path(output.model).parent,
        revision=REVISION["tokenizers"],
    message:
        "Making a tokenizer of {wildcards.size} ids for {wildcards.lang}"
    shell:
        "(vocap mono --model {params.model:q} --language {wildcards.lang} -o {params.folder:q}"
        " && vocap export {output.model:q} -o {output.exported:q}) 2> {log:q}"


use rule tokenize as studied_text with:
    input:
        text=lambda wildcards: MODEL_SOURCES[wildcards.lang].inputs(RESULTS, MODEL_TEXT_STAGE),
        heldout="<results>/corpora/{lang}/heldout.txt",
        model=rules.studied_tokenizer.output.model,
    output:
        f"{STUDIED}/tokens/{{lang}}/description.json",
    log:
        f"{STUDIED_LOG}/tokenize.log",
    benchmark:
        f"{STUDIED_BENCHMARK}/tokenize.tsv"
    wildcard_constraints:
        lang=one_of(STUDY.languages),
    message:
        "Tokenizing the text of {wildcards.lang} with its vocabulary of {wildcards.size}"


# Checkpoints lie beside the outputs, undeclared: a job that was stopped resumes from them when it is started again.
rule studied_model:
    input:
        blocks=rules.studied_text.output,
        tokenizer=rules.studied_tokenizer.output.model,
        exported=rules.studied_tokenizer.output.exported,
    output:
        model=directory(f"{STUDIED}/pretrained/model"),
        metrics=f"{STUDIED}/pretrained/metrics.jsonl",
        description=f"{STUDIED}/pretrained/description.json",
    log:
        f"{STUDIED_LOG}/pretrain.log",
    benchmark:
        f"{STUDIED_BENCHMARK}/pretrain.tsv"
    conda:
        "../envs/pretraining.yaml"
    threads: SETTINGS.pretraining.threads
    resources:
        mem_mb=training_memory(STUDIED_PARAMETERS),
        runtime=minutes(1440),
    params:
        settings=verbatim(recipe_json(SETTINGS.correlation.model)),
        threads=SETTINGS.pretraining.threads,
        seed=SETTINGS.seed,
        folder=lambda wildcards, output: Path(output.metrics).parent,
        tokenizer=lambda wildcards, input: Path(input.tokenizer).parent,
        tokens=lambda wildcards, input: Path(str(input.blocks)).parents[1],
        # depends on the output, so Snakemake does not watch it: another number trains nothing again
        every=lambda wildcards, output: SETTINGS.correlation.model.checkpoint_every,
        revision=REVISION["pretraining"],
    message:
        "Pre-training on {wildcards.lang} with its vocabulary of {wildcards.size}"
    shell:
        "vocap launch --threads {threads} vocap pretrain --tokenizer {params.tokenizer:q} --tokens {params.tokens:q}"
        " --languages {wildcards.lang} --settings-json {params.settings:q} --seed {params.seed}"
        " --threads {params.threads} --checkpoint-every {params.every} -o {params.folder:q} 2> {log:q}"


rule own_files:
    input:
        lambda wildcards: STUDY.files[wildcards.lang],
    output:
        directory("<results>/correlation/{lang}/xtreme"),
    log:
        "<logs>/correlation/{lang}/own-files.log",
    benchmark:
        "<logs>/benchmarks/correlation/{lang}/own-files.tsv"
    wildcard_constraints:
        lang=one_of(STUDY.tasks),
    localrule: True
    conda:
        "../envs/finetuning.yaml"
    resources:
        mem_mb=memory(200),
        runtime=minutes(10),
    params:
        xtreme=verbatim(SETTINGS.finetuning.xtreme),
        tasks=lambda wildcards: options(task=STUDY.tasks[wildcards.lang]),
        revision=REVISION["correlation"],
    message:
        "Setting apart the files of {wildcards.lang}"
    shell:
        "vocap own-files --xtreme {params.xtreme:q} --language {wildcards.lang} {params.tasks} -o {output:q}"
        " 2> {log:q}"


use rule encode as studied_inputs with:
    input:
        files=rules.own_files.output,
        tokenizer=rules.studied_tokenizer.output.exported,
    output:
        directory(f"{STUDIED}/inputs/{{training}}-{{length}}"),
    log:
        f"{STUDIED_LOG}/encode-{{training}}-{{length}}.log",
    benchmark:
        f"{STUDIED_BENCHMARK}/encode-{{training}}-{{length}}.tsv"
    wildcard_constraints:
        training=one_of(SETTINGS.correlation.tasks),
    params:
        xtreme=lambda wildcards, input: input.files,
        tokenizer=lambda wildcards, input: input.tokenizer,
        arguments=lambda wildcards: options(settings_json=json.dumps(RECIPES[wildcards.training].of_inputs())),
    message:
        "Turning the files of {wildcards.training} in {wildcards.lang} into inputs: vocabulary of {wildcards.size}"


use rule finetune as studied_run with:
    input:
        files=rules.own_files.output,
        model=rules.studied_model.output.model,
        # as long as the study's model reads
        inputs=lambda wildcards: (
            f"{RESULTS}/correlation/{wildcards.lang}/{wildcards.size}/inputs/{wildcards.training}"
            f"-{input_length(RECIPES[wildcards.training], SETTINGS.correlation.model.shape.positions)}"
        ),
    output:
        run=f"{STUDIED}/{{training}}/runs/{{rate}}-{{epochs}}-{{seed}}/run.json",
        metrics=f"{STUDIED}/{{training}}/runs/{{rate}}-{{epochs}}-{{seed}}/metrics.jsonl",
        predictions=directory(f"{STUDIED}/{{training}}/runs/{{rate}}-{{epochs}}-{{seed}}/predictions"),
    log:
        f"{STUDIED_LOG}/{{training}}/{{rate}}-{{epochs}}-{{seed}}.log",
    benchmark:
        f"{STUDIED_BENCHMARK}/{{training}}/{{rate}}-{{epochs}}-{{seed}}.tsv"
    wildcard_constraints:
        training=one_of(SETTINGS.correlation.tasks),
    resources:
        mem_mb=training_memory(STUDIED_PARAMETERS),
    params:
        xtreme=lambda wildcards, input: input.files,
        model=lambda wildcards, input: input.model,
        # One language's files: all the development files that there are choose.
        arguments=lambda wildcards: options(
            settings_json=json.dumps(RECIPES[wildcards.training].of_a_run()), selection="paper"
        ),
    message:
        "Fine-tuning on {wildcards.training} in {wildcards.lang}, vocabulary of {wildcards.size}: rate {wildcards.rate}, {wildcards.epochs} epochs, seed {wildcards.seed}"


use rule score as studied_score with:
    input:
        files=rules.own_files.output,
        # rates and epochs of the task's recipe, seeds of the study
        runs=lambda wildcards: [
            f"{RESULTS}/correlation/{wildcards.lang}/{wildcards.size}/{wildcards.task}/runs/{run.name}/run.json"
            for run in settings_of(RECIPES[wildcards.task], SETTINGS.correlation.seeds)
        ],
    output:
        scores=f"{STUDIED}/{{task}}/scores.tsv",
        summary=f"{STUDIED}/{{task}}/summary.tsv",
        selection=f"{STUDIED}/{{task}}/selection.json",
        predictions=directory(f"{STUDIED}/{{task}}/predictions"),
    log:
        f"{STUDIED_LOG}/score-{{task}}.log",
    benchmark:
        f"{STUDIED_BENCHMARK}/score-{{task}}.tsv"
    wildcard_constraints:
        task=one_of(SETTINGS.correlation.tasks),
    params:
        xtreme=lambda wildcards, input: input.files,
    message:
        "Scoring {wildcards.task} in {wildcards.lang}: vocabulary of {wildcards.size}"


rule correlate:
    input:
        sizes=STUDIED_SIZES,
        scored=lambda wildcards: [
            f"{RESULTS}/correlation/{lang}/{size}/{task}/selection.json"
            for lang, size in STUDIED_VOCABULARIES()
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
        mem_mb=memory(300),
        runtime=minutes(10),
    params:
        scored=lambda wildcards, input: [Path(selection).parent for selection in input.scored],
        folder=lambda wildcards, output: Path(output.points).parent,
        revision=REVISION["correlation"],
    message:
        "Correlating F1 with ALP and with the size of the vocabulary"
    shell:
        "vocap correlate --sizes {input.sizes:q} -o {params.folder:q} {params.scored:q} 2> {log:q}"
