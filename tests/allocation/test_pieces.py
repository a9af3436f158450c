"""The common descent of rule pieces: its rounds by definition, its branches, and where
states lie.
"""

import math
import random

import numpy as np
import pytest

from tests.allocation import naive_descent
from tests.unigram.test_word_types import types_of
from tests.vocabularies.factories import make_text
from vocap.allocation.language_state import (
    LanguageState,
    LanguageStore,
    estimate,
    make_offer,
    play_round,
    with_pieces,
)
from vocap.allocation.pieces import (
    Trunk,
    branch,
    grow_trunk,
    read_trunk,
    settle,
    write_trunk,
)
from vocap.unigram.word_types import load_word_types

LANGUAGES = ("aa", "bb", "cc")


def word_types(lines):
    return load_word_types({"train": lambda: [lines]})


def counted(words):
    return dict(zip(types_of(words), words.frequencies.tolist(), strict=True))


@pytest.fixture(scope="module")
def texts():
    """Three languages; the last two share their words."""
    lines = {
        "aa": make_text("latin", 120, 1),
        "bb": make_text("kana", 90, 2),
        "cc": make_text("kana", 60, 3),
    }
    return {code: lambda text=text: word_types(text) for code, text in lines.items()}


def tiny(seed):
    """Words of few letters, so that every segmentation can be listed, and pieces of
    them, in two languages.
    """
    rng = random.Random(seed)
    lines = [
        [
            " ".join("".join(rng.choices(letters, k=rng.randint(1, 6))) for _ in range(3))
            for _ in range(25)
        ]
        for letters in ("abcd", "bcde")
    ]
    pieces = sorted(
        {
            word[a:b]
            for text in lines
            for line in text
            for word in line.split()
            for a in (0, 1)
            for b in (2, 3, 4)
            if b - a > 1 and word[a:b]
        }
    )
    pieces = sorted({*"\u2581abcde", *rng.sample(pieces, 25), "\u2581a", "\u2581b"})
    return (
        lines,
        pieces,
        np.log(np.random.default_rng(seed).dirichlet(np.ones(len(pieces)))).astype(np.float32),
    )


@pytest.mark.parametrize("seed", range(6))
def test_a_round_is_the_definition(tmp_path, seed):
    lines, pieces, scores = tiny(seed)
    weights = {"aa": 0.7, "bb": 0.2}
    languages = LanguageStore(tmp_path, 0)
    expected = dict.fromkeys(pieces, 0.0)
    used = {piece for piece in pieces if len(piece) == 1}
    for code, text in zip(weights, lines, strict=True):
        words = word_types(text)
        languages.put(code, with_pieces(words, make_offer(pieces, scores)))
        types = counted(words)
        own = {
            piece: float(score)
            for piece, score in zip(pieces, scores, strict=True)
            if any(piece in word for word in types)
        }
        for _ in range(2):
            own = naive_descent.estimate(types, own)
        for piece, loss in naive_descent.losses(types, own, len(text)).items():
            expected[piece] += weights[code] * loss
            used.add(piece)
    required = np.array([len(piece) == 1 for piece in pieces])
    found = play_round(
        languages, weights, required, lambda language: estimate(language, 2), threads=1
    )
    assert {pieces[number] for number in np.flatnonzero(found.used)} == used
    assert found.loss == pytest.approx(
        np.array([expected[piece] for piece in pieces]), rel=1e-3, abs=1e-5
    )
    kept = found.best(required, len(used) - 3)
    best = sorted((expected[piece] for piece in used if len(piece) > 1), reverse=True)[:-3]
    chosen = {pieces[number] for number in np.flatnonzero(kept)}
    assert {*"\u2581abcde"} < chosen
    found = sorted((expected[piece] for piece in chosen if len(piece) > 1), reverse=True)
    assert found == pytest.approx(best, rel=1e-3, abs=1e-5)


def run(texts, total, folder, budget=1 << 30, threads=1, totals=(), memory=None):
    folder.mkdir()
    weights = dict(zip(texts, (0.6, 0.5, 0.4), strict=True))
    trunk = grow_trunk(texts, weights, ["\u00e9"], threads, memory=memory)
    for other in totals:
        branch(trunk, other, 0.1, texts, weights, LanguageStore(folder, budget), threads)
    languages = LanguageStore(folder, budget)
    chosen = branch(trunk, total, 0.1, texts, weights, languages, threads, memory)
    pieces, models = settle(chosen, languages, 0.9995, threads, memory=memory)
    assert {piece for piece in pieces if len(piece) > 1} == {
        pieces[number]
        for model in models.values()
        for number in model.numbers.tolist()
        if len(pieces[number]) > 1
    }
    return pieces, {code: model.model for code, model in models.items()}


