"""`vocap trim` and `extend` for byte-pair encoding: `tokenizers` itself encodes every
line before and after.
"""

import json
import shutil
from collections import Counter
from itertools import pairwise

import pytest
import torch
from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    pre_tokenizers,
    processors,
    trainers,
)
from transformers import AutoTokenizer, GPT2Config, GPT2LMHeadModel

from tests.adapt.made import write_corpora
from tests.cases import read_cases, refused, set_at
from tests.commands import caller
from tests.tokenizers.factories import byte_tokenizer, make_lines
from vocap.files.io import read_tsv, write_tsv

LANGUAGES = ("en", "ka", "zh")
NEW = "fr"  # words of `en` turned around, and two letters of its own
CASES = read_cases(__file__)
KINDS = {
    "bytes": "--preset=lossless",
    "normalised": "",
    "symbols": "--preset=lossless --user-defined-symbols=<date>",
}
MADE = ("characters", "gpt2", "llama3")
EXTEND = "extend {root}/tokenizers/{kind} --language=fr --corpora={root}/corpora -o {tmp}/out "
WHOLE = "QXQ"


def made(kind, lines):
    """A tokenizer of characters with bytes for the others, as of Llama 2; as of GPT-2,
    special token last; as of Llama 3, whole words first, every split a merge.
    """
    if kind == "characters":
        return character_tokenizer(lines)
    tokenizer = byte_tokenizer([line.replace(WHOLE, "") for line in lines], size=700)
    content = json.loads(tokenizer.to_str())
    if kind == "llama3":
        vocabulary = content["model"]["vocab"]
        merges = []
        for token in sorted(vocabulary, key=vocabulary.get):
            splits = [[token[:place], token[place:]] for place in range(1, len(token))]
            splits = [pair for pair in splits if vocabulary.keys() >= set(pair)]
            merges += sorted(splits, key=lambda pair: [vocabulary[part] for part in pair])
        vocabulary[WHOLE] = len(vocabulary)  # a word that no merge gives
        content["model"] |= {"merges": merges, "ignore_merges": True}
    tokenizer = Tokenizer.from_str(json.dumps(content))
    tokenizer.add_special_tokens([AddedToken("<|begin|>", normalized=False), AddedToken("<|end|>")])
    ends = [
        ("<|begin|>", tokenizer.token_to_id("<|begin|>")),
        ("<|end|>", tokenizer.token_to_id("<|end|>")),
    ]
    if kind == "llama3":
        template = processors.TemplateProcessing("<|begin|> $A", "<|begin|> $A <|end|> $B", ends)
        tokenizer.post_processor = processors.Sequence(
            [processors.ByteLevel(trim_offsets=False), template]
        )
    else:
        tokenizer.post_processor = processors.RobertaProcessing(
            ends[1], ends[0], trim_offsets=False
        )
    tokenizer.enable_padding(pad_id=ends[1][1], pad_token="<|end|>")
    return tokenizer


def character_tokenizer(lines):
    """Byte-pair encoding of characters by `tokenizers`; its bytes never merge."""
    rules = [f"<0x{byte:02X}>" for byte in range(256)]
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(" *[^ ]+| +"), "isolated"),
            pre_tokenizers.Metaspace("▁", "never", split=False),
        ]
    )
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    trainer = trainers.BpeTrainer(
        vocab_size=900, special_tokens=["<unk>", *rules], show_progress=False
    )
    tokenizer.train_from_iterator(lines, trainer)
    content = json.loads(tokenizer.to_str())  # bytes are no added tokens
    content["added_tokens"] = content["added_tokens"][:1]
    return Tokenizer.from_str(json.dumps(content))


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """Corpora of four languages, and a tokenizer of each kind for three of them."""
    root = tmp_path_factory.mktemp("pairs")
    texts = {language: make_lines(language, 500, seed=3) for language in LANGUAGES}
    texts[NEW] = [f"{line[::-1]} ñandú{number % 3}" for number, line in enumerate(texts["en"])]
    texts["en"] = [f"{WHOLE}'s {line} <date>, {number}" for number, line in enumerate(texts["en"])]
    write_corpora(root, texts)
    write_tsv(root / "weights.tsv", ("language", "n"), [(language, 400) for language in LANGUAGES])
    for kind, options in KINDS.items():
        line = "bpe --corpora={root}/corpora --weights={root}/weights.tsv --total=900 "
        caller(root=root, kind=kind)(line + "-o {root}/tokenizers/{kind} " + options)
    for kind in MADE:
        (root / "tokenizers" / kind).mkdir()
        lines = [line for language in LANGUAGES for line in texts[language]]
        made(kind, lines).save(str(root / "tokenizers" / kind / "tokenizer.json"))
    return root


