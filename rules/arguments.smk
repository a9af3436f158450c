"""How the settings become the words of a command line, and the inputs of rules."""

# Of SentencePiece's training. A constant: another number changes its sums; with one the ladder gives the same model.
JOINT_THREADS = 1


class Wildcards(NamedTuple):
    """Those of an input function that is called for a language outside of its rule."""

    lang: str


def text_of(wildcards):
    """Where the text of a language comes from: the user's files, a download, or the merged starter corpus."""
    source = SOURCES[wildcards.lang]
    if source.starter:
        return [STARTER_TEXT]
    if source.url:
        return [f"{RESULTS}/corpora/downloads/{source.name}/{wildcards.lang}"]
    return source.files()


def download_limit(wildcards):
    """The option of `vocap fetch` for the beginning of a file; a Parquet file is read from its end."""
    whole = SOURCES[wildcards.lang].source.format.startswith("parquet:")
    return options(limit_bytes=None if whole else SETTINGS.corpora.scan_bytes)


def sample_arguments(wildcards):
    """The options of `vocap sample`, but for the files: Snakemake watches no parameter that depends on input or output."""
    limits = options(
        max_sentences=SETTINGS.corpora.max_sentences,
        max_characters=SETTINGS.corpora.max_characters,
        scan_bytes=SETTINGS.corpora.scan_bytes,
        seed=SETTINGS.seed,
    )
    return f"{shlex.join(SOURCES[wildcards.lang].sample_options())} {limits}"


def sampled_files(wildcards, input):
    """The files of a language: its own of the starter corpus, or those of the user, patterns as they are written."""
    source = SOURCES[wildcards.lang]
    return [f"{input[0]}/{wildcards.lang}.txt"] if source.starter else source.paths or list(input)


def mixed_sources():
    """What `vocap sample` was told of each language's text, for those lines that its sample leaves out."""
    limit = [f"--scan-bytes={SETTINGS.corpora.scan_bytes}"] if SETTINGS.corpora.scan_bytes else []
    words = {}
    for lang, source in SOURCES.items():
        text = text_of(Wildcards(lang))
        files = [f"{text[0]}/{lang}.txt"] if source.starter else text
        words[lang] = [*source.sample_options(), *limit, *files]
    return json.dumps(words)


def language_table(wildcards, output):
    """The table of languages; not watched, as a copy with a row more changes nothing for the others."""
    return SETTINGS.corpora.table


def allocations(needs_text):
    """The names of the allocations whose rule reads the languages' text, or does not."""
    return [name for name, entry in SETTINGS.allocation.items() if entry.needs_text == needs_text]


def allocation_arguments(wildcards):
    """An entry's settings as the options of `vocap allocate`, which bear the same names."""
    settings = SETTINGS.allocation[wildcards.name].model_dump(exclude_defaults=True)
    without = ",".join(settings.pop("without", [])) or None
    return options(**settings, without=without, coverage=SETTINGS.vocabularies.coverage)


def trunk_arguments(entry):
    """The settings on which the trunk of a descent depends, as options of `vocap trunk`."""
    settings = entry.model_dump(include={"alpha", "beta", "per"})
    return options(**settings, without=",".join(entry.without) or None, coverage=SETTINGS.vocabularies.coverage)


def fitted_models(name):
    """The folder of the models that a tokenizer's scores come from: the languages' own, or those of its allocation."""
    allocation = SETTINGS.tokenizers[name].allocation
    needs_text = SETTINGS.allocation[allocation].needs_text
    return f"{RESULTS}/allocation/{allocation}/vocabularies" if needs_text else f"{RESULTS}/vocabularies"


def extras(entry):
    """Rows that a tokenizer holds besides its pieces."""
    return {"byte_fallback": entry.byte_fallback, "symbol": entry.user_defined_symbols}


def text_and_licences():
    """Where the text comes from, for the model cards of the tokenizers."""
    names = sorted({SETTINGS.corpora.languages.get(lang, SETTINGS.corpora.source) for lang in LANGUAGES})
    starter = [PACKAGES[name] for name in SETTINGS.corpora.starter.packages]
    of_starter = ", ".join(f"{package.name} ({package.licence})" for package in starter)
    return " ".join(
        (
            f"Source starter: the interface texts of {of_starter}; the tokenizer holds words and word parts of them."
            if SETTINGS.corpora.sources[name].starter
            else f"Source {name} of the configuration; its terms hold for what is taken from it."
        )
        for name in names
    )


def multilingual_files(alpha):
    """What a tokenizer reads of the text of all languages: the training lines of each, or the sample of this alpha."""
    if SAMPLED_ALPHAS:
        return [f"{RESULTS}/corpora/mix/{alpha}.txt"]
    return [f"{RESULTS}/corpora/{lang}/train.txt" for lang in LANGUAGES]


