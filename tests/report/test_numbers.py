"""The page's numbers against the stages' files, and its notes on missing results."""

import json
import re

import pandas
import pytest

from tests.report.factories import make_results
from tests.report.pages import Page, one_row, write
from vocap.files.tsv import read_tsv, write_tsv
from vocap.languages import read_languages


def test_tables_in_three_forms_hold_the_stages_numbers(made):
    folder, text, _ = made
    tables = folder / "out/tables"
    stems = {path.stem for path in tables.iterdir()}
    assert all((tables / f"{stem}.{form}").exists() for stem in stems for form in ("tsv", "md", "tex"))
    points = {(row["language"], row["size"]): row["alp"] for row in read_tsv(tables / "curves.tsv")}
    for code in ("en", "ja"):
        for row in read_tsv(folder / "results/vocabularies" / code / "curve.tsv"):
            assert points[code, row["size"]] == row["alp"]
    # group means by hand from the tokenizers' own files
    alp = {
        name: {
            row["language"]: float(row["alp"])
            for row in read_tsv(folder / f"results/tokenizers/{name}/evaluation.tsv")
        }
        for name in ("vocap100k", "joint100k")
    }
    high = [code for code in alp["vocap100k"] if read_languages()[code].resource == "high"]
    expected = sum(alp["vocap100k"][code] - alp["joint100k"][code] for code in high) / len(high)
    row = one_row(tables / "comparison-groups.tsv", size="100000", tokenizer="vocap100k", group="high")
    assert float(row["nats"]) == pytest.approx(expected)
    assert int(row["languages"]) == len(high)
    assert f"{expected:+.2f}".replace("-", "−") in text
    for path in tables.glob("*.md"):
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
        pipes = {len(re.findall(r"(?<!\\)\|", line)) for line in lines}
        assert len(pipes) == 1, path
    for path in tables.glob("*.tex"):
        body = path.read_text(encoding="utf-8")
        assert body.count("\\begin{longtable}") == body.count("\\end{longtable}") == 1
        assert not re.search(r"(?<!\\)[#_]", body), path


def test_missing_languages_and_sizes_are_listed(made):
    _, _, page = made
    words = " ".join(" ".join(page.text).split())
    assert "1 language without text" in words and "no package of the starter corpus has this language" in words
    assert "2,613 required characters do not fit" in words
    assert "snakemake --cores all pretraining" in words and "snakemake --cores all finetuning" in words
    assert "▁shadow" in words and "▁sha dow" in words
    assert "2.11 %" in words  # the optimality gap
    assert "only 612 lines in mediawiki" in words and "GPL-2.0-or-later" in words and "ab" * 32 in words
    assert "ꙮ U+A66E" in words and "\u0301" in words
    assert "Missing in results/tokenizers/xlmr" not in words


def test_without_an_allocation_q_is_of_the_weights(tmp_path):
    results = make_results(tmp_path / "results")
    write(results, tmp_path / "out")
    n = pandas.read_csv(results / "corpora/weights.tsv", sep="\t").set_index("language").n ** 0.7
    alp = pandas.read_csv(results / "tokenizers/joint200k/evaluation.tsv", sep="\t").set_index("language").alp
    row = one_row(tmp_path / "out/tables/comparison.tsv", size="200000", tokenizer="joint200k")
    assert float(row["alp_q"]) == pytest.approx((n * alp).sum() / n.sum())


def test_group_means_of_all_measures(made):
    folder, _, _ = made
    table = pandas.read_csv(folder / "results/tokenizers/joint200k/evaluation.tsv", sep="\t")
    measures = table.columns[3:]
    made_groups = folder / "out/tables/comparison-groups.tsv"
    for group, members in [*table.groupby("resource"), ("all", table)]:
        row = one_row(made_groups, tokenizer="joint200k", group=group)
        assert int(row["languages"]) == len(members)
        assert [float(row[name]) for name in measures] == pytest.approx(list(members[measures].mean()))


