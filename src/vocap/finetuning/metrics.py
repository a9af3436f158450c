"""XTREME's measures, in percent, as the official scripts compute them.

Sources: `evaluate.py` of google-research/xtreme (accuracy; which script scores which
task), `evaluate-v1.1.py` of SQuAD (XQuAD and TyDiQA), `mlqa_evaluation_v1.py` of
facebookresearch/MLQA, and seqeval 0.0.12, the version that xTune pins, for tags. Case,
word bounds, whitespace and punctuation follow Python's own Unicode tables, as theirs.
"""

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from operator import eq

import numpy as np

from vocap.errors import VocapError

Words = Callable[[str], list[str]]  # an answer's words as a script compares them

_ARTICLES = {  # of MLQA's script, by the language of the answer; empty for none
    "en": r"\b(a|an|the)\b",
    "es": r"\b(un|una|unos|unas|el|la|los|las)\b",
    "de": r"\b(ein|eine|einen|einem|eines|einer|der|die|das|den|dem|des)\b",
    "vi": r"\b(của|là|cái|chiếc|những)\b",
    # wherever the letters stand; its other alternative asks for a text's start after a
    # space
    "ar": "ال",
    "hi": "",
    "zh": "",
}
# tasks of Table 1, and the measures of each that its average takes
AVERAGED: dict[str, tuple[str, ...]] = {
    "xnli": ("acc",),
    "pawsx": ("acc",),
    "udpos": ("f1",),
    "panx": ("f1",),
    "xquad": ("f1", "exact_match"),
    "mlqa": ("f1", "exact_match"),
    "tydiqa": ("f1", "exact_match"),
}
_ASCII = dict.fromkeys(map(ord, string.punctuation))
_HAN = re.compile("([\u4e00-\u9fa5])")


class ScoringError(VocapError, ValueError):
    """Gold and predictions that no official script would score, or would score without
    meaning.
    """


def accuracy(gold: Sequence[object], pred: Sequence[object]) -> float:
    """Percent of equal labels at equal places.

    Raises ScoringError for lists of unequal length (XTREME asserts that, too) and for
    empty ones.
    """
    return float(np.mean(label_hits(gold, pred))) * 100


def label_hits(gold: Sequence[object], pred: Sequence[object]) -> np.ndarray:
    """Which labels are right: bool [examples]. Raises ScoringError as `accuracy`."""
    if len(gold) != len(pred) or not len(gold):
        raise ScoringError(
            f"{len(gold)} gold labels, {len(pred)} predicted ones; predict one label an example"
        )
    return np.fromiter(map(eq, gold, pred), bool, len(gold))


def chunk_f1(gold: Sequence[Sequence[str]], pred: Sequence[Sequence[str]]) -> dict[str, float]:
    """Precision, recall and F1 over (type, start, end) of all sentences' chunks
    together (seqeval 0.0.12).

    A tag's first character is its prefix, the text after its last hyphen its type: tags
    without prefixes, as UPOS, form chunks of equal neighbours. `gold` and `pred` are
    lists of sentences, or both one sentence's tags. Where nothing is predicted,
    expected or shared, the measure is 0. Raises ScoringError for sentences of unequal
    length (seqeval 1.2.2 does; 0.0.12 would shift all chunks that follow) and for an
    empty tag.
    """
    correct, predicted, expected = (int(total) for total in chunk_counts(gold, pred).sum(axis=0))
    precision = correct / predicted if predicted else 0.0
    recall = correct / expected if expected else 0.0
    f1 = 2 * precision * recall / (precision + recall) if correct else 0.0
    return {"precision": precision * 100, "recall": recall * 100, "f1": f1 * 100}


def chunk_counts(gold: Sequence[Sequence[str]], pred: Sequence[Sequence[str]]) -> np.ndarray:
    """Chunks that are correct, predicted and expected: int64 [sentences, 3], a chunk
    counted where it ends.

    Raises ScoringError as `chunk_f1`.
    """
    # a single sentence's tags are a list of one sentence, as seqeval reads them
    gold, pred = (  # type: ignore[assignment]  # the type does not tell a tag from a list of tags
        [tags] if len(tags) and isinstance(tags[0], str) else tags for tags in (gold, pred)
    )
    if list(map(len, gold)) != list(map(len, pred)):
        raise ScoringError(
            f"tags of {len(gold)} and {len(pred)} sentences, or of other words; predict one tag a "
            "word of every sentence"
        )
    # with the O that joins sentences
    ends = np.cumsum([len(tags) + 1 for tags in gold])
    expected, predicted = _chunks(gold), _chunks(pred)
    counts = np.zeros((len(gold), 3), np.int64)
    for column, chunks in enumerate((expected & predicted, predicted, expected)):
        places = np.array([end for *_, end in chunks], np.int64)
        np.add.at(counts[:, column], np.searchsorted(ends, places, side="right"), 1)
    return counts


def _chunks(sentences: Iterable[Sequence[str]]) -> set[tuple[str, int, int]]:
    """Type, first and last place of every chunk, places counted over all sentences with
    an O after each.

    The rules are seqeval's own, unusual tags included: a chunk may end that never began
    and then starts where the last one did, so the state passes from sentence to
    sentence.
    """
    chunks = set()
    prefix_before, type_before, begin = "O", "", 0
    place = 0
    for sentence in sentences:
        for tag in (*sentence, "O"):
            if not tag:
                raise ScoringError(
                    f"an empty tag after {place} others; write O for a word outside all chunks"
                )
            prefix, kind = tag[0], tag.rsplit("-", 1)[-1]
            changed = kind != type_before
            if (
                prefix_before in "ES"
                or (prefix_before in "BI" and prefix in "BSO")
                or (changed and prefix_before not in "O.")
            ):
                chunks.add((type_before, begin, place - 1))
            if (
                prefix in "BS"
                or (prefix_before in "ESO" and prefix in "EI")
                or (changed and prefix not in "O.")
            ):
                begin = place
            prefix_before, type_before = prefix, kind
            place += 1
    return chunks


