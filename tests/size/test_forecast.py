"""The table against encoding by the tokenizers themselves, the forecast against the
definitions, messages.
"""

import itertools
import math
import shutil
from collections import Counter

import pandas as pd
import pytest
from sentencepiece import SentencePieceProcessor

from tests.cases import read_cases, refused
from tests.commands import caller
from tests.made_text import write_lines
from tests.tokenizers.factories import NUMBERS, make_lines, make_stages
from vocap.files.io import read_tsv, write_tsv
from vocap.size.forecast import cheapest, compare_sizes, limit
from vocap.tables.curve import SIZE_COLUMNS, read_sizes
from vocap.tables.frames import read_table

CASES = read_cases(__file__)
TOTALS = (300, 1200)
JOINT = "joint --corpora {root}/corpora --weights {root}/weights.tsv"
SIZE = "size {tmp}/sizes.tsv --parameters 5000 --hidden 16 "


@pytest.fixture(scope="module")
def stages(tmp_path_factory):
    """Tokenizers of two T and the curve of their descent; held-out text with an empty
    line and unknown letters.
    """
    stages = make_stages(tmp_path_factory.mktemp("sizes"))
    for language in NUMBERS:
        lines = make_lines(language, 120, seed=2)
        lines[3] += " \U00012000x"
        write_lines(
            stages.root / "corpora" / language / "heldout.txt", [*lines[:50], "", *lines[50:]]
        )
    caller(root=stages.root, totals="{total}")(
        f"{JOINT} --total 300 --total 1200 --curve {{root}}/sizes.tsv --heldout {{root}}/corpora "
        "-o {root}/joint/{totals}"
    )
    return stages


@pytest.fixture
def call(tmp_path):
    return caller(tmp=tmp_path)


def test_the_table_is_that_of_the_tokenizers(stages):
    """Tokens, bytes and Equation 1 by `encode` and a dict, at both T."""
    sizes = read_sizes(stages.root / "sizes.tsv")
    for total in TOTALS:
        model = stages.root / "joint" / str(total) / "sentencepiece.model"
        processor = SentencePieceProcessor(model_file=str(model))
        for language in NUMBERS:
            text = (stages.root / "corpora" / language / "heldout.txt").read_text("utf-8")
            lines = [line for line in text.split("\n") if line]
            tokens = Counter(token for line in lines for token in processor.encode(line))
            count = tokens.total()
            row = sizes[processor.get_piece_size()][language]
            assert (row.lines, row.bytes, row.tokens) == (
                120,
                sum(len(line.encode()) for line in lines),
                count,
            )
            alp = math.fsum(times * math.log(times / count) for times in tokens.values()) / len(
                lines
            )
            assert row.alp == pytest.approx(alp, rel=1e-12)


def test_the_curve_has_eighths_of_the_largest_that_the_text_reaches(stages):
    sizes = read_sizes(stages.root / "sizes.tsv")
    reached = SentencePieceProcessor(
        model_file=str(stages.root / "joint" / "1200" / "sentencepiece.model")
    )
    assert set(sizes) == {150, 300, 450, 600, 750, 900, 1050, reached.get_piece_size()}
    tokens = [sum(row.tokens for row in found.values()) for found in sizes.values()]
    assert tokens == sorted(tokens, reverse=True)


def test_the_curve_changes_no_tokenizer(stages, tmp_path, call):
    call(f"{JOINT} --total 300 -o {{tmp}}", root=stages.root)
    for name in ("sentencepiece.model", "pieces.tsv"):
        assert (tmp_path / name).read_bytes() == (stages.root / "joint" / "300" / name).read_bytes()


TABLE = CASES["table"]


def write_table(path, table, columns=SIZE_COLUMNS) -> None:
    rows = [
        (total, code, *cells) for total, found in table.items() for code, cells in found.items()
    ]
    write_tsv(path, columns, rows)


def forecast(call, tmp_path, words) -> list[dict]:
    write_table(tmp_path / "sizes.tsv", TABLE)
    call(SIZE + "-o {tmp}/out.tsv " + words)
    return list(read_tsv(tmp_path / "out.tsv"))


