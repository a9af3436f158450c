"""The blocks of a section. Text is plain and escaped by the template, unless it is Markup."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from markupsafe import Markup

from vocap.report.data.explorer import Explorer
from vocap.report.page.figures import Figure
from vocap.report.page.tables import Table


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str
    kind: str = "text"


@dataclass(frozen=True)
class Heading:
    """A heading inside a section."""

    text: str
    kind: str = "heading"


@dataclass(frozen=True)
class Note:
    """A boxed remark: a warning, or a missing result and the command that makes it."""

    text: str
    level: str = "info"  # info, warning
    kind: str = "note"


@dataclass(frozen=True)
class Facts:
    """Names with short values, side by side on a wide page; with a title they are folded under it."""

    pairs: Sequence[tuple[str, Any]]
    title: str = ""
    kind: str = "facts"

    @classmethod
    def of_file(cls, content: dict[str, Any], name: str) -> "Facts":
        """All of a JSON file."""
        pairs = [(key.replace("_", " ").replace(".", ": "), value) for key, value in flatten(content)]
        return cls(pairs, f"All of {name}")


@dataclass(frozen=True)
class Listing:
    """The text of a file."""

    title: str
    text: str
    kind: str = "listing"


@dataclass(frozen=True)
class Tiles:
    """The most important numbers: value, noun and remark."""

    tiles: Sequence[tuple[str, str, str]]
    kind: str = "tiles"


@dataclass(frozen=True)
class Fold:
    """Blocks under a title that opens them; closed at first."""

    title: str
    blocks: Sequence["Block"]
    kind: str = "fold"


@dataclass(frozen=True)
class Loads:
    """Tokenizers, each with a remark and the lines of Python that load it; `imports` come before them."""

    imports: Sequence[str]
    tokenizers: Sequence[tuple[str, str, Sequence[str]]]
    kind: str = "loads"


@dataclass(frozen=True)
class Cut:
    """A sentence under one tokenizer: stretches of text with their classes in the style sheet."""

    tokenizer: str
    tokens: int
    stretches: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Cuts:
    """Sentences, each with its language's name and code, and its cut under each tokenizer."""

    sentences: Sequence[tuple[str, str, Sequence[Cut]]]
    kind: str = "cuts"


@dataclass(frozen=True)
class Movers:
    """Short lists side by side; an entry has a name, a value in words, and the length of its bar in percent."""

    lists: Sequence[tuple[str, Sequence[tuple[str, str, float]]]]
    kind: str = "movers"


@dataclass(frozen=True)
class Slider:
    """A slider over computed points, which `label` names: for each choice, names and values of every point."""

    name: str  # its id on the page
    label: str
    positions: Sequence[str]
    choices: Mapping[str, Sequence[Sequence[tuple[str, str]]]]
    kind: str = "slider"

    @property
    def data(self) -> dict[str, Any]:
        """For the page's script; choices as a list, which keeps their order."""
        return {"label": self.label, "positions": self.positions, "choices": list(self.choices.items())}


Block = (
    Text
    | Heading
    | Note
    | Facts
    | Listing
    | Tiles
    | Fold
    | Loads
    | Cuts
    | Movers
    | Slider
    | Table
    | Figure
    | Explorer
)


@dataclass
class Section:
    """One part of the page; `short` is its name in the navigation."""

    id: str
    title: str
    short: str
    blocks: list[Block] = field(default_factory=list)


def leaves(blocks: Iterable[Block]) -> Iterator[Block]:
    """All blocks in the page's order, those inside folds too, without the folds."""
    for block in blocks:
        if isinstance(block, Fold):
            yield from leaves(block.blocks)
        else:
            yield block


def not_run(stage: str, text: str) -> Note:
    """The note on a stage without results."""
    return Note(
        Markup("<strong>Not run.</strong> {} To make it: <code>snakemake --cores all {}</code>").format(
            text, stage
        )
    )


def without_results(names: Sequence[str], level: str = "info") -> list[Note]:
    """A note on configured names without results; nothing without names."""
    return [Note(f"In the configuration, without results here: {', '.join(names)}.", level)] if names else []


def code(text: str) -> Markup:
    """A word in the typeface of code, escaped."""
    return Markup("<code>{}</code>").format(text)


def counted(number: int, one: str, many: str | None = None) -> str:
    """A count with its noun.

    >>> counted(1, "language"), counted(1200, "language")
    ('1 language', '1,200 languages')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def flatten(value: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    """Nested objects as dotted names with printable values, in their own order; long lists are cut."""
    pairs: list[tuple[str, Any]] = []
    for key, entry in value.items():
        name = f"{prefix}{key}"
        if isinstance(entry, dict) and entry:
            pairs += flatten(entry, f"{name}.")
        elif isinstance(entry, list | tuple):
            shown = ", ".join(printable(item) for item in entry[:12])
            more = f" … and {len(entry) - 12:,} more" if len(entry) > 12 else ""
            pairs.append((name, (shown + more) or "none"))
        else:
            pairs.append((name, printable(entry)))
    return pairs


def printable(value: Any) -> str:
    """A value of a JSON file for the page."""
    if value is None or value == {}:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}".replace("-", "−")
    if isinstance(value, float):
        return f"{value:,.6g}".replace("-", "−")
    if isinstance(value, dict):
        return "; ".join(f"{key}: {printable(entry)}" for key, entry in value.items())
    return str(value)


def text_of(value: Any) -> str:
    """A name, or a list or a dict of names, in one line: the source of a corpus."""
    if isinstance(value, list):
        return ", ".join(map(text_of, value))
    if isinstance(value, dict):
        return ", ".join(f"{key} {text_of(entry)}" for key, entry in value.items())
    return "" if value is None else str(value)
