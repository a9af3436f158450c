"""The page in a real browser: every figure drawn, nothing on the console, controls with
their effects.
"""

import pytest

from tests.report.chromium import LIVE
from tests.report.factories import (
    LANGUAGES,
    make_byte_pair,
    make_model,
    make_parallel,
    make_results,
)
from tests.report.pages import Page, write

pytestmark = LIVE

FIGURES = 11
HEIGHT = 9000  # px of the page at 1280, of eleven languages and two T
# clicks the controls, and records the effects
DRIVER = """
const lines = () => document.querySelectorAll('#figure-alp-curves .mark-line path').length;
const wait = () => new Promise((done) => setTimeout(done, 400));
const chips = () => [...document.querySelectorAll('.chips button')];
const chip = (name) => chips().find((button) => button.textContent === name);
(async () => {
  const said = [];
  const figure = document.querySelector('#figure-alp-curves');
  figure.scrollIntoView({ behavior: 'instant' });
  while (!figure.dataset.drawn) await wait();
  said.push('before ' + lines());
  chip('Swahili').click(); await wait();
  said.push('chosen ' + lines() + ' ' + chip('Swahili').getAttribute('aria-pressed'));
  const third = ['low', 'mid', 'high'].indexOf(chip('Swahili').className);
  document.querySelectorAll('#figure-alp-curves input[type=checkbox]')[third].click(); await wait();
  said.push('hidden ' + lines());
  const labels = '#figure-alp-curves .role-axis-label text';
  const scale = () =>
    [...document.querySelectorAll(labels)].map((label) => label.textContent).join();
  const alp = scale();
  document.querySelectorAll('#figure-alp-curves input[type=radio]')[1].click(); await wait();
  said.push('gain ' + (scale() !== alp));
  const search = document.querySelector('#figure-alp-curves input[type=search]');
  search.value = 'germ'; search.dispatchEvent(new Event('input'));
  const found = chips().filter((button) => !button.hidden);
  said.push('found ' + found.map((button) => button.textContent));
  const table = document.querySelector('[aria-describedby=table-curve-summary-caption]');
  const head = [...table.tHead.rows[0].cells];
  const column = head.findIndex((cell) => cell.textContent === 'ALP there, train');
  const button = head[column].querySelector('button');
  const numbers = () =>
    [...table.tBodies[0].rows]
      .map(({ cells }) => Number(cells[column].textContent.replace('−', '-')));
  button.click(); said.push('down ' + numbers().every((n, i, all) => !i || all[i - 1] >= n));
  button.click(); said.push('up ' + numbers().every((n, i, all) => !i || all[i - 1] <= n));
  said.push('sort ' + table.tHead.rows[0].cells[column].getAttribute('aria-sort'));
  return Object.fromEntries(
    said.map((line) => [line.split(' ')[0], line.slice(line.indexOf(' ') + 1)]),
  );
})()
"""


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    results = make_results(folder / "results")
    make_model(results, "small", {"kind": "full"}, ["en", "de"])
    codes = LANGUAGES
    for fairness in (0, 2, 4):
        make_byte_pair(results, f"bpe100k-{fairness}", "bpe", codes, 100_000, fairness=fairness)
    for seed, name in enumerate(("vocap100k", "joint100k", "bpe100k-0", "bpe100k-2", "bpe100k-4")):
        make_parallel(results, name, codes, seed)
    write(results, folder / "out")
    return folder / "out"


def figures_drawn(tab):
    """Bring every figure onto the screen in the page's order, opening its folds: name,
    width, pictures.
    """
    names = tab.evaluate(
        "[...document.querySelectorAll('figure.chart')].map((one) => one.dataset.chart)"
    )
    found = []
    for name in names:
        figure = f"document.getElementById('figure-{name}')"
        tab.evaluate(
            f"for (let one = {figure}; one; one = one.parentElement) if ('open' in one) one.open "
            "= true"
        )
        tab.evaluate(f"{figure}.scrollIntoView({{ behavior: 'instant' }})")
        tab.until(f"{figure}.dataset.drawn === 'yes'")
        width = tab.evaluate(
            f"{figure}.querySelector('.drawing.live svg').getBoundingClientRect().width"
        )
        found.append((name, width, tab.evaluate(f"{figure}.querySelectorAll('svg').length")))
    return found


def test_every_figure_is_drawn_when_the_reader_comes_near(out, browser):
    before = Page((out / "index.html").read_text(encoding="utf-8"))
    with browser.open((out / "index.html").as_uri()) as tab:
        assert tab.evaluate("document.querySelectorAll('figure[data-drawn]').length") < 3
        height = tab.evaluate("document.documentElement.scrollHeight")
        assert height < HEIGHT, f"{height} px at 1280: fold what is repeated"
        found = figures_drawn(tab)
    assert [name for name, _, _ in found] == [
        a["data-chart"] for tag, a in before.elements if tag == "figure"
    ]
    assert len(found) == FIGURES and all(
        800 < width < 1280 and pictures == 1 for _, width, pictures in found
    )


def test_without_scripts_the_still_figures_stand(out, browser):
    with browser.open((out / "index.html").as_uri(), java_script_enabled=False) as tab:
        drawn = tab.evaluate("[...document.querySelectorAll('figure')].map((one) => one.innerHTML)")
    assert len(drawn) == FIGURES and not any("data-drawn" in figure for figure in drawn)
    assert all(figure.count("<svg") == 1 and "<path" in figure for figure in drawn)


def test_controls_have_their_effects(out, browser):
    with browser.open((out / "index.html").as_uri()) as tab:
        said = tab.evaluate(DRIVER)
    # a line of each of ten languages; all stand out, with one more and a dashed one; sw
    # goes back, and with its third from the page
    assert said == {
        "before": "30",
        "chosen": "28 false",
        "hidden": "27",
        "gain": "true",
        "found": "German",
        "down": "true",
        "up": "true",
        "sort": "ascending",
    }


def test_nothing_overflows_on_a_phone(out, browser):
    with browser.open((out / "index.html").as_uri(), 390, 800) as tab:
        tab.evaluate(
            "document.querySelectorAll('details').forEach((folded) => { folded.open = true; })"
        )
        found = figures_drawn(tab)
        assert (
            tab.evaluate("innerWidth") == 390
            and tab.evaluate("document.documentElement.scrollWidth") <= 390
        )
    assert len(found) == FIGURES and all(300 < width <= 390 - 32 for _, width, _ in found)


@pytest.mark.parametrize("width", [1280, 390])
def test_the_embeddings_are_those_of_the_model_that_the_reader_sets(out, browser, width):
    with browser.open((out / "index.html").as_uri(), width=width) as tab:
        tab.evaluate(
            "(([others, hidden, , untied]) => { others.value = 1200; hidden.value = 2048; "
            "untied.click(); hidden.dispatchEvent(new Event('input')); })"
            "([...document.querySelectorAll('.model input')])"
        )
        said = tab.evaluate("document.querySelector('.model [role=status]').textContent")
        row = tab.evaluate("document.querySelector('#comparison tbody tr').innerText").split("\t")
    # two tables of width 2048 and the output bias of a masked model; 409.7 of 1609.7 million
    assert "100,000 ids take 409.7 M parameters, 25 % of the model" in said
    assert row[2] == "100,000" and row[5:7] == ["409.7", "25 %"]
