"""Examples to inputs of models (pairs, sentences, questions), and predictions back to tags and answers."""

from collections.abc import Iterator, Sequence

import numpy as np

from vocap.finetuning.features import NO_LABEL, PairFeatures, Ragged, SpanFeatures, TagFeatures
from vocap.finetuning.formats import Answer, Pair, Question, Sentence
from vocap.finetuning.input_encoder import InputEncoder, check_budget

N_BEST = 20  # best starts and ends of a window that are combined
MAX_ANSWER = 30  # subwords


def encode_pairs(
    examples: Sequence[Pair], tokenizer, labels: Sequence[str], max_length: int = 256
) -> PairFeatures:
    """One input a pair, in order, at most `max_length` ids with the special tokens.

    `tokenizer`: a Hugging Face fast one, or an `InputEncoder`; `labels`: the task's, by number. Raises KeyError
    for a label that is none of them, UsageError for a length that leaves no ids for the text.
    """
    encoder = InputEncoder.of(tokenizer)
    before, between, after = encoder.before, encoder.between, encoder.after
    budget = max_length - len(before) - len(between) - len(after)
    check_budget(budget, 2, max_length)
    firsts = encoder.ids([example.first for example in examples])
    seconds = encoder.ids([example.second for example in examples])
    rows, second = [], np.zeros(len(examples), dtype=np.int32)
    for number, (left, right) in enumerate(zip(firsts, seconds, strict=True)):
        kept, other = longest_first(len(left), len(right), budget)
        row = [*before, *left[:kept], *between, *right[:other], *after]
        second[number] = len(before) + kept + len(between)
        rows.append(np.array(row, dtype=np.int32))
    numbers = {label: number for number, label in enumerate(labels)} | {None: NO_LABEL}
    return PairFeatures(
        ids=Ragged.of(rows, np.int32),
        example=np.arange(len(examples), dtype=np.int32),
        second=second,
        examples=len(examples),
        label=np.array([numbers[example.label] for example in examples], dtype=np.int32),
    )


def longest_first(first: int, second: int, budget: int) -> tuple[int, int]:
    """Two lengths after the longer (of equals: the second) has lost its last tokens until both fit.

    >>> longest_first(10, 3, 8), longest_first(10, 9, 7)
    ((5, 3), (4, 3))
    """
    if first + second <= budget:
        return first, second
    half = budget // 2
    if second <= half:
        return budget - second, second
    if first <= budget - half:
        return first, budget - first
    return budget - half, half


def encode_sentences(
    examples: Sequence[Sentence], tokenizer, labels: Sequence[str], max_length: int = 128
) -> TagFeatures:
    """Every word encoded alone; a sentence that is too long is cut between words, greedily, into several inputs.

    `tokenizer`: a Hugging Face fast one, or an `InputEncoder`; `labels`: the task's, by number. A word without any
    piece, or with more than an input holds, is the unknown token: no word is lost. Raises KeyError for a tag that
    is no label.
    """
    encoder = InputEncoder.of(tokenizer)
    before, after = encoder.before, encoder.between
    budget = max_length - len(before) - len(after)
    check_budget(budget, 1, max_length)
    pieces = _pieces(examples, encoder, budget)
    numbers = {label: number for number, label in enumerate(labels)}
    rows, example, first, last, word, label = [], [], [], [], [], []
    for number, sentence in enumerate(examples):
        words = [pieces[text] for text in sentence.words]
        tags = [NO_LABEL] * len(words) if sentence.tags is None else [numbers[tag] for tag in sentence.tags]
        for start, end in cuts([len(ids) for ids in words], budget):
            ends = np.cumsum([len(before)] + [len(ids) for ids in words[start:end]])
            rows.append([*before, *(piece for ids in words[start:end] for piece in ids), *after])
            example.append(number)
            first.append(ends[:-1])
            last.append(ends[1:])
            word.append(range(start, end))
            label.append(tags[start:end])
    ids = Ragged.of(rows, np.int32)
    return TagFeatures(
        ids=ids,
        example=np.array(example, dtype=np.int32),
        second=ids.lengths.astype(np.int32),
        examples=len(examples),
        first=Ragged.of(first, np.int32),
        last=Ragged.of(last, np.int32),
        word=Ragged.of(word, np.int32),
        label=Ragged.of(label, np.int32),
    )


