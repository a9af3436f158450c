"""A tokenizer in a process of its own gives what `tokenizers` gives; a hostile one costs that process alone."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

from tests.tokenizer_files.test_encoders import word_pieces
from tests.vocabularies.factories import make_text
from vocap.errors import VocapError
from vocap.tokenizer_files.encoders import load_encoder
from vocap.tokenizer_files.guarded_tokenizer import GuardedTokenizer


def unigram(normalizer=None) -> Tokenizer:
    tokenizer = Tokenizer(
        models.Unigram([("<u>", 0.0), *((a, -1.0) for a in "abc▁é"), ("ab", -1.5)], unk_id=0, byte_fallback=False)
    )
    if normalizer is not None:
        tokenizer.normalizer = normalizer
    return tokenizer


def byte_level() -> Tokenizer:
    tokenizer = Tokenizer(models.BPE({"a": 0, "b": 1, "ab": 2, "Ġ": 3}, [("a", "b")]))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(), decoders.ByteLevel()
    return tokenizer


@pytest.mark.parametrize("make", [word_pieces, byte_level, lambda: unigram(normalizers.NFC())])
def test_it_equals_the_library(tmp_path, make):
    library, path = make(), tmp_path / "tokenizer.json"
    library.save(str(path))
    guarded = GuardedTokenizer("json", path)
    lines = [*make_text("latin", 20, seed=2), "", "a e\u0301 \U0001f600 ab", "<u>", "\0"]
    library.encode_special_tokens = True
    assert guarded.get_vocab() == library.get_vocab()
    assert json.loads(guarded.to_str()) == json.loads(library.to_str())
    expected = library.encode_batch(lines, add_special_tokens=False)
    assert [entry.ids for entry in guarded.encode_batch_fast(lines)] == [entry.ids for entry in expected]
    for own, entry in zip(guarded.encode_batch(lines), expected, strict=True):
        assert (own.ids, own.tokens) == (entry.ids, entry.tokens)
        assert list(map(tuple, own.offsets)) == entry.offsets
    if library.normalizer is None:
        assert guarded.normalizer is None
    else:
        assert guarded.normalizer.normalize_str(lines[-3]) == library.normalizer.normalize_str(lines[-3])


def hostile() -> dict[str, tuple[Tokenizer, str, str]]:
    """Tokenizers that parse, a text that each is dangerous on, and the words of the refusal."""
    thousands = normalizers.Sequence([normalizers.Replace("a", "a" * 1000)] * 5)
    return {
        "backtracking": (unigram(normalizers.Replace(Regex("(a+)+$"), "b")), "a" * 60 + "c", "retry-limit"),
        "hours": (unigram(normalizers.Replace(Regex(r"a+\d"), "b")), "a" * 800_000 + "-1", "processor time"),
        "gigabytes": (unigram(thousands), "aaa", "256 MiB of memory"),
    }


@pytest.mark.parametrize("name", hostile())
def test_a_hostile_tokenizer_is_one_message(tmp_path, name):
    tokenizer, text, says = hostile()[name]
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    guarded = GuardedTokenizer(
        "json", tmp_path / "tokenizer.json", memory=256 << 20, seconds=1 if name == "hours" else 30
    )
    with pytest.raises(VocapError, match=says) as error:
        guarded.encode_batch_fast(["b", text])
    assert str(error.value).startswith(f"{tmp_path}/tokenizer.json: ") and "\n" not in str(error.value)


def test_a_piece_of_two_million_characters_crashes_nothing(tmp_path):
    """The library's trie is taken apart by recursion, a character a level."""
    definition = json.loads(unigram().to_str())
    definition["model"]["vocab"].append(["a" * 2_000_000, -3.0])
    path, text = tmp_path / "tokenizer.json", tmp_path / "text.txt"
    path.write_text(json.dumps(definition))
    text.write_text("ab\n" * 10)
    alone = [sys.executable, "-c", f"import tokenizers; tokenizers.Tokenizer.from_file({str(path)!r})"]
    assert subprocess.run(alone, capture_output=True, check=False).returncode == -signal.SIGSEGV
    shown = subprocess.run(
        [Path(sys.executable).parent / "vocap", "alp", path, text], capture_output=True, text=True, check=False
    )
    assert (shown.returncode, shown.stderr, float(shown.stdout)) == (0, "", 0.0)


def test_a_process_that_ends_early_is_reported(tmp_path):
    unigram().save(str(tmp_path / "tokenizer.json"))
    encoder = load_encoder(tmp_path)
    os.kill(encoder.tokenizer._process.pid, signal.SIGSEGV)
    with pytest.raises(VocapError, match=r"tokenizer\.json: its library crashes \(SIGSEGV\)"):
        encoder.encode_batch(["a"])


def test_no_process_stays(tmp_path):
    unigram().save(str(tmp_path / "tokenizer.json"))
    encoder = load_encoder(tmp_path)
    process = encoder.tokenizer._process
    assert encoder.encode_batch(["ab"]) == [[6]]
    del encoder
    assert process.returncode is not None
