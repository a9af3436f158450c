"""With `seeds: words`, pieces, ids and scores are those that SentencePiece 0.2.2 trains.

It normalises otherwise, so both read text that 0.2.1 has normalised, 0.2.2 without
rules of its own.
"""

import fcntl
import json
import lzma
import os
import random
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
import pytest
import sentencepiece

from tests.commands import vocap
from tests.made_text import write_lines
from tests.unigram.test_against_sentencepiece import ALPHABETS, LANGUAGES, ODD, make_text
from vocap.unigram.ladder import train_sizes
from vocap.unigram.seeds import (
    common_prefixes,
    find_word_seeds,
    frequencies_at_the_end,
    suffix_array,
    word_seed_text,
)
from vocap.unigram.training_text import is_trainable, trainer_normalizer
from vocap.unigram.word_types import load_word_types

TRAIN = """
import io, json, sys, sentencepiece
results = []
for text in json.load(sys.stdin):
    rules = {} if text["raw"] else dict(
        normalization_rule_name="identity", add_dummy_prefix=False, remove_extra_whitespaces=False
    )
    results.append({})
    for size in text["sizes"]:
        model = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=iter(text["lines"]), model_writer=model, model_type="unigram",
                vocab_size=size, character_coverage=0.9995, num_threads=1,
                max_sentence_length=1 << 30, minloglevel=2, **rules
            )
        except (RuntimeError, OSError) as error:
            results[-1][size] = str(error)
            continue
        pieces = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
        ids = range(pieces.get_piece_size())
        results[-1][size] = [[pieces.id_to_piece(i), pieces.get_score(i)] for i in ids]
json.dump(results, sys.stdout)
"""