def _pieces(examples: Sequence[Sentence], encoder: InputEncoder, budget: int) -> dict[str, list[int]]:
    """Every distinct word to its ids, at least one."""
    words = list(dict.fromkeys(text for sentence in examples for text in sentence.words))
    unknown = [encoder.unk_id]
    encoded = zip(words, encoder.ids(words), strict=True)
    return {text: ids if 0 < len(ids) <= budget else unknown for text, ids in encoded}


def cuts(lengths: Sequence[int], budget: int) -> list[tuple[int, int]]:
    """The first word and one past the last of each part of at most `budget` ids; at least one part.

    >>> cuts([3, 2, 4, 1], 5)
    [(0, 2), (2, 4)]
    """
    parts, start, used = [], 0, 0
    for number, length in enumerate(lengths):
        if used + length > budget and number > start:
            parts.append((start, number))
            start, used = number, 0
        used += length
    return [*parts, (start, len(lengths))]


def join_tags(features: TagFeatures, predicted: Sequence[np.ndarray], labels: Sequence[str]) -> list[list[str]]:
    """The tags of every sentence, one a word, from the label numbers of each input's words."""
    sentences: list[list[str]] = [[] for _ in range(features.examples)]
    for example, words, numbers in zip(features.example, features.word, predicted, strict=True):
        if len(numbers) != len(words):
            raise ValueError(
                f"{len(numbers)} predictions for the {len(words)} words of a part of sentence {example}"
            )
        sentences[example].extend(labels[number] for number in numbers)
    return sentences


def encode_questions(
    examples: Sequence[Question], tokenizer, max_length: int = 384, stride: int = 128, max_question: int = 64
) -> SpanFeatures:
    """One input a window; every question has at least one, and every token of its context is in one.

    `tokenizer`: a Hugging Face fast one, or an `InputEncoder`. `stride` is the number of tokens from the start of
    one window to that of the next (`doc_stride` of the original BERT code, not an overlap); questions are cut to
    `max_question` tokens.
    """
    encoder = InputEncoder.of(tokenizer)
    before, between, after = encoder.before, encoder.between, encoder.after
    rows, example, second, start, end, offsets, best = [], [], [], [], [], [], []
    for number, question, context, places in _encoded(examples, encoder):
        head = [*before, *question[:max_question], *between]
        budget = max_length - len(head) - len(after)
        check_budget(budget, 1, max_length)
        target = None
        if examples[number].answers:
            target = find_tokens(places, examples[number].answers[0])
        parts = windows(len(context), budget, stride)
        most = most_context(len(context), parts)
        for part, (first, last) in enumerate(parts):
            rows.append(np.concatenate([head, context[first:last], after]).astype(np.int32))
            inner = slice(len(head), len(head) + last - first)
            offsets.append(np.full((len(rows[-1]), 2), -1, dtype=np.int32))
            offsets[-1][inner] = places[first:last]
            best.append(np.zeros(len(rows[-1]), dtype=bool))
            best[-1][inner] = most[first:last] == part
            inside = target is not None and first <= target[0] and target[1] < last
            start.append(len(head) + target[0] - first if inside else 0)
            end.append(len(head) + target[1] - first if inside else 0)
            second.append(len(head))
            example.append(number)
    return SpanFeatures(
        ids=Ragged.of(rows, np.int32),
        example=np.array(example, dtype=np.int32),
        second=np.array(second, dtype=np.int32),
        examples=len(examples),
        start=np.array(start, dtype=np.int32),
        end=np.array(end, dtype=np.int32),
        offsets=Ragged.of(offsets, np.int32, (2,)),
        best=Ragged.of(best, bool),
    )


def _encoded(
    examples: Sequence[Question], encoder: InputEncoder
) -> Iterator[tuple[int, list[int], np.ndarray, np.ndarray]]:
    """Number, ids of the question, ids and offsets of the context, encoded once for neighbours that share it."""
    changes = [
        number
        for number, example in enumerate(examples)
        if number == 0 or example.context != examples[number - 1].context
    ]
    contexts = encoder.ids_and_offsets([examples[number].context for number in changes])
    questions = encoder.ids([example.question for example in examples])
    new = set(changes)
    for number, question in enumerate(questions):
        if number in new:
            context, places = next(contexts)
        yield number, question, context, places


