r"""Tokenizers of byte-pair encoding that are given by ranks: files of tiktoken, and
Mistral's tekken.json.

tiktoken joins the two neighbours whose joint bytes are the token of the lowest rank,
and takes a word that is a token as it is. As merges these are all pairs of tokens whose
joint bytes are a token, in the order of that token. Its id is the rank, in tekken.json
behind the special tokens.

A file of ranks does not say where text is cut before: a name of `SPLITS` does, or
encoding.json beside it, as `vocap export --format tiktoken` writes it.
"""

import re
from base64 import b64decode
from collections.abc import Iterable, Mapping
from functools import cache
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vocap.errors import SettingError, UsageError, VocapError
from vocap.files.written import read_written
from vocap.tokenizer_files import REGEX, SPLITS, Cuts

if TYPE_CHECKING:
    from tokenizers import Tokenizer

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


def read_ranks(path: Path, split: str | None) -> "tuple[Tokenizer, int]":
    """The `tokenizers.Tokenizer` of a file of ranks, and T; `split`: the name of a cut.

    T counts the special tokens of encoding.json; text is never read as one. A rank that
    no token has is an id without a piece. Raises VocapError, naming file and line, for
    ranks that are damaged, or of no cut.
    """
    beside, special, expression = path.with_name(SETTINGS), [], None
    if beside.is_file():
        settings = read_written(beside, "export --format tiktoken")
        special, expression = list(settings["special_tokens"].values()), settings["pat_str"]
    elif split is None:
        raise VocapError(
            f"{path}: ranks of tiktoken do not say where text is cut; name the cut, split, "
            f"one of {', '.join(SPLITS)}; o200k_base is cut by o200k, cl100k_base by cl100k"
        )
    lines = enumerate(path.read_bytes().split(b"\n"), start=1)
    tokens = read_tokens(path, ((f"line {at}", line) for at, line in lines if line.strip()))
    size = max(*tokens.values(), *special) + 1
    return build_from_ranks(path, tokens, split or REGEX, expression), size


def read_tekken(path: Path, content: Mapping[str, Any]) -> "Tokenizer":
    """The `tokenizers.Tokenizer` of the content of a tekken.json.

    Of its vocabulary the first are used, as many as T has beside the special tokens.
    Raises VocapError as `read_ranks`.
    """
    config = content["config"]
    size, first = config["default_vocab_size"], config["default_num_special_tokens"]
    entries = (
        (f"vocab[{number}]", f"{one['token_bytes']} {one['rank']}".encode())
        for number, one in enumerate(content["vocab"][: size - first])
    )
    tokens = {token: first + rank for token, rank in read_tokens(path, entries).items()}
    return build_from_ranks(path, tokens, REGEX, config["pattern"])


def read_tokens(path: Path, entries: Iterable[tuple[str, bytes]]) -> dict[bytes, int]:
    """The rank of each token, checked; entries: a place, and a token in base64 and a rank."""
    tokens: dict[bytes, int] = {}
    ranks: set[int] = set()
    for place, entry in entries:
        try:
            written, rank = entry.split()
            token, number = b64decode(written, validate=True), int(rank)
        except ValueError:
            token, number = b"", -1
        if not token or number < 0 or token in tokens or number in ranks:
            raise VocapError(
                f"{path}, {place}: {entry[:40].decode(errors='replace')!r} is no new token in "
                "base64 with a new rank; download it again"
            )
        tokens[token] = number
        ranks.add(number)
    if absent := [byte for byte in range(256) if bytes([byte]) not in tokens]:
        raise VocapError(f"{path}: no rank for the byte 0x{absent[0]:02X}; download it again")
    return tokens


def build_from_ranks(
    path: Path, tokens: Mapping[bytes, int], split: str, expression: str | None
) -> "Tokenizer":
    """The `tokenizers.Tokenizer` of tokens with their ids, cut by a name or by an
    expression.
    """
    from tokenizers import Tokenizer, decoders, models

    from vocap.tokenizer_files.cuts import Cut

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
    tokenizer.pre_tokenizer = cut.pre_tokenizer()
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def cuts_of(named: Mapping[str, Path], splits: Cuts) -> dict[str, str | None]:
    """The cut of each tokenizer: `splits` are names of cuts, for all files of ranks, or
    NAME=CUT. Raises UsageError for an unknown one, and for one that nothing takes.

    >>> cuts_of({"a": Path("a.model")}, [])
    {'a': None}
    """
    found: dict[str, str | None] = dict.fromkeys(named)
    entries = [splits] if isinstance(splits, str) else splits
    if isinstance(entries, Mapping):
        entries = [f"{name}={cut}" for name, cut in entries.items()]
    for entry in sorted(entries, key=lambda entry: "=" in entry):
        name, _, cut = entry.rpartition("=")
        if cut not in SPLITS:
            raise SettingError("split", f"{entry}: no cut {cut!r}; take one of {', '.join(SPLITS)}")
        takers = [one for one in named if name in ("", one) and needs_cut(named[one])]
        if not takers:
            raise SettingError(
                "split",
                f"{entry}: no file of tiktoken's ranks among {', '.join(named)} takes it; "
                "leave it out",
            )
        found |= dict.fromkeys(takers, cut)
    return found
