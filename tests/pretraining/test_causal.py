"""Causal models: the exported folder against Hugging Face's classes, code lengths
against their definition.
"""

import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from tests.cases import read_cases
from tests.made_text import write_lines
from tests.pretraining.factories import (
    LENGTH,
    RECIPE,
    arguments,
    make_blocks,
    make_lines,
    make_tokenizer,
)
from tests.pretraining.processes import (
    results,
    trained,
)
from vocap.errors import UsageError, VocapError
from vocap.files.io import read_object, read_tsv
from vocap.pretraining.code_length import spread_lines
from vocap.pretraining.data import (
    TrainingBatches,
    Vocabulary,
    heldout_blocks,
    load_data,
    open_language,
)
from vocap.pretraining.model import build_language_model, export_model
from vocap.pretraining.settings import Recipe, Shape, count_parameters
from vocap.pretraining.tokenizing import tokenize_language
from vocap.pretraining.training import pretrain_model
from vocap.tables.line_bits import read_lengths
from vocap.text_files import Layout
from vocap.text_files.lines import escape_line

CASES = read_cases(__file__)
SHAPE, OWN = CASES["shape"], json.dumps(CASES["layout"])
CODES = ["de", "ja", "ru"]
END, UNK, NEVER = 0, 1, [2, 3, 4]