def windows(length: int, budget: int, stride: int) -> list[tuple[int, int]]:
    """Start and end of each window of at most `budget` tokens, until one reaches the end; at least one.

    >>> windows(10, 4, 3)
    [(0, 4), (3, 7), (6, 10)]
    """
    parts = []
    start = 0
    while True:
        end = min(length, start + budget)
        parts.append((start, end))
        if end == length:
            return parts
        start += min(budget, stride)


def most_context(length: int, parts: Sequence[tuple[int, int]]) -> np.ndarray:
    """int [length]: the window that gives each token most context, the smaller side counting.

    Of equals, the longer window has a hundredth of its length in advance; then the first (`_check_is_max_context`
    of the original BERT code).
    """
    places = np.arange(length)
    most, highest = np.zeros(length, dtype=np.int32), np.full(length, -1.0)
    for part, (start, end) in enumerate(parts):
        inside = slice(start, end)
        score = np.minimum(places[inside] - start, end - 1 - places[inside]) + 0.01 * (end - start)
        better = score > highest[inside]
        most[inside][better] = part
        highest[inside][better] = score[better]
    return most


def find_tokens(offsets: np.ndarray, answer: Answer) -> tuple[int, int] | None:
    """The first and last token (its index) that share a character with the answer; None where none does.

    `offsets`: int32 [tokens, 2].
    """
    first, last = answer.start, answer.start + len(answer.text)
    touching = np.flatnonzero((offsets[:, 0] < last) & (offsets[:, 1] > first))
    return (int(touching[0]), int(touching[-1])) if len(touching) else None


def best_answers(
    features: SpanFeatures,
    examples: Sequence[Question],
    start_scores: Sequence[np.ndarray],
    end_scores: Sequence[np.ndarray],
    n_best: int = N_BEST,
    max_answer: int = MAX_ANSWER,
) -> list[str]:
    """The answer of every question: the highest start + end of all its windows, of at most `max_answer` subwords.

    `start_scores`, `end_scores`: float [length] of each input. The `n_best` starts and ends of each window are
    combined (xTune's `compute_predictions_logits`); without a valid pair, all of them are. A start counts in the
    window that gives it the most context. The answer is the text of the original context from the first
    token's first character to the last one's last. Empty only where the context has no token.
    """
    found: list[tuple[float, str]] = [(-np.inf, "")] * len(examples)
    fallback = list(found)
    for number, (starts, ends) in enumerate(zip(start_scores, end_scores, strict=True)):
        example = features.example[number]
        offsets, best = features.offsets[number], features.best[number]
        for kept, count in ((found, n_best), (fallback, None)):
            if kept is fallback and found[example][0] > -np.inf:
                continue
            span = best_span(starts, ends, offsets[:, 0] >= 0, best, count, max_answer)
            if span is not None and span[0] > kept[example][0]:
                text = examples[example].context[offsets[span[1], 0] : offsets[span[2], 1]]
                kept[example] = (span[0], text)
    return [best[1] if best[0] > -np.inf else rest[1] for best, rest in zip(found, fallback, strict=True)]


def best_span(
    starts: np.ndarray,
    ends: np.ndarray,
    inside: np.ndarray,
    best: np.ndarray,
    n_best: int | None,
    max_answer: int,
) -> tuple[float, int, int] | None:
    """The highest score of one window, and its first and last position; None where no pair is allowed.

    `starts`, `ends`: float [length]; `inside`, `best`: bool [length], where an answer may lie and may begin;
    `n_best`: number of starts and ends that are combined, None for all.
    """
    firsts, lasts = highest(starts, n_best), highest(ends, n_best)
    firsts, lasts = firsts[inside[firsts] & best[firsts]], lasts[inside[lasts]]
    sums = starts[firsts][:, None].astype(np.float64) + ends[lasts][None, :]
    length = lasts[None, :] - firsts[:, None] + 1
    sums[(length < 1) | (length > max_answer)] = -np.inf
    if not sums.size or not np.isfinite(highest_sum := sums.max()):
        return None
    first, last = divmod(int(sums.argmax()), len(lasts))
    return float(highest_sum), int(firsts[first]), int(lasts[last])


def highest(scores: np.ndarray, count: int | None) -> np.ndarray:
    """The positions of the highest scores, highest first, of equals the first."""
    return np.argsort(-scores, kind="stable")[:count]
