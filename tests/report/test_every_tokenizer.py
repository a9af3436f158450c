"""The frontier of all tokenizers: its numbers from the files in pandas, its order, its limits in words."""

import json
import re

import numpy as np
import pandas
import pytest
from tokenizers import Tokenizer

from tests.report.factories import (
    make_byte_pair,
    make_other_tokenizers,
    make_parallel,
    make_results,
    make_tokenizer,
)
from tests.report.pages import Page, one_row, write
from vocap.errors import VocapError
from vocap.files.tsv import read_tsv, write_tsv
from vocap.report.data.sentences import byte_pair_cutter

CODES = ["en", "de", "ru", "hi", "fa", "it", "sw", "km", "ja", "fi"]
BYTE_PAIR = {
    "fair4": ("bpe", {"fairness": 4.0, "rounds": 2}),
    "plain": ("bpe", {}),
    "fair2": ("bpe", {"fairness": 2.0, "rounds": 2}),
    "chars": ("bpe", {"unit": "characters", "split": "spaces", "coverage": 0.9995}),
    "parity": ("parity-bpe", {"from": 50_000}),
}
ALL = ["vocap100k", "joint100k", "pieces100k", "beta100k", *BYTE_PAIR]
SETTINGS = {
    "languages": CODES,
    "allocation": {"v100k": {}, "p100k": {}},
    "tokenizers": {
        "vocap100k": {"kind": "vocap", "allocation": "v100k"},
        "joint100k": {"kind": "joint"},
        "pieces100k": {"kind": "vocap", "allocation": "p100k"},
        "beta100k": {"kind": "joint"},
        **{name: {"kind": kind} for name, (kind, _) in BYTE_PAIR.items()},
        "xlmr": {"kind": "file"},
    },
}
REGIMES = "Between these groups a difference in ALP is one of the cuts too: "


def make_run(folder, english=True):
    results = make_results(folder)
    make_other_tokenizers(results, CODES)
    text = {"sentences": 500_000, "lines": 500_000, "alpha": 0.7}  # as beta100k, but for alpha
    make_tokenizer(results, "joint100k", "joint", CODES, 100_000, seed=5, text=text)
    for seed, (name, (kind, settings)) in enumerate(BYTE_PAIR.items(), start=20):
        make_byte_pair(results, name, kind, CODES, 100_000, seed, **settings)
    for seed, name in enumerate(ALL):
        make_parallel(results, name, CODES[:-1], seed, english)
    path = results / "tokenizers/chars/evaluation.tsv"  # Japanese is in no mean
    rows = [dict(row) | ({"unk_rate": "0.2"} if row["language"] == "ja" else {}) for row in read_tsv(path)]
    write_tsv(path, list(rows[0]), [tuple(row.values()) for row in rows])
    return results


def words(text):
    return " ".join(" ".join(Page(text).text).split())


def report(results, out, settings=SETTINGS, *more):
    return words(write(results, out, "--settings-json", json.dumps(settings), *more))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("every")
    results = make_run(folder / "results")
    said = report(results, folder / "out", SETTINGS, "--parallel-text", "a text of tests")
    return folder, results, said


def brute_gini(values):
    values = np.asarray(values, float)
    return np.abs(values[:, None] - values).sum() / (2 * len(values) ** 2 * values.mean())


def table(folder):
    return pandas.read_csv(folder / "out/tables/every-tokenizer-100000.tsv", sep="\t").set_index("tokenizer")


@pytest.mark.parametrize("name", ALL)
def test_numbers_are_those_of_the_files(run, name):
    folder, results, _ = run
    place = results / "tokenizers" / name
    row = table(folder).loc[name]
    counted = [code for code in CODES if code != "ja"]
    heldout = pandas.read_csv(place / "evaluation.tsv", sep="\t").set_index("language").loc[counted]
    assert row.alp == pytest.approx(heldout.alp.mean())
    assert row.tokens == pytest.approx(heldout.tokens_per_sentence.mean())
    q = pandas.read_csv(results / "allocation/v100k/allocation.tsv", sep="\t").set_index("language").q[counted]
    assert row.alp_q == pytest.approx((heldout.alp * q).sum() / q.sum())
    parallel = pandas.read_csv(place / "parallel.tsv", sep="\t").set_index("language")
    english = parallel.tokens["en"] / parallel.lines["en"]
    ratios = parallel.ratio_to_english[[code for code in CODES[:-1] if code != "ja"]]
    assert row.parallel_tokens == pytest.approx((ratios * english).mean())
    assert row.gini == pytest.approx(brute_gini(ratios))
    assert (row.worst_ratio, row.worst) == (pytest.approx(ratios.max()), names()[ratios.idxmax()])
    trips = pandas.read_csv(place / "roundtrip.tsv", sep="\t").set_index("language").loc[counted]
    assert row.round_trip == pytest.approx(trips.identical.sum() / trips.texts.sum())


