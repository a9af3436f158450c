"""`vocap trim` on the layout of multilingual sentence embedding models (XLM-R's ids),
with small models.
"""

import shutil

import pytest
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from tests.adapt.made import small_model
from tests.made_text import write_lines
from tests.tokenizers.factories import make_lines
from vocap.files.io import read_tsv
from vocap.tokenizer_files.model_file import read_model
from vocap.unigram.sentencepiece_trainer import train

LANGUAGES = ("en", "ka", "zh")
SPARE = 35  # rows of multilingual-e5-small behind its 250,002 ids


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return make_files(tmp_path_factory.mktemp("embedding"))


def make_files(root, **keys):
    """The files of the tokenizer as XLM-R has them, and text."""
    lines = {language: make_lines(language, 400, seed=5) for language in LANGUAGES}
    for language in LANGUAGES:
        write_lines(root / f"{language}.txt", lines[language])
    stock = root / "tokenizer/sentencepiece.bpe.model"
    stock.parent.mkdir()
    stock.write_bytes(
        train([line for language in LANGUAGES for line in lines[language]], 600, **keys)
    )
    proto = read_model(stock)
    scored = [(entry.piece, entry.score) for entry in proto.pieces[3:]]  # behind <unk>, <s>, </s>
    first = [(token, 0.0) for token in ("<s>", "<pad>", "</s>", "<unk>")]
    tokenizer = Tokenizer(models.Unigram([*first, *scored, ("<mask>", 0.0)], unk_id=3))
    if rules := proto.normalizer_spec.precompiled_charsmap:
        tokenizer.normalizer = normalizers.Precompiled(rules)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace("▁")]
    )
    tokenizer.decoder = decoders.Metaspace("▁")
    tokenizer.post_processor = processors.TemplateProcessing(
        "<s> $A </s>", None, [("<s>", 0), ("</s>", 2)]
    )
    tokenizer.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    tokenizer.save(str(stock.parent / "tokenizer.json"))
    return root


def make_encoder(kind, rows):
    """XLM-R (e5-base, e5-large), the same without the pooling layer, or BERT with spare
    rows (e5-small).
    """
    if kind == "e5-small":
        return small_model("BertModel", rows + SPARE, pad_token_id=0)
    own = {"type_vocab_size": 1, "add_pooling_layer": kind != "no pooler"}
    return small_model("XLMRobertaModel", rows, **own)


def embed(model, batch):
    """Mean of the last hidden states over the tokens, of length 1: a sentence a row."""
    import torch

    with torch.no_grad():
        states = model(
            input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]
        ).last_hidden_state
    mask = batch["attention_mask"][:, :, None]
    return torch.nn.functional.normalize((states * mask).sum(1) / mask.sum(1), dim=1)


@pytest.mark.parametrize("kind", ["e5-base", "e5-small", "no pooler"])
def test_sentence_embeddings_stay(root, tmp_path, out, call, kind):
    import torch
    import transformers

    folder = tmp_path / "e5"
    shutil.copytree(root / "tokenizer", folder)
    old_tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    total = old_tokenizer.get_vocab_size()
    assert old_tokenizer.id_to_token(total - 1) == "<mask>"
    make_encoder(kind, total).save_pretrained(folder)
    texts = "--text=en={root}/en.txt --text=ka={root}/ka.txt --only-used "
    shown = call("trim {tmp}/e5 --model {tmp}/e5 -o {tmp}/out " + texts)
    assert "all the same" in shown
    sizes = [sizes_of(place) for place in (folder, out / "model")]
    assert (
        "model: {:,} to {:,} parameters, of them embeddings {:,} to {:,}; weights {:,.2f} to "
        "{:,.2f} MB".format(*(side[place] for place in range(3) for side in sizes))
    ) in shown

    renamed = {int(row["old"]): int(row["new"]) for row in read_tsv(out / "ids.tsv")}
    assert len(renamed) < total
    assert [renamed[number] for number in (0, 1, 2, 3, total - 1)] == [0, 1, 2, 3, len(renamed) - 1]
    old = transformers.AutoModel.from_pretrained(folder, **pooling(kind)).eval()
    new = transformers.AutoModel.from_pretrained(out / "model", **pooling(kind)).eval()
    assert type(new) is type(old) and new.config.vocab_size == len(renamed)
    assert new.get_input_embeddings().num_embeddings == len(renamed)
    tokenizer = transformers.AutoTokenizer.from_pretrained(out / "model")
    old_tokenizer.enable_padding(pad_id=1, pad_token="<pad>")
    for language in ("en", "ka"):
        lines = (root / f"{language}.txt").read_text("utf-8").splitlines()[:50]
        ids = [entry.ids for entry in old_tokenizer.encode_batch(lines)]
        masks = [entry.attention_mask for entry in old_tokenizer.encode_batch(lines)]
        batch = tokenizer(lines, padding=True, return_tensors="pt")
        assert batch["input_ids"].tolist() == [[renamed[number] for number in row] for row in ids]
        before = embed(old, {"input_ids": torch.tensor(ids), "attention_mask": torch.tensor(masks)})
        torch.testing.assert_close(embed(new, batch), before, rtol=1e-6, atol=1e-6)


def sizes_of(folder):
    """Numbers of all weights and of the embeddings of ids in a file; its MB."""
    from safetensors.numpy import load_file

    weights = load_file(folder / "model.safetensors")
    table = weights["embeddings.word_embeddings.weight"].size
    size = (folder / "model.safetensors").stat().st_size / 1e6
    return sum(one.size for one in weights.values()), table, size


def pooling(kind):
    return {"add_pooling_layer": False} if kind == "no pooler" else {}
