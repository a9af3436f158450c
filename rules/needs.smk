"""Files from elsewhere: a run's downloads, and the files that its user brings."""


def sources_to_fetch(sources, folder):
    """How many languages have text to fetch from each source, in words."""
    absent = [
        source.name
        for lang, source in sources.items()
        if lang in LANGUAGES and source.url and not Path(folder, source.name, lang).exists()
    ]
    return [f"{name} ({absent.count(name)} languages)" for name in dict.fromkeys(absent)]


def announce():
    """Print in a few lines the files that a run fetches, and those that its plan takes as there."""
    baselines = [entry for entry in SETTINGS.tokenizers.values() if not entry.made]
    files = [
        entry.download
        for entry in baselines
        if entry.download and not Path(downloaded(entry.download)).exists()
    ]
    fetched = {
        "text": sources_to_fetch(SOURCES, f"{RESULTS}/corpora/downloads"),
        "text for pre-training": sources_to_fetch(
            PRETRAINING_SOURCES, f"{RESULTS}/pretraining/downloads"
        ),
        "tokenizers": files,
        f"XTREME, to {SETTINGS.finetuning.xtreme}": [
            name for name, paths in FETCHED.items() if paths
        ],
    }
    brought = [
        entry.path
        for entry in baselines
        if entry.path and not Path(entry.path).exists() and DRY_RUN
    ]
    folders = {folder for supply in SUPPLIES for folder in supply.to_bring()}
    brought += [
        f"{SETTINGS.finetuning.xtreme}/{folder} (docs/finetuning.md)" for folder in sorted(folders)
    ]
    for what, names in fetched.items():
        if names:
            notice(f"fetched: {what}: {', '.join(names)}")
    if brought:
        notice(f"to bring, planned as if there: {', '.join(brought)}")


if workflow.is_main_process:
    announce()
