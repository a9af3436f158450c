"""The warning where lines of one language are much longer than those of others: real models of joined lines."""

import json
import re

import pytest

from tests.allocation.test_command import processor_of, train, vocap
from tests.vocabularies.factories import make_text
from vocap.files.tsv import write_tsv

pytestmark = pytest.mark.xdist_group("allocate")


def joined(lines, count):
    return [" ".join(lines[start : start + count]) for start in range(0, len(lines), count)]


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Four languages of like lines; `ee` is `dd` with three lines to a paragraph."""
    root = tmp_path_factory.mktemp("lengths")
    for seed, language in enumerate(("aa", "bb", "cc", "dd")):
        train(root / "v" / language, make_text("latin", 150, seed))
    train(root / "v" / "ee", joined(make_text("latin", 150, 3), 3))
    return root


def warned(root, tmp_path, languages, *options):
    write_tsv(tmp_path / "w.tsv", ("language", "n"), [(code, 100.0) for code in languages])
    arguments = ("--vocabularies", root / "v", "--weights", tmp_path / "w.tsv", "--total", 400, *options)
    done = vocap("allocate", *arguments, "-o", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    found = [one for one in json.loads((tmp_path / "out/summary.json").read_text())["warnings"] if "lines" in one]
    assert all(one in done.stderr for one in found)
    return found


def test_lines_of_like_length_are_passed_over(root, tmp_path):
    assert not warned(root, tmp_path, ("aa", "bb", "cc", "dd"))


def test_paragraphs_beside_sentences_are_named_with_both_remedies(root, tmp_path):
    (said,) = warned(root, tmp_path, ("aa", "bb", "cc", "ee"))
    (times,) = re.findall(r"too many for ee \(([\d.]+) times\)", said)
    tokens = {code: processor_of(root / "v" / code, 150).encode for code in ("dd", "ee")}
    paragraphs = joined(make_text("latin", 150, 3), 3)
    assert len(tokens["ee"](paragraphs[0])) > 2 * len(tokens["dd"](make_text("latin", 150, 3)[0]))
    assert float(times) == pytest.approx(3, abs=0.5)  # three lines hold three times the nats of one
    assert "split_sentences: true" in said and "per: character" in said and "too few" not in said


def test_the_shorter_lines_are_named_where_most_are_paragraphs(root, tmp_path):
    for seed, language in enumerate(("ff", "gg")):
        if not (root / "v" / language).exists():
            train(root / "v" / language, joined(make_text("latin", 150, seed), 3))
    (said,) = warned(root, tmp_path, ("ee", "ff", "gg", "aa"))
    (times,) = re.findall(r"too few for aa \(([\d.]+) times\)", said)
    assert float(times) == pytest.approx(1 / 3, abs=0.06) and "too many" not in said


def test_a_nat_per_character_needs_no_warning(root, tmp_path):
    assert not warned(root, tmp_path, ("aa", "bb", "cc", "ee"), "--per", "character")
