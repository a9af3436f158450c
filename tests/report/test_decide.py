"""`vocap decide` on two runs of three languages that differ in the seed."""

import json
import re
import shutil
from functools import partial

import numpy as np
import pytest
from transformers import AutoTokenizer

from tests import commands
from tests.made_text import draw_sentences, write_lines

LANGUAGES = ("en", "it", "mt")
TOTALS = (500, 700)
LINES, GAPS = 60, 8  # of the parallel text, of which Maltese lacks the first
NAMES = (*(f"joint-{total}" for total in TOTALS), "bpe")


def make_run(root, seed):
    """The results of one seed in `root`/seed."""
    call = commands.caller(root=root, results=root / str(seed))
    out = "{results}/corpora/{code}"
    for code in LANGUAGES:
        sampled = f"--train {out}/train.txt --heldout {out}/heldout.txt --stats {out}/stats.json"
        line = f"sample {{root}}/{code}.txt --language={code} --seed={seed} {sampled}"
        call(line, code=code)
    stats = [root / f"{seed}/corpora/{code}/stats.json" for code in LANGUAGES]
    weights = "{results}/corpora/weights.tsv"
    call(f"weigh -o {weights}", *stats)
    text = f"--corpora {{results}}/corpora --weights {weights}"
    for total in TOTALS:
        call(f"joint {text} --total {total} -o {{results}}/tokenizers/joint-{total}")
    call(f"bpe {text} --total {TOTALS[0]} -o {{results}}/tokenizers/bpe")
    given = " ".join(f"--tokenizer {name}={{results}}/tokenizers/{name}" for name in NAMES)
    texts = "--corpora {results}/corpora --parallel {root}/parallel/{{lang}}.txt"
    call(f"evaluate {given} {texts} --tables {{results}}/tokenizers")
    job = {"parameters": {"settings": json.dumps({"seed": seed, "languages": LANGUAGES})}}
    write_lines(root / f"{seed}/report/parameters.jsonl", [json.dumps(job)])


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A folder of the results of seeds 1 and 2, and of their parallel text."""
    root = tmp_path_factory.mktemp("decide")
    for code in LANGUAGES:
        sentences = draw_sentences(code, "abcdefghilmnoprstuv")
        drawn = [next(sentences) for _ in range(300 + LINES)]
        write_lines(root / f"{code}.txt", drawn[LINES:])
        gaps = GAPS * [""] if code == "mt" else drawn[:GAPS]
        write_lines(root / f"parallel/{code}.txt", [*gaps, *drawn[GAPS:LINES]])
    for seed in (1, 2):
        make_run(root, seed)
    return root


def decided(*words):
    return json.loads(commands.caller()("decide --json", *words))


def count_tokens(root, name):
    """Tokens of each line by transformers, [languages, lines], NaN for a gap; their ids."""
    model = "tokenizer.json" if name == "bpe" else "sentencepiece.model"
    folder = root / "exported" / name
    commands.caller()("export", root / "1/tokenizers" / name / model, "-o", folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    encode = partial(tokenizer, add_special_tokens=False)
    lines = [
        (root / f"parallel/{code}.txt").read_text("utf-8").split("\n")[:-1] for code in LANGUAGES
    ]
    counts = [[len(encode(line).input_ids) if line else np.nan for line in own] for own in lines]
    return np.array(counts), len(tokenizer)


def test_figures_are_those_of_a_count_by_transformers(root):
    for row in decided(root / "1")["rows"]:
        tokens, ids = count_tokens(root, row["tokenizer"])
        there = ~np.isnan(tokens)
        totals, english = np.nansum(tokens, 1), (tokens[0] * there).sum(1)
        ratios, mean = totals / english, tokens[0].mean()
        assert row["parallel_tokens"] == pytest.approx(mean * ratios.mean())
        assert row["worst"] == LANGUAGES[ratios.argmax()]
        assert row["worst_ratio"] == pytest.approx(ratios.max())
        # the normal approximation: what each sentence adds to ratios and mean
        added = np.nan_to_num(tokens - ratios[:, None] * tokens[0]) / english[:, None]
        of_mean = mean * added.mean(0) + ratios.mean() * (tokens[0] - mean) / len(tokens[0])
        widths = {"tokens": of_mean, "worst": added[ratios.argmax()], "bits": bits_added(root, row)}
        for measure, parts in widths.items():
            width = row[f"{measure}_high"] - row[f"{measure}_low"]
            assert width == pytest.approx(2 * 1.96 * np.sqrt((parts**2).sum()), rel=0.15), measure
        assert row["tokens_low"] < row["parallel_tokens"] < row["tokens_high"]
        assert row["bits_low"] < row["parallel_bits"] < row["bits_high"]
        assert row["embedding_mparameters"] == pytest.approx(ids * (768 + 1) / 1e6)
        assert row["embedding_share"] == pytest.approx(ids * 769 / (86e6 + ids * 769))


def bits_added(root, row):
    """What each sentence adds to the mean bits per byte of the languages, from its bits.npz."""
    added = np.zeros(LINES)
    with np.load(root / "1/tokenizers" / row["tokenizer"] / "bits.npz") as file:
        for code in LANGUAGES:
            bits, size = file[f"parallel/{code}"].astype(float)
            shown = slice(GAPS if code == "mt" else 0, None)
            added[shown] += (bits - bits.sum() / size.sum() * size) / size.sum() / len(LANGUAGES)
    return added


def test_two_totals_are_compared_in_a_sentence(root):
    text = commands.caller()("decide --hidden 9999 --causal --untied", root / "1")
    tokens = {row["tokenizer"]: row["parallel_tokens"] for row in decided(root / "1")["rows"]}
    percent = 100 * (1 - tokens["joint-700"] / tokens["joint-500"])
    saved = f"JOINT: 700 (joint-700) saves {percent:.1f} % of the tokens of 500 (joint-500)"
    assert f"{saved} for 4.0 M parameters." in text  # 200 x 2 x 9999
    assert re.search(
        r"^joint-500, joint-700 \(unigram\): .* sentencepiece, .*llama\.cpp\.$", text, re.MULTILINE
    )
    assert max(map(len, text.splitlines()[:4])) <= 120


def test_runs_of_two_seeds_are_joined_and_copies_are_not(root, tmp_path):
    one, two = (decided(root / seed)["rows"] for seed in "12")
    for row, *parts in zip(decided(root / "1", root / "2")["rows"], one, two, strict=True):
        tokens = [part["parallel_tokens"] for part in parts]
        assert row["runs"] == 2
        assert row["parallel_tokens"] == pytest.approx(np.mean(tokens))
        assert row["parallel_tokens_spread"] == pytest.approx(np.ptp(tokens))
        worst = max(parts, key=lambda part: part["worst_ratio"])
        assert (row["worst"], row["worst_ratio"]) == (worst["worst"], worst["worst_ratio"])
    shutil.copytree(root / "1", tmp_path / "copy")
    assert [row["runs"] for row in decided(root / "1", tmp_path / "copy")["rows"]] == 6 * [1]


@pytest.mark.parametrize(
    ("gone", "said"),
    [
        ("*", "no results of a run"),
        ("tokenizers/*/parallel.tsv", "no language has parallel text"),
        ("tokenizers/*-700", "fewer than two measured tokenizers"),
    ],
)
def test_bad_input_is_one_line(root, tmp_path, gone, said):
    shutil.copytree(root / "1", tmp_path / "run")
    shutil.rmtree(tmp_path / "run/tokenizers/bpe")
    for path in tmp_path.glob(f"run/{gone}"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    done = commands.vocap("decide", tmp_path / "run")
    assert done.returncode in (1, 2) and done.stdout == ""
    assert said in done.stderr and done.stderr.count("\n") == 1
