"""Universal Dependencies treebanks as words and tags, converted as XTREME's scripts convert them."""

from collections.abc import Iterator
from itertools import chain

from vocap.errors import VocapError

COLUMNS = 10  # of CoNLL-U
FORM, UPOS, HEAD, DEPS = 1, 3, 6, 8
NO_FORM = "_"  # of treebanks whose text is sold apart
ZERO_WIDTH_NON_JOINER = "\u200c"

# Of the words of a span that are equally near to the root, the tag that comes first here (conllu_to_conll.py).
_ORDER = (
    *("VERB", "NOUN", "PROPN", "PRON", "ADJ", "NUM", "ADV", "INTJ"),
    *("AUX", "ADP", "DET", "PART", "CCONJ", "SCONJ", "X", "PUNCT"),
)
_ORDERS = {
    "es": ("VERB", "AUX", "PRON", "ADP", "DET"),
    "fr": ("VERB", "AUX", "PRON", "NOUN", "ADJ", "ADV", "ADP", "DET", "PART", "SCONJ", "CONJ"),
    "it": ("VERB", "AUX", "ADV", "PRON", "ADP", "DET", "INTJ"),
}


def tagged_sentences(lines: Iterator[str], language: str, name: str) -> Iterator[list[tuple[str, str]]]:
    """The sentences of a CoNLL-U file as (word, UPOS tag), without those whose words are not distributed.

    Written multiword tokens stand for their syntactic words, with the tag of the word nearest to the root; spaces
    and zero-width non-joiners within a word are removed. `name`: of the file, for messages. Raises VocapError,
    naming the line, for anything else than CoNLL-U.
    """
    rows: list[list[str]] = []
    for number, line in enumerate(chain(lines, [""]), 1):
        line = line.rstrip("\r\n")
        if line.startswith("#"):
            continue
        if line:
            rows.append(line.split("\t"))
            if len(rows[-1]) != COLUMNS:
                raise VocapError(f"{name}, line {number}: {len(rows[-1])} columns, not {COLUMNS}; not CoNLL-U")
            continue
        if rows:
            try:
                words = _fused(rows, _ORDERS.get(language, _ORDER))
            except (ValueError, KeyError) as error:
                raise VocapError(f"{name}: the sentence before line {number}: {error}; not CoNLL-U") from None
            absent = sum(form == NO_FORM for form, _ in words)
            if not absent or absent < len(words) - 1:
                yield [(form.replace(ZERO_WIDTH_NON_JOINER, "").replace(" ", ""), tag) for form, tag in words]
        rows = []


def _fused(rows: list[list[str]], order: tuple[str, ...]) -> list[tuple[str, str]]:
    """Form and tag of each written word of one sentence."""
    words = {int(row[0]): row for row in rows if row[0].isdecimal()}
    parents = {number: _parents(row) for number, row in words.items()}
    fused = {}
    for row in rows:
        if "-" in row[0]:
            first, last = map(int, row[0].split("-"))
            span = range(first, last + 1)
            head = _head(span, words, parents, order)
            fused[first] = (last, row[FORM].strip(), words[head][UPOS].strip())
    result = []
    number, end = min(words), max(words)
    while number <= end:
        last, form, tag = fused.get(number, (number, words[number][FORM].strip(), words[number][UPOS].strip()))
        result.append((form, tag))
        number = last + 1
    return result


def _parents(row: list[str]) -> set[int]:
    """Heads of a word: of the basic tree, and of the enhanced graph but for its empty nodes."""
    enhanced = [] if row[DEPS] == NO_FORM else [pair.split(":")[0] for pair in row[DEPS].split("|")]
    return {int(row[HEAD]), *(int(head) for head in enhanced if head.isdecimal())}


def _head(span: range, words: dict[int, list[str]], parents: dict[int, set[int]], order: tuple[str, ...]) -> int:
    """The word with the fewest ancestors; of several the one whose tag comes first in `order`, else the first."""
    depths = {number: _ancestors(number, parents) for number in span}
    nearest = [number for number in span if depths[number] == min(depths.values())]
    ranks = {tag: rank for rank, tag in enumerate(order)}
    return min(nearest, key=lambda number: ranks.get(words[number][UPOS], len(order)))


def _ancestors(number: int, parents: dict[int, set[int]]) -> int:
    """How many nodes, the root included, a word hangs on, near or far."""
    found: set[int] = set()
    waiting = [number]
    while waiting:
        for parent in parents.get(waiting.pop(), ()):
            if parent not in found:
                found.add(parent)
                waiting.append(parent)
    return len(found - {number})
