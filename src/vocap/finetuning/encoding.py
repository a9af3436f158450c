"""Examples to inputs of models, predictions back to tags and answers, and the inputs of
a training on the disk.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vocap.errors import VocapError, log
from vocap.files.io import file_sha256, replacing_directory, write_json
from vocap.files.written import read_written
from vocap.finetuning import tasks
from vocap.finetuning.examples import (
    HELD_OUT,
    Answer,
    Examples,
    Pair,
    Question,
    TaggedSentence,
    is_labelled,
)
from vocap.finetuning.features import IGNORED, Features, load_features, save_features
from vocap.finetuning.settings import TuningRecipe
from vocap.finetuning.tasks import ENGLISH, TASKS, TRAININGS, DataSet
from vocap.tokenizer_files.encoders import refusals

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

DEFINITION, DESCRIPTION = "tokenizer.json", "description.json"
# texts that are encoded together: an encoding takes some 100 bytes a token until it is
# read
AT_ONCE = 500
N_BEST = 20  # best starts and ends of a window that are combined
MAX_ANSWER = 30  # subwords


def load_fast_tokenizer(folder: Path) -> "PreTrainedTokenizerFast":
    """The fast tokenizer of a Hugging Face folder; nothing there is run. Raises
    VocapError without one.
    """
    from transformers import AutoTokenizer  # seconds, which a wrong call need not take

    remedy = (
        f"name a folder with {DEFINITION}; save_pretrained of a model's fast tokenizer makes one"
    )
    if not (folder / DEFINITION).is_file():
        raise VocapError(f"{folder}: no {DEFINITION} there; {remedy}")
    with refusals(folder):
        found: Any = AutoTokenizer.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False
        )
    return found


class InputEncoder:
    """Text to ids and offsets, by a fast tokenizer, whose truncation and padding it
    switches off.

    A literal "<s>" in a text is text. Special tokens stand as the tokenizer itself
    places them: `before` the first text, `between` two, `after` the second, each a list
    of ids; a lone text ends like the first of two (`<s> words </s></s>`, as in xTune).
    """

    def __init__(self, tokenizer: "PreTrainedTokenizerFast") -> None:
        """Raises VocapError for a tokenizer without an unknown token or a frame of special
        tokens.
        """
        self.backend = tokenizer.backend_tokenizer
        self.backend.no_truncation()
        self.backend.no_padding()
        self.backend.encode_special_tokens = True
        name = tokenizer.name_or_path or "the tokenizer"
        if tokenizer.unk_token_id is None:
            raise VocapError(
                f"{name}: no unknown token; take a tokenizer of a masked language model"
            )
        self.unk_id: int = tokenizer.unk_token_id
        self.space_id: int | None = self.backend.token_to_id("▁")

        # the special tokens before the first of two texts, between them, and after the
        # second
        pair = self.backend.encode("a", "a")
        places = "".join("s" if text is None else str(text) for text in pair.sequence_ids)
        found = re.fullmatch("(s+)0+(s+)1+(s*)", places)
        if not found:
            raise VocapError(
                f"{name}: its post-processor puts no special tokens around a pair of texts; "
                "save the tokenizer with the one of its model (<s> A </s></s> B </s> or [CLS] A "
                "[SEP] B [SEP])"
            )
        frame = [pair.ids[slice(*found.span(part))] for part in (1, 2, 3)]
        self.before, self.between, self.after = frame

    def ids(self, texts: Sequence[str]) -> Iterator[list[int]]:
        """The ids of every text, without special tokens."""
        return (
            encoding.ids for _, encoding in self._encodings(texts, self.backend.encode_batch_fast)
        )

    def ids_and_offsets(self, texts: Sequence[str]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """int32 [tokens] ids and int32 [tokens, 2] offsets in code points of every
        text, in the original text.

        Spaces are no part of a token: that of `▁cat` is `cat`, and `▁` alone is empty.
        """
        for text, encoding in self._encodings(texts, self.backend.encode_batch):
            ids = np.array(encoding.ids, dtype=np.int32)
            offsets = np.array(encoding.offsets, dtype=np.int32).reshape(-1, 2)
            # also before a text without a space at its start, whose first character it
            # would be
            offsets[ids == self.space_id, 1] = offsets[ids == self.space_id, 0]
            yield ids, trimmed(text, offsets)

    def _encodings(
        self, texts: Sequence[str], encode_batch: Callable[..., Any]
    ) -> Iterator[tuple[str, Any]]:
        for start in range(0, len(texts), AT_ONCE):
            batch = texts[start : start + AT_ONCE]
            yield from zip(batch, encode_batch(batch, add_special_tokens=False), strict=True)


_SEEN, _SPACE, _FORMAT = 0, 1, 2


def trimmed(text: str, offsets: np.ndarray) -> np.ndarray:
    """`offsets` (int32 [tokens, 2]) from the first seen character of each token to the
    last that is its own.

    Spaces, controls and format characters are unseen. Its own are also characters up to
    the next token or space that no token holds (of `a` and a combining mark, tokenizers
    that compose them keep the place of `a`), and format characters that follow
    (joiners, zero-width spaces): annotators marked them with the word: 13 of XTREME's
    answers end so, and none ends before one.
    """

    def next_of(found: np.ndarray, at: np.ndarray) -> np.ndarray:
        """The first character that is `found` from each place on, int [tokens]."""
        places = np.append(np.flatnonzero(found), len(text))
        return places[np.searchsorted(places, at)]

    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    kinds = _kinds()[codes]
    seen = kinds == _SEEN
    start = np.minimum(next_of(seen, offsets[:, 0]), offsets[:, 1])
    behind = np.append(0, np.flatnonzero(seen) + 1)  # one past each seen character
    last_seen = behind[np.searchsorted(behind, offsets[:, 1], side="right") - 1]
    end = np.maximum(last_seen, start)
    next_token = np.append(offsets[1:, 0], len(text))
    rest = np.minimum(next_of(kinds == _SPACE, end), next_token)
    own = np.maximum(next_of(kinds != _FORMAT, end), rest)
    return np.stack([start, np.where(end > start, own, end)], axis=1).astype(np.int32)


@cache
def _kinds() -> np.ndarray:
    """int8 [code points]: which characters are seen, which are spaces or controls,
    which give a format.
    """
    kinds = dict.fromkeys(("Zs", "Zl", "Zp", "Cc"), _SPACE) | {"Cf": _FORMAT}
    return np.array(
        [kinds.get(unicodedata.category(chr(code)), _SEEN) for code in range(0x110000)],
        dtype=np.int8,
    )


def encode_pairs(
    examples: Sequence[Pair], encoder: InputEncoder, labels: Sequence[str], max_length: int = 256
) -> Features:
    """One input a pair, in order, at most `max_length` ids with the special tokens.

    `labels`: the task's, by number. Raises KeyError for a label that is none of them.
    """
    before, between, after = encoder.before, encoder.between, encoder.after
    budget = max_length - len(before) - len(between) - len(after)
    firsts = encoder.ids([example.first for example in examples])
    seconds = encoder.ids([example.second for example in examples])
    numbers = {label: number for number, label in enumerate(labels)} | {None: IGNORED}
    rows = []
    for number, (example, left, right) in enumerate(zip(examples, firsts, seconds, strict=True)):
        kept, other = longest_first(len(left), len(right), budget)
        ids = np.array([*before, *left[:kept], *between, *right[:other], *after], np.int32)
        second = len(before) + kept + len(between)
        rows.append((number, second, numbers[example.label], ids))
    return Features.of(("example", "second", "label"), ("ids",), rows)


def longest_first(first: int, second: int, budget: int) -> tuple[int, int]:
    """Two lengths after the longer (of equals: the second) has lost its last tokens
    until both fit.

    >>> longest_first(10, 3, 8), longest_first(10, 9, 7)
    ((5, 3), (4, 3))
    """
    half = budget // 2
    first = min(first, max(budget - second, budget - half))
    return first, min(second, budget - first)


def encode_sentences(
    examples: Sequence[TaggedSentence],
    encoder: InputEncoder,
    labels: Sequence[str],
    max_length: int = 128,
) -> Features:
    """Every word encoded alone; a sentence that is too long is cut between words,
    greedily, into several inputs.

    `labels`: the task's, by number. A word without any piece, or with more than an
    input holds, is the unknown token: no word is lost. Raises KeyError for a tag that
    is no label.
    """
    before, after = encoder.before, encoder.between
    budget = max_length - len(before) - len(after)

    # every distinct word to its ids, at least one
    words = list(dict.fromkeys(text for sentence in examples for text in sentence.words))
    pieces = {
        text: found if 0 < len(found) <= budget else [encoder.unk_id]
        for text, found in zip(words, encoder.ids(words), strict=True)
    }
    numbers = {label: number for number, label in enumerate(labels)}
    rows = []
    for number, sentence in enumerate(examples):
        found = [pieces[text] for text in sentence.words]
        targets = [numbers[tag] for tag in sentence.tags or ()] or [IGNORED] * len(found)
        for start, end in cuts([len(one) for one in found], budget):
            parts = [before, *found[start:end], after]
            ids, lengths = list(chain(*parts)), list(map(len, parts))
            word = np.repeat([-1, *range(end - start), -1], lengths)
            label = np.repeat([IGNORED, *targets[start:end], IGNORED], lengths)
            rows.append((number, len(ids), ids, word, label))
    return Features.of(("example", "second"), ("ids", "word", "label"), rows)


def cuts(lengths: Sequence[int], budget: int) -> list[tuple[int, int]]:
    """The first word and one past the last of each part of at most `budget` ids; at
    least one part.

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


