"""The page by keyboard alone, and as a screen reader gets it: real keys in a real
browser.
"""

import json

import pytest
import yaml

from tests.report.chromium import LIVE
from tests.report.factories import PRESENT, make_page, sizes_of

pytestmark = LIVE

# everything that is on the page to be reached: of a group of radio buttons only the
# chosen one is a stop
STOPS = """
const reached = 'a[href], button, input, select, summary, [tabindex="0"]';
const stops = [...document.querySelectorAll(reached)]
  .filter((one) => one.checkVisibility() && !(one.type === 'radio' && !one.checked));
"""
# the focused element: its number among the stops, whether its outline is visible,
# whether another covers it
FOCUS = """(() => {
  const one = document.activeElement;
  if (!one || one === document.body) return null;
  const style = getComputedStyle(one);
  const { left, top, right, bottom } = one.getBoundingClientRect();
  const [x, y] = [Math.max(left, 1) + 3, Math.min(Math.max(top, 0) + 3, bottom - 1)];
  const seen = document.elementFromPoint(x, y);
  return {
    number: stops.indexOf(one),
    tag: one.outerHTML.slice(0, 120),
    outlined: one.matches(':focus-visible') && style.outlineStyle !== 'none'
      && parseFloat(style.outlineWidth) > 0,
    hidden: right < 0 || left > innerWidth || bottom < 0 || top > innerHeight
      || !(one.contains(seen) || seen.contains(one)),
  };
})()"""
CONTROLS = {
    "button",
    "checkbox",
    "combobox",
    "link",
    "radio",
    "searchbox",
    "slider",
    "spinbutton",
    "textbox",
}


@pytest.fixture(scope="module")
def run(tmp_path_factory, browser):
    folder = tmp_path_factory.mktemp("keyboard")
    return make_page(folder), browser, (folder / "out/index.html").as_uri()


@pytest.fixture
def tab(run):
    _, browser, url = run
    # focused elements are scrolled to at once
    with browser.open(url, reduced_motion="reduce") as tab:
        yield tab


def explore(tab):
    """The focus on the slider of T, the explorer's first answer there."""
    tab.evaluate("document.querySelector('#explore-total').focus()")
    return solved(tab, 0)


def solved(tab, after):
    """The explorer's next answer: the settings' number, sizes or why there are none."""
    return json.loads(
        tab.until(
            f"(({{ solved }}) => solved && JSON.parse(solved).number > {after} && solved)"
            "(document.querySelector('.explorer').dataset)"
        )
    )


def lines(tab):
    return tab.evaluate("document.querySelector('.explorer pre').textContent")


def test_tab_reaches_every_control_in_order_and_shows_where_it_is(tab):
    tab.evaluate(f"{STOPS} window.stops = stops;")
    number = tab.evaluate("stops.length")
    assert number > 80
    reached = []
    for _ in range(number + 3):
        tab.press("Tab")
        focus = tab.evaluate(FOCUS)
        if focus is None:
            break
        assert focus["outlined"] and not focus["hidden"], focus
        reached.append(focus["number"])
    assert reached == list(range(number))
    # and back: from the end Shift and Tab go to the last
    tab.evaluate("stops.at(-1).focus()")
    tab.press("Shift+Tab")
    assert tab.evaluate(FOCUS)["number"] == number - 2


def test_the_skip_link_leads_past_the_navigation(tab):
    tab.press("Tab")
    assert tab.evaluate("document.activeElement.className") == "skip"
    assert tab.evaluate("document.activeElement.getBoundingClientRect().left") >= 0
    tab.press("Enter")
    assert tab.until("document.activeElement.id === 'main'")
    tab.press("Tab")
    assert tab.evaluate("document.querySelector('main').contains(document.activeElement)")


def test_tables_open_and_scroll_by_key(tab):
    tab.evaluate("document.querySelector('#figure-alp-curves .files a').focus()")
    tab.press("Enter")
    table = "document.querySelector('[aria-describedby=table-curves-caption]')"
    assert tab.until(f"{table}.closest('details').open")
    tab.press("Tab", 3)  # the caption's links to the files
    tab.press("Tab")
    scroll = f"{table}.parentElement"
    assert tab.evaluate(f"document.activeElement === {scroll}")
    tab.press("ArrowDown", 3)
    assert tab.until(f"{scroll}.scrollTop > 0")
    tab.evaluate(f"{table}.closest('details').querySelector('summary').focus()")
    tab.press(" ")
    assert not tab.evaluate(f"{table}.closest('details').open")


