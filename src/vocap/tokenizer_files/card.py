"""The model card of a tokenizer: README.md of its huggingface/ folder."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from vocap.tokenizer_files.id_layout import layout_of
from vocap.tokenizer_files.model_file import CONTROL

METHODS = {  # besides those of the kinds in `vocap.tokenizers.settings`
    "pieces": "PIECES: one descent over the pieces of all languages prunes those that the weighted log likelihood "
    "of all texts needs least, and the others get the scores of one unigram model",
    "trimmed": "cut down from another tokenizer to the pieces that some languages need",
    "extended": "another tokenizer with the pieces of one language more",
}
COLUMNS = ("language", "alp", "tokens_per_sentence", "unk_rate")


@dataclass(frozen=True)
class About:
    """The facts of a tokenizer that its file holds: T, the special tokens by id, tokens besides pieces in words.

    `losses`: the differences between a text and the text that comes back, an item of a list each.
    """

    method: str
    total: int
    special: Sequence[tuple[str, int]]
    others: str
    losses: Sequence[str]
    tags: str = "sentencepiece, vocap"

    @classmethod
    def of(cls, proto) -> "About":
        """Those of a checked `ModelProto`."""
        layout = layout_of(proto)
        own = set(layout.names)
        controls = [entry.piece for entry in proto.pieces if entry.type == CONTROL and entry.piece not in own]
        others = (
            f", {len(controls)} control symbols ({', '.join(f'`{piece}`' for piece in controls)})"
            if controls
            else ""
        )
        others += (
            f", {layout.reserved} reserved ids (`{layout.reserved_names[0]}`, ...)" if layout.reserved else ""
        )
        others += f", pieces{', `<mask>`' if layout.mask else ''}"
        special = [(entry.token, number) for number, entry in enumerate(layout.special)]
        return cls("SentencePiece unigram", len(proto.pieces), special, others, _losses(proto))


def write_card(
    name: str,
    about: About,
    description: Mapping,
    evaluation: Sequence[Mapping[str, str]] | None = None,
    text: str | None = None,
    method: str = "",
) -> str:
    """The card of the tokenizer `name`.

    `description`: of description.json, may be empty; `evaluation`: the rows of evaluation.tsv; `text`: where the
    text comes from and its licences, in Markdown; `method`: of its kind. Parts that are unknown are said to be.
    """
    languages = [row["language"] for row in evaluation or ()]
    kind = description.get("kind", "")
    settings = ", ".join(f"{key} {value}" for key, value in description.get("settings", {}).items() if value != [])
    method = METHODS.get(description.get("settings", {}).get("rule") or kind, method)
    special = ", ".join(f"`{token}` {number}" for token, number in about.special)
    lines = [
        "---",
        "library_name: transformers",
        f"tags: [tokenizer, {about.tags}]",
        *(["language:", *(f'- "{language}"' for language in languages)] if languages else []),
        "---",
        "",
        f"# {name}",
        "",
        f"A multilingual {about.method} tokenizer of T = {about.total:,} ids, made with VoCap: "
        f"{special}{about.others}.",
        "",
        "```python",
        "from transformers import AutoTokenizer",
        "",
        'tokenizer = AutoTokenizer.from_pretrained("FOLDER")  # of this file',
        "```",
        "",
        "## Method",
        "",
        f"{method or 'Not recorded'}.{f' Settings: {settings}.' if settings else ''}",
        "",
        "## Text and its licences",
        "",
        text or "Not recorded. Say here where the text comes from, and under which licences.",
        "",
        "## Languages",
        "",
        *_table(evaluation),
        "",
        "## Limits",
        "",
        *about.losses,
        "- A language whose text was not used is cut into short pieces.",
    ]
    return "\n".join(lines) + "\n"


def _losses(proto) -> list[str]:
    """The differences between a text and the text that comes back, an item of a list each."""
    spec, bytes_known = proto.normalizer_spec, proto.trainer_spec.byte_fallback
    if not spec.precompiled_charsmap and not spec.remove_extra_whitespaces and bytes_known:
        return ["- Every text comes back from its ids, but U+2581 as a space."]
    unknown = "byte pieces" if bytes_known else "`<unk>`"
    return [
        f"- Text is normalised ({spec.name or 'no rule'}): decoded text can differ from the encoded."
        + (" Runs of spaces become one." if spec.remove_extra_whitespaces else ""),
        f"- Characters that are no pieces become {unknown}.",
    ]


def _table(evaluation: Sequence[Mapping[str, str]] | None) -> list[str]:
    if not evaluation:
        return ["Not measured."]
    cells = [[row["language"], *(_number(row[name]) for name in COLUMNS[1:])] for row in evaluation]
    return [
        "On held-out lines: average log probability (ALP, nats a line, nearer to 0 is better) and tokens a line.",
        "",
        "| language | ALP | tokens a line | unknown |",
        "|---|---|---|---|",
        *(f"| {' | '.join(row)} |" for row in cells),
    ]


def _number(cell: str) -> str:
    return f"{float(cell):.4g}" if cell else ""
