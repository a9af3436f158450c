"""XTREME fine-tuning: inputs of each training and tokenizer, one job a run of the grid, scores, Table 1's average."""

try:
    TUNING = make_grid(SETTINGS.finetuning, MODELS, assume=DRY_RUN)
    TUNED = {name: tuned_model(SETTINGS, name) for name in TUNING.models}
except VocapError as error:
    stop(error)

# The tokenizers that inputs are made with, by the name of the folder that these lie in.
TOKENIZER_FOLDERS = {model.origin: model.tokenizer for model in TUNED.values()}
TOKENIZER_INPUTS = {
    origin: f"{folder}/tokenizer.json" if Path(folder).name == "huggingface" else folder
    for origin, folder in TOKENIZER_FOLDERS.items()
}

# Those whose answers are parts of a context.
SPAN_TRAININGS = [training for training in TUNING.files if TASKS[TRAININGS[training][0]].kind == "spans"]

# The files that other XTREME files stand in for, by training, as words.
STAND_INS = {
    training: [
        f"{key}={value}" for key, value in SETTINGS.finetuning.stand_ins.items() if key in keys_of(training)
    ]
    for training in TRAININGS
}
RECIPES = dict(SETTINGS.finetuning.recipes)

for what, why in TUNING.left_out:
    left_out(what, why)


wildcard_constraints:
    model=one_of(TUNED),
    task=one_of(TUNING.tasks),
    training=one_of(TUNING.files),


rule finetuning:
    """Every task of every model"""
    input:
        expand("<results>/finetuning/{model}/average.json", model=TUNED if TUNING.tasks else []),
        expand("<results>/finetuning/ceilings/{origin}.tsv", origin=TOKENIZER_FOLDERS if SPAN_TRAININGS else []),
    message:
        "The stage finetuning is made"


# Nothing trains on a file that is damaged; of each training apart, so that a new file runs its own training alone.
rule check_xtreme:
    input:
        lambda wildcards: TUNING.files[wildcards.training],
    output:
        "<results>/finetuning/checks/{training}.tsv",
    log:
        "<logs>/finetuning/check/{training}.log",
    benchmark:
        "<logs>/benchmarks/finetuning/check/{training}.tsv"
    conda:
        "../envs/finetuning.yaml"
    resources:
        mem_mb=memory(600, 10),
        runtime=minutes(30),
    params:
        xtreme=verbatim(TUNING.xtreme),
        arguments=lambda wildcards: options(
            tasks=",".join(TRAININGS[wildcards.training]), stand_in=STAND_INS[wildcards.training]
        ),
        revision=REVISION["finetuning"],
    message:
        "Checking the files of {wildcards.training}"
    shell:
        "vocap xtreme {params.xtreme:q} {params.arguments} -o {output:q} 2> {log:q}"


rule ceiling:
    input:
        checked=expand("<results>/finetuning/checks/{training}.tsv", training=SPAN_TRAININGS),
        tokenizer=lambda wildcards: TOKENIZER_INPUTS[wildcards.origin],
    output:
        "<results>/finetuning/ceilings/{origin}.tsv",
    log:
        "<logs>/finetuning/ceiling/{origin}.log",
    benchmark:
        "<logs>/benchmarks/finetuning/ceiling/{origin}.tsv"
    wildcard_constraints:
        origin=one_of(TOKENIZER_FOLDERS),
    conda:
        "../envs/finetuning.yaml"
    resources:
        mem_mb=memory(1500, 20),
        runtime=minutes(60),
    params:
        tokenizer=lambda wildcards: TOKENIZER_FOLDERS[wildcards.origin],
        xtreme=verbatim(TUNING.xtreme),
        arguments=verbatim(
            options(
                tasks=",".join(task for task in TUNING.tasks if TASKS[task].kind == "spans"),
                stand_in=[word for training in SPAN_TRAININGS for word in STAND_INS[training]],
            )
        ),
        revision=REVISION["finetuning"],
    message:
        "Taking answers to the pieces of {wildcards.origin} and back"
    shell:
        "vocap ceiling {params.xtreme:q} {params.tokenizer:q} {params.arguments} -o {output:q} 2> {log:q}"


rule encode:
    input:
        files=lambda wildcards: TUNING.files[wildcards.training],
        checked="<results>/finetuning/checks/{training}.tsv",
        tokenizer=lambda wildcards: TOKENIZER_INPUTS[wildcards.origin],
    output:
        directory("<results>/finetuning/inputs/{origin}/{training}-{length}"),
    log:
        "<logs>/finetuning/encode/{origin}/{training}-{length}.log",
    benchmark:
        "<logs>/benchmarks/finetuning/encode/{origin}/{training}-{length}.tsv"
    wildcard_constraints:
        origin=one_of(TOKENIZER_FOLDERS),
        length=r"\d+",
    conda:
        "../envs/finetuning.yaml"
    resources:
        mem_mb=memory(1500, 20),
        runtime=minutes(60, 1),
    params:
        tokenizer=lambda wildcards: TOKENIZER_FOLDERS[wildcards.origin],
        xtreme=verbatim(TUNING.xtreme),
        arguments=lambda wildcards: options(
            settings_json=json.dumps(RECIPES[wildcards.training].of_inputs()),
            stand_in=STAND_INS[wildcards.training],
        ),
        revision=REVISION["finetuning"],
    message:
        "Turning the files of {wildcards.training} into inputs for {wildcards.origin}"
    shell:
        "vocap encode --xtreme {params.xtreme:q} --training {wildcards.training} --tokenizer {params.tokenizer:q}"
        " --max-length {wildcards.length} {params.arguments} -o {output:q} 2> {log:q}"


