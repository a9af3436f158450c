"""Models of many classes in `vocap trim` and `extend`: transformers loads the old and
the new, whose outputs for text are the same.
"""

import json
import re
import shutil
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file
from tokenizers import AddedToken

from tests.cases import read_cases, refused
from tests.commands import caller
from tests.made_text import write_lines
from tests.tokenizers.factories import byte_tokenizer, make_lines
from vocap.model_folder import renumbered

from .test_trim import id_map

CASES = read_cases(__file__)
SPECIAL = ("<s>", "<pad>", "</s>", "<mask>", "<image>", "<|en|>")  # behind all other ids


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tokenizer and text, of which each test makes a model."""
    folder = tmp_path_factory.mktemp("models")
    lines = [line for code in ("en", "ka") for line in make_lines(code, 300, seed=5)]
    tokenizer = byte_tokenizer(lines, size=500)
    tokenizer.add_special_tokens([AddedToken(token) for token in SPECIAL])
    tokenizer.save(str(folder / "tokenizer.json"))
    write_lines(folder / "en.txt", make_lines("en", 300, seed=5))
    write_lines(folder / "xx.txt", [line[::-1] for line in make_lines("en", 300, seed=4)])
    return folder


def make(kind, folder, out, **more):
    """A small model with random weights in the new folder `out`, beside the tokenizer."""
    shutil.copytree(folder, out)
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=str(out / "tokenizer.json"))
    total, (bos, pad, eos, _, image, language) = (
        len(tokenizer),
        tokenizer.convert_tokens_to_ids(list(SPECIAL)),
    )
    ids = {"vocab_size": total, "bos_token_id": bos, "pad_token_id": pad, "eos_token_id": eos}
    bart = {
        "d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
        "decoder_attention_heads": 2, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16,
        "decoder_start_token_id": eos,
    }  # fmt: skip
    bert = {
        "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
        "intermediate_size": 16,
    }  # fmt: skip
    small = {
        "BartForConditionalGeneration": bart,
        "WhisperForConditionalGeneration": bart | {"num_mel_bins": 8, "max_source_positions": 20},
        "MobileBertForMaskedLM": bert | {"embedding_size": 8, "intra_bottleneck_size": 16},
        "Gemma3ForConditionalGeneration": {
            "text_config": bert | ids | {"num_key_value_heads": 1, "head_dim": 8},
            "vision_config": bert | {"image_size": 16, "patch_size": 8},
            "image_token_index": image, "mm_tokens_per_image": 4,
        },
    }.get(kind, bert)  # fmt: skip
    torch.manual_seed(3)
    model_class = getattr(transformers, kind)
    nested = {} if "text_config" in small else ids
    model = model_class(model_class.config_class(**small | nested | more))
    for name, tensor in [*model.named_parameters(), *model.named_buffers()]:
        if tensor.is_floating_point() and ("bias" in name or tensor.dim() > 1):
            torch.nn.init.normal_(tensor, std=0.3)
    model.save_pretrained(out)
    transformers.GenerationConfig(forced_bos_token_id=language).save_pretrained(out)
    (out / "preprocessor_config.json").write_text(json.dumps({"image_token_id": image}))
    return out


TRIM = "trim {source} --text=en={source}/en.txt --model {source} -o {tmp}/out"
EXTEND = (
    "extend {source} --language=xx --text={source}/xx.txt --heldout=en={source}/en.txt --pieces=20 "
    "--model {source} -o {tmp}/out"
)


@pytest.fixture
def call(tmp_path):
    return caller(tmp=tmp_path, source=tmp_path / "source")


def logits(folder, kind, line):
    """Of the ids of a line, which is the text of a decoder, too."""
    model = getattr(transformers, kind).from_pretrained(folder, dtype=torch.float32).eval()
    inputs = {"input_ids": torch.tensor([line])}
    if kind.startswith("Whisper"):
        torch.manual_seed(0)
        inputs = {"input_features": torch.randn(1, 8, 40)}
    if model.config.is_encoder_decoder:
        inputs["decoder_input_ids"] = torch.tensor([line])
    with torch.no_grad():
        return model(**inputs).logits[0]


@pytest.mark.parametrize(
    "kind",
    [
        "BartForConditionalGeneration",
        "MobileBertForMaskedLM",
        "Gemma3ForConditionalGeneration",
        "WhisperForConditionalGeneration",
    ],
)
def test_outputs_stay(folder, tmp_path, call, kind):
    source = make(kind, folder, tmp_path / "source")
    old = transformers.PreTrainedTokenizerFast(tokenizer_file=str(source / "tokenizer.json"))
    ids = old(make_lines("en", 300, seed=5)[7]).input_ids
    before = logits(source, kind, ids)
    for line in (TRIM, EXTEND):
        assert "logits of 8 lines differ by at most" in call(line)
        renamed = id_map(tmp_path / "out")
        after = logits(tmp_path / "out/model", kind, [renamed[number] for number in ids])
        torch.testing.assert_close(after[:, list(renamed.values())], before[:, list(renamed)])
        config = transformers.AutoConfig.from_pretrained(tmp_path / "out/model")
        text = config.get_text_config()
        assert (
            after.shape[1] == text.vocab_size == config.to_dict().get("vocab_size", text.vocab_size)
        )
        images = json.loads((tmp_path / "out/model/preprocessor_config.json").read_text())
        assert images == {"image_token_id": renamed[old.convert_tokens_to_ids("<image>")]}
        assert text.pad_token_id == renamed[old.convert_tokens_to_ids("<pad>")]
        if kind.startswith("Gemma3"):
            assert config.image_token_index == renamed[old.convert_tokens_to_ids("<image>")]
        written = transformers.GenerationConfig.from_pretrained(tmp_path / "out/model")
        assert written.forced_bos_token_id == renamed[old.convert_tokens_to_ids("<|en|>")]
        shutil.rmtree(tmp_path / "out")


def test_numbers_of_16_bits_stay(folder, tmp_path, call):
    """The files hold bfloat16, and the configuration says float32."""
    source = make("GPT2LMHeadModel", folder, tmp_path / "source", n_embd=16, n_layer=1, n_head=2)
    weights = load_file(source / "model.safetensors")
    weights = {name: tensor.bfloat16() for name, tensor in weights.items()}
    save_file(weights, source / "model.safetensors", {"format": "pt"})
    call(TRIM)
    written = load_file(tmp_path / "out/model/model.safetensors")
    assert {tensor.dtype for tensor in written.values()} == {torch.bfloat16}


def unadaptable(folder, tmp_path):
    """Models that cannot be adapted, each with the words of its refusal."""
    # positions count from the id of the padding, which changes
    source = make("RobertaForMaskedLM", folder, tmp_path / "roberta", max_position_embeddings=600)
    yield source, "RobertaForMaskedLM with other ids gives other logits"
    source = make("BertModel", folder, tmp_path / "bert")
    weights = load_file(source / "model.safetensors")
    weights["cls.bias"] = torch.zeros(len(weights["embeddings.word_embeddings.weight"]))
    save_file(weights, source / "model.safetensors", {"format": "pt"})
    yield source, r"the tensor cls.bias \[\d+\] may follow .* BertModel has no such tensor"
    source = make("BertModel", folder, tmp_path / "named")
    config = json.loads((source / "config.json").read_text())
    images = {f"IMGIMG{number}": number for number in range(260, 490)}
    (source / "config.json").write_text(json.dumps(config | {"vocabulary_map": images}))
    yield source, r"vocabulary_map names 'IMGIMG\d+', whose id \d+ is gone"
    source = make("BertModel", folder, tmp_path / "quantised")
    config = json.loads((source / "config.json").read_text())
    (source / "config.json").write_text(json.dumps(config | {"quantization_config": {}}))
    yield source, "quantised"
    (source / "adapter_config.json").write_text("{}")
    yield source, "merge it first"


def test_what_cannot_be_adapted_is_refused(folder, tmp_path):
    for source, says in unadaptable(folder, tmp_path):
        message = refused(caller(source=source, tmp=tmp_path), TRIM, says)
        assert str(source) in message and not (tmp_path / "out").exists()


def test_tensors_that_the_class_passes_over_are_named(folder, tmp_path, call, caplog):
    """Heads that predict further tokens, as published: of a layer behind the last."""
    latent = {"kv_lora_rank": 4, "q_lora_rank": 4, "qk_rope_head_dim": 4, "qk_nope_head_dim": 4}
    few = {"v_head_dim": 8, "first_k_dense_replace": 1, "num_key_value_heads": 2}
    source = make("DeepseekV3ForCausalLM", folder, tmp_path / "source", **latent, **few)
    weights = load_file(source / "model.safetensors")
    heads = {
        "model.layers.61.embed_tokens.weight": weights["lm_head.weight"].clone(),
        "model.layers.61.shared_head.head.weight": weights["lm_head.weight"].clone(),
        "model.layers.61.eh_proj.weight": torch.zeros(16, 32),
        "model.layers.61.enorm.weight": torch.zeros(16),
    }
    save_file(heads | weights, source / "model.safetensors", {"format": "pt"})
    save_file({"head": torch.zeros(3)}, source / "mtp.safetensors", {"format": "pt"})
    for line in (TRIM, EXTEND):
        caplog.clear()
        call(line)
        assert [record.getMessage() for record in caplog.records] == [
            f"{source}: 4 tensors without a place in DeepseekV3ForCausalLM are left out: "
            "model.layers.61.eh_proj.weight, model.layers.61.embed_tokens.weight, "
            "model.layers.61.enorm.weight and 1 more",
            f"{source}: 1 files of weights without a place in DeepseekV3ForCausalLM are left out: "
            "mtp.safetensors",
        ]
        written = load_file(tmp_path / "out/model/model.safetensors")
        assert written.keys() == weights.keys()
        shutil.rmtree(tmp_path / "out")


KEY = re.compile(r"^    (\w+_(?:ids?|index|idx))\b *[:=](?! bool)", re.M)


def test_every_key_of_ids_in_transformers_is_known():
    found = set()
    for file in Path(transformers.__file__).parent.glob("models/*/configuration_*.py"):
        found |= set(KEY.findall(file.read_text()))
    keys = {kind: set(keys.split()) for kind, keys in CASES["keys"].items()}
    tokens = {key for key in found if re.search("_token_(ids?|index)$", key)}
    assert found - tokens <= keys["of tokens"] | keys["of others"], "of tokens, or of what?"
    exchanged = {key for key in found if renumbered({key: 1}, {1: 5}.get, {}) == {key: 5}}
    assert exchanged == found & (tokens | keys["of tokens"]) - keys["of sound"]


def test_ids_of_all_forms_are_exchanged():
    """Ids below 10 stay one place behind; 50 is gone."""
    number = {**{old: old + 1 for old in range(10)}, 50: None}.get
    assert renumbered(CASES["settings"], number, {60: 40}) == CASES["renumbered"]
