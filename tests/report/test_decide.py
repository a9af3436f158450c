"""`vocap decide` on two runs of three languages that differ in the seed."""

import json
import re
import shutil

import numpy as np
import pytest
from transformers import AutoTokenizer

from tests import commands
from tests.made_text import draw_sentences, write_lines

LANGUAGES = ("en", "it", "mt")
TOTALS = (500, 700)
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
        drawn = [next(sentences) for _ in range(360)]
        write_lines(root / f"{code}.txt", drawn[:300])
        write_lines(root / f"parallel/{code}.txt", drawn[300:])
    for seed in (1, 2):
        make_run(root, seed)
    return root


def decided(*words):
    return json.loads(commands.caller()("decide --json", *words))


def test_figures_are_those_of_a_count_by_transformers(root):
    rows = {row["tokenizer"]: row for row in decided(root / "1")["rows"]}
    assert set(rows) == set(NAMES)
    for name, row in rows.items():
        folder = root / "1/tokenizers" / name
        model = folder / ("tokenizer.json" if name == "bpe" else "sentencepiece.model")
        folder = root / "exported" / name
        commands.caller()("export", model, "-o", folder)
        tokenizer = AutoTokenizer.from_pretrained(folder)
        lengths = {}
        for code in LANGUAGES:
            lines = (root / f"parallel/{code}.txt").read_text("utf-8").splitlines()
            lengths[code] = np.mean(
                [len(tokenizer(line, add_special_tokens=False).input_ids) for line in lines]
            )
        assert row["parallel_tokens"] == pytest.approx(np.mean([*lengths.values()]))
        worst = max(lengths, key=lengths.__getitem__)
        assert row["worst"] == worst
        assert row["worst_ratio"] == pytest.approx(lengths[worst] / lengths["en"])
        embeddings = len(tokenizer) * (768 + 1)
        assert row["embedding_mparameters"] == pytest.approx(embeddings / 1e6)
        assert row["embedding_share"] == pytest.approx(embeddings / (86e6 + embeddings))


def test_interval_of_bits_is_about_that_of_the_normal_approximation(root):
    for row in decided(root / "1")["rows"]:
        variance = 0.0
        with np.load(root / "1/tokenizers" / row["tokenizer"] / "bits.npz") as file:
            for code in LANGUAGES:
                bits, size = file[f"parallel/{code}"].astype(float)
                rest = bits - bits.sum() / size.sum() * size
                variance += (rest**2).sum() / size.sum() ** 2
        half = 1.96 * np.sqrt(variance) / len(LANGUAGES)
        assert row["bits_high"] - row["bits_low"] == pytest.approx(2 * half, rel=0.15)
        assert row["bits_low"] < row["parallel_bits"] < row["bits_high"]


def test_two_totals_are_compared_in_a_sentence(root):
    text = commands.caller()("decide --hidden 9999", root / "1")
    tokens = {row["tokenizer"]: row["parallel_tokens"] for row in decided(root / "1")["rows"]}
    percent = 100 * (1 - tokens["joint-700"] / tokens["joint-500"])
    assert f"JOINT: 700 (joint-700) saves {percent:.1f} % of the tokens of 500" in text
    assert "for 2 M parameters" in text
    assert re.search(r"^joint-500 .* sentencepiece, .*llama\.cpp$", text, re.MULTILINE)


def test_runs_of_two_seeds_are_joined_and_copies_or_others_are_not(root, tmp_path):
    one, two = (decided(root / seed)["rows"] for seed in "12")
    joined = decided(root / "1", root / "2")["rows"]
    for row, *parts in zip(joined, one, two, strict=True):
        tokens = [part["parallel_tokens"] for part in parts]
        assert row["runs"] == 2
        assert row["parallel_tokens"] == pytest.approx(np.mean(tokens))
        assert row["parallel_tokens_spread"] == pytest.approx(np.ptp(tokens))
        worst = max(parts, key=lambda part: part["worst_ratio"])
        assert (row["worst"], row["worst_ratio"]) == (worst["worst"], worst["worst_ratio"])
    shutil.copytree(root / "1", tmp_path / "copy")
    assert [row["runs"] for row in decided(root / "1", tmp_path / "copy")["rows"]] == 6 * [1]
    path = tmp_path / "copy/report/parameters.jsonl"
    path.write_text(path.read_text().replace("languages", "other"))
    assert [row["runs"] for row in decided(root / "2", tmp_path / "copy")["rows"]] == 6 * [1]


def test_bad_input_is_one_line(root, tmp_path):
    (tmp_path / "empty").mkdir()
    shutil.copytree(root / "1", tmp_path / "none")
    for path in tmp_path.glob("none/tokenizers/*/parallel.tsv"):
        path.unlink()
    shutil.copytree(root / "1", tmp_path / "single")
    for name in NAMES[1:]:
        shutil.rmtree(tmp_path / "single/tokenizers" / name)
    for name, said in (
        ("empty", "no results of a run"),
        ("none", "no language has parallel text"),
        ("single", "fewer than two measured tokenizers"),
    ):
        done = commands.vocap("decide", tmp_path / name)
        assert done.returncode in (1, 2) and done.stdout == ""
        assert said in done.stderr and done.stderr.count("\n") == 1