def test_threads_disk_and_other_totals_change_nothing(texts, tmp_path):
    alone = run(texts, 400, tmp_path / "alone")
    assert run(texts, 400, tmp_path / "threads", threads=3) == alone
    assert run(texts, 400, tmp_path / "disk", budget=0) == alone
    assert run(texts, 400, tmp_path / "some-disk", budget=200_000, totals=(150, 700)) == alone
    assert run(texts, 400, tmp_path / "limit", budget=200_000, memory=0) == alone


@pytest.mark.parametrize("total", [110, 137, 200, 333, 500, 612])
def test_exactly_as_many_pieces_as_asked_for(texts, tmp_path, total):
    pieces, _ = run(texts, total, tmp_path / "x")
    assert len(pieces) == len(set(pieces)) == total
    assert "\u00e9" in pieces  # required, though no language has it


def test_more_than_the_texts_can_use(texts, tmp_path):
    pieces, _ = run(texts, 1_000_000, tmp_path / "x")
    everything, _ = run(texts, 900_000, tmp_path / "y")
    assert pieces == everything and 800 < len(pieces) < 900_000


def test_an_offer_holds_the_characters_and_the_first_tokens(texts):
    trunk = grow_trunk(texts, dict.fromkeys(texts, 1.0), ["\u00e9"])
    assert trunk.required == {"\u00e9"}.union(*(count().required for count in texts.values()))
    pieces, scores = trunk.offer_for(300)
    assert len(pieces) == len(set(pieces))
    first = trunk.tokens[: 3 * (300 - len(trunk.required)) // 2]
    assert pieces == [*sorted(trunk.required), *first]
    assert scores == pytest.approx([-math.log(n) for n in range(1, len(pieces) + 1)])
    assert len(trunk.offer_for(10**6)[0]) == len({*trunk.tokens, *trunk.required})


def test_a_core_of_the_first_tokens_stays(texts, tmp_path):
    weights = dict.fromkeys(texts, 1.0)
    trunk, held = grow_trunk(texts, weights, []), []
    for core in (0, 0.25, 0.5):
        chosen = branch(trunk, 400, core, texts, weights, LanguageStore(tmp_path, 0))
        held.append({chosen.pieces[number] for number in np.flatnonzero(chosen.kept)})
        assert len(held[-1]) == 400
    for core, more in zip((100, 200), held[1:], strict=True):
        first = set(trunk.tokens[:core])
        assert held[0] & first < more & first  # the tokens that are on no best path go
    least = len(trunk.required) + 9  # characters and a core of half of T are more than T
    assert branch(trunk, least, 0.5, texts, weights, LanguageStore(tmp_path, 0)).kept.sum() == least


def test_a_store_returns_equal_states(texts, tmp_path):
    pieces = ["\u2581", *"abcdefgh", "ab"]
    words = texts["aa"]()
    language = with_pieces(words, make_offer(pieces, np.zeros(10, np.float32)))
    for budget in (0, 1 << 30):
        store = LanguageStore(tmp_path, budget)
        store.put("aa", language)
        back = store.get("aa")
        assert isinstance(back, LanguageState) and (back.lines == language.lines).all()
        for one, other in (
            (vars(back.corpus), vars(language.corpus)),
            (vars(back.state), vars(language.state)),
            (back.state.lattice._asdict(), language.state.lattice._asdict()),
        ):
            for name, value in one.items():
                if isinstance(value, np.ndarray):
                    assert value.dtype == other[name].dtype and (value == other[name]).all()


def test_a_trunk_file_holds_pieces_with_line_ends(tmp_path):
    tokens = [":\n", "\n\n", "\u2581b\n"]
    trunk = Trunk(tokens, frozenset("ab"))
    write_trunk(tmp_path / "t.npz", trunk, {"aa": 0.5})
    assert read_trunk(tmp_path / "t.npz", {"aa": 0.5}) == trunk
