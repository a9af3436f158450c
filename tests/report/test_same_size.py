"""Tokenizers of one T side by side: the numbers by their definitions, and the sentences about them."""

import json

import pytest

from tests.report.factories import make_other_tokenizers, make_results, make_tokenizer
from tests.report.pages import Page, one_row, write
from vocap.files.tsv import read_tsv, write_tsv
from vocap.languages import read_languages

CODES = ["en", "de", "ru", "hi", "fa", "it", "sw", "km", "ja", "fi"]
SETTINGS = {
    "languages": CODES,
    "allocation": {"v100k": {}, "p100k": {}},
    "tokenizers": {
        "vocap100k": {"kind": "vocap", "allocation": "v100k"},
        "joint100k": {"kind": "joint"},
        "beta100k": {"kind": "joint"},
        "pieces100k": {"kind": "vocap", "allocation": "p100k"},
    },
}
NAMES = list(SETTINGS["tokenizers"])


def report(results, out, settings=SETTINGS):
    return Page(write(results, out, "--settings-json", json.dumps(settings)))


def words(page):
    return " ".join(" ".join(page.text).split())


def read_alp(results, name):
    path = results / f"tokenizers/{name}/evaluation.tsv"
    return {row["language"]: float(row["alp"]) for row in read_tsv(path)}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("same-size")
    results = make_results(folder / "results")
    make_other_tokenizers(results, CODES)
    path = results / "tokenizers/beta100k/evaluation.tsv"
    rows = [dict(row) for row in read_tsv(path)]
    for row in rows:
        row["unk_rate"] = "0.25" if row["language"] == "ja" else row["unk_rate"]
    write_tsv(path, list(rows[0]), [tuple(row.values()) for row in rows])
    return folder, results, report(results, folder / "out")


def test_differences_by_their_definition(run):
    folder, results, _ = run
    alp = {name: read_alp(results, name) for name in NAMES}
    q = {row["language"]: float(row["q"]) for row in read_tsv(results / "allocation/v100k/allocation.tsv")}
    for group in ("low", "mid", "high", "all"):
        codes = [code for code in CODES if code != "ja" and group in ("all", read_languages()[code].resource)]
        for name in NAMES:
            row = one_row(folder / "out/tables/same-size.tsv", total="100000", tokenizer=name, group=group)
            assert row["reference"] == "joint100k" and int(row["languages"]) == len(codes)
            assert float(row["alp"]) == pytest.approx(sum(alp[name][code] for code in codes) / len(codes))
            best = sum(alp[name][code] >= max(alp[other][code] for other in NAMES) for code in codes)
            assert int(row["best"]) == best
            if name == "joint100k":
                assert row["percent"] == row["nats"] == row["percent_q"] == row["better"] == ""
                continue
            nats = {code: alp[name][code] - alp["joint100k"][code] for code in codes}
            percent = {code: 100 * nats[code] / abs(alp["joint100k"][code]) for code in codes}
            for column, values in (("nats", nats), ("percent", percent)):
                assert float(row[column]) == pytest.approx(sum(values.values()) / len(codes))
                weighted = sum(q[code] * values[code] for code in codes) / sum(q[code] for code in codes)
                assert float(row[f"{column}_q"]) == pytest.approx(weighted)
            assert int(row["better"]) == sum(value > 0 for value in nats.values())


def test_it_follows_the_frontier_and_names_unit_reference_and_text(run):
    folder, _, page = run
    figures = [a["id"] for _, a in page.elements if a.get("class") == "chart"]
    first = next(name for name in figures if "every-tokenizer" not in name)
    assert first == "figure-same-size-100000" and "every-tokenizer-100000" in figures[0]
    said = words(page)
    assert "T = 100K: held-out ALP minus that of joint100k, percent of each language’s ALP" in said
    assert "1 language in no mean here: Japanese (25.0 % <unk> in beta100k)" in said
    texts = folder / "out/tables/tokenizers.tsv"
    row = one_row(texts, tokenizer="pieces100k")
    assert (row["method"], row["lines"], row["weights"]) == (
        "allocation, pieces rule",
        "1280817",
        "alpha 0.7, beta 0.7",
    )
    row = one_row(texts, tokenizer="beta100k")
    assert (row["word_types"], row["weights"], row["remark"]) == ("81234", "alpha 0.49", "a sample of the lines")
    assert one_row(texts, tokenizer="joint100k")["remark"] == "text not stated"
    drawn = (folder / "out/figures/same-size-100000.svg").read_text()
    for label in ("low: vocap100k", "high: pieces100k", "all, by q: beta100k"):
        assert f">{label}<" in drawn
    assert ">low: joint100k<" not in drawn


@pytest.mark.parametrize("winner", ["vocap100k", "joint100k", "beta100k", "pieces100k"])
def test_the_leader_is_the_one_of_the_highest_means(tmp_path, winner):
    """Also where it is JOINT: no sentence takes for granted that an allocation is better."""
    results = make_results(tmp_path / "results")
    make_other_tokenizers(results, CODES)
    for name in NAMES:
        path = results / f"tokenizers/{name}/evaluation.tsv"
        rows = [dict(row) for row in read_tsv(path)]
        for row in rows:
            row["alp"] = str(-100.0 - 10 * (name != winner) - NAMES.index(name) / 10)
        write_tsv(path, list(rows[0]), [tuple(row.values()) for row in rows])
    said = words(report(results, tmp_path / "out"))
    sentence = f"At T = 100K, of 4 tokenizers, {winner} has the highest mean held-out ALP, in percent and in nats"
    assert said.count(f"{sentence}, plain and weighted by q.") == 1 == said.count("the highest mean held-out ALP")
    assert f"Highest ALP of all, by number of languages: {winner} 10" in said
    side = {"vocap100k": "higher", "joint100k": "lower"}.get(winner)
    if side:
        assert f"nats per line {side} than joint100k’s" in said


