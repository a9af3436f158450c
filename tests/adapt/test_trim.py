"""`vocap trim`: SentencePiece itself segments every line before and after; transformers
runs both models.
"""

import json
import random
import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sentencepiece import SentencePieceProcessor
from transformers import AutoTokenizer

import vocap.adapt.trim
from tests.commands import run
from tests.made_text import write_lines
from tests.tokenizers.factories import make_lines, trained_normalizer
from vocap.adapt.commands import extend, trim
from vocap.adapt.unigram_tokenizer import UnigramTokenizer
from vocap.errors import UsageError, VocapError
from vocap.files.io import read_tsv, write_tsv
from vocap.tokenizer_files.export import export_unigram
from vocap.tokenizer_files.id_layout import XLM_R_LAYOUT
from vocap.tokenizer_files.layout import Contents, lay_out, relayout, serialize
from vocap.tokenizer_files.model_file import read_model
from vocap.unigram.sentencepiece_trainer import train

LANGUAGES = ("en", "ka", "zh")


def processor(path):
    return SentencePieceProcessor(model_file=str(path))


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Corpora of three languages, and one tokenizer of all of them as the workflow
    leaves it.
    """
    root = tmp_path_factory.mktemp("trim")
    both = []
    for language in LANGUAGES:
        lines = make_lines(language, 700, seed=3)
        both += lines
        folder = root / "corpora" / language
        write_lines(folder / "train.txt", lines[:600])
        write_lines(folder / "heldout.txt", lines[600:])
    (root / "stock.model").write_bytes(train(both, 700, threads=1, user_defined_symbols=["<date>"]))
    folder = root / "tokenizers" / "all"
    folder.mkdir(parents=True)
    (folder / "sentencepiece.model").write_bytes(
        serialize(relayout(read_model(root / "stock.model"), "stock"))
    )
    export_unigram(folder / "sentencepiece.model", folder / "huggingface")
    return root


def test_a_chat_template_goes_with_the_tokenizer(root, tmp_path):
    """From the results' huggingface/ to both folders of the new one, and from there
    with an export.
    """
    source, template = tmp_path / "source", "{{ bos_token }}{{ messages[0].content }}"
    shutil.copytree(root / "tokenizers" / "all", source)
    (source / "huggingface" / "chat_template.jinja").write_text(template, "utf-8")
    run(trim, source, "--corpora", root / "corpora", "--languages=en", "-o", tmp_path / "less")
    export_unigram(tmp_path / "less" / "sentencepiece.model", tmp_path / "again")
    for folder in (tmp_path / "less" / "huggingface", tmp_path / "again"):
        loaded = AutoTokenizer.from_pretrained(folder)
        assert (
            loaded.apply_chat_template([{"role": "user", "content": "x"}], tokenize=False) == "<s>x"
        )


def lines_of(root, language, part):
    return (root / "corpora" / language / f"{part}.txt").read_text("utf-8").splitlines()


def id_map(out):
    return {int(row["old"]): int(row["new"]) for row in read_tsv(out / "ids.tsv") if row["old"]}


def test_every_line_is_segmented_as_before(root, tmp_path):
    # finds the run's corpora
    shown = run(trim, root / "tokenizers/all", "--languages=en,ka", "-o", tmp_path / "out")
    assert "1,400 lines compared, all the same" in shown
    before, after = (
        processor(root / "tokenizers/all/sentencepiece.model"),
        processor(tmp_path / "out/sentencepiece.model"),
    )
    renamed = id_map(tmp_path / "out")
    assert after.get_piece_size() < before.get_piece_size()
    for language in ("en", "ka"):
        for line in lines_of(root, language, "train") + lines_of(root, language, "heldout"):
            assert [renamed[number] for number in before.encode(line)] == after.encode(line)
    for old, new in renamed.items():
        assert before.id_to_piece(old) == after.id_to_piece(new)
        assert before.get_score(old) == after.get_score(new)
    # the layout that all tokenizers share, and no piece of the language that was left
    # out
    assert [after.id_to_piece(n) for n in range(4)] == ["<s>", "<pad>", "</s>", "<unk>"]
    assert after.id_to_piece(after.get_piece_size() - 1) == "<mask>"
    assert not any(after.id_to_piece(n) in "的一是不了" for n in range(after.get_piece_size()))
    assert after.encode("a<date>b", out_type=str).count("<date>") == 1


def test_the_function_gives_what_the_command_writes(root, tmp_path):
    """Of sentences that can be read once; nothing is written without a folder."""
    one = root / "tokenizers/all"
    files = {code: root / "corpora" / code / "train.txt" for code in ("en", "ka")}
    named = [f"--text={code}={path}" for code, path in files.items()]
    run(trim, one, *named, "--min-count=5", "-o", tmp_path / "out")
    sentences = {code: iter(path.read_text("utf-8").splitlines()) for code, path in files.items()}
    found = vocap.adapt.trim.trim(one, text=sentences, min_count=5)
    rows = [
        (int(row["old"]) if row["old"] else None, int(row["new"]), row["piece"], row["reason"])
        for row in read_tsv(tmp_path / "out/ids.tsv")
    ]
    assert found.ids == rows
    line = lines_of(root, "en", "train")[0]
    wanted = processor(tmp_path / "out/sentencepiece.model").encode(line)
    assert found.tokenizer.encoder.encode_batch([line]) == [wanted]
    found.write(tmp_path / "same" / "out")
    for name in ("sentencepiece.model", "comparison.tsv", "description.json"):
        assert (tmp_path / "same/out" / name).read_bytes() == (tmp_path / "out" / name).read_bytes()


def test_comparison_counts_lines_that_need_held_out_text(root, tmp_path):
    run(trim, root / "tokenizers/all", "--languages=en", "--only-used", "-o", tmp_path / "out")
    before = processor(root / "tokenizers/all/sentencepiece.model")
    known = {
        piece
        for line in lines_of(root, "en", "train")
        for piece in before.encode(line, out_type=str)
    }
    known |= set("".join(known))
    surprised = [
        line
        for line in lines_of(root, "en", "heldout")
        if not known.issuperset(before.encode(line, out_type=str))
    ]
    rows = {row["part"]: row for row in read_tsv(tmp_path / "out/comparison.tsv")}
    assert int(rows["heldout"]["unforeseen"]) == len(surprised)
    assert rows["train"]["unforeseen"] == ""
    assert [row["share"] for row in rows.values()] == ["1.0", "1.0"]


def test_rare_pieces_dropped_are_named(root, tmp_path):
    shown = run(
        trim, root / "tokenizers/all", "--languages=en", "--min-count=40", "-o", tmp_path / "out"
    )
    before, after = (
        processor(root / "tokenizers/all/sentencepiece.model"),
        processor(tmp_path / "out/sentencepiece.model"),
    )
    rows = {row["part"]: row for row in read_tsv(tmp_path / "out/comparison.tsv")}
    for part, row in rows.items():
        pairs = [
            [side.encode(line, out_type=str) for side in (before, after)]
            for line in lines_of(root, "en", part)
        ]
        assert int(row["identical"]) == sum(one == other for one, other in pairs) < len(pairs)
        assert int(row["tokens_after"]) == sum(len(other) for _, other in pairs)
        assert (
            row["example"].startswith("“")
            and "→" in row["example"]
            and row["example"][:20] in shown
        )
    assert "differ" in shown


def test_pieces_of_the_languages_stay(root, tmp_path):
    """By pieces.tsv beside the model, or not at all."""
    folder = tmp_path / "tokenizer"
    shutil.copytree(root / "tokenizers/all", folder)
    names = [
        entry.piece
        for entry in read_model(folder / "sentencepiece.model").pieces
        if entry.type == 1
    ]
    unused = next(piece for piece in names if piece[0] in "的一是不了在" and len(piece) > 1)
    write_tsv(folder / "pieces.tsv", ("piece", "languages"), [(unused, "en,zh"), (names[0], "")])
    options = ["--corpora", root / "corpora", "--languages=en", "-o", tmp_path / "out"]

    def reasons(*more):
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        run(trim, folder, *options, *more)
        return {row["piece"]: row["reason"] for row in read_tsv(tmp_path / "out/ids.tsv")}

    found = reasons()
    assert found[unused] == "language" and all(
        found[character] == "character" for character in unused
    )
    assert unused not in reasons("--only-used")


def test_all_characters_stay_if_asked_for(root, tmp_path):
    run(trim, root / "tokenizers/all", "--languages=en", "--all-characters", "-o", tmp_path / "out")
    before = read_model(root / "tokenizers/all/sentencepiece.model")
    after = {entry.piece for entry in read_model(tmp_path / "out/sentencepiece.model").pieces}
    assert {entry.piece for entry in before.pieces if len(entry.piece) == 1} <= after


SCORES = st.integers(-12, -1).map(lambda step: step / 2)  # halves: many ties


@settings(deadline=None, max_examples=60)
@given(
    st.dictionaries(st.text("abc▁", min_size=1, max_size=4), SCORES, min_size=3, max_size=25),
    st.data(),
)
def test_a_line_changes_if_and_only_if_it_used_a_removed_piece(vocabulary, data):
    """SentencePiece on made vocabularies full of ties, unknown characters among the
    text.
    """
    contents = Contents(list(vocabulary), np.array(list(vocabulary.values())))
    proto = lay_out(contents, trained_normalizer())
    source = UnigramTokenizer(Path("it.model"), proto, {}, XLM_R_LAYOUT)
    lines = [data.draw(st.text("abcx ", min_size=1, max_size=12)) for _ in range(8)]
    before = SentencePieceProcessor(model_proto=serialize(proto))
    ids = [number for line in lines[:4] for number in before.encode(line)]
    uses = np.bincount(ids, minlength=len(proto.pieces))
    choice = source.choose(uses, np.zeros_like(uses), (), 1, False)
    after = SentencePieceProcessor(model_proto=serialize(source.cut_to(choice, {}).proto))
    removed = vocabulary.keys() - choice.reasons.keys()
    for place, line in enumerate(lines):
        ids = before.encode(line)
        pieces = [before.id_to_piece(number) for number in ids]
        same = pieces == [after.id_to_piece(number) for number in after.encode(line)]
        assert same == removed.isdisjoint(pieces)
        assert same or place >= 4


def make_model(kind, rows):
    import torch
    import transformers

    torch.manual_seed(1)
    small = {
        "vocab_size": rows,
        "hidden_size": 16,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 24,
        "max_position_embeddings": 40,
        "bos_token_id": 0,
        "pad_token_id": 1,
        "eos_token_id": 2,
    }
    if kind == "half":
        model = transformers.ElectraForMaskedLM(
            transformers.ElectraConfig(**small, embedding_size=8)
        )
    elif kind == "untied":
        model = transformers.BertForMaskedLM(
            transformers.BertConfig(**small, tie_word_embeddings=False)
        )
    elif kind == "bare":
        model = transformers.XLMRobertaModel(transformers.XLMRobertaConfig(**small))
    else:
        model = transformers.XLMRobertaForMaskedLM(transformers.XLMRobertaConfig(**small))
    for parameter in model.parameters():  # biases too
        torch.nn.init.normal_(parameter, std=0.5)
    return model.half() if kind == "float16" else model


def test_byte_pieces_stay(root, tmp_path):
    lines = [line for language in LANGUAGES for line in lines_of(root, language, "train")]
    random.Random(1).shuffle(lines)
    (tmp_path / "bytes.model").write_bytes(
        train(lines, 800, threads=1, byte_fallback=True, coverage=0.98)
    )
    text = tmp_path / "en.txt"
    text.write_text("\n".join(lines_of(root, "en", "train")[:50]) + "\nꙮ\n", "utf-8")
    run(trim, tmp_path / "bytes.model", f"--text=en={text}", "-o", tmp_path / "out")
    before, after = (
        processor(tmp_path / "bytes.model"),
        processor(tmp_path / "out/sentencepiece.model"),
    )
    for line in text.read_text("utf-8").splitlines():
        assert before.encode(line, out_type=str) == after.encode(line, out_type=str)
    assert after.encode("ꙮ", out_type=str)[-3:] == [f"<0x{byte:02X}>" for byte in "ꙮ".encode()]


def test_it_can_be_run_again_but_not_over_a_folder_that_is_there(root, tmp_path):
    words = (root / "tokenizers/all", "--languages=en", "-o")
    (tmp_path / "empty").mkdir()
    for name in ("out", "empty"):
        run(trim, *words, tmp_path / name)
    files = [sorted(path for path in (tmp_path / name).rglob("*")) for name in ("out", "empty")]
    assert [path.name for path in files[0]] == [path.name for path in files[1]]
    for one, other in zip(*files, strict=True):
        # the card has the folder's name
        assert one.is_dir() or one.name == "README.md" or one.read_bytes() == other.read_bytes()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    within = (tmp_path / "out/sentencepiece.model", f"--corpora={root}/corpora", "-o")
    added = ("--language=zh", "--pieces=5")
    for name in ("out", "mine", "file"):
        for command, start in (
            (trim, words),
            (trim, within),
            (extend, (words[0], *added, "-o")),
            (extend, (*within[:2], *added, "-o")),
        ):
            with pytest.raises(UsageError, match=f"-o .*{name}: .*name a folder that is not"):
                run(command, *start, tmp_path / name)
    assert sorted((tmp_path / "out").rglob("*")) == files[0]
    assert (tmp_path / "mine/notes.txt").read_text() == (tmp_path / "file").read_text() == "mine"


def bad_calls(root, tmp_path):
    (tmp_path / "empty.txt").write_text("")
    shutil.copytree(root / "tokenizers/all/huggingface", tmp_path / "model")
    folder, corpora = root / "tokenizers/all", ["--corpora", root / "corpora"]
    stock = root / "stock.model"
    return [
        (
            [folder / "huggingface"],
            VocapError,
            "a unigram tokenizer without its SentencePiece model",
        ),
        (
            [folder / "huggingface/tokenizer.json"],
            VocapError,
            "a unigram tokenizer without its SentencePiece model",
        ),
        ([folder, f"--text=en={tmp_path}/empty.txt"], VocapError, "no line in any text"),
        (
            [folder, "--languages=en", f"--heldout=ka={tmp_path}/empty.txt"],
            UsageError,
            "ka is not among",
        ),
        (
            [folder, "--languages=en", "--model", tmp_path / "model"],
            VocapError,
            "config.json: no such file",
        ),
        (
            [stock, *corpora, "--languages=en", "--model", tmp_path / "model"],
            VocapError,
            "no id for <pad>, <mask>",
        ),
    ]


def test_a_bad_call_leaves_nothing(root, tmp_path):
    for arguments, kind, message in bad_calls(root, tmp_path):
        with pytest.raises(kind, match=message):
            run(trim, *arguments, "-o", tmp_path / "out")
        assert not (tmp_path / "out").exists()


def test_warnings_name_no_temporary_path(root, tmp_path, caplog):
    """A piece of characters that are none themselves: the export warns, of the folder
    that was asked for.
    """
    proto = read_model(root / "stock.model")
    proto.pieces.add(piece="ꙮꙮ", score=-5.0)
    (tmp_path / "rare.model").write_bytes(proto.SerializeToString())
    (tmp_path / "rare.txt").write_text("ꙮꙮ\n", "utf-8")
    run(trim, tmp_path / "rare.model", f"--text=en={tmp_path}/rare.txt", "-o", tmp_path / "out")
    assert "where they stand alone" in caplog.text
    assert ".part" not in caplog.text and f"{tmp_path}/out: " in caplog.text


def damaged_models(folder):
    """Each change of a model's folder, and the words of its refusal."""
    weights, config = folder / "model.safetensors", folder / "config.json"
    data, settings = weights.read_bytes(), json.loads(config.read_text("utf-8"))
    for broken in (data[: len(data) // 2], b"", data[:8] + b"[" * 100 + data[108:]):
        yield weights, broken, "transformers cannot load it"
    for values, says in (
        ({"architectures": 5}, "architectures is 5, not of type list"),
        ({"architectures": ["Evil"]}, "none of transformers"),
        ({"hidden_size": 8}, "transformers cannot load it"),
        ({"num_hidden_layers": 3}, "it lacks weights"),
        ({"model_type": "none"}, "cannot load it"),
    ):
        yield config, json.dumps(settings | values).encode(), says
    yield config, b"{", "config.json.*name the folder of a Hugging Face model"


def test_a_damaged_model_is_one_message(root, tmp_path):
    folder, model = root / "tokenizers/all", tmp_path / "model"
    size = processor(folder / "sentencepiece.model").get_piece_size()
    make_model("tied", size).save_pretrained(model)
    for path, broken, says in list(damaged_models(model)):
        whole = path.read_bytes()
        path.write_bytes(broken)
        with pytest.raises(VocapError, match=says) as error:
            run(trim, folder, "--languages=en", "--model", model, "-o", tmp_path / "out")
        assert str(error.value).startswith(str(model)) and len(str(error.value)) < 1500
        assert "\n" not in str(error.value) and not (tmp_path / "out").exists()
        path.write_bytes(whole)


def test_a_model_of_another_tokenizer_is_refused(root, tmp_path):
    folder = root / "tokenizers/all"
    model = tmp_path / "model"
    make_model("tied", 50).save_pretrained(model)
    with pytest.raises(VocapError, match="the model has 50 rows"):
        run(trim, folder, "--languages=en", "--model", model, "-o", tmp_path / "out")
    definition = json.loads((folder / "huggingface/tokenizer.json").read_text("utf-8"))
    vocabulary = definition["model"]["vocab"]
    vocabulary[10], vocabulary[11] = vocabulary[11], vocabulary[10]
    (model / "tokenizer.json").write_text(json.dumps(definition), "utf-8")
    with pytest.raises(VocapError, match="has id 11 there and 10"):
        run(trim, folder, "--languages=en", "--model", model, "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()