def join_tags(
    features: Features, predicted: Sequence[np.ndarray], labels: Sequence[str]
) -> list[list[str]]:
    """The tags of every sentence, one a word, from the label numbers of each input's
    words.
    """
    sentences: list[list[str]] = [[] for _ in range(features.examples)]
    for example, numbers in zip(features.inputs["example"], predicted, strict=True):
        sentences[example].extend(labels[number] for number in numbers)
    return sentences


def encode_questions(
    examples: Sequence[Question],
    encoder: InputEncoder,
    max_length: int = 384,
    stride: int = 128,
    max_question: int = 64,
) -> Features:
    """One input a window; every question has at least one, and every token of its
    context is in one.

    `stride` is the number of tokens from the start of one window to that of the next
    (`doc_stride` of the original BERT code, not an overlap); questions are cut to
    `max_question` tokens.
    """
    before, between, after = encoder.before, encoder.between, encoder.after
    texts = list(dict.fromkeys(example.context for example in examples))
    contexts = dict(zip(texts, encoder.ids_and_offsets(texts), strict=True))
    questions = encoder.ids([example.question for example in examples])
    rows = []
    for number, (example, question) in enumerate(zip(examples, questions, strict=True)):
        context, places = contexts[example.context]
        head = [*before, *question[:max_question], *between]
        budget = max_length - len(head) - len(after)
        target = find_tokens(places, example.answers[0]) if example.answers else None
        parts = context_windows(len(context), budget, stride)
        most = most_context(len(context), parts)
        for part, (first, last) in enumerate(parts):
            ids = np.concatenate([head, context[first:last], after]).astype(np.int32)
            inner = slice(len(head), len(head) + last - first)
            offsets = np.full((len(ids), 2), -1, dtype=np.int32)
            offsets[inner] = places[first:last]
            best = np.zeros(len(ids), dtype=bool)
            best[inner] = most[first:last] == part
            start = end = 0
            if target is not None and first <= target[0] and target[1] < last:
                start, end = (len(head) + place - first for place in target)
            rows.append((number, len(head), start, end, ids, offsets, best))
    return Features.of(("example", "second", "start", "end"), ("ids", "offsets", "best"), rows)


