"""A text as functions take it: the path of a file, paths of several, or an iterable of
sentences.
"""

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from vocap.errors import UsageError, log
from vocap.files.io import file_sha256
from vocap.storage.listing import list_shards
from vocap.storage.remote import Shard, address_of, is_remote
from vocap.text_files.lines import LineFile, decoded
from vocap.text_files.records import read_blocks

# A str is a path, as a Path is, or a remote one (hf://, s3://, https://); entries of a
# list are paths where they are of the type Path, and sentences where they are of the
# type str, a line each.
Text = str | Path | Sequence[Path] | Iterable[str]
# A folder that holds {language}/train.txt and {language}/heldout.txt, or the text of
# each language.
Texts = str | Path | Mapping[str, Text]

SENTENCES = "sentences"  # the name of such a text in messages
LARGE = 16e9  # bytes of memory from which a training says what it takes
SHORT = 5_000_000  # characters of a text whose lines may be kept
_TOGETHER = 10_000  # sentences that are handed on at a time


class SentenceFile(LineFile):
    """Sentences as the lines of a file, for what reads files by their lines."""

    def __init__(self, sentences: Iterable[str]) -> None:
        super().__init__(SENTENCES)
        self.sentences = sentences

    def blocks(self) -> Iterator[bytes]:
        left = iter(self.sentences)
        while block := list(islice(left, _TOGETHER)):
            for sentence in block:
                if not isinstance(sentence, str):
                    raise UsageError(
                        f"a text is a path, a list of Path, or sentences of type str; "
                        f"{sentence!r:.80} is among the sentences"
                    )
            yield "".join(f"{sentence}\n" for sentence in block).encode("utf-8", "surrogatepass")
        self.ended = True


def text_blocks(text: Text, aligned: bool = False) -> Callable[[], Iterator[list[str]]]:
    r"""A function that reads a text, which may be called as often as the text is needed.

    Parameters
    ----------
    text : Text
        The path of a file, a sequence of `Path` (their lines follow each other), a
        remote path, folder or pattern (listed now), or an iterable of sentences, each a
        line as in a file: without an invalid one, cut at `\n`. Sentences that can be
        iterated once are kept in memory.
    aligned : bool
        Of aligned text, where each line counts: "" for what is dropped.

    Returns
    -------
    function without arguments
        Gives the lines in lists, as `read_blocks` of each file.

    Raises
    ------
    UsageError
        While it is read, for an entry that is neither.
    VocapError
        While it is read, as `read_blocks`; for a remote path as `list_shards`.

    Examples
    --------
    >>> list(text_blocks(["Hello world.", "A line.\r\nAnother."])())
    [['Hello world.', 'A line.', 'Another.']]
    """
    if not isinstance(text, Path | Iterable) or isinstance(text, bytes | Mapping):
        raise UsageError(f"a text is a path, a list of Path, or sentences, not {text!r:.80}")
    kept: Any = repeatable(text)
    if isinstance(kept, str) and "\n" in kept:
        raise UsageError(f"{kept[:40]!r}...: a str is the path of a file; give a list of sentences")
    if isinstance(kept, str) and is_remote(kept):
        kept = list_shards([kept]).shards
    elif isinstance(kept, str | Path):
        return lambda: read_blocks(kept, aligned)
    first = next(iter(kept), None)
    if isinstance(first, str) and os.path.isfile(first):
        raise UsageError(
            f"{first!r} is a file, and a list of str holds sentences; pass pathlib.Path"
        )
    if isinstance(first, Path | Shard):
        return lambda: chain.from_iterable(read_blocks(path, aligned) for path in kept)
    return lambda: decoded(SentenceFile(kept), aligned)


def keep_short(
    read: Callable[[], Iterator[list[str]]],
) -> Callable[[], Iterator[list[str]]]:
    """A reader of the same text, that is read here: of one of at most `SHORT` characters
    the lines are kept, so that it need not be read again.
    """
    kept, total = [], 0
    for lines in read():
        total += sum(map(len, lines))
        if total > SHORT:
            return read
        kept.append(lines)
    return lambda: iter(kept)


def repeatable(text: Text) -> Text:
    """The text; sentences that can be iterated once as a list of them."""
    if isinstance(text, str | Path) or iter(text) is not text:
        return text
    return list(text)


def text_name(text: Text) -> str:
    """The name of a text in messages: its path, or what it consists of.

    >>> text_name("de.txt"), text_name(["Guten Tag."])
    ('de.txt', 'sentences')
    """
    return address_of(text) if isinstance(text, str | Path) else SENTENCES


def text_sha256(text: Text, blocks: Callable[[], Iterator[list[str]]]) -> str:
    """SHA-256 of a file's bytes, or of the lines of any other text, in hexadecimal."""
    if isinstance(text, str | Path):
        return file_sha256(text)
    found = hashlib.sha256()
    for lines in blocks():
        found.update("".join(f"{line}\n" for line in lines).encode("utf-8", "surrogatepass"))
    return found.hexdigest()


def warn_of_memory(
    name: object, texts: Iterable[Text], times: float, limit: int | None = None
) -> None:
    """Log what memory a training on texts takes, `times` the bytes of their files, where
    that is above `LARGE` and the user sets no `limit` (MB); `name`: the text in the
    message.
    """
    if limit is not None:
        return
    paths = [Path(text) for text in texts if isinstance(text, str | Path)]
    memory = times * sum(path.stat().st_size for path in paths if path.is_file())
    if memory > LARGE:
        log.warning(
            "%s: so much text takes about %.0f GB of memory; where there is less, set a limit "
            "(memory), or take fewer lines of each language",
            name,
            memory / 1e9,
        )


def language_text(texts: Texts, language: str) -> Text:
    """The text of a language: its entry in a mapping, or `{language}/train.txt` in a
    folder.

    Raises UsageError for a language that the mapping does not have. A file that is not
    there is an error of its reader.

    >>> language_text({"de": ["Guten Tag."]}, "de")
    ['Guten Tag.']
    """
    if not isinstance(texts, Mapping):
        return Path(texts) / language / "train.txt"
    if language not in texts:
        raise UsageError(f"no text of {language!r}; give one, or leave it out of the weights")
    return texts[language]
