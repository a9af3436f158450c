"""XTREME fine-tuning: inputs of each training and tokenizer, one job a run of the grid, scores, Table 1's average.

A model is named by its folder under the results: finetuning/NAME, or correlation/LANGUAGE/SIZE of the correlation
study, whose models learn from files of their own and go through the same rules.
"""

try:
    TUNING = make_grid(
        SETTINGS.finetuning, [name for name in MODELS if not MODELS[name].causal], assume=DRY_RUN
    )
    TUNED = {f"finetuning/{name}": tuned_model(SETTINGS, name) for name in TUNING.models}
except VocapError as error:
    stop(error)
STUDIED = {
    f"correlation/{lang}/{size}": studied_model(SETTINGS, lang, size)
    for lang in STUDY.tasks
    for size in SETTINGS.correlation.sizes
}
TUNED |= STUDIED

RECIPES = SETTINGS.finetuning.recipes
INPUT_TOKENIZERS = {model.inputs: model.tokenizer for model in TUNED.values()}

for what, why in TUNING.left_out:
    left_out(what, why)


# XTREME's free files: of each folder those that are not there, as paths under the
# folder.
SUPPLIES = [plan.supply for plan in (TUNING, STUDY) if plan.supply]
FETCHED = {
    collection: sorted(
        {
            path
            for supply in SUPPLIES
            for path in supply.fetched
            if collection_of(path) == collection
        }
    )
    for collection in ARCHIVES
}


wildcard_constraints:
    model=one_of(TUNING.models),
    tuned=one_of(TUNED),
    inputs=one_of(INPUT_TOKENIZERS),
    task=one_of(TASKS),
    training=one_of(TRAININGS),


rule finetuning:
    """Every task of every model"""
    input:
        expand(
            "<results>/finetuning/{model}/average.json",
            model=TUNING.models if TUNING.tasks else [],
        ),
    message:
        "The stage finetuning is made"


# Outputs are the files that are not there: no rule may remove a file of the user.
for collection, paths in FETCHED.items():
    if paths:

        rule:
            name:
                f"unpack_{collection}"
            input:
                [downloaded(name) for name in ARCHIVES[collection]],
            output:
                [f"{SETTINGS.finetuning.xtreme}/{path}" for path in paths],
            log:
                f"<logs>/finetuning/unpack_{collection}.log",
            benchmark:
                f"<logs>/benchmarks/finetuning/unpack_{collection}.tsv"
            localrule: True
            conda:
                "../envs/finetuning.yaml"
            resources:
                **needs(1500, 60),
            params:
                **run_params("finetuning"),
                collection=collection,
                xtreme=verbatim(SETTINGS.finetuning.xtreme),
                archives=verbatim(
                    options(archive=[downloaded(name) for name in ARCHIVES[collection]])
                ),
                paths=paths,
            message:
                f"Taking XTREME's files of {collection} from what its authors publish"
            shell:
                "vocap unpack {params.collection} {params.archives} -o {params.xtreme:q} {params.paths:q} 2> {log:q}"


rule encode:
    input:
        files=lambda wildcards: (
            xtreme_of(wildcards.inputs)
            if wildcards.inputs.startswith("correlation/")
            else TUNING.files[wildcards.training]
        ),
        tokenizer=lambda wildcards: tokenizer_input(INPUT_TOKENIZERS[wildcards.inputs]),
    output:
        directory("<results>/{inputs}/{training}-{length}"),
    log:
        "<logs>/{inputs}/encode/{training}/{length}.log",
    benchmark:
        "<logs>/benchmarks/{inputs}/encode/{training}/{length}.tsv"
    wildcard_constraints:
        length=r"\d+",
    conda:
        "../envs/finetuning.yaml"
    resources:
        **needs(1500, 60, mb_per_mb=20, minutes_per_mb=1),
    params:
        **run_params("finetuning"),
        xtreme=lambda wildcards: xtreme_of(wildcards.inputs),
        tokenizer=lambda wildcards: INPUT_TOKENIZERS[wildcards.inputs],
        settings=lambda wildcards: json.dumps(RECIPES[wildcards.training].of_inputs()),
    message:
        "Turning the files of {wildcards.training} into inputs: {wildcards.inputs}"
    shell:
        "vocap encode --xtreme {params.xtreme:q} --training {wildcards.training} --tokenizer {params.tokenizer:q}"
        " --max-length {wildcards.length} --settings-json {params.settings:q} -o {output:q} 2> {log:q}"