def test_each_tokenizer_says_how_much_text_it_has_seen(made):
    folder, _, _ = made
    for name, weights in {"vocap100k": "alpha 0.7, beta 0.7", "joint200k": "alpha 0.7"}.items():
        text = json.loads((folder / f"results/tokenizers/{name}/description.json").read_text())["text"]
        row = one_row(folder / "out/tables/tokenizers.tsv", tokenizer=name)
        assert (int(row["lines"]), row["weights"]) == (text["lines"], weights)


def test_parity_names_the_lines_compared(made):
    folder, _, page = made
    parity = list(read_tsv(folder / "results/tokenizers/vocap100k/parity.tsv"))
    stats = [json.loads((folder / f"results/corpora/{row['language']}/stats.json").read_text()) for row in parity]
    lines, of = sum(int(row["lines"]) for row in parity), sum(one["train"] + one["heldout"] for one in stats)
    row = one_row(folder / "out/tables/checks.tsv", tokenizer="vocap100k")
    assert (int(row["lines"]), int(row["of"])) == (lines, of) and lines < of
    assert int(row["different"]) == lines - sum(int(row["identical"]) for row in parity)
    words = " ".join(" ".join(page.text).split())
    worst = list(read_tsv(folder / "out/tables/parity-worst.tsv"))
    assert worst and all(float(row["share"]) < 1 and row["example"] for row in worst)
    assert "normaliser 2: “a b”: ▁a b | ▁a▁b; tie 1: “c d”: ▁c d | ▁c▁d" in words


def test_parity_of_all_lines(tmp_path):
    results = make_results(tmp_path / "results")
    for path in results.glob("tokenizers/*/parity.tsv"):
        rows = []
        for row in read_tsv(path):
            stats = json.loads((results / "corpora" / row["language"] / "stats.json").read_text())
            rows.append((row["language"], *[stats["train"] + stats["heldout"]] * 2, 1.0, ""))
        write_tsv(path, ("language", "lines", "identical", "share", "example"), rows)
    words = " ".join(Page(write(results, tmp_path / "out")).text)
    assert "No line differs" in words


def test_parallel_text_with_gaps_is_compared_by_ratio(tmp_path):
    """Languages with other numbers of lines: inequality is of their ratios, and one without lines is in none."""
    results = make_results(tmp_path / "results")
    path = results / "tokenizers/xlmr/parallel.tsv"
    rows = [list(row.values()) for row in read_tsv(path)]
    ratios = {}
    for place, row in enumerate(rows):
        tokens, english = 5000 + 700 * place, 4000 + 10 * place
        row[1:] = [900 - 80 * place, tokens, tokens / english, english]
        ratios[row[0]] = tokens / english
    gone = rows[-1][0]
    rows[-1][1:] = [0, 0, None, 0]
    del ratios[gone]
    write_tsv(path, ("language", "lines", "tokens", "ratio_to_english", "english_tokens"), rows)
    out = tmp_path / "out"
    said = " ".join(" ".join(Page(write(results, out, "--parallel-text", "the text X")).text).split())
    row = next(row for row in read_tsv(out / "tables/comparison.tsv") if row["tokenizer"] == "xlmr")
    values = list(ratios.values())
    gini = sum(abs(a - b) for a in values for b in values) / (2 * len(values) * sum(values))
    assert float(row["gini"]) == pytest.approx(gini)
    assert float(row["parallel_tokens"]) == pytest.approx(sum(values) / len(values) * 4000 / 900)
    assert row["worst"] == read_languages()[max(ratios, key=ratios.get)].name
    row = one_row(out / "tables/comparison-groups.tsv", tokenizer="xlmr", size="100000", group="all")
    assert float(row["ratio_to_english"]) == pytest.approx(sum(values) / len(values))
    shown = {row["language"]: row["tokens"] for row in read_tsv(out / "tables/evaluation-xlmr.tsv")}
    assert shown == {row[0]: str(row[2]) for row in rows[:-1]} | {gone: ""}
    assert "The text: the text X." in said


