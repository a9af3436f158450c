"""An XTREME folder's files as examples: XTREME's forms and xTune's, their quirks, and
every kind of damage.
"""

import csv
import io
import json
import lzma
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import read_cases, set_at
from tests.finetuning.factories import (
    PAIRS,
    locate,
    one_question,
    read,
    squad,
    write,
    xtreme_folder,
)
from vocap.errors import VocapError
from vocap.finetuning.examples import (
    Answer,
    Pair,
    Question,
    TaggedSentence,
    is_labelled,
    read_pairs,
)
from vocap.finetuning.tasks import SPLITS, TASKS, TRAININGS, DataSet

CASES = read_cases(__file__)
XNLI, PAWSX, UDPOS, PANX, XQUAD, MLQA, TYDIQA = TASKS.values()
needs_data = pytest.mark.skipif(
    "VOCAP_DATA" not in os.environ, reason="needs XTREME's files: set VOCAP_DATA"
)


def real() -> Path:
    return Path(os.environ["VOCAP_DATA"]) / "xtreme"


def read_made(tmp_path, name, content, task, split="test", language="en"):
    write(tmp_path, name, content)
    return read(tmp_path, task, split, language)


def test_tasks_are_those_of_table_1():
    assert list(TASKS) == ["xnli", "pawsx", "udpos", "panx", "xquad", "mlqa", "tydiqa"]
    assert TRAININGS["squad"] == ("xquad", "mlqa") and len(TRAININGS) == 6
    assert [len(task.languages) for task in TASKS.values()] == [15, 7, 33, 40, 11, 7, 9]
    assert len(UDPOS.dev_languages) == 29 and len(UDPOS.labels) == 17
    for task in TASKS.values():
        for split in SPLITS:
            assert set(task.rows.get(split, {})) == set(task.languages_of(split))


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_every_file_of_a_folder_is_found_plain_or_packed(tmp_path, task):
    folder = xtreme_folder(tmp_path)
    split = "train"
    plain = read(folder, task, split, "en")
    path = locate(folder, task, split, "en")
    path.with_name(path.name + ".xz").write_bytes(lzma.compress(path.read_bytes()))
    path.unlink()
    assert read(folder, task, split, "en") == plain and all(map(is_labelled, plain))
    assert locate(folder, task, "test", "xx") is None


def test_pairs(tmp_path):
    assert read_made(tmp_path, "xnli/dev-en.tsv", PAIRS["xnli"], XNLI, "dev") == [
        Pair("A cat sleeps.", "An animal rests.", "entailment"),
        Pair("It rains.", "It is dry.", "contradiction"),
    ]


def test_labels_that_xtreme_removes(tmp_path):
    pairs = read_made(
        tmp_path, "pawsx/test-de.tsv", "Ja.\tNein.\r\nNS\tNS\r\n", PAWSX, language="de"
    )
    assert pairs == [Pair("Ja.", "Nein.", None), Pair("NS", "NS", None)]
    words = read_made(tmp_path, "panx/test-de.tsv", "Anna\nlebt\n\nEs\n", PANX, language="de")
    assert words == [TaggedSentence(("Anna", "lebt"), None), TaggedSentence(("Es",), None)]
    blank = squad(("Bonn.", [("a", "Where?", [("", 0)])]), ("Bonn.", [("b", "Who?", [])]))
    questions = read_made(tmp_path, "xquad/xquad.de.json", blank, XQUAD, language="de")
    assert [question.answers for question in questions] == [(), ()]
    assert not any(is_labelled(example) for example in [*pairs, *words, *questions])


def test_empty_label_cells_are_blank_labels(tmp_path):
    assert read_made(tmp_path, "pawsx/test-en.tsv", "a\tb\t\n", PAWSX) == [Pair("a", "b", None)]
    assert read_made(tmp_path, "udpos/test-en.tsv", "a\t\n\n", UDPOS) == [
        TaggedSentence(("a",), None)
    ]