def context_windows(length: int, budget: int, stride: int) -> list[tuple[int, int]]:
    """Start and end of each window of at most `budget` tokens, until one reaches the
    end; at least one.

    >>> context_windows(10, 4, 3)
    [(0, 4), (3, 7), (6, 10)]
    """
    starts = range(0, max(1, length - budget + min(budget, stride)), min(budget, stride))
    return [(start, min(length, start + budget)) for start in starts]


def most_context(length: int, parts: Sequence[tuple[int, int]]) -> np.ndarray:
    """int [length]: the window that gives each token most context, the smaller side counting.

    Of equals, the longer window has a hundredth of its length in advance; then the
    first (`_check_is_max_context` of the original BERT code).
    """
    most, highest = np.zeros(length, dtype=np.int32), np.full(length, -1.0)
    for part, (start, end) in enumerate(parts):
        inside, places = slice(start, end), np.arange(start, end)
        score = np.minimum(places - start, end - 1 - places) + 0.01 * (end - start)
        better = score > highest[inside]
        most[inside][better] = part
        highest[inside][better] = score[better]
    return most


def find_tokens(offsets: np.ndarray, answer: Answer) -> tuple[int, int] | None:
    """The first and last token (its index) that share a character with the answer; None
    where none does.

    `offsets`: int32 [tokens, 2].
    """
    first = answer.start
    last = answer.start + len(answer.text)
    touching = np.flatnonzero((offsets[:, 0] < last) & (offsets[:, 1] > first))
    return (int(touching[0]), int(touching[-1])) if len(touching) else None