@pytest.fixture(scope="session")
def python_with_0_2_2(tmp_path_factory):
    """The interpreter of a virtual environment with SentencePiece 0.2.2, made once for
    all test processes.
    """
    folder = tmp_path_factory.getbasetemp()
    folder = folder.parent if os.environ.get("PYTEST_XDIST_WORKER") else folder
    python, failure = (
        folder / "sentencepiece-0.2.2" / "bin" / "python",
        folder / "sentencepiece-0.2.2.failed",
    )
    with open(folder / "sentencepiece-0.2.2.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not python.exists() and not failure.exists():
            subprocess.run([sys.executable, "-m", "venv", python.parents[1]], check=True)
            install = [
                python,
                "-m",
                "pip",
                "install",
                "-q",
                "--only-binary",
                ":all:",
                "sentencepiece==0.2.2",
            ]
            installed = subprocess.run(install, capture_output=True, text=True)
            if installed.returncode:
                failure.write_text(installed.stderr.strip()[-300:], "utf-8")
    if failure.exists():
        pytest.skip(f"SentencePiece 0.2.2 cannot be installed: {failure.read_text('utf-8')}")
    return python


def reference(python, texts):
    """For each text (lines, sizes, whether 0.2.2 normalises them) and size: pieces and
    scores, or an error.
    """
    normalizer = trainer_normalizer()
    tasks = [
        {
            "lines": lines
            if raw
            else normalizer.normalize([line for line in lines if is_trainable(line)]),
            "sizes": sizes,
            "raw": raw,
        }
        for lines, sizes, raw in texts
    ]
    run = subprocess.run(
        [python, "-c", TRAIN], input=json.dumps(tasks), capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr[-2000:]
    return [
        {int(size): result for size, result in results.items()}
        for results in json.loads(run.stdout)
    ]


def assert_same(python, texts) -> int:
    """Compare all sizes of all texts; returns how many of them have a model."""
    models = 0
    for (lines, sizes, _), expected in zip(texts, reference(python, texts), strict=True):
        words = load_word_types({"train": lambda lines=lines: [lines]})
        ending = frequencies_at_the_end([lines], words.required)
        for rung in train_sizes(words, sizes, ending=ending):
            size = rung.point.size
            if rung.model is None:
                _assert_same_reason(rung.point.status, expected[size])
                continue
            pieces = sentencepiece.SentencePieceProcessor(model_proto=rung.model)
            got = [
                [pieces.id_to_piece(i), pieces.get_score(i)] for i in range(pieces.get_piece_size())
            ]
            assert got == expected[size], (lines[:3], size)
            models += 1
    return models


def _assert_same_reason(status: str, error: str | list) -> None:
    assert isinstance(error, str), status
    if status.startswith("too little text"):
        assert f"<= {status.split()[-2]}." in error
    elif status.startswith("too small"):
        assert f" vs {status.split()[-2]}." in error
    else:
        assert status.startswith("no text")


def test_made_text_gives_the_same_pieces(python_with_0_2_2):
    texts = [
        (make_text(*ALPHABETS[script]), [40, 60, 100, 150, 250, 400, 3000], False)
        for script in ALPHABETS
    ]
    assert assert_same(python_with_0_2_2, texts) > 30


def test_odd_text_gives_the_same_pieces(python_with_0_2_2):
    assert (
        assert_same(
            python_with_0_2_2, [(lines, [5, 8, 10, 15, 20, 45], False) for lines in ODD.values()]
        )
        > 15
    )


def test_the_end_of_the_text_equals_sentencepiece(python_with_0_2_2):
    """The last line in many places, the last lines repeated, lines that normalise to
    nothing.
    """
    texts = []
    for seed in range(100):
        chooser = random.Random(seed)
        lexicon = [
            "".join(chooser.choices("abc", k=chooser.randint(1, 4)))
            for _ in range(chooser.randint(2, 12))
        ]
        lines = [
            " ".join(chooser.choices(lexicon, k=chooser.randint(1, 5)))
            for _ in range(chooser.randint(2, 40))
        ]
        lines += [
            [],
            lines[-1:] * chooser.randint(1, 4),
            lines[-chooser.randint(1, 3) :] * chooser.randint(1, 3),
            [lines[0] + " " + lines[-1], lines[-1]],
            ["", " ", "\u3000", lines[0]] * chooser.randint(1, 3),
        ][seed % 5]
        if seed % 5 == 4:
            chooser.shuffle(lines)
        texts.append((lines, [8, 10, 12, 15, 20], True))
    assert assert_same(python_with_0_2_2, texts) > 200


@pytest.mark.parametrize("language", LANGUAGES)
def test_real_text_gives_the_same_pieces(python_with_0_2_2, language):
    folder = os.environ.get("VOCAP_DATA")
    if not folder:
        pytest.skip("VOCAP_DATA is not set: no real text")
    path = Path(folder) / "text" / "ntrex" / f"{language}.txt.xz"
    lines = lzma.decompress(path.read_bytes()).decode("utf-8").split("\n")[:400]
    assert assert_same(python_with_0_2_2, [(lines, [100, 1200, 2500, 20_000], False)]) >= 1


def test_the_command_begins_with_the_seeds_asked_for(tmp_path, python_with_0_2_2):
    lines = make_text(*ALPHABETS["latin"])
    write_lines(tmp_path / "train.txt", lines)
    done = vocap(
        "ladder", tmp_path / "train.txt", "-o", tmp_path, "--sizes", "200", "--seeds", "words"
    )
    assert done.returncode == 0, done.stderr
    pieces = sentencepiece.SentencePieceProcessor(model_file=str(tmp_path / "models" / "200.model"))
    got = [[pieces.id_to_piece(i), pieces.get_score(i)] for i in range(pieces.get_piece_size())]
    assert [{200: got}] == reference(python_with_0_2_2, [(lines, [200], False)])


def test_seeds_are_parts_of_the_repeated_substrings_of_the_text():
    """By the definition of 0.2.2, over all substrings of the whole text."""
    for number in range(30):
        chooser = random.Random(number)
        lexicon = ["".join(chooser.choices("abж1", k=chooser.randint(1, 4))) for _ in range(8)]
        lines = [" ".join(chooser.choices(lexicon, k=3)) for _ in range(12)]
        words = load_word_types(
            {"train": lambda lines=lines: [lines], "other": lambda: [["abab жж1 ab"]]}, coverage=1
        )
        ending = frequencies_at_the_end([lines], words.required)
        source = word_seed_text(words)
        order = suffix_array(source.text)
        seeds = find_word_seeds(source, order, common_prefixes(source.text, order, 17), ending)
        places = order[seeds.left].tolist()
        found = [
            ("".join(map(chr, source.text[place : place + depth])), int(score))
            for place, depth, score in zip(
                places, seeds.depth.tolist(), seeds.score.tolist(), strict=True
            )
        ]
        expected = sorted(
            seeds_by_definition(
                "".join("\u2581" + line.replace(" ", "\u2581") + "\0" for line in lines)
            ).items(),
            key=lambda item: (-item[1], -len(item[0].encode("utf-8")), item[0]),
        )
        assert found == expected
        limited = find_word_seeds(
            source, order, common_prefixes(source.text, order, 17), ending, limit=5
        )
        assert np.array_equal(limited.left, seeds.left[:5])


def seeds_by_definition(text: str) -> dict[str, int]:
    """Score of each valid part of the substrings that have two continuations and do not
    end the text.
    """
    followers: dict[str, Counter] = defaultdict(Counter)
    for begin in range(len(text)):
        for end in range(begin + 2, len(text) + 1):
            followers[text[begin:end]][text[end : end + 1]] += 1
    scores: dict[str, int] = {}
    for substring, following in followers.items():
        if len(following) < 2 or text.endswith(substring):
            continue
        for part in substring.replace("\u2581", "\0\u2581").split("\0"):
            letters = part.removeprefix("\u2581")
            scripts = {"1" if c == "1" else "ж" if c == "ж" else "a" for c in letters}
            if 2 <= len(part) <= 16 and len(scripts) == 1:
                score = sum(following.values()) * len(part)
                scores[part] = max(score, scores.get(part, 0))
    return scores
