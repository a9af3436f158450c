"""The `tokenizers` section of the configuration: the kinds of tokenizers, one class
each, listed in `KINDS`.

Configuration, plan, report, model card and workflow ask the class of an entry for the
rows of its embedding table, its label and method, the mistakes of its settings, its
text regime and its files. A further kind is one more subclass of `Kind` in `KINDS`,
added before `vocap.config` is imported, and the rule that makes its file.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, Self, Union, get_args

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, model_validator

from vocap.errors import UsageError
from vocap.files.paths import PlainPath
from vocap.section import Alpha, Code, ConfigSection
from vocap.tokenizer_files import REGEX, Split
from vocap.tokenizer_files.id_layout import XLM_R_LAYOUT, IdLayout
from vocap.unigram.text_settings import META_PIECES, XLM_R, TextSettings
from vocap.unigram.training_settings import CountsPath, Memory, RunText, UnigramTraining

if TYPE_CHECKING:
    from vocap.bpe.cutting import Pretokenization

Total = Annotated[int, Field(ge=2, description="T, every id counted, special tokens too")]
Per = Annotated[
    Literal["line", "character"] | None,
    Field(
        description="unit of these shares: line unless given, as in the paper; or character, for "
        "uneven lines"
    ),
]


def check_symbols(symbols: list[str], layout: IdLayout = XLM_R_LAYOUT) -> list[str]:
    """Symbols of a text beside the special tokens of the layout, unchanged.

    Raises ValueError for one that no tokenizer could keep.

    >>> check_symbols(["<date>", "<url>"])
    ['<date>', '<url>']
    """
    for symbol in symbols:
        if not symbol or any(one.isspace() or one == "\u2581" or one < " " for one in symbol):
            raise ValueError(
                f"the symbol {symbol!r} is empty, or holds a space, U+2581, which stands for one, "
                "or a control character; correct it"
            )
        if (count := [*symbols, *layout.names].count(symbol)) > 1:
            raise ValueError(
                f"the symbol {symbol!r} is given {count} times, special tokens of the layout "
                "included; keep one"
            )
    return symbols


class Kind(ConfigSection):
    """One entry of the section; its field `kind` names the class, and its docstring
    describes it in the docs.

    `label`: a noun phrase for tables; `method`: a sentence for the model card, without
    its full stop. `merged`: whether its vocabulary is that of several languages, and
    compared with others of the same T. `is_reference`: whether others of its T are
    compared with it. `allocated`: whether its pieces are those of an allocation.
    `made`: whether the run makes its `file`, and the export of it. `results`: what its
    folder holds beside `file` and the tables of its evaluation. `colour`, a name of the
    report's palette, and `shape`, of Vega-Lite, are those of its marks.

    The class methods read the settings of a trained tokenizer from the `settings` of
    its description.json, which holds those of its command.
    """

    label: ClassVar[str] = ""
    method: ClassVar[str] = ""
    merged: ClassVar[bool] = True
    is_reference: ClassVar[bool] = False
    allocated: ClassVar[bool] = False
    made: ClassVar[bool] = True
    file: ClassVar[str] = "sentencepiece.model"
    results: ClassVar[tuple[str, ...]] = ("description.json", "pieces.tsv")
    colour: ClassVar[str] = "unknown"
    shape: ClassVar[str] = "triangle-up"
    kind: str
    export: list[Literal["tiktoken", "gguf"]] | None = Field(
        None,
        description="further forms to write beside huggingface/: tiktoken, the folder tiktoken/; "
        "gguf, the file NAME.gguf of llama.cpp (docs/clients.md)",
    )

    @classmethod
    def model(cls, settings: Mapping[str, Any]) -> str:
        """The type of model, and where text is cut before its pieces are learnt, in words."""
        return "unigram"

    @classmethod
    def regime(cls, settings: Mapping[str, Any]) -> str:
        """Its text regime in words: the model, its cuts and its symbols.

        ALP is compared inside one regime. All tokenizers of a run are normalised by its
        section `text`.
        """
        symbols = settings.get("user_defined_symbols")
        model = cls.model(settings)
        return f"{model}, symbols {', '.join(map(str, symbols))}" if symbols else model

    @classmethod
    def selection(cls, settings: Mapping[str, Any], weights: str) -> Sequence[str]:
        """Facts on the choice of its pieces, in words; nothing where there are none.

        `weights`: the exponents that weigh the languages, in words.
        """
        return ()

    @classmethod
    def followed_text(cls, settings: Mapping[str, Any]) -> bool:
        """Whether its training followed parallel text."""
        return bool(settings.get("token_fairness"))

    @abstractmethod
    def rows(self, settings: Any) -> int | None:
        """T: ids of the tokenizer, special tokens included; None where only its file or
        allocation knows.

        `settings`: the whole configuration.
        """

    def other_ids(self, form: str, run: TextSettings) -> str:
        """Why the program of a form of `export` would give other ids; empty where it does not.
        `run`: how the run reads text. Raises UsageError as `TextSettings`.
        """
        if form == "tiktoken":
            return "tiktoken loads byte-pair encoding alone"
        if run.byte_fallback or run.user_defined_symbols:
            return "llama.cpp gives other ids for byte pieces and user-defined symbols of unigram"
        return ""

    def mistakes(self, settings: Any, languages: list[str]) -> Iterator[str]:
        """Contradictions with other sections: ".field: text" or ": text", to follow the
        name of the entry.

        `settings`: the whole configuration; `languages`: codes of the languages of the
        run.
        """
        try:
            for form in self.export or ():
                if reason := self.other_ids(form, settings.text.settings):
                    yield f".export: {form}: {reason}; leave it out (docs/clients.md)"
            if self.made and self.file == Kind.file:  # of a unigram model
                settings.layout.check_unknown()
        except UsageError as error:
            yield f": {error}"


class Merged(Kind):
    """A tokenizer of the text of several languages, read with the settings of section
    `text`. `has_bytes`: whether every byte is an id, whatever the text settings say.
    """

    has_bytes: ClassVar[bool] = False

    @abstractmethod
    def text_of(self, run: TextSettings) -> TextSettings:
        """The settings of the run's text with those of this tokenizer. Raises
        UsageError as `TextSettings`.
        """

    def mistakes(self, settings: Any, languages: list[str]) -> Iterator[str]:
        yield from super().mistakes(settings, languages)
        try:
            text = self.text_of(settings.text.settings)
            check_symbols([*text.user_defined_symbols, *text.control_symbols], settings.layout)
            if (rows := self.rows(settings)) is not None:
                settings.layout.check_total(rows)
        except (UsageError, ValueError) as error:
            yield f": {error}"
            return
        taken = settings.layout.rows + text.other_rows(has_bytes=self.has_bytes)
        if rows is not None and rows <= taken:
            yield (
                f": special tokens, reserved ids, bytes and symbols take {taken} ids, all that T "
                "has; raise total"
            )


class Unigram(Merged):
    """A unigram model of the text of several languages."""

    byte_fallback: bool | None = Field(
        None,
        description="256 byte pieces, so that a character that is no piece becomes its bytes, "
        "not <unk>; in the "
        "place of text.byte_fallback",
    )
    user_defined_symbols: Annotated[list[str], AfterValidator(check_symbols)] | None = Field(
        None,
        description="strings that always stay one piece, wherever they occur in the text; in the "
        "place of "
        "text.user_defined_symbols",
    )

    def other_ids(self, form: str, run: TextSettings) -> str:
        return super().other_ids(form, self.text_of(run))

    def text_of(self, run: TextSettings) -> TextSettings:
        fallback, symbols = self.byte_fallback, self.user_defined_symbols
        return replace(
            run,
            byte_fallback=run.byte_fallback if fallback is None else fallback,
            user_defined_symbols=run.user_defined_symbols if symbols is None else tuple(symbols),
        )


class Vocap(Unigram):
    """The pieces of an allocation, scored."""

    label = "VOCAP"
    method = (
        "VOCAP (Zheng et al., EMNLP 2021): the vocabulary is shared out among the languages by its "
        "gain in average log probability, and the pieces get the scores of one unigram model"
    )
    allocated = True
    colour = "high"
    shape = "diamond"
    kind: Literal["vocap"]
    allocation: str = Field(
        min_length=1, description="name of an entry of the allocation section; T is its total"
    )

    @classmethod
    def selection(cls, settings: Mapping[str, Any], weights: str) -> Sequence[str]:
        return ("allocation",)

    def rows(self, settings: Any) -> int | None:
        found = settings.allocation.get(self.allocation)
        return found.total if found else None

    def mistakes(self, settings: Any, languages: list[str]) -> Iterator[str]:
        if self.allocation not in settings.allocation:
            yield f".allocation: no allocation is named {self.allocation!r}"
            return
        yield from super().mistakes(settings, languages)
        free = settings.allocation[self.allocation].other_rows
        if (taken := self.text_of(settings.text.settings).other_rows()) < free:
            yield (
                f": byte fallback and symbols take {taken} ids, allocation {self.allocation} "
                f"leaves {free} free; give that allocation other_rows: {taken}"
            )


class Joint(Unigram):
    """A unigram model of the text of all languages, the paper's baseline; one descent
    gives every `total`.
    """

    label = "JOINT"
    method = "JOINT: one unigram model trained on the text of all languages"
    is_reference = True
    colour = "low"
    shape = "triangle-down"
    kind: Literal["joint"] = "joint"
    total: Total
    alpha: Alpha = 0.7
    per: Per = None

    @classmethod
    def selection(cls, settings: Mapping[str, Any], weights: str) -> Sequence[str]:
        return ("one training on all languages", weights)

    def rows(self, settings: Any) -> int:
        return self.total

    def mistakes(self, settings: Any, languages: list[str]) -> Iterator[str]:
        yield from super().mistakes(settings, languages)
        if self.per == "character" and settings.corpora.mix.sentences != "all":
            yield ".per: character takes all lines; write corpora.mix.sentences: all"


Digits = Annotated[
    Literal["1", "3", "3-right", "none"],
    BeforeValidator(lambda value: str(value) if type(value) is int else value),  # of YAML
]


class BytePair(Merged):
    """Byte-pair encoding of the text of several languages."""

    file: ClassVar[str] = "tokenizer.json"
    has_bytes: ClassVar[bool] = True
    total: Total
    alpha: Alpha = 0.7
    per: Per = None
    split: Split = Field(
        "words",
        description="where text is cut before merging: words (letters with their marks, numbers, "
        "other characters), spaces alone, the published gpt2, o200k, llama-3, qwen or cl100k, or "
        "{regex: EXPRESSION}",
    )
    regex: str | None = Field(
        None, description="regular expression whose matches are the words, in place of split"
    )
    digits: Digits | None = Field(
        None,
        description="numbers are cut into single digits (1), into threes from the left (3) or "
        "from the right (3-right), or not (none); without it as the split has it, of words as "
        "text.split_digits says",
    )
    contractions: bool | None = Field(
        None,
        description="English contractions ('s, 'll) are words of their own; without it as the "
        "split has it",
    )
    without: list[Code] | None = Field(
        None, min_length=1, description="codes of languages whose text is left out"
    )

    @model_validator(mode="before")
    @classmethod
    def _expression(cls, values: Any) -> Any:
        """`split: {regex: EXPRESSION}` is the field `regex`."""
        split = values.get("split") if isinstance(values, dict) else None
        if not isinstance(split, dict) or split.keys() != {REGEX}:
            return values
        return {name: value for name, value in values.items() if name != "split"} | split

    @classmethod
    def cuts(cls, settings: Mapping[str, Any]) -> str:
        """Where text is cut before merging, in words."""
        split, digits = settings.get("split"), settings.get("digits")
        places = {
            "words": "inside words",
            "spaces": "between spaces",
            REGEX: f"cut by {settings.get(REGEX)}",
        }
        parts = [places.get(str(split), f"cut as {split}" if split else "")]
        if digits:
            parts.append(f"digits {digits}")
        if (contractions := settings.get("contractions")) is not None:
            parts.append("contractions" if contractions else "no contractions")
        return ", ".join(parts)

    @classmethod
    def model(cls, settings: Mapping[str, Any]) -> str:
        return f"{Bpe.label} {cls.cuts(settings)}".strip()

    def rows(self, settings: Any) -> int:
        return self.total

    def pretokenization(self, run: TextSettings) -> "Pretokenization":
        """How text that is read with these settings becomes words. Raises UsageError as
        `Pretokenization`.
        """
        # with `tokenizers`, which other kinds do not need
        from vocap.bpe.cutting import Pretokenization

        split = self.split if self.regex is None else REGEX
        return Pretokenization(split, run, self.digits, self.contractions, self.regex)

    def text_of(self, run: TextSettings) -> TextSettings:
        return self.pretokenization(run).settings

    def other_ids(self, form: str, run: TextSettings) -> str:
        from vocap.tokenizer_files.ranks import SHARED
        from vocap.tokenizers.gguf_file import CUTS, EXPRESSIONS

        text, expression = self.text_of(run), self.pretokenization(run).cut.expression
        if not text.keeps_text:
            return "it loads byte-pair encoding of text that is kept: text: {preset: lossless}"
        if form == "gguf" and expression not in EXPRESSIONS:
            return f"llama.cpp has no such cut; it has split {', '.join(CUTS)}"
        if form == "tiktoken" and text.user_defined_symbols:
            return "tiktoken has no user-defined symbols"
        if form == "tiktoken" and not SHARED.fullmatch(expression):
            return "tiktoken reads parts of the regular expression otherwise"
        return ""


class ParityOrder(ConfigSection):
    """Which merges of parity-aware byte-pair encoding are for which language."""

    model_config = ConfigDict(validate_by_alias=True, validate_by_name=True)
    first: int = Field(
        0,
        ge=0,
        alias="from",
        description="weighted merges of all languages, those of kind bpe, before the first for "
        "the worst off",
    )
    window: int = Field(
        0,
        ge=0,
        description="no language has more than twice its share of the last so many merges; 0: no "
        "limit",
    )


class Bpe(BytePair):
    """Byte-pair encoding of the words of all languages, weighted; one training gives
    every `total`.
    """

    label = "BPE"
    method = (
        "BPE: byte-pair encoding of the words of all languages, each weighted by its share "
        "of the text"
    )
    colour = "mid"
    shape = "circle"
    kind: Literal["bpe"] = "bpe"

    @classmethod
    def selection(cls, settings: Mapping[str, Any], weights: str) -> Sequence[str]:
        return (f"weighted merges {cls.cuts(settings)}".strip(), weights)


class ParityBpe(ParityOrder, BytePair):
    """Parity-aware byte-pair encoding: each merge is for the language with the longest
    parallel text.
    """

    label = "parity BPE"
    method = (
        "parity-aware BPE: each merge is the most frequent pair of the language whose "
        "parallel text is longest"
    )
    colour = "muted"
    shape = "square"
    kind: Literal["parity-bpe"] = "parity-bpe"

    @classmethod
    def selection(cls, settings: Mapping[str, Any], weights: str) -> Sequence[str]:
        merges = f"parity merges {cls.cuts(settings)}".strip()
        first = settings.get("from")
        return (merges, weights, f"after {first:,} weighted ones" if first else "")

    @classmethod
    def followed_text(cls, settings: Mapping[str, Any]) -> bool:
        return True

    def mistakes(self, settings: Any, languages: list[str]) -> Iterator[str]:
        yield from super().mistakes(settings, languages)
        if self.first > self.total:
            yield f".from: {self.first} merges are more than T = {self.total}; take fewer"


class BpeTraining(ParityOrder, BytePair):
    """The settings of `train_bpe`: those of kinds bpe and parity-bpe, the text, the layout."""

    kind: Literal["bpe", "parity-bpe"] = "bpe"
    parity: bool = Field(
        False,
        description="choose each merge for the language whose parallel text has most tokens, as "
        "kind parity-bpe does",
    )
    memory: Memory = None
    text: RunText = XLM_R
    layout: IdLayout = XLM_R_LAYOUT
    counts: CountsPath = None
    export: None = None  # of runs

    @model_validator(mode="before")
    @classmethod
    def _of_parity(cls, values: Any) -> Any:
        """`kind` and `parity` say the same."""
        parity = values.get("parity", False) or values.get("kind") == "parity-bpe"
        return {**values, "parity": parity, "kind": "parity-bpe" if parity is True else "bpe"}

    @model_validator(mode="after")
    def _of_one_order(self) -> Self:
        for name in ("first", "window"):
            if getattr(self, name) and not self.parity:
                raise ValueError(f"{name} is of the merges of parity; give both, or leave it out")
        return self

    def facts(self) -> dict[str, Any]:
        """Its entries in a description."""
        split = self.split if self.regex is None else REGEX
        names = ("digits", "contractions", REGEX)
        own = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        order = {"from": self.first} if self.parity else {}
        window = {"window": self.window} if self.window else {}
        return {"alpha": self.alpha, "split": split, **own, **order, **window}


class JointTraining(UnigramTraining, Joint):
    """The settings of `train_joint`: those of kind joint, the text, the layout."""

    memory: Memory = None
    layout: IdLayout = XLM_R_LAYOUT
    export: None = None  # of runs
    characters: Path | str | None = Field(
        None,
        description="folder with {language}/train.txt, whose characters decide which the "
        "tokenizer holds, as for VOCAP",
    )
    points: Path | str | None = Field(
        None,
        description="folder to write the tokenizer of each other T of the curve to, in which "
        "{total} stands for T",
    )


class EvaluationSettings(ConfigSection):
    """What `evaluate` measures beside its texts."""

    languages_table: Path | str | None = Field(
        None,
        description="table of languages, with scripts and resource groups. By default the one "
        "that ships with vocap",
    )
    gates: bool = Field(
        False,
        description="check each tokenizer for faults that break it in use. Each check passes, or "
        "fails with an example",
    )


class Mono(Kind):
    """One language's model of one size, as a tokenizer: in XLM-R's layout of size + 2
    ids.
    """

    label = "MONO"
    method = "MONO: the unigram model of one language"
    merged = False
    kind: Literal["mono"]
    language: str = Field(min_length=1, description="code of a language of this run")
    size: int = Field(ge=5, description="one of vocabularies.sizes")

    def rows(self, settings: Any) -> int:
        return self.size - len(META_PIECES) + settings.layout.rows

    def mistakes(self, settings: Any, languages: list[str]) -> Iterator[str]:
        yield from super().mistakes(settings, languages)
        if self.language not in languages:
            yield f".language: {self.language!r} is not among the languages of this run"
        if self.size not in settings.vocabularies.sizes:
            yield f".size: {self.size} is not among vocabularies.sizes"


class File(Kind):
    """Any tokenizer of SentencePiece, Hugging Face or tiktoken, as a baseline."""

    label = "from elsewhere"
    merged = False
    made = False
    results = ()
    kind: Literal["file"]
    path: PlainPath | None = Field(
        None,
        description="a SentencePiece .model, a tokenizer.json, tiktoken's ranks, a tekken.json, or "
        "a folder that holds one of them",
    )
    download: str | None = Field(
        None, description="or the name of an entry of downloads, which is fetched"
    )
    split: Split | None = Field(
        None,
        description="where tiktoken's ranks, which do not say it, cut text; o200k_base is cut by "
        "o200k, cl100k_base by cl100k",
    )

    @model_validator(mode="after")
    def _one_place(self) -> "File":
        if (self.path is None) == (self.download is None):
            raise ValueError("a file has exactly one of path and download")
        return self

    @classmethod
    def regime(cls, settings: Mapping[str, Any]) -> str:
        # their files do not say how text is normalised
        return "from elsewhere, each on text of its own"

    def rows(self, settings: Any) -> None:
        return None

    def mistakes(self, settings: Any, languages: list[str]) -> Iterator[str]:
        if self.export:
            yield ".export: the run writes forms of tokenizers that it makes; see vocap export"
        if self.download not in (None, *settings.downloads):
            yield (
                f".download: no file {self.download!r} under downloads "
                f"({', '.join(settings.downloads)})"
            )


def kind_name(kind: type[Kind]) -> str:
    """The name that the configuration has for a kind.

    >>> kind_name(ParityBpe)
    'parity-bpe'
    """
    return get_args(kind.model_fields["kind"].annotation)[0]


KINDS: dict[str, type[Kind]] = {
    kind_name(kind): kind for kind in (Vocap, Joint, Bpe, ParityBpe, Mono, File)
}


def tokenizer_type() -> Any:
    """The type of an entry of the section, of any of `KINDS`."""
    return Annotated[Union[tuple(KINDS.values())], Field(discriminator="kind")]  # noqa: UP007
