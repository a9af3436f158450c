"""The example sentences of the front page: held-out lines, cut by its tokenizers."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import islice, pairwise
from operator import itemgetter
from pathlib import Path

from vocap.report.data.comparison import front_page
from vocap.report.data.results import CutSentence, Results, Stretch
from vocap.text_files.records import read_lines
from vocap.tokenizer_files.encoders import HuggingFaceEncoder, SentencePieceEncoder, load_encoder

SENTENCES = 6
SCRIPTS = ("Latn", "Cyrl", "Arab", "Deva", "Jpan", "Thai")  # taken first: the most different ones
READ = 300  # held-out lines of a language that a line is chosen from
SHORT, LONG = 30, 90  # characters of a line that reads as a sentence and fits the page
MARKUP = r"[{}<>\[\]|$%&#=_*/\\@~^`+\u2581]|  "  # of lines that are no sentences
# a line's stretches, and the number of its tokens
Cutter = Callable[[str], tuple[list[Stretch], int]]


def find_sentences(folder: Path, results: Results) -> list[CutSentence]:
    """One held-out line of each of six scripts, cut by the tokenizers of `front_page`.

    None where models or held-out lines are not there. `folder` holds the results of the
    stages.
    """
    names = front_page(results)
    if not names or not all(results.tokenizers[name].forms for name in names):
        return []
    cutters = [cutter(folder / "tokenizers" / name) for name in names]
    found: list[CutSentence] = []
    for code in rank_languages(results):
        path = folder / "corpora" / code / "heldout.txt"
        if path.exists() and len(found) < SENTENCES:
            lines = list(islice(read_lines(path), READ))
            if chosen := choose_line(code, results.languages[code].script, lines, cutters):
                found.append(chosen)
    return found


def rank_languages(results: Results) -> list[str]:
    """Languages, the first of each script at the head: it has the most lines. Then all
    others, by their lines.
    """
    ordered = sorted(results.languages, key=lambda code: -(results.lines(code) or 0))
    first: dict[str, str] = {}
    for code in ordered:
        first.setdefault(results.languages[code].script, code)
    head = [first.pop(script) for script in SCRIPTS if script in first]
    return list(dict.fromkeys([*head, *first.values(), *ordered]))


def choose_line(
    language: str, script: str, lines: Sequence[str], cutters: Sequence[Cutter]
) -> CutSentence | None:
    """The first line that reads as a sentence and that the tokenizers cut differently; else
    the first that they cut.

    None where no line has a fitting length, or the text of the tokens is not the line.
    """
    other = MARKUP if script in ("Latn", "") else f"{MARKUP}|[A-Za-z]"
    fitting = [line for line in lines if SHORT <= len(line) <= LONG and "\ufffd" not in line]
    alike = None
    for line in [line for line in fitting if not re.search(other, line)] or fitting:
        one = CutSentence(language, line, [cutter(line) for cutter in cutters])
        if {"".join(map(itemgetter(0), cut)) for cut, _ in one.cuts} == {line}:
            if one.cuts[0] != one.cuts[-1]:
                return one
            alike = alike or one
    return alike


@lru_cache(8)
def cutter(folder: Path) -> Cutter:
    """The cut of the tokenizer in a folder. Raises VocapError, naming the file, for one
    that is damaged.
    """
    encoder = load_encoder(folder)
    if isinstance(encoder, SentencePieceEncoder):
        return partial(_pieces, encoder)
    return partial(_spans, encoder)


def _pieces(encoder: SentencePieceEncoder, line: str) -> tuple[list[Stretch], int]:
    found = encoder.processor.encode(line, out_type="immutable_proto").pieces
    shown = [piece for piece in found if piece.surface]
    return [(piece.surface, piece.id == encoder.unk_id) for piece in shown], len(found)


def _spans(encoder: HuggingFaceEncoder, line: str) -> tuple[list[Stretch], int]:
    offsets = encoder.tokenizer.encode(line, add_special_tokens=False).offsets
    # of tokens that share a character, bytes of it, the first has it; a space before a
    # word is the word's
    ends = [0]
    for _, end in offsets:
        ends.append(max(end, ends[-1]))
    texts = [line[start:end] for start, end in pairwise(ends)]
    return [(text, False) for text in texts if text], len(offsets)
