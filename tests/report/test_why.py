"""`vocap why` on a folder that commands made: two languages of much text, one of little, and
one with a script of its own.
"""

import json
import re
import shutil

import pytest

from tests import commands
from tests.cases import refused
from tests.made_text import draw_sentences, write_lines
from tests.report.chromium import BROWSER
from tests.report.pages import change, write
from vocap.files.io import read_tsv

LATIN, GEORGIAN = "abcdefghilmnoprstuv", "აბგდევზთიკლმნოპრს"
LINES = {"en": 1500, "it": 1200, "mt": 300, "ka": 900}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """The call of `vocap why` on results of these languages."""
    root = tmp_path_factory.mktemp("why")
    call = commands.caller(root=root, results=root / "results")
    for code, count in LINES.items():
        sentences = draw_sentences(code, GEORGIAN if code == "ka" else LATIN)
        drawn = [next(sentences) for _ in range(count + 60)]
        write_lines(root / f"{code}.txt", drawn[:count])
        write_lines(root / f"parallel/{code}.txt", drawn[count:])
        out = "{results}/corpora/{code}"
        sampled = f"--train {out}/train.txt --heldout {out}/heldout.txt --stats {out}/stats.json"
        call("sample {root}/{code}.txt --language={code} " + sampled, code=code)
        ladder = f"ladder {out}/train.txt --sizes=100:1000:100 --heldout {out}/heldout.txt"
        call(ladder + " -o {results}/vocabularies/{code}", code=code)
    stats = [root / f"results/corpora/{code}/stats.json" for code in LINES]
    weights = "{results}/corpora/weights.tsv"
    call(f"weigh -o {weights}", *stats)
    shared = f"--vocabularies {{results}}/vocabularies --weights {weights}"
    call(f"allocate {shared} --total 1000 -o {{results}}/allocation/small")
    call(f"fit {shared} --allocation {{results}}/allocation/small -o {{results}}/tokenizers/small")
    joint = f"--corpora {{results}}/corpora --weights {weights} --total 1000"
    call(f"bpe {joint} -o {{results}}/tokenizers/bpe")
    for name in ("small", "bpe"):
        evaluated = "--corpora {results}/corpora --parallel {root}/parallel/{{lang}}.txt"
        tables = "--tables {results}/tokenizers"
        call(f"evaluate --tokenizer {name}={{results}}/tokenizers/{name} {evaluated} {tables}")
    return commands.caller(root=root, results=root / "results")


@pytest.fixture(scope="module")
def results(run, tmp_path_factory):
    return next(tmp_path_factory.getbasetemp().glob("why*/results"))


def figures(run, code):
    return json.loads(run("why {results} {code} --json", code=code))


def test_little_text_has_its_cause_cost_rank_and_remedies(run, results):
    text = run("why {results} mt")
    assert re.search(r"the cause is (a small weight|too little text) \(.*\d", text)
    rows = read_tsv(results / "tokenizers/small/parallel.tsv")
    ratios = {row["language"]: float(row["ratio_with_bytes"]) for row in rows}
    rank = sorted(ratios, key=ratios.__getitem__).index("mt") + 1
    assert f"small: {ratios['mt']:.2f} times English, rank {rank} of 4" in text
    assert re.search(r"- beta 0.35: (still )?[\d,]+ ids", text)
    assert re.search(r"Estimate of vocap extend small, .*: 100: −[\d.]+ %", text)
    assert "parity-bpe: {kind: parity-bpe, total: 1000" in text
    assert "More text: its curve ends for lack of text" in text


