"""Lines that the normaliser of an export changes in nothing but their spaces, encoded
without its steps.

An export follows SentencePiece's table of rules in some forty steps, which take half the
time of `tokenizers`. A line without a character that ends a key of the table, without
U+2581 and without spaces to remove keeps all its characters: it needs the dummy prefix
and U+2581 for its spaces alone.
"""

import json
from base64 import b64decode
from collections.abc import Callable
from hashlib import sha256
from typing import Any

from tokenizers import Tokenizer, normalizers

from vocap.tokenizer_files.charsmap import last_characters
from vocap.tokenizer_files.normalizer import SPACE

# the steps that `build_normalizer` gives for the table nmt_nfkc: their number and digest
# (building them again takes as long as 60,000 lines), and the place of the table
STEPS, TABLE = 36, 26
DIGEST = "b66aec6bce123df87019bad6d686fe9f698316a93416c7c28d76fa062e2206e9"


def begins_as_known(steps: list[Any]) -> bool:
    """Whether the steps of a normaliser begin with those of nmt_nfkc, with the dummy
    prefix and spaces removed.
    """
    return sha256(json.dumps(steps[:STEPS]).encode()).hexdigest() == DIGEST


def choose_tokenizer(tokenizer: Tokenizer) -> Callable[[str], Tokenizer]:
    """A function that gives, for a line, a tokenizer that encodes it as `tokenizer` does:
    one without steps for a plain line, where the normaliser `begins_as_known`.

    The steps behind these are kept. Where text is searched for added tokens, no line is
    plain: these may hold spaces.
    """
    whole, added = tokenizer.normalizer, tokenizer.get_added_tokens_decoder().values()
    steps = []
    if isinstance(whole, normalizers.Sequence):
        steps = json.loads(whole.__getstate__())["normalizers"]
    searched = not tokenizer.encode_special_tokens or not all(token.special for token in added)
    if searched or not begins_as_known(steps):
        return lambda line: tokenizer
    plain = Tokenizer(tokenizer.model)  # the same one, with the words that it remembers
    spaces = [normalizers.Prepend(SPACE), normalizers.Replace(" ", SPACE)]
    behind = [whole[place] for place in range(STEPS, len(steps))]
    plain.normalizer = normalizers.Sequence([*spaces, *behind])
    plain.pre_tokenizer = tokenizer.pre_tokenizer
    other = last_characters(b64decode(steps[TABLE]["precompiled_charsmap"])) | {SPACE}

    def choose(line: str) -> Tokenizer:
        kept = other.isdisjoint(line) and " ".join(line.split()) == line
        return plain if kept else tokenizer

    return choose
