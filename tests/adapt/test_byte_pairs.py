"""`vocap trim` and `extend` for byte-pair encoding: `tokenizers` itself encodes every
line before and after.
"""

import json
import logging
import shutil
from collections import Counter
from itertools import pairwise

import pytest
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

from tests.commands import run
from tests.made_text import write_lines
from tests.tokenizers.factories import byte_tokenizer, make_lines
from vocap.adapt.commands import extend, trim
from vocap.diff.commands import diff
from vocap.errors import UsageError, VocapError
from vocap.files.io import read_tsv, write_tsv
from vocap.tokenizers.commands import bpe, export

LANGUAGES = ("en", "ka", "zh")
NEW = "fr"  # words of `en` turned around, and two letters of its own
KINDS = {
    "bytes": ["--preset=lossless"],
    "normalised": [],
    "symbols": ["--preset=lossless", "--user-defined-symbols=<date>"],
}
MADE = ("characters", "gpt2", "llama3")
WHOLE = "QXQ"


def new_lines(count):
    return [
        f"{line[::-1]} ñandú{number % 3}"
        for number, line in enumerate(make_lines("en", count, seed=3))
    ]


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
    texts = {language: make_lines(language, 500, seed=3) for language in LANGUAGES} | {
        NEW: new_lines(500)
    }
    texts["en"] = [f"{WHOLE}'s {line} <date>, {number}" for number, line in enumerate(texts["en"])]
    for language, lines in texts.items():
        write_lines(root / "corpora" / language / "train.txt", lines[:400])
        write_lines(root / "corpora" / language / "heldout.txt", lines[400:])
    write_tsv(root / "weights.tsv", ("language", "n"), [(language, 400) for language in LANGUAGES])
    for kind, options in KINDS.items():
        arguments = (
            "--corpora",
            root / "corpora",
            "--weights",
            root / "weights.tsv",
            "--total=900",
            *options,
        )
        run(bpe, *arguments, "-o", root / "tokenizers" / kind)
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


def load(folder):
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()
    return tokenizer


def definition(folder):
    return json.loads((folder / "tokenizer.json").read_text("utf-8"))


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
def test_every_line_is_encoded_as_before(root, tmp_path, kind):
    folder, out = root / "tokenizers" / kind, tmp_path / "out"
    shown = run(trim, folder, "--corpora", root / "corpora", "--languages=en,ka", "-o", out)
    assert "1,000 lines compared, all the same" in shown
    before, after, renamed = load(folder), load(out), id_map(out)
    assert after.get_vocab_size() < before.get_vocab_size()
    assert {before.id_to_token(old): new for old, new in renamed.items()} == after.get_vocab()
    assert list(renamed.values()) == sorted(renamed.values())  # in the old order
    for line in lines_of(root, "en") + lines_of(root, "ka"):
        for special in (False, True):
            old = before.encode(line, add_special_tokens=special).ids
            assert [renamed[number] for number in old] == after.encode(
                line, add_special_tokens=special
            ).ids
        pair = before.encode(line, "b").ids
        assert [renamed[number] for number in pair] == after.encode(line, "b").ids
    content = definition(out)
    for step in ("normalizer", "pre_tokenizer", "decoder"):
        assert content[step] == definition(folder)[step]
    if content["padding"]:
        assert content["padding"]["pad_id"] == after.token_to_id("<|end|>")
    assert not any(character in after.get_vocab() for character in "的是")


@pytest.mark.parametrize("kind", ["bytes", "normalised", "characters", "symbols", "gpt2"])
def test_the_merges_that_are_applied_stay_and_no_others(root, tmp_path, kind):
    folder, out = root / "tokenizers" / kind, tmp_path / "out"
    run(trim, folder, "--corpora", root / "corpora", "--languages=ka,en", "-o", out)
    pairs = [tuple(pair) for pair in definition(folder)["model"]["merges"]]
    ranks = {pair: rank for rank, pair in enumerate(pairs)}
    symbols = ["<date>"] if kind == "symbols" else []
    vocabulary, applied = load(folder).get_vocab(), set()
    for word in words_of(load(folder), lines_of(root, "en") + lines_of(root, "ka"), symbols):
        applied.update(merge_word([c if c in vocabulary else "<unk>" for c in word], ranks)[1])
    kept = [tuple(pair) for pair in definition(out)["model"]["merges"]]
    assert kept == [pair for pair in pairs if pair in applied]
    tokens = load(out).get_vocab().keys()
    assert all({*pair, "".join(pair)} <= tokens for pair in kept)
    reasons = Counter(row["reason"] for row in read_tsv(out / "ids.tsv"))
    assert reasons["part"] and reasons["text"] and reasons["special"]


