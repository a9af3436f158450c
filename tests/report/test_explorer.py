"""The explorer in Chromium: the sizes of `vocap allocate`, and settings that ask for
them.
"""

import json
import random
import shutil

import pytest
import yaml

from tests.report.chromium import LIVE
from tests.report.factories import (
    CODES,
    COVERAGE,
    PRESENT,
    allocate,
    by_code,
    make_page,
    make_run,
    sizes_of,
    write_choice,
)
from tests.report.pages import change, edit, write
from vocap.errors import UsageError
from vocap.files.io import read_object, read_tsv, write_tsv
from vocap.tables.curve import COLUMNS

pytestmark = LIVE
TRIALS = 60

SOLVED = "document.querySelector('.explorer').dataset.solved"
ROWS = (
    "[...document.querySelectorAll('.explorer tbody tr')].map((row) => [...row.cells].map((c) "
    "=> c.textContent))"
)
# the page's own functions on settings that the library gets too
SOLVE = """(async (vectors) => {
  const data = document.querySelector('.explorer script.data').textContent;
  const read = await overlap.read(JSON.parse(data));
  return vectors.map((settings) => {
    const solution = allocation.solve(read, settings);
    return {
      sizes: solution.choice.ranks.map((rank, k) => solution.active[k].sizes[rank]),
      union: solution.choice.union,
      fitting: solution.choice.fitting,
      required: solution.required,
      refused: solution.refused,
    };
  });
})"""
# the controls as a reader moves them
CONTROLS = """
const button = (text) =>
  [...document.querySelectorAll('.explorer button')].find((one) => one.textContent === text);
const put = (selector, value) => {
  const field = document.querySelector(selector);
  field.value = value;
  field.dispatchEvent(new Event('input'));
};
const set = (key, value) => put('#explore-' + key + ' ~ input[type=number]', value);
const slide = (key, value) => put('#explore-' + key, value);
const chips = document.querySelectorAll('.explorer .chips button');
"""


