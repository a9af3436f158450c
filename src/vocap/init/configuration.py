"""A first configuration: sources from the names of files, sizes and T by the amount of text.

Lines are compared by their bytes under bzip2. In these the longest mean line of the 80 languages of NTREX-128 is
1.4 times the shortest (85 of FLORES-200: 1.5), in plain bytes 3.6 (3.8).
"""

import bz2
import json
import os
import re
import textwrap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from pathlib import Path, PurePath

import yaml

from vocap.config import Settings, load
from vocap.corpora.settings import PROBE_BYTES
from vocap.errors import VocapError, system_error
from vocap.files.atomic import write_text
from vocap.files.paths import COMPRESSED, check_path, expand
from vocap.languages import DOMAINS, Language, default_table, read_languages
from vocap.plan.forecast import reach_of, read_costs
from vocap.plan.texts import check_totals, estimate_texts
from vocap.text_files import KINDS, RECORDS, Layout
from vocap.text_files.lines import count_lines, split_sentences
from vocap.text_files.records import TextFile, detect_file

SHOWN = 20  # files left out that are named
OWN = {"results", "config.yaml"}  # files of this command and of a run
SCRIPT = re.compile(r"[A-Z][a-z]{3}")  # ISO 15924
# Two-letter codes that are English words too: taken only alone, or as the last part of a name (corpus.it.txt).
WORDS = {"am", "as", "be", "he", "id", "is", "it", "la", "my", "no", "or"}
# Codes that are in use and in no column of the table.
OTHERS = {
    "nb": "no",
    "nob": "no",
    "fil": "tl",
    "iw": "he",
    "cmn": "zh",
    "chi": "zh",
    "ger": "de",
    "fre": "fr",
    "dut": "nl",
    "cze": "cs",
    "slo": "sk",
    "gre": "el",
    "per": "fa",
    "rum": "ro",
    "farsi": "fa",
    "arb": "ar",
}
LARGEST = 50_000  # the largest vocabulary of a language, as in the paper
SHARE = 0.5  # of the vocabulary that a language's text can reach, which T counts at most
EACH = 16_000  # ids that T counts at most for a language
LEAST = 2.5  # least T, as a multiple of the distinct characters
TOTALS = (300, 500, 1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 100_000, 128_000, 250_000, 500_000)
STEPS = ((10_000, 1000), (4000, 500), (1500, 200))  # from so many pieces, sizes in such steps; below, of 100

PARALLEL = re.compile(r"(?i)(?<![a-z])(parallel|aligned|ntrex|flores|dev|development)(?![a-z])")  # in a path
DEVELOPMENT = re.compile(r"(?i)(?<![a-z])(dev|development)(?![a-z])")  # that trainers may look at
SAMPLE_BYTES = 1 << 18  # of a language's text, from the beginning of each file
UNEVEN = 2  # longest mean line over the shortest, from which lines are cut or characters counted
PARAGRAPH = 2  # sentences of a mean line, from which it is a paragraph

quoted = partial(json.dumps, ensure_ascii=False)  # JSON's texts and maps are YAML too


@dataclass(frozen=True)
class LanguageFile:
    """A file of one language; `said`: the part of its relative path that names the language."""

    path: Path
    relative: PurePath
    language: str
    said: str
    layout: Layout

    @property
    def pattern(self) -> str:
        """The path with `{lang}` where the language is said, if it is said once."""
        text = str(self.relative)
        parts = re.split(rf"(?<![^\W\d_]){re.escape(self.said)}(?![^\W\d_])", text)
        varies = "{lang}".join(parts) if len(parts) == 2 else text
        return str(self.path.parents[len(self.relative.parts) - 1] / varies)


@dataclass
class Source:
    """An entry of `corpora.sources`: patterns of paths, format, and the languages that it is the source of."""

    paths: tuple[str, ...]
    layout: Layout
    codes: dict[str, str] = field(default_factory=dict)  # language to the text in the place of {lang}

    def entry(self) -> dict:
        """Its keys in a configuration."""
        codes = {code: said for code, said in self.codes.items() if said and said != code}
        return {
            "path": self.paths[0] if len(self.paths) == 1 else list(self.paths),
            **({"codes": codes} if codes else {}),
            **({"format": self.layout.format} if self.layout.kind != "text" else {}),
            **{flag: True for flag in ("split_sentences", "documents") if getattr(self.layout, flag)},
        }


