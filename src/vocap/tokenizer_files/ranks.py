r"""Tokenizers of byte-pair encoding that are given by ranks: files of tiktoken, and
Mistral's tekken.json.

tiktoken joins the two neighbours whose joint bytes are the token of the lowest rank,
and takes a word that is a token as it is. As merges these are all pairs of tokens whose
joint bytes are a token, in the order of that token. Its id is the rank, in tekken.json
behind the special tokens.

A file of ranks does not say where text is cut before: a name of `SPLITS` does, or
encoding.json beside it, as `vocap export --format tiktoken` writes it.
"""

import binascii
import re
from base64 import b64decode
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from vocap.bpe import REGEX, SPLITS
from vocap.errors import UsageError, VocapError
from vocap.files.io import read_object

RANKS, SETTINGS = "ranks.tiktoken", "encoding.json"
TEKKEN = "tekken.json"
_LINE = re.compile(rb"\S+ +\d+\s*")
# What means the same to Oniguruma and to tiktoken's engine: \w, \d, \h, anchors and
# possessive quantifiers do not.
_INNER = r"\\[pP]\{\w+\}|\\x\{[0-9A-Fa-f]+\}|\\[sSrntf]|\\[^\w\s]"
SHARED = re.compile(
    rf"(?:(?:{_INNER}|\[\^?(?:{_INNER}|[^\[\]\\&])+\]|[^\[\]\\^$?*+{{}}()|])"
    r"(?:(?:[?*+]|\{\d+(?:,\d*)?\})(?![?+*{]))?"
    r"|\((?:\?(?:[:=!]|i:|<[=!]))?|\)(?:[?*+](?![?+*{]))?|\||\\z)*"
)


@cache
def byte_characters() -> dict[str, int]:
    """The byte of each character in a byte-level vocabulary: printable ones their own,
    the others from 256 on.
    """
    from tokenizers.pre_tokenizers import ByteLevel

    characters = sorted(ByteLevel.alphabet())
    own = [ord(character) for character in characters if ord(character) < 256]
    others = (byte for byte in range(256) if byte not in own)
    return dict(zip(characters, chain(own, others), strict=True))


def is_ranks(path: Path) -> bool:
    """Whether a file is one of tiktoken's ranks, by its name or its first line."""
    if path.suffix == ".tiktoken":
        return path.is_file()
    with open(path, "rb") as file:
        return bool(_LINE.fullmatch(file.readline(1000)))


def needs_cut(path: Path) -> bool:
    """Whether a tokenizer is a file of ranks without encoding.json beside it."""
    return path.is_file() and is_ranks(path) and not path.with_name(SETTINGS).is_file()


def read_ranks(path: Path, split: str | None = None):
    """The `tokenizers.Tokenizer` of a file of ranks, and T; `split`: the name of a cut.

    T counts the special tokens of encoding.json; text is never read as one. Raises
    VocapError, naming file and line, for ranks that are damaged, or of no cut.
    """
    beside, special, expression = path.with_name(SETTINGS), {}, None
    if beside.is_file():
        settings = read_object(beside)
        special, expression = settings.get("special_tokens"), settings.get("pat_str")
        if not isinstance(special, dict) or not all(type(one) is int for one in special.values()):
            raise VocapError(f"{beside}: special_tokens must have the id of each; correct it")
        if not isinstance(expression, str):
            raise VocapError(f"{beside}: no pat_str, the expression of the cut; add it")
    elif split is None:
        raise VocapError(
            f"{path}: ranks of tiktoken do not say where text is cut; name the cut by --split "
            f"(in a configuration split:), one of {', '.join(SPLITS)}; o200k_base is cut by "
            "o200k, cl100k_base by cl100k"
        )
    lines = (
        (f"line {number}", *(line.split() if _LINE.fullmatch(line) else (line, None)))
        for number, line in enumerate(path.read_bytes().split(b"\n"), start=1)
        if line.strip()
    )
    tokens = read_tokens(path, lines, special.values())
    size = max(chain(tokens.values(), special.values())) + 1
    return build(path, tokens, split or REGEX, expression), size


def read_tekken(path: Path, content: Mapping[str, Any]):
    """The `tokenizers.Tokenizer` of the content of a tekken.json, and T.

    Of its vocabulary the first are used, as many as T has beside the special tokens.
    Raises VocapError as `read_ranks`.
    """
    config = content["config"]
    size, first = config.get("default_vocab_size"), config.get("default_num_special_tokens")
    if not (type(size) is type(first) is int and 0 <= first < size):
        raise VocapError(
            f"{path}: config has no default_vocab_size above its default_num_special_tokens; "
            "download it again"
        )
    used = content["vocab"][: size - first]
    if len(used) < size - first:
        raise VocapError(
            f"{path}: {len(used)} tokens, and config asks for {size - first}; download it again"
        )
    entries = (
        (f"vocab[{number}]", str(one.get("token_bytes")).encode(), str(one.get("rank")).encode())
        for number, one in enumerate(used)
    )
    tokens = {token: first + rank for token, rank in read_tokens(path, entries).items()}
    return build(path, tokens, REGEX, config["pattern"]), size