def vectors(codes=CODES):
    """Settings all over the range, those of a config file, its ends among them."""
    rng = random.Random(7 + len(codes))
    off = [number for number in (0, 0, 1, len(codes) // 2, len(codes) - 1) if number < len(codes)]
    for _ in range(TRIALS):
        yield {
            "total": rng.choice(
                [
                    rng.randrange(6, 50),
                    rng.randrange(6, 320),
                    10**9,
                    *[rng.randrange(300, 2000)] * 6,
                ]
            ),
            "alpha": rng.choice([0, 0.3, 0.7, 1, 10]),
            "beta": rng.choice([0, 0.25, 0.7, 1, 10]),
            "fairness": rng.choice([0, 0, 1.5, 20, 50]),
            "per": rng.choice(["line", "line", "character"]),
            "rule": "paper",
            "without": sorted(rng.sample(codes, rng.choice(off))),
        }


def given(codes):
    return json.dumps([{**settings, "coverage": COVERAGE} for settings in vectors(codes)])


def touch(tab, actions, number=1):
    """Do the actions, which change `number` settings; what the page shows when the last
    one is computed.
    """
    before = json.loads(tab.until(SOLVED))["number"]
    tab.evaluate(f"(() => {{ {CONTROLS} {actions} }})()")
    tab.until(f"JSON.parse({SOLVED}).number >= {before + number}")
    return {
        **json.loads(tab.evaluate(SOLVED)),
        "lines": tab.evaluate("document.querySelector('.explorer pre').textContent"),
        "text": tab.evaluate("document.querySelector('.explorer .said').textContent"),
        "rows": tab.evaluate(ROWS),
    }


@pytest.fixture(scope="module")
def run(tmp_path_factory, browser):
    """The run, and what the page answered."""
    folder = tmp_path_factory.mktemp("explorer")
    inputs = make_page(folder)
    with browser.open((folder / "out/index.html").as_uri()) as tab:
        tab.evaluate("document.querySelector('.explorer').scrollIntoView()")
        opened = json.loads(tab.until(SOLVED))
        said = {
            "opened": opened
            | {"text": tab.evaluate("document.querySelector('.explorer .said').textContent")}
        }
        said["vectors"] = tab.evaluate(f"{SOLVE}({given(CODES)})")
        said["touched"] = [
            touch(tab, "button('Reset').click();"),
            touch(tab, "set('total', 1203); set('beta', 0.1);", 2),
            touch(
                tab,
                "slide('fairness', 6); document.querySelectorAll('.explorer .chips "
                "button')[1].click();",
                2,
            ),
            touch(tab, "button('Reset').click();"),
        ]
        said["none"] = touch(tab, "button('All off').click();")["text"]
    return inputs, said


def test_the_browser_allocates_as_the_library(run):
    inputs, said = run
    refused, below = compare(inputs, CODES, said["vectors"])
    assert 0 < below < TRIALS / 2 and 0 < refused < TRIALS / 2


@pytest.mark.parametrize(("codes", "seed"), [(CODES[:1], 11), (CODES[3:5], 12), (CODES[2:7], 13)])
def test_few_languages_are_allocated_alike(tmp_path, browser, codes, seed):
    inputs = make_page(tmp_path, seed, codes)
    with browser.open((tmp_path / "out/index.html").as_uri()) as tab:
        found = tab.evaluate(f"{SOLVE}({given(codes)})")
    refused, below = compare(inputs, codes, found)
    assert refused + below < TRIALS


def compare(inputs, codes, solutions):
    """Each solution is the library's; how many it refuses, and in how many the smallest
    sizes do not fit.
    """
    refused = below = 0
    for settings, found in zip(vectors(codes), solutions, strict=True):
        try:
            solution = allocate(inputs, COVERAGE, **settings)
        except UsageError as error:
            assert f"use a total of at least {found['refused']}," in str(error), settings
            refused += 1
            continue
        assert found["refused"] is None
        assert found["sizes"] == [row.size for row in solution.rows], settings
        assert found["union"] == solution.union
        assert found["required"] == solution.required
        assert (found["fitting"] is None) == (solution.chosen.union is None)
        if solution.chosen.union is None:
            below += 1
        else:
            assert found["fitting"] == solution.chosen.union
    return refused, below


def test_the_lines_to_copy_give_the_sizes_shown(run):
    inputs, said = run
    seen = []
    for touched in said["touched"]:
        entry = yaml.safe_load(touched["lines"])["allocation"]["explored"]
        assert touched["sizes"] == sizes_of(inputs, **entry)
        for option, value in {**entry, "coverage": COVERAGE, "other-rows": 0}.items():
            if option != "without":
                assert f"--{option} {value} " in touched["lines"]
        seen.append(entry)
    first, moved, fewer, reset = seen
    assert first == reset == {**first, **PRESENT} and first["fairness"] == 0
    assert (moved["total"], moved["beta"], moved["rule"]) == (1203, 0.1, "paper")
    assert fewer["fairness"] == 6 and fewer["without"] == ["de"]


def test_the_table_shows_gains_and_losses(run):
    inputs, said = run
    present, moved, fewer, *_ = said["touched"]
    assert all(row[1] == row[2] and row[4] == "0" for row in present["rows"])
    assert "The sizes of present." in present["text"]
    sizes = sizes_of(inputs, **PRESENT)
    assert said["opened"]["sizes"] == present["sizes"] == sizes
    assert said["opened"]["text"].startswith("8 languages, ")
    gains = []
    for row, entry, before, now in zip(
        by_code(moved["rows"]), inputs.languages, sizes, moved["sizes"], strict=True
    ):
        alp = alp_at(entry, now)
        assert row[1:4] == [f"{now:,}", f"{before:,}", f"{alp:.2f}".replace("-", "−")]
        gains.append(alp - alp_at(entry, before))
    gain, lose = (sum(sign * one > 0 for one in gains) for sign in (1, -1))
    assert gain and f"Against present, {gain} gain and {lose} lose." in moved["text"]
    assert [row[1] for row in fewer["rows"]].count("off") == 1
    assert said["none"].startswith("No allocation: no language is left")


def alp_at(entry, size):
    return entry.alp[entry.index.sizes.tolist().index(size)]


def make_by_text(folder, template, name, **settings):
    """An allocation by pieces as its files say it: sizes of no curve, a model of each
    language.
    """
    shutil.copytree(folder / template, folder / name)
    summary = read_object(folder / name / "summary.json")
    asked = summary["settings"] | {"rule": "pieces", **settings}
    edit(folder / name / "summary.json", settings=asked)
    models = {}
    for place, row in enumerate(read_tsv(folder / name / "allocation.tsv")):
        measured = (-60.25 - place, -61.5 - place, 7.5 + place)
        models[row["language"]] = (333 + place, 333 + place, *measured, "ok")
    change(folder / name / "allocation.tsv", size={code: one[0] for code, one in models.items()})
    for code, model in models.items():
        write_tsv(folder / name / "vocabularies" / code / "curve.tsv", COLUMNS, [model])
    return models


OTHERS = {"per": "character", "fairness": 2.5, "other_rows": 17, "special_tokens": 9}


@pytest.fixture(scope="module")
def computed(tmp_path_factory, browser):
    folder = tmp_path_factory.mktemp("computed")
    inputs = make_run(folder / "results")
    write_choice(folder / "results", "present", inputs, COVERAGE, **PRESENT)
    write_choice(folder / "results", "characters", inputs, COVERAGE, **PRESENT, **OTHERS)
    models = make_by_text(folder / "results/allocation", "present", "pieces", total=850)
    write(folder / "results", folder / "out")
    with browser.open((folder / "out/index.html").as_uri()) as tab:
        tab.evaluate("document.querySelector('.explorer').scrollIntoView()")
        yield inputs, models, tab


def choose(tab, label, name):
    """What the page shows with an allocation chosen to start from, or to compare with."""
    field = f"document.querySelector('.explorer select[aria-label=\"{label}\"]')"
    action = f"const one = {field}; one.value = '{name}'; one.dispatchEvent(new Event('change'));"
    shown = touch(tab, action)
    return shown, by_code(shown["rows"]), shown["text"]


def test_pieces_are_to_compare_with_and_never_the_start(computed):
    inputs, models, tab = computed
    starts = "[...document.querySelectorAll('.explorer select')].map((one) => one.textContent)"
    assert tab.evaluate(starts) == ["characterspresent", "characterspiecespresent"]
    choose(tab, "Start from", "present")
    found, rows, said = choose(tab, "Compare with", "pieces")
    live = allocate(inputs, COVERAGE, **PRESENT)
    assert found["sizes"] == [row.size for row in live.rows]
    for cells, chosen, entry in zip(rows, live.rows, inputs.languages, strict=True):
        size, _, was, heldout, tokens, _ = models[chosen.language]
        assert cells[1:3] == [f"{chosen.size:,}", f"{size:,}"]
        now = alp_at(entry, chosen.size)
        shown = [float(cell.replace("−", "-")) for cell in cells[4:9]]
        expected = [now - was, shown[1], shown[1] - heldout, shown[3], shown[3] - tokens]
        assert shown == pytest.approx(expected, abs=0.011)
    assert "rule pieces" in said


def test_every_setting_of_the_rule_is_computed(computed):
    """Nothing touched, the page has the sizes of the run, and the lines their settings."""
    inputs, _, tab = computed
    expected = sizes_of(inputs, **PRESENT, **OTHERS)
    assert expected != sizes_of(inputs, **PRESENT)
    found, rows, said = choose(tab, "Start from", "characters")
    assert found["sizes"] == expected and "The sizes of characters." in said
    assert all(cells[1] == cells[2] and cells[4] == "0" for cells in rows)
    lines = found["lines"]
    assert "per: character" in lines and "fairness: 2.5" in lines
    assert "--per character" in lines and "--other-rows 17 --special-tokens 9" in lines


def test_only_computed_allocations_leave_the_live_rule(tmp_path, browser):
    inputs = make_run(tmp_path / "results")
    write_choice(tmp_path / "results", "other", inputs, COVERAGE, **PRESENT)
    make_by_text(tmp_path / "results/allocation", "other", "pieces")
    shutil.rmtree(tmp_path / "results/allocation/other")
    write(tmp_path / "results", tmp_path / "out")
    with browser.open((tmp_path / "out/index.html").as_uri()) as tab:
        tab.evaluate("document.querySelector('.explorer').scrollIntoView()")
        found = json.loads(tab.until(SOLVED))
        assert found["sizes"] == sizes_of(inputs, **PRESENT)
