"""The comparison of the tokenizers: its numbers from the files in pandas, its order,
its limits in words.
"""

import re

import numpy as np
import pandas
import pytest

from tests.report.factories import LANGUAGES as CODES
from tests.report.factories import (
    make_allocation,
    make_byte_pair,
    make_other_tokenizers,
    make_parallel,
    make_results,
    make_tokenizer,
)
from tests.report.pages import change, edit, frame, one_row, words
from tests.tokenizers.factories import byte_tokenizer
from vocap.errors import VocapError
from vocap.languages import read_languages
from vocap.report.data.sentences import cutter
from vocap.tables.line_bits import write_lengths
from vocap.tokenizers.settings import BytePair

COUNTED = [code for code in CODES if code != "ja"]  # Japanese is in no mean
BYTE_PAIR = {
    "plain": ("bpe", {}),
    "chars": ("bpe", {"split": "spaces"}),
    "parity": ("parity-bpe", {"from": 50_000}),
}
UNIGRAM = ["vocap100k", "joint100k", "pieces100k", "beta100k"]
ALL = [*UNIGRAM, *BYTE_PAIR]
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


def named(*names):
    return {**SETTINGS, "tokenizers": {name: SETTINGS["tokenizers"][name] for name in names}}


def make_run(folder, english=True):
    results = make_results(folder)
    make_other_tokenizers(results, CODES)
    for name, (kind, settings) in BYTE_PAIR.items():
        make_byte_pair(results, name, kind, CODES, 100_000, **settings)
    for seed, name in enumerate(ALL):
        make_parallel(results, name, CODES[:-1], seed, english)
    change(results / "tokenizers/chars/evaluation.tsv", unk_rate={"ja": 0.2})
    for path in results.glob("tokenizers/*/roundtrip.tsv"):  # no tokenizer is without loss
        change(path, identical=dict.fromkeys(CODES, 40))
    return results


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("comparison")
    results = make_run(folder / "results")
    said = words(results, folder / "out", SETTINGS, "--parallel-text", "a text of tests")
    return folder, results, said


def brute_gini(values):
    values = np.asarray(values, float)
    return np.abs(values[:, None] - values).sum() / (2 * len(values) ** 2 * values.mean())


def table(folder, name="comparison"):
    found = pandas.read_csv(folder / f"out/tables/{name}.tsv", sep="\t")
    return found.set_index("tokenizer") if name == "comparison" else found


def held_out(results, name):
    return frame(results / f"tokenizers/{name}/evaluation.tsv")


def set_all(results, name, **values):
    """One number in a column of the held-out measures for all languages."""
    columns = {column: dict.fromkeys(CODES, value) for column, value in values.items()}
    change(results / f"tokenizers/{name}/evaluation.tsv", **columns)


def parallel_of(path):
    """A table of parallel text, its tokens with unknown characters as their bytes."""
    found = frame(path)
    found.tokens += found.unknown_bytes - found.unknown_tokens
    return found


@pytest.mark.parametrize("name", ALL)
def test_numbers_are_those_of_the_files(run, name):
    folder, results, _ = run
    place = results / "tokenizers" / name
    row = table(folder).loc[name]
    heldout = held_out(results, name).loc[COUNTED]
    # unknown characters as their bytes
    tokens = heldout.tokens_per_sentence * (1 - heldout.unk_rate)
    tokens += heldout.unknown_bytes / heldout.lines
    q = frame(results / "allocation/v100k/allocation.tsv").q[COUNTED]
    parallel = parallel_of(place / "parallel.tsv")
    english = parallel.tokens["en"] / parallel.lines["en"]
    parallel = parallel.drop("ja", errors="ignore")
    ratios = parallel.ratio_with_bytes
    trips = frame(place / "roundtrip.tsv").loc[COUNTED]
    expected = {
        "size": 100_000,
        "languages": len(COUNTED),
        "alp": heldout.alp.mean(),
        "alp_q": (heldout.alp * q).sum() / q.sum(),
        "tokens_per_sentence": tokens.mean(),
        "parallel_tokens": (ratios * english).mean(),
        "gini": brute_gini(ratios),
        "gini_bytes": brute_gini(parallel.tokens / parallel.bytes),
        "parallel_bits": parallel.bigram_bits_per_byte.mean(),
        "worst_ratio": ratios.max(),
        "round_trip": trips.identical.sum() / trips.texts.sum(),
    }
    assert row[list(expected)].to_dict() == pytest.approx(expected)
    assert row.worst == read_languages()[ratios.idxmax()].name
    fewest = table(folder).parallel_bits.min()
    low, high = map(float, row.parallel.split(" to ")) if row.parallel == row.parallel else (0, 0)
    assert low <= round(row.parallel_bits - fewest, 3) <= high
    assert (high > low) == (row.parallel_bits > fewest)