# Checkpoints lie beside the outputs, undeclared: a job that was stopped resumes from them when it is started again.
rule finetune:
    input:
        model=lambda wildcards: TUNED[wildcards.model].made,
        # of its training and its model's tokenizer, as long as the model reads
        inputs=lambda wildcards: (
            f"{RESULTS}/finetuning/inputs/{TUNED[wildcards.model].origin}/{wildcards.training}"
            f"-{input_length(RECIPES[wildcards.training], TUNED[wildcards.model].longest)}"
        ),
    output:
        run="<results>/finetuning/{model}/{training}/runs/{rate}-{epochs}-{seed}/run.json",
        metrics="<results>/finetuning/{model}/{training}/runs/{rate}-{epochs}-{seed}/metrics.jsonl",
        predictions=directory("<results>/finetuning/{model}/{training}/runs/{rate}-{epochs}-{seed}/predictions"),
    log:
        "<logs>/finetuning/{model}/{training}/{rate}-{epochs}-{seed}.log",
    benchmark:
        "<logs>/benchmarks/finetuning/{model}/{training}/{rate}-{epochs}-{seed}.tsv"
    wildcard_constraints:
        rate=r"[0-9][0-9.e-]*",
        epochs=r"\d+",
        seed=r"\d+",
    conda:
        "../envs/finetuning.yaml"
    threads: SETTINGS.finetuning.threads
    resources:
        mem_mb=training_memory(lambda wildcards: TUNED[wildcards.model].parameters),
        runtime=minutes(600),
    params:
        xtreme=verbatim(TUNING.xtreme),
        model=lambda wildcards: TUNED[wildcards.model].folder,
        arguments=lambda wildcards: options(
            settings_json=json.dumps(RECIPES[wildcards.training].of_a_run()),
            random_weights=TUNING.models[wildcards.model].weights == "random",
            selection=SETTINGS.finetuning.selection,
            stand_in=STAND_INS[wildcards.training],
        ),
        threads=SETTINGS.finetuning.threads,
        folder=lambda wildcards, output: Path(output.run).parent,
        # depends on the output, so Snakemake does not watch it: another number trains nothing again
        every=lambda wildcards, output: SETTINGS.finetuning.checkpoint_every,
        revision=REVISION["finetuning"],
    message:
        "Fine-tuning {wildcards.model} on {wildcards.training}: rate {wildcards.rate}, {wildcards.epochs} epochs, seed {wildcards.seed}"
    shell:
        "vocap finetune --model {params.model:q} --xtreme {params.xtreme:q} --inputs {input.inputs:q}"
        " --training {wildcards.training} --learning-rate {wildcards.rate} --epochs {wildcards.epochs}"
        " --seed {wildcards.seed} {params.arguments} --threads {params.threads} --checkpoint-every {params.every}"
        " -o {params.folder:q} 2> {log:q}"


rule score:
    input:
        runs=lambda wildcards: [
            f"{RESULTS}/finetuning/{run_folder(wildcards.model, TASKS[wildcards.task].training, run)}/run.json"
            for run in settings_of(RECIPES[TASKS[wildcards.task].training], SETTINGS.finetuning.seeds)
        ],
    output:
        scores="<results>/finetuning/{model}/{task}/scores.tsv",
        summary="<results>/finetuning/{model}/{task}/summary.tsv",
        selection="<results>/finetuning/{model}/{task}/selection.json",
        predictions=directory("<results>/finetuning/{model}/{task}/predictions"),
    log:
        "<logs>/finetuning/{model}/score-{task}.log",
    benchmark:
        "<logs>/benchmarks/finetuning/{model}/score-{task}.tsv"
    conda:
        "../envs/finetuning.yaml"
    resources:
        mem_mb=memory(1500),
        runtime=minutes(60),
    params:
        xtreme=verbatim(TUNING.xtreme),
        runs=lambda wildcards, input: [Path(run).parent for run in input.runs],
        folder=lambda wildcards, output: Path(output.scores).parent,
        revision=REVISION["finetuning"],
    message:
        "Scoring {wildcards.model} on {wildcards.task}"
    shell:
        "vocap score --xtreme {params.xtreme:q} --task {wildcards.task} -o {params.folder:q} {params.runs:q} 2> {log:q}"


rule average:
    input:
        lambda wildcards: expand(
            "<results>/finetuning/{model}/{task}/selection.json",
            model=wildcards.model,
            task=TUNING.tasks_for(wildcards.model),
        ),
    output:
        "<results>/finetuning/{model}/average.json",
    log:
        "<logs>/finetuning/{model}/average.log",
    benchmark:
        "<logs>/benchmarks/finetuning/{model}/average.tsv"
    localrule: True
    conda:
        "../envs/finetuning.yaml"
    resources:
        mem_mb=memory(300),
        runtime=minutes(10),
    params:
        tasks=lambda wildcards, input: [Path(selection).parent for selection in input],
        revision=REVISION["finetuning"],
    message:
        "Averaging what {wildcards.model} reached"
    shell:
        "vocap average -o {output:q} {params.tasks:q} 2> {log:q}"
