"""The explorer in Chromium: the sizes of `vocap allocate`, and a configuration that asks for them."""

import html
import json
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.report.chromium import BROWSER, Chromium
from tests.report.factories import CODES, COVERAGE, OPENED, PRESENT, allocate, by_code, make_page
from tests.report.test_browser import browse, drive
from vocap.allocation.settings import Allocation
from vocap.config import load
from vocap.errors import UsageError

pytestmark = [
    pytest.mark.skipif(BROWSER is None, reason="no chromium here: install Debian's chromium to run the explorer"),
    pytest.mark.xdist_group("browser"),
]
PRESENT_SETTINGS = Allocation(**PRESENT).model_dump()
ROOT = Path(__file__).parents[2]
TRIALS = 60

# the page's own functions on settings that the library gets too
SOLVED = """
const solved = async (vectors) => {
  const read = await overlap.read(JSON.parse(document.querySelector('.explorer script.data').textContent));
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
};
"""
# then the controls as a reader moves them
DRIVER = """
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
const place = document.querySelector('.explorer');
const said = { touched: [] };
const solution = async () => {
  while (!place.dataset.solved) await wait(100);
  return JSON.parse(place.dataset.solved);
};
const set = (key, value) => {
  const field = document.querySelector('#explore-' + key + ' ~ input[type=number]');
  field.value = value;
  field.dispatchEvent(new Event('input'));
};
const slide = (key, value) => {
  const slider = document.querySelector('#explore-' + key);
  slider.value = value;
  slider.dispatchEvent(new Event('input'));
};
const settled = async (change) => {
  change();
  await wait(20000);
  said.touched.push({
    ...(await solution()),
    lines: place.querySelector('pre').textContent,
    text: place.querySelector('.said').textContent,
    rows: [...place.querySelectorAll('tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent)),
  });
};
addEventListener('load', async () => {
  place.scrollIntoView();
  said.opened = { ...(await solution()), text: place.querySelector('.said').textContent };
  said.vectors = await solved(VECTORS);
  const button = (text) => [...place.querySelectorAll('button')].find((one) => one.textContent === text);
  await settled(() => button('Reset').click());
  await settled(() => { set('total', 1203); set('beta', 0.1); });
  await settled(() => { slide('fairness', 6); [...place.querySelectorAll('.chips button')][1].click(); });
  await settled(() => button('Reset').click());
  button('All off').click();
  await wait(100);
  said.none = place.querySelector('.said').textContent;
  said.unnamed = [...place.querySelectorAll('input, select, button')]
    .filter((one) => !one.labels?.length && !one.getAttribute('aria-label') && !one.textContent).length;
  const left = Object.assign(document.createElement('pre'), { id: 'said', textContent: JSON.stringify(said) });
  document.body.append(left);
});
"""