@pytest.mark.parametrize("split", ["train", "dev"])
@pytest.mark.parametrize(("task", "content"), CASES["without labels"])
def test_labels_may_be_missing_in_test_files_only(tmp_path, split, task, content):
    with pytest.raises(VocapError, match=r"line 1: (no label|[12] col).*file again"):
        read_made(tmp_path, f"{task}/{split}-en.tsv", content, TASKS[task], split)


def test_answers_may_be_missing_in_test_files_only(tmp_path):
    content = squad(("Bonn.", [("a", "Where?", [("", 0)])]))
    with pytest.raises(VocapError, match=r"no answer.*file again"):
        read_made(tmp_path, "squad/train-v1.1.json", content, XQUAD, "train")


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_line_ends(tmp_path, ends):
    # no end of the last line, two blank lines
    text = ends.join(["Bonn\tB-LOC", "is\tO", "", "", "wet\tO"])
    assert read_made(tmp_path, "panx/dev-en.tsv", text, PANX, "dev") == [
        TaggedSentence(("Bonn", "is"), ("B-LOC", "O")),
        TaggedSentence(("wet",), ("O",)),
    ]


def test_separators_of_python_are_text_and_words_are_cut_at_tabs_alone(tmp_path):
    odd = "a\u2028b\x85c\x0bd\x1ce"
    assert read_made(tmp_path, "xnli/dev-en.tsv", f"{odd}\tb\tneutral\n", XNLI, "dev") == [
        Pair(odd, "b", "neutral")
    ]
    text = f"{odd}\tX\nNew\u00a0York City\tPROPN\n\tX\n"
    assert read_made(tmp_path, "udpos/dev-en.tsv", text, UDPOS, "dev")[0].words == (
        odd,
        "New\u00a0York City",
        "",
    )


def test_a_byte_order_mark_and_multinli_s_name_of_a_label(tmp_path):
    (pair,) = read_made(tmp_path, "xnli/train-en.tsv", "\ufeffa\tb\tcontradictory\n", XNLI, "train")
    assert pair == Pair("a", "b", "contradiction")
    assert (
        read_made(tmp_path, "xquad/xquad.en.json", "\ufeff" + one_question(), XQUAD)[0].id == "q1"
    )


FIELDS = st.text(st.sampled_from("ab \"'„,"), max_size=6)


@given(st.lists(st.tuples(FIELDS, FIELDS), min_size=1, max_size=5))
def test_quoted_files_give_the_text_that_csv_wrote(tmp_path_factory, rows):
    """Where some text holds a quote, which csv doubles; without one there is nothing to
    undo.
    """
    folder = tmp_path_factory.mktemp("quoted")
    written = io.StringIO(newline="")
    csv.writer(written, delimiter="\t").writerows([first, second, "1"] for first, second in rows)
    path = write(folder, "made.tsv", written.getvalue())
    assert [(pair.first, pair.second) for pair in read_pairs(path, PAWSX.labels, False)] == rows


@pytest.mark.parametrize("cells", CASES["raw quotes"])
def test_raw_quotes_stay(tmp_path, cells):
    path = write(tmp_path, "made.tsv", "\t".join(cells) + "\n")
    assert read_pairs(path, PAWSX.labels, False) == [Pair(*cells)]


def test_questions(tmp_path):
    text = squad(
        (
            "𝔎yoto in 京都.",
            [("a", "Where?", [("京都", 9), ("京都.", 9)]), ("b", "Which?", [("𝔎yoto", 0)])],
        ),
        ("Bonn", [("c", "?", [("Bonn", 0)])]),
    )
    first, second, third = read_made(tmp_path, "xquad/xquad.zh.json", text, XQUAD, language="zh")
    assert first == Question(
        "a", "Where?", "𝔎yoto in 京都.", (Answer("京都", 9), Answer("京都.", 9))
    )
    assert first.context is second.context and third.answers == (Answer("Bonn", 0),)


