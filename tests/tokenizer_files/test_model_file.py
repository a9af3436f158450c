import json
import os
import random
import subprocess
import sys

import numpy as np
import pytest
import sentencepiece

from tests.tokenizer_files.hostile import hostile_models, own_rules_model, parse, train_model
from tests.vocabularies.factories import make_text
from vocap.errors import VocapError
from vocap.tokenizer_files.charsmap import built_in_maps, check_charsmap
from vocap.tokenizer_files.model_file import (
    MAX_BYTES,
    load_processor,
    nested,
    read_model,
    read_pieces,
)

# Loads every file named on standard input and encodes with those that are accepted; one JSON line for each.
LOADER = """
import json, sys
from vocap.errors import VocapError
from vocap.tokenizer_files.encoders import load_encoder
from vocap.tokenizer_files.model_file import read_pieces
text = ["aaaaaaaaaaaa" * 30, "", "\\0a\\0", "ababa éè ＡＢ ﷺ 각 ①", "\\u2581 <s> qqqqqqqqqqqqqq" * 9, "ω\\u0915"]
for path in json.load(sys.stdin):
    try:
        read_pieces(path)
        encoder = load_encoder(path)
        ids = encoder.encode_batch(text)
        encoder.processor.decode(ids)
        assert all(0 <= number < encoder.size == len(encoder.pieces) for line in ids for number in line)
        print(json.dumps(None), flush=True)
    except VocapError as error:
        print(json.dumps(str(error)), flush=True)
"""


def load_in_a_process_of_its_own(paths):
    done = subprocess.run(
        [sys.executable, "-c", LOADER],
        input=json.dumps([str(path) for path in paths]),
        capture_output=True,
        text=True,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, (
        f"{paths[len(answers) :][:1]} ended the process: {done.returncode} {done.stderr[-2000:]}"
    )
    return answers


def test_models_that_lie_are_refused_and_end_no_process(tmp_path):
    models = hostile_models()
    paths = []
    for number, (model, _) in enumerate(models.values()):
        paths.append(tmp_path / f"{number}.model")
        paths[-1].write_bytes(model)
    answers = load_in_a_process_of_its_own(paths)
    assert len(answers) == len(models) > 40
    for path, answer, (name, (_, words)) in zip(paths, answers, models.items(), strict=True):
        assert answer is not None, f"{name} was accepted"
        assert words in answer, f"{name}: {answer}"
        assert str(path) in answer
        assert "again" in answer  # the remedy


@pytest.mark.parametrize("kind", ["unigram", "bpe", "word", "char"])
def test_damaged_bytes_end_no_process(kind, tmp_path):
    good = train_model(size=150, model_type=kind, hard_vocab_limit=False, user_defined_symbols=["ab", "abc"])
    map_bytes = len(parse(good).normalizer_spec.precompiled_charsmap)
    draw = random.Random(kind)
    paths = []
    for number in range(60):
        data = bytearray(good)
        for _ in range(draw.choice([1, 2, 10, 200])):
            last = len(data) if draw.random() < 0.5 else len(data) - map_bytes
            data[draw.randrange(last)] = draw.choice([0, 127, 128, 255, draw.randrange(256)])
        paths.append(tmp_path / f"{number}.model")
        paths[-1].write_bytes(data)
    answers = load_in_a_process_of_its_own(paths)
    assert len(answers) == 60
    assert 0 < sum(answer is None for answer in answers) < 60


def test_the_content_of_a_good_model(tmp_path):
    path = tmp_path / "good.model"
    path.write_bytes(train_model(size=400, byte_fallback=True, user_defined_symbols=["<x>"]))
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(path))
    pieces = read_pieces(path)
    assert pieces.pieces == [theirs.id_to_piece(number) for number in range(400)]
    assert pieces.scores.dtype == np.float32
    assert pieces.scores.tolist() == [theirs.get_score(number) for number in range(400)]
    assert [(kind == 2, kind == 3, kind == 6) for kind in pieces.types] == [
        (theirs.is_unknown(number), theirs.is_control(number), theirs.is_byte(number)) for number in range(400)
    ]
    assert read_model(path).trainer_spec.vocab_size == 400
    lines = make_text("latin", 50, seed=3)
    assert load_processor(path).encode(lines) == theirs.encode(lines)