def multilingual_options(alpha):
    """The same for `vocap fit` and `vocap joint`."""
    if SAMPLED_ALPHAS:
        return {"alpha": alpha, "mix": f"{RESULTS}/corpora/mix/{alpha}.txt"}
    return {"alpha": alpha, "corpora": f"{RESULTS}/corpora"}


def fitted_alpha(name):
    """The exponent of the allocation that a VOCAP tokenizer is made of."""
    return SETTINGS.allocation[SETTINGS.tokenizers[name].allocation].alpha


def fit_arguments(wildcards):
    entry = SETTINGS.tokenizers[wildcards.name]
    folder = f"{RESULTS}/allocation/{entry.allocation}"
    return options(
        allocation=folder,
        **multilingual_options(fitted_alpha(wildcards.name)),
        scores=entry.scores,
        **extras(entry),
    )


def joint_arguments(wildcards):
    """One SentencePiece training."""
    entry = SETTINGS.tokenizers[wildcards.name]
    return options(
        engine="sentencepiece",
        total=entry.total,
        coverage=SETTINGS.vocabularies.coverage,
        threads=JOINT_THREADS,
        **multilingual_options(entry.alpha),
        **extras(entry),
    )


def joint_descents():
    """The files, the options, the folders and a name of every descent over the text of all languages.

    All T with the same settings share one; but those on disk have one to themselves, which runs when the text
    changes: a T added to the configuration leaves them as they are.
    """
    entries = [SETTINGS.tokenizers[name] for name in tokenizers_of("joint")]
    descents = []
    for group in group_by_descent(entries):
        alpha = group[0].alpha
        arguments = options(
            engine="ladder",
            coverage=SETTINGS.vocabularies.coverage,
            **multilingual_options(alpha),
            **extras(group[0]),
        )
        on_disk = [entry for entry in group if Path(RESULTS, joint_folder(entry), FILES[-1]).exists()]
        missing = [entry for entry in group if entry not in on_disk]
        for batch in filter(None, (on_disk, missing)):
            folders = [f"{RESULTS}/{joint_folder(entry)}" for entry in batch]
            descents.append((multilingual_files(alpha), arguments, folders, descent_name(batch)))
    return descents


def joint_totals(files):
    """The T of a descent as options, from the folders that it fills."""
    return options(total=sorted({int(Path(file).parent.name) for file in files}))


def picked_files(wildcards):
    """The files that the descent leaves for a JOINT tokenizer."""
    folder = joint_folder(SETTINGS.tokenizers[wildcards.name])
    return [f"{RESULTS}/{folder}/{file}" for file in FILES]


def adopted_file(wildcards):
    """The tokenizer from elsewhere that models are trained with."""
    entry = SETTINGS.tokenizers[wildcards.tokenizer]
    return if_there(entry.path) if entry.path else downloaded(entry.download)


def mono_arguments(wildcards):
    entry = SETTINGS.tokenizers[wildcards.name]
    model = f"{RESULTS}/vocabularies/{entry.language}/models/{entry.size}.model"
    return options(model=model, language=entry.language)


def evaluated_file(wildcards):
    """The model that is measured: the tokenizer's own, or the path of a FILE baseline."""
    entry = SETTINGS.tokenizers[wildcards.name]
    if entry.kind == "file":
        return if_there(entry.path) if entry.path else downloaded(entry.download)
    return f"{RESULTS}/tokenizers/{wildcards.name}/sentencepiece.model"


def parallel_arguments(wildcards):
    table = f"{RESULTS}/tokenizers/{wildcards.name}/parallel.tsv"
    return options(parallel=PARALLEL_TEXT, parallel_output=table) if PARALLEL_TEXT else ""


def tokenizer_folder(name):
    """Where a tokenizer lies in the layout that models are trained with."""
    stage = "pretraining/tokenizers" if SETTINGS.tokenizers[name].kind == "file" else "tokenizers"
    return f"{RESULTS}/{stage}/{name}"


def pretraining_source(lang):
    """Where a language's pre-training text comes from: a source of its own, or that of the vocabularies."""
    return PRETRAINING_SOURCES[lang] if PRETRAINING_SOURCES else SOURCES[lang]


def pretraining_text(wildcards):
    """The whole text of a language, of which vocabularies are learnt on a sample."""
    if not PRETRAINING_SOURCES:
        return text_of(wildcards)
    source = pretraining_source(wildcards.lang)
    if source.starter:
        return [STARTER_TEXT]
    if source.url:
        return [f"{RESULTS}/pretraining/downloads/{source.name}/{wildcards.lang}"]
    return source.files()


