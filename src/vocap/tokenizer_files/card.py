"""The model card of a tokenizer, the README.md of its Hugging Face form."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from vocap.files.io import read_object
from vocap.languages import DOMAINS
from vocap.tokenizer_files import EXPORTED
from vocap.tokenizer_files.id_layout import layout_of
from vocap.tokenizer_files.model_file import CONTROL, pieces_of

METHODS = {  # besides those of the kinds in `vocap.tokenizers.settings`
    "pieces": "PIECES: one descent over the pieces of all languages prunes those that the "
    "weighted log likelihood "
    "of all texts needs least, and the others get the scores of one unigram model",
    "trimmed": "cut down from another tokenizer to the pieces that some languages need",
    "extended": "another tokenizer with the pieces of one language more",
}
COLUMNS = ("language", "alp", "tokens_per_sentence", "unk_rate")
ISO = re.compile("[a-z]{2,3}")  # ISO 639-1 or 639-3
CARD_TEXT = """\
---
library_name: transformers
tags: [tokenizer, {tags}]
{languages}---

# {name}

A multilingual {kind} tokenizer of T = {total:,} ids, made with VoCap: {special}{others}.{use}

```python
from transformers import AutoTokenizer

tokenizer = AutoTokenizer.from_pretrained("FOLDER")  # of this file
```

## Method

{method}.{settings}

## Text and its licences

{text}

## Languages

{table}

## Limits

{losses}
- A language whose text was not used is cut into short pieces.
"""
CARD_TABLE = """\
On held-out lines: average log probability (ALP, nats a line, nearer to 0 is better) \
and tokens a line.

| language | ALP | tokens a line | unknown |
|---|---|---|---|
"""


@dataclass(frozen=True)
class About:
    """The facts of a tokenizer that its file holds: T, the special tokens by id, tokens
    besides pieces in words.

    `losses`: the differences between a text and the text that comes back, an item of a
    list each.
    """

    method: str
    total: int
    special: Sequence[tuple[str, int]]
    others: str
    losses: Sequence[str]
    tags: str = "sentencepiece, vocap"

    @classmethod
    def of(cls, proto: Any) -> "About":
        """The facts of a checked `ModelProto`."""
        layout = layout_of(proto)
        spec, bytes_known = proto.normalizer_spec, proto.trainer_spec.byte_fallback
        controls = [piece for piece in pieces_of(proto, CONTROL) if piece not in layout.names]
        names = ", ".join(f"`{piece}`" for piece in controls)
        others = f", {len(controls)} control symbols ({names})" if controls else ""
        if layout.reserved:
            others += f", {layout.reserved} reserved ids (`{layout.reserved_names[0]}`, ...)"
        others += f", pieces{', `<mask>`' if layout.mask else ''}"
        if not spec.precompiled_charsmap and not spec.remove_extra_whitespaces and bytes_known:
            losses = ["- Every text comes back from its ids, but U+2581 as a space."]
        else:
            spaces = " Runs of spaces become one." if spec.remove_extra_whitespaces else ""
            rule, unknown = spec.name or "no rule", "byte pieces" if bytes_known else "`<unk>`"
            losses = [
                f"- Text is normalised ({rule}): decoded text can differ from the encoded.{spaces}",
                f"- Characters that are no pieces become {unknown}.",
            ]
        special = [(entry.token, number) for number, entry in enumerate(layout.special)]
        return cls("SentencePiece unigram", len(proto.pieces), special, others, losses)


def describe_use(folder: Path) -> str:
    """What stands around a text in the ids of the export in a folder, and its longest
    input, as a sentence of the card; empty where no export is there.
    """
    if not all((folder / name).is_file() for name in EXPORTED[:2]):
        return ""
    around = Tokenizer.from_file(str(folder / EXPORTED[0])).encode("").tokens
    tokens = " and ".join(f"`{token}`" for token in around) or "no token"
    longest = read_object(folder / EXPORTED[1]).get("model_max_length")
    limit = f"at most {longest}" if longest else "any number of"
    return f"Around a text stands {tokens}, and an input has {limit} ids."


def write_card(
    name: str,
    about: About,
    description: Mapping[str, Any],
    evaluation: Sequence[Mapping[str, str]] | None = None,
    text: str | None = None,
    method: str = "",
    use: str = "",
) -> str:
    """The card of the tokenizer `name`.

    `description`: of description.json, may be empty; `evaluation`: the rows of
    evaluation.tsv; `text`: where the text comes from and its licences, in Markdown;
    `method`: of its kind; `use`: of `describe_use`. Parts that are unknown are said to
    be.
    """
    given = description.get("settings", {})
    # byte-pair encoding cuts digits by it where nothing else says how
    unused = {"split_digits"} if given.get("split", "words") != "words" or "digits" in given else ()
    settings = ", ".join(
        f"{key} {value}" for key, value in given.items() if value != [] and key not in unused
    )
    method = METHODS.get(given.get("rule") or description.get("kind", ""), method)
    table = [
        " | ".join(
            [
                row["language"],
                *(f"{float(row[key]):.4g}" if row[key] else "" for key in COLUMNS[1:]),
            ]
        )
        for row in evaluation or ()
    ]
    # the Hub's list has ISO codes alone: `sr` of `sr-Latn`, nothing of `python`
    natural = [row["language"] for row in evaluation or () if row.get("resource") not in DOMAINS]
    codes = dict.fromkeys(
        code for code in (re.split("[-_]", one)[0] for one in natural) if ISO.fullmatch(code)
    )
    return CARD_TEXT.format(
        tags=about.tags,
        languages="".join(["language:\n", *(f'- "{code}"\n' for code in codes)]) if codes else "",
        name=name,
        kind=about.method,
        total=about.total,
        special=", ".join(f"`{token}` {number}" for token, number in about.special),
        others=about.others,
        use=f" {use}" if use else "",
        method=method or "Not recorded",
        settings=f" Settings: {settings}." if settings else "",
        text=text or "Not recorded. Say here where the text comes from, and under which licences.",
        table=CARD_TABLE + "\n".join(f"| {row} |" for row in table) if table else "Not measured.",
        losses="\n".join(about.losses),
    )