def vectors(codes=CODES):
    """Settings all over the range, those of a config file, its ends among them."""
    rng = random.Random(7 + len(codes))
    off = [number for number in (0, 0, 1, len(codes) // 2, len(codes) - 1) if number < len(codes)]
    for _ in range(TRIALS):
        yield {
            "total": rng.choice([rng.randrange(6, 320), 10**9, *[rng.randrange(300, 2000)] * 6]),
            "alpha": rng.choice([0, 0.3, 0.7, 1, 10]),
            "beta": rng.choice([0, 0.25, 0.7, 1, 10]),
            "fairness": rng.choice([0, 0, 1.5, 20, 50]),
            "rule": "paper",
            "search": "greedy",
            "curve": rng.choice(["hull", "hull", "raw"]),
            "without": sorted(rng.sample(codes, rng.choice(off))),
        }


def given(codes):
    return json.dumps([{**settings, "coverage": COVERAGE} for settings in vectors(codes)])


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The run, and the values that the browser recorded."""
    folder = tmp_path_factory.mktemp("explorer")
    inputs = make_page(folder)
    page = drive(folder / "out", folder, f"const VECTORS = {given(CODES)};{SOLVED}{DRIVER}")
    document, console = browse(page, folder / "profile", budget=10_000_000)
    assert console == []
    return inputs, json.loads(html.unescape(re.search(r'<pre id="said">(.*?)</pre>', document, re.S)[1]))


def test_the_browser_allocates_as_the_library(run):
    inputs, said = run
    refused, below = compare(inputs, CODES, said["vectors"])
    assert 0 < below < TRIALS / 2 and 0 < refused < TRIALS / 2


@pytest.mark.parametrize(("codes", "seed"), [(CODES[:1], 11), (CODES[3:5], 12), (CODES[2:7], 13)])
def test_few_languages_are_allocated_alike(tmp_path, codes, seed):
    inputs = make_page(tmp_path, seed, codes)
    with Chromium(tmp_path / "profile") as browser:
        tab = browser.open((tmp_path / "out/index.html").as_uri())
        found = tab.evaluate(f"(async () => {{ {SOLVED} return solved({given(codes)}); }})()")
        assert tab.console == []
    refused, below = compare(inputs, codes, found)
    assert refused + below < TRIALS


def compare(inputs, codes, solutions):
    """Each solution is the library's; how many it refuses, and in how many the smallest sizes do not fit."""
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
        assert (found["fitting"] is None) == (solution.bound is None)
        if solution.bound is None:
            below += 1
        else:
            assert found["fitting"] == solution.chosen.union
    return refused, below


def test_the_lines_to_copy_give_the_sizes_shown(run):
    inputs, said = run
    seen = []
    for touched in said["touched"]:
        entry = yaml.safe_load(touched["lines"])["allocation"]["explored"]
        solution = allocate(inputs, COVERAGE, **entry)
        assert touched["sizes"] == [row.size for row in solution.rows]
        assert f"--total {entry['total']} " in touched["lines"] and f"--coverage {COVERAGE} " in touched["lines"]
        seen.append(entry)
    first, moved, fewer, reset = seen
    assert first == reset == {**first, **PRESENT} and first["fairness"] == 0
    assert (moved["total"], moved["beta"], moved["rule"]) == (1203, 0.1, "paper")
    assert fewer["fairness"] == 6 and fewer["without"] == ["de"]


def test_the_lines_to_copy_are_a_configuration(run, tmp_path):
    _, said = run
    base = yaml.safe_load((ROOT / "config/sources.yaml").read_text("utf-8"))
    base |= yaml.safe_load((ROOT / "config/config.yaml").read_text("utf-8")) | {"corpora": base["corpora"]}
    for touched in said["touched"]:
        entry = yaml.safe_load(touched["lines"])["allocation"]
        settings = load({**base, "allocation": {**base["allocation"], **entry}})
        assert settings.allocation["explored"].model_dump() == {**PRESENT_SETTINGS, **entry["explored"]}
    # as a file beside the run's own, as its first line says
    pasted = tmp_path / "explored.yaml"
    pasted.write_text(said["touched"][1]["lines"], "utf-8")
    assert yaml.safe_load(said["touched"][1]["lines"])["allocation"]["explored"].get("without", []) == []
    command = [Path(sys.executable).parent / "snakemake", "--dry-run", "--cores", "1", "--nolock", "--configfile"]
    command += ["config/smoke.yaml", pasted, "--", "results/smoke/allocation/explored/allocation.tsv"]
    done = subprocess.run(command, cwd=ROOT, text=True, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    assert re.search(r"^allocate +1$", done.stdout, re.M), done.stdout[-2000:]


def test_the_table_shows_gains_and_losses(run):
    inputs, said = run
    present, moved, fewer, *_ = said["touched"]
    assert (
        all(row[1] == row[2] and row[4] == "0" for row in present["rows"])
        and "The sizes of present." in present["text"]
    )
    assert said["opened"]["sizes"] == [row.size for row in allocate(inputs, COVERAGE, **OPENED).rows]
    assert said["opened"]["sizes"] != present["sizes"]
    assert said["opened"]["text"].startswith("An example to begin with: β 0.35 instead of 0.7. 8 languages, ")
    assert "An example" not in present["text"] + moved["text"]
    alp = [dict(zip(entry.index.sizes.tolist(), entry.alp.tolist(), strict=True)) for entry in inputs.languages]
    gain = lose = 0
    for row, curve, before, now in zip(by_code(moved["rows"]), alp, present["sizes"], moved["sizes"], strict=True):
        assert row[1:3] == [f"{now:,}", f"{before:,}"]
        assert row[3] == f"{curve[now]:.2f}".replace("-", "−")
        gain += curve[now] > curve[before]
        lose += curve[now] < curve[before]
    assert gain and f"Against present, {gain} gain and {lose} lose." in moved["text"]
    assert [row[1] for row in fewer["rows"]].count("off") == 1
    assert said["none"].startswith("No allocation: no language is left") and said["unnamed"] == 0
