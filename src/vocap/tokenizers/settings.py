"""The `tokenizers` section of the configuration: one entry a tokenizer, told apart by `kind`."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from vocap.allocation import META, SPECIALS
from vocap.paths import PlainPath
from vocap.vocabularies.model_file import MAX_NESTED_SYMBOLS, nested

# files of a tokenizer's huggingface/ folder, in the order in which they are written
EXPORTED = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "golden.json", "README.md")

Scores = Literal["mixture", "max", "viterbi", "em"]


def check_symbols(symbols: list[str]) -> list[str]:
    """User-defined symbols as they are; raises ValueError for one that no tokenizer could keep.

    >>> check_symbols(["<date>", "<url>"])
    ['<date>', '<url>']
    """
    for symbol in symbols:
        if not symbol.strip():
            raise ValueError(f"the symbol {symbol!r} is empty or only spaces; give at least one visible character")
        if any(character.isspace() or character == "\u2581" for character in symbol):
            raise ValueError(f"the symbol {symbol!r} holds a space (or U+2581, which stands for one); remove it")
        if any(ord(character) < 32 for character in symbol):
            raise ValueError(f"the symbol {symbol!r} holds a control character; remove it")
        if symbol in META:
            raise ValueError(f"{symbol!r} is a special token of every tokenizer already; remove it here")
        if symbols.count(symbol) > 1:
            raise ValueError(f"the symbol {symbol!r} stands {symbols.count(symbol)} times; keep one")
    if nested(symbols) > MAX_NESTED_SYMBOLS:
        raise ValueError(f"more than {MAX_NESTED_SYMBOLS} of the symbols begin each other; leave some out")
    return symbols


ByteFallback = Annotated[
    bool, Field(description="256 byte pieces, so that a character that is no piece becomes its bytes, not <unk>")
]
Symbols = Annotated[
    list[str],
    AfterValidator(check_symbols),
    Field(description="strings that always stay one piece, wherever they occur in the text"),
]


class Vocap(BaseModel):
    """Exactly the pieces of an allocation, scored anew."""

    model_config = ConfigDict(extra="forbid", strict=True)

    kind: Literal["vocap"]
    allocation: str = Field(min_length=1, description="name of an entry of the allocation section; T is its total")
    scores: Scores = Field(
        "mixture",
        description="how pieces are scored: the mixture of the languages' own probabilities by their share of the "
        "text, their maximum, the maximum and then two rounds of Viterbi counts on the multilingual text "
        "(corpora.mix), or the mixture and then three rounds of EM on it",
    )
    byte_fallback: ByteFallback = False
    user_defined_symbols: Symbols = []


class Joint(BaseModel):
    """A unigram model trained on the text of all languages, by vocabularies.engine: the baseline of the paper."""

    model_config = ConfigDict(extra="forbid", strict=True)

    kind: Literal["joint"]
    total: int = Field(ge=SPECIALS + 1, description="T, every id counted, the five special tokens too")
    alpha: float = Field(
        0.7, ge=0, le=10, allow_inf_nan=False, description="share q_i of each language in the text (Equation 3)"
    )
    byte_fallback: ByteFallback = False
    user_defined_symbols: Symbols = []


class Mono(BaseModel):
    """One language's model of one size, as a tokenizer of size + 2 ids (<pad> and <mask> are new)."""

    model_config = ConfigDict(extra="forbid", strict=True)

    kind: Literal["mono"]
    language: str = Field(min_length=1, description="code of a language of this run")
    size: int = Field(ge=5, description="one of vocabularies.sizes")


class File(BaseModel):
    """Any SentencePiece or Hugging Face tokenizer, as a baseline."""

    model_config = ConfigDict(extra="forbid", strict=True)

    kind: Literal["file"]
    path: PlainPath | None = Field(
        None, description="a SentencePiece .model, a tokenizer.json, or a folder that holds one of them"
    )
    download: str | None = Field(None, description="or the name of an entry of downloads, which is fetched")

    @model_validator(mode="after")
    def _one_place(self) -> "File":
        if (self.path is None) == (self.download is None):
            raise ValueError("a file has exactly one of path and download")
        return self


Tokenizer = Annotated[Vocap | Joint | Mono | File, Field(discriminator="kind")]