def test_a_word_without_merges_stays_a_token(root, tmp_path):
    run(
        trim,
        root / "tokenizers/llama3",
        "--corpora",
        root / "corpora",
        "--languages=en",
        "-o",
        tmp_path / "out",
    )
    assert WHOLE in load(tmp_path / "out").encode(WHOLE).tokens
    merges, before = (
        len(definition(folder)["model"]["merges"])
        for folder in (tmp_path / "out", root / "tokenizers/llama3")
    )
    assert 0 < merges < before / 2


def test_unreachable_tokens_are_named(root, tmp_path, caplog):
    content = definition(root / "tokenizers/gpt2")
    content["model"]["vocab"]["xyzzy"] = len(content["model"]["vocab"])
    for entry in content["added_tokens"]:
        entry["id"] += 1
        content["model"]["vocab"].pop(entry["content"], None)
    content["post_processor"] = None
    (tmp_path / "tokenizer.json").write_text(json.dumps(content), "utf-8")
    run(
        trim,
        tmp_path / "tokenizer.json",
        "--corpora",
        root / "corpora",
        "--languages=en",
        "-o",
        tmp_path / "out",
    )
    assert "1 tokens that no text is encoded as are left out: xyzzy" in caplog.text
    assert "xyzzy" not in load(tmp_path / "out").get_vocab()


def test_rare_tokens_dropped_and_all_characters_kept(root, tmp_path):
    folder, out = root / "tokenizers/characters", tmp_path / "out"
    options = (
        "--corpora",
        root / "corpora",
        "--languages=en",
        "--min-count=30",
        "--all-characters",
    )
    assert "differ" in run(trim, folder, *options, "-o", out)
    before, after = load(folder), load(out)
    assert {token for token in before.get_vocab() if len(token) == 1} <= after.get_vocab().keys()
    row = next(row for row in read_tsv(out / "comparison.tsv") if row["part"] == "train")
    pairs = [
        [side.encode(line).tokens for side in (before, after)]
        for line in lines_of(root, "en")[:400]
    ]
    assert int(row["identical"]) == sum(one == other for one, other in pairs) < 400
    assert row["example"].startswith("“") and "→" in row["example"]


def test_unforeseen_lines_would_have_changed(root, tmp_path):
    folder, text = root / "tokenizers/bytes", f"--text=en={root}/corpora/en/train.txt"
    held = root / "corpora/ka/heldout.txt"
    run(trim, folder, text, f"--heldout=en={held}", "-o", tmp_path / "both")
    run(trim, folder, text, "-o", tmp_path / "train")
    before, after, renamed = load(folder), load(tmp_path / "train"), id_map(tmp_path / "train")
    changed = sum(
        [renamed.get(number) for number in before.encode(line).ids] != after.encode(line).ids
        for line in held.read_text("utf-8").splitlines()
    )
    rows = {row["part"]: row for row in read_tsv(tmp_path / "both/comparison.tsv")}
    assert int(rows["heldout"]["unforeseen"]) == changed > 0
    assert {"text", "heldout"} <= {row["reason"] for row in read_tsv(tmp_path / "both/ids.tsv")}


@pytest.mark.parametrize("kind", [*KINDS, *MADE])
def test_each_new_merge_is_of_the_most_frequent_pair(root, tmp_path, kind):
    folder, out = root / "tokenizers" / kind, tmp_path / "out"
    run(
        extend, folder, f"--language={NEW}", "--corpora", root / "corpora", "--pieces=60", "-o", out
    )
    before, after = load(folder), load(out)
    total = before.get_vocab_size()
    assert after.get_vocab_size() == total + 60
    assert all(after.token_to_id(token) == number for token, number in before.get_vocab().items())
    old, new = (definition(path)["model"]["merges"] for path in (folder, out))
    assert new[: len(old)] == old
    assert definition(out)["post_processor"] == definition(folder)["post_processor"]
    characters = [row["piece"] for row in read_tsv(out / "additions.tsv") if not row["merge"]]
    assert characters == (["ñ", "ú"] if kind == "characters" else [])
    vocabulary = before.get_vocab().keys() | set(characters)
    words = words_of(before, lines_of(root, NEW)[:400])
    if kind == "llama3":
        words = {word: times for word, times in words.items() if word not in vocabulary}
    ranks = {tuple(pair): rank for rank, pair in enumerate(old)}
    split = {
        word: merge_word([c if c in vocabulary else "<unk>" for c in word], ranks)[0]
        for word in words
    }
    for pair in map(tuple, new[len(old) :]):
        counts = Counter()
        for word, symbols in split.items():
            for two in pairwise(symbols):
                if "<unk>" not in two:
                    counts[two] += words[word]
        assert counts[pair] == max(counts.values())
        ranks[pair] = len(ranks)
        for word, symbols in split.items():
            if pair in pairwise(symbols):
                split[word] = merge_word([c if c in vocabulary else "<unk>" for c in word], ranks)[
                    0
                ]
    for token, number in after.get_vocab().items():
        if number >= total:  # every new token is reached
            assert merge_word(token, ranks)[0] == [token]


