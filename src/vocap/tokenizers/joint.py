"""JOINT: a unigram model of the text of all languages, with the settings of the languages' own models.

One SentencePiece training for each T (`train_joint`), or one descent for all of them (`descend_joint`): the ladder
gives, bit for bit, what SentencePiece trains with one thread.
"""

import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from sentencepiece import sentencepiece_model_pb2

from vocap.errors import UsageError, VocapError
from vocap.text_files.lines import read_blocks
from vocap.tokenizer_files.id_layout import NAMED, XLM_R_LAYOUT, IdLayout
from vocap.tokenizer_files.layout import build_model, read_contents
from vocap.tokenizers.multilingual_text import MultilingualText, warn_if_short
from vocap.unigram import COVERAGE
from vocap.unigram.sentencepiece_trainer import Unreachable, require_reference, train
from vocap.unigram.text_settings import XLM_R, TextSettings
from vocap.unigram.training_text import character_counts, required_characters

LEAST_COVERAGE = 0.98  # that SentencePiece takes
STOCK = tuple(entry.token for entry in XLM_R_LAYOUT.special)  # special tokens of the trained model, by id
log = logging.getLogger(__name__)


def train_joint(
    text: MultilingualText,
    total: int,
    coverage: float = COVERAGE,
    threads: int = 2,
    required: Sequence[str] | None = None,
    settings: TextSettings = XLM_R,
    layout: IdLayout = XLM_R_LAYOUT,
):
    """The `ModelProto` of `total` ids, trained on all lines of `text`, or of as many as they give, with a warning.

    SentencePiece is asked for the ids of pieces and symbols and for four of its own, of which the `layout` takes
    the place: for total - 1 in XLM-R's layout. It reads each line as often as it counts, and holds them all in
    memory.
    `threads` is a setting, not a matter of the machine: another number gives slightly other pieces.
    `required`: characters that the tokenizer holds and no others, in the place of the `coverage`. SentencePiece
    takes as many of them as a coverage in 32 bits can tell apart, with a warning.
    Raises UsageError for another SentencePiece than the reference, and for a `total` that does not hold the
    required characters, naming the smallest that does; VocapError for a text without any.
    """
    require_reference()
    layout.check_total(total)
    if required is not None:
        coverage = _coverage_of(text, required, _as_symbols(settings, layout))
    data, size = _train(text, total, coverage, threads, "".join(required or ()), settings, layout)
    return _lay_out(text.name, data, size, settings, layout)


def descend_joint(
    text: MultilingualText,
    totals: Sequence[int],
    coverage: float = COVERAGE,
    threads: int = 1,
    required: Sequence[str] | None = None,
    settings: TextSettings = XLM_R,
    layout: IdLayout = XLM_R_LAYOUT,
    further: Sequence[int] = (),
) -> Iterator[tuple[int, object, int]]:
    """Each of `totals` with its `ModelProto` and the word types of `text`, from one descent over it.

    `further`: totals that are left out where the text does not reach them.

    Equals `train_joint` with one thread for any number of `threads`; it holds all `required` characters. Lines are
    not held, only the word types. A total above what the text holds takes a second, short descent. Raises as
    `train_joint`.
    """
    from vocap.unigram.kernels import one_compiler
    from vocap.unigram.training_text import trained_on

    with one_compiler():
        from vocap.unigram.ladder import train_sizes
        from vocap.unigram.word_types import count_word_types

    for total in totals:
        layout.check_total(total)
    trained = _as_symbols(settings, layout)
    metas, apart = _metas(trained), _rows_apart(layout)

    def sentences():
        for part in text.parts:
            yield from trained_on(read_blocks(part.path), metas, part.weight, trained)

    words = count_word_types(
        {"train": sentences}, coverage if required is None else None, "".join(required or ()), trained
    )
    log.info("%s: %d lines, %d word types", text.name, sum(part.lines for part in text.parts), words.trained)
    further = {total for total in further if total > layout.rows}.difference(totals)
    waiting = {
        total - apart: [total] for total in sorted(further.union(totals))
    }  # size of the descent: the totals it is for
    while waiting:
        shorter: dict[int, list[int]] = {}
        for rung in train_sizes(words, sorted(waiting), coverage, threads, reserved=1):  # <pad>
            size = rung.point.size
            if rung.model is None and further.issuperset(waiting[size]):
                continue
            if rung.most is not None and rung.most < size:
                shorter.setdefault(rung.most, []).extend(waiting[size])
                continue
            if rung.model is None:
                raise _refusal(text.name, min(waiting[size]), rung.point.status, rung.least, apart)
            for total in waiting[size]:
                warn_if_short(text.name, total, size + apart)
                yield total, _lay_out(text.name, rung.model, size, settings, layout), words.trained
        waiting = shorter