def test_groups_and_languages_by_their_definition(run):
    folder, results, _ = run
    alp = pandas.DataFrame({name: held_out(results, name).alp for name in ALL})
    q = frame(results / "allocation/v100k/allocation.tsv").q
    nats = alp.sub(alp.joint100k, axis=0)
    percent = 100 * nats.div(alp.joint100k.abs(), axis=0)
    groups = table(folder, "comparison-groups").set_index(["group", "tokenizer"])
    alike = [UNIGRAM, ["chars"], list(BYTE_PAIR.keys() - {"chars"})]
    for group in ("low", "mid", "high", "all"):
        codes = [code for code in COUNTED if group in ("all", read_languages()[code].resource)]
        for name in ALL:
            row = groups.loc[group, name]
            assert row.reference == "joint100k" and row.languages == len(codes)
            rivals = next(names for names in alike if name in names)
            best = (alp[name] == alp[rivals].max(axis=1))[codes].sum()
            assert (row.alp, row.best) == (pytest.approx(alp[name][codes].mean()), best)
            if name == "joint100k":
                assert row[["percent", "nats", "percent_q", "better"]].isna().all()
                continue
            for column, values in (("nats", nats[name][codes]), ("percent", percent[name][codes])):
                weighted = (q[codes] * values).sum() / q[codes].sum()
                assert row[column] == pytest.approx(values.mean())
                assert row[f"{column}_q"] == pytest.approx(weighted)
            assert row.better == (nats[name][codes] > 0).sum()
    rows = frame(folder / "out/tables/comparison-languages-100000.tsv")
    assert set(rows.index) == set(CODES)
    assert rows.apart.dropna().to_dict() == {"ja": "20.0 % <unk> in chars"}
    for name in ALL:
        assert rows[f"alp_{name}"].to_dict() == pytest.approx(alp[name].to_dict())
        if name != "joint100k":
            assert rows[f"percent_{name}"].to_dict() == pytest.approx(percent[name].to_dict())


def test_order_kinds_and_methods(run):
    folder, _, _ = run
    shown = table(folder)
    kinds = ["VOCAP", "JOINT", "PIECES", "JOINT", "BPE", "BPE", "parity BPE", "from elsewhere"]
    assert shown.kind.to_dict() == dict(zip([*ALL, "xlmr"], kinds, strict=True))
    assert list(shown.index) == [*ALL, "xlmr"]
    made = frame(folder / "out/tables/tokenizers.tsv", "tokenizer")
    assert made.method[["plain", "parity", "pieces100k"]].to_list() == [
        "weighted merges inside words, alpha 0.7",
        "parity merges inside words, alpha 0.7, after 50,000 weighted ones",
        "allocation, pieces rule",
    ]
    row = made.loc["pieces100k"]
    assert (row.lines, row.weights) == (1724, "alpha 0.7, beta 0.7")
    row = made.loc["beta100k"]
    assert (row.word_types, row.remark) == (81_234, "a sample of the lines")


def test_cuts_before_merging_are_told_apart():
    own = {"split": "llama-3", "digits": "3-right", "contractions": False}
    expression = {"split": "regex", "regex": "a|[^a]"}
    assert [BytePair.cuts(settings) for settings in (own, expression, {})] == [
        "cut as llama-3, digits 3-right, no contractions",
        "cut by a|[^a]",
        "",
    ]


def test_the_frontier_by_brute_force(run):
    folder, _, _ = run
    shown = table(folder)
    assert pandas.isna(shown.frontier["xlmr"])
    for name, row in shown.drop("xlmr").iterrows():
        rivals = shown[(shown.regime == row.regime) & (shown.index != name)]
        fewer = rivals[["parallel_tokens", "gini"]] <= row[["parallel_tokens", "gini"]]
        as_good = (rivals.alp >= row.alp) & fewer.all(axis=1)
        assert row.frontier == ("no" if as_good.any() else "yes")


