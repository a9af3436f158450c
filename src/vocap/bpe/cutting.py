"""Normalised text cut into the words of a `Cut`, before merging.

No word of any named cut holds a space behind a character that is no white space. So the
words of a line are those of its stretches between such places, which are counted first.
Nothing is known of a user's expression: it is applied to each line.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from tokenizers import Regex, normalizers

from vocap.errors import UsageError
from vocap.tokenizer_files.cuts import SPACE, Cut, check_matches, regex_errors
from vocap.unigram.plain_lines import PlainLines
from vocap.unigram.text_settings import TextSettings
from vocap.unigram.training_text import LINE_END, Borders, code_points, trainer_normalizer

# stands for a U+2581 of text that is not normalised, where it is no space: UTF-8 has no
# surrogate
KEPT = "\ud800"
# One character for each class that the expression of words tells apart; of several that
# match, the last.
LETTERS = {r"\p{L}": "a", r"\p{M}": "m", r"\p{N}": "1", "\u200c": "j", "\u200d": "j"}
CLASSES = {r"\s": "\t", **LETTERS, r"[\r\n]": "\n"}
OTHER, END = "!", 0  # END stands behind each stretch of classes


def _classes(points: np.ndarray) -> np.ndarray:
    """The `CLASSES` of code points of normalised text, uint8: U+2581 is a space, all
    that have none are OTHER.
    """
    known = np.setdiff1d(np.flatnonzero(np.bincount(points)), ord(KEPT))
    text, table = "".join(map(chr, known.tolist())), np.full(0x110000, ord(OTHER), np.uint8)
    for query, letter in CLASSES.items():
        # of private use: it has no class
        found = normalizers.Replace(Regex(query), "\ue000").normalize_str(text)
        table[known[np.frombuffer(found.encode("utf-32-le"), np.uint32) != known]] = ord(letter)
    table[[ord(SPACE), ord(KEPT)]] = ord(" "), ord(OTHER)
    return table[points]


def _places_by_class(
    store: np.ndarray, bounds: np.ndarray, expression: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """`word_places`: Python applies the expression to the classes of characters.

    That is many times as fast as `tokenizers` on the text.
    """
    pattern = r"\x00|" + expression.replace(r"(?!\S)", r"(?![^\s])").replace(r"[^\s", r"[^\x00\s")
    for query, letter in LETTERS.items():
        pattern = pattern.replace(query, letter)
    text = np.insert(_classes(store), bounds[1:], END)
    length = np.fromiter(map(len, re.findall(pattern.encode(), text.tobytes())), np.int64)
    begin = np.cumsum(length) - length
    owner, words = np.cumsum(text[begin] == END), text[begin] != END
    return (begin - owner)[words], length[words], owner[words]


def word_places(
    cut: Cut, store: np.ndarray, bounds: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The words of stretches of normalised text by a cut: where each begins, its length, the
    number of its stretch.

    Stretch k is `store[bounds[k]:bounds[k + 1]]`, code points int32. Raises VocapError
    for text that an expression of the user does not match.
    """
    if cut.by_class:
        return _places_by_class(store, bounds, cut.expression)
    points = np.select([store == ord(SPACE), store == ord(KEPT)], [ord(" "), ord(SPACE)], store)
    text = points.astype("<u4").tobytes().decode("utf-32-le")
    spans, sizes = [], []
    with regex_errors(cut.expression):
        for begin, end in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
            found = [place for _, place in cut.matches.pre_tokenize_str(text[begin:end])]
            spans += found
            sizes.append(len(found))
    owner = np.repeat(np.arange(len(sizes)), sizes)
    first, last = np.array(spans, np.int64).reshape(-1, 2).T
    missed = np.bincount(owner, last - first, len(sizes)) != np.diff(bounds)
    for number in np.flatnonzero(missed)[:1].tolist():
        check_matches(cut.expression, text[bounds[number] : bounds[number + 1]])
    return first + bounds[owner], last - first, owner


@dataclass(frozen=True)
class Pretokenization:
    """How text becomes words of bytes: the settings of the text, and those of `Cut`.

    Raises UsageError as `Cut`, and for settings that byte-pair encoding has no
    counterpart of.
    """

    split: str
    settings: TextSettings
    digits: str | None = None
    contractions: bool | None = None
    regex: str | None = None

    def __post_init__(self) -> None:
        _ = self.cut  # raises
        if self.settings.user_defined_symbols and self.settings.add_dummy_prefix:
            raise UsageError(
                "user_defined_symbols: byte-pair encoding takes them without add_dummy_prefix "
                "alone; write add_dummy_prefix: false, or take the preset lossless"
            )

    @cached_property
    def cut(self) -> Cut:
        """The cut; of `words`, digits are single with `split_digits` of the text's
        settings, unless given.
        """
        single = "1" if self.settings.split_digits and self.split == "words" else None
        return Cut(self.split, self.digits or single, self.contractions, self.regex)

    def normalized(self, blocks: Iterable[list[str]]) -> Iterator[bytearray]:
        """`code_points` of the normalised lines of each block, plain ones first, with a
        line end at every user-defined symbol.
        """
        symbols = self.settings.user_defined_symbols
        borders = Borders(symbols).pattern if symbols else None
        normalize = trainer_normalizer(self.settings).normalize
        plain = PlainLines(self.settings)
        for lines in blocks:
            if borders:
                lines = [part for line in lines for part in borders.split(line) if part]
            if self.settings.keeps_text:
                kept = (line.replace(SPACE, KEPT).replace(" ", SPACE) for line in lines)
                yield code_points(kept)
            else:
                found, others = plain.take(lines, LINE_END)
                yield found + code_points(normalize(others))
