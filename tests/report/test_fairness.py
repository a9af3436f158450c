"""The cost of fairness against the definitions, from the files alone."""

import json
import shutil

import pytest

from tests.report.factories import CODES, allocate, make_run, write_choice
from tests.report.pages import Page, words_of, write
from vocap.files.tsv import read_tsv, write_tsv
from vocap.languages import read_languages

PRESENT = {"total": 900, "alpha": 0.7, "beta": 0.7, "rule": "paper"}


def write_evaluation(folder, name, alp, unknown):
    columns = ("language", "resource", "lines", "alp", "unk_rate")
    rows = [(code, "low", 500, alp[code], unknown.get(code, 0.0)) for code in CODES]
    write_tsv(folder / "tokenizers" / name / "evaluation.tsv", columns, rows)
    (folder / "tokenizers" / name / "description.json").write_text(f'{{"kind": "{name}", "total": 900}}')


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fairness")
    inputs = make_run(folder / "results")
    write_choice(folder / "results", "present", inputs, **PRESENT)
    write_evaluation(folder / "results", "joint", {code: -60.0 - k for k, code in enumerate(CODES)}, {"sw": 0.2})
    write_evaluation(folder / "results", "file", dict.fromkeys(CODES, -70.0), dict.fromkeys(CODES[:5], 0.5))
    text = write(folder / "results", folder / "out")
    rows = list(read_tsv(folder / "out/tables/fairness-900.tsv"))
    return folder, inputs, rows, words_of(text)


def heldout(folder, code):
    return {
        int(row["size"]): float(row["alp_heldout"])
        for row in read_tsv(folder / "results/vocabularies" / code / "curve.tsv")
        if row["status"] == "ok"
    }


def expected(folder, inputs, alp):
    """Mean weighted by q, Gini by all pairs, the worst language, without Swahili, which has <unk>."""
    codes = [code for code in CODES if code != "sw"]
    powers = {entry.language: entry.n**0.7 for entry in inputs.languages}
    x = {code: alp[code] / max(heldout(folder, code).values()) for code in codes}
    mean = sum(powers[code] * alp[code] for code in codes) / sum(powers[code] for code in codes)
    gini = sum(abs(a - b) for a in x.values() for b in x.values()) / (2 * len(x) * sum(x.values()))
    worst = max(codes, key=x.__getitem__)
    return mean, gini, x[worst], worst


@pytest.mark.parametrize(("series", "count"), [("beta", 11), ("fairness", 6)])
def test_allocations_are_those_of_vocap_allocate(run, series, count):
    """A clean curve's last union that fits: the sizes of the allocation, but for the step that overshoots."""
    folder, inputs, rows, _ = run
    rows = [row for row in rows if row["name"].startswith(series)]
    assert len(rows) == count
    for row in rows:
        settings = PRESENT | {"beta": float(row["beta"]), "fairness": float(row["fairness"])}
        solution = allocate(inputs, **settings)
        assert int(row["pieces"]) == solution.chosen.union
        curves = {code: heldout(folder, code) for code in CODES}
        chosen = {entry.language: entry.size for entry in solution.rows}
        found = []
        for code in CODES:  # the last step may be of any language
            below = [size for size in curves[code] if size < chosen[code]]
            sizes = chosen | ({code: max(below)} if solution.clipped and below else {})
            mean, gini, *_ = expected(folder, inputs, {one: curves[one][sizes[one]] for one in CODES})
            found.append((mean, gini))
        assert any((float(row["alp"]), float(row["gini"])) == pytest.approx(one) for one in found)


def test_tokenizers_are_measured_as_they_are(run):
    folder, inputs, rows, words = run
    row = next(row for row in rows if row["name"] == "joint")
    mean, gini, ratio, worst = expected(folder, inputs, {code: -60.0 - k for k, code in enumerate(CODES)})
    assert float(row["alp"]) == pytest.approx(mean) and float(row["gini"]) == pytest.approx(gini)
    assert float(row["worst_ratio"]) == pytest.approx(ratio) and row["worst"] == read_languages()[worst].name
    assert row["languages"] == "7"
    assert not any(row["name"] == "file" for row in rows)  # most of its languages are <unk>
    assert "Not counted at T = 900, in any mark: Swahili (20.0 % <unk> in joint)" in words


def test_a_tokenizer_by_pieces_is_a_mark_and_its_allocation_no_line(tmp_path):
    """Of one T, the first allocation has a rule that it cannot vary; the next is the reference."""
    inputs = make_run(tmp_path / "results")
    write_choice(tmp_path / "results", "present", inputs, **PRESENT)
    shutil.copytree(tmp_path / "results/allocation/present", tmp_path / "results/allocation/by-pieces")
    summary = tmp_path / "results/allocation/by-pieces/summary.json"
    content = json.loads(summary.read_text())
    summary.write_text(json.dumps({**content, "settings": {**content["settings"], "rule": "pieces"}}))
    alp = {code: -60.0 - k for k, code in enumerate(CODES)}
    write_evaluation(tmp_path / "results", "vocap", alp, {})
    settings = {"tokenizers": {"vocap": {"kind": "vocap", "allocation": "by-pieces"}}}
    text = write(tmp_path / "results", tmp_path / "out", "--settings-json", json.dumps(settings))
    rows = list(read_tsv(tmp_path / "out/tables/fairness-900.tsv"))
    assert [row["kind"] for row in rows].count("PIECES tokenizer") == 1
    assert len([row for row in rows if row["name"].startswith("beta")]) == 11
    assert "All other settings are those of present;" in " ".join(Page(text).text)
    assert ">vocap<" in (tmp_path / "out/figures/fairness-900.svg").read_text()


def test_the_series_keep_the_unit_of_the_weights(tmp_path):
    """per: character: the mark at the allocation's own beta is the allocation."""
    inputs = make_run(tmp_path / "results", seed=5)
    solution = write_choice(tmp_path / "results", "present", inputs, **PRESENT, per="character")
    write(tmp_path / "results", tmp_path / "out")
    rows = {row["name"]: row for row in read_tsv(tmp_path / "out/tables/fairness-900.tsv")}
    assert int(rows["beta 0.7"]["pieces"]) == solution.chosen.union
    assert solution.chosen.union != allocate(inputs, **PRESENT).chosen.union
