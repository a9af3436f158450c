"""A first configuration for the text of a folder: sections from what it holds, sizes and
T by the amount of text.
"""

import json
import shlex
import textwrap
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from vocap.config import Settings, load
from vocap.errors import UsageError, VocapError
from vocap.files.io import write_text
from vocap.forecast.costs import reach_of, read_costs
from vocap.forecast.texts import check_totals, estimate_texts
from vocap.init.language_files import (
    UNEVEN,
    FolderSource,
    FolderTexts,
    Lines,
    group,
    is_uneven,
    listed_volumes,
    measure_lines,
)
from vocap.languages import Language, default_table
from vocap.text_files import RECORDS

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
# from so many pieces, sizes in such steps; below, of 100
STEPS = (
    (10_000, 1000),
    (4000, 500),
    (1500, 200),
)

quoted = partial(json.dumps, ensure_ascii=False)  # JSON's texts and maps are YAML too


def configure(
    path: Path,
    texts: FolderTexts,
    table: Mapping[str, Language],
    *,
    total: int | None = None,
    lossless: bool = False,
    kinds: Collection[str] = (),
    table_file: Path | None = None,
) -> list[str]:
    """Write the configuration `path` for the text; returns notes on it, a line each.

    `table`: of languages, of the file `table_file`, or the one that ships with vocap.
    `total` None and empty `kinds` are chosen by the text. Raises VocapError for no
    text, UsageError for a kind that the text cannot make, and both as a run would.
    """
    if not texts.files:
        raise VocapError(
            f"{texts.folder}: no text of a known language that can be read; name files or "
            "folders by language, as de.txt or german.txt"
        )
    if "parity-bpe" in kinds and "development" not in texts.parallel:
        raise UsageError(
            "--kind parity-bpe follows parallel text: give DIR/dev/de.txt ... on this machine"
        )
    names = {code: language.name for code, language in table.items() if code in texts.files}
    # measure the text
    code = [language for language in names if table[language].resource == "code"]
    before, after = measure_lines(texts.files, code)
    corpora = corpora_section(group(texts.files), table_file, texts.parallel)
    usable = {"table": str(default_table()), **corpora}
    settings = Settings.model_validate({"languages": list(names), "corpora": usable})
    amounts = estimate_texts(settings, volumes=listed_volumes(texts.files, after))
    reaches = reach_of(amounts, read_costs())
    megabytes = sum(amount.read_mb for amount in amounts.values())
    # write a configuration that can be used
    characters = len(frozenset().union(*(lines.distinct for lines in after.values())))
    reason = ", ".join(code) or ("--lossless" if lossless else "")
    if reason:
        characters += 256
    kinds = kinds or (LOSSLESS_KINDS if reason else KINDS)
    total = total or choose_total(list(reaches.values()), characters)
    written = configuration_text(
        path,
        names,
        corpora,
        comments=line_comments(megabytes, before, after),
        sizes=choose_sizes(max(reaches.values())),
        stages=tokenizer_sections(
            kinds, total, is_uneven(after.values()), texts.without_development()
        ),
        lossless=reason,
    )
    check_totals(load({**yaml.safe_load(written), "corpora": usable}), amounts)
    write_text(path, written)
    notes = language_notes(names, reaches, after)
    notes += [
        f"{language}: line ends are learnt from records alone (JSON Lines, Parquet: documents: "
        "true)"
        for language in code
        if texts.files[language][0].layout.kind not in RECORDS
    ]
    notes += [f"{key}: {pattern}" for key, pattern in texts.parallel.items()]
    return [*notes, f"{path}: {len(names)} languages, {megabytes:,.1f} MB, T {total:,}"]


def language_notes(
    names: Mapping[str, str], reaches: Mapping[str, float], lines: Mapping[str, Lines]
) -> list[str]:
    """What the text of each language is enough for, and the warnings of its lines."""
    notes = []
    for language, name in names.items():
        pieces, length = min(reaches[language], LARGEST_SIZE), lines[language].characters
        notes.append(
            f"{language}  {name}: text for {pieces:,.0f} pieces, {length:,.0f} characters a line"
        )
        notes += [f"{language}: {warning}" for warning in lines[language].warnings]
    return notes


