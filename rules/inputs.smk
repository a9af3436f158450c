"""What a user brings, looked for on the disk: text, tokenizers, parallel text; and whose folder the results are."""


def absent_tokenizer(name):
    """Whether the tokenizer is one from elsewhere that its user may bring later, which a dry run takes as there."""
    path = getattr(SETTINGS.tokenizers[name], "path", None)
    return path is not None and not (Path(path).exists() or DRY_RUN)


def source_file(name):
    """The file of a tokenizer from elsewhere: its user's, without which a dry run plans, or a download."""
    entry = SETTINGS.tokenizers[name]
    if entry.path is None:
        return downloaded(entry.download)
    return [] if DRY_RUN and not Path(entry.path).exists() else entry.path


def split_of(name):
    """The cut of a tokenizer from elsewhere that is a file of tiktoken's ranks; None for others."""
    entry = SETTINGS.tokenizers[name]
    return None if entry.made else entry.split


def tokenizers_of(*kinds):
    """The configured tokenizers of these kinds, those that can be made: name to settings."""
    return {
        name: entry
        for name, entry in SETTINGS.tokenizers.items()
        if entry.kind in kinds and not absent_tokenizer(name)
    }


def absent_text(lang):
    """The paths and patterns of a language without a file, to pre-train on too."""
    absent = SOURCES[lang].absent + (
        PRETRAINING_SOURCES[lang].absent if PRETRAINING_SOURCES else []
    )
    return list(dict.fromkeys(absent))


# The configuration of a run is recorded in its folder: no other one undoes it by
# mistake.
if workflow.is_main_process:
    try:
        check_owner(RESULTS, CONFIGFILES)
    except VocapError as error:
        if not DRY_RUN:
            stop(error)
        notice(f"a real run stops here: {error}")

if absent := [lang for lang in SOURCES if absent_text(lang)]:
    missing = [f"{lang}: no file {path}" for lang in absent for path in absent_text(lang)]
    remedy = "put it there, correct corpora.sources, or leave the language out of `languages`"
    if not DRY_RUN:
        stop("\n  ".join([f"corpus files are missing; {remedy}:", *missing]))
    for line in missing:
        left_out(f"language {line}", f"a real run stops here; {remedy}")
    SOURCES = {lang: source for lang, source in SOURCES.items() if lang not in absent}

LANGUAGES = list(SOURCES)

# The languages of the starter corpus, whose texts are small, share jobs: to start one
# takes longer than its work.
TOGETHER = [lang for lang, source in SOURCES.items() if source.inputs(RESULTS) == [STARTER_TEXT]]
SINGLE = [lang for lang in LANGUAGES if lang not in TOGETHER]
WORKERS = min(8, len(TOGETHER))
# the source of each
STARTED = replace(SOURCES[TOGETHER[0]], language="{lang}") if TOGETHER else None


def each_together(wildcards, threads):
    """The words that make a command run for these languages; of the threads, so that Snakemake does not watch them."""
    return f"each --languages {','.join(TOGETHER)} --threads {threads}"


for name in filter(absent_tokenizer, SETTINGS.tokenizers):
    left_out(
        f"tokenizer {name}",
        f"no file {SETTINGS.tokenizers[name].path}; bring it, or change tokenizers.{name}.path",
    )

# Those that are there are read, for their mistakes.
for name in tokenizers_of("file") if workflow.is_main_process else ():
    if (path := source_file(name)) and Path(path).exists():
        from vocap.tokenizer_files.encoders import load_encoders

        try:
            load_encoders({name: path}, filter(None, [split_of(name)]))
        except VocapError as error:
            stop(f"tokenizers.{name}: {error}")

# Parallel text, if any, is announced: it also depends on the environment.
FROM_STARTER = all(source.inputs(RESULTS) == [STARTER_TEXT] for source in SOURCES.values())
try:
    STARTER_FOLDER = STARTER_TEXT if FROM_STARTER else None
    PARALLEL_TEXT = evaluation_text(SETTINGS.corpora, LANGUAGES, STARTER_FOLDER, os.environ)
    DEVELOPMENT_TEXT = development_text(SETTINGS.corpora, STARTER_FOLDER)
except VocapError as error:
    stop(error)

for key, text in (("parallel", PARALLEL_TEXT), ("development", DEVELOPMENT_TEXT)):
    if text and not text.folder and workflow.is_main_process:
        try:
            (find_aligned if DRY_RUN else read_aligned)(text.pattern, LANGUAGES)
        except VocapError as error:
            stop(f"corpora.{key}: {error}")
if PARALLEL_TEXT and FROM_STARTER:
    notice(f"parallel text for evaluation: {PARALLEL_TEXT.name}")


wildcard_constraints:
    lang=one_of(LANGUAGES),
    size=r"\d+",
    name=r"[A-Za-z0-9][A-Za-z0-9._-]*",
