"""XTREME fine-tuning, and the correlation study, whose models go through the same rules.

Fine-tuning: inputs of each training and tokenizer, one job a run of the grid, scores,
Table 1's average. The study (section 2.1): a model for each of a language's vocabularies,
fine-tuned in that language on files of its own. A model is named by its folder under the
results: finetuning/NAME, or correlation/LANGUAGE/SIZE.

REQUIRED INPUTS
    results/pretraining/{name}/model, or a folder of finetuning.models; their tokenizers
    XTREME's files (finetuning.xtreme), some of which are fetched
    of the study: results/vocabularies/{lang}/curve.tsv, models; the text of pre-training
OUTPUTS
    results/finetuning/{model}/{task}/scores.tsv, summary.tsv, selection.json, predictions
    results/finetuning/{model}/{training}/runs, average.json; results/finetuning/inputs
    results/correlation/points.tsv, correlations.tsv
    results/correlation/{lang}/{size}/tokenizer, tokens, pretrained, {task}
"""

STUDY = PLAN.study
TUNING = PLAN.grid
STUDIED = {
    f"correlation/{lang}/{size}": studied_model(SETTINGS, lang, size)
    for lang in STUDY.tasks
    for size in SETTINGS.correlation.sizes
}
try:
    TUNED = {f"finetuning/{name}": tuned_model(SETTINGS, name) for name in TUNING.models} | STUDIED
except VocapError as error:
    stop(error)