def best_answers(
    features: Features,
    examples: Sequence[Question],
    start_scores: Sequence[np.ndarray],
    end_scores: Sequence[np.ndarray],
) -> list[str]:
    """The answer of every question: the highest start + end of all its windows, of at
    most MAX_ANSWER subwords.

    `start_scores`, `end_scores`: float [length] of each input. The N_BEST starts and
    ends of each window are combined (xTune's `compute_predictions_logits`); without a
    valid pair in any window, all of them are. A start counts in the window that gives
    it the most context. The answer is the text of the original context from the first
    token's first character to the last one's last. Empty only where the context has no
    token.
    """
    numbers: list[list[int]] = [[] for _ in examples]
    for number, example in enumerate(features.inputs["example"]):
        numbers[example].append(number)
    answers = []
    for example, own in zip(examples, numbers, strict=True):
        answer = ""
        for n_best in (N_BEST, None):
            highest_sum = -np.inf
            for number in own:
                offsets = features.row("offsets", number)
                best = features.row("best", number)
                starts, ends = start_scores[number], end_scores[number]
                span = best_span(starts, ends, offsets[:, 0] >= 0, best, n_best, MAX_ANSWER)
                if span is not None and span[0] > highest_sum:
                    highest_sum = span[0]
                    answer = example.context[offsets[span[1], 0] : offsets[span[2], 1]]
            if highest_sum > -np.inf:
                break
        answers.append(answer)
    return answers


def best_span(
    starts: np.ndarray,
    ends: np.ndarray,
    inside: np.ndarray,
    best: np.ndarray,
    n_best: int | None,
    max_answer: int,
) -> tuple[float, int, int] | None:
    """The highest score of one window, and its first and last position; None where no
    pair is allowed.

    `starts`, `ends`: float [length]; `inside`, `best`: bool [length], where an answer
    may lie and may begin; `n_best`: number of starts and ends that are combined, None
    for all.
    """
    firsts, lasts = (np.argsort(-scores, kind="stable")[:n_best] for scores in (starts, ends))
    firsts, lasts = firsts[inside[firsts] & best[firsts]], lasts[inside[lasts]]
    sums = starts[firsts][:, None].astype(np.float64) + ends[lasts][None, :]
    length = lasts[None, :] - firsts[:, None] + 1
    sums[(length < 1) | (length > max_answer)] = -np.inf
    if not sums.size or not np.isfinite(highest := sums.max()):
        return None
    first, last = divmod(int(sums.argmax()), len(lasts))
    return float(highest), int(firsts[first]), int(lasts[last])


