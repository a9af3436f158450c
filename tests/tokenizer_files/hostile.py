"""Model files that lie, each with the words that its refusal must hold."""

import io

import sentencepiece
from sentencepiece import sentencepiece_model_pb2

from tests.vocabularies.factories import make_text


def train_model(lines=None, size=120, **options) -> bytes:
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines or make_text("latin", 200)),
        model_writer=model,
        vocab_size=size,
        num_threads=1,
        minloglevel=2,
        **options,
    )
    return model.getvalue()


def parse(model: bytes):
    return sentencepiece_model_pb2.ModelProto.FromString(model)


def own_rules_model(folder) -> bytes:
    """A model whose character map is none of the library's, and small: two blocks of 256 units at most."""
    rules = folder / "rules.tsv"
    rules.write_text("61 62\t63\n61 62 63\t64 65\n41\t78 79 7A\n3000\t20\nE9\t65 301\n43F 440\t440\n")
    return train_model(normalization_rule_tsv=str(rules))


def varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out, number = out + bytes([number & 127 | 128]), number >> 7
    return out + bytes([number])


def charsmap(units: list[int], replacements: bytes = b"x\0", claim: int | None = None) -> bytes:
    trie = b"".join(unit.to_bytes(4, "little") for unit in units)
    return (len(trie) if claim is None else claim).to_bytes(4, "little") + trie + replacements


def unit(label: int, offset: int, leaf: bool = False) -> int:
    """A unit of a Darts double array; `offset` below 2^21."""
    return offset << 10 | leaf << 8 | label


def cycle(leaf: bool) -> list[int]:
    """A trie where `a` leads to itself: unit 0 has the children at 0 ^ byte, and so has unit 97, at 97 ^ 97."""
    units = [unit(0xFF, 0)] * 256
    units[0] = 0  # offset 0; as the value of a match, replacement 0
    units[ord("a")] = unit(ord("a"), ord("a"), leaf)
    return units


def hostile_models() -> dict[str, tuple[bytes, str]]:
    good = train_model()
    models = {
        "empty": (b"", "no pieces"),
        "text": (b"this is no model at all, just text\n" * 20, "no such protobuf"),
        "cut": (good[: len(good) // 2], "cut short"),
        "claims 2 GB": (b"\n" + varint(2**31 - 1) + b"\n\x01a", "cut short"),
        "claims 2^63": (b"\n" + varint(2**63) + b"a", "no such protobuf"),
        "negative length": (b"\n" + varint(2**64 - 5) + b"a" * 40, "no such protobuf"),
        "endless varint": (b"\n" + b"\xff" * 40, "no such protobuf"),
        "deep groups": (b"\xa3\x06" * 100_000, "no such protobuf"),
        "empty pieces": (b"\n\0" * 1_000_001, "million empty pieces"),
    }

    def change(name, words, edit, source=good):
        proto = parse(source)
        edit(proto)
        models[name] = (proto.SerializeToString(), words)

    def piece(number, **values):
        def edit(proto):
            for field, value in values.items():
                setattr(proto.pieces[number], field, value)

        return edit

    def add(*pieces):
        return lambda proto: [proto.pieces.add(piece=text, score=-1, type=kind) for text, kind in pieces]

    def trainer(**values):
        return lambda proto: [setattr(proto.trainer_spec, field, value) for field, value in values.items()]

    def mapped(blob, name="normalizer_spec"):
        return lambda proto: setattr(getattr(proto, name), "precompiled_charsmap", blob)

    change("no pieces", "no pieces", lambda proto: proto.ClearField("pieces"))
    change("empty piece", "piece 7 is empty", piece(7, piece=""))
    change("piece twice", "duplicate piece 'xyz'", add(("xyz", 1), ("xyz", 1)))
    change("piece twice by type", "duplicate piece '<s>'", add(("<s>", 4)))
    change("NUL in a piece", "NUL", add(("a\0b", 1)))
    change("long piece", "5000 characters", add(("a" * 5000, 1)))
    change("score NaN", "score of piece 9 is nan", piece(9, score=float("nan")))
    change("score infinite", "score of piece 9 is -inf", piece(9, score=float("-inf")))
    change("no unk", "0 pieces of type UNKNOWN", piece(0, type=1))
    change("two unks", "2 pieces of type UNKNOWN", piece(5, type=2))
    change("no text pieces", "stand for text", lambda proto: [setattr(p, "type", 3) for p in proto.pieces[1:]])
    change("byte piece", "1 byte pieces, and byte_fallback is false", add(("<0x41>", 6)))
    change("no byte pieces", "0 byte pieces, and byte_fallback is true", trainer(byte_fallback=True))
    change("other byte piece", "257 byte pieces", add(("<0x1FF>", 6)), train_model(size=400, byte_fallback=True))
    change("nested symbols", "begin each other", add(*(("q" * number, 4) for number in range(1, 70))))
    change("unk_id", "unk_id is 5", trainer(unk_id=5))
    change("bos_id", "bos_id is 120", trainer(bos_id=120))
    change("pad_id", "pad_id is -2", trainer(pad_id=-2))
    invalid = good.replace("\n\x03\xe2\x96\x81".encode("latin-1"), b"\n\x03\xe2\x96\xff", 1)
    assert invalid != good
    models["not UTF-8"] = (invalid, "is not UTF-8")

    free = [unit(0xFF, 0)] * 256
    outside = [unit(0, 0x1FFFFF), *free[1:]]
    deeper = list(free)
    deeper[0], deeper[ord("a")] = unit(0, 0), unit(ord("a"), 0x1FFFFF)
    far = list(free)
    far[0], far[ord("a")], far[ord("a") ^ 1] = unit(0, 0), unit(ord("a"), 1, True), 1 << 31 | 999
    middle = list(far)
    middle[ord("a") ^ 1] = 1 << 31 | 1
    maps = {
        "map too short": (b"abc", "its trie claims"),
        "map without replacements": (charsmap(free, b""), "its trie claims"),
        "map claims 4 GB": (charsmap(free, claim=2**32 - 1024), "its trie claims 4294966272"),
        "map claims its own length": (charsmap(free, b"x\0", claim=1025), "its trie claims 1025"),
        "map claims no trie": (charsmap(free, claim=0), "its trie claims 0"),
        "map of another unit": (charsmap(free[:200]), "its trie claims 800"),
        "replacement without end": (charsmap(free, b"x\0y"), "no end"),
        "replacement not UTF-8": (charsmap(free, b"\xff\xfe\0"), "not UTF-8"),
        "replacement too long": (charsmap(free, b"x" * 257 + b"\0"), "257 bytes"),
        "replacement outside": (charsmap(far), "outside the map"),
        "replacement inside a character": (charsmap(middle, "é\0".encode()), "inside a character"),
        "trie root outside": (charsmap(outside), "points outside"),
        "trie node outside": (charsmap(deeper), "points outside"),
        "trie cycle": (charsmap(cycle(leaf=False)), "cycle"),
        "trie cycle of matches": (charsmap(cycle(leaf=True)), "begin each other, or it has a cycle"),
        "map too large": (charsmap(free * 8193), "more than 8388608"),
    }
    for name, (blob, words) in maps.items():
        change(name, words, mapped(blob))
    change(
        "denormalizer",
        "denormalizer_spec.precompiled_charsmap",
        mapped(maps["trie cycle"][0], "denormalizer_spec"),
    )
    return models