def pretraining_files(wildcards, input):
    """The files of a language: its own of the starter corpus, or all of them."""
    source = pretraining_source(wildcards.lang)
    if source.starter:
        return [f"{input.text}/{wildcards.lang}.txt"]
    if source.paths:
        return source.paths
    return input.text if isinstance(input.text, str) else list(input.text)


def tokenize_arguments(wildcards):
    """The options of `vocap tokenize` that say how the text lies in its files."""
    source = pretraining_source(wildcards.lang).source
    layout = {name: getattr(source, name) for name in ("format", "split_sentences", "escaped_newlines")}
    return options(length=SETTINGS.pretraining.block, **layout)


def model_blocks(wildcards):
    folder = f"{RESULTS}/pretraining/tokens/{MODELS[wildcards.name].tokenizer}"
    return expand("{folder}/{lang}/description.json", folder=folder, lang=LANGUAGES)


def pretrain_settings(wildcards):
    """An entry's settings as JSON, without what does not change the result."""
    return recipe_json(MODELS[wildcards.name])


def recipe_json(recipe):
    settings = recipe.model_dump(mode="json", exclude={"tokenizer", "checkpoint_every"}, exclude_defaults=True)
    loss = {"kind": recipe.loss.kind, **recipe.loss.model_dump(mode="json", exclude_defaults=True)}
    return json.dumps({**settings, "loss": loss})


def rows(name):
    """T of a tokenizer: its embedding rows; XLM-R's where only the file knows."""
    entry = SETTINGS.tokenizers[name]
    if entry.kind == "vocap":
        return SETTINGS.allocation[entry.allocation].total
    return getattr(entry, "total", 250_002) if entry.kind != "mono" else entry.size + 2


def pretrain_mem_mb(wildcards, attempt):
    """Weights, gradients and moments in 32 bits, and once more for checkpoints; 2 GB for torch and a batch."""
    entry = MODELS[wildcards.name]
    parameters = count_parameters(entry.shape, rows(entry.tokenizer))
    return int(min(attempt, HIGHEST_ATTEMPT) * (SNAKEMAKE_MB + 2000 + 24 * parameters / 1e6))


class TunedModel(NamedTuple):
    """A model that is fine-tuned: its folder, the files that say it is made, and how its inputs are made."""

    folder: str
    made: list[str]
    origin: str  # of its inputs, which models with one tokenizer share
    tokenizer: str  # folder
    longest: int | None  # ids that it reads
    parameters: float


def tuned_model(name):
    """Where an entry of finetuning.models comes from."""
    entry = TUNING.models[name]
    if entry.path is not None:
        weights = sorted(map(str, Path(entry.path).glob("*.safetensors")))
        parameters = sum(Path(path).stat().st_size for path in weights) / 4
        made = [str(Path(entry.path, CONFIG)), *weights]
        return TunedModel(entry.path, made, f"models/{name}", entry.path, longest_of(entry.path), parameters)
    source = entry.model or name
    model = MODELS[source]
    folder = f"{RESULTS}/pretraining/{source}/model"
    # the models of export_steps are not declared; metrics.jsonl comes after them
    made = folder if entry.step is None else f"{RESULTS}/pretraining/{source}/metrics.jsonl"
    return TunedModel(
        folder if entry.step is None else f"{folder}-{entry.step}",
        [made],
        f"tokenizers/{model.tokenizer}",
        f"{tokenizer_folder(model.tokenizer)}/huggingface",
        model.shape.positions,
        count_parameters(model.shape, rows(model.tokenizer)),
    )


def recipe_of(training):
    return getattr(SETTINGS.finetuning.recipes, training)


def stand_in_words(training):
    """The stand-ins that a training reads, as options."""
    return [f"{key}={value}" for key, value in SETTINGS.finetuning.stand_ins.items() if key in keys_of(training)]


def check_arguments(wildcards):
    tasks = ",".join(TRAININGS[wildcards.training])
    return options(tasks=tasks, stand_in=stand_in_words(wildcards.training))


def tokenizer_argument(wildcards, input):
    """The folder of a tokenizer of ours, of which tokenizer.json is the input, or the input."""
    path = Path(input.tokenizer)
    return str(path.parent if path.name == "tokenizer.json" else path)


def ceiling_arguments(wildcards):
    tasks = [task for task in TUNING.tasks if TASKS[task].kind == "spans"]
    stand_ins = [word for training in SPAN_TRAININGS for word in stand_in_words(training)]
    return options(tasks=",".join(tasks), stand_in=stand_ins)