def lines_of(root, language):
    return [
        line
        for part in ("train", "heldout")
        for line in (root / "corpora" / language / f"{part}.txt").read_text("utf-8").splitlines()
    ]


def load(folder, kind=""):
    tokenizer = Tokenizer.from_file(str(folder / kind / "tokenizer.json"))
    tokenizer.no_padding()
    return tokenizer


@pytest.fixture
def folder(root, kind):
    return root / "tokenizers" / kind


def definition(folder):
    return json.loads((folder / "tokenizer.json").read_text("utf-8"))


def merges_of(folder):
    return [tuple(pair) for pair in definition(folder)["model"]["merges"]]


def ranks_of(folder):
    return {pair: rank for rank, pair in enumerate(merges_of(folder))}


def id_map(out):
    return {int(row["old"]): int(row["new"]) for row in read_tsv(out / "ids.tsv") if row["old"]}


def merge_word(symbols, ranks):
    """Merges by the definition, one at a time: the symbols that are left, and the pairs
    merged.
    """
    symbols, used = list(symbols), []
    while True:
        known = [
            (ranks[pair], place) for place, pair in enumerate(pairwise(symbols)) if pair in ranks
        ]
        if not known:
            return symbols, used
        _, place = min(known)
        used.append((symbols[place], symbols[place + 1]))
        symbols[place : place + 2] = ["".join(symbols[place : place + 2])]


def split_known(word, vocabulary, ranks):
    """As `merge_word`, characters that are no tokens unknown."""
    return merge_word([c if c in vocabulary else "<unk>" for c in word], ranks)


def words_of(tokenizer, lines, symbols=()):
    words = Counter()
    for line in lines:
        for symbol in symbols:
            line = line.replace(symbol, "\n")
        for part in line.split("\n") if symbols else [line]:
            text = tokenizer.normalizer.normalize_str(part) if tokenizer.normalizer else part
            words.update(word for word, _ in tokenizer.pre_tokenizer.pre_tokenize_str(text))
    return words


@pytest.mark.parametrize("kind", [*KINDS, *MADE])
def test_every_line_is_encoded_as_before(root, folder, out, call, kind):
    shown = call(
        "trim {root}/tokenizers/{kind} --corpora={root}/corpora --languages=en,ka -o {tmp}/out",
        kind=kind,
    )
    assert "1,000 lines compared, all the same" in shown
    before, after, renamed = load(folder), load(out), id_map(out)
    assert after.get_vocab_size() < before.get_vocab_size()
    assert {before.id_to_token(old): new for old, new in renamed.items()} == after.get_vocab()
    assert list(renamed.values()) == sorted(renamed.values())  # in the old order
    for line in lines_of(root, "en") + lines_of(root, "ka"):
        for options in ({}, {"add_special_tokens": False}, {"pair": "b"}):
            old = before.encode(line, **options).ids
            assert [renamed[number] for number in old] == after.encode(line, **options).ids
    content = definition(out)
    for step in ("normalizer", "pre_tokenizer", "decoder"):
        assert content[step] == definition(folder)[step]
    if content["padding"]:
        assert content["padding"]["pad_id"] == after.token_to_id("<|end|>")
    assert not any(character in after.get_vocab() for character in "的是")
    merges = merges_of(out)
    if kind == "llama3":  # a word without merges stays a token
        assert WHOLE in after.encode(WHOLE).tokens
        assert 0 < len(merges) < 0.6 * len(merges_of(folder))
        return
    ranks, vocabulary, applied = ranks_of(folder), before.get_vocab(), set()
    symbols = ["<date>"] if kind == "symbols" else []
    for word in words_of(before, lines_of(root, "en") + lines_of(root, "ka"), symbols):
        applied.update(split_known(word, vocabulary, ranks)[1])
    assert merges == [pair for pair in ranks if pair in applied]
    assert all({*pair, "".join(pair)} <= after.get_vocab().keys() for pair in merges)
    reasons = Counter(row["reason"] for row in read_tsv(out / "ids.tsv"))
    assert reasons["part"] and reasons["text"] and reasons["special"]