def read_tokens(
    path: Path, entries: Iterable[tuple[str, bytes, bytes | None]], apart: Iterable[int] = ()
) -> dict[bytes, int]:
    """The rank of each token: of (place, token in base64, rank), checked.

    All ranks from 0 on are there but for those `apart`, and so are all bytes.
    """
    tokens: dict[bytes, int] = {}
    places: dict[int, str] = {}
    for place, written, rank in entries:
        try:
            token, number = b64decode(written, validate=True), int(rank or b"")
        except (binascii.Error, ValueError):
            token, number = b"", -1
        if not token or number < 0:
            wrong = f"{written[:40].decode(errors='replace')!r} is not a token in base64 and a rank"
        elif number in places:
            wrong = f"rank {number} is that of {places[number]} too"
        elif token in tokens:
            wrong = f"the token of {places[tokens[token]]} again"
        else:
            tokens[token], places[number] = number, place
            continue
        raise VocapError(f"{path}, {place}: {wrong}; download it again")
    apart = {*apart}
    if both := sorted(apart & places.keys()):
        raise VocapError(
            f"{path}, {places[both[0]]}: rank {both[0]} is that of a special token too; correct "
            f"{SETTINGS} beside it"
        )
    number = -1
    for following in sorted(places):
        lost = next((one for one in range(number + 1, following) if one not in apart), None)
        if lost is not None:
            raise VocapError(
                f"{path}, {places[following]}: rank {following}, and no line has rank {lost}; "
                "download it again, or name the special tokens of such ids under special_tokens "
                f"of {SETTINGS} beside it, with pat_str, the expression of the cut"
            )
        number = following
    if absent := [byte for byte in range(256) if bytes([byte]) not in tokens]:
        raise VocapError(f"{path}: no rank for the byte 0x{absent[0]:02X}; download it again")
    return tokens


def build(path: Path, tokens: Mapping[bytes, int], split: str, expression: str | None):
    """The `tokenizers.Tokenizer` of tokens with their ids, cut by a name or by an
    expression.
    """
    from tokenizers import Tokenizer, decoders, models

    from vocap.bpe.cutting import Cut

    # the cut
    if expression is not None and not SHARED.fullmatch(expression):
        raise VocapError(
            f"{path}: its expression {expression!r} has parts that Oniguruma reads otherwise than "
            "tiktoken; write it without anchors, possessive quantifiers and \\w, \\d, \\h"
        )
    try:
        cut = Cut(split, regex=expression)
    except UsageError as error:
        raise VocapError(f"{path}: {error}") from None
    # the merges
    table = {byte: character for character, byte in byte_characters().items()}
    names = {token: token.decode("latin-1").translate(table) for token in tokens}
    merges = [
        (names[token[:at]], names[token[at:]])
        for token in sorted(tokens, key=tokens.__getitem__)
        for at in range(1, len(token))
        if token[:at] in names and token[at:] in names
    ]
    vocabulary = {names[token]: number for token, number in tokens.items()}
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, ignore_merges=True))
    tokenizer.pre_tokenizer = cut.pre_tokenizer("bytes")
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def cuts_of(named: Mapping[str, Path], splits: Iterable[str]) -> dict[str, str | None]:
    """The cut of each tokenizer: `splits` are names of cuts, for all files of ranks, or
    NAME=CUT. Raises UsageError for an unknown one, and for one that nothing takes.

    >>> cuts_of({"a": Path("a.model")}, [])
    {'a': None}
    """
    ranked = [name for name, path in named.items() if needs_cut(path)]
    found: dict[str, str | None] = dict.fromkeys(named)
    for entry in sorted(splits, key=lambda entry: "=" in entry):
        name, equals, cut = entry.rpartition("=")
        if cut not in SPLITS:
            raise UsageError(f"--split {entry}: no cut {cut!r}; take one of {', '.join(SPLITS)}")
        takers = [name] if equals else ranked
        if not takers or not {*takers} <= {*ranked}:
            what = f"{name} is no" if equals else "no tokenizer is a"
            raise UsageError(
                f"--split {entry}: {what} file of tiktoken's ranks that lacks its cut; leave it out"
            )
        found |= dict.fromkeys(takers, cut)
    return found