def test_missing_results_are_named_first(tmp_path):
    results = make_results(tmp_path / "results")

    def change(path, **entries):
        path.write_text(json.dumps(json.loads(path.read_text()) | entries))

    def top(out):
        words = " ".join(" ".join(Page(write(results, tmp_path / out)).text).split())
        return words[words.index("Your tokenizers") : words.index("Largest gains and losses")]

    before = top("before")
    assert "Text is missing. 1 language without text takes no part: Sanskrit." in before
    assert "Packages" not in before and "T was not reached" not in before
    change(results / "corpora/starter/archives/mediawiki.json", missing="no network")
    change(results / "allocation/v100k/summary.json", short=123)
    change(results / "tokenizers/joint200k/description.json", short=4567)
    change(results / "tokenizers/joint100k/description.json", short=0)
    after = top("after")
    assert "The starter corpus was made without mediawiki (no network)." in after
    assert (
        "allocation v100k is 123 ids short of 100,000; tokenizer joint200k is 4,567 ids short of 200,000." in after
    )
    assert [row["short"] for row in read_tsv(tmp_path / "after/tables/short.tsv")] == ["123", "4567"]


def test_configured_names_without_results_are_named(tmp_path):
    results = make_results(tmp_path / "results")
    settings = {"allocation": {"v100k": {}, "v500k": {}}, "tokenizers": {"xlmr": {"kind": "file"}, "bert": {}}}
    words = " ".join(Page(write(results, tmp_path / "out", "--settings-json", json.dumps(settings))).text)
    assert "without results here: v500k." in words and "without results here: bert." in words


def test_an_empty_folder_says_not_run(tmp_path):
    (tmp_path / "results").mkdir()
    page = Page(write(tmp_path / "results", tmp_path / "out"))
    words = " ".join(" ".join(page.text).split())
    for stage in ("corpora", "vocabularies", "allocation", "tokenizers", "pretraining", "finetuning"):
        assert f"snakemake --cores all {stage}" in words
    assert (tmp_path / "out/figures").is_dir() and (tmp_path / "out/tables").is_dir()


def test_files_that_are_not_there_are_named(tmp_path):
    results = make_results(tmp_path / "results")
    (results / "tokenizers/vocap100k/parity.tsv").unlink()
    (results / "tokenizers/vocap100k/description.json").unlink()
    (results / "allocation/v100k/summary.json").unlink()
    (results / "vocabularies/de/curve.tsv").unlink()
    (results / "corpora/de/stats.json").unlink()
    words = " ".join(Page(write(results, tmp_path / "out")).text)
    assert "Missing in results/tokenizers/vocap100k: description.json, parity.tsv" in words
    assert "summary.json is missing" in words
    assert "no stats.json" in words


def test_benchmarks_give_times(tmp_path):
    results = make_results(tmp_path / "results")
    for stage, name, seconds in (("corpora", "a/sample.tsv", 30), ("vocabularies", "en/1000.tsv", 90)):
        write_tsv(tmp_path / "bench" / stage / name, ("s", "h:m:s", "max_rss"), [(float(seconds), "0:00:30", "-")])
    words = " ".join(Page(write(results, tmp_path / "out", "--benchmarks", tmp_path / "bench")).text)
    assert "2.0 min, most of it vocabularies" in words


def test_the_page_counts_present_results(made):
    folder, _, page = made
    points = [
        row["status"] for path in (folder / "results").glob("vocabularies/*/curve.tsv") for row in read_tsv(path)
    ]
    words = " ".join(" ".join(page.text).split())
    assert f"{points.count('ok')} trained" in words
    assert f"{len(points) - points.count('ok')} sizes out of reach" in words
    kept = sum(json.loads(path.read_text())["kept"] for path in (folder / "results").glob("corpora/*/stats.json"))
    assert f"{kept:,} lines, train and held out" in words