def test_unreachable_tokens_are_named(root, tmp_path, out, call, caplog):
    content = definition(root / "tokenizers/gpt2")
    content["model"]["vocab"]["xyzzy"] = len(content["model"]["vocab"])
    for entry in content["added_tokens"]:
        entry["id"] += 1
        content["model"]["vocab"].pop(entry["content"], None)
    content["post_processor"] = None
    (tmp_path / "tokenizer.json").write_text(json.dumps(content), "utf-8")
    call("trim {tmp}/tokenizer.json --corpora={root}/corpora --languages=en -o {tmp}/out")
    assert "1 tokens that no text is encoded as are left out: xyzzy" in caplog.text
    assert "xyzzy" not in load(out).get_vocab()


def test_rare_tokens_dropped_and_all_characters_kept(root, out, call):
    line = "trim {root}/tokenizers/characters --corpora={root}/corpora --languages=en -o {tmp}/out"
    assert "differ" in call(f"{line} --min-count=30 --all-characters")
    before, after = load(root, "tokenizers/characters"), load(out)
    assert {token for token in before.get_vocab() if len(token) == 1} <= after.get_vocab().keys()
    row = next(row for row in read_tsv(out / "comparison.tsv") if row["part"] == "train")
    lines = lines_of(root, "en")[:400]
    same = [before.encode(line).tokens == after.encode(line).tokens for line in lines]
    assert int(row["identical"]) == sum(same) < 400
    assert row["example"].startswith("“") and "→" in row["example"]


def test_unforeseen_lines_would_have_changed(root, tmp_path, call):
    line = "trim {root}/tokenizers/bytes --text=en={root}/corpora/en/train.txt -o {tmp}/"
    call(line + "both --heldout=en={root}/corpora/ka/heldout.txt")
    call(line + "train")
    before, after = load(root, "tokenizers/bytes"), load(tmp_path, "train")
    renamed = id_map(tmp_path / "train")
    changed = sum(
        [renamed.get(number) for number in before.encode(line).ids] != after.encode(line).ids
        for line in lines_of(root, "ka")[400:]
    )
    rows = {row["part"]: row for row in read_tsv(tmp_path / "both/comparison.tsv")}
    assert int(rows["heldout"]["unforeseen"]) == changed > 0
    assert {"text", "heldout"} <= {row["reason"] for row in read_tsv(tmp_path / "both/ids.tsv")}


