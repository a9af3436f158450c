"""Functions that rules call, by the file of these rules; those of wildcards read its tables when they are called."""

# of all rules: memory and time (docs/cluster.md has the measurements)

# that asks for more: a long training is submitted again many times, for its time limit
HIGHEST_ATTEMPT = 3
# the two Snakemakes that start a cluster job's command; SLURM counts them as the job's
# memory
SNAKEMAKE_MB = 350


def needs(mb, minutes, mb_per_mb=0, minutes_per_mb=0, parameters=None):
    """Resources of a rule: memory as measured, and several times the measured time, as nodes differ and are shared.

    So much, so much more for each MB of input, and as much again with each retry. With `parameters`, a function of
    the wildcards: a training of so many, whose weights, gradients and moments in 32 bits and one more copy for
    checkpoints need memory.
    """

    def of(fixed, per_mb, trained=None):
        return lambda wildcards, input, attempt: int(
            min(attempt, HIGHEST_ATTEMPT)
            * (
                fixed
                + (per_mb and per_mb * input.size_mb)
                + (24 * trained(wildcards) / 1e6 if trained else 0)
            )
        )

    return {
        "mem_mb": of(SNAKEMAKE_MB + mb, mb_per_mb, parameters),
        "runtime": of(minutes, minutes_per_mb),
    }


# tokenizers.smk


def allocation_of(wildcards):
    """The allocation of a fitted tokenizer: its name, and its settings."""
    name = FITTED[wildcards.name].allocation
    return name, SETTINGS.allocation[name]


def text_files(alpha):
    """The text of all languages (Equation 3): their training lines, or a sample."""
    if SAMPLED_ALPHAS:
        return [f"{RESULTS}/corpora/mix/{alpha}.txt"]
    return [f"{RESULTS}/corpora/{lang}/train.txt" for lang in LANGUAGES]


def text_option(entry):
    """The options that name this text, and the unit of the languages' shares."""
    text = (
        f"--mix={text_files(entry.alpha)[0]}" if SAMPLED_ALPHAS else f"--corpora={RESULTS}/corpora"
    )
    return shlex.join([text, "--per", entry.per] if entry.per else [text])


def of_descent(wildcards):
    """The name of one of the tokenizers of a descent."""
    return next(name for name, descent in DESCENTS.items() if descent == wildcards.descent)


def totals_of(folder, entries, trainings):
    """T of the tokenizers of one training, as options.

    Those in its folder too: a T that is removed from the configuration makes nothing again.
    """
    made = {int(path.name) for path in Path(RESULTS, "tokenizers", folder).glob("[0-9]*")}
    asked = {
        entries[name].total for name, training in trainings.items() if training == Path(folder).name
    }
    return options(total=sorted(made | asked))


def once(name, folder):
    """The folder of a training as input: of a tokenizer that is there, its age does not count."""
    return ancient(folder) if Path(RESULTS, "tokenizers", name, "sizes.tsv").exists() else folder


def of_training(wildcards):
    """The name of one of the tokenizers of a training."""
    return next(name for name, training in PAIR_TRAININGS.items() if training == wildcards.training)


# pretraining.smk


def layout_options(source):
    """How a source's text is stored, as options."""
    names = ("format", "split_sentences", "escaped_newlines", "documents")
    return options(**{name: getattr(source, name) for name in names})


def parameters_of(wildcards):
    """The parameters of a model of pre-training."""
    model = MODELS[wildcards.name]
    return count_parameters(model.shape, SETTINGS.rows(model.tokenizer), model.causal)


# finetuning.smk


def xtreme_of(place):
    """The XTREME folder of a model or of inputs; a language of the study has its own."""
    stage, lang, *_ = place.split("/")
    return f"{RESULTS}/correlation/{lang}/xtreme" if stage == "correlation" else str(TUNING.xtreme)


def tokenizer_input(folder):
    """The file of a tokenizer that this run makes, or the folder of one from elsewhere."""
    return f"{folder}/tokenizer.json" if Path(folder).name == "huggingface" else folder


def runs_of(wildcards):
    """The runs of a model on the training of a task, by rates, epochs and seeds."""
    seeds = SETTINGS.correlation.seeds if wildcards.tuned in STUDIED else SETTINGS.finetuning.seeds
    training = TASKS[wildcards.task].training
    folder = f"{RESULTS}/{wildcards.tuned}/{training}/runs"
    return [f"{folder}/{run.name}/run.json" for run in settings_of(RECIPES[training], seeds)]


# correlation.smk


def as_english(path, lang):
    """The name of a language's own file in its folder: its training file stands in the place of the English one."""
    return Path(path).name.replace(f"train-{lang}.", "train-en.")


def studied_vocabularies():
    """(language, size) of the vocabularies that there are; all where a dry run does not know the curves."""
    if STUDY.languages and not DRY_RUN and workflow.is_main_process:
        checkpoints.studied_sizes.get()  # Snakemake asks again when it knows them
    holes = unreached(Path(RESULTS, "vocabularies"), STUDY.languages, SETTINGS.correlation.sizes)
    return [
        (lang, size)
        for lang in STUDY.languages
        for size in SETTINGS.correlation.sizes
        if size not in holes.get(lang, ())
    ]