RECIPES = SETTINGS.finetuning.recipes
INPUT_TOKENIZERS = {model.inputs: model.tokenizer for model in TUNED.values()}
# The file of a tokenizer that this run makes, or the folder of one from elsewhere.
TOKENIZER_FILES = {
    inputs: f"{folder}/tokenizer.json" if Path(folder).name == "huggingface" else folder
    for inputs, folder in INPUT_TOKENIZERS.items()
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
for collection, paths in PLAN.fetched.items():

    rule:
        name:
            f"unpack_{collection}"
        input:
            [PLAN.downloaded(name) for name in ARCHIVES[collection]],
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
            **needs(f"unpack_{collection}", minutes=60),
        params:
            **run_params("finetuning"),
            collection=collection,
            xtreme=verbatim(SETTINGS.finetuning.xtreme),
            archives=options(archive=[PLAN.downloaded(name) for name in ARCHIVES[collection]]),
            paths=paths,
        message:
            f"Taking XTREME's files of {collection} from what its authors publish"
        shell:
            "vocap unpack {params.collection} {params.archives}"
            " -o {params.xtreme:q} {params.paths:q} 2> {log:q}"


rule encode:
    input:
        files=lambda wildcards: (
            xtreme_of(wildcards.inputs)
            if wildcards.inputs.startswith("correlation/")
            else TUNING.files[wildcards.training]
        ),
        tokenizer=lambda wildcards: TOKENIZER_FILES[wildcards.inputs],
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
        **needs("encode", minutes=60),
    params:
        **run_params("finetuning"),
        xtreme=lambda wildcards: xtreme_of(wildcards.inputs),
        tokenizer=lambda wildcards: INPUT_TOKENIZERS[wildcards.inputs],
        settings=lambda wildcards: json.dumps(RECIPES[wildcards.training].of_inputs()),
    message:
        "Turning the files of {wildcards.training} into inputs: {wildcards.inputs}"
    shell:
        "vocap encode"
        " --xtreme {params.xtreme:q}"
        " --training {wildcards.training}"
        " --tokenizer {params.tokenizer:q}"
        " --max-length {wildcards.length}"
        " --settings-json {params.settings:q}"
        " -o {output:q} 2> {log:q}"


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
        **needs("finetune", minutes=600),
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
        "Fine-tuning {wildcards.tuned} on {wildcards.training}: rate {wildcards.rate},"
        " {wildcards.epochs} epochs, seed {wildcards.seed}"
    shell:
        "vocap finetune"
        " --model {params.model:q} {params.random}"
        " --xtreme {params.xtreme:q}"
        " --inputs {input.inputs:q}"
        " --training {wildcards.training}"
        " --learning-rate {wildcards.rate}"
        " --epochs {wildcards.epochs}"
        " --seed {wildcards.seed}"
        " --selection {params.selection}"
        " --settings-json {params.settings:q}"
        " --threads {params.threads}"
        " --checkpoint-every {params.every}"
        " -o {params.folder:q} 2> {log:q}"


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
        **needs("score", minutes=60),
    params:
        **run_params("finetuning"),
        xtreme=lambda wildcards: xtreme_of(wildcards.tuned),
        runs=lambda wildcards, input: [Path(run).parent for run in input],
    message:
        "Scoring {wildcards.tuned} on {wildcards.task}"
    shell:
        "vocap score"
        " --xtreme {params.xtreme:q}"
        " --task {wildcards.task}"
        " -o {params.folder:q} {params.runs:q} 2> {log:q}"


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
        **needs("average"),
    params:
        **run_params("finetuning"),
        tasks=lambda wildcards, input: [Path(selection).parent for selection in input],
    message:
        "Averaging what {wildcards.model} reached"
    shell:
        "vocap average -o {output:q} {params.tasks:q} 2> {log:q}"


# The correlation study


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
if STUDY.languages and IS_MAIN:

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
            **needs("studied_sizes"),
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
        **needs("studied_tokenizer"),
    params:
        **run_params("tokenizers"),
        model=f"{RESULTS}/vocabularies/{{lang}}/models/{{size}}.model",
    message:
        "Making a tokenizer of {wildcards.size} ids for {wildcards.lang}"
    shell:
        "(vocap mono --model {params.model:q} --language {wildcards.lang} -o {params.folder:q}"
        " && vocap export {output.model:q} --layout=xlm-r -o {params.folder:q}/huggingface) 2> {log:q}"


# The command of rule tokenize; `use rule` cannot take a rule that has its name from
# `name:`.
rule studied_text:
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
    localrule: SETTINGS.corpora.fetch
    conda:
        "../envs/tokenizers.yaml"
    resources:
        **needs("studied_text", minutes=1440 if LISTED[MODEL_TEXT_STAGE] else 60),
    params:
        **run_params("pretraining"),
        each="",
        lang=language_of,
        blocks=lambda wildcards, output: Path(output[0]).parents[1],
        length=SETTINGS.pretraining.block,
        stored=lambda wildcards: shlex.join(words_of(MODEL_SOURCES[wildcards.lang].stored)),
        # they depend on the input, so are not watched
        files=lambda wildcards, input: MODEL_SOURCES[wildcards.lang].texts(input.get("text")),
    message:
        "Tokenizing the text of {wildcards.lang} with its vocabulary of {wildcards.size}"
    shell:
        """
        vocap {params.each} tokenize {params.files:q} \
            --tokenizer {input.model:q} \
            --language {params.lang} \
            --heldout {params.results:q}/corpora/{params.lang}/heldout.txt \
            --length {params.length} \
            {params.stored} \
            -o {params.blocks:q}/{params.lang} 2>{log:q}
        """


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
        **needs("studied_model", minutes=1440),
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
        **needs("own_files"),
    params:
        **run_params("correlation"),
        folders=lambda wildcards, output: [
            f"{output}/{task}" for task in STUDY.tasks[wildcards.lang]
        ],
        # the training file stands in the place of the English one
        copies=lambda wildcards, input, output: " && ".join(
            shlex.join(["cp", path, f"{output}/{Path(path).parent.name}/{name}"])
            for path in input
            for name in [Path(path).name.replace(f"train-{wildcards.lang}.", "train-en.")]
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
        **needs("correlate"),
    params:
        **run_params("correlation"),
        sizes=options(size=SETTINGS.correlation.sizes),
        scored=lambda wildcards, input: [Path(selection).parent for selection in input.scored],
    message:
        "Correlating F1 with ALP and with the size of the vocabulary"
    shell:
        "vocap correlate --vocabularies {params.results:q}/vocabularies {params.sizes}"
        " -o {params.folder:q} {params.scored:q} 2> {log:q}"
