"""The first screen: its sentence and its picture against the files of the results, and
what is said of runs that have less.
"""

import json
import re
import shutil

import pandas
import pytest

from tests.cases import read_cases
from tests.report.chromium import LIVE
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
from tests.report.factories import LANGUAGES as CODES
from tests.report.pages import change, edit, frame, words, words_of, write
from vocap.allocation.inputs import UNEVEN
from vocap.config import Settings
from vocap.files.io import write_tsv
from vocap.languages import read_languages
from vocap.workflow.summary import summarize

CASES = read_cases(__file__)
SETTINGS = CASES["page"] | {"languages": CODES}


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
    """Who gets how much of the tokenizer to take, what it costs, and what is not told from it."""
    lines = frame(run / "results/corpora/weights.tsv").n
    said = start(run)
    shown = frame(run / "out/tables/comparison.tsv", "tokenizer")
    taken = re.search(r"Take (\w+)\.", said)[1]
    assert (shown.advice[taken], shown.parallel_bits.idxmin()) == ("take", taken)
    rows = frame(run / "out/tables/language-sizes.tsv").loc[CODES]
    sizes, costs = rows[f"size_{taken}"], rows[f"times_{taken}"].drop("en").dropna()
    for size in (sizes.min(), sizes.max()):
        alike = sizes.index[sizes == size]
        assert f"{size:,}" in said and f"({names(alike)})" in said
        # why: its text
        assert any(f"{names([one])} has {lines[one]:,}" in said for one in alike)
    for code in (costs.idxmin(), costs.idxmax()):
        assert f"{costs[code]:.2f} ({names([code])})" in said
    # the picture is its own
    drawn = (run / "out/figures/languages.svg").read_text("utf-8")
    assert f">{taken}: ids" in drawn and f"the files are of {taken}" in said


def test_the_picture_has_the_numbers_of_the_files(run):
    tokenizers = run / "results/tokenizers"
    rows = frame(run / "out/tables/language-sizes.tsv").loc[CODES]
    text = (run / "out/index.html").read_text("utf-8")
    found = re.search(r'figure-languages.*?class="controls">(.*?)</script>', text, re.S)[1]
    used = frame(tokenizers / "joint100k/evaluation.tsv").training_ids[CODES]
    sizes = {
        "vocap100k": frame(run / "results/allocation/v100k/allocation.tsv")["size"][CODES],
        "joint100k": used.astype(int),
    }
    shown = {one["name"]: one for one in json.loads(found)["tokenizers"]}
    assert set(shown) == set(sizes)
    for name, one in shown.items():
        columns = pandas.DataFrame(one["rows"]).set_index("l")
        prices = frame(tokenizers / name / "parallel.tsv").ratio_with_bytes.to_dict()
        assert columns.s.to_dict() == rows[f"size_{name}"].to_dict() == sizes[name].to_dict()
        assert columns.c.to_dict() == pytest.approx(prices, abs=6e-5)
        assert rows[f"times_{name}"].to_dict() == pytest.approx(prices)
        assert columns.s.is_monotonic_decreasing
    # counted ids are called so
    assert shown["joint100k"]["counted"] and not shown["vocap100k"]["counted"]
    drawn = (run / "out/figures/languages.svg").read_text("utf-8")
    assert all(f">{code}<" in drawn for code in CODES)


def said_of(folder, settings=None):
    words(folder / "results", folder / "out", settings)
    return start(folder)


def test_less_is_said_where_the_run_has_less(tmp_path):
    """An allocation alone; one language; no allocation; no tokenizer at all."""
    allocation = make_allocation(tmp_path / "a/results", "v", ["de", "fi"], 5000)
    change(allocation / "allocation.tsv", size={"de": 1000, "fi": 1000})
    said = said_of(tmp_path / "a")
    assert "At T = 5,000 VOCAP gives each of 2 languages 1,000 pieces." in said
    assert "Take" not in said and "costs" not in said.partition("Every language.")[0]
    make_allocation(tmp_path / "b/results", "v", ["de"], 5000)
    assert re.search(r"At T = 5,000 VOCAP gives German [\d,]+ pieces\.", said_of(tmp_path / "b"))
    make_tokenizer(tmp_path / "c/results", "joint", ["de", "fi"], 9000)
    said = said_of(tmp_path / "c", {"languages": ["de", "fi"]})
    assert "At T = 9,000 the text of a language uses between " in said
    assert " of joint. Without parallel text the price of a sentence is not known." in said


def test_the_closing_line_of_a_run_loads_the_advised_tokenizer(run, tmp_path):
    results = tmp_path / "results"
    shutil.copytree(run / "out", results / "report")
    for name in ("joint100k", "vocap100k"):
        write_tsv(results / f"tokenizers/{name}/huggingface/tokenizer.json", (), ())
    settings = Settings(results=str(results), **CASES["run"])
    taken = re.search(r"Take (\w+)\.", start(run))[1]
    loaded = next(line for line in summarize(settings) if line.startswith("Load "))
    assert f"Load {taken}: " in loaded and f"tokenizers/{taken}/huggingface" in loaded