def causal(**changes) -> dict:
    return RECIPE | {"objective": "causal", "loss": "full", "shape": SHAPE} | changes


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A tokenizer without begin token, padding and mask, whose held-out text has
    unknown characters.
    """
    folder = tmp_path_factory.mktemp("causal")
    tokenizer = make_tokenizer(folder / "tokenizer", OWN)
    make_blocks(folder, tokenizer, {"de": 300, "ja": 150, "ru": 200})
    rare = [f"{line} \u2603\u2603 \U0001f9ff" for line in make_lines("ja", 20, seed=5)]
    heldout = write_lines(folder / "text" / "ja" / "heldout.txt", rare)
    model = tokenizer / "sentencepiece.model"
    train = [str(folder / "text" / "ja" / "train.txt")]
    tokenize_language("ja", train, Layout(), heldout, model, folder / "tokens" / "ja", LENGTH)
    return folder


def own(made: Path, **changes) -> list[str]:
    return arguments(made / "tokenizer", made / "tokens", **causal(**changes))


def data_of(made: Path):
    return load_data(made / "tokens", CODES, made / "tokenizer", 0.7, "lines")


@pytest.fixture(scope="module")
def finished(made, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("finished") / "model"
    trained(own(made, export_steps=[4]), out)
    return out


def next_token_bits(model, ids: list[int]) -> float:
    """-log2 p of all ids but the first, by the whole logits of one sequence; ids that
    never occur left out.
    """
    with torch.no_grad():
        logits = model(torch.tensor([ids])).logits[0].double()
    logits[:, NEVER] = -math.inf
    return -torch.log_softmax(logits, 1)[
        torch.arange(len(ids) - 1), ids[1:]
    ].sum().item() / math.log(2)


def unknown_bytes(made: Path, ids: list[int]) -> int:
    """By the text: made sentences have no unknown character but those that the fixture
    adds to each line.
    """
    assert ids.count(UNK) % 2 == 0  # two snowmen are one token
    return ids.count(UNK) // 2 * len("\u2603\u2603\U0001f9ff".encode())


@pytest.mark.parametrize(("name", "line"), [("model-4", 0), ("model", -1)])
def test_bits_per_byte_are_the_code_length_under_the_exported_model(made, finished, name, line):
    model = AutoModelForCausalLM.from_pretrained(finished / name).eval()
    row, data = results(finished)[1][line], data_of(made)
    bits = size = 0.0
    for place, language in enumerate(data.languages):
        own_bits = own_size = 0
        for block in heldout_blocks(data.heldout, RECIPE["heldout_blocks"]):
            if block.language == place:
                ids = block.ids.tolist()
                assert ids[0] == ids[-1] == END
                own_bits += next_token_bits(model, ids) + 8 * unknown_bytes(made, ids)
                own_size += block.size_bytes
        assert row["languages"][language]["bits_per_byte"] == pytest.approx(
            own_bits / own_size, rel=1e-5
        )
        bits, size = bits + own_bits, size + own_size
    assert row["bits_per_byte"] == pytest.approx(bits / size, rel=1e-5)
    assert any(UNK in block.ids for block in heldout_blocks(data.heldout, 2))
    said = read_object(finished / "description.json")
    assert said["bits_per_byte"] == "code length of the normalised text"


def test_unknown_characters_are_recorded_by_block(made):
    blocks = open_language(made / "tokens" / "ja").heldout
    each = [unknown_bytes(made, blocks[number].tolist()) for number in range(len(blocks))]
    assert blocks.unknown_bytes.tolist() == each and sum(each) == 20 * 10


def test_every_token_but_a_blocks_first_is_predicted_from_those_before(made):
    data = data_of(made)
    batches = TrainingBatches(
        data.train, data.q, Vocabulary(data.vocabulary, data.special), 1, 8, 8, causal=True
    )
    (batch,) = batches.step(0)
    languages, numbers = batches.members(0)
    blocks = [data.train[one][two].tolist() for one, two in zip(languages, numbers, strict=True)]
    assert batch.targets.tolist() == [token for ids in blocks for token in ids[1:]]
    assert batch.input_ids.ravel()[batch.positions].tolist() == [
        token for ids in blocks for token in ids[:-1]
    ]
    assert batch.tokens == sum(map(len, blocks)) and END in batch.targets


@pytest.mark.parametrize("width", [None, 8])
def test_the_exported_folder_has_the_models_logits_and_generates(made, tmp_path, width):
    torch.manual_seed(3)
    data, shape = data_of(made), Shape(**SHAPE | {"embedding_size": width, "deviation": 0.2})
    model = build_language_model(shape, data.vocabulary, data.special, causal=True).eval()
    assert count_parameters(shape, data.vocabulary, True) == sum(
        one.numel() for one in model.parameters()
    )
    export_model(model, made / "tokenizer" / "huggingface", tmp_path / "model")
    loaded = AutoModelForCausalLM.from_pretrained(tmp_path / "model").eval()
    assert type(loaded).__name__ == "LlamaForCausalLM" and loaded.config.num_key_value_heads == 2
    assert loaded.config.tie_word_embeddings == (width is None)
    ids = torch.randint(5, data.vocabulary, (3, 20))
    with torch.no_grad():
        rows = model(ids, None, torch.arange(60))
        expected = torch.nn.functional.linear(rows, model.decoder_weight).view(3, 20, -1)
        found = loaded(ids).logits
        torch.testing.assert_close(found, expected, atol=1e-5 if width else 0, rtol=0)
        # greedy, with the cache of keys and values: each token is the best after all
        # before it
        tokenizer = AutoTokenizer.from_pretrained(tmp_path / "model")
        prompt = tokenizer(
            make_lines("de", 1)[0], add_special_tokens=False, return_tensors="pt"
        ).input_ids
        whole = loaded.generate(prompt, max_new_tokens=8, do_sample=False, eos_token_id=-1)
        best = loaded(whole).logits.argmax(2)
    assert (whole[0, prompt.shape[1] :] == best[0, prompt.shape[1] - 1 : -1]).all()
    assert loaded.generation_config.eos_token_id == END == loaded.generation_config.bos_token_id


@pytest.mark.parametrize("loss", CASES["losses"])
def test_the_next_token_is_learnt(made, tmp_path, loss):
    """Of half embeddings."""
    shape = SHAPE | {"embedding_size": 8}
    recipe = causal(loss=loss, shape=shape, steps=24, log_every=12, learning_rate=0.02)
    folders = (made / "tokenizer", made / "tokens", tmp_path / "run")
    pretrain_model(*folders, settings=recipe, threads=1)
    first, last = results(tmp_path / "run")[1]
    assert last["loss"] < first["loss"] and last["skipped"] == 0


def test_code_lengths_of_lines_are_those_of_the_exported_model(made, finished, tmp_path):
    """Also of a line longer than the model reads, whose windows overlap by half, and of
    unknown characters.
    """
    lines = [
        *make_lines("de", 6, seed=9),
        " ".join(make_lines("de", 30, seed=9)),
        "a \u2603\u2603 \U0001f9ff",
    ]
    text = write_lines(tmp_path / "de.txt", [*lines, ""])
    line = f"--model {finished}/model --text de={text} --parallel {tmp_path}/{{lang}}.txt"
    said = trained(line.split(), tmp_path / "bits.tsv", verb="code-length")
    assert "code length of the normalised text" in said
    model = AutoModelForCausalLM.from_pretrained(finished / "model").eval()
    tokenizer = AutoTokenizer.from_pretrained(finished / "model")
    expected = []
    for line in lines:
        ids = [END, *tokenizer(line, add_special_tokens=False).input_ids, END]
        if len(ids) <= LENGTH:
            expected.append(next_token_bits(model, ids))
        else:
            assert len(ids) > 3 * LENGTH
            expected.append(next_token_bits(model, ids[:LENGTH]))
            for first in range(LENGTH, len(ids), LENGTH // 2):
                part = ids[: first + LENGTH // 2][-LENGTH:]
                known = part[: -len(ids[first : first + LENGTH // 2])]
                expected[-1] += next_token_bits(model, part) - next_token_bits(model, known)
    expected[-1] += 8 * len("\u2603\u2603\U0001f9ff".encode())
    for part in ("heldout", "parallel"):
        found = read_lengths(tmp_path / "bits.npz", part)["de"]
        assert found[0].tolist() == pytest.approx(expected, rel=1e-5)
        assert found[1].tolist() == [len(line.encode()) for line in lines]
    first, second = read_tsv(tmp_path / "bits.tsv", ("language", "part", "bits_per_byte"))
    assert float(first["bits_per_byte"]) == pytest.approx(sum(expected) / found[1].sum(), rel=1e-5)
    assert first["unknown_bytes"] == second["unknown_bytes"] == "10"


def test_documents_are_measured_as_they_are(tmp_path):
    documents = ['print("a\\n")\n\tb\\', "c"]
    write_lines(tmp_path / "heldout.txt", map(escape_line, documents))
    (tmp_path / "stats.json").write_text('{"documents": true}')
    assert spread_lines(tmp_path / "heldout.txt", 2) == documents


@pytest.mark.parametrize(("changes", "shape", "says"), CASES["apart"])
def test_settings_that_do_not_go_together(changes, shape, says):
    with pytest.raises(ValueError, match=says):
        Recipe.model_validate(causal(**changes, shape=SHAPE | shape))


def test_bad_input_is_one_line(made, tmp_path):
    folders = (made / "tokenizer", made / "tokens", tmp_path / "run")
    with pytest.raises(
        UsageError, match=r"masked needs special tokens of every role, .* role bos, pad, mask; "
    ):
        pretrain_model(*folders, settings=RECIPE, threads=1)
    without = make_tokenizer(tmp_path / "tokenizer", '{"special": ["<s>", "<unk>"], "mask": false}')
    text = write_lines(tmp_path / "text.txt", ["a", "b"])
    with pytest.raises(VocapError, match="no special token of role eos, which ends each sentence"):
        tokenize_language(
            "de", [str(text)], Layout(), text, without / "sentencepiece.model", tmp_path / "de"
        )
    assert np.isfinite(open_language(made / "tokens" / "de").heldout.unknown_bytes).all()
