"""`vocap init`: a first configuration, sections from what a folder holds, sizes and T
by the amount of text.
"""

import json
import shlex
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click
import yaml

from vocap.config import Settings, load
from vocap.errors import UsageError, VocapError
from vocap.files.io import write_text
from vocap.forecast.costs import reach_of, read_costs
from vocap.forecast.texts import check_totals, estimate_texts
from vocap.init import language_files
from vocap.init.language_files import UNEVEN, Lines, Source, is_uneven
from vocap.languages import default_table, read_languages
from vocap.text_files import RECORDS

SHOWN = 20  # files left out that are named
LARGEST = 50_000  # the largest vocabulary of a language, as in the paper
SHARE = 0.5  # of the vocabulary that a language's text can reach, which T counts at most
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
KINDS = ("vocap", "joint", "pieces", "bpe", "parity-bpe")


def choose_sizes(reach: float) -> str:
    """Sizes of the languages' vocabularies, up to the largest that the language with
    most text can reach.

    >>> choose_sizes(800), choose_sizes(12_700), choose_sizes(90_000)
    ('100:800:100', '1000:12000:1000', '1000:50000:1000')
    """
    step = next((step for least, step in STEPS if reach >= least), 100)
    top = max(4 * step, int(min(reach, LARGEST)) // step * step)
    return f"{step}:{top}:{step}"


def choose_total(reaches: Sequence[float], characters: int) -> int:
    """T: half of the pieces that the languages can reach, at most 16,000 of each, and
    enough for their characters.

    >>> choose_total([5000], 80), choose_total([90_000] * 3, 400), choose_total([3000], 3000)
    (2000, 32000, 8000)
    """
    wanted = max(sum(min(SHARE * reach, EACH) for reach in reaches), TOTALS[0])
    total = max(total for total in TOTALS if total <= wanted)
    return max(total, next((total for total in TOTALS if total >= LEAST * characters), TOTALS[-1]))


def corpora_section(
    sources: Sequence[Source], table: str | None, parallel: Mapping[str, str]
) -> dict[str, Any]:
    """The section `corpora` of a configuration: others than the usual source by
    language.
    """
    labels = ["mine"] + [f"mine-{number}" for number in range(2, len(sources) + 1)]
    named = dict(zip(labels, sources, strict=True))
    usual = max(named, key=lambda label: len(named[label].codes))
    others = {code: label for label in labels if label != usual for code in named[label].codes}
    section: dict[str, Any] = {}
    if table:
        section["table"] = table
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


def describe_folder(
    path: Path, table_file: Path | None, total: int | None, lossless: bool, kinds: Sequence[str]
) -> Iterator[str]:
    """Write the configuration `path` for the text beside it; yields lines for the terminal.

    `total` None and empty `kinds` are chosen by the text. Raises UsageError and
    VocapError, as a run would.
    """
    # find the texts
    folder, table = path.parent, read_languages(table_file)
    files, left_out = language_files.find_files(folder, table)
    files, parallel, others = language_files.take_parallel(files)
    chosen, more = language_files.by_language(files)
    left_out |= others | more
    yield from (f"left out: {name}: {reason}" for name, reason in list(left_out.items())[:SHOWN])
    if len(left_out) > SHOWN:
        yield f"left out: {len(left_out) - SHOWN} files more"
    if not chosen:
        raise VocapError(
            f"{folder}: no text of a known language; name files by language, as de.txt or "
            "german.txt"
        )
    if "parity-bpe" in kinds and "development" not in parallel:
        raise UsageError(
            f"--kind parity-bpe follows parallel text: give {folder}/dev/de.txt, dev/en.txt ..."
        )
    names = {code: language.name for code, language in table.items() if code in chosen}
    # measure them
    code = [language for language in names if table[language].resource == "code"]
    lossless = lossless or bool(code)
    before, after = language_files.measure(chosen, code)
    sources = language_files.group(chosen)
    corpora = corpora_section(sources, str(table_file.resolve()) if table_file else None, parallel)
    usable = {"table": str(default_table()), **corpora}
    texts = estimate_texts(Settings.model_validate({"languages": list(names), "corpora": usable}))
    reaches = reach_of(texts, read_costs())
    characters = (
        len(frozenset().union(*(lines.distinct for lines in after.values()))) + 256 * lossless
    )
    total = total or choose_total(list(reaches.values()), characters)
    # write a configuration that can be used
    megabytes = sum(text.read_mb for text in texts.values())
    written = write_configuration(
        folder,
        names,
        corpora,
        comments=line_comments(megabytes, before, after),
        sizes=choose_sizes(max(reaches.values())),
        total=total,
        kinds=kinds or (("pieces", "bpe") if lossless else ("pieces", "joint")),
        lossless=", ".join(code) or "--lossless" if lossless else "",
        per_character=is_uneven(after.values()),
    )
    settings = load({**yaml.safe_load(written), "corpora": usable})
    check_totals(settings, texts)
    write_text(path, written)
    for language, name in names.items():
        pieces, length = min(reaches[language], LARGEST), after[language].characters
        yield f"{language}  {name}: text for {pieces:,.0f} pieces, {length:,.0f} characters a line"
    for language in code:
        if chosen[language][0].layout.kind not in RECORDS:
            yield (
                f"{language}: line ends are learnt from records alone (JSON Lines, Parquet: "
                "documents: true)"
            )
    yield from (f"{key}: {pattern}" for key, pattern in parallel.items())
    yield f"{path}: {len(names)} languages, {megabytes:,.1f} MB, T {total:,}"


def write_configuration(
    folder: Path,
    names: Mapping[str, str],
    corpora: dict[str, Any],
    comments: str,
    sizes: str,
    total: int,
    kinds: Sequence[str],
    lossless: str,
    per_character: bool,
) -> str:
    """The text of `folder/config.yaml`; `names`: code to name of every language, in the
    order of the table.

    `comments`: on the text; `lossless`: why it is kept as it is, empty where it is not.
    """
    short = f"{total // 1000}k" if total % 1000 == 0 else str(total)
    title = ", ".join(names.values()) if len(names) <= 4 else f"{len(names)} languages"
    text = (
        f"\ntext: {{preset: lossless}}  # as it is, with indentation: {lossless}\n"
        if lossless
        else ""
    )
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
        tokenizers += f"  {name}: {{{keys}}}\n"
    if allocations:
        allocations = (
            "allocation:  # total: T, all ids; alpha and beta: how languages "
            f"weigh\n{allocations}\n"
        )
    return f"""# Made by `vocap init` for the text of {len(names)} languages.
# In the project's root: snakemake --cores all --configfile {folder / "config.yaml"}
# An edit reruns the jobs that depend on it. docs/configuration.md has every key.
results: {quoted(str(folder / "results"))}  # everything that the run makes
languages: [{", ".join(map(quoted, names))}]
{text}
{comments}
# Of sources with the key licence, as in `licence: CC BY-SA 4.0`, the tokenizers' \
model cards say it.
{yaml.safe_dump({"corpora": corpora}, sort_keys=False, allow_unicode=True, width=1000)}
vocabularies:
  sizes: {quoted(sizes)}  # of a language's models; larger ones need more text

{allocations}tokenizers:
{tokenizers}
report:
  title: {quoted(f"Tokenizers for {title}")}
"""


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option(
    "--total", type=click.IntRange(2), help="T, every id counted.  [default: by the amount of text]"
)
@click.option(
    "--lossless",
    is_flag=True,
    help="Text as it is, for generative models; so it is where code is found.",
)
@click.option(
    "--kind",
    "kinds",
    multiple=True,
    type=click.Choice(KINDS),
    help="Tokenizer to make; may be repeated.  [default: pieces and joint; of lossless text "
    "pieces and bpe]",
)
@click.option(
    "--languages-table",
    type=click.Path(path_type=Path),
    help="Table of languages  [default: the one that ships with vocap]",
)
def init(
    folder: Path,
    total: int | None,
    lossless: bool,
    kinds: tuple[str, ...],
    languages_table: Path | None,
) -> None:
    """Write DIR/config.yaml for the text files in DIR and its folders.

    Languages come from the names of files or folders (de.txt, german.txt,
    deu_Latn.jsonl.gz, de/part-1.txt), formats from their endings, the sizes of
    vocabularies and of the tokenizer from the amount of text. Where mean lines of
    languages differ by 2 or more, paragraphs are cut, or characters weighed.
    Translations in files such as parallel/de.txt, of equal numbers of lines, are what
    tokenizers are compared on. A config.yaml that is there stays. Run it with:
    snakemake --cores all --configfile DIR/config.yaml
    """
    if not folder.is_dir():
        raise UsageError(f"{folder}: no such folder; name the one that holds your text")
    path = folder.resolve() / "config.yaml"
    if path.exists():
        raise UsageError(f"{path}: there is a configuration already; edit it, or move it away")
    for line in describe_folder(
        path, languages_table, total, lossless, tuple(dict.fromkeys(kinds))
    ):
        click.echo(line, err=True)
    click.echo(f"snakemake --cores all --configfile {shlex.quote(str(path))}")