@pytest.mark.parametrize("count", [20, 60])
def test_comparison_counts_changed_lines(root, tmp_path, count):
    folder, out = root / "tokenizers/bytes", tmp_path / "out"
    run(
        extend,
        folder,
        f"--language={NEW}",
        "--corpora",
        root / "corpora",
        f"--pieces={count}",
        "-o",
        out,
    )
    before, after = load(folder), load(out)
    found = {
        (row["language"], row["part"]): int(row["lines"]) - int(row["identical"])
        for row in read_tsv(out / "comparison.tsv")
    }
    for code in LANGUAGES:
        changed = (
            before.encode(line).ids != after.encode(line).ids for line in lines_of(root, code)[400:]
        )
        assert found[code, "heldout"] == sum(changed)


def test_tokens_that_the_text_never_uses_are_named(root, tmp_path, caplog):
    caplog.set_level(logging.WARNING)
    out = tmp_path / "out"
    options = (f"--language={NEW}", "--corpora", root / "corpora", "--pieces=200")
    run(extend, root / "tokenizers/bytes", *options, "-o", out)
    after, uses = load(out), Counter()
    for line in lines_of(root, NEW)[:400]:
        uses.update(after.encode(line, add_special_tokens=False).ids)
    rows = list(read_tsv(out / "additions.tsv"))
    assert all(int(row["uses"]) == uses[int(row["id"])] for row in rows)
    unused = sum(int(row["uses"]) == 0 for row in rows)
    assert unused and f"{unused} of 200 new tokens are only parts of longer ones" in caplog.text


def test_both_outputs_are_tokenizers_of_transformers(root, tmp_path):
    from transformers import AutoTokenizer

    corpora = ("--corpora", root / "corpora")
    run(trim, root / "tokenizers/bytes", *corpora, "--languages=en,zh", "-o", tmp_path / "less")
    (tmp_path / "less/chat_template.jinja").write_text("{{ messages[0].content }}", "utf-8")
    run(
        extend, tmp_path / "less", *corpora, "--language=ka", "--pieces=50", "-o", tmp_path / "more"
    )
    loaded, own = (
        AutoTokenizer.from_pretrained(tmp_path / "more/huggingface"),
        load(tmp_path / "more"),
    )
    assert loaded.apply_chat_template([{"role": "user", "content": "abc"}], tokenize=False) == "abc"
    for line in lines_of(root, "ka")[:50]:
        assert loaded(line).input_ids == own.encode(line).ids
        assert loaded.decode(own.encode(line).ids, skip_special_tokens=True) == line
    run(
        diff,
        root / "tokenizers/bytes",
        tmp_path / "less",
        *corpora,
        "--languages=en,zh",
        "--max-words=0",
    )
    run(trim, tmp_path / "more", *corpora, "--languages=ka", "-o", tmp_path / "again")
    run(trim, tmp_path / "more", *corpora, "--languages=ka", "-o", tmp_path / "once more")
    one, other = (tmp_path / name / "tokenizer.json" for name in ("again", "once more"))
    assert one.read_bytes() == other.read_bytes()


def gpt(rows, end):
    import torch
    import transformers

    torch.manual_seed(1)
    sizes = {"n_embd": 16, "n_layer": 1, "n_head": 2, "n_positions": 200}
    return transformers.GPT2LMHeadModel(
        transformers.GPT2Config(vocab_size=rows, bos_token_id=end - 1, eos_token_id=end, **sizes)
    )