def names():
    from vocap.languages import read_languages

    return {code: entry.name for code, entry in read_languages().items()}


def test_order_kinds_and_methods(run):
    folder, _, _ = run
    shown = table(folder)
    assert list(shown.index) == [*ALL, "xlmr"]
    labels = ["VOCAP", "JOINT", "PIECES", "JOINT", "BPE", "BPE", "BPE", "BPE", "parity BPE", "from elsewhere"]
    assert list(shown.kind) == labels
    assert shown.regime["chars"] == "BPE of characters between spaces"
    made = pandas.read_csv(folder / "out/tables/tokenizers.tsv", sep="\t").set_index("tokenizer")
    assert made.method["fair2"] == "weighted merges of bytes inside words, alpha 0.7, fairness 2"
    assert made.method["parity"] == "parity merges of bytes inside words, alpha 0.7, after 50,000 weighted ones"


def test_the_frontier_by_brute_force(run):
    folder, _, _ = run
    shown = table(folder)
    for name, row in shown.iterrows():
        if name == "xlmr":
            assert pandas.isna(row.frontier)
            continue
        rivals = shown[(shown.regime == row.regime) & (shown.index != name)]
        as_good = (
            (rivals.alp >= row.alp) & (rivals.parallel_tokens <= row.parallel_tokens) & (rivals.gini <= row.gini)
        )
        assert row.frontier == ("no" if as_good.any() else "yes")


def test_limits_of_comparison_are_said(run):
    _, _, said = run
    groups = (
        "unigram (vocap100k, joint100k, pieces100k, beta100k); BPE of bytes inside words (fair4, plain, fair2, "
        "parity); BPE of characters between spaces (chars); from elsewhere, each on text of its own (xlmr)"
    )
    assert f"{REGIMES}{groups}." in said
    assert "The text: a text of tests." in said
    assert "fair4, fair2, parity were trained to follow parallel text (corpora.development);" in said
    assert "Of another T, and trained on other text: xlmr." in said
    assert "In no mean at T = 100K: Japanese (20.0 % <unk> in chars)." in said
    assert "Without parallel text, in no measure of it: Finnish." in said


def test_the_best_of_each_measure_are_named(run):
    folder, _, said = run
    shown = table(folder)
    best = shown[shown.regime == "unigram"].alp.idxmax()
    assert f"the highest mean ALP of unigram has {best} (" in said
    fewest, least = shown.parallel_tokens.idxmin(), shown.gini.idxmin()
    assert f"the fewest tokens per sentence of parallel text {fewest} ({shown.parallel_tokens.min():.2f})" in said
    assert f"the lowest Gini coefficient {least} ({shown.gini.min():.4f})" in said


def test_lines_join_the_members_of_a_family_in_order(run):
    folder, _, _ = run
    page = (folder / "out/index.html").read_text(encoding="utf-8")
    found = re.search(
        r'id="figure-every-tokenizer-100000-gini".*?<script[^>]*class="spec"[^>]*>(.*?)</script>', page, re.S
    )
    spec = json.loads(found[1])
    lines = next(layer for layer in spec["layer"] if layer["mark"]["type"] == "line")
    families = pandas.DataFrame(lines["data"]["values"]).sort_values(["family", "place"]).groupby("family").name
    assert sorted(map(list, dict(list(families)).values())) == [
        ["beta100k", "joint100k"],
        ["plain", "fair2", "fair4"],
    ]
    for name in ("gini", "parallel-tokens"):
        drawn = (folder / f"out/figures/every-tokenizer-100000-{name}.svg").read_text()
        assert all(f">{tokenizer}<" in drawn for tokenizer in ("fair4", "parity", "joint100k"))


