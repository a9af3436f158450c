"""How well a tokenizer serves a language: intrinsic measures on its held-out lines."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np

from vocap.languages import RESOURCES
from vocap.vocabularies.alp import average_log_probability
from vocap.vocabularies.encoders import Encoder

COLUMNS = (
    "language",
    "resource",
    "lines",
    "alp",
    "tokens_per_sentence",
    "tokens_per_word",
    "chars_per_token",
    "bytes_per_token",
    "unk_rate",
    "vocabulary_used",
    "renyi",
    "single_char_share",
)
MEASURES = COLUMNS[3:]  # what a mean over languages can be of
UNKNOWN_COLUMNS = ("language", "character", "count")
ALL = "all"  # every language, beside the groups
ALPHA = 2.5  # order of the Rényi entropy: Zouhar et al. (2023), section 5
# ISO 15924 codes of scripts that put no spaces between words
WITHOUT_SPACES = frozenset({"Thai", "Khmr", "Laoo", "Mymr", "Hans", "Hant", "Hani", "Jpan", "Tibt", "Bopo"})


@dataclass
class Tally:
    """What is counted over one language's lines: `counts` int64 [V], the others over all lines."""

    counts: np.ndarray
    lines: int = 0
    words: int = 0
    characters: int = 0
    size_bytes: int = 0


def tally(encoder: Encoder, blocks: Iterable[list[str]]) -> tuple[Tally, Counter]:
    """Count tokens, words, characters and bytes; and the characters that became unknown.

    Words are the maximal runs of characters other than white space; characters are code points and bytes those of
    UTF-8, both of the raw line without its end.
    """
    result, unknown = Tally(np.zeros(encoder.size, np.int64)), Counter()
    for lines in blocks:
        encoded = encoder.encode_batch(lines)
        result.counts += np.bincount(np.fromiter(chain.from_iterable(encoded), np.int64), minlength=encoder.size)
        if encoder.unk_id is not None:
            for line, ids in zip(lines, encoded, strict=True):
                if encoder.unk_id in ids:
                    unknown.update(unknown_characters(encoder, line))
        result.lines += len(lines)
        result.words += sum(len(line.split()) for line in lines)
        result.characters += sum(map(len, lines))
        result.size_bytes += sum(len(line.encode("utf-8")) for line in lines)
    return result, unknown


def unknown_characters(encoder: Encoder, line: str) -> str:
    """The characters of the line that `<unk>` stands for: normalised for SentencePiece, else as written."""
    if hasattr(encoder, "processor"):
        proto = encoder.processor.encode(line, out_type="immutable_proto")
        return "".join(piece.piece for piece in proto.pieces if piece.id == encoder.unk_id)
    encoding = encoder.tokenizer.encode(line, add_special_tokens=False)
    return "".join(
        line[start:end]
        for number, (start, end) in zip(encoding.ids, encoding.offsets, strict=True)
        if number == encoder.unk_id
    )


def measure(tally: Tally, pieces: Sequence[str | None], unk_id: int | None, spaces: bool = True) -> dict:
    """The columns from `lines` on, as a dict; None where a measure is not defined.

    alp: Equation 1, natural logarithm, p_uni counted on the same lines. tokens_per_sentence: tokens / lines.
    tokens_per_word: tokens / words, None where `spaces` is false. chars_per_token, bytes_per_token: of the raw
    text. unk_rate: unknown tokens / tokens. vocabulary_used: distinct ids that occur / V. renyi:
    `renyi_efficiency`. single_char_share: share of tokens whose piece is one code point besides U+2581 (a lone
    U+2581 is none).
    """
    counts, total = tally.counts, int(tally.counts.sum())
    row: dict = dict.fromkeys(COLUMNS[2:])
    row["lines"] = tally.lines
    if not tally.lines:
        return row
    row["alp"] = average_log_probability(counts, tally.lines)
    row["tokens_per_sentence"] = total / tally.lines
    row["vocabulary_used"] = np.count_nonzero(counts) / len(counts)
    if not total:
        return row
    if spaces and tally.words:
        row["tokens_per_word"] = total / tally.words
    row["chars_per_token"] = tally.characters / total
    row["bytes_per_token"] = tally.size_bytes / total
    row["unk_rate"] = int(counts[unk_id]) / total if unk_id is not None else 0.0
    row["renyi"] = renyi_efficiency(counts)
    single = sum(int(counts[number]) for number in np.flatnonzero(counts) if _is_single(pieces[number]))
    row["single_char_share"] = single / total
    return row


def renyi_efficiency(counts: np.ndarray, alpha: float = ALPHA) -> float | None:
    """H_alpha / log V of the distribution of ids: 1 where all V are used equally (Zouhar et al. 2023).

    H_alpha = log(sum p^alpha) / (1 - alpha). `counts` int [V]; None where V is 1 or nothing was counted.

    >>> renyi_efficiency(np.array([3, 3, 3, 3]))
    1.0
    """
    total = int(counts.sum())
    if len(counts) < 2 or not total:
        return None
    powers = math.fsum((count / total) ** alpha for count in counts[counts > 0].tolist())
    return math.log(powers) / (1 - alpha) / math.log(len(counts))


def by_resource(
    rows: Iterable[dict], measures: Sequence[str] = MEASURES, weights: Mapping[str, float] | None = None
) -> list[dict]:
    """The mean of every measure over the languages of each resource group, and over all of them.

    `rows` have the keys `language`, `resource` and `measures`. Each language counts once, or, with `weights` by
    language, by its weight (none: 0); a None is left out of its mean, which is None where nothing is left. Gives
    `resource`, `languages` (their number) and the measures, in the order low, mid, high, then any others by name,
    and last `all`.
    """
    groups: dict[str, list[dict]] = {}
    for row in rows:
        groups.setdefault(row["resource"], []).append(row)
    order = [name for name in RESOURCES if name in groups] + sorted(set(groups) - set(RESOURCES))
    if groups:
        groups[ALL] = [row for name in order for row in groups[name]]
    means = []
    for name in [*order, *([ALL] if groups else [])]:
        members = groups[name]
        share = [1.0 if weights is None else weights.get(row["language"], 0.0) for row in members]
        averages = {measure: _mean([row[measure] for row in members], share) for measure in measures}
        means.append({"resource": name, "languages": len(members), **averages})
    return means


def _mean(values: Sequence[float | None], weights: Sequence[float]) -> float | None:
    known = [(value, weight) for value, weight in zip(values, weights, strict=True) if value is not None]
    total = math.fsum(weight for _, weight in known)
    return math.fsum(value * weight for value, weight in known) / total if total > 0 else None


def _is_single(piece: str | None) -> bool:
    return piece is not None and len(piece.replace("\u2581", "")) == 1
