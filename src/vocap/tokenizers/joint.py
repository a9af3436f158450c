"""JOINT: unigram models of the text of all languages, with the settings of the
languages' own models.

One descent gives every T: the ladder's models are, bit for bit, what SentencePiece
trains with one thread. The text is every training line with the weight of its language,
or a sample in one file.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any, overload

from sentencepiece import sentencepiece_model_pb2

from vocap.errors import SettingError, UsageError, VocapError, log
from vocap.files.paths import as_totals, folders
from vocap.section import ConfigSection
from vocap.tables.curve import Measured, write_sizes
from vocap.tables.sampling_probabilities import Weights, load_weights
from vocap.text_files.text import Text, Texts
from vocap.tokenizer_files.encoders import SentencePieceEncoder
from vocap.tokenizer_files.id_layout import XLM_R_LAYOUT, IdLayout
from vocap.tokenizer_files.layout import build_model, read_contents
from vocap.tokenizer_files.model_file import build_processor
from vocap.tokenizers.settings import JointTraining
from vocap.tokenizers.sizes import heldout_texts, measure_size, points_below
from vocap.tokenizers.trained import (
    TrainedUnigram,
    as_trained,
    check_unigram_text,
    warn_if_short,
)
from vocap.tokenizers.weighted_text import MultilingualText, sampled_text, whole_text
from vocap.unigram.counts import Counts
from vocap.unigram.text_settings import TextSettings
from vocap.unigram.training_text import count_characters, count_shared_characters

# special tokens of the trained model, by id
STOCK = tuple(entry.token for entry in XLM_R_LAYOUT.special)
# bytes of memory for a byte of text in several languages: dev/measurements.md
MEMORY = 7


@overload
def train_joint(total: int | None = ..., *args: Any, **fields: Any) -> TrainedUnigram: ...


@overload
def train_joint(total: Sequence[int], *args: Any, **fields: Any) -> dict[int, TrainedUnigram]: ...


def train_joint(
    total: int | Sequence[int] | None = None,
    output: str | Path | None = None,
    *,
    mix: Text | None = None,
    corpora: Texts | Text | None = None,
    weights: Weights | None = None,
    curve: str | Path | None = None,
    heldout: Texts | None = None,
    settings: ConfigSection | None = None,
    **fields: object,
) -> TrainedUnigram | dict[int, TrainedUnigram]:
    """Make the JOINT tokenizer, by training one unigram model on the text of all
    languages.

    Dead pieces are reported in the description and stay. Where the text has fewer than
    T pieces, the tokenizer is smaller, and the log has a warning.

    Parameters
    ----------
    total
        T, or several, which one descent gives; by default that of `settings`.
    output
        Folder to write. For several totals, {total} in it stands for T. Without it
        nothing is written.
    mix
        A multilingual sample.
    corpora
        In place of a sample: the text of each language, in a mapping or as
        {language}/train.txt in a folder, or one text. All lines are used.
    weights
        n of each language, or a table with the columns language and n. By default it is
        the number of lines.
    curve, heldout
        Table to write, with the tokens and the ALP of the held-out text of each
        language at eight T up to the largest.
    settings, **fields
        A `JointTraining`, or `Joint` of a configuration, and fields of `JointTraining`
        in the place of its own: alpha, per, coverage, threads, memory, text, layout,
        characters, points, counts.

    Returns
    -------
    TrainedUnigram or dict
        The tokenizer, or for several totals a tokenizer by total.

    Raises
    ------
    UsageError
        For a total that does not hold the required characters.
    VocapError
        For a text that is missing, empty or not UTF-8.
    """
    totals = as_totals(total, settings)
    own = JointTraining.given(settings, **fields, total=max(totals))
    run_text = own.text_of(own.text)
    check_unigram_text(run_text, own.layout)
    further = points_below(max(totals)) if curve else ()
    places = folders(own.points, further) | folders(output, totals)
    if (curve is None) != (heldout is None):
        raise UsageError("curve and heldout go together; give both or none")
    text = _text_of(mix, corpora, weights, own)
    required = _required(corpora, weights, own, run_text)
    texts = {} if heldout is None else heldout_texts(heldout)
    made: dict[int, TrainedUnigram] = {}
    measured: dict[int, list[Measured]] = {}
    for asked, proto, types in descend_joint(text, totals, own, required, further):
        reached = len(proto.pieces)
        if curve and reached not in measured:
            encoder = SentencePieceEncoder(build_processor(proto, text.name))
            measured[reached] = measure_size(encoder, reached, texts)
        if asked in totals or asked in places:
            facts: dict[str, Any] = {"total": asked, "coverage": own.coverage}
            facts |= {"byte_fallback": False, "user_defined_symbols": [], **run_text.changed()}
            seen = {**text.facts, "word_types": types}
            made[asked] = as_trained("joint", proto, facts, short=asked - reached, text=seen)
            if asked in places:
                made[asked].write(places[asked])
    if curve:
        write_sizes(curve, chain.from_iterable(measured.values()))
    return {one: made[one] for one in totals} if isinstance(total, Collection) else made[totals[0]]


def _text_of(
    mix: Text | None, corpora: Texts | Text | None, weights: Weights | None, own: JointTraining
) -> MultilingualText:
    """The sample, or all lines of the languages."""
    if mix is not None and corpora is None:
        return sampled_text(mix, None if weights is None else own.alpha)
    if corpora is None or mix is not None:
        raise UsageError("give either mix, a sample, or corpora, for every training line")
    per = own.per or "line"
    return whole_text(
        corpora, weights, own.alpha, per, memory=(MEMORY, own.memory), counts=own.counts
    )


def _required(
    corpora: Texts | Text | None, weights: Weights | None, own: JointTraining, text: TextSettings
) -> list[str] | None:
    """The characters that the tokenizer holds as VOCAP does; None without the folder that
    decides them.
    """
    if own.characters is None:
        return None
    if weights is None:
        raise SettingError("weights", "missing; characters needs n of each language")
    n = load_weights(weights)
    # a folder of other text was not counted
    counted = own.counts if str(own.characters) == str(corpora) else None

    def count(path: Path, settings: TextSettings) -> tuple[Counter[str], int]:
        if counted is None:
            return count_characters(path, settings)
        found = Counts.open(counted, {"train": path}, path.parent.name)
        return found.trained_characters(settings)

    shared = count_shared_characters(own.characters, n, own.alpha, own.coverage, text, count)
    return sorted({*shared, *text.required_chars})


def descend_joint(
    text: MultilingualText,
    totals: Sequence[int],
    own: JointTraining,
    required: Sequence[str] | None = None,
    further: Sequence[int] = (),
) -> Iterator[tuple[int, sentencepiece_model_pb2.ModelProto, int]]:
    """Each of `totals` with its `ModelProto` and the word types of `text`, from one
    descent over it.

    `own`: the coverage, threads, memory, text and layout are taken, no total; `further`:
    totals that are left out where the text does not reach them; `required`: characters
    that the tokenizer holds and no others, in the place of the coverage. The model is
    the one that SentencePiece trains with one thread on all lines, each as often as it
    counts, for any number of threads; lines are not held, only the word
    types. A total above what the text holds takes a second, short descent, with a
    warning. Raises UsageError for a total that does not hold the required characters,
    naming the smallest that does; VocapError for a text without any.
    """
    # numba's kernels, which other commands do not need
    from vocap.unigram.ladder import train_sizes
    from vocap.unigram.word_types import count_word_types

    settings, layout = own.text_of(own.text), own.layout
    for total in totals:
        layout.check_total(total)
    # no piece has the name of a special token of the layout: they are symbols of the
    # training
    names = [entry.token for entry in layout.special if entry.token not in STOCK]
    trained = replace(settings, control_symbols=(*names, *settings.control_symbols))
    # ids of the tokenizer less those of the trained model
    apart = layout.rows - len(STOCK) - len(names)
    metas = list(dict.fromkeys((*STOCK, *trained.meta_pieces)))  # rows that are no pieces of text
    words = count_word_types(
        list(text.parts.values()),
        own.coverage if required is None else None,
        "".join(required or ()),
        trained,
        metas,
        own.memory,
    )
    log.info("%s: %d lines, %d word types", text.name, text.facts["lines"], words.trained)
    words = replace(words, counts={}, sentences={})  # no ALP is asked for
    optional = {total for total in further if total > layout.rows}.difference(totals)
    # size: the totals it is for
    waiting = {total - apart: [total] for total in sorted(optional.union(totals))}
    while waiting:
        shorter: dict[int, list[int]] = {}
        how = own.coverage, own.threads, 1, own.memory  # one id for <pad>
        for rung in train_sizes(words, sorted(waiting), *how):
            size = rung.point.size
            if rung.model is None and optional.issuperset(waiting[size]):
                continue
            if rung.most is not None and rung.most < size:
                shorter.setdefault(rung.most, []).extend(waiting[size])
                continue
            if rung.model is None:
                total = min(waiting[size])
                if rung.least is None:
                    raise VocapError(
                        f"{text.name}: {rung.point.status} to train T = {total} on; it must hold "
                        "text (vocap sample, vocap mix)"
                    )
                raise UsageError(
                    f"{text.name}: T = {total} does not hold the required characters; the smallest "
                    f"possible T is {rung.least + apart}: raise total, or lower the coverage"
                )
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