def test_limits_of_comparison_are_said(run):
    _, _, said = run
    for limit in (
        REGIMES,
        "unigram (vocap100k, joint100k, pieces100k, beta100k)",
        "BPE inside words (plain, parity)",
        "BPE between spaces (chars)",
        "a text of tests",
        "favour them): parity.",
        "trained on other text: xlmr",
        "Japanese (20.0 % <unk> in chars)",
    ):
        assert limit in said


def test_parallel_text_leads_and_decides_for_each_use(run):
    """Of this run's own tokenizers; each claim against the table, and against
    parallel.tsv.
    """
    folder, results, said = run
    shown = table(folder).drop("xlmr")
    best, equal = shown.parallel_bits.idxmin(), shown.gini.idxmin()
    assert f"Take {best}. At T = 100,000" in said and f"For an encoder {best}, " in said
    assert "bits per byte of parallel text (a text of tests)" in said
    assert shown.advice.dropna().to_dict() == {best: "take"}
    writer = shown[shown.regime.str.startswith("BPE")].parallel_bits.idxmin()
    bits, back = shown.parallel_bits[writer], shown.round_trip[writer]
    assert re.search(f"text {writer}, {bits:.3f} bits per byte[^;]*; {100 * back:.2f} % of", said)
    assert re.search(f"cost in all languages {equal}, [^,;]*{shown.gini.min():.4f}", said)
    # losses against any other tokenizer
    tokens = {}
    for name in ALL:
        found = parallel_of(results / f"tokenizers/{name}/parallel.tsv")
        tokens[name] = found.ratio_with_bytes * found.tokens["en"] / found.lines["en"]
    tokens = pandas.DataFrame(tokens).drop("ja", errors="ignore")
    others = tokens.drop(columns=best)
    worse = 100 * (tokens[best] / others.min(axis=1) - 1)
    _, _, lost = said.partition(f"{best} loses against another tokenizer in ")
    assert lost.startswith(f"{(worse > 0).sum()} of {len(worse)} languages")
    for code, loss in worse[worse > 0].items():
        _, _, names = lost.partition(f"to {others.loc[code].idxmin()} ")
        assert f"{read_languages()[code].name} −{loss:.2f} %" in names.partition(" to ")[0]


def test_without_english_tokens_are_counted_themselves(tmp_path):
    results = make_run(tmp_path / "results", english=False)
    words(results, tmp_path / "out", named(*ALL))  # xlmr has ratios
    for name in ALL:
        row = table(tmp_path).loc[name]
        parallel = parallel_of(results / f"tokenizers/{name}/parallel.tsv")
        costs = (parallel.tokens / parallel.lines).drop("ja")
        assert row.parallel_tokens == pytest.approx(costs.mean())
        assert row.gini == pytest.approx(brute_gini(costs)) and pandas.isna(row.worst_ratio)


def test_without_parallel_text_the_page_says_so(tmp_path):
    results = make_run(tmp_path / "results")
    for path in results.glob("tokenizers/*/parallel.tsv"):
        path.unlink()
    said = words(results, tmp_path / "out", SETTINGS)
    assert "This run has no measures on parallel text: name some under corpora.parallel." in said
    row = one_row(tmp_path / "out/tables/comparison.tsv", tokenizer="plain")
    assert row["parallel_tokens"] == row["gini"] == row["worst_ratio"] == row["frontier"] == ""
    drawn = {path.stem for path in (tmp_path / "out/figures").glob("comparison-*.svg")}
    assert (
        "comparison-100000-tokens-per-sentence" in drawn and "comparison-100000-gini" not in drawn
    )


def test_one_tokenizer_has_a_table_and_no_figure(tmp_path):
    results = tmp_path / "results"
    make_byte_pair(results, "plain", "bpe", CODES, 8000)
    make_parallel(results, "plain", CODES, 1)
    said = words(results, tmp_path / "out", {"languages": CODES})
    assert REGIMES not in said
    row = one_row(tmp_path / "out/tables/comparison.tsv", tokenizer="plain")
    assert row["alp_q"] == "" and row["frontier"] == "yes"  # no weights.tsv, so no q
    assert not list((tmp_path / "out/figures").glob("comparison*"))


def test_a_short_tokenizer_stands_with_its_configured_total(tmp_path):
    results = tmp_path / "results"
    for name in ("full", "short"):
        make_byte_pair(results, name, "bpe", CODES, 8000)
    edit(results / "tokenizers/short/description.json", total=7311, short=689)
    words(results, tmp_path / "out", {"languages": CODES})
    rows = table(tmp_path)
    assert rows["size"].to_dict() == {"full": 8000, "short": 8000}
    assert rows.total.to_dict() == {"full": 8000, "short": 7311}


