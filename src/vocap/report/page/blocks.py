"""The blocks of a section. Text is plain and escaped by the template, unless it is
Markup.
"""

import base64
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import yaml
from markupsafe import Markup

from vocap.report.page.figures import Figure
from vocap.report.page.tables import Table


@dataclass(frozen=True)
class Paragraph:
    """A paragraph, one that answers the page's question or says why, or a heading inside
    a section.
    """

    text: str
    level: Literal["prose", "answer", "reason", "heading"] = "prose"


@dataclass(frozen=True)
class Note:
    """A boxed remark: a warning, or a missing result and the command that makes it."""

    text: str
    level: Literal["info", "warning"] = "info"


@dataclass(frozen=True)
class Facts:
    """Names with short values, side by side on a wide page."""

    pairs: Sequence[tuple[str, Any]]


@dataclass(frozen=True)
class CodeBlock:
    """Lines of a file or a program under a title: folded, or with a `remark` open
    beside it.
    """

    title: str
    text: str
    remark: str | None = None

    @classmethod
    def of_file(cls, content: dict[str, Any], name: str) -> "CodeBlock":
        """All of a JSON file, as YAML."""
        return cls(
            f"All of {name}",
            yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100),
        )


@dataclass(frozen=True)
class Fold:
    """Blocks under a title that opens them; closed at first."""

    title: str
    blocks: Sequence["PageBlock"]


@dataclass(frozen=True)
class Cuts:
    """Sentences: language, code, and for each tokenizer its name, number of tokens, and
    stretches of the text.

    A stretch is a token's text with its classes in the style sheet.
    """

    sentences: Sequence[tuple[str, str, Sequence[tuple[str, int, Sequence[tuple[str, str]]]]]]


@dataclass(frozen=True)
class Script:
    """A part that a script draws from `data`: the explorer; what each language gets and why
    (`names` by code, `packed`: the answers as base64 of compressed JSON); fields for the size
    of the reader's model, at first the fields of `ModelCosts`, which decide what the
    embeddings of the table after it take.
    """

    name: Literal["explorer", "why", "model"]
    data: Mapping[str, Any]


PageBlock = Paragraph | Note | Facts | CodeBlock | Fold | Cuts | Script | Table | Figure


@dataclass
class Section:
    """One part of the page; `short` is its name in the navigation."""

    id: str
    title: str
    short: str
    blocks: list[PageBlock]


def leaves(blocks: Iterable[PageBlock | Section]) -> Iterator[PageBlock]:
    """All blocks in the page's order, those inside sections and folds too, without these."""
    for block in blocks:
        if isinstance(block, Fold | Section):
            yield from leaves(block.blocks)
        else:
            yield block


def first_open(parts: Sequence[tuple[str, Sequence[PageBlock]]]) -> list[PageBlock]:
    """The blocks of the first part, then those of each other one under its title."""
    opened = [block for _, blocks in parts[:1] for block in blocks]
    return [*opened, *(Fold(title, blocks) for title, blocks in parts[1:])]


def not_run(stage: str, text: str) -> Note:
    """The note on a stage without results."""
    said = "<strong>Not run.</strong> {} To make it: <code>snakemake --cores all {}</code>"
    return Note(Markup(said).format(text, stage))


def without_results(names: Sequence[str], level: Literal["info", "warning"] = "info") -> list[Note]:
    """A note on configured names without results; nothing without names."""
    return (
        [Note(f"In the configuration, without results here: {', '.join(names)}.", level)]
        if names
        else []
    )


def pack(content: bytes) -> str:
    """Data of a script, compressed, as base64."""
    return base64.b64encode(zlib.compress(content, 9)).decode()


def text_of(value: Any) -> str:
    """A value of a JSON file in one line: names and numbers, lists and dicts of them.

    >>> text_of([1200, 0.5, {"cc100": True}]), text_of(None)
    ('1,200, 0.5, cc100: yes', '')
    """
    if isinstance(value, list | tuple):
        return ", ".join(map(text_of, value))
    if isinstance(value, dict):
        return "; ".join(f"{key}: {text_of(entry)}" for key, entry in value.items())
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        form = ",.6g" if isinstance(value, float) else ","
        return f"{value:{form}}".replace("-", "−")
    return "" if value is None else str(value)