@dataclass(frozen=True)
class Lines:
    """Means of the lines of a language's sample: characters, bytes under bzip2, sentences; and its characters."""

    characters: float
    compressed: float
    sentences: float
    distinct: frozenset[str]

    @classmethod
    def of(cls, files: Sequence[LanguageFile]) -> "Lines":
        """Measure the beginning of each file, so much of it that all together hold about `SAMPLE_BYTES`."""
        share = max(SAMPLE_BYTES // len(files), 1 << 14)
        blocks = []
        for file in files:
            block = next(iter(TextFile(file.path, file.layout, PROBE_BYTES)), b"")
            blocks.append(block[: block.rfind(b"\n", 0, share) + 1] or block)
        sample = b"".join(blocks)
        text, lines = sample.decode(errors="replace"), max(sample.count(b"\n"), 1)
        return cls(
            len(text) / lines,
            len(bz2.compress(sample)) / lines,
            len(split_sentences(text)) / lines,
            frozenset(text),
        )


def is_uneven(lines: Collection[Lines]) -> bool:
    """Whether the longest mean line is `UNEVEN` times as long as the shortest, or more."""
    lengths = [one.compressed for one in lines]
    return max(lengths) >= UNEVEN * min(lengths)


def find_files(folder: Path, table: Mapping[str, Language]) -> tuple[list[LanguageFile], dict[str, str]]:
    """The files of text in `folder` and its folders, and those left out, with the reason.

    Hidden files, `results` and `config.yaml` are skipped.
    """
    names = Names(table)
    found, left_out = [], {}
    for path in map(Path, expand(str(folder))):
        relative = path.relative_to(folder)
        if relative.parts[0] in OWN:
            continue
        try:
            check_path(str(path))
            language = names.of(relative)
            if language is None:
                left_out[str(relative)] = "its name has no language of the table"
            elif relative.name.lower().endswith(".csv"):
                left_out[str(relative)] = "CSV is not read; save it with tabs (.tsv)"
            elif not os.path.getsize(path):
                left_out[str(relative)] = "empty"
            else:
                found.append(LanguageFile(path, relative, *language, detect_file(path)))
        except (OSError, ValueError, VocapError) as error:
            system = system_error(error)
            left_out[str(relative)] = system.strerror if system else str(error).removeprefix(f"{path}: ")
    return found, left_out


def take_parallel(files: Sequence[LanguageFile]) -> tuple[list[LanguageFile], dict[str, str], dict[str, str]]:
    """Files of text, the paths of parallel text by key of `corpora`, and the files left out, with the reason.

    Parallel text has one of `PARALLEL` in its path, a file of lines for each of several languages, named by code,
    with equal numbers of lines, and is not all text of them.
    """
    sets: dict[str, list[LanguageFile]] = {}
    for file in files:
        if file.layout.kind == "text" and "{lang}" in file.pattern and PARALLEL.search(str(file.relative)):
            sets.setdefault(file.pattern, []).append(file)
    found: dict[str, str] = {}
    left_out: dict[str, str] = {}
    texts = list(files)
    for pattern, own in sets.items():
        rest = [file for file in texts if file not in own]
        if len(own) < 2 or not {file.language for file in rest} & {file.language for file in own}:
            continue
        key = "development" if DEVELOPMENT.search(str(own[0].relative)) else "parallel"
        counts = [count_lines(file.path) for file in own]
        for file, lines in zip(own, counts, strict=True):
            if lines != counts[0]:
                reason = f"parallel text has equal numbers of lines, not {lines:,} and {counts[0]:,}"
            elif file.said != file.language:
                reason = f"parallel text is found by code: {file.language} in the place of {file.said}"
            elif found.setdefault(key, pattern) != pattern:
                reason = f"{found[key]} is the {key} text"
            else:
                continue
            left_out[str(file.relative)] = reason
        texts = rest
    return texts, found, left_out


def by_language(files: Iterable[LanguageFile]) -> tuple[dict[str, list[LanguageFile]], dict[str, str]]:
    """The files of every language, all of one format, and those left out, with the reason.

    A language whose files have several formats keeps the one with most bytes.
    """
    kinds: dict[str, dict[Layout, list[LanguageFile]]] = {}
    for file in files:
        kinds.setdefault(file.language, {}).setdefault(file.layout, []).append(file)
    chosen, left_out = {}, {}
    for language, layouts in kinds.items():
        most = max(layouts, key=lambda layout: sum(file.path.stat().st_size for file in layouts[layout]))
        chosen[language] = layouts.pop(most)
        reason = f"{language} has more text as {most.format}; one format a language"
        left_out |= {str(file.relative): reason for others in layouts.values() for file in others}
    return chosen, left_out


def measure(
    chosen: dict[str, list[LanguageFile]], code: Collection[str]
) -> tuple[dict[str, Lines], dict[str, Lines]]:
    """The lines of every language as they are and as they will be read; where uneven, `chosen` cuts paragraphs.

    Records of the languages `code` become documents.
    """
    for language in code:
        if chosen[language][0].layout.kind in RECORDS:
            layout = replace(chosen[language][0].layout, documents=True, split_sentences=False)
            chosen[language] = [replace(file, layout=layout) for file in chosen[language]]
    before = {language: Lines.of(files) for language, files in chosen.items()}
    if not is_uneven(before.values()):
        return before, before
    after = dict(before)
    for language, lines in before.items():
        if lines.sentences >= PARAGRAPH and language not in code:
            layout = replace(chosen[language][0].layout, split_sentences=True)
            chosen[language] = [replace(file, layout=layout) for file in chosen[language]]
            after[language] = Lines.of(chosen[language])
    return before, after


def group(chosen: Mapping[str, Sequence[LanguageFile]]) -> list[Source]:
    """Sources that together have every language once."""
    sources: dict[tuple, Source] = {}
    for language, files in chosen.items():
        said = {file.said for file in files}
        one = said.pop() if len(said) == 1 else ""
        paths = _paths(files, bool(one))
        code = one if all("{lang}" in path for path in paths) else ""
        key = (paths, files[0].layout, "" if code else language)
        source = sources.setdefault(key, Source(paths, files[0].layout))
        source.codes[language] = code
    return list(sources.values())


def _paths(files: Sequence[LanguageFile], varying: bool) -> tuple[str, ...]:
    """The paths of one language's files, with `{lang}` if `varying`; the folder where it holds no other file."""
    in_folder: dict[Path, list[LanguageFile]] = {}
    for file in files:
        in_folder.setdefault(file.path.parent, []).append(file)
    paths = []
    for folder, own in in_folder.items():
        patterns = [file.pattern if varying else str(file.path) for file in own]
        parents = {str(Path(pattern).parent) for pattern in patterns if "{lang}" not in Path(pattern).name}
        whole = len(own) > 1 and len(own[0].relative.parts) > 1
        if whole and len(parents) == 1 and set(expand(str(folder))) == {str(file.path) for file in own}:
            patterns = [*parents]
        paths += patterns
    return tuple(paths)


class Names:
    """Looks up languages of a table by ISO 639 code or English name, in any case."""

    def __init__(self, table: Mapping[str, Language]) -> None:
        self.table = table
        self.scripts = {language.script for language in table.values()} | {"Hant"}
        self.known: dict[str, str] = {name: code for name, code in OTHERS.items() if code in table}
        for code, language in table.items():
            for column in ("name", "iso639_3", "iso639_3_individual"):
                if name := language.facts.get(column, ""):
                    self.known[name.casefold()] = code
        self.known |= {code.casefold(): code for code in table}

    def of(self, path: PurePath) -> tuple[str, str] | None:
        """The code and the part of the path that names it: of the file's name, or of the nearest folder's.

        `path` is relative to the folder of all text. Raises ValueError where names contradict each other, or
        name a script other than the table's.

        Files in a folder of code have names of their own: python/it/de.py is Python.

        >>> from vocap.languages import read_languages
        >>> names = Names(read_languages())
        >>> [names.of(PurePath(path)) for path in ("german.txt", "eng_Latn.jsonl.xz", "hi/1.txt", "notes.txt")]
        [('de', 'german'), ('en', 'eng_Latn'), ('hi', 'hi'), None]
        """
        for part in path.parts[:-1]:
            code = self.known.get(part.casefold())
            if code and self.table[code].resource in DOMAINS:
                return code, part
        for part in (stem(path.name), *reversed(path.parts[:-1])):
            if found := self._of_part(part):
                return found
        return None

    def _of_part(self, part: str) -> tuple[str, str] | None:
        if code := self.known.get(part.casefold()):
            return code, part
        found: dict[str, str] = {}
        words = list(re.finditer(r"[^\W\d_]+", part))
        for number, match in enumerate(words):
            word = match[0]
            code = self.known.get(word.casefold())
            last = number == len(words) - 1
            if code is None or (word.casefold() in WORDS and not last):
                continue
            said = word
            if not last and SCRIPT.fullmatch(script := words[number + 1][0]):
                own = self.table[code].script
                if script in self.scripts and script != own:  # other words of this form are no scripts
                    raise ValueError(f"its name says script {script}; {code} has {own} in the table")
                said = part[match.start() : words[number + 1].end()]
            found.setdefault(code, said)
        if len(found) > 1:
            raise ValueError(f"its name says {' and '.join(found)}")
        return next(iter(found.items()), None)


def stem(name: str) -> str:
    """The name of a file without the endings of its format.

    >>> stem("corpus.de.txt.gz")
    'corpus.de'
    """
    endings = (*COMPRESSED, ".txt", ".text", ".csv", *chain.from_iterable(KINDS.values()))
    while "." in name and name[name.rindex(".") :].lower() in endings:
        name = name[: name.rindex(".")]
    return name


def choose_sizes(reach: float) -> str:
    """Sizes of the languages' vocabularies, up to the largest that the language with most text can reach.

    >>> choose_sizes(800), choose_sizes(12_700), choose_sizes(90_000)
    ('100:800:100', '1000:12000:1000', '1000:50000:1000')
    """
    step = next((step for least, step in STEPS if reach >= least), 100)
    top = max(4 * step, int(min(reach, LARGEST)) // step * step)
    return f"{step}:{top}:{step}"


def choose_total(reaches: Sequence[float], characters: int) -> int:
    """T: half of the pieces that the languages can reach, at most 16,000 of each, and enough for their characters.

    >>> choose_total([5000], 80), choose_total([90_000] * 3, 400), choose_total([3000], 3000)
    (2000, 32000, 8000)
    """
    wanted = max(sum(min(SHARE * reach, EACH) for reach in reaches), TOTALS[0])
    total = max(total for total in TOTALS if total <= wanted)
    return max(total, next((total for total in TOTALS if total >= LEAST * characters), TOTALS[-1]))


def corpora_section(sources: Sequence[Source], table: str | None, parallel: Mapping[str, str]) -> dict:
    """The section `corpora` of a configuration: others than the usual source by language."""
    labels = ["mine"] + [f"mine-{number}" for number in range(2, len(sources) + 1)]
    named = dict(zip(labels, sources, strict=True))
    usual = max(named, key=lambda label: len(named[label].codes))
    others = {code: label for label in labels if label != usual for code in named[label].codes}
    return {
        **({"table": table} if table else {}),
        "source": usual,
        **({"languages": others} if others else {}),
        "sources": {label: source.entry() for label, source in named.items()},
        **({"weights": "bytes"} if any(source.layout.documents for source in sources) else {}),
        **parallel,
    }


def line_comments(megabytes: float, before: Mapping[str, Lines], after: Mapping[str, Lines]) -> str:
    """Comments on the mean line of every language, as it is read, and what follows from them."""
    longest = sorted(after, key=lambda language: -after[language].compressed)
    figures = [f"{code} {after[code].characters:.0f} ({after[code].compressed:.0f})" for code in longest]
    words = [f"{megabytes:,.1f} MB. Mean lines in characters (and in bytes under bzip2): {', '.join(figures)}."]
    if cut := [f"{code} {lines.characters:.0f}" for code, lines in before.items() if after[code] is not lines]:
        words.append(
            f"Lines differed by {UNEVEN} or more; split_sentences cuts paragraphs: {', '.join(cut)} before."
        )
    if is_uneven(after.values()):
        ratio = after[longest[0]].compressed / after[longest[-1]].compressed
        words.append(
            f"{longest[0]} has {ratio:.1f} times the line of {longest[-1]}: allocations take per: character, "
            "which keeps the length of lines out of the weights."
        )
    return "\n".join(textwrap.fill(one, 116, initial_indent="# ", subsequent_indent="#   ") for one in words)


def describe_folder(
    path: Path, table_file: Path | None, total: int | None, lossless: bool, kinds: Sequence[str]
) -> Iterator[str]:
    """Write the configuration `path` for the text beside it; yields lines for the terminal.

    `total` None and empty `kinds` are chosen by the text. Raises UsageError and VocapError, as a run would.
    """
    # find the texts
    folder, table = path.parent, read_languages(table_file)
    files, left_out = find_files(folder, table)
    files, parallel, others = take_parallel(files)
    chosen, more = by_language(files)
    left_out |= others | more
    yield from (f"left out: {name}: {reason}" for name, reason in list(left_out.items())[:SHOWN])
    if len(left_out) > SHOWN:
        yield f"left out: {len(left_out) - SHOWN} files more"
    if not chosen:
        raise VocapError(f"{folder}: no text of a known language; name files by language, as de.txt or german.txt")
    names = {code: language.name for code, language in table.items() if code in chosen}
    # measure them
    code = [language for language in names if table[language].resource == "code"]
    lossless = lossless or bool(code)
    before, after = measure(chosen, code)
    sources = group(chosen)
    corpora = corpora_section(sources, str(table_file.resolve()) if table_file else None, parallel)
    usable = {"table": str(default_table()), **corpora}
    texts = estimate_texts(Settings.model_validate({"languages": list(names), "corpora": usable}))
    reaches = reach_of(texts, read_costs())
    characters = len(frozenset().union(*(lines.distinct for lines in after.values()))) + 256 * lossless
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
            yield f"{language}: line ends are learnt from records alone (JSON Lines, Parquet: documents: true)"
    yield from (f"{key}: {pattern}" for key, pattern in parallel.items())
    yield f"{path}: {len(names)} languages, {megabytes:,.1f} MB, T {total:,}"


def write_configuration(
    folder: Path,
    names: Mapping[str, str],
    corpora: dict,
    comments: str,
    sizes: str,
    total: int,
    kinds: Sequence[str],
    lossless: str,
    per_character: bool,
) -> str:
    """The text of `folder/config.yaml`; `names`: code to name of every language, in the order of the table.

    `comments`: on the text; `lossless`: why it is kept as it is, empty where it is not.
    """
    short = f"{total // 1000}k" if total % 1000 == 0 else str(total)
    title = ", ".join(names.values()) if len(names) <= 4 else f"{len(names)} languages"
    text = f"\ntext: {{preset: lossless}}  # as it is, with indentation: {lossless}\n" if lossless else ""
    per = ", per: character" if per_character else ""
    allocations, tokenizers = "", ""
    for kind in kinds:
        name, keys = f"{kind}-{short}", f"kind: {kind}, total: {total}"
        if kind in ("vocap", "pieces"):
            rule = ", rule: pieces" if kind == "pieces" else ""
            allocations += f"  {name}: {{total: {total}{rule}{per}}}\n"
            keys = f"kind: vocap, allocation: {name}"
        tokenizers += f"  {name}: {{{keys}}}\n"
    if allocations:
        allocations = f"allocation:  # total: T, all ids; alpha and beta: how languages weigh\n{allocations}\n"
    return f"""# Made by `vocap init` for the text of {len(names)} languages.
# In the project's root: snakemake --cores all --configfile {folder / "config.yaml"}
# An edit reruns the jobs that depend on it. docs/configuration.md has every key.
results: {quoted(str(folder / "results"))}  # everything that the run makes
languages: [{", ".join(map(quoted, names))}]
{text}
{comments}
# Of sources with the key licence, as in `licence: CC BY-SA 4.0`, the tokenizers' model cards say it.
{yaml.safe_dump({"corpora": corpora}, sort_keys=False, allow_unicode=True, width=1000)}
vocabularies:
  sizes: {quoted(sizes)}  # of a language's models; larger ones need more text

{allocations}tokenizers:
{tokenizers}
report:
  title: {quoted(f"Tokenizers for {title}")}
"""