def encode_training(
    xtreme: Path, training: str, tokenizer: Path, recipe: TuningRecipe, output: Path
) -> dict[str, Any]:
    """Encode the files of a training with the tokenizer of a Hugging Face folder;
    returns the description.

    A development or test file that is missing is named and left out, the others go on.
    Raises VocapError for a training file that is missing, for files that cannot be read
    or whose translations have other numbers of rows, UsageError for an `output` that
    holds anything else.
    """
    learnt = tasks.training_set(training)
    held_out = tasks.development(training, "english-dev").split == HELD_OUT
    parts = [DataSet(learnt.task, split, ENGLISH) for split in (tasks.KEPT, HELD_OUT) if held_out]
    encoder, absent, counts = InputEncoder(load_fast_tokenizer(tokenizer)), [], {}
    translations: dict[
        tuple[str, str], tuple[int, Path]
    ] = {}  # rows of the first file of each task and split
    owned = [DESCRIPTION, *(f"{name}/" for name in (*TASKS, *TRAININGS))]
    with replacing_directory(output, owned=owned) as folder:
        # the training file, its parts where a rule holds one out, every development and
        # test file
        for found in [learnt, *parts, *tasks.predicted_sets(training)]:
            path = found.present_file(xtreme) if found == learnt else found.file(xtreme)
            if path is None:
                log.warning("%s: no file in %s; left out", found.name, xtreme)
                absent.append(found.name)
                continue
            examples = found.read(xtreme)
            place = (found.task.name, found.split)
            usual, model = translations.setdefault(place, (len(examples), path))
            if found.task.parallel and len(examples) != usual:
                raise VocapError(
                    f"{path}: {len(examples)} rows, {model} has {usual}, and they are translations "
                    "of one another; download the one that was cut again"
                )
            features = encode_examples(found, examples, encoder, recipe)
            save_features(folder / found.name, features)
            counts[found.name] = {
                "examples": len(examples),
                "inputs": len(features),
                "labelled": all(map(is_labelled, examples)),
                "sha256": file_sha256(path),
            }
            known = found.task.rows.get(found.split, {}).get(found.language, len(examples))
            published = "" if known == len(examples) else f" ({known} in the published file)"
            log.info(
                "%s: %d examples%s, %d inputs", found.name, len(examples), published, len(features)
            )

        # what they were made of
        description = {
            "training": training,
            "tokenizer": file_sha256(tokenizer / DEFINITION),
            "max_length": recipe.max_length,
            "window": recipe.window,
            "absent": absent,
            "sets": counts,
        }
        write_json(folder / DESCRIPTION, description)
    return description


def encode_examples(
    found: DataSet, examples: Examples, encoder: InputEncoder, recipe: TuningRecipe
) -> Features:
    """The inputs of a set's examples, by the kind of its task."""
    task = found.task
    if task.kind == "spans":
        question_length, stride = recipe.window
        return encode_questions(examples, encoder, recipe.max_length, stride, question_length)
    encode_examples = encode_pairs if task.kind == "pairs" else encode_sentences
    return encode_examples(examples, encoder, task.labels, recipe.max_length)


@dataclass(frozen=True)
class EncodedInputs:
    """Encoded inputs of a training, in `folder`, made of files in the folder `xtreme`;
    `sets`: facts of every present set, by name.
    """

    folder: Path
    xtreme: Path
    training: str
    description: Mapping[str, Any]

    @property
    def sets(self) -> Mapping[str, Mapping[str, Any]]:
        return self.description["sets"]

    def load(self, found: DataSet) -> Features:
        return load_features(self.folder / found.name)

    def read_examples(self, found: DataSet) -> Examples:
        """The examples that a set's inputs were made of. Raises VocapError as
        `check_source`.
        """
        self.check_source(found)
        return found.read(self.xtreme)

    def check_source(self, found: DataSet) -> None:
        """Raise VocapError where a set's file has changed since its inputs were
        made.
        """
        path = found.file(self.xtreme)
        if path is None or file_sha256(path) != self.sets[found.name]["sha256"]:
            made = f"changed since {self.folder} was made of it"
            raise VocapError(f"{path or found.name}: {made}; run vocap encode again")


def open_inputs(folder: Path, training: str, xtreme: Path) -> EncodedInputs:
    """Raises VocapError for a folder that holds no inputs of this training."""
    path = folder / DESCRIPTION
    description = read_written(path, "encode")
    if (made := description["training"]) != training:
        raise VocapError(f"{path}: inputs of {made}, not of {training}; name the folder of its own")
    return EncodedInputs(folder, xtreme, training, description)
