"""Settings of the text and of the shape of pieces, under SentencePiece's own names, and
a table of normalisation.

`TextSettings` holds all of them. Defaults are those of SentencePiece and of the paper;
a model records only the keys that differ, as SentencePiece does for options that it is
given.

`sentencepiece` is imported where a model or a normaliser is made: the configuration is
read without it.
"""

import functools
import io
import tempfile
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from vocap.errors import UsageError
from vocap.tokenizer_files.model_file import (
    BYTE,
    BYTES,
    CONTROL,
    SHAPE,
    UNKNOWN,
    USER_DEFINED,
    WHITESPACE,
)

# share of a text's characters that must be pieces: the reference code's
# character_coverage
COVERAGE = 0.9995
NFC = "nfc"  # a table of ours: `nfc_rules`
NORMALIZATIONS = ("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf", "identity", NFC)
MAX_PIECE_LENGTH = 127  # SentencePiece takes 512; lattices hold lengths in seven bits
META_PIECES = ("<unk>", "<s>", "</s>")
SPACE = "\u2581"
# replaces characters without a piece inside the trainer; lines that contain it are
# skipped
RESERVED = "\u2585"


def _key(default: Any, help: str) -> Any:
    """A field with the help text of its option."""
    return field(default=default, metadata={"help": help})


