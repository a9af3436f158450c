"""Allocations that the page does not compute: shown as the files have them, beside the live result."""

import json
import shutil

import pytest

from tests.report.chromium import BROWSER, Chromium
from tests.report.factories import COVERAGE, OPENED, PRESENT, allocate, by_code, make_run, write_choice
from tests.report.pages import write
from vocap.files.tsv import read_tsv, write_tsv
from vocap.tables.curve import COLUMNS

pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="no chromium here: install Debian's chromium to run the explorer"),
    pytest.mark.xdist_group("browser"),
]
SOLVED = "document.querySelector('.explorer').dataset.solved"
ROWS = (
    "[...document.querySelectorAll('.explorer tbody tr')].map((row) => [...row.cells].map((c) => c.textContent))"
)


def make_by_text(folder, template, name, **settings):
    """An allocation by pieces as its files say it: sizes of no curve, a model of each language."""
    shutil.copytree(folder / template, folder / name)
    summary = json.loads((folder / name / "summary.json").read_text())
    summary["settings"] |= {"rule": "pieces", **settings}
    (folder / name / "summary.json").write_text(json.dumps(summary))
    rows = [dict(row) for row in read_tsv(folder / name / "allocation.tsv")]
    models = {}
    for place, row in enumerate(rows):
        row["size"] = str(333 + place)
        models[row["language"]] = (333 + place, 333 + place, -60.25 - place, -61.5 - place, 7.5 + place, "ok")
        write_tsv(
            folder / name / "vocabularies" / row["language"] / "curve.tsv", COLUMNS, [models[row["language"]]]
        )
    write_tsv(folder / name / "allocation.tsv", list(rows[0]), [tuple(row.values()) for row in rows])
    return models


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("computed")
    inputs = make_run(folder / "results")
    write_choice(folder / "results", "present", inputs, COVERAGE, **PRESENT)
    write_choice(folder / "results", "bisect", inputs, COVERAGE, **PRESENT, search="bisect")
    write_choice(folder / "results", "characters", inputs, COVERAGE, **PRESENT, per="character")
    models = make_by_text(folder / "results/allocation", "present", "pieces", total=850)
    write(folder / "results", folder / "out")
    with Chromium(folder / "profile") as browser:
        tab = browser.open((folder / "out/index.html").as_uri())
        tab.evaluate("document.querySelector('.explorer').scrollIntoView()")
        yield inputs, models, tab
        assert tab.console == []


def start_from(tab, name):
    number = json.loads(tab.until(SOLVED))["number"]
    tab.evaluate(
        f"(() => {{ const from = document.querySelector('.explorer select'); from.value = '{name}'; "
        "from.dispatchEvent(new Event('change')); })()"
    )
    tab.until(f"JSON.parse({SOLVED}).number > {number}")
    said = tab.evaluate("document.querySelector('.explorer .said').textContent")
    return json.loads(tab.evaluate(SOLVED)), by_code(tab.evaluate(ROWS)), said


def test_the_page_starts_from_an_allocation_that_it_computes(run):
    inputs, _, tab = run
    found = json.loads(tab.until(SOLVED))
    assert tab.evaluate("document.querySelector('.explorer select').value") == "present"
    assert found["sizes"] == [row.size for row in allocate(inputs, COVERAGE, **OPENED).rows]


def test_pieces_are_compared_with_the_live_rule_of_the_same_total(run):
    inputs, models, tab = run
    found, rows, said = start_from(tab, "pieces")
    live = allocate(inputs, COVERAGE, **PRESENT | {"total": 850})
    assert found["sizes"] == [row.size for row in live.rows]
    alp = {
        entry.language: dict(zip(entry.index.sizes.tolist(), entry.alp, strict=True)) for entry in inputs.languages
    }
    for cells, chosen in zip(rows, live.rows, strict=True):
        size, _, was, heldout, tokens, _ = models[chosen.language]
        assert cells[1:3] == [f"{chosen.size:,}", f"{size:,}"]
        now = alp[chosen.language][chosen.size]
        assert float(cells[4].replace("−", "-")) == pytest.approx(now - was, abs=0.006)
        assert "–" not in cells and float(cells[8].replace("−", "-")) == pytest.approx(
            float(cells[7]) - tokens, abs=0.011
        )
        assert float(cells[6].replace("−", "-")) == pytest.approx(
            float(cells[5].replace("−", "-")) - heldout, abs=0.011
        )
    assert "That one is shown as computed (rule pieces, nats per line); the page computes rule paper." in said


def test_nats_per_character_are_shown_as_computed(run):
    inputs, _, tab = run
    found, rows, said = start_from(tab, "characters")
    computed = allocate(inputs, COVERAGE, **PRESENT, per="character")
    assert [cells[2] for cells in rows] == [f"{row.size:,}" for row in computed.rows]
    assert found["sizes"] == [row.size for row in allocate(inputs, COVERAGE, **PRESENT).rows]
    assert found["sizes"] != [row.size for row in computed.rows]
    assert "shown as computed (rule paper, search greedy, nats per character)" in said
    assert (
        "per"
        not in tab.evaluate("document.querySelector('.explorer pre').textContent").split("allocation:")[1][:90]
    )


@pytest.mark.parametrize(
    ("name", "settings", "how"),
    [
        ("bisect", {"search": "bisect"}, "rule paper, search bisect, nats per line"),
    ],
)
def test_other_rules_and_searches_are_shown_as_computed(run, name, settings, how):
    inputs, _, tab = run
    found, rows, said = start_from(tab, name)
    computed = allocate(inputs, COVERAGE, **{**PRESENT, **settings})
    assert [cells[2] for cells in rows] == [f"{row.size:,}" for row in computed.rows]
    live = {"total": settings.get("total", PRESENT["total"])}
    assert found["sizes"] == [row.size for row in allocate(inputs, COVERAGE, **{**PRESENT, **live}).rows]
    assert f"shown as computed ({how}); the page computes rule paper." in said


def test_only_computed_allocations_leave_the_live_rule(tmp_path):
    inputs = make_run(tmp_path / "results")
    write_choice(tmp_path / "results", "other", inputs, COVERAGE, **PRESENT)
    make_by_text(tmp_path / "results/allocation", "other", "pieces")
    shutil.rmtree(tmp_path / "results/allocation/other")
    write(tmp_path / "results", tmp_path / "out")
    with Chromium(tmp_path / "profile") as browser:
        tab = browser.open((tmp_path / "out/index.html").as_uri())
        tab.evaluate("document.querySelector('.explorer').scrollIntoView()")
        found = json.loads(tab.until(SOLVED))
        assert found["sizes"] == [row.size for row in allocate(inputs, COVERAGE, **OPENED).rows]
        assert tab.console == []
