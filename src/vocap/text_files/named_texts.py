"""Text named on the command line: languages, files, and their lines block by block."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from vocap.errors import UsageError, VocapError
from vocap.text_files.lines import read_blocks

Texts = dict[str, dict[str, Path]]  # language to part ("train", "heldout", "text") to its file


def read_sentences(path: str | os.PathLike) -> Iterator[list[str]]:
    """The lines of `read_blocks` without the empty ones, and without a byte order mark."""
    mark = "\ufeff"
    for lines in read_blocks(path):
        lines[0] = lines[0].removeprefix(mark)
        mark = ""
        yield [line for line in lines if line]


def parse_languages(codes: str | None, option: str = "--languages") -> list[str] | None:
    """The codes of a comma-separated list; None for None. Raises UsageError for none, or one given twice."""
    if codes is None:
        return None
    chosen = [code.strip() for code in codes.split(",") if code.strip()]
    repeated = sorted({code for code in chosen if chosen.count(code) > 1})
    if not chosen or repeated:
        raise UsageError(
            f"{option} {codes}: {'twice ' + ', '.join(repeated) if repeated else 'no code'}; give each once"
        )
    return chosen


def parse_files(named: Sequence[str], option: str = "--text") -> dict[str, Path]:
    """Language to file of options written LANG=FILE. Raises UsageError for another form, VocapError for no file.

    >>> parse_files([])
    {}
    """
    files: dict[str, Path] = {}
    for entry in named:
        code, equals, path = entry.partition("=")
        if not (equals and code.strip() and path):
            raise UsageError(f"{option} {entry}: write LANG=FILE, as in {option} de=german.txt")
        if code in files:
            raise UsageError(f"{option} {entry}: {code} has {files[code]} already; join the files, or name one")
        files[code] = Path(path)
        check_file(files[code])
    return files


def find_texts(
    named: Sequence[str], corpora: Path | None, languages: Sequence[str] | None, parts: Sequence[str]
) -> Texts:
    """The files of every language: the `parts` ("train", "heldout") of a folder of corpora, and those named.

    A named file is the part `text`, in the place of the folder's. `languages` None takes all that have text.
    Raises UsageError where nothing is named or a language has no text, VocapError for a missing file.
    """
    files = parse_files(named)
    if corpora is None and not files:
        raise UsageError("no text: give --text LANG=FILE (as often as you like), or --corpora FOLDER")
    if corpora is not None and not corpora.is_dir():
        raise VocapError(f"{corpora}: no such folder; --corpora has {{language}}/train.txt and heldout.txt")
    present = sorted(path.parent.name for path in corpora.glob("*/heldout.txt")) if corpora is not None else []
    codes = list(languages) if languages is not None else list(dict.fromkeys([*files, *present]))
    if not codes:
        raise VocapError(f"{corpora}: no {{language}}/heldout.txt in it; run vocap sample first")
    texts: Texts = {}
    for code in codes:
        if code in files:
            texts[code] = {"text": files[code]}
        elif corpora is None:
            raise UsageError(f"language {code} has no text; give --text {code}=FILE, or --corpora FOLDER")
        else:
            texts[code] = {part: corpora / code / f"{part}.txt" for part in parts}
            for path in texts[code].values():
                check_file(path)
    if unused := [code for code in files if code not in texts]:
        raise UsageError(f"--text {unused[0]}={files[unused[0]]}: {unused[0]} is not among --languages")
    return texts


def check_file(path: Path) -> None:
    """Raise VocapError unless there is such a file."""
    if not path.is_file():
        raise VocapError(f"{path}: {'a folder' if path.is_dir() else 'no such file'}; name a file of text")
