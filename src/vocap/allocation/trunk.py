"""The trunk of rule `pieces`: the candidates of every T, from the text of all languages together.

The rule maximises Equation 2, sum_i q_i^beta ALP_i(V), over one set V of T - 5 pieces that all languages share.

    trunk:  one text of the word types of all languages, each line as often as its language weighs. `pool`: rungs
            of one descent over it, as JOINT descends; `tokens`: of byte-pair encoding, in the order of merges
    branch: (`vocap.allocation.branch`) the lowest rung of the pool with T - 5 pieces and 1.5 times as
            many tokens, offered to every language whose text holds them; EM; rounds that prune a tenth, and end at
            exactly T - 5 pieces

Byte-pair encoding takes fewer tokens on text of another domain, and the pool has the likelihood: from both the
branch makes a list that is better than either (docs/allocation.md).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from vocap.allocation.language_state import expect, in_order
from vocap.bpe.training import piece_candidates
from vocap.errors import VocapError
from vocap.files.atomic import replacing
from vocap.progress import Steps
from vocap.tables.sampling_probabilities import line_weights
from vocap.unigram import descent
from vocap.unigram.word_types import WordTypes, join_word_types, most_frequent_types

POOL_RATE = 0.5  # of a rung of the pool to the one above
CHARACTERS = 50_000_000  # of distinct words of all languages in the common text, at most
TOKENS = 750_000  # of a trunk, at most: those offered for T = 500,000
OFFERED = 1.5  # tokens offered for each piece of T

Texts = Mapping[str, Callable[[], WordTypes]]


@dataclass(frozen=True)
class Rungs:
    """Nested lists of pieces: rung r holds the first `len(scores[r])` of `pieces`, float32 log probabilities."""

    pieces: list[str]
    scores: list[np.ndarray]

    def lowest_with(self, size: int) -> tuple[list[str], np.ndarray]:
        """The pieces and scores of the lowest rung that has `size` pieces, or of the first rung."""
        enough = [scores for scores in self.scores if len(scores) >= size]
        scores = enough[-1] if enough else self.scores[0]
        return self.pieces[: len(scores)], scores


@dataclass(frozen=True)
class Trunk:
    """The part of a descent that does not depend on T.

    `pool`: rungs of the texts of all languages together; `tokens`: of byte-pair encoding on them, in the order of
    merges; `required`: characters that are always pieces.
    """

    pool: Rungs
    tokens: list[str]
    required: frozenset[str]

    def offer_for(self, capacity: int) -> tuple[list[str], np.ndarray]:
        """The pieces with which the branch to `capacity` pieces begins, and their scores float32.

        A token that is not in the pool begins with the lower quartile of the pool's scores, a character with the
        least of them.
        """
        pool, scores = self.pool.lowest_with(capacity)
        known = dict.fromkeys(pool)
        tokens = [token for token in self.tokens[: int(OFFERED * capacity)] if token not in known]
        characters = sorted(self.required - known.keys())
        first = np.full(len(tokens), np.quantile(scores, 0.25), np.float32)
        last = np.full(len(characters), scores.min(), np.float32)
        return [*pool, *tokens, *characters], np.concatenate([scores, first, last])


def grow_trunk(texts: Texts, weights: Mapping[str, float], required: Iterable[str], threads: int = 1) -> Trunk:
    """The trunk of all languages.

    `texts`: word types by language; `required`: characters that are always pieces, beside those of the
    languages.
    """
    most, parts, always = CHARACTERS // len(texts), [], set(required)
    with Steps("trunk", len(texts) + 2) as steps:
        for _, words in in_order(texts, lambda count: most_frequent_types(count(), most), threads):
            parts.append(words)
            always.update(words.required)
            steps.advance()
        tokens = piece_candidates(parts, list(weights.values()), TOKENS)
        steps.advance()
        pool = _pool(parts, list(weights.values()))
        steps.advance()
    return Trunk(pool, tokens, frozenset(always))


def _pool(parts: Sequence[WordTypes], weights: Sequence[float]) -> Rungs:
    """Rungs of one descent over the word types of all languages, each with the share of its weight."""
    lines = [words.sentences["train"] for words in parts]
    times = line_weights(weights, lines).tolist()
    corpus, state = descent.seed(join_word_types(zip(parts, times, strict=True)))
    last, rungs = np.full(len(corpus.piece_place), -1, np.int16), []
    while True:
        for _ in range(descent.SUB_ITERATIONS):
            state = descent.expectation_maximisation(corpus, state, expect)
        last[state.ids] = len(rungs)
        rungs.append(np.full(len(last), -np.inf, np.float32))
        rungs[-1][state.ids] = state.scores
        size = int(POOL_RATE * len(state.ids))
        if size < 2 * corpus.required:
            break
        chosen = np.sort(descent.prune_order(corpus, state)[:size])
        state = descent.reduce(corpus, state, chosen, state.scores[chosen], state.lattice)
    # an order of the pieces in which every rung is a beginning
    order = np.argsort(-last, kind="stable")
    sizes = [np.count_nonzero(last >= rung) for rung in range(len(rungs))]
    place, length = corpus.piece_place[order[: sizes[0]]], corpus.piece_length[order[: sizes[0]]]
    bounds = zip(place.tolist(), (place + length).tolist(), strict=True)
    pieces = [corpus.text[begin:end].tobytes().decode("utf-32-le") for begin, end in bounds]
    return Rungs(pieces, [rung[order[:size]] for rung, size in zip(rungs, sizes, strict=True)])


def write_trunk(path: str | Path, trunk: Trunk, weights: Mapping[str, float]) -> None:
    """Write a trunk and the `weights` of its languages, whole or not at all; each T can be a job of its own."""
    with replacing(path, "wb") as file:
        np.savez(
            file,
            required=_code_points(sorted(trunk.required)),
            tokens=_code_points(trunk.tokens),
            pool=_code_points(trunk.pool.pieces),
            sizes=np.array(list(map(len, trunk.pool.scores)), np.int64),
            scores=np.concatenate(trunk.pool.scores),
            languages=np.array(list(weights)),
            weights=np.array(list(weights.values()), np.float64),
        )


def read_trunk(path: str | Path, weights: Mapping[str, float]) -> Trunk:
    """Read a trunk; raises VocapError for another kind of file, or a trunk of other languages or weights."""
    try:
        with np.load(Path(path), allow_pickle=False) as held:
            made_for = dict(zip(held["languages"].tolist(), held["weights"].tolist(), strict=True))
            scores = np.split(held["scores"], np.cumsum(held["sizes"])[:-1])
            pool = Rungs(_strings(held["pool"]), scores)
            trunk = Trunk(pool, _strings(held["tokens"]), frozenset(_strings(held["required"])))
    except FileNotFoundError:
        raise VocapError(f"{path}: no such file; make it (vocap trunk)") from None
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise VocapError(f"{path}: not the trunk of a descent ({error}); make it again (vocap trunk)") from None
    if made_for != dict(weights):
        raise VocapError(
            f"{path}: a trunk of other languages or weights than this allocation; make it again (vocap trunk)"
        )
    return trunk


def _code_points(pieces: list[str]) -> np.ndarray:
    """Pieces as code points, int32, with a 0 between them: no piece holds one."""
    return np.frombuffer("\0".join(pieces).encode("utf-32-le"), np.int32)


def _strings(points: np.ndarray) -> list[str]:
    text = points.tobytes().decode("utf-32-le")
    return text.split("\0") if text else []