# Checkpoints lie beside the outputs, undeclared: a job that was stopped resumes from
# them when it is started again.
rule finetune:
    input:
        model=lambda wildcards: TUNED[wildcards.tuned].made,
        # of its training and its model's tokenizer, as long as the model reads
        inputs=lambda wildcards: (
            f"{RESULTS}/{TUNED[wildcards.tuned].inputs}/{wildcards.training}"
            f"-{input_length(RECIPES[wildcards.training], TUNED[wildcards.tuned].longest)}"
        ),
    output:
        run="<results>/{tuned}/{training}/runs/{rate}-{epochs}-{seed}/run.json",
        metrics="<results>/{tuned}/{training}/runs/{rate}-{epochs}-{seed}/metrics.jsonl",
        predictions=directory(
            "<results>/{tuned}/{training}/runs/{rate}-{epochs}-{seed}/predictions"
        ),
    log:
        "<logs>/{tuned}/finetune/{training}/{rate}/{epochs}/{seed}.log",
    benchmark:
        "<logs>/benchmarks/{tuned}/finetune/{training}/{rate}/{epochs}/{seed}.tsv"
    wildcard_constraints:
        rate=r"[0-9][0-9.e-]*",
        epochs=r"\d+",
        seed=r"\d+",
    conda:
        "../envs/finetuning.yaml"
    threads: SETTINGS.finetuning.threads
    resources:
        **needs(2000, 600, parameters=lambda wildcards: TUNED[wildcards.tuned].parameters),
    params:
        **run_params("finetuning"),
        model=lambda wildcards: TUNED[wildcards.tuned].folder,
        random=lambda wildcards: options(
            random_weights=wildcards.tuned not in STUDIED
            and TUNING.models[Path(wildcards.tuned).name].weights == "random"
        ),
        xtreme=lambda wildcards: xtreme_of(wildcards.tuned),
        # one language's files: all the development files that there are choose
        selection=lambda wildcards: (
            "paper" if wildcards.tuned in STUDIED else SETTINGS.finetuning.selection
        ),
        settings=lambda wildcards: json.dumps(RECIPES[wildcards.training].of_a_run()),
        threads=SETTINGS.finetuning.threads,
        # depends on the output, so Snakemake does not watch it: another number trains
        # nothing again
        every=lambda wildcards, output: SETTINGS.finetuning.checkpoint_every,
    message:
        "Fine-tuning {wildcards.tuned} on {wildcards.training}: rate {wildcards.rate}, {wildcards.epochs} epochs, seed {wildcards.seed}"
    shell:
        "vocap finetune --model {params.model:q} {params.random} --xtreme {params.xtreme:q} --inputs {input.inputs:q}"
        " --training {wildcards.training} --learning-rate {wildcards.rate} --epochs {wildcards.epochs}"
        " --seed {wildcards.seed} --selection {params.selection} --settings-json {params.settings:q}"
        " --threads {params.threads} --checkpoint-every {params.every} -o {params.folder:q} 2> {log:q}"


rule score:
    input:
        runs_of,
    output:
        scores="<results>/{tuned}/{task}/scores.tsv",
        summary="<results>/{tuned}/{task}/summary.tsv",
        selection="<results>/{tuned}/{task}/selection.json",
        predictions=directory("<results>/{tuned}/{task}/predictions"),
    log:
        "<logs>/{tuned}/score/{task}.log",
    benchmark:
        "<logs>/benchmarks/{tuned}/score/{task}.tsv"
    conda:
        "../envs/finetuning.yaml"
    resources:
        **needs(1500, 60),
    params:
        **run_params("finetuning"),
        xtreme=lambda wildcards: xtreme_of(wildcards.tuned),
        runs=lambda wildcards, input: [Path(run).parent for run in input],
    message:
        "Scoring {wildcards.tuned} on {wildcards.task}"
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
        "<logs>/finetuning/average/{model}.log",
    benchmark:
        "<logs>/benchmarks/finetuning/average/{model}.tsv"
    localrule: True
    conda:
        "../envs/finetuning.yaml"
    resources:
        **needs(300, 10),
    params:
        **run_params("finetuning"),
        tasks=lambda wildcards, input: [Path(selection).parent for selection in input],
    message:
        "Averaging what {wildcards.model} reached"
    shell:
        "vocap average -o {output:q} {params.tasks:q} 2> {log:q}"
