r"""A tokenizer of byte-pair encoding in the form of tiktoken: ranks, and the arguments
of `tiktoken.Encoding`.

tiktoken has no merges: it joins the two neighbours whose joint bytes are the token of
the lowest rank, its id. The ids are those of tokenizer.json if each merge gives a new
token, in the order of the ids, from parts of lower ids, and if the bytes of each token
lead to it. For let two neighbours be the bytes of a token t, with all merges before
that of t applied. None of these reaches over their ends, so the bytes between are in
the state that they are in alone: the neighbours are the parts of the merge of t. With
the merge of t applied, they are t.
"""

import base64
import json
from pathlib import Path
from typing import Any

from vocap.bpe.model_file import BpeFile, Derivations, is_bpe, read_bpe
from vocap.errors import VocapError
from vocap.files.io import replacing_directory
from vocap.tokenizer_files.cuts import ENGLISH, check_expression
from vocap.tokenizer_files.ranks import RANKS, SETTINGS, SHARED, byte_characters

FILES = (RANKS, SETTINGS)
# ENGLISH without the flag: U+017F is an s in lower case too
IN_BOTH_CASES = "(?:'[sS\u017f]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
_BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}
_SPLIT = {"type": "Split", "behavior": "Isolated", "invert": False}


def export_tiktoken(path: str | Path, output: str | Path) -> int:
    """Write `ranks.tiktoken` and `encoding.json` of a tokenizer.json as the folder
    `output`; returns the ids.

    The latter holds arguments of `tiktoken.Encoding`: name, pat_str, special_tokens,
    explicit_n_vocab. Raises VocapError, naming the file and the reason, for a tokenizer
    that tiktoken cannot hold with the same ids.
    """
    path = Path(path)
    if path.exists() and not is_bpe(path):
        raise VocapError(
            f"{path}: no byte-pair encoding, and tiktoken holds nothing else; export it in the "
            "form of Hugging Face"
        )
    read = read_bpe(path)
    if reason := _unlike(read):
        raise VocapError(
            f"{read.path}: {reason}: tiktoken would give other ids; export it in the form of "
            "Hugging Face"
        )
    value = byte_characters()
    ranks, special = [], {}
    for number, token in enumerate(read.tokens):
        if number in read.special:
            special[token] = number
        else:
            written = base64.b64encode(bytes(value[character] for character in token)).decode()
            ranks.append(f"{written} {number}\n")
    settings = {
        "name": read.path.resolve().parent.name,
        # JavaScript's engine knows no (?i:...), and js-tiktoken hands the expression to it
        "pat_str": (cut_expression(read) or "").replace(ENGLISH, IN_BOTH_CASES),
        "special_tokens": special,
        "explicit_n_vocab": len(read.tokens),
    }
    with replacing_directory(output, owned=FILES) as folder:
        (folder / RANKS).write_text("".join(ranks), encoding="ascii")
        (folder / SETTINGS).write_text(
            json.dumps(settings, ensure_ascii=False, indent=2) + "\n", encoding="utf-8"
        )
    return len(read.tokens)


def cut_expression(read: BpeFile) -> str | None:
    """The regular expression that cuts text, if the pre-tokenizer consists of it and
    the byte-level alphabet.
    """
    step = read.definition.get("pre_tokenizer") or {}
    steps: list[dict[str, Any]] = []
    if step.get("type") == "Sequence":
        steps = step.get("pretokenizers") or []
    if len(steps) != 2 or not (
        _SPLIT.items() <= steps[0].items() and _BYTE_LEVEL.items() <= steps[1].items()
    ):
        return None
    return steps[0]["pattern"].get("Regex")


def _unlike(read: BpeFile) -> str:
    """Why the ids of tiktoken would not be those of the file; empty where they are."""
    model, expression = read.definition["model"], cut_expression(read)
    single = {token for token in model["vocab"] if len(token) == 1}
    # text and words
    if read.definition.get("normalizer"):
        return "its text is normalised, or its units are not bytes (train with --preset lossless)"
    if expression is None or not single >= byte_characters().keys() or model.get("byte_fallback"):
        return "its units are not bytes, cut by one expression"
    if not SHARED.fullmatch(expression):
        return (
            f"its expression {expression!r} has parts that the engine of tiktoken reads otherwise"
        )
    check_expression(expression)
    if read.added:
        return (
            f"{read.tokens[min(read.added)]!r} is one token wherever it occurs (train without "
            "symbols)"
        )
    if model.get("ignore_merges") or model.get("dropout"):
        return "it has ignore_merges or dropout"
    # tokens and merges
    made = read.merges[:, 2]
    apart = len(single - {read.tokens[number] for number in read.special}) + len(read.special)
    if len(made) + apart != len(read.tokens) or (made[1:] <= made[:-1]).any():
        return "its tokens are not those of its merges in their order"
    derivations = Derivations(read)
    for row, (a, b, new) in enumerate(read.merges.tolist()):
        if max(a, b) >= new or not (rows := derivations.of(new)) or rows[-1] != row:
            return f"its merges do not lead to the token {read.tokens[new]!r}"
    return ""