@pytest.mark.parametrize("doubled", [False, True])
def test_larger_weights_are_those_of_vocap_allocate(run, results, tmp_path, doubled):
    """With another beta, or with the weights of a language of twice its text."""
    shutil.copytree(results / "vocabularies", tmp_path / "vocabularies")
    shutil.copy(results / "corpora/weights.tsv", tmp_path)
    if doubled:
        n = next(r["n"] for r in read_tsv(tmp_path / "weights.tsv") if r["language"] == "mt")
        change(tmp_path / "weights.tsv", n={"mt": 2 * int(n)})
    words = "" if doubled else "--beta 0.35"
    run(
        "allocate --vocabularies {tmp}/vocabularies --weights {tmp}/weights.tsv --total 1000 "
        f"-o {{tmp}}/out {words}",
        tmp=tmp_path,
    )
    sizes = {row["language"]: int(row["size"]) for row in read_tsv(tmp_path / "out/allocation.tsv")}
    changes = figures(run, "mt")["weights"]["small"]["changes"]
    found = changes["twice its n" if doubled else "beta 0.35"]
    before = read_tsv(results / "allocation/small/allocation.tsv")
    lost = {row["language"] for row in before if sizes[row["language"]] < int(row["size"])}
    assert (found["size"], set(found["losers"])) == (sizes["mt"], lost - {"mt"})


def test_pieces_and_gains_are_those_of_the_tables(run, results):
    rows = read_tsv(results / "allocation/small/vocabulary.tsv")
    held = {row["piece"]: set(row["languages"].split(",")) for row in rows}
    for code in LINES:
        (share,) = figures(run, code)["allocations"]
        own = [piece for piece, codes in held.items() if code in codes]
        assert share["held"] == len(own)
        assert share["alone"] == sum(held[piece] == {code} for piece in own)
        assert share["partners"] == {
            other: count
            for other in LINES
            if other != code and (count := sum(other in held[piece] for piece in own))
        }
        assert share["next_gain"] is None or share["next_gain"] <= share["last_gain"]


def test_what_is_not_known_is_named(run, results, tmp_path):
    georgian = figures(run, "Georgian")
    assert next(iter(georgian["causes"])) == "a script of its own"
    shutil.copytree(results, tmp_path / "results")
    for gone in ("vocabularies", "allocation", "tokenizers/bpe", "tokenizers/small/parallel.tsv"):
        path = tmp_path / "results" / gone
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    text = run("why {folder} ka", folder=tmp_path / "results")
    for said in ("no ladder of ka", "no parallel text of ka", "one tokenizer", "tokens a held-out"):
        assert said in text
    refused(run, "why {results} ta", r"no language .ta. in this run; it has .*ka", 2)
    refused(run, "why {folder} ka", "no results of a run", 2, folder=tmp_path / "results/corpora")


@pytest.mark.skipif(BROWSER is None, reason="no chromium here: install Debian's chromium")
def test_the_page_shows_the_same_on_one_screen(run, results, browser, tmp_path):
    """Chosen by the address, the picture's list and its table."""
    write(results, tmp_path)
    shown = "document.querySelector('.why .shown')"
    text = run("why {results} mt").split("\n")
    for width, height in ((1280, 900), (390, 844)):
        url = f"{(tmp_path / 'index.html').as_uri()}#lang=mt"
        with browser.open(url, width, height) as tab:
            assert tab.until(f"{shown}.dataset.language") == "mt"
            said = tab.evaluate(f"{shown}.textContent")
            lines = [line.removeprefix("- ").strip() for line in text if line[:1] != "#"]
            assert [line for line in lines[1:] if line not in said] == []
            assert tab.evaluate(f"{shown}.offsetHeight") < height - 150
            assert tab.evaluate("document.body.scrollWidth") <= width
            assert tab.evaluate(f"{shown}.querySelectorAll('circle').length") == 1
            find = "document.querySelector('[aria-label=\"Language to show\"]')"
            tab.evaluate(f"{find}.value = 'ka'; {find}.dispatchEvent(new Event('change'))")
            tab.evaluate("document.querySelector('#figure-languages .count a').click()")
            tab.until(f"{shown}.dataset.language === 'ka'")
            tab.evaluate("document.querySelector('th a[href=\"#lang=en\"]').click()")
            tab.until(f"{shown}.dataset.language === 'en'")
