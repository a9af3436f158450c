"""Text named on the command line, language by language: files, their lines, and aligned
text.

Of aligned text line i (or record i) of each language is the translation of line i of
the others; an empty line is a gap, and so is one that is not UTF-8 or holds a NUL.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from vocap.errors import SettingError, UsageError, VocapError, log
from vocap.storage.remote import is_remote
from vocap.text_files.records import read_blocks
from vocap.text_files.text import Text, repeatable, text_blocks, text_name

ENGLISH = "en"  # the reference of parallel text, where it has English
Named = TypeVar("Named", bound=Text)
Parts = dict[str, dict[str, Text]]  # language to part ("train", "heldout", "text") to its text


def read_sentences(text: Text) -> Iterator[list[str]]:
    """The lines of `text_blocks` without the empty ones."""
    return ([line for line in lines if line] for lines in text_blocks(text)())


def parse_languages(codes: str | None) -> list[str] | None:
    """The codes of a comma-separated list; None for None. Raises UsageError for none,
    or one given twice.
    """
    if codes is None:
        return None
    chosen = [code.strip() for code in codes.split(",") if code.strip()]
    repeated = sorted({code for code in chosen if chosen.count(code) > 1})
    if not chosen or repeated:
        found = f"twice {', '.join(repeated)}" if repeated else "no code"
        raise SettingError("languages", f"{codes}: {found}; give each once")
    return chosen


def parse_files(named: Sequence[str], field: str = "text") -> dict[str, Path | str]:
    """Language to file of texts written LANG=FILE, a remote path as it is. Raises
    UsageError, naming the field, for another form, VocapError for no file.

    >>> parse_files([])
    {}
    """
    files: dict[str, Path | str] = {}
    for entry in named:
        code, equals, path = entry.partition("=")
        if not (equals and code.strip() and path):
            raise SettingError(field, f"{entry}: write LANG=FILE, as in de=german.txt")
        if code in files:
            raise SettingError(
                field, f"{entry}: {code} has {files[code]} already; join the files, or name one"
            )
        files[code] = path if is_remote(path) else Path(path)
        if not is_remote(path):
            check_file(Path(path))
    return files


def find_texts(
    named: Mapping[str, Named],
    corpora: Path | None,
    languages: Sequence[str] | None,
    parts: Sequence[str],
) -> dict[str, dict[str, Named | Path]]:
    """The texts of every language: the `parts` ("train", "heldout") of a folder of
    corpora, and those named, by language.

    A named text is the part `text`, in the place of the folder's; each can be read
    again. `languages` None takes all that have text. Raises UsageError where nothing is
    named or a language has no text, VocapError for a missing file.
    """
    files: dict[str, Any] = {code: repeatable(text) for code, text in named.items()}
    if corpora is not None and not corpora.is_dir():
        raise UsageError(f"{corpora}: no such folder; name that of vocap sample")
    paths = [] if corpora is None else corpora.glob("*/heldout.txt")
    present = sorted(path.parent.name for path in paths)
    codes = list(languages) if languages is not None else list(dict.fromkeys([*files, *present]))
    if not codes:
        where = f"{corpora}: no {{language}}/heldout.txt in it" if corpora else "no text"
        raise UsageError(
            f"{where}: give text of each language, or corpora, the folder of vocap sample"
        )
    texts: dict[str, dict[str, Named | Path]] = {}
    for code in codes:
        if code in files:
            texts[code] = {"text": files[code]}
        elif corpora is None:
            raise UsageError(f"language {code} has no text; give text of it, or corpora")
        else:
            texts[code] = {}
            for part in parts:
                texts[code][part] = path = corpora / code / f"{part}.txt"
                check_file(path)
    if unused := [code for code in files if code not in texts]:
        name = text_name(files[unused[0]])
        raise SettingError("text", f"{unused[0]}={name}: {unused[0]} is not among languages")
    return texts


def check_file(path: Path) -> None:
    """Raise VocapError unless there is such a file."""
    if not path.is_file():
        raise VocapError(
            f"{path}: {'a folder' if path.is_dir() else 'no such file'}; name a file of text"
        )


def find_aligned(pattern: str, languages: Sequence[str]) -> tuple[dict[str, Path], list[str]]:
    """Language to its file of `pattern`, which holds {lang}; and the languages that have none.

    Raises UsageError for a pattern without {lang}, VocapError where no language has a
    file.
    """
    if "{lang}" not in pattern:
        raise UsageError(f"{pattern}: no {{lang}} in it; put it in the place of the language code")
    paths = {language: Path(pattern.replace("{lang}", language)) for language in languages}
    found = {language: path for language, path in paths.items() if path.exists()}
    if not found:
        listed = ", ".join(languages) or "the languages"
        raise VocapError(f"{pattern}: no file for any of {listed}; check the path")
    return found, [language for language in languages if language not in found]


def check_aligned(lines: Mapping[str, int], paths: Mapping[str, str | Path]) -> None:
    """Raise VocapError, naming both files, unless all have as many lines as the
    first.
    """
    first = next(iter(lines), "")
    for language, count in lines.items():
        if count != lines[first]:
            raise VocapError(
                f"{paths[first]} has {lines[first]} lines and {paths[language]} has {count}; "
                "parallel files hold the same sentences, one a line: align them or leave one out"
            )


def is_gap(line: str) -> bool:
    """Whether a line of aligned text stands for no translation: it is empty, or white
    space alone.
    """
    return not line.strip()


def read_aligned(pattern: str, languages: Sequence[str]) -> dict[str, list[str]]:
    """The lines of every language that has a file of `pattern`, equally many for each;
    "" where one has a gap.

    Files are those of `read_blocks`. Languages without a file are left out.
    Raises UsageError and VocapError as `find_aligned`, and VocapError, naming two files
    and their counts, for unequal numbers of lines.
    """
    paths, _ = find_aligned(pattern, languages)
    texts: dict[str, list[str]] = {}
    for language, path in paths.items():
        blocks = read_blocks(path, aligned=True)
        texts[language] = ["" if is_gap(line) else line for lines in blocks for line in lines]
    check_aligned({code: len(lines) for code, lines in texts.items()}, paths)
    return texts


def reference_language(parallel: Mapping[str, Sequence[str]]) -> str | None:
    """The language that others are compared with: English, or the one with the most
    lines; None without any.
    """
    if ENGLISH in parallel:
        return ENGLISH
    return max(sorted(parallel), key=lambda code: sum(map(bool, parallel[code])), default=None)


def reference_lines(parallel: Mapping[str, Sequence[str]], language: str) -> tuple[list[str], int]:
    """The lines of `language` that the reference language has too, and the bytes of
    UTF-8 of these in the latter.

    `parallel`: aligned lines by language, empty where one has no translation; none of
    `language` gives ([], 0).

    >>> reference_lines({"en": ["one", "two", ""], "de": ["eins", "", "drei"]}, "de")
    (['eins'], 3)
    """
    reference = reference_language(parallel) or ENGLISH
    pairs = zip(parallel.get(language, ()), parallel.get(reference, ()), strict=False)
    shared = [(own, other) for own, other in pairs if own and other]
    return [own for own, _ in shared], sum(len(other.encode("utf-8")) for _, other in shared)


def read_development(pattern: str, languages: Sequence[str]) -> dict[str, list[str]]:
    """`read_aligned` of text that weights follow, with a line on the log where the
    reference is not English.
    """
    texts = read_aligned(pattern, languages)
    if texts and (reference := reference_language(texts)) != ENGLISH:
        log.warning(
            "%s: no text in %s; the reference is %s, which has most lines",
            pattern,
            ENGLISH,
            reference,
        )
    return texts
