"""A first configuration for the text of a folder: sections from what it holds, sizes and
T by the amount of text.
"""

import math
import re
import shlex
import textwrap
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import yaml

from vocap.config import Settings, load, place_beside
from vocap.errors import UsageError, VocapError
from vocap.files.io import write_text
from vocap.forecast.texts import check_totals, estimate_texts, reach_of
from vocap.init.language_files import (
    FolderTexts,
    Lines,
    is_uneven,
    listed_volumes,
    measure_lines,
    source_paths,
)
from vocap.languages import Language, default_table
from vocap.storage.remote import is_remote
from vocap.tokenizer_files.programs import OWN_FORMS, check_kinds, cut_for, kinds_for

KINDS, LOSSLESS_KINDS = ("vocap", "pieces", "joint"), ("pieces", "bpe")  # without --kind
LARGEST_SIZE = 50_000  # the largest vocabulary of a language, as in the paper
REACHED_SHARE = 0.5  # of the vocabulary that a language's text can reach, which T counts at most
EACH = 16_000  # ids that T counts at most for a language
LEAST = 2.5  # least T, as a multiple of the distinct characters
TOTALS = (
    300,
    500,
    1000,
    2000,
    4000,
    8000,
    16_000,
    32_000,
    64_000,
    100_000,
    128_000,
    250_000,
    500_000,
)
STEPS = (50, 100, 200, 250, 500, 1000, 1250, 2000, 5000, 10_000)  # between sizes
LARGEST_FINE = 1000  # the largest of them at the bottom
LEAST_SIZES, MOST_SIZES = 10, 50  # of a language, and in all
CERTAIN_SHARE = 0.8  # of an estimated reach, which a measured one hardly falls below

# as in config/generative.yaml
LAYOUT: dict[str, Any] = {
    "special": ["<pad>", {"token": "<|endoftext|>", "role": "eos"}, "<unk>"],
    "mask": False,
    "bos_eos": "none",
    "model_max_length": None,
}
# of a chat model besides, as there
CHAT: dict[str, Any] = {
    "presets": ["chatml", "tools"],
    "chat_template": "chatml",
    "reserved": 32,
    "multiple_of": 128,
    "model_max_length": 32768,
}
HEAD = """\
# Made by `vocap init` for the text of {} languages.
# In the project's root: snakemake --cores all --configfile {}
# An edit reruns the jobs that depend on it. docs/configuration.md has every key.
"""
COMMENTS = {  # above the sections
    "results": "everything that the run makes; ./ is the folder of this file",
    "layout": "for a model that writes: no token around a text, no mask, no longest input",
    "corpora": "Of a source with the key licence, as in `licence: CC BY-SA 4.0`, the cards say it.",
    "vocabularies": "sizes of a language's models; larger ones need more text",
    "allocation": "total: T, all ids; alpha and beta: how languages weigh",
}


def configure(
    path: Path,
    texts: FolderTexts,
    table: Mapping[str, Language],
    *,
    total: int | None = None,
    text: Literal["", "lossless", "chat"] = "",
    kinds: Collection[str] = (),
    programs: Collection[str] = (),
    table_file: Path | None = None,
) -> list[str]:
    """Write the configuration `path` for the text; returns notes on it, a line each.

    `table`: of languages, of the file `table_file`, or the one that ships with vocap.
    `total` None and empty `kinds` are chosen by the text, the kinds also by the `programs`
    (names of `vocap.tokenizer_files.programs`) that load them. `text`: kept as it is, or of
    a chat model, which keeps it too. Raises VocapError for no
    text, UsageError for a kind that the text cannot make, and both as a run would.
    """
    chat, lossless = text == "chat", bool(text)
    check_texts(texts, kinds)
    names = {code: language.name for code, language in table.items() if code in texts.files}
    # measure the text
    code = [language for language in names if table[language].resource == "code"]
    lines = measure_lines(texts, code, lossless)
    corpora = corpora_section(texts, path.parent, table_file)
    usable = {"table": str(default_table()), **place_beside(corpora, path.parent, corpora)}
    settings = Settings.model_validate({"languages": list(names), "corpora": usable})
    amounts = estimate_texts(settings, volumes=listed_volumes(texts, lines))
    reaches = reach_of(amounts)
    megabytes = sum(amount.read_mb for amount in amounts.values())
    # write a configuration that can be used
    distinct = {language: len(one.distinct) for language, one in lines.items()}
    characters = len(frozenset().union(*(one.distinct for one in lines.values())))
    if chat and not kinds:
        kinds = ("bpe",)
    elif programs and not kinds:
        kinds, lossless = kinds_for(programs, lossless or bool(code))
    check_kinds(kinds, lossless or bool(code), programs)
    reason = "kept" if lossless else ", ".join(code)
    if reason:
        characters += 256
    kinds = kinds or (LOSSLESS_KINDS if reason else KINDS)
    writes = lossless or (code and any("bpe" in kind for kind in kinds))
    layout: dict[str, Any] = LAYOUT | (CHAT if chat else {}) if writes else {}
    total = total or choose_total(list(reaches.values()), characters, layout.get("multiple_of", 1))
    uneven = is_uneven(lines.values())
    split = (cut_for(programs) if programs and reason else None) or "words"
    # each configuration of a folder has results of its own
    results = "results" if path.stem == "config" else f"results-{path.stem}"
    config = {
        "results": f"./{results}",
        "languages": list(names),
        "text": {"preset": "lossless"} if reason else None,
        "layout": layout,
        "corpora": corpora,
        "vocabularies": {"sizes": choose_sizes(distinct, reaches)},
        **tokenizer_sections(kinds, total, uneven, texts.without_development(), split, programs),
    }
    config = _given(config)
    check_totals(load({**config, "corpora": usable}), amounts)
    comments = {**COMMENTS, "text": f"as it is, with indentation: {reason}"}
    head = HEAD.format(len(names), shlex.quote(str(path)))
    write_text(path, head + configuration_text(config, comments))
    notes = language_notes(names, reaches, lines)
    notes += text_notes(texts, code)
    return [*notes, f"{path}: {len(names)} languages, {megabytes:,.1f} MB, T {total:,}"]


