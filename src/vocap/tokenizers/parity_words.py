"""The words of parity: each distinct normalised word once, in place of all the lines that hold it.

A line has the same ids in both forms of a tokenizer if three statements hold:

1. Both normalisers give the same text. This is compared for every line, whole, and does not depend on the
   vocabulary: the result serves every tokenizer with the same normalisers.
2. Both forms encode that text word by word, a word being U+2581 and all up to the next. The export does by its
   pre-tokenizer. SentencePiece does where no piece holds a U+2581 but at its start, U+2581 is a piece itself (a
   word then begins with a known piece, and no run of unknown characters spans two words), and the 32-bit sums of
   scores are exact: a constant added to all paths then changes no comparison in `Model::EncodeOptimized`.
3. Every word has the same ids in both forms.

`is_wordwise` checks the premises of 2. A line outside of them (longer than `LONGEST`, not beginning with U+2581,
with a NUL or a literal special token) is encoded whole, and so is every line with a word that differs. Words are
encoded in lines of up to `LONGEST` characters: by 2, and since only the first piece of a word begins with U+2581,
two such lines have equal ids if and only if all of their words have.
"""

import base64
import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from tokenizers import pre_tokenizers

from vocap.errors import VocapError
from vocap.files.atomic import replacing
from vocap.tokenizer_files.export import WORDS_APART, unknown_in_literals
from vocap.tokenizer_files.id_layout import XLM_R_LAYOUT
from vocap.tokenizer_files.layout import STEP
from vocap.tokenizer_files.model_file import BYTE, CONTROL, NORMAL, UNKNOWN
from vocap.tokenizer_files.normalizer import SPACE
from vocap.tokenizer_files.shadowing import UNKNOWN_PENALTY

LONGEST = 300  # characters of a line that is taken apart into words, and of a line of words
EXACT = 2.0**14  # nats: 32-bit sums of multiples of 2^-10 are exact up to here
HELD = 1_000_000  # distinct words in memory at once; of later ones, some may be written again
LITERALS = tuple(XLM_R_LAYOUT.names)
MODEL_KEYS = {"type", "unk_id", "vocab", "byte_fallback"}

Normalize = Callable[[list[str]], list[str]]


@dataclass(frozen=True)
class Language:
    """Of one language: how many lines are compared, the places among them of those to be encoded whole, and the
    bytes of its two files."""

    lines: int
    whole: list[int]
    size_bytes: list[int]


@dataclass
class Words:
    """A file of words, and the inputs and settings of its making. Its lines of words are read by `word_lines`.

    `normalizer`: the definition in a tokenizer.json; `specification`: SentencePiece's, base64 of the protobuf.
    """

    path: Path
    normalizer: Any
    specification: str
    sample: int | None
    seed: int
    languages: dict[str, Language] = field(default_factory=dict)

    def check(self, corpora: Path, codes: Sequence[str], sample: int | None, seed: int) -> None:
        """Raise VocapError unless it holds the lines of `codes` that parity is to compare."""
        remedy = "run vocap parity-words again"
        if (self.sample, self.seed) != (sample, seed):
            raise VocapError(
                f"{self.path}: words of --sample {self.sample} --seed {self.seed}, not of {sample} and {seed}; "
                f"{remedy}"
            )
        for code in codes:
            if code not in self.languages:
                raise VocapError(f"{self.path}: no words of {code}; {remedy}")
            if self.languages[code].size_bytes != _sizes(corpora / code):
                raise VocapError(f"{self.path}: the text of {code} has changed since; {remedy}")

    def fits(self, proto, pipeline: dict) -> bool:
        """Whether they were normalised as by this model and this export.

        The export may replace a character of literal special tokens at the end (`unknown_in_literals`): no word
        holds one of XLM-R's (`split_words`); one with another literal counts as different, so that its lines are
        encoded whole.
        """
        if self.specification != specification_of(proto):
            return False
        given, steps = pipeline["normalizer"], self.normalizer["normalizers"]
        if given == self.normalizer:
            return True
        last = {"type": "Replace", "pattern": {"Regex": unknown_in_literals(proto)}}
        nested, flat = [self.normalizer], steps
        return given["type"] == "Sequence" and any(
            given["normalizers"] == [*before, last | {"content": given["normalizers"][-1].get("content")}]
            for before in (nested, flat)
        )


def specification_of(proto) -> str:
    """A model's `NormalizerSpec` as text."""
    return base64.b64encode(proto.normalizer_spec.SerializeToString(deterministic=True)).decode("ascii")


