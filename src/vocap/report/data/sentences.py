"""One held-out line of each of six scripts, cut by the tokenizers that the front page compares."""

import unicodedata
from collections.abc import Callable, Sequence
from itertools import islice, pairwise
from pathlib import Path

from vocap.errors import VocapError
from vocap.report.data.comparison import NOT_MERGED, sizes
from vocap.report.data.results import Results, Sentence, Stretch
from vocap.text_files.lines import read_lines

SENTENCES = 6
SCRIPTS = ("Latn", "Cyrl", "Arab", "Deva", "Jpan", "Thai")  # taken first: the most different ones
READ = 1000  # held-out lines of a language that a line is chosen from
SHORT, LONG = 30, 90  # characters of a line that reads as a sentence and fits the page
MARKUP = frozenset("{}<>[]|$%&#=_*/\\@~^`+\u2581")
Cutter = Callable[[str], tuple[list[Stretch], int]]  # a line's stretches, and the number of its tokens


def compared(results: Results) -> list[str]:
    """The tokenizers of the front page: of the smallest T the reference and the best of the others in percent.

    Without tokenizers of one T the first of the configuration; none where none has been made by this run.
    """
    pairs = [[one.reference, one.compared[0]] for one in sizes(results) if one.compared]
    own = [one.name for one in results.configured_tokenizers() if one.kind not in NOT_MERGED]
    return pairs[0] if pairs else own[:1]


def find_sentences(folder: Path, results: Results) -> list[Sentence]:
    """The lines under the tokenizers of `compared`; none where models or held-out lines are not there.

    `folder` holds the results of the stages.
    """
    cutters = [cutter(folder / "tokenizers" / name) for name in compared(results)]
    if not cutters or None in cutters:
        return []
    texts = {code: folder / "corpora" / code / "heldout.txt" for code in candidates(results)}
    found = (
        choose(code, results.languages[code].script, list(islice(read_lines(path), READ)), cutters)
        for code, path in texts.items()
        if path.exists()
    )
    return list(islice(filter(None, found), SENTENCES))


def candidates(results: Results) -> list[str]:
    """Languages, the first of each script at the head: it has the most lines. Then all others, by their lines."""
    ordered = sorted(results.languages, key=lambda code: (-(results.lines(code) or 0), results.rank(code)))
    first: dict[str, str] = {}
    for code in ordered:
        if script := results.languages[code].script:
            first.setdefault(script, code)
    scripts = [script for script in SCRIPTS if script in first]
    head = [first[script] for script in [*scripts, *sorted(set(first) - set(scripts))]]
    return head + [code for code in ordered if code not in head]


def choose(language: str, script: str, lines: Sequence[str], cutters: Sequence[Cutter]) -> Sentence | None:
    """A typical line: of those that read as sentences the first whose ratio of tokens is nearest that of all.

    Lines that all tokenizers cut alike are taken only where there is no other. None where no line has a fitting
    length, or the text of the tokens is not the line.
    """
    fitting = [line for line in lines if SHORT <= len(line) <= LONG and "\ufffd" not in line]
    plain = [line for line in fitting if reads(line, script)] or fitting
    found = [Sentence(language, line, [cutter(line) for cutter in cutters]) for line in plain]
    found = [one for one in found if all("".join(text for text, _ in cut) == one.text for cut, _ in one.cuts)]
    found = [one for one in found if any(cut != one.cuts[0] for cut in one.cuts)] or found
    if not found:
        return None
    counts = [[count for _, count in one.cuts] for one in found]
    whole = sum(count[-1] for count in counts) / sum(count[0] for count in counts)
    return min(zip(found, counts, strict=True), key=lambda pair: abs(pair[1][-1] / pair[1][0] - whole))[0]


def reads(line: str, script: str) -> bool:
    """Whether a line is words in its script, without markup and placeholders."""
    if MARKUP & set(line) or "  " in line:
        return False
    letters = [character for character in line if unicodedata.category(character)[0] in "LM"]  # vowel signs too
    latin = sum(unicodedata.name(character, "").startswith("LATIN") for character in letters)
    mostly = latin > 0.9 * len(letters) if script in ("Latn", "") else latin < 0.1 * len(letters)
    return len(letters) > len(line) / 2 and (mostly or not script)


def cutter(folder: Path) -> Cutter | None:
    """The cut of the tokenizer in a folder; None where its file is not there."""
    files = {"sentencepiece.model": sentencepiece_cutter, "tokenizer.json": byte_pair_cutter}
    return next((make(folder / name) for name, make in files.items() if (folder / name).exists()), None)


def sentencepiece_cutter(model: Path) -> Cutter:
    """The cut of a SentencePiece model. Raises VocapError, naming the file, for another file."""
    import sentencepiece

    try:
        processor = sentencepiece.SentencePieceProcessor(model_file=str(model))
    except (OSError, RuntimeError):
        raise VocapError(f"{model}: no SentencePiece model; delete the file and run its stage again") from None
    unknown = processor.unk_id()

    def cut(line: str) -> tuple[list[Stretch], int]:
        pieces = processor.encode(line, out_type="immutable_proto").pieces
        return [(piece.surface, piece.id == unknown) for piece in pieces if piece.surface], len(pieces)

    return cut


def byte_pair_cutter(definition: Path) -> Cutter:
    """The cut of a tokenizer.json of this project. Raises VocapError, naming the file, for another file."""
    import tokenizers

    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(definition))
    except Exception:  # the library raises no other class
        raise VocapError(f"{definition}: no tokenizer.json; delete the file and run its stage again") from None

    def cut(line: str) -> tuple[list[Stretch], int]:
        offsets = tokenizer.encode(line, add_special_tokens=False).offsets
        # of tokens that share a character, bytes of it, the first has it; a space before a word is the word's
        ends = [0]
        for _, end in offsets:
            ends.append(max(end, ends[-1]))
        texts = [line[start:end] for start, end in pairwise(ends)]
        return [(text, False) for text in texts if text], len(offsets)

    return cut
