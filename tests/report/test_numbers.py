"""The page's numbers against the stages' files, and its notes on missing results."""

import re
import shutil
import subprocess

import pytest

from tests.report.pages import change, edit, frame, one_row, words, words_of, write
from vocap.files.io import read_object, read_tsv
from vocap.languages import read_languages
from vocap.tables.curve import outline, read_points


def test_tables_in_three_forms_hold_the_stages_numbers(made):
    folder, *_ = made
    tables = folder / "out/tables"
    stems = {path.stem for path in tables.iterdir()}
    assert all(
        (tables / f"{stem}.{form}").exists() for stem in stems for form in ("tsv", "md", "tex")
    )
    points = {(row["language"], row["size"]): row["alp"] for row in read_tsv(tables / "curves.tsv")}
    for code in ("en", "ja"):
        for row in read_tsv(folder / "results/vocabularies" / code / "curve.tsv"):
            assert points[code, row["size"]] == row["alp"]
    for path in tables.glob("*.md"):
        lines = [
            line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("|")
        ]
        pipes = {len(re.findall(r"(?<!\\)\|", line)) for line in lines}
        assert len(pipes) == 1, path
    for path in tables.glob("*.tex"):
        body = path.read_text(encoding="utf-8")
        lines = len(list(read_tsv(path.with_suffix(".tsv"))))
        form = "longtable" if lines > 40 else "tabular"
        assert body.count(f"\\begin{{{form}}}") == body.count(f"\\end{{{form}}}") == 1
        (caption,) = re.findall(r"\\caption\{(.*)\}", body)
        assert len(caption) < 80 and caption.endswith(".") and "results/" not in caption
        text = body[body.index("\\toprule") : body.index("\\end{")]
        assert not re.search(r"(?<!\\)[#_]", text), path


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="no pdflatex")
@pytest.mark.parametrize("columns", ["onecolumn", "twocolumn"])
def test_latex_sets_the_tables_within_the_page(made, tmp_path, columns):
    folder, *_ = made
    # these hold characters that pdflatex has no fonts for
    beyond = {"dead", "unknown-xlmr"}
    paths = sorted(path for path in folder.glob("out/tables/*.tex") if path.stem not in beyond)
    start = [
        rf"\documentclass[{columns}]{{article}}",
        r"\usepackage[margin=1in]{geometry}",
        r"\usepackage{booktabs,longtable}\begin{document}",
    ]
    inputs = [rf"\input{{{path}}}" for path in paths]
    paper = "\n".join([*start, *inputs, "The end.", r"\end{document}"])
    (tmp_path / "paper.tex").write_text(paper, encoding="utf-8")
    ran = subprocess.run(
        ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "paper"],
        cwd=tmp_path, capture_output=True, encoding="utf-8", errors="replace",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout[-2000:]
    assert "Overfull" not in ran.stdout


def test_missing_languages_and_sizes_are_listed(made):
    folder, _, page = made
    shown = words_of(page)
    stats = [read_object(path) for path in folder.glob("results/corpora/*/stats.json")]
    for said in (
        "1 language without text",
        "no package has this language",
        "snakemake --cores all pretraining",
        "snakemake --cores all finetuning",
        "▁shadow",
        "▁sha dow",
        "only 612 lines in django",
        "BSD-3-Clause",
        "a0530e3fdac55d34ccc5893c36f6c57d7a7083064f3d414537e51473648b3290",
        f"{sum(one['overlong'] for one in stats):,} lines of more than 4,192 bytes",
        "ꙮ U+A66E",
        "\u0301",
    ):
        assert said in shown
    assert "Missing in results/tokenizers/xlmr" not in shown and "No curve over T" in shown


def test_without_settings_all_is_shown_and_q_is_of_the_weights(results, tmp_path):
    said = words(results, tmp_path / "out")
    assert "vocap200k" in said and "Finnish" in said and "other configurations" not in said
    n = frame(results / "corpora/weights.tsv").n ** 0.7
    alp = frame(results / "tokenizers/joint200k/evaluation.tsv").alp
    row = one_row(tmp_path / "out/tables/comparison.tsv", size="200000", tokenizer="joint200k")
    assert float(row["alp_q"]) == pytest.approx((n * alp).sum() / n.sum())


def test_group_means_of_all_measures(made):
    folder, _, _ = made
    table = frame(folder / "results/tokenizers/joint200k/evaluation.tsv")
    # the report counts an unknown character as its bytes
    unknown = table.tokens_per_sentence * table.unk_rate
    table.tokens_per_sentence += table.unknown_bytes / table.lines - unknown
    for group, members in [*table.groupby("resource"), ("all", table)]:
        path = folder / "out/tables/comparison-groups.tsv"
        row = one_row(path, tokenizer="joint200k", group=group)
        means = members.iloc[:, 2:].dropna(axis=1).mean()
        assert int(row["languages"]) == len(members)
        assert [float(row[name]) for name in means.index] == pytest.approx(list(means))


