"""The section on T: the numbers of `vocap size`, one part for each different curve."""

import shutil

import pytest

from tests.commands import caller
from tests.report.factories import make_results
from tests.report.pages import words_of, write
from vocap.files.io import read_tsv, write_tsv
from vocap.tables.curve import SIZE_COLUMNS

CODES = ["de", "en", "ru"]
SETTINGS = (
    '{"languages": ["de", "en", "ru"], "pretraining": {"models": {"own": {"shape": '
    '{"layers": 2, "hidden": 128, "heads": 2, "intermediate": 512, "positions": 128}}}}}'
)


def write_sizes(path, factor: float) -> None:
    rows = [
        (
            total,
            code,
            100 + k,
            9000 + k,
            int(factor * (4000 - total // 100 + k)),
            -100.0 + total / 1e4 - k,
        )
        for total in (50_000, 100_000, 150_000)
        for k, code in enumerate(CODES)
    ]
    write_tsv(path, SIZE_COLUMNS, rows)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("size")
    results = make_results(folder / "results", CODES)
    write_sizes(results / "tokenizers" / "joint100k" / "sizes.tsv", 1.0)
    shutil.copyfile(
        *(results / "tokenizers" / name / "sizes.tsv" for name in ("joint100k", "joint200k"))
    )
    write_sizes(results / "tokenizers" / "vocap200k" / "sizes.tsv", 0.9)
    text = write(results, folder / "out", "--settings-json", SETTINGS)
    return folder, text


def test_the_numbers_are_those_of_the_command(page):
    folder, _ = page
    results = folder / "results"
    line = "size {results}/tokenizers/joint100k/sizes.tsv --parameters 86e6 --hidden 768 "
    call = caller(results=results, folder=folder)
    call(line + "--weights {results}/corpora/weights.tsv -o {folder}/base.tsv")
    expected = list(read_tsv(folder / "base.tsv"))
    rows = list(read_tsv(folder / "out/tables/size-costs-joint100k.tsv"))
    found = [row for row in rows if row["model"] == "XLM-R base"]
    assert [{name: row[name] for name in found[0] if name != "model"} for row in expected] == [
        {name: cell for name, cell in row.items() if name != "model"} for row in found
    ]
    assert "this run’s, 2 layers of 128" in {row["model"] for row in rows}


def test_tokenizers_of_one_descent_share_their_curve(page):
    folder, text = page
    tables = {path.name for path in (folder / "out/tables").glob("size-costs-*.tsv")}
    assert tables == {"size-costs-joint100k.tsv", "size-costs-vocap200k.tsv"}
    words = words_of(text)
    assert "The descent of joint100k, joint200k, 3 values of T." in words
    by_language = list(read_tsv(folder / "out/tables/size-languages-joint100k.tsv"))
    assert {
        row["language"]: float(row["tokens_per_byte_50000"]) for row in by_language
    } == pytest.approx({code: (3500 + k) / (9000 + k) for k, code in enumerate(CODES)})
