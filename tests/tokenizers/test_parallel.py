"""Premiums and inequality on parallel text."""

import itertools
import lzma

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from vocap.errors import UsageError, VocapError
from vocap.files.tsv import read_tsv
from vocap.tokenizers.evaluation import PARALLEL_COLUMNS, find_files, gini, premiums
from vocap.tokenizers.output_commands import evaluate

from .scripts import WORDS, model, processor


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=12).filter(any))
def test_gini_is_half_the_relative_mean_difference(values):
    pairs = [abs(one - other) for one, other in itertools.product(values, repeat=2)]
    expected = sum(pairs) / len(pairs) / (2 * sum(values) / len(values))
    assert gini(values) == pytest.approx(expected, abs=1e-12)
    assert gini([3 * value for value in values]) == pytest.approx(gini(values), abs=1e-12)


@pytest.mark.parametrize("values", [[], [0, 0], [-1, 2]])
def test_gini_of_values_without_one(values):
    with pytest.raises(ValueError, match="Gini"):
        gini(values)


def test_premiums():
    assert premiums({"de": 30, "en": 20}) == {"de": 1.5, "en": 1.0}
    assert premiums({"de": 30}) == {"de": None}


def test_files_of_a_pattern(tmp_path):
    (tmp_path / "de.txt").write_text("")
    assert find_files(f"{tmp_path}/{{lang}}.txt", ["de", "en"]) == ({"de": tmp_path / "de.txt"}, ["en"])
    with pytest.raises(UsageError, match=r"no \{lang\} in it"):
        find_files("x.txt", ["de"])


@pytest.fixture
def made(tmp_path):
    """A model, held-out lines of three languages, and parallel text of two of them; one has an empty line."""
    (tmp_path / "sentencepiece.model").write_bytes(model().SerializeToString())
    for language in ("el", "en", "hi"):
        (tmp_path / "corpora" / language).mkdir(parents=True)
        (tmp_path / "corpora" / language / "heldout.txt").write_text("x y\n")
    for language in ("en", "hi"):
        with lzma.open(tmp_path / f"{language}.xz", "wt", encoding="utf-8", newline="\n") as file:
            file.write("".join(f"{word}\n" for word in ["", *WORDS[language][:6]]))
    return tmp_path


def run(root):
    names = {"tokenizer": "sentencepiece.model", "corpora": "corpora", "output": "evaluation.tsv"}
    options = [part for name, path in names.items() for part in (f"--{name}", str(root / path))]
    parallel = ["--parallel", f"{root}/{{lang}}.xz", "--parallel-output", str(root / "parallel.tsv")]
    result = CliRunner().invoke(evaluate, [*options, *parallel])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def test_parallel_text(made, caplog):
    result = run(made)
    assert result.exit_code == 0, result.output
    own = processor(model())
    tokens = {language: sum(map(len, own.encode(WORDS[language][:6]))) for language in ("en", "hi")}
    rows = list(read_tsv(made / "parallel.tsv", PARALLEL_COLUMNS))
    assert [(row["language"], row["lines"], int(row["tokens"])) for row in rows] == [
        (language, "7", tokens[language]) for language in ("en", "hi")
    ]
    assert [float(row["ratio_to_english"]) for row in rows] == [1.0, tokens["hi"] / tokens["en"]]
    assert "el.xz: no parallel text, left out" in caplog.text
    assert f"{gini(list(tokens.values())):.4f}" in result.output


def test_files_of_different_length(made):
    with lzma.open(made / "el.xz", "wt", encoding="utf-8") as file:
        file.write("a\nb\n")
    with pytest.raises(VocapError, match=r"el.xz has 2 lines and .*en.xz has 7"):
        run(made)
    assert not (made / "parallel.tsv").exists() and not (made / "evaluation.tsv").exists()


def test_a_truncated_file(made):
    (made / "el.xz").write_bytes((made / "en.xz").read_bytes()[:40])
    with pytest.raises(VocapError, match=r"el.xz: the xz data stop in the middle"):
        run(made)


def test_text_that_is_not_utf8(made):
    with lzma.open(made / "el.xz", "wb") as file:
        file.write(b"a\n\xff\n")
    with pytest.raises(VocapError, match=r"el.xz, line 2: not UTF-8"):
        run(made)


def test_no_file_at_all(made):
    for language in ("en", "hi"):
        (made / f"{language}.xz").unlink()
    with pytest.raises(VocapError, match="no file for any of el, en, hi"):
        run(made)