def _metas(settings: TextSettings) -> list[str]:
    """The rows that are no pieces of text."""
    return list(dict.fromkeys((*STOCK, *settings.meta_pieces)))


def _as_symbols(settings: TextSettings, layout: IdLayout) -> TextSettings:
    """The settings of training: no piece has the name of a special token of the layout."""
    names = [entry.token for entry in layout.special if entry.token not in STOCK]
    return replace(settings, control_symbols=(*names, *settings.control_symbols))


def _rows_apart(layout: IdLayout) -> int:
    """The ids of the tokenizer less those of the trained model, which has `STOCK` and what `_as_symbols` adds."""
    names = {entry.token for entry in layout.special}
    return layout.rows - len(names.union(STOCK))


def _coverage_of(text: MultilingualText, required: Sequence[str], settings: TextSettings) -> float:
    """The coverage with which SentencePiece takes the required characters and, if that can be, no others."""
    counts: Counter[str] = Counter()
    metas = _metas(settings)
    for part in text.parts:
        for character, count in character_counts(read_blocks(part.path), metas, settings).items():
            counts[character] += part.weight * count
    covered = sum(counts[character] for character in required)
    coverage = max(float(np.float32(covered / max(counts.total(), 1))), LEAST_COVERAGE)
    taken = set(required_characters(counts, coverage, required))
    if taken != set(required):
        log.warning(
            "%s: SentencePiece leaves out %d of %d required characters and takes %d others; the ladder takes all",
            text.name,
            len(set(required) - taken),
            len(required),
            len(taken - set(required)),
        )
    return coverage


def _lay_out(name, data: bytes, size: int, settings: TextSettings, layout: IdLayout):
    """The trained pieces in the layout."""
    proto = sentencepiece_model_pb2.ModelProto.FromString(data)
    contents = replace(read_contents(proto, "the joint model"), controls=list(settings.control_symbols))
    rows, wanted = contents.rows(layout), size + _rows_apart(layout)
    if rows != wanted:
        raise VocapError(f"{name}: SentencePiece gave {rows} ids instead of {wanted}; take another T")
    return build_model(contents, proto.normalizer_spec, layout, trained=proto.trainer_spec)


def _train(
    text: MultilingualText,
    total: int,
    coverage: float,
    threads: int,
    required: str,
    settings: TextSettings,
    layout: IdLayout,
) -> tuple[bytes, int]:
    """The stock model, and its ids: those of T but for the layout's own, or the most that training reaches."""
    ids = {f"{NAMED[piece]}_id": number for number, piece in enumerate(STOCK)}
    apart = _rows_apart(layout)
    size = total - apart
    while True:
        try:
            data = train(
                text.repeated(),
                size,
                coverage,
                threads,
                **ids,
                input_sentences=0,
                required_chars=required,
                settings=_as_symbols(settings, layout),
            )
        except Unreachable as error:
            if error.most is not None and error.most < size:
                # trained for fewer ids it prunes more, so it may end below what it named: then once more
                log.info("%s: T = %d is out of reach; training again for %d", text.name, total, error.most + apart)
                size = error.most
                continue
            raise _refusal(text.name, total, error.reason, error.least, apart) from None
        warn_if_short(text.name, total, size + apart)
        return data, size


def _refusal(name, total: int, reason: str, least: int | None, apart: int) -> VocapError:
    if least is not None:
        return UsageError(
            f"{name}: T = {total} does not hold the required characters; the smallest possible T is "
            f"{least + apart}: raise total, or lower the coverage"
        )
    return VocapError(f"{name}: {reason} to train T = {total} on; it must hold text (vocap sample, vocap mix)")
