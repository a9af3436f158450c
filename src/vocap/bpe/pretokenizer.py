r"""Where text is cut before merging, under a name: as a regular expression of `tokenizers`, and as a kernel.

`words`: letters with their marks, numbers, other characters, line ends, and runs of spaces are words of their
own; one space goes with the word after it. Unlike in the expression of GPT-2, whose `\p{L}+` ends at every vowel
sign, a mark stays with the letter before it, and so do the joiners U+200C and U+200D. `spaces`: a word is a run of
spaces and the text up to the next one.

No word of either crosses the beginning of a run of spaces, so the words of a line are those of its stretches
between such runs, which are counted first.
"""

import numpy as np
from tokenizers import Regex, normalizers, pre_tokenizers

from vocap.unigram.kernels import kernel

OTHER, SPACE, LINE_END, BLANK, LETTER, MARK, NUMBER, JOINER = range(8)
_QUERIES = (  # class, and its expression; of several that match, the last
    (BLANK, r"\s"),
    (LETTER, r"\p{L}"),
    (MARK, r"\p{M}"),
    (NUMBER, r"\p{N}"),
    (JOINER, r"[\x{200c}\x{200d}]"),
    (LINE_END, r"[\r\n]"),
)
_FOUND = "\ue000"  # in the place of a character that an expression matches: of private use, so of class OTHER


def expression(split: str, single_digits: bool, space: str = " ") -> str:
    """The regular expression whose matches are the words; `space` is the space of the normalised text.

    `single_digits`: each digit is a word, without a space.
    """
    if split == "spaces":
        return rf"{space}*[^{space}]+|{space}+"
    numbers = r"\p{N}" if single_digits else rf"{space}?\p{{N}}+"
    behind = rf"[{space}\s]" if space != " " else r"\s"  # a run keeps its last space for a word after it
    letters = rf"{space}?[\p{{L}}\p{{M}}][\p{{L}}\p{{M}}\x{{200c}}\x{{200d}}]*"
    first, further = rf"[^\s{space}\p{{L}}\p{{M}}\p{{N}}]", rf"[^\s{space}\p{{L}}\p{{N}}]"
    others = rf"{space}?{first}{further}*[\r\n]*"
    blanks = rf"[^\S\r\n{space}]+"
    return "|".join([letters, numbers, others, r"[\r\n]+", rf"{space}+(?={behind}|\z)", space, blanks])


def build_pre_tokenizer(split: str, single_digits: bool, unit: str) -> pre_tokenizers.PreTokenizer:
    """The step of tokenizer.json; of unit bytes, with the byte-level alphabet."""
    space = " " if unit == "bytes" else "\u2581"
    cut = pre_tokenizers.Split(Regex(expression(split, single_digits, space)), "isolated")
    if unit != "bytes":
        return cut
    return pre_tokenizers.Sequence([cut, pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def character_classes(points: np.ndarray) -> np.ndarray:
    """The class of each code point, uint8 [0x110000], as the expressions of `tokenizers` have it.

    `points`: the code points that occur; others are OTHER. U+2581 is the space.
    """
    classes = np.zeros(0x110000, np.uint8)
    text = "".join(map(chr, points.tolist()))
    for number, query in _QUERIES:
        marked = normalizers.Replace(Regex(query), _FOUND).normalize_str(text)
        found = np.frombuffer(marked.encode("utf-32-le"), np.uint32) != points
        classes[points[found]] = number
    classes[[0x20, 0x2581]] = SPACE
    return classes


@kernel("Tuple((int64[::1], int32[::1], int32[::1]))(int32[::1], int64[::1], int64, uint8[::1], boolean)")
def split_words(store, bounds, known, classes, single_digits):
    """The words of stretches of text that hold spaces (U+2581) only at their beginning, by split `words`.

    Stretch k is `store[bounds[k]:bounds[k + 1]]`. Returns where each word begins in `store`, its length, and the
    number of its stretch.
    """
    most = bounds[known] - bounds[0]
    start, length = np.empty(most, np.int64), np.empty(most, np.int32)
    owner = np.empty(most, np.int32)
    words = 0
    for k in range(known):
        at, end = bounds[k], bounds[k + 1]
        while at < end:
            begin = at
            if classes[store[at]] == SPACE:
                while at < end and classes[store[at]] == SPACE:
                    at += 1
                after = OTHER if at == end else classes[store[at]]
                if at < end and after != BLANK and after != LINE_END:
                    if at - begin > 1:
                        at -= 1  # all but the last
                        after = SPACE
                    elif after == NUMBER and single_digits:
                        after = SPACE
                else:
                    after = SPACE
            else:
                after = classes[store[at]]
            if after in (LETTER, MARK):
                while at < end and (
                    classes[store[at]] == LETTER or classes[store[at]] == MARK or classes[store[at]] == JOINER
                ):
                    at += 1
            elif after == NUMBER:
                at += 1
                while not single_digits and at < end and classes[store[at]] == NUMBER:
                    at += 1
            elif after == LINE_END:
                while at < end and classes[store[at]] == LINE_END:
                    at += 1
            elif after == BLANK:
                while at < end and classes[store[at]] == BLANK:
                    at += 1
            elif after != SPACE:
                at += 1
                while at < end and (
                    classes[store[at]] == OTHER or classes[store[at]] == MARK or classes[store[at]] == JOINER
                ):
                    at += 1
                while at < end and classes[store[at]] == LINE_END:
                    at += 1
            start[words], length[words], owner[words] = begin, at - begin, k
            words += 1
    return start[:words].copy(), length[:words].copy(), owner[:words].copy()