def test_the_model_gives_the_same_logits(root, tmp_path):
    import torch
    import transformers

    folder, model = root / "tokenizers/gpt2", tmp_path / "model"
    before = load(folder)
    # three spare rows
    gpt(before.get_vocab_size() + 3, before.token_to_id("<|end|>")).save_pretrained(model)
    shutil.copy(folder / "tokenizer.json", model)
    options = ("--corpora", root / "corpora", "--model", model)
    run(trim, folder, *options, "--languages=ka", "-o", tmp_path / "less")
    run(extend, folder, *options, f"--language={NEW}", "--pieces=20", "-o", tmp_path / "more")
    old, less, more = (
        transformers.AutoModelForCausalLM.from_pretrained(path).eval()
        for path in (model, tmp_path / "less/model", tmp_path / "more/model")
    )
    renamed = id_map(tmp_path / "less")
    assert (
        less.config.eos_token_id
        == less.generation_config.eos_token_id
        == load(tmp_path / "less").token_to_id("<|end|>")
    )
    for line in lines_of(root, "ka")[:5]:
        ids = before.encode(line).ids
        with torch.no_grad():
            logits = old(torch.tensor([ids])).logits
            fewer = less(torch.tensor([[renamed[number] for number in ids]])).logits
            further = more(torch.tensor([ids])).logits
        torch.testing.assert_close(logits[..., list(renamed)], fewer)
        torch.testing.assert_close(
            logits[..., : len(before.get_vocab())], further[..., : len(before.get_vocab())]
        )
    table, rows = old.get_input_embeddings().weight, more.get_input_embeddings().weight
    total = before.get_vocab_size()
    assert len(rows) == total + 20
    ranks = {tuple(pair): rank for rank, pair in enumerate(definition(folder)["model"]["merges"])}
    for number in range(total, total + 20):
        parts = merge_word(load(tmp_path / "more").id_to_token(number), ranks)[0]
        torch.testing.assert_close(
            rows[number], table[[before.token_to_id(part) for part in parts]].mean(0)
        )


def changed(root, path, change):
    content = definition(root / "tokenizers/gpt2")
    change(content)
    path.write_text(json.dumps(content), "utf-8")
    return path


def test_bad_input_is_one_message(root, tmp_path):
    def without_parent(content):
        left = content["model"]["merges"][5][0]
        number = content["model"]["vocab"].pop(left)
        content["model"]["vocab"]["elsewhere"] = number

    other = tmp_path / "tokenizer.json"
    corpora = ["--corpora", root / "corpora"]
    for change, says in (
        (without_parent, r"merge \d+, .* is no token of the vocabulary; a merge needs"),
        (lambda content: content["model"]["merges"].insert(3, ["x"]), "merge 3 is"),
        (
            lambda content: content["model"].update(continuing_subword_prefix="##"),
            "prefix or suffix",
        ),
        (
            lambda content: content["model"].update(dropout=0.1),
            "dropout leaves out merges at random",
        ),
        (
            lambda content: content["model"].update(
                vocab={**content["model"]["vocab"], "x y": 5000}
            ),
            "ids are not 0",
        ),
        (
            lambda content: content["post_processor"].update(sep=["<|end|>", 9999]),
            "no id of a special token",
        ),
        (
            lambda content: content["model"].update(type="WordLevel"),
            "a tokenizer of type WordLevel",
        ),
    ):
        path = changed(root, other, change)
        with pytest.raises(VocapError, match=says):
            run(trim, path, *corpora, "--languages=en", "-o", tmp_path / "out")
    folder = root / "tokenizers/bytes"
    (tmp_path / "empty.txt").write_text("")
    for command, arguments, kind, says in (
        (
            trim,
            ["--languages=en", f"--text=en={tmp_path}/empty.txt"],
            VocapError,
            "no line in any text",
        ),
        (extend, [f"--language={NEW}", "--pieces=5", "--share=0.5"], UsageError, "has no scores"),
        (
            extend,
            [f"--language={NEW}", "--pieces=5", f"--text={tmp_path}/empty.txt"],
            VocapError,
            "no text in it",
        ),
    ):
        with pytest.raises(kind, match=says):
            run(command, folder, *corpora, *arguments, "-o", tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content["added_tokens"][0].pop("content"),
        lambda content: content["added_tokens"].append(5),
        lambda content: content["model"]["merges"].append(7),
        lambda content: content["model"]["merges"].append([["a"], "b"]),
        lambda content: content["model"]["vocab"].update(zzz="5"),
        lambda content: content.update(
            normalizer={"type": "Precompiled", "precompiled_charsmap": "AAAA"}
        ),
    ],
)
def test_a_malformed_tokenizer_is_one_message(root, tmp_path, change):
    path = changed(root, tmp_path / "tokenizer.json", change)
    corpora = ["--corpora", root / "corpora"]
    for command, arguments in (
        (trim, [*corpora, "--languages=en"]),
        (extend, [*corpora, f"--language={NEW}", "--pieces=5"]),
        (export, []),
    ):
        with pytest.raises(VocapError, match=r"tokenizer\.json: ") as error:
            run(command, path, *arguments, "-o", tmp_path / "out")
        assert error.value.exit_code == 1 and "\n" not in str(error.value)
        assert not (tmp_path / "out").exists()
