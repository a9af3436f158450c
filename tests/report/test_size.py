"""The section on T: the numbers of `vocap size`, one part for each different curve, the slider in Chromium."""

import shutil

import pytest

from tests.commands import run
from tests.report.chromium import BROWSER, Chromium
from tests.report.factories import make_results
from tests.report.pages import Page, write
from vocap.files.tsv import read_tsv, write_tsv
from vocap.size.commands import size
from vocap.tables.size_table import COLUMNS

CODES = ["de", "en", "ru"]
SETTINGS = (
    '{"languages": ["de", "en", "ru"], "pretraining": {"models": {"own": {"shape": '
    '{"layers": 2, "hidden": 128, "heads": 2, "intermediate": 512, "positions": 128}}}}}'
)


def write_sizes(path, factor: float) -> None:
    rows = [
        (total, code, 100 + k, 9000 + k, int(factor * (4000 - total // 100 + k)), -100.0 + total / 1e4 - k)
        for total in (50_000, 100_000, 150_000)
        for k, code in enumerate(CODES)
    ]
    write_tsv(path, COLUMNS, rows)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("size")
    results = make_results(folder / "results", [*CODES, "sa"])
    write_sizes(results / "tokenizers" / "joint100k" / "sizes.tsv", 1.0)
    shutil.copyfile(*(results / "tokenizers" / name / "sizes.tsv" for name in ("joint100k", "joint200k")))
    write_sizes(results / "tokenizers" / "vocap200k" / "sizes.tsv", 0.9)
    text = write(results, folder / "out", "--settings-json", SETTINGS)
    return folder, text


def test_the_numbers_are_those_of_the_command(page):
    folder, _ = page
    results = folder / "results"
    words = ["--weights", results / "corpora" / "weights.tsv", "-o", folder / "base.tsv"]
    run(size, results / "tokenizers" / "joint100k" / "sizes.tsv", *words)
    expected = list(read_tsv(folder / "base.tsv"))
    rows = list(read_tsv(folder / "out/tables/size-joint100k-costs.tsv"))
    found = [row for row in rows if row["model"] == "XLM-R base"]
    assert [{name: row[name] for name in found[0] if name != "model"} for row in expected] == [
        {name: cell for name, cell in row.items() if name != "model"} for row in found
    ]
    assert "this run’s, 2 layers of 128" in {row["model"] for row in rows}


def test_tokenizers_of_one_descent_share_their_curve(page):
    folder, text = page
    tables = {path.name for path in (folder / "out/tables").glob("size-*-costs.tsv")}
    assert tables == {"size-joint100k-costs.tsv", "size-vocap200k-costs.tsv"}
    words = " ".join(" ".join(Page(text).text).split())
    assert "The descent of joint100k, joint200k, 3 values of T." in words
    by_language = list(read_tsv(folder / "out/tables/size-joint100k-languages.tsv"))
    assert {row["language"]: float(row["tokens_per_byte_50000"]) for row in by_language} == pytest.approx(
        {code: (3500 + k) / (9000 + k) for k, code in enumerate(CODES)}
    )


def test_without_a_curve_it_says_so(tmp_path):
    text = write(make_results(tmp_path / "results", [*CODES, "sa"]), tmp_path / "out")
    assert "No curve over T" in text and 'class="slider"' not in text


@pytest.mark.skipif(BROWSER is None, reason="no chromium here: install Debian's chromium to move the slider")
@pytest.mark.xdist_group("browser")
def test_the_slider_shows_each_point_of_each_model(page):
    folder, _ = page
    rows = list(read_tsv(folder / "out/tables/size-joint100k-costs.tsv"))
    with Chromium(folder / "profile") as browser:
        tab = browser.open((folder / "out/index.html").as_uri())
        shown = tab.evaluate(
            """(() => {
              const place = document.querySelector('.slider');
              const slider = place.querySelector('input[type=range]');
              const found = [];
              for (const radio of place.querySelectorAll('input[type=radio]')) {
                radio.click();
                for (let at = 0; at <= Number(slider.max); at++) {
                  slider.value = at;
                  slider.dispatchEvent(new Event('input'));
                  const facts = [...place.querySelectorAll('dl div')].map((one) => one.lastChild.textContent);
                  found.push([place.querySelector('output').textContent, facts[1], facts[3]]);
                }
              }
              return found;
            })()"""
        )
        assert tab.console == []
    assert [line[0] for line in shown] == [f"{int(row['total']):,}" for row in rows]
    assert [line[1] for line in shown] == [f"{float(row['mix_tokens_per_byte']):.4f}" for row in rows]
    assert [line[2].split(" ")[0] for line in shown] == [
        f"{float(row['embedding_mparameters']):,.1f}" for row in rows
    ]
