"""Functions of wildcards and settings that rules call, by the file of these rules: they read its tables when called."""

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


def text_option(alpha):
    """The option that names this text."""
    return shlex.quote(f"--mix={text_files(alpha)[0]}" if SAMPLED_ALPHAS else f"--corpora={RESULTS}/corpora")


def of_descent(wildcards):
    """The name of one of the tokenizers of a descent."""
    return next(name for name, descent in DESCENTS.items() if descent == wildcards.descent)


def totals_of(folder, entries, trainings):
    """T of the tokenizers of one training, as options.

    Those in its folder too: a T that is removed from the configuration makes nothing again.
    """
    made = {int(path.name) for path in Path(RESULTS, "tokenizers", folder).glob("[0-9]*")}
    asked = {entries[name].total for name, training in trainings.items() if training == Path(folder).name}
    return options(total=sorted(made | asked))


def once(name, folder):
    """The folder of a training as input: of a tokenizer that is there, its age does not count."""
    return ancient(folder) if Path(RESULTS, "tokenizers", name, "sizes.tsv").exists() else folder


# byte_pairs.smk


def of_training(wildcards):
    """The name of one of the tokenizers of a training."""
    return next(name for name, training in PAIR_TRAININGS.items() if training == wildcards.training)


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