def test_nothing_to_compare_is_one_line(tmp_path):
    results = tmp_path / "results"
    make_tokenizer(results, "mono", ["de"], 600, kind="mono")
    said = words(results, tmp_path / "out", {"languages": ["de"]})
    assert "Nothing to compare: no tokenizer of several languages was measured" in said


@pytest.mark.parametrize("winner", UNIGRAM)
def test_held_out_bits_decide_without_parallel_text(results, tmp_path, winner):
    """Also where it is JOINT, and whatever the mean ALP, which says the opposite."""
    make_other_tokenizers(results, CODES)
    for place, name in enumerate(UNIGRAM):
        alp = -100.0 - 10 * (name == winner) - place / 10
        set_all(results, name, alp=alp, bigram_bits_per_byte=1.5 + 0.1 * (name != winner))
    said = words(results, tmp_path / "out", named(*UNIGRAM))
    assert f"Take {winner}. At T = 100,000" in said
    assert f"For an encoder {winner}, 1.500 bits per byte" in said
    other = winner if winner != "joint100k" else "vocap100k"
    row = one_row(tmp_path / "out/tables/comparison-groups.tsv", group="all", tokenizer=other)
    assert (float(row["percent"]) > 0) == (winner == "joint100k")


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_what_bits_do_not_tell_apart_is_chosen_by_tokens(results, tmp_path, noise):
    """VOCAP has 0.01 bits per byte fewer, JOINT fewer tokens: with noise above that, of
    each line, tokens decide.
    """
    random = np.random.default_rng(3)
    for name, bits, tokens in (("vocap100k", 1.50, 30.0), ("joint100k", 1.51, 28.0)):
        folder = results / "tokenizers" / name
        lines = {
            code: np.stack([80 * (bits + noise * random.standard_normal(200)), np.full(200, 80)])
            for code in CODES
        }
        mean = np.mean([array[0].sum() / array[1].sum() for array in lines.values()])
        write_lengths(folder / "bits.npz", {("heldout", code): lines[code] for code in CODES})
        mean = bits if noise else mean
        set_all(results, name, bigram_bits_per_byte=mean, tokens_per_sentence=tokens, unk_rate=0)
    said = words(results, tmp_path / "out", named("vocap100k", "joint100k"))
    advice = table(tmp_path).advice.dropna().to_dict()
    if noise:
        assert advice == {"vocap100k": "not told apart", "joint100k": "take"}
        assert "Take joint100k." in said and "do not tell apart: vocap100k, joint100k." in said
    else:
        assert advice == {"vocap100k": "take"} and "Take vocap100k." in said


@pytest.mark.parametrize("winner", ["vocap100k", "joint100k"])
def test_percent_of_each_language_decides_without_bits(results, tmp_path, winner):
    """One language of long lines loses more nats than nine others gain: they win."""
    for name in ("vocap100k", "joint100k"):
        alp, lost = (-90.0, -4000.0) if name == winner else (-100.0, -3800.0)
        set_all(results, name, alp=alp, bigram_bits_per_byte="")
        change(results / f"tokenizers/{name}/evaluation.tsv", alp={"ja": lost})
    said = words(results, tmp_path / "out", named("vocap100k", "joint100k"))
    assert f"Take {winner}. At T = 100,000" in said
    assert "1 of 10 languages, in percent of its own ALP: to " in said


def test_a_tie_of_tokens_takes_the_fewer_and_is_drawn_as_one(results, tmp_path):
    """Where bits are not there ALP in percent ties; the axis that shows both spans far more."""
    for name, alp, tokens in (("vocap100k", -100.0, 22.86), ("joint100k", -100.2, 22.78)):
        set_all(results, name, alp=alp, bigram_bits_per_byte="", tokens_per_sentence=tokens)
        set_all(results, name, unk_rate=0)
    said = words(results, tmp_path / "out", named("vocap100k", "joint100k"))
    assert "Take joint100k." in said and "do not tell apart: vocap100k, joint100k." in said
    page = (tmp_path / "out/index.html").read_text("utf-8")
    chart = page[page.index("figure-comparison-100000-tokens-per-sentence") :]
    low, high = map(float, re.search(r'"domain":\[([\d.]+),([\d.]+)\]', chart).groups())
    assert low < 22.78 and high > 22.86 and (22.86 - 22.78) / (high - low) < 0.05