@dataclass(frozen=True, repr=False)
class TextSettings:
    """How text is normalised and cut, and which rows a model has besides its pieces.

    Raises UsageError, naming the key, for values that SentencePiece 0.2.1 refuses and
    for keys that contradict each other. Instances are hashable, and can be sent to
    another process.
    """

    normalization: str = _key(
        "nmt_nfkc", f"Rules of normalisation, one of {', '.join(NORMALIZATIONS)}."
    )
    remove_extra_whitespaces: bool = _key(True, "Remove leading, trailing and repeated spaces.")
    add_dummy_prefix: bool = _key(True, "Put a space before each line.")
    split_by_unicode_script: bool = _key(True, "Let no piece mix two scripts.")
    split_by_number: bool = _key(True, "Treat digits as a script of their own.")
    split_digits: bool = _key(False, "Make each digit a piece of its own.")
    allow_whitespace_only_pieces: bool = _key(False, "Let runs of spaces be pieces too.")
    max_sentencepiece_length: int = _key(16, "Largest number of characters in a piece.")
    byte_fallback: bool = _key(
        False, "Add 256 ids for bytes. Characters without a piece are encoded as their bytes."
    )

    required_chars: str = _key("", "Characters that become pieces before all others.")
    user_defined_symbols: tuple[str, ...] = _key(
        (), "Text that is always one token, wherever it occurs."
    )
    control_symbols: tuple[str, ...] = _key((), "Name of an id that no text is encoded as.")

    def __repr__(self) -> str:
        given = ", ".join(f"{key}={value!r}" for key, value in self.changed().items())
        return f"TextSettings({given})"

    def __post_init__(self) -> None:
        for name in ("user_defined_symbols", "control_symbols"):  # a list too; both are hashed
            object.__setattr__(self, name, tuple(getattr(self, name)))
        if self.normalization not in NORMALIZATIONS:
            raise UsageError(
                f"normalization {self.normalization!r}: take one of {', '.join(NORMALIZATIONS)}"
            )

        if not 1 <= self.max_sentencepiece_length <= MAX_PIECE_LENGTH:
            raise UsageError(
                f"max_sentencepiece_length {self.max_sentencepiece_length}: take 1 to "
                f"{MAX_PIECE_LENGTH}"
            )
        if forbidden := set(self.required_chars) & {" ", RESERVED}:
            raise UsageError(
                f"required_chars: SentencePiece cannot make {min(forbidden)!r} a piece; leave it "
                "out"
            )
        self._check_symbols()

    def _check_symbols(self) -> None:
        """Raise UsageError for symbols that are refused, or whose rows a piece would
        repeat.
        """
        symbols = (*self.control_symbols, *self.user_defined_symbols)
        for symbol in symbols:
            key = "control_symbols" if symbol in self.control_symbols else "user_defined_symbols"
            if not symbol or "\0" in symbol:
                raise UsageError(
                    f"{key}: {symbol!r} is empty or holds NUL; write one or more characters"
                )
            if (
                symbol == META_PIECES[0]
                or symbols.count(symbol) > 1
                or (self.byte_fallback and symbol in BYTES)
            ):
                raise UsageError(f"{key}: {symbol!r} is already defined; leave it out")
            if symbol in self.required_chars:
                raise UsageError(
                    f"{key}: {symbol!r} is one of the required_chars too; leave it out of one of "
                    "both"
                )

    @cached_property
    def metas(self) -> tuple[tuple[str, int], ...]:
        """The rows before the pieces, by id: name, and type of `model_file`
        (`InitMetaPieces`).
        """
        unknown, *control = META_PIECES
        rows = {unknown: UNKNOWN, **dict.fromkeys((*control, *self.control_symbols), CONTROL)}
        rows |= dict.fromkeys(self.user_defined_symbols, USER_DEFINED)
        if self.byte_fallback:
            rows |= dict.fromkeys(BYTES, BYTE)
        return tuple(rows.items())

    @cached_property
    def meta_pieces(self) -> tuple[str, ...]:
        """The names of `metas`."""
        return tuple(name for name, _ in self.metas)

    def other_rows(self, pieces: Collection[str] = (), has_bytes: bool = False) -> int:
        """Ids of T for bytes, control symbols, and user-defined symbols that are none of the
        `pieces`; `has_bytes`: with the 256 bytes whatever `byte_fallback` says.

        With those of the layout (`IdLayout.rows`), all ids that pieces do not take.
        """
        symbols = {*self.user_defined_symbols}.difference(pieces)
        byte_rows = len(BYTES) * (has_bytes or self.byte_fallback)
        return byte_rows + len(self.control_symbols) + len(symbols)

    @property
    def reading(self) -> dict[str, Any]:
        """The keys that decide the normalised text, with their values."""
        names = ("normalization", "remove_extra_whitespaces", "add_dummy_prefix")
        return {name: getattr(self, name) for name in names}

    @property
    def keeps_text(self) -> bool:
        """Whether the text is not normalised at all: then U+2581 is a character like
        the others for byte-pair encoding.
        """
        return list(self.reading.values()) == ["identity", False, False]

    def rows_alone(self) -> "TextSettings":
        """The default settings with the rows of these: byte fallback, user-defined and
        control symbols.
        """
        names = ("byte_fallback", "user_defined_symbols", "control_symbols")
        return TextSettings(**{name: getattr(self, name) for name in names})

    def changed(self) -> dict[str, Any]:
        """The keys that differ from their defaults, with their values."""
        return {
            one.name: getattr(self, one.name)
            for one in fields(self)
            if getattr(self, one.name) != one.default
        }


def trained_settings(proto: Any) -> TextSettings:
    """The settings that a `ModelProto` was trained with, without its symbols, bytes and
    required characters.

    A normaliser whose rules were read from a table counts as nmt_nfkc: the file names
    none. Pieces that cross spaces are not told.
    """
    normalizer, trainer = proto.normalizer_spec, proto.trainer_spec
    return TextSettings(
        normalization=normalizer.name if normalizer.name in NORMALIZATIONS else NORMALIZATIONS[0],
        remove_extra_whitespaces=normalizer.remove_extra_whitespaces,
        add_dummy_prefix=normalizer.add_dummy_prefix,
        **{key: getattr(trainer, key) for key in SHAPE if key != WHITESPACE},
    )


XLM_R = TextSettings()
# Text as it is. Digits and bytes as in the models of Llama, spaces too but for the one
# that those put first.
LOSSLESS = TextSettings(
    normalization="identity",
    remove_extra_whitespaces=False,
    add_dummy_prefix=False,
    split_digits=True,
    allow_whitespace_only_pieces=True,
    byte_fallback=True,
)
PRESETS = {"xlm-r": XLM_R, "lossless": LOSSLESS}


