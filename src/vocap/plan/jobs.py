"""The jobs that a configuration leads to, one for each job of the workflow, and what decides their cost.

A stage adds its jobs by a function here and its coefficients in `costs.yaml`; a test holds the counts against
Snakemake's own dry run.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vocap.config import Settings
from vocap.corpora.mixing import BUCKET_BYTES, quotas
from vocap.corpora.sources import Resolved, resolve_all
from vocap.corpora.weights import line_weights, sampling_probabilities
from vocap.plan.texts import MB, Text
from vocap.tokenizers.descents import FILES, descent_name, group_by_descent, joint_folder, sampled_alphas
from vocap.tokenizers.diff.pairs import compared_pairs
from vocap.tokenizers.settings import File, Joint, Mono, Vocap

XLMR_ROWS = 250_002  # of a tokenizer whose size only its file knows, as rules/arguments.smk has it
PARITY_LINES = 10_000  # of a language, as in rules/tokenizers.smk


@dataclass(frozen=True)
class Job:
    """One job: `name` is the path of its benchmark file under `logs/benchmarks`, without `.tsv`.

    `features` multiply the coefficients of `costs.yaml`, which says what each is; `after`: names of the jobs whose
    outputs it reads; `outputs`: what it makes, under `results`; `priority`: as in the rule, higher first; `local`:
    it runs where Snakemake does, on a cluster too; `like`: the rule whose coefficients it has, if not its own;
    `gpus`: how many share its work, if it has work for one.
    """

    rule: str
    name: str
    features: Mapping[str, float]
    after: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    threads: int = 1
    priority: int = 0
    local: bool = False
    like: str = ""
    gpus: int = 1

    @property
    def priced_as(self) -> str:
        return self.like or self.rule

    @property
    def stage(self) -> str:
        return self.name.partition("/")[0]


def list_jobs(
    settings: Settings, texts: Mapping[str, Text], reach: Mapping[str, float], assume: bool = True
) -> list[Job]:
    """Every job of the whole workflow, each after those that it waits for.

    `texts`: the run's languages (`estimate_texts`); `reach`: the largest vocabulary that each one's text gives;
    `assume`: what a user has to bring is taken as there, as in a dry run.
    """
    reached = {lang: [size for size in settings.vocabularies.sizes if size <= reach[lang]] for lang in texts}
    jobs = [
        *corpora_jobs(settings, texts),
        *vocabularies_jobs(settings, texts, reached),
        *allocation_jobs(settings, texts, reached),
        *tokenizers_jobs(settings, texts, assume),
    ]
    return [*jobs, report_job(settings, jobs, texts)]


def corpora_jobs(settings: Settings, texts: Mapping[str, Text]) -> Iterator[Job]:
    sources = resolve_all(settings.corpora, [lang for lang in settings.selected() if lang.code in texts])
    if any(source.starter for source in sources.values()):
        yield from _starter_jobs(settings.corpora.starter.packages)
    for lang, source in sources.items():
        yield from _text_jobs(texts[lang], source)
    samples = tuple(f"corpora/sample-{lang}" for lang in texts)
    yield Job("weigh", "corpora/weigh", {"languages": len(texts)}, samples, ("corpora/weights.tsv",), local=True)
    for alpha in sampled_alphas(settings.corpora.mix, settings.tokenizers, settings.allocation):
        mix = mix_mb(settings, texts, float(alpha))
        yield Job(
            "mix",
            f"corpora/mix-{alpha}",
            {
                "mix_mb": mix,
                "bucket_mb": min(mix, BUCKET_BYTES / MB),
                "largest_mb": max((text.train_mb for text in texts.values()), default=0.0),
                "train_mb": sum(text.train_mb for text in texts.values()),
            },
            (*samples, "corpora/weigh"),
            (f"corpora/mix/{alpha}.txt",),
        )


def _starter_jobs(packages: list[str]) -> Iterator[Job]:
    folder = "corpora/starter"
    for package in packages:
        archive = {f"package {package}": 1.0}
        yield Job(
            "fetch_starter",
            f"corpora/starter-fetch-{package}",
            archive,
            outputs=(f"{folder}/archives/{package}", f"{folder}/archives/{package}.json"),
            local=True,
        )
        yield Job(
            "extract_starter",
            f"corpora/starter-extract-{package}",
            archive,
            (f"corpora/starter-fetch-{package}",),
            (f"{folder}/messages/{package}.tsv",),
        )
    yield Job(
        "merge_starter",
        "corpora/starter-merge",
        {f"package {package}": 1.0 for package in packages},
        tuple(f"corpora/starter-extract-{package}" for package in packages),
        (f"{folder}/text",),
        local=True,
    )


def _text_jobs(text: Text, source: Resolved) -> Iterator[Job]:
    before: tuple[str, ...] = ()
    if source.starter:
        before = ("corpora/starter-merge",)
    elif source.url:
        before = (f"corpora/download-{source.name}-{text.language}",)
        path = f"corpora/downloads/{source.name}/{text.language}"
        yield Job("download", before[0], {"stored_mb": text.stored_mb}, outputs=(path, f"{path}.json"), local=True)
    yield Job(
        "sample",
        f"corpora/sample-{text.language}",
        {
            "read_mb": text.read_mb,
            "kept_mb": text.kept * text.line_bytes / MB,
            "kept_klines": text.kept / 1000,
        },
        before,
        tuple(f"corpora/{text.language}/{name}" for name in ("train.txt", "heldout.txt", "stats.json")),
    )


def mix_mb(settings: Settings, texts: Mapping[str, Text], alpha: float) -> float:
    """Megabytes of the multilingual text: all training lines, or a sample.

    The ladder reads a line once, SentencePiece as often as it counts. Of a sample each language has its share
    (Equation 3) at its lines' mean length.
    """
    whole = settings.corpora.mix.sentences == "all"
    if whole and settings.vocabularies.engine == "ladder":
        return sum(text.train_mb for text in texts.values())
    by = settings.corpora.weights
    facts = {language.code: language.facts for language in settings.selected()}
    n = [
        text.lines if by == "lines" else text.lines * text.line_bytes if by == "bytes" else float(facts[lang][by])
        for lang, text in texts.items()
    ]
    if not any(n):
        return 0.0
    q = sampling_probabilities(n, alpha)
    if whole:
        trained = [max(int(text.kept - text.heldout), 1) for text in texts.values()]
        lines = trained * line_weights(q, trained)
    else:
        lines = quotas(settings.corpora.mix.sentences, q)
    return float(np.dot(lines, [text.line_bytes for text in texts.values()])) / MB


def vocabularies_jobs(
    settings: Settings, texts: Mapping[str, Text], reached: Mapping[str, list[int]]
) -> Iterator[Job]:
    sizes = settings.vocabularies.sizes
    for lang, text in texts.items():
        folder = f"vocabularies/{lang}"
        pieces = {"points": len(sizes), "pieces_k": sum(reached[lang]) / 1000}
        sample = f"corpora/sample-{lang}"
        if settings.vocabularies.engine == "ladder":
            training = [f"{folder}/ladder"]
            mchars = text.train_mchars
            features = {**pieces, "train_mchars": mchars, "reached_mchars": len(reached[lang]) * mchars}
            yield Job("ladder", training[0], features, (sample,), (f"{folder}/models", f"{folder}/points"))
        else:
            training = [f"{folder}/{size}" for size in sizes]
            for size, name in zip(sizes, training, strict=True):
                features = {"train_mchars": text.train_mchars, "size_k": size / 1000 * (size in reached[lang])}
                outputs = (f"{folder}/models/{size}.model", f"{folder}/points/{size}.tsv")
                yield Job("train", name, features, (sample,), outputs)
        yield Job(
            "curve",
            f"{folder}/curve",
            {**pieces, "train_mb": text.train_mb},
            (*training, sample),
            tuple(f"{folder}/{name}" for name in ("curve.tsv", "characters.tsv", "pieces.npz")),
            local=True,
        )


def allocation_jobs(
    settings: Settings, texts: Mapping[str, Text], reached: Mapping[str, list[int]]
) -> Iterator[Job]:
    """A job for each entry, and before those whose rule reads text one for the trunk that they share."""
    curves = (*(f"vocabularies/{lang}/curve" for lang in reached), "corpora/weigh")
    samples = tuple(f"corpora/sample-{lang}" for lang in texts)
    trunks = set()
    for name, entry in settings.allocation.items():
        taking = [lang for lang in texts if lang not in entry.without]
        features = {"pieces_k": sum(sum(reached[lang]) for lang in taking) / 1000}
        text = {**features, "train_mb": sum(texts[lang].train_mb for lang in taking)}
        trunk = f"allocation/trunks/{entry.trunk}"
        if entry.needs_text and trunk not in trunks:
            trunks.add(trunk)
            yield Job("trunk", trunk, text, (*curves, *samples), (f"{trunk}.npz",), priority=1)
        yield Job(
            "allocate_pieces" if entry.needs_text else "allocate",
            f"allocation/{name}",
            {**(text if entry.needs_text else features), "total_k": entry.total / 1000},
            (*curves, *samples, trunk) if entry.needs_text else curves,
            (f"allocation/{name}",),
            priority=int(entry.needs_text),
        )


def fetch_job(settings: Settings, name: str) -> Job:
    """The download of an entry of `downloads`."""
    entry = settings.downloads[name]
    path = f"corpora/files/{name}/{entry.name}"
    return Job(
        "fetch_file",
        path,
        {"stored_mb": (entry.bytes or 0) / MB},
        outputs=(path, f"{path}.json"),
        local=True,
        like="download",
    )


def is_absent(entry: File, assume: bool) -> bool:
    """Whether a tokenizer from elsewhere is left out: its user has not brought it, and that counts."""
    return entry.path is not None and not (assume or Path(entry.path).exists())


def tokenizers_jobs(settings: Settings, texts: Mapping[str, Text], assume: bool = True) -> Iterator[Job]:
    samples = tuple(f"corpora/sample-{lang}" for lang in texts)
    compared = sum(min(text.kept, max(PARITY_LINES, text.heldout)) for text in texts.values())
    descents = _descents(settings, texts) if settings.vocabularies.engine == "ladder" else {}
    yield from {job.name: job for job in descents.values()}.values()
    made_here = [name for name, entry in settings.tokenizers.items() if not isinstance(entry, File)]
    if made_here:
        yield Job(
            "parity_words",
            "tokenizers/parity-words",
            {"compared_klines": compared / 1000},
            (*(f"vocabularies/{lang}/curve" for lang in texts), *samples),
            ("tokenizers/parity-words.jsonl",),
        )
    for name, entry in settings.tokenizers.items():
        folder = f"tokenizers/{name}"
        made: tuple[str, ...] = ()
        if isinstance(entry, File):
            if is_absent(entry, assume):
                continue  # the workflow goes on without it, and says so
            there = entry.path is not None and Path(entry.path).exists()
            total_k = Path(entry.path).stat().st_size / 20_000 if there else XLMR_ROWS / 1000  # 20 bytes a piece
            if entry.download is not None:
                fetched = fetch_job(settings, entry.download)
                made = (fetched.name,)
                yield fetched
        else:
            total_k = _total(settings, entry) / 1000
            mix = 0.0 if isinstance(entry, Mono) else mix_mb(settings, texts, _alpha(settings, entry))
            picked = isinstance(entry, Joint) and bool(descents)
            rule = "pick_joint" if picked else "fit" if entry.kind == "vocap" else entry.kind
            made = (f"{folder}/{rule}",)
            yield Job(
                rule,
                made[0],
                {"total_k": total_k, "mix_mb": mix},
                (descents[joint_folder(entry)].name,) if picked else _tokenizer_inputs(settings, entry, texts),
                tuple(f"{folder}/{file}" for file in FILES),
                priority=int(entry.kind != "mono" and not picked),
                local=picked or entry.kind == "mono",
            )
            exported = f"{folder}/export"
            yield Job("export", exported, {"total_k": total_k}, made, (f"{folder}/huggingface",))
            yield Job(
                "parity",
                f"{folder}/parity",
                {"total_k": total_k, "compared_klines": compared / 1000},
                (*made, exported, "tokenizers/parity-words", *samples),
                (f"{folder}/parity.tsv",),
            )
        yield Job(
            "evaluate",
            f"{folder}/evaluate",
            {"total_k": total_k, "heldout_mb": sum(text.heldout_mb for text in texts.values())},
            (*made, *samples),
            tuple(f"{folder}/{table}.tsv" for table in ("evaluation", "unknown", "parallel")),
        )
    yield from _diffs(settings, texts)


def _diffs(settings: Settings, texts: Mapping[str, Text]) -> Iterator[Job]:
    """JOINT with VOCAP tokenizers of the same T, on all held-out lines."""
    samples = tuple(f"corpora/sample-{lang}" for lang in texts)
    rule = "pick_joint" if settings.vocabularies.engine == "ladder" else "joint"
    for a, b in compared_pairs(settings.tokenizers, settings.allocation):
        yield Job(
            "diff",
            f"tokenizers/diff/{a}-{b}",
            {
                "total_k": _total(settings, settings.tokenizers[a]) / 1000,
                "heldout_mb": sum(text.heldout_mb for text in texts.values()),
            },
            (f"tokenizers/{a}/{rule}", f"tokenizers/{b}/fit", *samples),
            (f"tokenizers/diff/{a}-{b}",),
        )


def _descents(settings: Settings, texts: Mapping[str, Text]) -> dict[str, Job]:
    """JOINT by the ladder: folder of an entry to the job that fills it, and those of other T too."""
    jobs = {}
    for group in group_by_descent(entry for entry in settings.tokenizers.values() if isinstance(entry, Joint)):
        mix = mix_mb(settings, texts, group[0].alpha)
        features = {"total_k": sum(entry.total for entry in group) / 1000, "mix_mb": mix}
        after = _tokenizer_inputs(settings, group[0], texts)
        outputs = tuple(f"{joint_folder(entry)}/{file}" for entry in group for file in FILES)
        job = Job("joint_descent", descent_name(group), features, after, outputs, priority=1)
        jobs.update({joint_folder(entry): job for entry in group})
    return jobs


def _total(settings: Settings, entry: Vocap | Joint | Mono) -> int:
    if isinstance(entry, Mono):
        return entry.size + 2
    return entry.total if isinstance(entry, Joint) else settings.allocation[entry.allocation].total


def _alpha(settings: Settings, entry: Vocap | Joint) -> float:
    return entry.alpha if isinstance(entry, Joint) else settings.allocation[entry.allocation].alpha


def _tokenizer_inputs(
    settings: Settings, entry: Vocap | Joint | Mono, texts: Mapping[str, Text]
) -> tuple[str, ...]:
    if isinstance(entry, Mono):
        return (f"vocabularies/{entry.language}/curve",)
    read = ["corpora/weigh", *(f"corpora/sample-{lang}" for lang in texts)]
    if settings.corpora.mix.sentences != "all":
        read.append(f"corpora/mix-{_alpha(settings, entry)}")
    return (*([f"allocation/{entry.allocation}"] if isinstance(entry, Vocap) else []), *read)


def report_job(settings: Settings, jobs: list[Job], texts: Mapping[str, Text]) -> Job:
    """It reads what every stage before it made."""
    return Job(
        "report",
        "report/report",
        {
            "points": len(texts) * len(settings.vocabularies.sizes),
            "cells": len(texts) * (len(settings.allocation) + len(settings.tokenizers)),
        },
        tuple(job.name for job in jobs),
        ("report",),
    )
