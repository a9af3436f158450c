"""Aligned text: line i of each language is the translation of line i of the others; an empty line is a gap."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from vocap.errors import UsageError, VocapError
from vocap.text_files.lines import read_blocks, read_lines


def find_aligned(pattern: str, languages: Sequence[str]) -> tuple[dict[str, Path], list[str]]:
    """Language to its file of `pattern`, which holds {lang}; and the languages that have none.

    Raises UsageError for a pattern without {lang}, VocapError where no language has a file.
    """
    if "{lang}" not in pattern:
        raise UsageError(f"{pattern}: no {{lang}} in it; put it in the place of the language code")
    paths = {language: Path(pattern.replace("{lang}", language)) for language in languages}
    found = {language: path for language, path in paths.items() if path.exists()}
    if not found:
        listed = ", ".join(languages) or "the languages"
        raise VocapError(f"{pattern}: no file for any of {listed}; check the path")
    return found, [language for language in languages if language not in found]


def check_aligned(lines: Mapping[str, int], paths: Mapping[str, Path]) -> None:
    """Raise VocapError, naming both files, unless all have as many lines as the first."""
    first = next(iter(lines), None)
    for language, count in lines.items():
        if count != lines[first]:
            raise VocapError(
                f"{paths[first]} has {lines[first]} lines and {paths[language]} has {count}; "
                "parallel files hold the same sentences, one a line: align them or leave one out"
            )


def check_files(pattern: str, languages: Sequence[str]) -> None:
    """Count the lines of the files; raises UsageError and VocapError as `read_aligned`."""
    paths, _ = find_aligned(pattern, languages)
    lines: dict[str, int] = {}
    for language, path in paths.items():
        lines[language] = sum(map(len, read_blocks(path)))
        check_aligned(lines, paths)


def is_gap(line: str) -> bool:
    """Whether a line of aligned text stands for no translation: it is empty, or white space alone."""
    return not line or line.isspace()


def read_aligned(pattern: str, languages: Sequence[str]) -> dict[str, list[str]]:
    """The lines of every language that has a file of `pattern`, equally many for each; "" where one has a gap.

    Files are plain, gzip, xz, zstd or bzip2. Languages without a file are left out. Raises UsageError and
    VocapError as `find_aligned`, and VocapError, naming two files and their counts, for unequal numbers of lines.
    """
    paths, _ = find_aligned(pattern, languages)
    texts: dict[str, list[str]] = {}
    for language, path in paths.items():
        texts[language] = ["" if is_gap(line) else line for line in read_lines(path)]
        check_aligned({code: len(lines) for code, lines in texts.items()}, paths)
    return texts
