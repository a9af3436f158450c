"""Characters of a text that no id of a tokenizer stands for: those behind `<unk>`, and
those that it drops without a token.

Byte-pair encoding without an unknown token drops characters, and so do steps of a
normaliser or of a cut that delete text. Characters without a place among the tokens are
dropped if the ids stay the same without them; else others stand for them, as `é` for
`e` and U+0301 after NFC. A mark that Unicode composes with its letter is part of the
letter: a normaliser that removes accents keeps the letter.

Spaces and characters without a shape are not missed: white space, controls, what
Unicode ignores by default (joiners, marks of direction, soft hyphens, byte-order marks,
variation selectors, fillers), noncharacters, U+2581 and U+FFFD, which SentencePiece reads
as spaces. Letters, marks, a tatweel, and characters of private use are text.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from typing import TYPE_CHECKING, Any, NamedTuple
from unicodedata import normalize

if TYPE_CHECKING:
    from tokenizers import Tokenizer

# text that would be missed
SHAPES = re.compile(
    r"[^\s\x00-\x1f\x7f-\x9f\u2581\ufffd\ufdd0-\ufdef\ufffe\uffff"
    # Default_Ignorable_Code_Point
    r"\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    r"\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3"
    r"\U0001d173-\U0001d17a\U000e0000-\U000e0fff]+"
)
# names of SentencePiece's own rules, which delete controls at most
STOCK_RULES = ("identity", "nfkc", "nfkc_cf", "nmt_nfkc", "nmt_nfkc_cf")
# what names a step that may delete text
DELETING = re.compile(
    '"(StripAccents|BertNormalizer|Precompiled|CharDelimiterSplit|Removed)"|"content": ""'
)
# the steps that `build_normalizer` gives for the table nmt_nfkc, which keep text: their
# number and digest
STEPS = 36
DIGEST = "b66aec6bce123df87019bad6d686fe9f698316a93416c7c28d76fa062e2206e9"
UNKNOWN = "\ufdd0unknown"  # with a noncharacter, so that no text is read as it
# id, text, and place in a line; without an id, characters that are dropped
Token = tuple[int | None, str, int, int]


class Unknown(NamedTuple):
    """Of a line the characters that no id stands for, the bytes of UTF-8 that they count
    as, and how many are dropped.
    """

    characters: str = ""
    size: int = 0
    dropped: int = 0


def begins_as_known(steps: list[Any]) -> bool:
    """Whether the steps of a normaliser begin with those of nmt_nfkc, with the dummy
    prefix and spaces removed.
    """
    return sha256(json.dumps(steps[:STEPS]).encode()).hexdigest() == DIGEST


def deleted_by_rules(spec: Any) -> re.Pattern[str] | None:
    """What the rules of a SentencePiece model delete of text; None: nothing."""
    from vocap.tokenizer_files.charsmap import read_charsmap

    rules = {} if spec.name in STOCK_RULES else read_charsmap(spec.precompiled_charsmap)
    keys = [key for key, value in rules.items() if not value and SHAPES.search(key)]
    longest_first = sorted(keys, key=len, reverse=True)
    return re.compile("|".join(map(re.escape, longest_first))) if keys else None


def deleted_parts(
    line: str, tokens: Iterable[Token], encode: Callable[[str], list[int]]
) -> Iterator[Token]:
    """The characters without a token without which the ids of a line stay the same."""
    missed = [*line]  # NUL, which has no shape, in the place of characters with a token
    for _, _, start, end in tokens:
        for at in range(start, end):
            missed[at] = "\0"
    for part in SHAPES.finditer("".join(missed)):
        start, end = part.span()
        marked = line[max(0, start - 1) : end]
        if len(normalize("NFC", marked)) == 1 < len(marked):
            continue
        if not encode(part[0]) or encode(line[:start] + line[end:]) == encode(line):
            yield from ((None, line[at], at, at + 1) for at in range(start, end))


def with_unknown_token(tokenizer: "Tokenizer") -> "Tokenizer":
    """The same byte-pair encoding with a token for each character that has no id."""
    from tokenizers import Tokenizer

    content = json.loads(tokenizer.to_str())
    content["model"] |= {"unk_token": UNKNOWN, "fuse_unk": False}
    content["model"]["vocab"][UNKNOWN] = tokenizer.get_vocab_size()
    found = Tokenizer.from_str(json.dumps(content))
    found.encode_special_tokens = tokenizer.encode_special_tokens
    return found