@pytest.mark.parametrize("kind", [*KINDS, *MADE])
def test_each_new_merge_is_of_the_most_frequent_pair(root, folder, out, call, kind):
    call(f"{EXTEND} --pieces=60", kind=kind)
    before, after = load(folder), load(out)
    total = before.get_vocab_size()
    assert after.get_vocab_size() == total + 60
    assert all(after.token_to_id(token) == number for token, number in before.get_vocab().items())
    old, new = merges_of(folder), merges_of(out)
    assert new[: len(old)] == old
    assert definition(out)["post_processor"] == definition(folder)["post_processor"]
    characters = [row["piece"] for row in read_tsv(out / "additions.tsv") if not row["merge"]]
    assert characters == (["ñ", "ú"] if kind == "characters" else [])
    vocabulary = before.get_vocab().keys() | set(characters)
    words = words_of(before, lines_of(root, NEW)[:400])
    if kind == "llama3":
        words = {word: times for word, times in words.items() if word not in vocabulary}
    ranks = ranks_of(folder)
    split = {word: split_known(word, vocabulary, ranks)[0] for word in words}
    for pair in new[len(old) :]:
        counts = Counter()
        for word, symbols in split.items():
            for two in pairwise(symbols):
                counts[two] += words[word] * ("<unk>" not in two)
        assert counts[pair] == max(counts.values())
        ranks[pair] = len(ranks)
        for word, symbols in split.items():
            if pair in pairwise(symbols):
                split[word] = split_known(word, vocabulary, ranks)[0]
    for token, number in after.get_vocab().items():
        if number >= total:  # every new token is reached
            assert merge_word(token, ranks)[0] == [token]


def test_uses_count_tokens(root, out, call, caplog):
    call(f"{EXTEND} --pieces=200", kind="bytes")
    after, uses = load(out), Counter()
    loaded = AutoTokenizer.from_pretrained(out / "huggingface")
    for line in lines_of(root, NEW)[:400]:
        ids = after.encode(line, add_special_tokens=False).ids
        assert loaded(line, add_special_tokens=False).input_ids == ids
        assert loaded.decode(ids) == line
        uses.update(ids)
    rows = list(read_tsv(out / "additions.tsv"))
    assert all(int(row["uses"]) == uses[int(row["id"])] for row in rows)
    unused = sum(int(row["uses"]) == 0 for row in rows)
    assert unused and f"{unused} of 200 new tokens are only parts of longer ones" in caplog.text


def test_new_rows_of_a_model_are_means_of_the_parts(root, tmp_path, call):
    """Of a model with three spare rows."""
    source = root / "tokenizers/gpt2"
    before, ranks = load(source), ranks_of(source)
    total = before.get_vocab_size()
    config = GPT2Config(vocab_size=total + 3, n_embd=16, n_layer=1, n_head=2, n_positions=200)
    GPT2LMHeadModel(config).save_pretrained(tmp_path / "model")
    shutil.copy(source / "tokenizer.json", tmp_path / "model")
    call(EXTEND + "--pieces=20 --model={tmp}/model", kind="gpt2")
    old, new = (
        GPT2LMHeadModel.from_pretrained(path).get_input_embeddings().weight
        for path in (tmp_path / "model", tmp_path / "out/model")
    )
    assert len(new) == total + 20
    after = load(tmp_path, "out")
    for number in range(total, total + 20):
        parts = merge_word(after.id_to_token(number), ranks)[0]
        mean = old[[before.token_to_id(part) for part in parts]].mean(0)
        torch.testing.assert_close(new[number], mean)


@pytest.mark.parametrize("case", CASES["unusable"] + CASES["malformed"], ids=str)
def test_a_tokenizer_that_cannot_be_used_is_one_message(root, tmp_path, out, call, case):
    says = case.get("says")
    content = definition(root / "tokenizers/gpt2")
    set_at(content, case["path"], case.get("value"))
    (tmp_path / "tokenizer.json").write_text(json.dumps(content), "utf-8")
    lines = ["trim --corpora={root}/corpora --languages=en"]
    if not says:
        lines += ["extend --corpora={root}/corpora --language=fr --pieces=5", "export"]
    for line in lines:
        refused(call, line + " {tmp}/tokenizer.json -o {tmp}/out", says or r"tokenizer\.json: ")
        assert not out.exists()


@pytest.mark.parametrize("case", CASES["calls"])
def test_bad_calls_are_one_message(tmp_path, out, call, case):
    (tmp_path / "empty.txt").write_text("")
    line = case["line"] + " {root}/tokenizers/bytes --corpora={root}/corpora -o {tmp}/out"
    refused(call, **case | {"line": line})
    assert not out.exists()