def test_the_forecast_is_that_of_a_hand_count(call, tmp_path):
    rows = forecast(call, tmp_path, "--causal")
    for row, found in zip(rows, TABLE.values(), strict=True):
        total = int(row["total"])
        per_byte = [tokens / size for _, size, tokens, _ in found.values()]
        mean = sum(per_byte) / 2
        assert float(row["tokens_per_byte"]) == pytest.approx(mean)
        assert float(row["alp"]) == pytest.approx(sum(alp for *_, alp in found.values()) / 2)
        assert row["worst"] == "zh"
        forward = 2 * 5000 + 2 * 16 * total
        expected = {
            "worst_tokens_per_byte": per_byte[1],
            "inference_mflop_per_byte": mean * forward / 1e6,
            "training_mflop_per_byte": 3 * mean * forward / 1e6,
            "training_gb": 16 * (5000 + 16 * total) / 1e9,
        }
        assert {name: float(row[name]) for name in expected} == pytest.approx(expected)
        assert row["mix_alp"] == row["mix_tokens_per_byte"] == ""
    assert [row["compared_with"] for row in rows] == ["", "50000", "100000"]
    for before, row in itertools.pairwise(rows):
        now, then = (float(one["training_mflop_per_byte"]) for one in (row, before))
        assert float(row["training_percent"]) == pytest.approx(100 * (now / then - 1))


def test_weights_give_the_mix_of_the_training_text(call, tmp_path):
    """Against a text with so many lines of each language as its weight says, alpha
    1.
    """
    write_tsv(tmp_path / "weights.tsv", ("language", "n"), [("en", 30), ("zh", 10), ("fr", 5)])
    rows = forecast(call, tmp_path, "--weights {tmp}/weights.tsv --alpha 1")
    for row, found in zip(rows, TABLE.values(), strict=True):
        times = {"en": 30 / 10, "zh": 10 / 20}  # of each held-out text, for 30 and 10 lines
        tokens = sum(times[code] * cells[2] for code, cells in found.items())
        read = sum(times[code] * cells[1] for code, cells in found.items())
        assert float(row["mix_tokens_per_byte"]) == pytest.approx(tokens / read)
        assert float(row["mix_alp"]) == pytest.approx(0.75 * found["en"][3] + 0.25 * found["zh"][3])


@pytest.mark.parametrize(("parameters", "hidden", "fewest", "end"), CASES["models"])
def test_a_larger_model_pays_for_more_ids(tmp_path, parameters, hidden, fewest, end):
    write_table(tmp_path / "sizes.tsv", TABLE)
    rows = compare_sizes(tmp_path / "sizes.tsv", parameters=parameters, hidden=hidden)
    assert (cheapest(rows).total, limit(rows)) == (fewest, end)


def test_ids_that_save_no_token_do_not_pay(tmp_path):
    """A masked model has no head in inference: with equal tokens its cost is the same
    at both T.
    """
    write_table(tmp_path / "sizes.tsv", {50_000: TABLE[50_000], 100_000: TABLE[50_000]})
    rows = compare_sizes(tmp_path / "sizes.tsv", parameters=5000, hidden=16)
    assert limit(rows, "inference") == 50_000 == cheapest(rows, "inference").total


@pytest.mark.parametrize(("change", "says"), CASES["tables"])
def test_a_table_that_gives_no_curve_is_one_message(call, tmp_path, change, says):
    table = {total: dict(found) for total, found in TABLE.items()}
    for total, rows in change.items():
        table[total] = {code: row for code, row in (table[total] | rows).items() if row}
    write_table(tmp_path / "sizes.tsv", {total: found for total, found in table.items() if found})
    refused(call, SIZE, says)


@pytest.mark.parametrize("case", CASES["calls"])
def test_other_files_and_options_are_one_message(call, tmp_path, case):
    write_table(tmp_path / "sizes.tsv", TABLE)
    write_table(tmp_path / "short.tsv", TABLE, (*SIZE_COLUMNS[:-1], "other"))
    write_tsv(tmp_path / "weights.tsv", ("language", "n"), [("en", 30), ("fr", 10)])
    refused(call, **case)
    assert not (tmp_path / "out.tsv").exists()


def test_the_function_gives_the_table_of_the_command(stages, call, tmp_path):
    weights = stages.root / "weights.tsv"
    table = shutil.copy(stages.root / "sizes.tsv", tmp_path / "sizes.tsv")
    line = "-o {tmp}/out.tsv --causal --weights {weights}"
    call(SIZE + line, weights=weights)
    given = {"parameters": 5000, "hidden": 16, "causal": True}
    copy = shutil.copy(table, tmp_path / "copy.tsv")
    found = compare_sizes([table, copy], weights=weights, **given)
    assert found.pop("table").unique().tolist() == [str(table), str(copy)]
    expected = read_table(tmp_path / "out.tsv")
    expected = pd.concat([expected] * 2, ignore_index=True).astype({"compared_with": "Int64"})
    pd.testing.assert_frame_equal(found, expected)