def test_the_explorer_is_driven_by_key(run, tab):
    inputs, *_ = run
    number = explore(tab)["number"]
    tab.press("Tab", 2)  # over the field of T to the slider of alpha
    assert tab.evaluate("document.activeElement.id") == "explore-alpha"
    tab.press("ArrowLeft", 2)
    found = solved(tab, number + 1)
    assert tab.evaluate("document.querySelector('#explore-alpha').value") == "0.6"
    assert found["sizes"] == sizes_of(inputs, **PRESENT | {"alpha": 0.6})
    tab.evaluate("document.querySelector('.explorer .chips button').focus()")
    tab.press(" ")
    found = solved(tab, found["number"])
    # by name the first
    assert found["sizes"] == sizes_of(inputs, **PRESENT | {"alpha": 0.6, "without": ["en"]})


@pytest.mark.parametrize(
    ("field", "typed", "asked"),
    [
        ("total", "1000000000000", {"total": 10**9}),
        ("beta", "0.0000001", {"beta": 0}),
        ("alpha", "99", {"alpha": 10}),
        ("fairness", "1e9", {"fairness": 50}),
    ],
)
def test_typed_values_are_limited_as_in_a_configuration(run, tab, field, typed, asked):
    inputs, *_ = run
    number = explore(tab)["number"]
    tab.evaluate(f"document.querySelector('#explore-{field}').focus()")
    tab.press("Tab")
    for letter in typed:
        tab.press(letter)
    tab.press("Tab")
    # each letter is an answer; the last one is awaited
    tab.until(
        f"/{field}: {asked[field]}(?![.\\d])/.test(document.querySelector('.explorer "
        "pre').textContent)"
    )
    found = solved(tab, number)
    entry = yaml.safe_load(lines(tab))["allocation"]["explored"]
    assert entry == {**entry, **asked}
    assert found["sizes"] == sizes_of(inputs, **entry)
    assert (
        float(tab.evaluate(f"document.querySelector('#explore-{field} ~ input').value"))
        == asked[field]
    )


def test_no_solution_says_so(tab):
    number = explore(tab)["number"]
    tab.press("Tab")  # a field that the keyboard enters is selected: typing replaces its value
    tab.press("9")
    refused = solved(tab, number)["refused"]
    assert refused.startswith("T = 9 does not hold the characters of these languages. Take ")
    assert (
        tab.evaluate("document.querySelector('.explorer .said').textContent")
        == f"No allocation: {refused}"
    )
    assert yaml.safe_load(lines(tab)) is None
    assert set(
        tab.evaluate("[...document.querySelectorAll('.explorer td')].map((one) => one.textContent)")
    ) == {"–"}


def test_every_control_has_a_name_and_every_figure_words(tab):
    tab.evaluate(
        "document.querySelectorAll('details').forEach((folded) => { folded.open = true; })"
    )
    nodes = tab.accessible()
    named = CONTROLS | {"region", "navigation"}
    assert [one for one in nodes if one["role"] in named and not one["name"].strip()] == []
    assert CONTROLS - {"textbox"} <= {one["role"] for one in nodes}
    pictures = [node["name"] for node in nodes if node["role"] in ("image", "img")]
    assert len(pictures) == tab.evaluate("document.querySelectorAll('figure').length") > 0
    assert all(len(name.split()) > 8 for name in pictures)
    headings = [node["level"] for node in nodes if node["role"] == "heading"]
    assert headings[0] == 1 and set(headings) <= {1, 2, 3}


def test_every_figure_links_to_its_numbers(tab):
    link = "one.querySelector('a[href^=\"#table-\"]')?.hash"
    links = tab.evaluate(f"[...document.querySelectorAll('figure.chart')].map((one) => {link})")
    assert all(links) and all(tab.evaluate(f"!!document.querySelector('{link}')") for link in links)
