"""Weights by Equation 3 and the multilingual sample, against their definitions."""

import collections
import fractions
import math

import numpy as np
import pytest

from tests.cases import read_cases
from vocap.corpora.sampling import chosen_lines, write_mix
from vocap.errors import UsageError, VocapError
from vocap.languages import read_languages
from vocap.tables.sampling_probabilities import (
    line_weights,
    quotas,
    read_weights,
    sampling_probabilities,
    share_error,
    weigh_languages,
)
from vocap.text_files.lines import BYTE_ORDER_MARK


@pytest.mark.parametrize("alpha", [0, 0.3, 0.7, 1, 2])
def test_equation_3(alpha):
    n = [30_000_000_000, 12, 400_000, 0, 5.5]
    exact = [math.pow(size, alpha) if size else 0.0 for size in n]
    assert sampling_probabilities(n, alpha) == pytest.approx(
        [power / sum(exact) for power in exact], rel=1e-12
    )


def test_equation_3_at_extremes():
    assert sampling_probabilities([1e300, 1e300], 10).tolist() == [0.5, 0.5]
    assert sampling_probabilities([5, 0, 5], 0).tolist() == [0.5, 0, 0.5]
    for n in ([0, 0], [1, -1], [1, math.nan], [1, math.inf]):
        with pytest.raises(ValueError, match="every n"):
            sampling_probabilities(n, 0.7)


@pytest.mark.parametrize("step", [1, 4, 16])
@pytest.mark.parametrize("alpha", [0, 0.49, 0.7, 1])
def test_weights_of_lines_give_each_language_its_share(alpha, step):
    n, lines = [240_000, 12, 400_000, 0, 9000], [100_000, 12, 100_000, 7, 8999]
    q = sampling_probabilities(n, alpha)
    weights = line_weights(q, lines, step).tolist()
    present = [0, 1, 2, 4]
    rates = {k: fractions.Fraction(float(q[k])) / lines[k] for k in present}
    least = min(rates.values())
    assert weights == [round(step * rates[k] / least) if k in rates else 0 for k in range(5)]
    assert min(weights[k] for k in present) == step
    whole = sum(weights[k] * lines[k] for k in present)
    error = max(
        abs(fractions.Fraction(weights[k] * lines[k], whole) / fractions.Fraction(float(q[k])) - 1)
        for k in present
    )
    assert share_error(q, lines, weights) == pytest.approx(float(error))
    assert error <= fractions.Fraction(2, 2 * step - 1)


def stats(language, n, kept=10, complete=True, total_bytes=5000):
    return {
        "language": language,
        "n": n,
        "n_bytes": 100 * n,
        "kept": kept,
        "complete": complete,
        "total_bytes": total_bytes,
    }


def test_weights_by_lines_bytes_and_columns():
    table = read_languages()
    entries = [stats("ka", 70), stats("en", 1000, complete=False), stats("yi", 0, kept=0)]
    assert weigh_languages(entries, "lines", {}) == [
        ("ka", 70, "lines"), ("en", 1000, "extrapolated"), ("yi", 0, "missing")
    ]  # fmt: skip
    assert weigh_languages(entries, "bytes", {})[0] == ("ka", 7000, "bytes")
    beginning = stats("ja", 30, complete=False, total_bytes=None)  # of a file of unknown length
    assert weigh_languages([beginning], "lines", {}) == [("ja", 30, "incomplete")]
    by_paper = weigh_languages(entries, "paper_cc_gb", table)
    assert by_paper[2] == ("yi", 0, "missing")
    assert by_paper[0] == ("ka", float(table["ka"].facts["paper_cc_gb"]), "paper_cc_gb")


@pytest.mark.parametrize("cell", ["", "nan", "0", "-3", "inf", "many"])
def test_a_column_of_the_user_s_without_a_number(tmp_path, cell):
    path = tmp_path / "table.tsv"
    path.write_text(f"language\tname\tscript\tresource\tmine\nka\tGeorgian\tGeor\tmid\t{cell}\n")
    with pytest.raises(
        VocapError,
        match=r"table\.tsv: column mine, language ka: .* where a number above 0 is needed",
    ):
        weigh_languages([stats("ka", 70)], "mine", read_languages(path), str(path))


def test_unknown_columns_and_languages():
    table = read_languages()
    with pytest.raises(
        UsageError, match=r"no column 'words' to weigh by; it has: language, .*lines, bytes"
    ):
        weigh_languages([stats("ka", 70)], "words", table)
    with pytest.raises(UsageError, match="no row for 'xx'; add one"):
        weigh_languages([stats("xx", 70)], "paper_cc_gb", table)


@pytest.mark.parametrize(("rows", "message"), read_cases(__file__))
def test_bad_weights_file(tmp_path, rows, message):
    (tmp_path / "w.tsv").write_text("language\tn\n" + rows)
    with pytest.raises(VocapError, match=rf"w\.tsv.*{message}"):
        read_weights(tmp_path / "w.tsv")