def is_wordwise(proto, pipeline: dict) -> bool:
    """Whether SentencePiece's model and an export (`GuardedTokenizer.pipeline`) both encode word by word."""
    scores = np.array([entry.score for entry in proto.pieces if entry.type == NORMAL], np.float64)
    pieces = {entry.piece for entry in proto.pieces if entry.type == NORMAL}
    if SPACE not in pieces or any(SPACE in piece[1:] for piece in pieces):
        return False
    if any(entry.type not in (NORMAL, UNKNOWN, CONTROL, BYTE) for entry in proto.pieces):
        return False
    step = max(UNKNOWN_PENALTY - scores.min(), abs(scores).max())  # the largest change of a sum by one character
    exact = not np.any(scores % STEP) and (LONGEST + 1) * step <= EXACT
    return bool(exact) and _splits_words(pipeline)


def _splits_words(pipeline: dict) -> bool:
    """Whether an export's ids are those of its words, one after the other, if special tokens are text."""
    model, template = pipeline["model"], pipeline["post_processor"]
    alone = template is None or (
        template["type"] == "TemplateProcessing"
        and [entry["Sequence"]["id"] for entry in template["single"] if "Sequence" in entry] == ["A"]
    )
    split = json.loads(pre_tokenizers.Sequence(WORDS_APART).__getstate__())
    special = all(token["special"] and not token["normalized"] for token in pipeline["added_tokens"])
    known = model["type"] == "Unigram" and set(model) <= MODEL_KEYS
    return alone and special and known and pipeline["pre_tokenizer"] == split


def split_words(text: str) -> list[str] | None:
    """The words of a normalised line without their U+2581; None where it is to be encoded whole."""
    if not text:
        return []
    if len(text) > LONGEST or not text.startswith(SPACE) or "\0" in text:
        return None
    if "<" in text and any(token in text for token in LITERALS):
        return None
    return text[1:].split(SPACE)


def join_words(words: Iterable[str]) -> Iterator[str]:
    """Lines of up to `LONGEST` characters of words that have no U+2581 yet."""
    line: list[str] = []
    length = 0
    for word in words:
        if length + len(word) + 1 > LONGEST and line:
            yield SPACE + SPACE.join(line)
            line, length = [], 0
        line.append(word)
        length += len(word) + 1
    if line:
        yield SPACE + SPACE.join(line)


def write_words(
    words: Words,
    blocks: Callable[[Path], Iterable[list[str]]],
    folders: Sequence[Path],
    own: Normalize,
    other: Normalize,
) -> None:
    """Write `words.path`, and fill `words.languages`, from the lines that `blocks` gives of each folder.

    `own` and `other` are the two normalisers. JSON, a value a line: its inputs and settings; lines of words; the
    languages. A word is written once, unless there are more than `HELD`.
    """
    held: set[str] = set()
    with replacing(words.path, "wb") as file:
        file.write(_line({"normalizer": words.normalizer, "specification": words.specification}))
        for folder in folders:
            count, whole = 0, []
            for lines in blocks(folder):
                texts = own(lines)
                for number, (text, same) in enumerate(zip(texts, other(lines), strict=True), start=count):
                    found = split_words(text) if text == same else None
                    if found is None:
                        whole.append(number)
                    else:
                        held.update(found)
                count += len(lines)
                if len(held) > HELD:
                    _write_held(file, held)
            words.languages[folder.name] = Language(count, whole, _sizes(folder))
        _write_held(file, held)
        languages = {code: asdict(language) for code, language in words.languages.items()}
        file.write(_line({"sample": words.sample, "seed": words.seed, "languages": languages}))


def _write_held(file, held: set[str]) -> None:
    # In order: neighbours visit the same nodes of the libraries' tries.
    for line in join_words(sorted(held)):
        file.write(_line(line))
    held.clear()


def read_words(path: str | os.PathLike) -> Words:
    """The inputs and settings of a file of words. Raises VocapError for a file of another kind."""
    try:
        head, last = {}, {}
        for value in _values(path):
            if isinstance(value, dict):
                head, last = head or value, value
        languages = {code: Language(**language) for code, language in last["languages"].items()}
        normalizer, specification = head["normalizer"], head["specification"]
        return Words(Path(path), normalizer, specification, last["sample"], last["seed"], languages)
    except (ValueError, KeyError, TypeError, AttributeError):
        raise VocapError(f"{path}: not a whole file of words; make it with vocap parity-words") from None


def word_lines(path: str | os.PathLike, characters: int = 1 << 18) -> Iterator[list[str]]:
    """Its lines of words, in lists of about `characters`."""
    lines: list[str] = []
    length = 0
    for value in _values(path):
        if isinstance(value, str):
            lines.append(value)
            length += len(value)
            if length > characters:
                yield lines
                lines, length = [], 0
    if lines:
        yield lines


def _values(path: str | os.PathLike) -> Iterator[Any]:
    with open(path, "rb") as file:
        yield from map(orjson.loads, file)


def _line(value: Any) -> bytes:
    return orjson.dumps(value) + b"\n"


def _sizes(folder: Path) -> list[int]:
    return [(folder / name).stat().st_size for name in ("heldout.txt", "train.txt")]