def encode_arguments(wildcards):
    settings = json.dumps(recipe_of(wildcards.training).of_inputs())
    return options(settings_json=settings, stand_in=stand_in_words(wildcards.training))


def run_inputs(wildcards):
    """The inputs of a run: of its training and its model's tokenizer, as long as the model reads."""
    model = TUNED[wildcards.model]
    length = input_length(recipe_of(wildcards.training), model.longest)
    return f"{RESULTS}/finetuning/inputs/{model.origin}/{wildcards.training}-{length}"


def run_files(wildcards):
    """What every run of a task's training leaves."""
    training = TASKS[wildcards.task].training
    runs = settings_of(recipe_of(training), SETTINGS.finetuning.seeds)
    return [f"{RESULTS}/finetuning/{run_folder(wildcards.model, training, run)}/run.json" for run in runs]


def finetune_arguments(wildcards):
    return options(
        settings_json=json.dumps(recipe_of(wildcards.training).of_a_run()),
        random_weights=TUNING.models[wildcards.model].weights == "random",
        selection=SETTINGS.finetuning.selection,
        stand_in=stand_in_words(wildcards.training),
    )


def finetune_mem_mb(wildcards, attempt):
    """As of pre-training, and the best state so far; 2 GB for torch, a batch and the examples."""
    size_mb = 24 * TUNED[wildcards.model].parameters / 1e6
    return int(min(attempt, HIGHEST_ATTEMPT) * (SNAKEMAKE_MB + 2000 + size_mb))


def settings_shown(wildcards):
    """The settings that the report shows, as JSON: of the sources those that this run reads, and not where it writes."""
    shown = SETTINGS.model_dump(mode="json", exclude_none=True, exclude={"results", "downloads"})
    used = {source.name for source in SOURCES.values()}
    shown["corpora"]["sources"] = {
        name: entry for name, entry in shown["corpora"]["sources"].items() if name in used
    }
    return json.dumps(shown, ensure_ascii=False)


def studied_mem_mb(wildcards, attempt):
    """As of pre-training and of fine-tuning: a model with one language's vocabulary."""
    parameters = count_parameters(SETTINGS.correlation.model.shape, int(wildcards.size) + 2)
    return int(min(attempt, HIGHEST_ATTEMPT) * (SNAKEMAKE_MB + 2000 + 24 * parameters / 1e6))


def studied_encoding(wildcards):
    return options(settings_json=json.dumps(recipe_of(wildcards.training).of_inputs()))


def studied_inputs(wildcards):
    """The inputs of a run of the study, as long as its model reads."""
    length = input_length(recipe_of(wildcards.training), SETTINGS.correlation.model.shape.positions)
    return f"{RESULTS}/correlation/{wildcards.lang}/{wildcards.size}/inputs/{wildcards.training}-{length}"


def studied_runs(wildcards):
    """What every run on one task leaves: rates and epochs of its recipe, seeds of the study."""
    folder = f"{RESULTS}/correlation/{wildcards.lang}/{wildcards.size}/{wildcards.task}/runs"
    runs = settings_of(recipe_of(wildcards.task), SETTINGS.correlation.seeds)
    return [f"{folder}/{run.name}/run.json" for run in runs]


def studied_arguments(wildcards):
    """One language's files: all the development files there are choose."""
    return options(settings_json=json.dumps(recipe_of(wildcards.training).of_a_run()), selection="paper")


def reached_sizes(study):
    """(language, size) of the study's vocabularies; in a dry run that does not know the curves, all that it asks for.

    Otherwise Snakemake comes back here when it knows them.
    """
    found = Path(STUDIED_SIZES)
    if not (dry_run() or STARTED_BY_SNAKEMAKE):
        found = Path(checkpoints.studied_sizes.get().output[0])
    absent = holes(read_sizes(found)) if found.exists() else {}
    return [
        (lang, size)
        for lang in study.languages
        for size in SETTINGS.correlation.sizes
        if size not in absent.get(lang, ())
    ]


def studied_models(study):
    """The models that no task is there for; those of a task are made for its runs."""

    def inputs(wildcards):
        return [
            f"{RESULTS}/correlation/{lang}/{size}/pretrained/metrics.jsonl"
            for lang, size in reached_sizes(study)
            if lang not in study.tasks
        ]

    return inputs if set(study.languages) - set(study.tasks) else []


def studied_scores(study):
    """What is scored of the study: every vocabulary of a language and each of its tasks."""

    def inputs(wildcards):
        return [
            f"{RESULTS}/correlation/{lang}/{size}/{task}/selection.json"
            for lang, size in reached_sizes(study)
            for task in study.tasks.get(lang, ())
        ]

    return inputs