@pytest.mark.parametrize("name", ["tydiqa.goldp.te.dev.json", "tydiqa.te.dev.json"])
def test_tydiqa_has_xtreme_s_names_and_xtune_s(tmp_path, name):
    folder = "tydiqa/tydiqa-goldp-v1.1-dev"
    assert len(read_made(tmp_path, f"{folder}/{name}", one_question(), TYDIQA, language="te")) == 1


def test_ids_repeat_in_training_files_alone(tmp_path):
    text = squad(("Bonn", [("same", "a?", [("Bonn", 0)]), ("same", "b?", [("Bonn", 0)])]))
    name = "tydiqa/tydiqa-goldp-v1.1-{0}/tydiqa.goldp.en.{0}.json"
    assert len(read_made(tmp_path, name.format("train"), text, TYDIQA, "train")) == 2
    with pytest.raises(
        VocapError, match=r"question 2 \(id same\): the id is that of .*question 1 .*too"
    ):
        read_made(tmp_path, name.format("dev"), text, TYDIQA, "test")


@pytest.mark.parametrize(("task", "content", "message"), CASES["tables"])
def test_damaged_tables(tmp_path, task, content, message):
    with pytest.raises(VocapError, match="again") as error:
        read_made(tmp_path, f"{task}/test-en.tsv", content.encode("latin-1"), TASKS[task])
    assert message in str(error.value) and "test-en.tsv" in str(error.value)


def test_raw_files_of_panx_are_told_from_words_with_a_colon(tmp_path):
    raw = "en:R.H.\tB-PER\nen::\tO\n\nen:12:30\tO\n"
    with pytest.raises(
        VocapError, match=r"test-en.tsv, line 1: 'en:R.H.' has its language before it.*script"
    ):
        read_made(tmp_path, "panx/test-en.tsv", raw, TASKS["panx"])
    made = read_made(tmp_path, "panx/test-en.tsv", raw.replace("en::", ":"), TASKS["panx"])
    assert [sentence.words for sentence in made] == [("en:R.H.", ":"), ("en:12:30",)]


@pytest.mark.parametrize("case", CASES["questions"])
def test_damaged_questions(tmp_path, case):
    content = json.loads(one_question())
    if "path" in case:
        set_at(content, "data/0/paragraphs/0/" + case["path"], case.get("value"))
    content = case.get("content", json.dumps(content)).encode("latin-1")
    with pytest.raises(VocapError, match="again") as error:
        read_made(tmp_path, "xquad/xquad.en.json", content, XQUAD)
    assert case["says"] in str(error.value) and "xquad.en.json" in str(error.value)


def test_bytes_counted_as_offsets_are_refused(tmp_path):
    text = squad(("Zürich ist schön", [("a", "?", [("schön", 12)])]))
    with pytest.raises(VocapError, match="offsets count Unicode code points"):
        read_made(tmp_path, "xquad/xquad.de.json", text, XQUAD, language="de")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(
        VocapError, match=r"xnli/dev-de\.tsv: no such file, nor one with \.xz; download"
    ):
        read(tmp_path, XNLI, "dev", "de")
    with pytest.raises(VocapError, match="udpos/dev-th: no such file"):
        read(tmp_path, UDPOS, "dev", "th")


@needs_data
def test_real_files_have_the_known_rows():
    sets = [DataSet(task, *place) for task in TASKS.values() for place in places(task)]
    there = [one for one in sets if one.file(real())]
    examples = {one: one.read(real()) for one in there}
    assert len(there) == 128
    assert {one: len(rows) for one, rows in examples.items()} == {
        one: one.task.rows[one.split][one.language] for one in there
    }
    assert [one.name for one, rows in examples.items() if not is_labelled(rows[0])] == [
        "panx/test-af"
    ]


def places(task):
    return [(split, language) for split in SPLITS for language in task.languages_of(split)]
