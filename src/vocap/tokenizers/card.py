"""The model card of a tokenizer: README.md of its huggingface/ folder."""

from collections.abc import Mapping, Sequence

METHODS = {
    "vocap": "VOCAP (Zheng et al., EMNLP 2021): the vocabulary is shared out among the languages by its gain in "
    "average log probability, and the pieces get the scores of one unigram model",
    "joint": "JOINT: one unigram model trained on the text of all languages",
    "mono": "MONO: the unigram model of one language",
    "trim": "cut down from another tokenizer to the pieces that some languages need",
    "extend": "another tokenizer with the pieces of one language more",
}
COLUMNS = ("language", "alp", "tokens_per_sentence", "unk_rate")


def write_card(
    name: str, proto, description: Mapping, evaluation: Sequence[Mapping[str, str]] | None, text: str | None
) -> str:
    """The card of the tokenizer `name`.

    `description`: of description.json, may be empty; `evaluation`: the rows of evaluation.tsv; `text`: where the
    text comes from and its licences, in Markdown. Parts that are unknown are said to be.
    """
    languages = [row["language"] for row in evaluation or ()]
    kind = description.get("kind", "")
    settings = ", ".join(f"{key} {value}" for key, value in description.get("settings", {}).items() if value != [])
    normalization = proto.normalizer_spec
    unknown = "byte pieces" if proto.trainer_spec.byte_fallback else "`<unk>`"
    lines = [
        "---",
        "library_name: transformers",
        "tags: [tokenizer, sentencepiece, vocap]",
        *(["language:", *(f'- "{language}"' for language in languages)] if languages else []),
        "---",
        "",
        f"# {name}",
        "",
        f"A multilingual SentencePiece unigram tokenizer of T = {len(proto.pieces):,} ids, made with VoCap: `<s>` "
        "0, `<pad>` 1, `</s>` 2, `<unk>` 3, pieces, `<mask>`.",
        "",
        "```python",
        "from transformers import AutoTokenizer",
        "",
        'tokenizer = AutoTokenizer.from_pretrained("FOLDER")  # of this file',
        "```",
        "",
        "`vocap verify FOLDER` checks its ids under your versions of the libraries against `golden.json`.",
        "",
        "## Method",
        "",
        f"{METHODS.get(kind, 'Not recorded')}.{f' Settings: {settings}.' if settings else ''}",
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
        f"- Text is normalised ({normalization.name or 'no rule'}): decoded text can differ from the encoded."
        + (" Runs of spaces become one." if normalization.remove_extra_whitespaces else ""),
        f"- Characters that are no pieces become {unknown}.",
        "- A language whose text was not used is cut into short pieces.",
    ]
    return "\n".join(lines) + "\n"


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
