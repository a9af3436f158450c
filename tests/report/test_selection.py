"""The results that belong to the run, and the languages that its means count."""

import pytest

from tests.report.factories import LANGUAGES as CODES
from tests.report.factories import make_results
from tests.report.pages import change, edit, frame, one_row, words
from vocap.files.io import read_tsv
from vocap.languages import DOMAINS, read_languages

SETTINGS = {
    "languages": CODES[:8],
    "allocation": {"v100k": {}},
    "tokenizers": {
        "vocap100k": {"kind": "vocap", "allocation": "v100k"},
        "joint100k": {"kind": "joint"},
        "xlmr": {"kind": "file"},
    },
}


def test_only_results_that_the_settings_name_are_shown(results, tmp_path):
    (results / "allocation/v200k/summary.json").write_text("{broken")  # not read, so no error
    (results / "vocabularies/ja/curve.tsv").write_text("broken")
    said = words(results, tmp_path / "out", SETTINGS)
    note = "allocations v200k; tokenizers joint200k, vocap200k; languages fi, ja, sa."
    assert said.count(note) == said.count("left from other configurations") == 1
    shown = said.replace(note, "")
    settings = shown.rindex("Settings")  # the configuration's own text
    assert not any(name in shown[:settings] for name in ("200k", "Japanese", "Finnish", "Sanskrit"))
    tables = tmp_path / "out/tables"
    for table in tables.glob("*.tsv"):
        assert not {row.get("language") for row in read_tsv(table)} & {"fi", "ja", "sa"}, table


def test_all_languages_are_those_of_the_table(tmp_path):
    results = make_results(tmp_path / "results", ["en", "de", "ru", "hi", "xx"])
    said = words(results, tmp_path / "out", {"languages": "all"})
    asked = [one for one in read_languages().values() if one.resource not in DOMAINS]
    assert f"{len(asked)} languages" in said and "not shown: languages xx." in said
    assert "Python" not in said  # of a domain: not among all, so not without text either


def test_languages_of_many_unknown_tokens_are_in_no_mean(results, tmp_path):
    tokenizers = results / "tokenizers"
    change(tokenizers / "joint100k/evaluation.tsv", unk_rate={"ja": 0.25, "fi": 0.01})
    change(tokenizers / "xlmr/evaluation.tsv", unk_rate={"km": 0.0101})
    edit(results / "allocation/v100k/summary.json", left_out={"sw": "no text"})
    said = words(results, tmp_path / "out", {**SETTINGS, "languages": CODES})
    tables = tmp_path / "out/tables"
    ours, theirs = (
        frame(tokenizers / name / "evaluation.tsv").alp for name in ("vocap100k", "joint100k")
    )
    counted = (ours - theirs)[[code for code in CODES if code not in ("ja", "sw", "km")]]
    row = one_row(tables / "comparison-groups.tsv", group="all", tokenizer="vocap100k")
    assert float(row["nats"]) == pytest.approx(counted.mean())
    assert int(row["languages"]) == len(counted)
    reasons = {
        "ja": "25.0 % <unk> in joint100k",
        "km": "1.0 % <unk> in xlmr",
        "sw": "left out by allocation v100k",
    }
    for code, reason in reasons.items():
        assert f"{read_languages()[code].name} ({reason})" in said
    marked = frame(tables / "comparison-languages-100000.tsv").apart
    assert set(marked.index) == set(CODES) and marked.dropna().to_dict() == reasons


def test_no_comparable_language_is_no_mean(results, tmp_path):
    settings = {"languages": CODES[:8], "tokenizers": {"joint100k": {"kind": "joint"}}}
    change(results / "tokenizers/joint100k/evaluation.tsv", unk_rate=dict.fromkeys(CODES, 0.5))
    assert "Nothing to compare" in words(results, tmp_path / "out", settings)