def check_texts(texts: FolderTexts, kinds: Collection[str]) -> None:
    """Raise VocapError for no text, UsageError for a kind that the text cannot make."""
    if not texts.files:
        raise VocapError(
            f"{texts.folder}: no text of a known language that can be read; name files or "
            "folders by language, as de.txt or german.txt"
        )
    if "parity-bpe" in kinds and "development" not in texts.parallel:
        raise UsageError(
            "kind parity-bpe follows parallel text: give DIR/dev/de.txt ... on this machine"
        )


def text_notes(texts: FolderTexts, code: Collection[str]) -> list[str]:
    """What code does not learn, and the parallel text."""
    notes = [
        f"{language}: line ends are learnt from records alone (JSON Lines, Parquet: documents: "
        "true)"
        for language in code
        if not texts.layouts[language].documents
    ]
    return notes + [f"{key}: {pattern}" for key, pattern in texts.parallel.items()]


def language_notes(
    names: Mapping[str, str], reaches: Mapping[str, float], lines: Mapping[str, Lines]
) -> list[str]:
    """What the text of each language is enough for."""
    return [
        f"{language}  {name}: text for {min(reaches[language], LARGEST_SIZE):,.0f} pieces, "
        f"{lines[language].characters:,.0f} characters a line"
        for language, name in names.items()
    ]