def test_a_mean_gain_hides_no_loss(results, tmp_path):
    """Long lines of one language gain nats, and the mean with them: the language that
    loses is named.
    """
    for name, alp, russian in (("vocap100k", -100.0, -20.82), ("joint100k", -102.0, -20.0)):
        set_all(results, name, alp=alp, bigram_bits_per_byte="")
        change(results / f"tokenizers/{name}/evaluation.tsv", alp={"ru": russian})
    said = words(results, tmp_path / "out", named("vocap100k", "joint100k"))
    row = table(tmp_path, "comparison-groups").set_index(["group", "tokenizer"])
    row = row.loc["all", "vocap100k"]
    assert row.percent == pytest.approx((9 * 200 / 102 - 4.1) / 10)
    assert row.nats == pytest.approx(1.718) and row.better == 9
    assert "Russian −4.10 %" in said
    drawn = (tmp_path / "out/figures/comparison-100000-vocap100k.svg").read_text()
    assert "percent of each language" in drawn


def test_without_a_joint_the_first_is_the_reference(results, tmp_path):
    make_other_tokenizers(results, CODES)
    words(results, tmp_path / "out", named("pieces100k", "vocap100k"))
    assert (tmp_path / "out/figures/comparison-100000-vocap100k.svg").exists()
    row = one_row(tmp_path / "out/tables/comparison-groups.tsv", group="all", tokenizer="vocap100k")
    assert row["reference"] == "pieces100k"
    assert not (tmp_path / "out/figures/vocap-joint-groups.svg").exists()


def test_a_tokenizer_of_few_languages_is_left_out(results, tmp_path):
    make_tokenizer(results, "few", CODES[:3], 100_000)
    settings = named("vocap100k", "joint100k")
    settings["tokenizers"]["few"] = {"kind": "joint"}
    said = words(results, tmp_path / "out", settings)
    assert (
        "Left out, since fewer than half of the languages can be counted under them: few." in said
    )
    assert (
        one_row(tmp_path / "out/tables/comparison.tsv", tokenizer="vocap100k")["languages"] == "10"
    )


def test_figure_4_is_of_allocations_by_sizes(results, tmp_path):
    make_other_tokenizers(results, CODES)
    make_allocation(results, "other", CODES, 100_000)
    make_tokenizer(results, "other", CODES, 100_000, kind="vocap")
    settings = named(*UNIGRAM)
    settings["allocation"] = {"v100k": {}, "p100k": {}, "other": {}}
    settings["tokenizers"]["other"] = {"kind": "vocap", "allocation": "other"}
    words(results, tmp_path / "out", settings)
    drawn = (tmp_path / "out/figures/vocap-joint-groups.svg").read_text()
    for name in ("vocap100k", "other"):
        assert f">low, {name}<" in drawn and f">all, {name}<" in drawn
    assert "pieces100k" not in drawn


def test_byte_pair_encoding_lacks_no_file(run):
    folder, results, said = run
    assert "Missing in results/tokenizers/plain" not in said
    (results / "tokenizers/plain/pieces.tsv").rename(folder / "pieces.tsv")
    assert "Missing in results/tokenizers/plain: pieces.tsv." in words(
        results, folder / "again", SETTINGS
    )
    (folder / "pieces.tsv").rename(results / "tokenizers/plain/pieces.tsv")


def test_the_lines_of_a_byte_pair_cut(tmp_path):
    """Stretches make up the line; a token begins where its first new character does."""
    tokenizer = byte_tokenizer(["Die Katze sitzt auf der Matte.", "Der Mond."] * 5)
    path = tmp_path / "tokenizer.json"
    tokenizer.save(str(path))
    cut = cutter(tmp_path)
    for line in ("Die Katze sah den Mond.", "猫がいる 😀 ok", " a  b "):
        stretches, tokens = cut(line)
        encoded = tokenizer.encode(line)
        assert tokens == len(encoded.ids) and "".join(text for text, _ in stretches) == line
        assert not any(unknown for _, unknown in stretches)
    stretches, _ = cut("Die Katze")
    assert [text for text, _ in stretches] == [
        tokenizer.decode([one]) for one in tokenizer.encode("Die Katze").ids
    ]
    damaged = tmp_path / "damaged"  # a folder is read once
    damaged.mkdir()
    (damaged / "tokenizer.json").write_text("{}")
    with pytest.raises(VocapError, match=r"tokenizer\.json: not a usable"):
        cutter(damaged)
