"""Documents with line ends: sampled, read back, learnt as SentencePiece learns them,
and tokenized.
"""

import json
import random

import pytest
import sentencepiece
from hypothesis import given
from hypothesis import strategies as st

from tests.cases import refused
from tests.commands import caller, ended, sample_words
from tests.made_text import write_lines
from vocap.errors import UsageError
from vocap.text_files import MAX_LINE_BYTES, Layout
from vocap.text_files.lines import document_lines, escape_line, holds_documents, unescape_line
from vocap.text_files.records import read_lines

RULES = (
    ["", "    return x\n", "\n\n"],
    ["def f(x):\n", "a = 'b\\nc'\n", "\tif x:\n", "é = 1\r\n", "x\n"],
)


def make_documents(count: int) -> list[str]:
    rng = random.Random(0)
    return [
        "".join(rng.choice(rng.choice(RULES)) for _ in range(rng.randint(1, 60))) + f"# {number}"
        for number in range(count)
    ]


DOCUMENTS = make_documents(300)


@given(st.text())
def test_a_document_comes_back_from_its_line(text):
    assert "\n" not in escape_line(text) and unescape_line(escape_line(text)) == text


@given(
    st.lists(st.text(alphabet="a\n\\é ", max_size=30), max_size=6).map("\n".join),
    st.integers(8, 40),
)
def test_parts_are_the_document_cut_behind_line_ends(text, most):
    cut = [unescape_line(part) for part in document_lines(text, most)]
    assert "".join(cut).replace("\n", "").replace(" ", "") == text.replace("\n", "").replace(
        " ", ""
    )
    for part, whole in zip(cut, document_lines(text, most), strict=True):
        assert part in text and part.strip()
        assert len(whole.encode()) <= most or "\n" not in part[:-1]


def write(path, kind: str) -> str:
    """The documents as a file; the format for it."""
    if kind == "jsonl":
        write_lines(path, (json.dumps({"text": text}) for text in DOCUMENTS))
    else:
        pyarrow = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        parquet.write_table(pyarrow.table({"text": DOCUMENTS}), path)
    return f"{kind}:text"


def sample(folder, kind: str) -> None:
    layout = write(folder / "text", kind)
    ended(*sample_words(folder, folder / "text", "--documents", language="python", format=layout))


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_a_sample_of_documents_is_read_as_it_was_written(kind, tmp_path):
    sample(tmp_path, kind)
    found = [*read_lines(tmp_path / "train.txt"), *read_lines(tmp_path / "heldout.txt")]
    assert holds_documents(tmp_path / "train.txt")
    expected = {unescape_line(part) for text in DOCUMENTS for part in document_lines(text)}
    assert set(found) == expected and len(found) == len(expected)
    assert all(len(escape_line(text).encode()) <= MAX_LINE_BYTES for text in found)
    assert set(DOCUMENTS) <= set(found)  # none here is longer


def test_line_ends_are_pieces_of_the_ladder_and_of_tokenizers(tmp_path):
    """Models equal SentencePiece's of the same documents; held-out documents come
    back.
    """
    sample(tmp_path, "jsonl")
    line = "ladder {tmp}/train.txt --heldout {tmp}/heldout.txt --sizes 300,330 --preset lossless "
    caller(tmp=tmp_path)(line + "-o {tmp}")
    model = tmp_path / "models" / "300.model"
    from benchmarks.fuzzing.text_settings import reference
    from vocap.unigram.text_settings import PRESETS

    expected = reference([*read_lines(tmp_path / "train.txt")], 300, PRESETS["lossless"].changed())
    assert model.read_bytes() == expected
    processor = sentencepiece.SentencePieceProcessor(model_proto=expected)
    pieces = {processor.id_to_piece(number) for number in range(300)}
    assert ":\n" in pieces and any("\n\n" in piece for piece in pieces)
    assert all(
        processor.decode(processor.encode(text)) == text
        for text in read_lines(tmp_path / "heldout.txt")
    )


def test_blocks_for_pre_training_hold_the_documents(tmp_path):
    from vocap.pretraining.data import open_language
    from vocap.pretraining.tokenizing import tokenize_language
    from vocap.tokenizer_files.layout import relayout, serialize
    from vocap.tokenizer_files.model_file import read_model
    from vocap.unigram.sentencepiece_trainer import train
    from vocap.unigram.text_settings import text_settings

    sample(tmp_path, "jsonl")
    (tmp_path / "stock.model").write_bytes(
        train(DOCUMENTS, 300, settings=text_settings("lossless"))
    )
    model = tmp_path / "own.model"
    model.write_bytes(serialize(relayout(read_model(tmp_path / "stock.model"), "stock")))
    layout = Layout.parse("jsonl:text", documents=True)
    texts, out = [str(tmp_path / "text")], tmp_path / "python"
    tokenize_language("python", texts, layout, tmp_path / "heldout.txt", model, out, 8192)
    found, processor = open_language(out), sentencepiece.SentencePieceProcessor(str(model))
    for blocks, name in ((found.train, "train"), (found.heldout, "heldout")):
        ids = [token for token in blocks.tokens.tolist() if token not in (0, 2)]
        texts = [*read_lines(tmp_path / f"{name}.txt")]
        assert sorted(ids) == sorted(token for text in texts for token in processor.encode(text))
        assert int(blocks.size_bytes.sum()) == sum(len(text.encode()) for text in texts)


def test_documents_of_other_formats_are_refused():
    for text in ("text", "tsv:2"):
        with pytest.raises(UsageError, match="documents: whole records of jsonl or parquet"):
            Layout.parse(text, documents=True)
    with pytest.raises(UsageError, match="nor cut into sentences"):
        Layout.parse("jsonl:text", split_sentences=True, documents=True)


def test_no_sample_of_several_languages_is_drawn_of_documents(tmp_path):
    folder = tmp_path / "python"
    folder.mkdir()
    sample(folder, "jsonl")
    (tmp_path / "w.tsv").write_text("language\tn\tsource\npython\t9\town\n")
    line = "mix --weights {tmp}/w.tsv --corpora {tmp} -o {tmp}/mix.txt"
    refused(caller(tmp=tmp_path), line, "corpora.mix.sentences: all")