def test_whole_weights_are_whole_numbers(tmp_path):
    (tmp_path / "w.tsv").write_text(
        "language\tn\tsource\nru\t5392\tlines\nka\t0.5\tmine\nja\t7.0\tmine\nla\t0\t\n"
    )
    weights = read_weights(tmp_path / "w.tsv")
    assert list(map(str, weights.items())) == [
        "('ru', 5392)",
        "('ka', 0.5)",
        "('ja', 7)",
        "('la', 0)",
    ]


@pytest.mark.parametrize("seed", range(20))
def test_quotas_are_largest_remainders(seed):
    generator = np.random.default_rng(seed)
    q = generator.dirichlet(np.full(generator.integers(1, 40), 0.3))
    q[generator.random(len(q)) < 0.2] = 0
    q = q / q.sum() if q.sum() else np.ones(len(q)) / len(q)
    total = int(generator.integers(1, 5000))
    found = quotas(total, q)
    assert found.sum() == total and not found[q == 0].any()
    exact = [fractions.Fraction(share) * total for share in q.tolist()]
    assert all(
        math.floor(e) <= count <= math.floor(e) + 1
        for e, count in zip(exact, found.tolist(), strict=True)
    )
    up = [e - math.floor(e) for e, count in zip(exact, found.tolist(), strict=True) if count > e]
    down = [
        e - math.floor(e)
        for e, count in zip(exact, found.tolist(), strict=True)
        if count <= e and e
    ]
    assert not up or not down or min(up) >= max(down) - fractions.Fraction(1, 10**9)


@pytest.mark.parametrize(("lines", "quota"), [(10, 0), (10, 3), (10, 10), (10, 37), (1, 5)])
def test_every_line_floor_or_ceil_times(lines, quota):
    generator = np.random.default_rng(0)
    times = np.bincount(chosen_lines(lines, quota, generator), minlength=lines)
    assert times.sum() == quota and set(times.tolist()) <= {quota // lines, -(-quota // lines)}


def test_mix_without_lines_that_are_no_text(tmp_path, caplog):
    path = tmp_path / "ka.txt"
    path.write_bytes(BYTE_ORDER_MARK + b"good\r\n" * 30 + b"a\0b\n\xe9\nlast")
    out = tmp_path / "mix.txt"
    write_mix(out, [("ka", path)], np.ones(1), 31, seed=1)
    assert sorted(out.read_bytes().splitlines()) == [b"good"] * 30 + [b"last"]
    assert "2 of 33 lines" in caplog.text and "the first is line 31" in caplog.text


@pytest.fixture
def corpora(tmp_path):
    files = []
    for language, count in (("ka", 500), ("ru", 3000), ("yi", 7), ("la", 0)):
        path = tmp_path / f"{language}.txt"
        path.write_bytes(
            b"".join(b"%s %d\n" % (language.encode(), number) for number in range(count))
        )
        files.append((language, path))
    return files


def test_mix(tmp_path, corpora):
    q = np.array([0.3, 0.5, 0.2, 0.0])
    out = tmp_path / "mix.txt"
    counts = write_mix(out, corpora, q, 2000, seed=3)
    assert counts.tolist() == [600, 1000, 400, 0]
    lines = out.read_bytes().split(b"\n")
    assert lines.pop() == b"" and len(lines) == 2000
    times = collections.Counter(lines)
    by_language = collections.Counter(line[:2] for line in lines)
    assert by_language == {b"ka": 600, b"ru": 1000, b"yi": 400}
    for (language, path), quota in zip(corpora, counts.tolist(), strict=True):
        every = path.read_bytes().split(b"\n")[:-1]
        if every:
            assert {times[line] for line in every} <= {
                quota // len(every),
                -(-quota // len(every)),
            }, language
    # shuffled: a language's lines are spread over the file as chance spreads them
    places = np.array([number for number, line in enumerate(lines) if line[:2] == b"ka"])
    assert abs(places.mean() - 1000) < 4 * 577 / 600**0.5
    numbers = [int(line.split()[1]) for line in lines if line[:2] == b"ru"]
    assert abs(np.corrcoef(numbers, np.arange(len(numbers)))[0, 1]) < 4 / 1000**0.5


def test_mix_depends_on_the_seed(tmp_path, corpora):
    q = np.array([0.3, 0.5, 0.2, 0.0])
    contents = []
    for seed in (1, 1, 2):
        write_mix(tmp_path / "mix.txt", corpora, q, 1500, seed)
        contents.append((tmp_path / "mix.txt").read_bytes())
    assert contents[0] == contents[1] != contents[2]


def test_mix_of_a_file_without_lines(tmp_path, corpora):
    with pytest.raises(VocapError, match=r"la\.txt: no line to take 20 from; give la n = 0"):
        write_mix(tmp_path / "mix.txt", corpora, np.array([0.3, 0.5, 0, 0.2]), 100, seed=1)
    assert not list(tmp_path.glob("*mix*")) and not list(tmp_path.glob(".*mix*"))
