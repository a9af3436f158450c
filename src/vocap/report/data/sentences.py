"""The example sentences of the front page: typical held-out lines, cut by its
tokenizers.
"""

import unicodedata
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice, pairwise
from pathlib import Path

from vocap.report.data.comparison import front_page
from vocap.report.data.results import CutSentence, Results, Stretch
from vocap.text_files.records import read_lines
from vocap.tokenizer_files.encoders import HuggingFaceEncoder, SentencePieceEncoder, load_encoder

SENTENCES = 6
SCRIPTS = ("Latn", "Cyrl", "Arab", "Deva", "Jpan", "Thai")  # taken first: the most different ones
READ = 300  # held-out lines of a language that a line is chosen from
SHORT, LONG = 30, 90  # characters of a line that reads as a sentence and fits the page
MARKUP = frozenset("{}<>[]|$%&#=_*/\\@~^`+\u2581")
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
    texts = {code: folder / "corpora" / code / "heldout.txt" for code in rank_languages(results)}
    found: list[CutSentence] = []
    for code, path in texts.items():
        if path.exists() and len(found) < SENTENCES:
            lines = list(islice(read_lines(path), READ))
            chosen = choose_line(code, results.languages[code].script, lines, cutters)
            found += [chosen] if chosen else []
    return found


def rank_languages(results: Results) -> list[str]:
    """Languages, the first of each script at the head: it has the most lines. Then all
    others, by their lines.
    """
    ordered = sorted(
        results.languages, key=lambda code: (-(results.lines(code) or 0), results.rank(code))
    )
    first: dict[str, str] = {}
    for code in ordered:
        if script := results.languages[code].script:
            first.setdefault(script, code)
    scripts = [script for script in SCRIPTS if script in first]
    head = [first[script] for script in [*scripts, *sorted(set(first) - set(scripts))]]
    return head + [code for code in ordered if code not in head]


def choose_line(
    language: str, script: str, lines: Sequence[str], cutters: Sequence[Cutter]
) -> CutSentence | None:
    """A typical line: of those that read as sentences the first whose ratio of tokens
    is nearest that of all.

    Lines that all tokenizers cut alike are taken only where there is no other. None
    where no line has a fitting length, or the text of the tokens is not the line.
    """
    fitting = [line for line in lines if SHORT <= len(line) <= LONG and "\ufffd" not in line]
    typical = [line for line in fitting if reads(line, script)] or fitting
    found = []
    for line in typical:
        one = CutSentence(language, line, [cutter(line) for cutter in cutters])
        if one.whole:
            found.append(one)
    found = [one for one in found if one.cuts.count(one.cuts[0]) < len(one.cuts)] or found
    if not found:
        return None
    whole = sum(one.tokens[-1] for one in found) / sum(one.tokens[0] for one in found)
    return min(found, key=lambda one: abs(one.tokens[-1] / one.tokens[0] - whole))


def reads(line: str, script: str) -> bool:
    """Whether a line is words in its script, without markup and placeholders."""
    if MARKUP & set(line) or "  " in line:
        return False
    # vowel signs too
    letters = [character for character in line if unicodedata.category(character)[0] in "LM"]
    latin = sum(unicodedata.name(character, "").startswith("LATIN") for character in letters)
    mostly = latin > 0.9 * len(letters) if script in ("Latn", "") else latin < 0.1 * len(letters)
    return len(letters) > len(line) / 2 and (mostly or not script)


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
