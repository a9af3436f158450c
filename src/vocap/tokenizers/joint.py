"""JOINT: unigram models of the text of all languages, with the settings of the
languages' own models.

One descent gives every T: the ladder's models are, bit for bit, what SentencePiece
trains with one thread. The text is every training line with the weight of its language,
or a sample in one file.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from sentencepiece import sentencepiece_model_pb2

from vocap.errors import UsageError, VocapError, log
from vocap.tables.sampling_probabilities import (
    STEP,
    line_weights,
    sampling_probabilities,
    share_error,
)
from vocap.text_files.records import count_lines, read_blocks
from vocap.tokenizer_files.id_layout import XLM_R_LAYOUT, IdLayout
from vocap.tokenizer_files.layout import build_model, read_contents
from vocap.unigram.text_settings import COVERAGE, XLM_R, TextSettings
from vocap.unigram.training_text import Sentences, trained_on

# special tokens of the trained model, by id
STOCK = tuple(entry.token for entry in XLM_R_LAYOUT.special)


@dataclass(frozen=True)
class Part:
    """A file of `lines` lines, each of which counts `weight` times."""

    path: Path
    lines: int
    weight: int = 1


@dataclass(frozen=True)
class MultilingualText:
    """Parts, read a block at a time; `name` is the text in messages, `facts` its
    entries in a description.
    """

    name: str
    parts: tuple[Part, ...]
    facts: dict


def warn_if_short(name: object, total: int, reached: int) -> None:
    """Warn of a tokenizer that has fewer ids than T, for want of text."""
    if reached < total:
        log.warning(
            "%s: too little text for T = %d: the tokenizer has %d ids, %d short (more text fills "
            "it)",
            name, total, reached, total - reached,
        )  # fmt: skip


def sampled_text(path: str | Path, alpha: float | None = None) -> MultilingualText:
    """A sample that `vocap mix` drew, with this alpha if it is known. Raises as
    `read_blocks`.
    """
    part = Part(Path(path), count_lines(path))
    facts = {"sentences": part.lines, "alpha": alpha, "lines": part.lines}
    return MultilingualText(
        str(path), (part,), {name: fact for name, fact in facts.items() if fact is not None}
    )


def whole_text(
    corpora: str | Path, n: Mapping[str, float], alpha: float, per: str = "line", step: int = STEP
) -> MultilingualText:
    """`corpora/{language}/train.txt` of all languages with n above 0, weighted to their
    shares q (Equation 3).

    The shares are of the lines, or of the characters (`per`: line or character). Raises
    VocapError for a file that is missing or has no line, and where no n is above 0.
    """
    sizes = {language: number for language, number in n.items() if number}
    if not sizes:
        raise VocapError(f"{corpora}: no language with text; every n of the weights is 0")
    paths = [Path(corpora) / language / "train.txt" for language in sizes]
    lines = [count_lines(path) for path in paths]
    for path, count in zip(paths, lines, strict=True):
        if not count:
            raise VocapError(
                f"{path}: no line, but {path.parent.name} has a weight; give it n = 0, or some text"
            )
    q = sampling_probabilities(list(sizes.values()), alpha).tolist()
    amounts = (
        lines
        if per == "line"
        else [sum(map(len, chain.from_iterable(read_blocks(path)))) for path in paths]
    )
    weights = line_weights(q, amounts, step).tolist()
    facts: dict[str, object] = {
        "sentences": "all",
        "alpha": alpha,
        "lines": sum(lines),
        "least_weight": min(weights),
        "largest_weight": max(weights),
        "largest_share_error": round(share_error(q, amounts, weights), 4),
    }
    if per != "line":
        facts["per"] = per
    return MultilingualText(str(corpora), tuple(map(Part, paths, lines, weights)), facts)


def descend_joint(
    text: MultilingualText,
    totals: Sequence[int],
    coverage: float = COVERAGE,
    threads: int = 1,
    required: Sequence[str] | None = None,
    settings: TextSettings = XLM_R,
    layout: IdLayout = XLM_R_LAYOUT,
    further: Sequence[int] = (),
) -> Iterator[tuple[int, sentencepiece_model_pb2.ModelProto, int]]:
    """Each of `totals` with its `ModelProto` and the word types of `text`, from one
    descent over it.

    `further`: totals that are left out where the text does not reach them; `required`:
    characters that the tokenizer holds and no others, in the place of the `coverage`.
    The model is the one that SentencePiece trains with one thread on all lines, each as
    often as it counts, for any number of `threads`; lines are not held, only the word
    types. A total above what the text holds takes a second, short descent, with a
    warning. Raises UsageError for a total that does not hold the required characters,
    naming the smallest that does; VocapError for a text without any.
    """
    # numba's kernels, which other commands do not need
    from vocap.unigram.ladder import train_sizes
    from vocap.unigram.word_types import count_word_types

    for total in totals:
        layout.check_total(total)
    # no piece has the name of a special token of the layout: they are symbols of the
    # training
    names = [entry.token for entry in layout.special if entry.token not in STOCK]
    trained = replace(settings, control_symbols=(*names, *settings.control_symbols))
    # ids of the tokenizer less those of the trained model
    apart = layout.rows - len(STOCK) - len(names)
    metas = list(dict.fromkeys((*STOCK, *trained.meta_pieces)))  # rows that are no pieces of text

    def sentences() -> Iterator[Sentences]:
        for part in text.parts:
            yield from trained_on(read_blocks(part.path), metas, part.weight, trained)

    words = count_word_types(
        {"train": sentences},
        coverage if required is None else None,
        "".join(required or ()),
        trained,
    )
    log.info(
        "%s: %d lines, %d word types",
        text.name,
        sum(part.lines for part in text.parts),
        words.trained,
    )
    optional = {total for total in further if total > layout.rows}.difference(totals)
    # size: the totals it is for
    waiting = {total - apart: [total] for total in sorted(optional.union(totals))}
    while waiting:
        shorter: dict[int, list[int]] = {}
        for rung in train_sizes(words, sorted(waiting), coverage, threads, reserved=1):  # <pad>
            size = rung.point.size
            if rung.model is None and optional.issuperset(waiting[size]):
                continue
            if rung.most is not None and rung.most < size:
                shorter.setdefault(rung.most, []).extend(waiting[size])
                continue
            if rung.model is None:
                raise _refusal(text.name, min(waiting[size]), rung.point.status, rung.least, apart)
            for total in waiting[size]:
                warn_if_short(text.name, total, size + apart)
                yield total, _lay_out(rung.model, settings, layout), words.trained
        waiting = shorter


def _lay_out(
    data: bytes, settings: TextSettings, layout: IdLayout
) -> sentencepiece_model_pb2.ModelProto:
    """The trained pieces in the layout."""
    proto = sentencepiece_model_pb2.ModelProto.FromString(data)
    contents = replace(
        read_contents(proto, "the joint model"), controls=list(settings.control_symbols)
    )
    return build_model(contents, proto.normalizer_spec, layout, trained=proto.trainer_spec)


def _refusal(name: str, total: int, reason: str, least: int | None, apart: int) -> VocapError:
    if least is not None:
        return UsageError(
            f"{name}: T = {total} does not hold the required characters; the smallest possible T "
            "is "
            f"{least + apart}: raise total, or lower the coverage"
        )
    return VocapError(
        f"{name}: {reason} to train T = {total} on; it must hold text (vocap sample, vocap mix)"
    )