def test_text_too_little_for_t_recommends_nothing(results, tmp_path):
    asked = {"total": 100_000, "alpha": 0.7, "beta": 0.7, "rule": "paper"}
    for name, total in (("vocap100k", 6226), ("joint100k", 7883)):
        edit(results / f"tokenizers/{name}/description.json", total=total, settings=asked)
    edit(results / "allocation/v100k/summary.json", settings=asked)
    said = words(results, tmp_path / "out", SETTINGS)
    assert re.search("At T = 100,000, of which the text reaches (6,226|7,883),", said)
    assert "too little text to choose a tokenizer by" in said and "6,226 to 7,883 ids" in said
    assert "Take " not in said
    assert frame(tmp_path / "out/tables/comparison.tsv", "tokenizer").advice.isna().all()


def test_one_warning_of_several_allocations_stands_once(results, tmp_path):
    for name in ("v100k", "v200k"):
        warning = f"{UNEVEN}, and too many for th (4.1 times)"
        edit(results / f"allocation/{name}/summary.json", warnings=[warning])
    page = write(results, tmp_path / "out")
    assert words_of(page).count("oo many for th (4.1 times)") == 1
    first, _, _ = words_of(page).partition("Every language.")
    assert "oo many for th (4.1 times) (v100k, v200k)." in first
    # curves that start far from each other open as gains
    assert '"gain":true' in page


class TestLive:
    """The picture as a reader uses it."""

    pytestmark = LIVE

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
        hindi = frame(run / "out/tables/language-sizes.tsv").loc["hi"]
        with browser.open((run / "out/index.html").as_uri()) as tab:
            tab.until(self.DRAWN)
            for name in ("vocap100k", "joint100k"):
                tab.evaluate(self.CHOOSE.format(0, name))
                tab.evaluate(self.CHOOSE.format(2, "hi"))
                said, size = tab.evaluate(self.SAID), hindi[f"size_{name}"]
                assert said.startswith(f"Hindi (hi, n up to 2,823): {size:,} ids;")
                assert f"{hindi[f'times_{name}']:.2f}" in said
                assert tab.until(f"({self.HEADINGS}).includes('{name}: ids')")
            # the ids of the other as strokes
            tab.evaluate(self.CHOOSE.format(1, "vocap100k"))
            assert f"ids, {hindi['size_vocap100k']:,} in vocap100k" in tab.evaluate(self.SAID)
            assert tab.until(f"({self.HEADINGS}).includes('strokes: vocap100k')")
            # the first screen holds sentence and picture
            bottom = (
                "document.querySelector('#figure-languages svg').getBoundingClientRect().bottom"
            )
            assert tab.evaluate(bottom) < 800

    def test_a_finger_reads_every_language_on_a_phone(self, run, browser):
        rows = frame(run / "out/tables/language-sizes.tsv").loc[CODES]
        place = (
            "(() => {{ const box = document.querySelector('#figure-languages .live svg')"
            ".getBoundingClientRect(); document.querySelector('#figure-languages .drawing')"
            ".dispatchEvent(new PointerEvent('pointermove', {{ pointerType: 'touch', "
            "clientX: box.left + {} * box.width }})); return {SAID}; }})()"
        ).replace("{SAID}", self.SAID)
        with browser.open((run / "out/index.html").as_uri(), 390, 844) as tab:
            assert tab.until(self.DRAWN)
            found = dict.fromkeys(tab.evaluate(place.format(step / 100)) for step in range(100))
        taken = re.search(r"Take (\w+)\.", start(run))[1]
        read = [
            re.match(r".*\((\w+), n up to [\d,]+\): ([\d,]+) ids", said) for said in found if said
        ]
        numbers = {one[1]: int(one[2].replace(",", "")) for one in read}
        assert numbers == rows[f"size_{taken}"].to_dict()

    def test_the_sliders_redraw_it(self, tmp_path, browser):
        inputs = make_page(tmp_path)
        with browser.open((tmp_path / "out/index.html").as_uri()) as tab:
            tab.evaluate("document.querySelector('.explorer').scrollIntoView()")
            tab.until("document.querySelector('.explorer').dataset.solved")
            tab.until(self.DRAWN)
            tab.evaluate(self.CHOOSE.format(1, "ru"))  # of one tokenizer none stands beside it
            sizes = [
                {row.language: row.size for row in allocate(inputs, COVERAGE, **settings).rows}
                for settings in (PRESENT, PRESENT | {"total": 1203})
            ]
            assert tab.evaluate(self.SAID).startswith(
                f"Russian (ru, n up to 90,068): {sizes[0]['ru']:,} ids;"
            )
            tab.evaluate(
                "(() => { const field = document.querySelector('#explore-total ~ input'); "
                "field.value = 1203; field.dispatchEvent(new Event('input')); })()"
            )
            wanted = (
                f"Russian (ru, n up to 90,068): {sizes[1]['ru']:,} ids, "
                f"{sizes[0]['ru']:,} in present"
            )
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
