r"""Where text is cut into words before merging: by a regular expression, under a name
or of the user's own.

`words`: letters with their marks, numbers, other characters, line ends, and runs of
spaces are words of their own; one space goes with the word after it. Unlike in the
expression of GPT-2, whose `\p{L}+` ends at every vowel sign, a mark stays with the
letter before it, and so do the joiners U+200C and U+200D. `spaces`: a run of spaces and
the text up to the next one are a word. The others are those of `PUBLISHED`.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property

from tokenizers import Regex, pre_tokenizers

from vocap.errors import UsageError, one_line
from vocap.tokenizer_files import DIGITS, REGEX, SPLITS

SPACE = "\u2581"

ENGLISH = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"  # contractions
_LLAMA = (
    ENGLISH
    + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_LOWER = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+" + ENGLISH + "?"
)
_UPPER = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*" + ENGLISH + "?"
)
PUBLISHED = {
    # encoder.py of openai/gpt-2; gpt2 of tiktoken_ext/openai_public.py has another that
    # cuts alike
    "gpt2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    # o200k_base of tiktoken_ext/openai_public.py
    "o200k": (
        rf"{_LOWER}|{_UPPER}|\p{{N}}{{1,3}}"
        r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    # llama/tokenizer.py of meta-llama/llama3
    "llama-3": _LLAMA,
    # PRETOKENIZE_REGEX of transformers/models/qwen2/tokenization_qwen2.py
    "qwen": _LLAMA.replace(r"|\p{N}{1,3}|", r"|\p{N}|"),
    # cl100k_base of tiktoken_ext/openai_public.py: white space at the end of a text is
    # one word
    "cl100k": _LLAMA.replace(r"|\s*[\r\n]+|", r"|\s+(?![\s\S])|\s*[\r\n]+|"),
}
NUMBERS = dict(
    zip(
        DIGITS,
        (r"\p{N}", r"\p{N}{1,3}", r"\p{N}{1,3}(?=(?:\p{N}{3})*(?!\p{N}))", r"\p{N}+"),
        strict=True,
    )
)
_SPACED = ("words", "gpt2")  # a space goes with a number that is not cut


@dataclass(frozen=True)
class Cut:
    r"""A cut before merging: `split` of `SPLITS`, or `REGEX` with a `regex` of Oniguruma.

    `digits` of `DIGITS`: numbers are cut into single digits, into threes from the left
    or from the right, or not; `contractions`: whether `ENGLISH` ones are words of their
    own. None: as the split has it. Raises UsageError for an expression that does not
    compile or drops text, and for what a split has no place for.

    >>> Cut("qwen", digits="3").expression == PUBLISHED["llama-3"]
    True
    """

    split: str = SPLITS[0]
    digits: str | None = None
    contractions: bool | None = None
    regex: str | None = None

    def __post_init__(self) -> None:
        if self.split == REGEX:
            if self.digits or self.contractions is not None:
                raise UsageError(
                    "digits and contractions: a regex says itself where they are cut; leave them "
                    "out"
                )
            check_expression(self.regex or "")
        elif self.split == "spaces" and self.contractions:
            raise UsageError(
                "contractions: split spaces cuts no words; take split words, or leave them out"
            )

    @property
    def by_class(self) -> bool:
        """Whether words are found by the `CLASSES` of characters."""
        return self.split == "words" and not self.contractions

    @property
    def by_spaces(self) -> bool:
        """Whether the stretches between runs of spaces are the words."""
        return self.split == "spaces" and self.digits in (None, "none")

    @property
    def expression(self) -> str:
        """The regular expression whose matches are the words."""
        if self.split == REGEX:
            return self.regex or ""
        optional = " ?" if self.split in _SPACED else ""
        numbers = NUMBERS[self.digits or "none"]
        numbers = optional + numbers if numbers.endswith("+") else numbers
        if self.split in PUBLISHED:
            return self._changed(PUBLISHED[self.split], numbers)
        if self.by_spaces:
            return " *[^ ]+| +"
        if self.split == "spaces":
            return rf" *[^ \p{{N}}]+|{numbers}| +"
        # a run keeps its last space for a word after it
        letters = r" ?[\p{L}\p{M}]" + "[\\p{L}\\p{M}\u200c\u200d]*"
        others = r" ?[^\s \p{L}\p{M}\p{N}][^\s \p{L}\p{N}]*[\r\n]*"
        words = [letters, numbers, others, r"[\r\n]+", r" +(?!\S)", " ", r"[^\S\r\n ]+"]
        return "|".join([ENGLISH, *words] if self.contractions else words)

    def _changed(self, published: str, numbers: str) -> str:
        if self.digits is not None:
            published = re.sub(
                r"\|( \?)?\\p\{N\}(\{1,3\}|\+)?\|", lambda _: f"|{numbers}|", published, count=1
            )
        if self.contractions is False:
            first = published.partition(r"| ?\p{L}+")[0] if self.split == "gpt2" else ENGLISH
            published = published.removeprefix(f"{first}|").replace(f"{ENGLISH}?", "")
        return published

    def pre_tokenizer(self) -> pre_tokenizers.PreTokenizer:
        """The step of tokenizer.json, with the byte-level alphabet."""
        return pre_tokenizers.Sequence(
            [
                pre_tokenizers.Split(Regex(self.expression), "isolated"),
                pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
            ]
        )

    @cached_property
    def matches(self) -> pre_tokenizers.PreTokenizer:
        """The step that gives the matches alone."""
        return _matches(self.expression)


@cache
def _matches(expression: str) -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.Split(Regex(expression), "removed", invert=True)


@contextmanager
def regex_errors(expression: str) -> Iterator[None]:
    """Raise every error of Oniguruma as a UsageError: some are panics of Rust code,
    which are no `Exception`.
    """
    try:
        yield
    except (KeyboardInterrupt, MemoryError):
        raise
    except BaseException as error:
        said = one_line(str(error))
        raise UsageError(f"regex {expression!r}: {said}; correct it (Oniguruma's syntax)") from None


def check_matches(expression: str, text: str) -> None:
    """Raise UsageError if the expression's matches are not all of the text."""
    with regex_errors(expression):
        found = {
            at for _, place in _matches(expression).pre_tokenize_str(text) for at in range(*place)
        }
    if lost := [one for at, one in enumerate(text) if at not in found]:
        raise UsageError(
            f"regex {expression!r} drops text: {lost[0]!r} (U+{ord(lost[0]):04X}) is in no match; "
            "put "
            r"|[\s\S] at its end"
        )


@cache
def check_expression(expression: str) -> None:
    """Raise UsageError for an expression that does not compile, or does not match some
    characters.

    Tried are those of ASCII, and one of each 97 code points.
    """
    points = [
        one for one in (*range(1, 128), *range(128, 0x110000, 97)) if not 0xD800 <= one < 0xE000
    ]
    check_matches(expression, "".join(map(chr, points)))
