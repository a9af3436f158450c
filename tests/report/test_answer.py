"""The first screen: its sentence and its picture against the files of the results, and
what is said of runs that have less.
"""

import json
import re
from pathlib import Path

import pytest

from tests.report.chromium import BROWSER
from tests.report.factories import (
    COVERAGE,
    PRESENT,
    allocate,
    make_allocation,
    make_page,
    make_parallel,
    make_results,
    make_tokenizer,
)
from tests.report.pages import one_row, words, words_of, write
from vocap.files.io import read_tsv
from vocap.languages import read_languages

CODES = ["en", "de", "ru", "hi", "fa", "it", "sw", "km", "ja", "fi"]
SETTINGS = {
    "languages": CODES,
    "tokenizers": {
        "joint100k": {"kind": "joint"},
        "vocap100k": {"kind": "vocap", "allocation": "v100k"},
    },
    "allocation": {"v100k": {}},
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The results, and the page of two tokenizers of one T on parallel text."""
    folder = tmp_path_factory.mktemp("answer")
    results = make_results(folder / "results")
    for seed, name in enumerate(("vocap100k", "joint100k")):
        make_parallel(results, name, CODES, seed)
    write(results, folder / "out", "--settings-json", json.dumps(SETTINGS))
    return folder


def start(folder):
    """The words of the first screen."""
    text = (folder / "out/index.html").read_text("utf-8")
    return words_of(text[text.index('<section id="start"') : text.index("</section>")])


def names(codes):
    table = read_languages()
    return ", ".join(sorted(table[code].name for code in codes))


def test_the_sentence_answers_from_the_files(run):
    sizes = {
        row["language"]: int(row["size"])
        for row in read_tsv(run / "results/allocation/v100k/allocation.tsv")
    }
    least, most = min(sizes.values()), max(sizes.values())
    low, high = (
        names(code for code, size in sizes.items() if size == end) for end in (least, most)
    )
    said = start(run)
    assert (
        f"At T = 100,000 VOCAP gives a language between {least:,} pieces ({low}) and {most:,} "
        f"({high}); take " in said
    )
    taken = re.search(r"take (\w+)", said)[1]
    costs = {
        row["language"]: float(row["ratio_with_bytes"])
        for row in read_tsv(run / f"results/tokenizers/{taken}/parallel.tsv")
        if row["language"] != "en" and row["ratio_with_bytes"]
    }
    low, high = (names([end(costs, key=costs.get)]) for end in (min, max))
    prices = f"{min(costs.values()):.2f} ({low}) to {max(costs.values()):.2f} ({high})"
    assert f"the same sentence costs {prices} times English." in said
    # why: the text of the languages at the ends of the picture, and the measure of the choice
    rows = sorted(sizes.items(), key=lambda row: -row[1])
    lines = {row["language"]: row["n"] for row in read_tsv(run / "results/corpora/weights.tsv")}
    for size in (rows[0][1], rows[-1][1]):
        alike = [one for one, other in rows if other == size]
        assert any(f"{names([one])} has {int(lines[one]):,}" in said for one in alike)
    assert (taken == "vocap100k") != ("; the picture shows vocap100k." in said)
    assert re.search(f"{taken} has the fewest (bits per byte|tokens among)", said)


def test_the_picture_has_the_numbers_of_the_files(run):
    rows = {row["language"]: row for row in read_tsv(run / "out/tables/language-sizes.tsv")}
    assert sorted(rows) == sorted(CODES)
    text = (run / "out/index.html").read_text("utf-8")
    controls = json.loads(
        re.search(r'figure-languages.*?class="controls">(.*?)</script>', text, re.S)[1]
    )
    assert [one["name"] for one in controls["tokenizers"]] == ["vocap100k", "joint100k"]
    vocap, joint = controls["tokenizers"]
    for code in CODES:
        size = one_row(run / "results/allocation/v100k/allocation.tsv", language=code)["size"]
        found = one_row(run / "results/tokenizers/joint100k/evaluation.tsv", language=code)
        used = round(float(found["vocabulary_used"]) * 100_000)
        assert (rows[code]["size_vocap100k"], rows[code]["size_joint100k"]) == (size, str(used))
        for one, ids in ((vocap, int(size)), (joint, used)):
            path = run / f"results/tokenizers/{one['name']}/parallel.tsv"
            price = float(one_row(path, language=code)["ratio_with_bytes"])
            column = next(row for row in one["rows"] if row["l"] == code)
            assert (column["s"], column["c"]) == (ids, pytest.approx(price, abs=6e-5))
            assert float(rows[code][f"times_{one['name']}"]) == pytest.approx(price)
    for one in (vocap, joint):
        order = [column["s"] for column in one["rows"]]
        assert order == sorted(order, reverse=True)
    # counted ids are called so
    assert "held-out text uses" in joint["sizes"] and "uses" not in vocap["sizes"]
    drawn = (run / "out/figures/languages.svg").read_text("utf-8")
    assert all(f">{code}<" in drawn for code in CODES)


def said_of(folder, settings=None):
    words(folder / "results", folder / "out", settings)
    return start(folder)


def test_less_is_said_where_the_run_has_less(tmp_path):
    """An allocation alone; one language; no allocation; no tokenizer at all."""
    make_allocation(tmp_path / "a/results", "v", ["de", "fi"], 5000)
    said = said_of(tmp_path / "a")
    assert (
        "At T = 5,000 VOCAP gives each of 2 languages 1,000 pieces." in said and "take" not in said
    )
    assert "costs" not in said.partition("Every language.")[0]
    make_allocation(tmp_path / "b/results", "v", ["de"], 5000)
    assert re.search(r"At T = 5,000 VOCAP gives German [\d,]+ pieces\.", said_of(tmp_path / "b"))
    make_tokenizer(tmp_path / "c/results", "joint", "joint", ["de", "fi"], 9000)
    said = said_of(tmp_path / "c", {"languages": ["de", "fi"]})
    assert "At T = 9,000 the held-out text of a language uses between " in said
    assert " of joint. Without parallel text the price of a sentence is not known." in said


def test_text_too_little_for_t_recommends_nothing(tmp_path):
    results = make_results(tmp_path / "results")
    for name, total in (("vocap100k", 6226), ("joint100k", 7883)):
        path = results / f"tokenizers/{name}/description.json"
        told = json.loads(path.read_text())
        told |= {"total": total, "settings": (told.get("settings") or {}) | {"total": 100_000}}
        path.write_text(json.dumps(told))
    path = results / "allocation/v100k/summary.json"
    told = json.loads(path.read_text())
    told["settings"]["total"] = 100_000
    path.write_text(json.dumps(told))
    said = words(results, tmp_path / "out", SETTINGS)
    assert "At T = 100,000, of which the text reaches 6,226, VOCAP gives" in said
    assert "; that is too little text to choose a tokenizer by." in said
    assert "Why: the text of the languages gives no more pieces." in said
    assert "The tokenizers have from 6,226 to 7,883 ids" in said


def test_one_warning_of_several_allocations_stands_once(tmp_path):
    results = make_results(tmp_path / "results")
    warning = "lines differ in length between languages, and too many for th (4.1 times)"
    for name in ("v100k", "v200k"):
        path = results / f"allocation/{name}/summary.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"warnings": [warning]}))
    page = write(results, tmp_path / "out")
    assert words_of(page).count("oo many for th (4.1 times)") == 1
    assert "Too many for th (4.1 times) (v100k, v200k)." in words_of(page)
    # curves that start far from each other open as gains
    assert '"gain":true' in page


def test_captions_name_the_run_s_folder(tmp_path, monkeypatch):
    make_results(tmp_path / "mine")
    monkeypatch.chdir(tmp_path)

    said = words_of(write(Path("mine"), tmp_path / "out"))
    assert "From mine/allocation/{name}/allocation.tsv" in said and "results/" not in said


@pytest.mark.skipif(BROWSER is None, reason="no chromium here: install Debian's chromium")
@pytest.mark.xdist_group("browser")
class TestLive:
    """The picture as a reader uses it."""

    CHOOSE = (
        "(() => {{ const one = document.querySelectorAll('.picture select')[{}]; "
        "one.value = '{}'; one.dispatchEvent(new Event('change')); }})()"
    )
    SAID = "document.querySelector('#figure-languages [role=status]').textContent"
    DRAWN = "document.querySelector('#figure-languages').dataset.drawn"
    HEADINGS = (
        "[...document.querySelectorAll('#figure-languages .drawing text')]"
        ".map((one) => one.textContent).join(' | ')"
    )

    def test_a_language_is_named_under_each_tokenizer(self, run, browser):
        rows = {row["language"]: row for row in read_tsv(run / "out/tables/language-sizes.tsv")}
        with browser.open((run / "out/index.html").as_uri()) as tab:
            tab.until(self.DRAWN)
            for name in ("vocap100k", "joint100k"):
                tab.evaluate(self.CHOOSE.format(0, name))
                tab.evaluate(self.CHOOSE.format(1, "hi"))
                size, times = int(rows["hi"][f"size_{name}"]), float(rows["hi"][f"times_{name}"])
                said = tab.evaluate(self.SAID)
                assert said.startswith(
                    f"Hindi (hi, mid): {size:,} ids; a sentence costs {times:.2f}"
                )
                assert tab.until(f"({self.HEADINGS}).includes('{name}: ids')")
            # the first screen holds sentence and picture
            bottom = (
                "document.querySelector('#figure-languages svg').getBoundingClientRect().bottom"
            )
            assert tab.evaluate(bottom) < 800

    def test_the_sliders_redraw_it(self, tmp_path, browser):
        inputs = make_page(tmp_path)
        with browser.open((tmp_path / "out/index.html").as_uri()) as tab:
            tab.evaluate("document.querySelector('.explorer').scrollIntoView()")
            tab.until("document.querySelector('.explorer').dataset.solved")
            tab.until(self.DRAWN)
            tab.evaluate(self.CHOOSE.format(1, "ru"))
            sizes = [
                {row.language: row.size for row in allocate(inputs, COVERAGE, **settings).rows}
                for settings in (PRESENT, PRESENT | {"total": 1203})
            ]
            assert tab.evaluate(self.SAID).startswith(
                f"Russian (ru, high): {sizes[0]['ru']:,} ids;"
            )
            tab.evaluate(
                "(() => { const field = document.querySelector('#explore-total ~ input'); "
                "field.value = 1203; field.dispatchEvent(new Event('input')); })()"
            )
            wanted = f"Russian (ru, high): {sizes[1]['ru']:,} ids, {sizes[0]['ru']:,} in present"
            assert tab.until(f"{self.SAID}.startsWith({json.dumps(wanted)})")
            assert "ids by the sliders; strokes: present" in tab.evaluate(self.HEADINGS)

    def test_a_word_is_explained_by_key(self, run, browser):
        with browser.open((run / "out/index.html").as_uri()) as tab:
            tab.evaluate("document.querySelector('.term').focus()")
            tab.press("Enter")
            shown = "document.querySelector('[popover]:popover-open')?.textContent"
            assert tab.until(shown).startswith(
                tab.evaluate("document.activeElement.textContent[0]")
            )
            tab.press("Escape")
            assert not tab.evaluate(shown)