def choose_sizes(reach: float) -> str:
    """Sizes of the languages' vocabularies, up to the largest that the language with
    most text can reach.

    >>> choose_sizes(800), choose_sizes(12_700), choose_sizes(90_000)
    ('100:800:100', '1000:12000:1000', '1000:50000:1000')
    """
    step = next((step for least, step in STEPS if reach >= least), 100)
    top = max(4 * step, int(min(reach, LARGEST_SIZE)) // step * step)
    return f"{step}:{top}:{step}"


def choose_total(reaches: Sequence[float], characters: int) -> int:
    """T: half of the pieces that the languages can reach, at most 16,000 of each, and
    enough for their characters.

    >>> choose_total([5000], 80), choose_total([90_000] * 3, 400), choose_total([3000], 3000)
    (2000, 32000, 8000)
    """
    wanted = max(sum(min(REACHED_SHARE * reach, EACH) for reach in reaches), TOTALS[0])
    total = max(total for total in TOTALS if total <= wanted)
    return max(total, next((total for total in TOTALS if total >= LEAST * characters), TOTALS[-1]))


def corpora_section(
    sources: Sequence[FolderSource], table_file: Path | None, parallel: Mapping[str, str]
) -> dict[str, Any]:
    """The section `corpora` of a configuration: others than the usual source by
    language.
    """
    labels = ["mine"] + [f"mine-{number}" for number in range(2, len(sources) + 1)]
    named = dict(zip(labels, sources, strict=True))
    usual = max(named, key=lambda label: len(named[label].codes))
    others = {code: label for label in labels if label != usual for code in named[label].codes}
    section: dict[str, Any] = {}
    if table_file:
        section["table"] = str(table_file.resolve())
    section["source"] = usual
    if others:
        section["languages"] = others
    section["sources"] = {label: source.entry() for label, source in named.items()}
    if any(source.layout.documents for source in sources):
        section["weights"] = "bytes"
    return section | dict(parallel)


def line_comments(megabytes: float, before: Mapping[str, Lines], after: Mapping[str, Lines]) -> str:
    """Comments on the mean line of every language, as it is read, and what follows from
    them.
    """
    longest = sorted(after, key=lambda language: -after[language].compressed)
    figures = [
        f"{code} {after[code].characters:.0f} ({after[code].compressed:.0f})" for code in longest
    ]
    words = [
        f"{megabytes:,.1f} MB. Mean lines in characters (and in bytes under bzip2): "
        f"{', '.join(figures)}."
    ]
    if cut := [
        f"{code} {lines.characters:.0f}"
        for code, lines in before.items()
        if after[code] is not lines
    ]:
        words.append(
            f"Lines differed by {UNEVEN} or more; split_sentences cuts paragraphs: "
            f"{', '.join(cut)} before."
        )
    if is_uneven(after.values()):
        ratio = after[longest[0]].compressed / after[longest[-1]].compressed
        words.append(
            f"{longest[0]} has {ratio:.1f} times the line of {longest[-1]}: per: character keeps "
            "the length of "
            "lines out of the weights."
        )
    return "\n".join(
        textwrap.fill(one, 116, initial_indent="# ", subsequent_indent="#   ") for one in words
    )


def tokenizer_sections(
    kinds: Collection[str], total: int, per_character: bool, lacking: Collection[str] = ()
) -> str:
    """The sections `allocation`, where it is needed, and `tokenizers`: one of each kind,
    of `total` ids.

    `lacking`: languages without development text, which parity needs.
    """
    short = f"{total // 1000}k" if total % 1000 == 0 else str(total)
    per = ", per: character" if per_character else ""
    allocations, tokenizers = "", ""
    for kind in kinds:
        name, keys = f"{kind}-{short}", f"kind: {kind}, total: {total}{per}"
        if kind in ("vocap", "pieces"):
            rule = ", rule: pieces" if kind == "pieces" else ""
            allocations += f"  {name}: {{total: {total}{rule}{per}}}\n"
            keys = f"kind: vocap, allocation: {name}"
        if kind == "parity-bpe":
            keys += f", from: {total // 2}, window: 100"
            keys += f", without: [{', '.join(map(quoted, lacking))}]" if lacking else ""
        tokenizers += f"  {name}: {{{keys}}}\n"
    if allocations:
        allocations = (
            "allocation:  # total: T, all ids; alpha and beta: how languages "
            f"weigh\n{allocations}\n"
        )
    return f"{allocations}tokenizers:\n{tokenizers}"


def configuration_text(
    path: Path,
    names: Mapping[str, str],
    corpora: Mapping[str, Any],
    *,
    comments: str,
    sizes: str,
    stages: str,
    lossless: str,
) -> str:
    """The text of the file `path`; `names`: code to name of every language, in the
    order of the table.

    `comments`: on the text; `stages`: the sections behind `vocabularies`; `lossless`:
    why the text is kept as it is, empty where it is not.
    """
    # each configuration of a folder has results of its own
    results = "results" if path.stem == "config" else f"results-{path.stem}"
    title = ", ".join(names.values()) if len(names) <= 4 else f"{len(names)} languages"
    text = (
        f"\ntext: {{preset: lossless}}  # as it is, with indentation: {lossless}\n"
        if lossless
        else ""
    )
    return f"""# Made by `vocap init` for the text of {len(names)} languages.
# In the project's root: snakemake --cores all --configfile {shlex.quote(str(path))}
# An edit reruns the jobs that depend on it. docs/configuration.md has every key.
results: {quoted(str(path.parent / results))}  # everything that the run makes
languages: [{", ".join(map(quoted, names))}]
{text}
{comments}
# Of sources with the key licence, as in `licence: CC BY-SA 4.0`, the tokenizers' \
model cards say it.
{yaml.safe_dump({"corpora": corpora}, sort_keys=False, allow_unicode=True, width=1000)}
vocabularies:
  sizes: {quoted(sizes)}  # of a language's models; larger ones need more text

{stages}
report:
  title: {quoted(f"Tokenizers for {title}")}
"""