def test_lines_that_come_back_are_counted(made):
    folder, _, _ = made
    trips = frame(folder / "results/tokenizers/vocap100k/roundtrip.tsv")
    row = one_row(folder / "out/tables/checks.tsv", tokenizer="vocap100k")
    assert int(row["back_texts"]) == trips.texts.sum()
    assert float(row["back_share"]) == pytest.approx(trips.identical.sum() / trips.texts.sum())
    assert float(row["back_worst_share"]) == trips.share.min()


def test_a_language_without_parallel_lines_is_in_no_mean(results, tmp_path):
    path = results / "tokenizers/xlmr/parallel.tsv"
    ratios = frame(path).ratio_with_bytes
    last, ratios = ratios.index[-1], ratios[:-1]
    empty = dict.fromkeys(("ratio_to_english", "ratio_with_bytes"), "")
    counts = ("lines", "tokens", "english_tokens", "unknown_tokens", "unknown_bytes")
    cells = empty | dict.fromkeys(counts, 0)
    change(path, **{column: {last: cell} for column, cell in cells.items()})
    write(results, tmp_path / "out")
    row = one_row(tmp_path / "out/tables/comparison.tsv", tokenizer="xlmr")
    assert float(row["parallel_tokens"]) == pytest.approx(ratios.mean() * 30)
    assert row["worst"] == read_languages()[ratios.idxmax()].name
    assert one_row(tmp_path / "out/tables/evaluation-xlmr.tsv", language=last)["tokens"] == ""


def test_missing_results_are_named_first(results, tmp_path):

    def top(out):
        said = words(results, tmp_path / out)
        return said[said.index("What each language gets") : said.index("Every language.")]

    before = top("before")
    assert "1 language without text takes no part: Sanskrit." in before
    assert "Packages" not in before and "T was not reached" not in before
    edit(results / "corpora/starter/archives/django.json", missing="no network")
    edit(results / "allocation/v100k/summary.json", short=123)
    edit(results / "tokenizers/joint200k/description.json", short=4567)
    edit(results / "tokenizers/joint100k/description.json", short=0)
    after = top("after")
    assert "without django (no network)" in after
    assert "v100k is 123 ids short of 100,000" in after
    assert "joint200k is 4,567 ids short of 200,000" in after
    short = frame(tmp_path / "after/tables/short.tsv", "short")
    assert list(short.index) == [123, 4567]


def test_configured_names_without_results_are_named(results, tmp_path):
    settings = {
        "allocation": {"v100k": {}, "v500k": {}},
        "tokenizers": {"xlmr": {"kind": "file"}, "bert": {}},
    }
    said = words(results, tmp_path / "out", settings)
    assert "without results here: v500k." in said and "without results here: bert." in said


def test_an_empty_folder_says_not_run(tmp_path):
    (tmp_path / "results/corpora").mkdir(parents=True)
    said = words(tmp_path / "results", tmp_path / "out")
    for stage in (
        "corpora",
        "vocabularies",
        "allocation",
        "tokenizers",
        "pretraining",
        "finetuning",
    ):
        assert f"snakemake --cores all {stage}" in said
    assert (tmp_path / "out/figures").is_dir() and (tmp_path / "out/tables").is_dir()


def test_files_that_are_not_there_are_named(results, tmp_path):
    for name in (
        "tokenizers/vocap100k/description.json",
        "allocation/v100k/summary.json",
        "vocabularies/de/curve.tsv",
        "corpora/de/stats.json",
    ):
        (results / name).unlink()
    said = words(results, tmp_path / "out")
    assert "Missing in results/tokenizers/vocap100k: description.json" in said
    assert "No summary.json" in said and "no stats.json" in said


def test_each_curve_has_its_ends_and_the_reasons(smoke, tmp_path):
    codes = ["de", "ja", "ru"]
    for code in codes:
        shutil.copytree(
            smoke / f"vocabularies/{code}",
            tmp_path / f"results/vocabularies/{code}",
            ignore=shutil.ignore_patterns("models"),
        )
    page = write(tmp_path / "results", tmp_path / "out")
    table = frame(tmp_path / "out/tables/curve-summary.tsv")
    assert sorted(table.index) == codes
    for code in codes:
        found = outline(read_points(tmp_path / "results/vocabularies" / code / "curve.tsv"))
        row = table.loc[code]
        for name, end in (("smallest", found.start), ("largest", found.end)):
            shown = (row[name], row[f"alp_{name}"], row[f"alp_heldout_{name}"])
            assert shown == (end.size, end.alp, end.alp_heldout), (code, name)
        assert row.best_heldout == found.best_heldout.size
        assert (row.start_reason, row.end_reason) == (found.start_reason, found.end_reason)
    # the chart marks one knee of each curve of three points
    knees = [f"{knee:g}" for knee in table.knee.dropna()]
    assert knees and sorted(re.findall(r'"k":(\d+)', page)) == sorted(knees)