def text_settings(preset: str = "xlm-r", **keys: bool | int | str | Sequence[str]) -> TextSettings:
    """The settings of a preset, with other values for some keys of `TextSettings`.

    Raises UsageError for an unknown preset, and as `TextSettings`.
    """
    if preset not in PRESETS:
        raise UsageError(f"preset {preset!r}: take one of {', '.join(PRESETS)}")
    given: dict[str, Any] = keys
    return replace(PRESETS[preset], **given)


@contextmanager
def open_rules(settings: TextSettings) -> Iterator[str | None]:
    """The path, in the block, of the table of rules of nfc (`normalization_rule_tsv`);
    None for rules that SentencePiece holds.

    Its lines are `source TAB target`, both code points in hexadecimal. SentencePiece takes
    the longest source at each place and passes over the text once.
    """
    import sentencepiece

    sentencepiece.set_min_log_level(2)  # it reports each table that it reads
    if settings.normalization != NFC:
        yield None
        return
    # without a name: nothing is left if it is killed
    with tempfile.TemporaryFile("w+", encoding="ascii") as file:
        file.writelines(
            f"{_code_points(source)}\t{_code_points(target)}\n" for source, target in nfc_rules()
        )
        file.seek(0)
        yield f"/dev/fd/{file.fileno()}"


def trainer_normalizer(settings: TextSettings = XLM_R) -> Any:
    """The normaliser that training applies, with U+2581 for spaces."""
    import sentencepiece

    with open_rules(settings) as rules:
        source = {"rule_tsv": rules} if rules else {"rule_name": settings.normalization}
        return sentencepiece.SentencePieceNormalizer(
            **source,
            add_dummy_prefix=settings.add_dummy_prefix,
            escape_whitespaces=True,
            remove_extra_whitespaces=settings.remove_extra_whitespaces,
        )


def plain_letter(settings: TextSettings) -> str:
    """The first letter that stays one character, as which it is trained on."""
    normalize = trainer_normalizer(settings).normalize
    return next(letter for letter in map(chr, range(0x61, 0x3000)) if len(normalize(letter)) == 2)


@functools.cache
def read_rules(settings: TextSettings) -> bytes:
    """The compiled rules of normalisation of these settings (`precompiled_charsmap`),
    which no function of SentencePiece gives: those of a model that it trains on one
    letter.
    """
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2

    rules = TextSettings(normalization=settings.normalization)
    model = io.BytesIO()
    with open_rules(rules) as path:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter([plain_letter(rules)]),
            model_writer=model,
            model_type="char",
            vocab_size=5,  # the meta pieces, U+2581 and the letter
            normalization_rule_name="" if path else rules.normalization,
            normalization_rule_tsv=path or "",
            minloglevel=2,
        )
    trained = sentencepiece_model_pb2.ModelProto.FromString(model.getvalue())
    return trained.normalizer_spec.precompiled_charsmap


def _code_points(text: str) -> str:
    """A side of a rule, as the table has it."""
    return " ".join(f"{ord(character):X}" for character in text)


# Scripts whose compositions Unicode added with version 16: some releases of Python know
# them, others do not.
_YOUNGER = (
    range(0x105C0, 0x10600),
    range(0x11380, 0x11400),
    range(0x16100, 0x16140),
    range(0x16D40, 0x16D80),
)


@functools.cache
def nfc_rules() -> list[tuple[str, str]]:
    """Unicode's canonical composition as a table, source and target; the same for every
    release of Python.

    Marks in another order than the canonical one, and those that compose across another
    mark, stay apart, as in SentencePiece's nfkc: a table cannot sort.
    """
    rules: dict[str, str] = {}
    for code in (*range(0x80, 0xD800), *range(0xE000, 0x30000)):
        if any(code in block for block in _YOUNGER):
            continue
        character = chr(code)
        parts, composed = (unicodedata.normalize(form, character) for form in ("NFD", "NFC"))
        sources = [
            character,
            *(unicodedata.normalize("NFC", parts[:k]) + parts[k:] for k in range(len(parts))),
        ]
        rules |= {
            source: composed for source in sources if unicodedata.normalize("NFC", source) != source
        }
    return sorted(rules.items())
