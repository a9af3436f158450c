"""Training text as the trainer sees it (`TrainerInterface::LoadSentences`), and the
characters it must cover.

Blocks of normalised lines for `word_types`; counts of characters; the characters that
must be pieces, of one text and of several languages.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vocap.errors import VocapError
from vocap.tables.sampling_probabilities import sampling_probabilities
from vocap.text_files import MAX_LINE_BYTES
from vocap.text_files.text import Text, text_blocks
from vocap.unigram.plain_lines import PlainLines
from vocap.unigram.text_settings import (
    COVERAGE,
    RESERVED,
    SPACE,
    XLM_R,
    TextSettings,
    trainer_normalizer,
)

SEPARATOR = "\t"  # replaces a meta piece found in the text
LINE_END = " "  # between lines of code points: no normalised line holds a space


def as_read(line: str) -> str:
    """A line as SentencePiece's Python module passes it to the trainer: without
    carriage returns at its end.
    """
    return line.rstrip("\r\n")


def is_trainable(line: str) -> bool:
    """Whether the trainer reads this line: it skips others silently
    (`TrainerInterface::LoadSentences`).

    `line` as `as_read` gives it.
    """
    if not line or RESERVED in line:
        return False
    return len(line) * 4 <= MAX_LINE_BYTES or len(line.encode("utf-8")) <= MAX_LINE_BYTES


@dataclass(frozen=True)
class Sentences:
    """A block of normalised lines, as `code_points` gives them: those that are both
    trained on and encoded, those that are only encoded, and those that are only trained
    on. `lines`: how many there were in the text. `whole`: lines, as they are, with
    user-defined symbols, which are encoded as a whole, or those that stand apart.
    """

    lines: int
    characters: int
    usual: bytearray
    encoded: bytearray
    trained: bytearray
    whole: tuple[str, ...] = ()


def code_points(lines: Iterable[str]) -> bytearray:
    """The code points of lines, int32, each line with LINE_END after it; writable, as
    kernels ask for it.
    """
    return bytearray(
        "".join(f"{line}{LINE_END}" for line in lines).encode("utf-32-le", "surrogatepass")
    )


class Borders:
    """The rows of a model that are no pieces of text; in a training line they are
    borders between words.
    """

    def __init__(self, metas: Sequence[str]):
        longest_first = sorted(metas, key=len, reverse=True)  # as in PrefixMatcher
        self.pattern = re.compile("|".join(map(re.escape, longest_first)))
        # most lines are passed over by it
        self.hint = "<" if all("<" in meta for meta in metas) else ""

    def in_line(self, line: str) -> bool:
        return self.hint in line and self.pattern.search(line) is not None

    def replace(self, line: str) -> str:
        """The line with a separator for each (`PrefixMatcher::GlobalReplace`)."""
        return self.pattern.sub(SEPARATOR, line)


def trained_on(
    blocks: Iterable[list[str]],
    metas: Sequence[str] | None = None,
    settings: TextSettings = XLM_R,
    train: bool = True,
    apart: Sequence[str] = (),
) -> Iterator[Sentences]:
    """Blocks of lines that are trained on and encoded; some are only encoded, some are
    not trained on as they are.

    `metas`: the rows of the model that are no pieces of text, each a border in the
    lines trained on; those of the `settings`, if not given. Without `train` all are
    only encoded. Lines that hold a name of `apart`, or U+2581 in text that is kept as
    it is, are in `whole` alone.
    """
    normalize = trainer_normalizer(settings).normalize
    # `encode` finds user-defined symbols in a line before it is normalised and after
    names = apart or settings.user_defined_symbols
    symbols = Borders(names) if names else None
    metas = settings.meta_pieces if metas is None else metas
    borders = Borders(metas)
    plain = PlainLines(settings, [*metas, *names])
    for lines in blocks:
        usual, trained = [], []
        encoded: list[str] = []
        whole: list[str] = []
        found: bytearray = bytearray()
        others: Sequence[str] = lines
        if train:
            found, others = plain.take(lines, LINE_END)
        for line, text in zip(others, normalize(others), strict=True):
            held = symbols and (symbols.in_line(line) or symbols.in_line(text))
            if apart and (held or (SPACE in line and settings.keeps_text)):
                whole.append(line)
                continue
            read, seen = as_read(line), None
            if train and is_trainable(read):
                seen = text if len(read) == len(line) else normalize(read)
                seen = borders.replace(seen) if borders.in_line(seen) else seen
            if seen == text and not held:
                usual.append(text)
                continue
            if seen is not None:
                trained.append(seen)
            if held:
                whole.append(line)
            else:
                encoded.append(text)
        yield Sentences(
            len(lines),
            sum(map(len, lines)),
            found + code_points(usual),
            code_points(encoded),
            code_points(trained),
            tuple(whole),
        )


def character_counts(blocks: Iterable[list[str]], settings: TextSettings = XLM_R) -> Counter[str]:
    """Counts of each character in the lines as the trainer sees them; one block is held
    at a time.

    Lines that the trainer skips are left out, spaces are U+2581, meta pieces are a tab
    each (`TrainerInterface::LoadSentences`).
    """
    counts = np.zeros(0x110000, np.int64)
    for block in trained_on(blocks, settings=settings):
        found = np.bincount(np.frombuffer(block.usual + block.trained, np.int32))
        counts[: len(found)] += found
    counts[ord(LINE_END)] = 0  # those put in above
    return named_counts(counts)


def named_counts(counts: np.ndarray) -> Counter[str]:
    """Counts of code points, a number for each, by character; without NUL, which the
    trainer passes over.
    """
    return Counter({chr(one): int(counts[one]) for one in np.flatnonzero(counts).tolist() if one})


def count_characters(text: Text, settings: TextSettings = XLM_R) -> tuple[Counter[str], int]:
    """`character_counts` of a text, and the number of its lines."""
    lines = 0

    def blocks() -> Iterator[list[str]]:
        nonlocal lines
        for block in text_blocks(text)():
            lines += len(block)
            yield block

    return character_counts(blocks(), settings=settings), lines


def required_characters(
    counts: Mapping[str, float],
    coverage: float | None = COVERAGE,
    required_chars: Iterable[str] = (),
) -> list[str]:
    """The characters that SentencePiece makes pieces independently of their use, most
    frequent first.

    Taken by (count descending, code point ascending), the `required_chars` before all
    others, also those that do not occur, until the share covered, in float32 as there,
    reaches `coverage`: then required ones are left out too. The tab, in place of meta
    pieces, is counted but not taken (`TrainerInterface::LoadSentences`). A `coverage`
    of None takes the required ones, all of them and no others.
    """
    named = set(required_chars) - {"\0"}  # which the trainer passes over
    counted = {**dict.fromkeys(named, 0), **counts}
    if coverage is None:
        taken = list(named)
    else:
        total, covered, taken = sum(counts.values()), 0.0, []
        for character in sorted(counted, key=lambda one: (one not in named, -counted[one], one)):
            if not total or np.float32(covered / total) >= np.float32(coverage):
                break
            covered += counted[character]
            taken.append(character)
    return sorted((one for one in taken if one != SEPARATOR), key=lambda one: (-counted[one], one))


def required_in_sample(
    per_line: Sequence[Mapping[str, float]], q: Sequence[float], coverage: float = COVERAGE
) -> list[str]:
    """The most frequent characters of the expected multilingual sample that make up
    `coverage` of it, sorted.

    `per_line[k]` gives the mean count of each character in a line of the normalised
    text of language k, `q[k]` the probability of a line of it (Equation 3). A line of
    the sample then holds sum_k q_k per_line_k of a character, and of these
    SentencePiece's rule takes the most frequent ones.
    """
    expected: dict[str, float] = {}
    for frequencies, probability in zip(per_line, q, strict=True):
        for character, frequency in frequencies.items():
            expected[character] = expected.get(character, 0.0) + probability * frequency
    return sorted(required_characters(expected, coverage))


def shared_characters(
    counts: Sequence[Mapping[str, int]],
    per_line: Sequence[Mapping[str, float]],
    q: Sequence[float],
    coverage: float = COVERAGE,
) -> list[str]:
    """The characters that a tokenizer of these languages must hold, sorted: those that
    each language's own models hold, and those of the expected multilingual sample.

    `counts[k]` gives the count of each character in the text of language k; `per_line`
    and `q` as of `required_in_sample`.
    """
    own = (character for counted in counts for character in required_characters(counted, coverage))
    return sorted({*own, *required_in_sample(per_line, q, coverage)})


def count_shared_characters(
    corpora: str | Path,
    n: Mapping[str, float],
    alpha: float,
    coverage: float = COVERAGE,
    settings: TextSettings = XLM_R,
    count: Callable[[Path, TextSettings], tuple[Counter[str], int]] = count_characters,
) -> list[str]:
    """`shared_characters` of the languages with n above 0, from
    `corpora/{language}/train.txt`: 2 s for 65 MB. `count` gives `count_characters` of a
    file.

    Raises VocapError for a missing file, one that is not UTF-8, and where no n is above
    0.
    """
    counts, per_line = [], []
    for path in (Path(corpora) / language / "train.txt" for language in n if n[language]):
        if not path.is_file():
            raise VocapError(
                f"{path}: no such file, but the weights give {path.parent.name} a weight; make it "
                "(vocap sample)"
            )
        counted, lines = count(path, settings)
        counts.append(counted)
        per_line.append({character: count / lines for character, count in counted.items()})
    if not counts:
        raise VocapError(f"{corpora}: no language with text; every n of the weights is 0")
    q = sampling_probabilities([number for number in n.values() if number], alpha).tolist()
    return shared_characters(counts, per_line, q, coverage)