def squad_score(
    predictions: Mapping[str, str], references: Mapping[str, Sequence[str]]
) -> dict[str, float]:
    """Exact match and F1 in percent, as `evaluate-v1.1.py` of SQuAD computes them.

    Parameters
    ----------
    predictions : question id to answer; an id without prediction counts 0
    references : question id to its answers, of which the best one counts

    Returns
    -------
    `exact_match` and `f1`, means over `references`.

    Raises
    ------
    ScoringError : without references, and for a question without an answer
    """
    return span_score(predictions, references, squad_words)


def mlqa_score(
    predictions: Mapping[str, str], references: Mapping[str, Sequence[str]], language: str
) -> dict[str, float]:
    """The same as `mlqa_evaluation_v1.py` computes it, for answers in `language`.

    Parameters, result and errors as of `squad_score`; ScoringError also for a language
    that MLQA does not have.
    """
    return span_score(predictions, references, mlqa_words(language))


def span_score(
    predictions: Mapping[str, str], references: Mapping[str, Sequence[str]], words: Words
) -> dict[str, float]:
    """Exact match and F1, the mean over `references`; an id without prediction counts 0.

    `words` cuts an answer into the words that are compared. Each measure is the best
    over an id's reference answers; predictions of other ids are left out. Raises
    ScoringError where there are no references, or no answer to compare a prediction
    with.
    """
    scores = answer_scores(predictions, references, words)
    # summed one by one as the scripts do: other orders round differently
    exact_match, f1 = np.cumsum(scores, axis=0)[-1]
    return {
        "exact_match": float(100.0 * exact_match / len(scores)),
        "f1": float(100.0 * f1 / len(scores)),
    }


def answer_scores(
    predictions: Mapping[str, str], references: Mapping[str, Sequence[str]], words: Words
) -> np.ndarray:
    """Exact match and F1 of every question in the order of `references`: float64
    [questions, 2], from 0 to 1.

    Raises ScoringError as `span_score`.
    """
    if not references:
        raise ScoringError("no reference answers: there is nothing to score")
    scores = np.zeros((len(references), 2))
    for row, (question, answers) in zip(scores, references.items(), strict=True):
        if question not in predictions:
            continue
        if not answers:
            raise ScoringError(
                f"question {question}: no reference answer; leave out questions without answers"
            )
        given = words(predictions[question])
        expected = [words(answer) for answer in answers]
        row[:] = (
            max(given == one for one in expected),
            max(_word_f1(given, one) for one in expected),
        )
    return scores


def _word_f1(given: list[str], expected: list[str]) -> float:
    shared = sum((Counter(given) & Counter(expected)).values())
    if not shared:
        return 0.0  # two answers without a word as well, which match exactly
    precision, recall = shared / len(given), shared / len(expected)
    return 2 * precision * recall / (precision + recall)


def squad_words(answer: str) -> list[str]:
    """Lower-case words without ASCII punctuation and English articles
    (`normalize_answer` of SQuAD v1.1).

    >>> squad_words("The U.S.  Army")
    ['us', 'army']
    """
    return re.sub(_ARTICLES["en"], " ", answer.lower().translate(_ASCII)).split()


def mlqa_words(language: str) -> Words:
    """MLQA's `normalize_answer` for one language: without any script's punctuation, its
    own articles.

    Chinese characters (U+4E00 to U+9FA5) are words of their own.

    >>> mlqa_words("zh")("1998 年北京。")
    ['1998', '年', '北', '京']
    """
    if language not in _ARTICLES:
        raise ScoringError(f"{language}: MLQA has no such language; it has {', '.join(_ARTICLES)}")
    articles = _ARTICLES[language]

    def words(answer: str) -> list[str]:
        text = answer.lower().translate(_punctuation())
        if articles:
            text = re.sub(articles, " ", text)
        if language == "zh":
            text = _HAN.sub(r" \1 ", text)
        return text.split()

    return words


@cache
def _punctuation() -> dict[int, None]:
    """All of Unicode's categories P* in this Python's tables, and ASCII's symbols, to
    be deleted.
    """
    return _ASCII | {
        code: None for code in range(0x10FFFF) if unicodedata.category(chr(code)).startswith("P")
    }


def paper_average(scores: Mapping[str, Mapping[str, float]]) -> float:
    """The Avg column of the paper's Table 1: the mean over tasks, (F1 + exact match) /
    2 for questions.

    `scores`: task to measures in percent; other measures are ignored. Over fewer than
    the seven tasks it is the mean of those, which compares with no printed number.
    Raises ScoringError for no task, an unknown one, or one without its measures.
    """
    if not scores:
        raise ScoringError("no task: there is nothing to average")
    return sum(task_score(task, measures) for task, measures in scores.items()) / len(scores)


def task_score(task: str, measures: Mapping[str, float]) -> float:
    """The one number of a task in that average. Raises ScoringError as
    `paper_average`.
    """
    metrics = AVERAGED.get(task, ())
    if not metrics or not {*measures.keys()} >= {*metrics}:
        raise ScoringError(
            f"{task}: {', '.join(measures) or 'no measures'}; the average is over {AVERAGED}"
        )
    return sum(measures[name] for name in metrics) / len(metrics)
