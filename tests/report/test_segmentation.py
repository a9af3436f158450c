"""The report's parts on differences in segmentation, from the files of `vocap diff`,
and on shared pieces.
"""

import random

import numpy as np
import pytest
from click.testing import CliRunner

from tests.report.factories import make_results, make_run, write_choice
from tests.report.pages import words_of, write
from tests.tokenizers.factories import make_lines
from vocap.diff.commands import diff
from vocap.files.io import read_tsv, write_tsv
from vocap.report.data.loading import load_results
from vocap.report.page.tables import Table
from vocap.report.sections import allocation
from vocap.report.sections.allocation import find_overlap, make_explorer
from vocap.report.sections.tokenizers import segmentation as section
from vocap.unigram.sentencepiece_trainer import train


@pytest.fixture
def results(tmp_path):
    """Made results, and a real comparison of two small models under the names of two of
    their tokenizers.
    """
    folder = make_results(tmp_path / "results")
    lines = make_lines("en", 300)
    paths = []
    for name, size in (("joint100k", 150), ("vocap100k", 190)):
        paths.append(folder / "tokenizers" / name / "sentencepiece.model")
        paths[-1].write_bytes(train(lines, size, threads=1))
    texts = []
    for language, seed in (("en", 3), ("de", 4), ("xx", 5)):
        path = tmp_path / f"{language}.txt"
        path.write_text("".join(f"{line}\n" for line in make_lines("en", 80, seed=seed)), "utf-8")
        texts.append(f"--text={language}={path}")
    out = folder / "tokenizers" / "diff" / "joint100k-vocap100k"
    done = CliRunner().invoke(diff, [*map(str, paths), *texts, "-o", str(out)])
    assert done.exit_code == 0, done.output
    return folder


def load(folder):
    return load_results(folder, None, "title", {})


def test_tables_hold_the_rows_of_diff(results):
    loaded = load(results)
    tables = {
        block.name.split("-joint")[0]: block
        for block in section(loaded)
        if isinstance(block, Table)
    }
    folder = results / "tokenizers" / "diff" / "joint100k-vocap100k"
    written = {row["language"]: row for row in read_tsv(folder / "languages.tsv")}
    shown = {row[0]: row for row in tables["diff-languages"].rows}
    assert set(shown) == {"en", "de"}  # xx is no language of the run
    for code, row in shown.items():
        assert row[3] == int(written[code]["lines"])
        assert row[6] == float(written[code]["tokens_per_sentence_b"])
        assert row[7] == pytest.approx(float(written[code]["change_percent"]))
    words = [row for row in read_tsv(folder / "words.tsv") if row["language"] != "xx"]
    counts = sorted((int(row["count"]) for row in words), reverse=True)
    assert [row[0] for row in tables["diff-words"].rows] == counts[:300]
    pieces = {row["piece"]: row["status"] for row in read_tsv(folder / "pieces.tsv")}
    names = {"joint100k": "only_a", "vocap100k": "only_b"}
    assert tables["diff-pieces"].rows
    assert all(pieces[piece] == names[name] for name, piece, _ in tables["diff-pieces"].rows)
    gains = [row[3] - row[2] for row in tables["diff-examples"].rows]
    assert gains == sorted(gains) and 0 not in gains


def test_a_comparison_of_tokenizers_that_are_not_shown_is_left_out(results):
    # joint100k is of an earlier configuration
    names = ("vocap100k", "vocap200k", "joint200k", "xlmr")
    settings = {"tokenizers": {name: {"kind": "file"} for name in names}}
    assert load_results(results, None, "title", settings).diffs == []
    assert [diff.name for diff in load(results).diffs] == ["joint100k-vocap100k"]


def test_without_a_comparison_the_section_says_so(tmp_path):
    blocks = section(load(make_results(tmp_path / "results")))
    assert len(blocks) == 1 and "vocap diff" in blocks[0].text


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("overlap")
    inputs = make_run(folder / "results")
    write_choice(folder / "results", "present", inputs, total=900)
    return folder / "results", inputs


def held(index, rank):
    return set(index.strings(index.piece[(index.start <= rank) & (rank < index.stop)]))


def pieces_counted(overlap, ranks):
    """The number of pieces that the page counts in the union of the vocabularies of
    these ranks.
    """
    classes = [
        piece[(start <= rank) & (rank < stop)]
        for (piece, start, stop), rank in zip(overlap.entries, ranks, strict=True)
    ]
    return int(overlap.times[np.unique(np.concatenate(classes))].sum())


@pytest.mark.parametrize("seed", range(5))
def test_unions_are_those_of_sets(tmp_path, seed):
    """All pieces are counted, whatever the classes: at any ranks the union is as large
    as that of the sets.
    """
    rng = random.Random(seed)
    inputs = make_run(tmp_path, seed).languages
    indexes = [entry.index for entry in inputs]
    overlap = find_overlap(indexes, [entry.characters for entry in inputs])
    assert overlap.times[: len(overlap.characters)].tolist() == [1] * len(overlap.characters)
    assert len(overlap.times) < sum(len(index.hashes) for index in indexes)
    for _ in range(20):
        ranks = [rng.randrange(len(index.sizes)) for index in indexes]
        union = set().union(
            *(held(index, rank) for index, rank in zip(indexes, ranks, strict=True))
        )
        assert pieces_counted(overlap, ranks) == len(union)


def test_an_overlap_that_does_not_fit_is_no_explorer(run, monkeypatch):
    folder, _ = run
    results = load_results(folder, None, "", {})
    assert make_explorer(results)["packed"]
    monkeypatch.setattr(allocation, "BUDGET", 100)
    assert make_explorer(results) is None


def test_without_indexes_the_page_says_so(tmp_path):
    inputs = make_run(tmp_path / "results")
    write_choice(tmp_path / "results", "present", inputs, total=900)
    (tmp_path / "results/vocabularies/hi/pieces.npz").unlink()
    words = words_of(write(tmp_path / "results", tmp_path / "out"))
    assert "No explorer here. There is no hi/pieces.npz" in words
    write_tsv(
        tmp_path / "results/vocabularies/en/curve.tsv",
        ("size", "alp", "status"),
        [(40, -9.0, "ok")],
    )
    words = words_of(write(tmp_path / "results", tmp_path / "out"))
    assert "en/pieces.npz has other sizes than the curve beside it" in words
