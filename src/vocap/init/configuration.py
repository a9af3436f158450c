"""A first configuration: sources from the names of files, sizes and T by the amount of text."""

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path, PurePath

import yaml

from vocap.errors import VocapError, system_error
from vocap.files.paths import COMPRESSED, check_path, expand
from vocap.languages import Language
from vocap.text_files import KINDS, Layout
from vocap.text_files.records import detect_file

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
        varies = text.replace(self.said, "{lang}") if text.count(self.said) == 1 else text
        return str(self.path.parents[len(self.relative.parts) - 1] / varies)


@dataclass
class Source:
    """An entry of `corpora.sources`: patterns of paths, format, and the languages that it is the source of."""

    paths: tuple[str, ...]
    format: str
    split_sentences: bool
    codes: dict[str, str] = field(default_factory=dict)  # language to the text in the place of {lang}

    def entry(self) -> dict:
        """Its keys in a configuration."""
        codes = {code: said for code, said in self.codes.items() if said and said != code}
        return {
            "path": self.paths[0] if len(self.paths) == 1 else list(self.paths),
            **({"codes": codes} if codes else {}),
            **({"format": self.format} if self.format != "text" else {}),
            **({"split_sentences": True} if self.split_sentences else {}),
        }


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


def group(files: Iterable[LanguageFile]) -> tuple[list[Source], dict[str, str]]:
    """Sources that together have every language once, and the files left out, with the reason.

    A language whose files have several formats keeps the one with most bytes.
    """
    by_language: dict[str, dict[tuple[str, bool], list[LanguageFile]]] = {}
    for file in files:
        kind = (file.layout.format, file.layout.split_sentences)
        by_language.setdefault(file.language, {}).setdefault(kind, []).append(file)
    sources: dict[tuple, Source] = {}
    left_out = {}
    for language, kinds in by_language.items():
        kind = max(kinds, key=lambda kind: sum(file.path.stat().st_size for file in kinds[kind]))
        for other in kinds.keys() - {kind}:
            reason = f"{language} has more text as {kind[0]}; one format a language"
            left_out |= {str(file.relative): reason for file in kinds[other]}
        chosen = kinds[kind]
        said = {file.said for file in chosen}
        one = said.pop() if len(said) == 1 else ""
        paths = _paths(chosen, bool(one))
        code = one if all("{lang}" in path for path in paths) else ""
        key = (paths, *kind, "" if code else language)
        source = sources.setdefault(key, Source(paths, *kind))
        source.codes[language] = code
    return list(sources.values()), left_out


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

        >>> from vocap.languages import read_languages
        >>> names = Names(read_languages())
        >>> [names.of(PurePath(path)) for path in ("german.txt", "eng_Latn.jsonl.xz", "hi/1.txt", "notes.txt")]
        [('de', 'german'), ('en', 'eng_Latn'), ('hi', 'hi'), None]
        """
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


def corpora_section(sources: Sequence[Source], table: str | None) -> dict:
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
    }


def write_configuration(
    folder: Path, names: Mapping[str, str], corpora: dict, megabytes: float, sizes: str, total: int
) -> str:
    """The text of `folder/config.yaml`; `names`: code to name of every language, in the order of the table."""
    short = f"{total // 1000}k" if total % 1000 == 0 else str(total)
    name, joint = f"mine-{short}", f"joint-{short}"
    title = ", ".join(names.values()) if len(names) <= 4 else f"{len(names)} languages"
    return f"""# Made by `vocap init` from {megabytes:,.1f} MB of text in {len(names)} languages.
# In the project's root: snakemake --cores all --configfile {folder / "config.yaml"}
# An edit reruns the jobs that depend on it. docs/configuration.md has every key.
results: {quoted(str(folder / "results"))}  # everything that the run makes
languages: [{", ".join(map(quoted, names))}]

# Of sources with the key licence, as in `licence: CC BY-SA 4.0`, the tokenizers' model cards say it.
{yaml.safe_dump({"corpora": corpora}, sort_keys=False, allow_unicode=True, width=1000)}
vocabularies:
  sizes: {quoted(sizes)}  # of a language's models; larger ones need more text

allocation:
  {name}: {{total: {total}, rule: pieces}}  # total: the ids of the tokenizer; alpha and beta: how languages weigh

tokenizers:
  {name}: {{kind: vocap, allocation: {name}}}
  {joint}: {{kind: joint, total: {total}}}  # one training on the text of all languages, to compare with

report:
  title: {quoted(f"Tokenizers for {title}")}
"""