@pytest.mark.parametrize("kind", ["bpe", "word", "char"])
def test_other_model_types_are_tokenizers_too(kind, tmp_path):
    path = tmp_path / "other.model"
    path.write_bytes(train_model(size=90, model_type=kind, hard_vocab_limit=False))
    lines = make_text("latin", 20)
    theirs = sentencepiece.SentencePieceProcessor(model_file=str(path))
    assert load_processor(path).encode(lines) == theirs.encode(lines)


def test_files_that_are_no_files(tmp_path):
    with pytest.raises(VocapError, match=r"none\.model: no such model file"):
        read_pieces(tmp_path / "none.model")
    os.mkfifo(tmp_path / "pipe.model")  # reading it would wait for ever
    for path in (tmp_path, tmp_path / "pipe.model"):
        with pytest.raises(VocapError, match="not a file"):
            read_pieces(path)
    with open(tmp_path / "large.model", "wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(VocapError, match=f"{MAX_BYTES + 1} bytes, more than"):
        read_pieces(tmp_path / "large.model")


def test_self_tests_of_a_file_are_not_run(tmp_path):
    model = parse(train_model())
    model.self_test_data.samples.add(input="a b", expected="this is not what comes out")
    (tmp_path / "own.model").write_bytes(model.SerializeToString())
    assert load_processor(tmp_path / "own.model").encode("a b")


def test_nested():
    assert nested([]) == 0
    assert nested(["b", "a", "c"]) == 1
    assert nested(["ab", "abcd", "x", "a", "abd", "abc"]) == 4  # a, ab, abc, abcd


def test_every_map_of_the_library_passes_the_whole_check(tmp_path):
    assert len(built_in_maps()) == 4
    for blob in built_in_maps():
        check_charsmap(blob)
        check_charsmap(blob + b"more\0")  # other bytes, so not recognised
    check_charsmap(parse(own_rules_model(tmp_path)).normalizer_spec.precompiled_charsmap)
    check_charsmap(b"")


def walk(units, replacements):
    """Whether Normalizer::NormalizePrefix is safe on every text: each path followed by itself, byte by byte."""

    def offset(value):
        return (value >> 10) << ((value & 1 << 9) >> 6)

    def follow(base, depth, matches):
        if depth > 256 or base >= len(units):
            return False
        for byte in range(256):
            child = base ^ byte
            found = units[child]
            if found & (1 << 31 | 0xFF) != byte:
                continue
            below, count = child ^ offset(found), matches
            if below >= len(units):
                return False
            if found >> 8 & 1:
                value, count = units[below] & 0x7FFFFFFF, matches + 1
                if count > 32 or value >= len(replacements) or replacements[value] & 0xC0 == 0x80:
                    return False
            if not follow(below, depth + 1, count):
                return False
        return True

    return follow(offset(units[0]), 0, 0)


def test_the_check_agrees_with_following_every_path(tmp_path):
    blob = parse(own_rules_model(tmp_path)).normalizer_spec.precompiled_charsmap
    trie_bytes = int.from_bytes(blob[:4], "little")
    units = np.frombuffer(blob, "<u4", trie_bytes // 4, 4).tolist()
    replacements = blob[4 + trie_bytes :]
    used = [number for number, value in enumerate(units) if value & 0x80000000 or value >> 10]
    draw = random.Random(5)
    verdicts = []
    for _ in range(400):
        changed = list(units)
        for _ in range(draw.choice([1, 1, 2, 5])):
            number = draw.choice(used)
            flip = draw.choice([1 << draw.randrange(32), 1 << draw.randrange(10, 16), 1 << 8])
            changed[number] = changed[number] ^ flip
        expected = walk(changed, replacements)
        try:
            check_charsmap(blob[:4] + np.array(changed, "<u4").tobytes() + replacements)
            found = True
        except ValueError:
            found = False
        assert found == expected
        verdicts.append(found)
    assert 50 < sum(verdicts) < 350
