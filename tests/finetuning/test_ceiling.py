"""Upper bounds of span extraction by pieces and windows, and their command."""

import pytest
from click.testing import CliRunner

from tests.finetuning.factories import one_question, squad, write
from tests.finetuning.subwords import ours
from tests.tokenizers.scripts import WORDS
from vocap.errors import VocapError
from vocap.files.tsv import read_tsv
from vocap.finetuning.ceiling import ceiling
from vocap.finetuning.commands import ceiling as command
from vocap.finetuning.formats import Answer, Question
from vocap.finetuning.tasks import TASKS

XQUAD, MLQA, TYDIQA = TASKS["xquad"], TASKS["mlqa"], TASKS["tydiqa"]


@pytest.mark.parametrize("task", [XQUAD, MLQA], ids=["xquad", "mlqa"])
def test_whole_words_can_be_reached(task):
    """By the best reference, independent of ids: those of training files repeat."""
    question = Question("same", "no?", "In Kyoto it rains", (Answer("yoto it", 4), Answer("Kyoto", 3)))
    assert ceiling([question, question], ours(), task, "en") == (100, 100, 100, 100)


def test_pieces_and_lengths_lower_the_ceiling():
    long = " ".join(WORDS["en"] * 4)
    whole = [Question("a", "no?", "no", (Answer("no", 0),)), Question("b", "no?", long, (Answer(long, 0),))]
    exact_pieces, f1_pieces, exact, f1 = ceiling(whole, ours(), TYDIQA, "en")
    assert (exact_pieces, f1_pieces, exact) == (100, 100, 50) and 50 < f1 < 100
    vocabulary = ours().get_vocab()
    piece = next(piece for piece in sorted(vocabulary) if piece.startswith("\u2581") and len(piece) > 4)
    word = piece[1:]
    inside = [Question("a", "no?", f"{word} no", (Answer(word[:-1], 0),))]
    assert ceiling(inside, ours(), TYDIQA, "en") == (0, 0, 0, 0)


def test_the_command_writes_a_row_for_every_file_with_answers(tmp_path):
    folder, tokenizer, output = tmp_path / "download", tmp_path / "tokenizer", tmp_path / "ceiling.tsv"
    ours().save_pretrained(tokenizer)
    write(folder, "xquad/xquad.de.json", one_question())
    write(folder, "xquad/xquad.el.json", squad(("Bonn", [("a", "?", [("", 0)])])))  # answers kept back
    write(folder, "tydiqa/tydiqa-goldp-v1.1-dev/tydiqa.ko.dev.json", one_question())
    write(folder, "xnli/test-de.tsv", "a\tb\n")
    result = CliRunner().invoke(command, [str(folder), str(tokenizer), "-o", str(output)], catch_exceptions=False)
    assert result.exit_code == 0
    rows = list(read_tsv(output))
    assert [(row["task"], row["split"], row["language"], row["questions"]) for row in rows] == [
        ("xquad", "test", "de", "1"),
        ("tydiqa", "test", "ko", "1"),
    ]
    assert {row[name] for row in rows for name in ("pieces_exact_match", "pieces_f1", "exact_match", "f1")} == {
        "100.0"
    }


def test_the_command_without_answers_or_a_tokenizer(tmp_path, caplog):
    """Answers that are all kept back, as XTREME leaves them, are no reason to stop a workflow."""
    write(tmp_path, "xquad/xquad.el.json", squad(("Bonn", [("a", "?", [("", 0)])])))
    ours().save_pretrained(tmp_path / "tokenizer")
    output = tmp_path / "out.tsv"
    arguments = [str(tmp_path), str(tmp_path / "nosuch"), "-o", str(output)]
    with pytest.raises(VocapError, match=r"no tokenizer\.json there"):
        CliRunner().invoke(command, arguments, catch_exceptions=False)
    assert not output.exists()
    arguments[1] = str(tmp_path / "tokenizer")
    assert CliRunner().invoke(command, arguments, catch_exceptions=False).exit_code == 0
    assert output.read_text("utf-8").count("\n") == 1 and "the table has no row" in caplog.text