def test_without_english_tokens_are_counted_themselves(tmp_path):
    results = make_run(tmp_path / "results", english=False)
    settings = {**SETTINGS, "tokenizers": {name: SETTINGS["tokenizers"][name] for name in ALL}}  # xlmr has ratios
    report(results, tmp_path / "out", settings)
    for name in ALL:
        row = table(tmp_path).loc[name]
        parallel = pandas.read_csv(results / f"tokenizers/{name}/parallel.tsv", sep="\t").set_index("language")
        costs = (parallel.tokens / parallel.lines).drop("ja")
        assert row.parallel_tokens == pytest.approx(costs.mean())
        assert row.gini == pytest.approx(brute_gini(costs)) and pandas.isna(row.worst_ratio)


def test_without_parallel_text_the_page_says_so(tmp_path):
    results = make_run(tmp_path / "results")
    for name in (*ALL, "xlmr"):
        (results / f"tokenizers/{name}/parallel.tsv").unlink()
    said = report(results, tmp_path / "out")
    assert "This run has no measures on parallel text: name some under corpora.parallel." in said
    row = one_row(tmp_path / "out/tables/every-tokenizer-100000.tsv", tokenizer="plain")
    assert row["parallel_tokens"] == row["gini"] == row["worst_ratio"] == row["frontier"] == ""
    drawn = [path.stem for path in (tmp_path / "out/figures").glob("every-tokenizer-*.svg")]
    assert drawn == ["every-tokenizer-100000-tokens"]


def test_one_tokenizer_has_a_table_and_no_figure(tmp_path):
    results = tmp_path / "results"
    make_byte_pair(results, "plain", "bpe", CODES, 8000, 1)
    make_parallel(results, "plain", CODES, 1)
    said = report(results, tmp_path / "out", {"languages": CODES})
    assert "T = 8K has one tokenizer, plain: the table has its measures." in said
    assert REGIMES not in said
    row = one_row(tmp_path / "out/tables/every-tokenizer-8000.tsv", tokenizer="plain")
    assert row["alp_q"] == "" and row["frontier"] == "yes"  # no weights.tsv, so no q
    assert not list((tmp_path / "out/figures").glob("every-tokenizer*"))


def test_a_short_tokenizer_stands_with_its_configured_total(tmp_path):
    results = tmp_path / "results"
    for name, seed in (("full", 1), ("short", 2)):
        make_byte_pair(results, name, "bpe", CODES, 8000, seed)
    path = results / "tokenizers/short/description.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"total": 7311, "short": 689}))
    report(results, tmp_path / "out", {"languages": CODES})
    rows = read_tsv(tmp_path / "out/tables/every-tokenizer-8000.tsv")
    assert [(row["tokenizer"], row["total"]) for row in rows] == [("full", "8000"), ("short", "7311")]


def test_only_tokenizers_of_one_language(tmp_path):
    results = tmp_path / "results"
    make_tokenizer(results, "mono", "mono", ["de"], 600)
    said = report(results, tmp_path / "out", {"languages": ["de"]})
    assert "Nothing to compare: no tokenizer of several languages was measured" in said


def test_byte_pair_encoding_lacks_no_file(run):
    folder, results, said = run
    assert "Missing in results/tokenizers/plain" not in said
    (results / "tokenizers/plain/pieces.tsv").rename(folder / "pieces.tsv")
    assert "Missing in results/tokenizers/plain: pieces.tsv." in report(results, folder / "again")
    (folder / "pieces.tsv").rename(results / "tokenizers/plain/pieces.tsv")


def test_the_lines_of_a_byte_pair_cut(tmp_path):
    """Stretches make up the line; a token begins where its first new character does."""
    from tokenizers import decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(["Die Katze sitzt auf der Matte.", "Der Mond."] * 5, trainer)
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))
    cut = byte_pair_cutter(path)
    for line in ("Die Katze sah den Mond.", "猫がいる 😀 ok", " a  b "):
        stretches, tokens = cut(line)
        encoded = tokenizer.encode(line)
        assert tokens == len(encoded.ids) and "".join(text for text, _ in stretches) == line
        assert not any(unknown for _, unknown in stretches)
    stretches, _ = cut("Die Katze")
    assert [text for text, _ in stretches] == [
        tokenizer.decode([one]) for one in tokenizer.encode("Die Katze").ids
    ]
    path.write_text("{}")
    with pytest.raises(VocapError, match=r"no tokenizer\.json"):
        byte_pair_cutter(path)