def choose_sizes(characters: Mapping[str, int], reaches: Mapping[str, float]) -> list[int]:
    """Sizes of the languages' vocabularies, up to the largest that the language with most
    text can reach; by language the distinct characters, and the pieces that its text reaches.

    Steps at the bottom are so fine that each language has `LEAST_SIZES` or more between the
    two, where these have room for them; above, so coarse that all are at most `MOST_SIZES`.

    >>> sizes = choose_sizes({"ka": 60, "en": 90}, {"ka": 3700, "en": 90_000})
    >>> sizes[:3], sizes[-2:], sum(size < 3700 for size in sizes), len(sizes)
    ([250, 500, 750], [48750, 50000], 11, 49)
    """
    sizes, step = [0], STEPS[0]
    for language, reach in sorted(reaches.items(), key=lambda item: item[1]):
        least, most = characters[language], min(CERTAIN_SHARE * reach, LARGEST_SIZE)
        needed = LEAST_SIZES - sum(least < size <= most for size in sizes)
        start = max(least, sizes[-1])
        room = (most - start) / max(needed + 1, 1)
        if needed > 0 and room >= STEPS[0] and len(sizes) <= MOST_SIZES - 2 * LEAST_SIZES:
            step = max(one for one in STEPS if one <= min(room, LARGEST_FINE))
            end = start // step + needed + 2
            sizes += [step * place for place in range(start // step + 1, end)]
    top = max(int(min(max(reaches.values()), LARGEST_SIZE)), 4 * step)
    rest = (top - sizes[-1]) / max(MOST_SIZES + 1 - len(sizes), 1)
    step = next(one for one in STEPS if one >= max(rest, step))
    sizes += [step * place for place in range(sizes[-1] // step + 1, top // step + 1)]
    return sizes[1:]


def choose_total(reaches: Sequence[float], characters: int, multiple: int = 1) -> int:
    """T: half of the pieces that the languages can reach, at most 16,000 of each, and
    enough for their characters, rounded up to a multiple.

    >>> choose_total([5000], 80), choose_total([90_000] * 3, 400), choose_total([3000], 3000)
    (2000, 32000, 8000)
    """
    wanted = max(sum(min(REACHED_SHARE * reach, EACH) for reach in reaches), TOTALS[0])
    total = max(total for total in TOTALS if total <= wanted)
    least = next((total for total in TOTALS if total >= LEAST * characters), TOTALS[-1])
    return math.ceil(max(total, least) / multiple) * multiple


def corpora_section(texts: FolderTexts, folder: Path, table_file: Path | None) -> dict[str, Any]:
    """The section `corpora` of a configuration in `folder`: sources that together have
    every language once, the usual one first.

    Paths in that folder begin with ./, others are absolute.
    """

    def placed(path: str) -> str:
        below = not is_remote(path) and Path(path).is_relative_to(folder)
        return f"./{Path(path).relative_to(folder)}" if below else path

    entries: dict[str, dict[str, Any]] = {}
    users: dict[str, list[str]] = defaultdict(list)
    for language, layout in texts.layouts.items():
        said = {file.said for file in texts.files[language]}
        paths = list(map(placed, source_paths(texts.folder, texts.files[language], len(said) == 1)))
        keys = {
            "path": paths[0] if len(paths) == 1 else paths,
            "format": layout.format if layout.kind != "text" else None,
            "split_sentences": layout.split_sentences,
            "documents": layout.documents,
        }
        entry = _given(keys)
        name = repr(entry)
        users[name].append(language)
        entries.setdefault(name, entry)
        if len(said) == 1 and said != {language}:
            entries[name].setdefault("codes", {})[language] = said.pop()
    named = sorted(entries, key=lambda name: -len(users[name]))
    labels = {name: f"mine-{number}" for number, name in enumerate(named, 1)}
    labels[named[0]] = "mine"
    section = {
        "table": table_file and placed(str(table_file.resolve())),
        "source": "mine",
        "languages": {code: labels[name] for name in named[1:] for code in users[name]},
        "sources": {labels[name]: entries[name] for name in named},
        "weights": "bytes" if any(one.documents for one in texts.layouts.values()) else None,
        **{key: placed(pattern) for key, pattern in texts.parallel.items()},
    }
    return _given(section)


def _given(keys: Mapping[str, Any]) -> dict[str, Any]:
    """Those with a value."""
    return {key: value for key, value in keys.items() if value}


def tokenizer_sections(
    kinds: Collection[str],
    total: int,
    per_character: bool,
    lacking: Sequence[str] = (),
    split: str = "words",
    programs: Collection[str] = (),
) -> dict[str, Any]:
    """The sections `allocation`, which may be empty, and `tokenizers`: one of each kind,
    of `total` ids.

    `lacking`: languages without development text, which parity needs. `split`: the cut of
    byte-pair encoding. `programs`: those that load them, of which some have forms of their own.
    """
    short = f"{total // 1000}k" if total % 1000 == 0 else str(total)
    weighed = {"total": total} | ({"per": "character"} if per_character else {})
    allocations: dict[str, dict[str, Any]] = {}
    tokenizers: dict[str, dict[str, Any]] = {}
    for kind in kinds:
        name = f"{kind}-{short}"
        tokenizers[name] = {"kind": kind, **weighed}
        if kind in ("vocap", "pieces"):
            allocations[name] = {**weighed, **({"rule": "pieces"} if kind == "pieces" else {})}
            tokenizers[name] = {"kind": "vocap", "allocation": name}
        if kind == "parity-bpe":
            tokenizers[name] |= {"from": total // 2, "window": 100}
            tokenizers[name] |= {"without": list(lacking)} if lacking else {}
        if kind.endswith("bpe") and split != "words":
            tokenizers[name]["split"] = split
        if forms := [form for program, form in OWN_FORMS.items() if program in programs]:
            tokenizers[name]["export"] = forms
    return {"allocation": allocations, "tokenizers": tokenizers}


def configuration_text(config: Mapping[str, Any], comments: Mapping[str, str]) -> str:
    """The sections in YAML, each below its comment."""

    def commented(match: re.Match[str]) -> str:
        lines = [
            textwrap.fill(line, 98, initial_indent="# ", subsequent_indent="#   ")
            for line in comments.get(match[1], "").splitlines()
        ]
        return "\n".join(["", *lines, match[0]])

    text = yaml.safe_dump(
        config, sort_keys=False, allow_unicode=True, width=1000, default_flow_style=None
    )
    return re.sub(r"(?m)^(\w+):", commented, text)