def test_means_that_disagree_are_named_apart(tmp_path):
    results = make_results(tmp_path / "results")
    settings = {**SETTINGS, "tokenizers": {name: SETTINGS["tokenizers"][name] for name in NAMES[:2]}}
    alp = {"vocap100k": dict.fromkeys(CODES, -100.0), "joint100k": dict.fromkeys(CODES, -99.0)}
    alp["vocap100k"]["km"], alp["joint100k"]["km"] = -1000.0, -1020.0  # long lines: many nats, few percent
    for name, values in alp.items():
        path = results / f"tokenizers/{name}/evaluation.tsv"
        rows = [dict(row) | {"alp": str(values[row["language"]])} for row in read_tsv(path)]
        write_tsv(path, list(rows[0]), [tuple(row.values()) for row in rows])
    said = words(report(results, tmp_path / "out", settings))
    assert "the highest mean held-out ALP has joint100k in percent" in said
    assert "; vocap100k in nats" in said


@pytest.mark.parametrize("kept", [["vocap100k"], ["vocap100k", "joint200k"], ["xlmr"]])
def test_nothing_to_compare_is_one_line(tmp_path, kept):
    results = make_results(tmp_path / "results")
    settings = {"tokenizers": {name: {"kind": "file" if name == "xlmr" else name[:5]} for name in kept}}
    said = words(report(results, tmp_path / "out", settings))
    assert said.count("Nothing to compare: no two tokenizers of the same T") == 1
    assert not (tmp_path / "out/tables/same-size.tsv").exists()


def test_two_allocations_without_a_joint(tmp_path):
    results = make_results(tmp_path / "results")
    make_other_tokenizers(results, CODES)
    settings = {"tokenizers": {name: SETTINGS["tokenizers"][name] for name in ("pieces100k", "vocap100k")}}
    said = words(report(results, tmp_path / "out", settings))
    assert "T = 100K: held-out ALP minus that of pieces100k" in said


def test_a_tokenizer_of_few_languages_is_left_out(tmp_path):
    results = make_results(tmp_path / "results")
    make_tokenizer(results, "few", "joint", CODES[:3], 100_000)
    settings = {
        "tokenizers": SETTINGS["tokenizers"] | {"few": {"kind": "joint"}, "pieces100k": None, "beta100k": None}
    }
    said = words(report(results, tmp_path / "out", settings))
    assert "left out, since fewer than half of the languages can be counted under them: few." in said
    assert one_row(tmp_path / "out/tables/same-size.tsv", group="all", tokenizer="vocap100k")["languages"] == "10"


def test_an_allocation_by_pieces_is_compared_with_the_other_rules(run):
    folder, _, page = run
    said = words(page)
    assert "Optimality gap −73.03 %" in " ".join(said.split())
    assert said.count("of the last pieces kept (nats per line; one price for all languages)") == 1
    row = one_row(folder / "out/tables/allocations.tsv", allocation="p100k")
    names = ("optimality_gap", "optimality_gap_paper")
    assert [float(row[name]) for name in names] == pytest.approx([-0.7303, 0.0211])
    row = one_row(folder / "out/tables/allocations.tsv", allocation="v100k")
    assert float(row["optimality_gap"]) == float(row["optimality_gap_paper"]) == pytest.approx(0.0211)
    assert "allocation-p100k" in {path.stem for path in (folder / "out/tables").iterdir()}
    # the paper's Figure 4 is about allocations by sizes
    assert {row["vocap"] for row in read_tsv(folder / "out/tables/vocap-joint-groups.tsv")} == {"vocap100k"}


def test_a_mean_gain_hides_no_loss(tmp_path):
    """Long lines of one language gain nats, and the mean with them: the language that loses most is named."""
    results = make_results(tmp_path / "results")
    settings = {**SETTINGS, "tokenizers": {name: SETTINGS["tokenizers"][name] for name in NAMES[:2]}}
    alp = {"vocap100k": dict.fromkeys(CODES, -100.0), "joint100k": dict.fromkeys(CODES, -101.0)}
    alp["vocap100k"]["ru"], alp["joint100k"]["ru"] = -20.82, -20.0
    for name, values in alp.items():
        path = results / f"tokenizers/{name}/evaluation.tsv"
        rows = [dict(row) | {"alp": str(values[row["language"]])} for row in read_tsv(path)]
        write_tsv(path, list(rows[0]), [tuple(row.values()) for row in rows])
    said = words(report(results, tmp_path / "out", settings))
    percent = (9 * 100 / 101 - 4.1) / 10
    start = f"vocap100k against joint100k: +{percent:.2f} % in the mean, better in 9 of 10 languages"
    assert f"{start}; Russian loses most, 4.1 %." in said
    assert "on average 0.82 nats per line higher than JOINT’s" in said
    assert f"In percent of each language’s ALP the mean difference is +{percent:.2f} %; Russian loses most" in said
    assert "Lose most Russian −4.10 %" in said
    drawn = (tmp_path / "out/figures/vocap-joint-vocap100k-joint100k.svg").read_text()
    assert "percent of each language" in drawn
