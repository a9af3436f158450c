"""Filters of records: those with too little or too much text, of other scripts, with
unwanted values in other fields, and those that were read before.

A record is a line of text or of a table, an object of JSON Lines, or a row of Parquet.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from itertools import compress
from typing import Annotated, Any, Literal

import numpy as np
import pydantic
from pydantic import Field

from vocap.errors import SettingError, UsageError, VocapError, log
from vocap.languages import read_languages
from vocap.section import ConfigSection
from vocap.text_files import RECORDS, Layout
from vocap.text_files.letters import count_letters

RECENT = 1 << 16  # hashes of records in a set, before they are sorted into the others

Operator = Literal["==", "!=", "<", ">", "<=", ">=", "in", "not in"]
Scalar = str | int | float | bool
Condition = Annotated[tuple[str, Operator, Scalar | list[Scalar]], Field(strict=False)]
Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1)]


class Filters(ConfigSection):
    """What a record must have to be read; by default every record is."""

    where: list[Condition] | list[list[Condition]] = Field(
        [],
        description="conditions on other fields, [field, operator, value], all of which hold: "
        '[[language_score, ">=", 0.8]]; or lists of such conditions, of which one holds. '
        "Operators: == != < > <= >= in, not in",
    )
    min_characters: Count | None = Field(None, description="characters of a record at least")
    max_characters: Count | None = Field(None, description="characters of a record at most")
    min_letters: Share | None = Field(
        None, description="least share of letters and marks among the characters but white space"
    )
    min_script: Share | None = Field(
        None,
        description="least share of the language's script among the letters that have a script",
    )
    script: str | None = Field(
        None,
        pattern=r"^[A-Z][a-z]{3}$",
        description="script for min_script, an ISO 15924 code; unless given, that of the table of "
        "languages",
    )
    distinct: Count | None = Field(
        None,
        description="leave out records whose text was read before; so many are remembered, with "
        "8 bytes each",
    )

    @pydantic.model_validator(mode="after")
    def _consistent(self) -> "Filters":
        if (self.min_characters or 0) > (self.max_characters or self.min_characters or 0):
            raise ValueError("min_characters is more than max_characters; no record has both")
        for condition in self.conditions:
            if isinstance(condition[2], list) != condition[1].endswith("in"):
                raise ValueError(
                    f"where: {list(condition)}: in and not in take a list of values, the other "
                    "operators one value"
                )
        return self

    @property
    def conditions(self) -> list[Condition]:
        """The conditions of `where`, in one list."""
        found: list[Condition] = []
        for entry in self.where:
            found += entry if isinstance(entry, list) else [entry]
        return found

    @property
    def fields(self) -> list[str]:
        """The fields that `where` asks for, each once."""
        return list(dict.fromkeys(condition[0] for condition in self.conditions))

    def of_script(self, script: str) -> "Filters":
        """With this script, where `min_script` asks for one that is not given; raises
        UsageError for an empty one.
        """
        asked = self.min_script is not None and self.script is None
        if asked and not script:
            raise UsageError(
                "min_script: the table of languages has no script of this language; write it "
                "there, or give script, such as Latn"
            )
        return self.model_copy(update={"script": script}) if asked else self


class StoredText(ConfigSection):
    """How text lies in its files, and which of its records are read."""

    format: str = Field(
        "text",
        description="format of the files, one of text (a sentence a line), jsonl:FIELD, "
        "tsv:COLUMN and parquet:COLUMN",
    )
    split_sentences: bool = Field(
        False,
        description="cut lines into sentences, for text of whole paragraphs or articles",
    )
    escaped_newlines: bool = Field(
        False, description="read a backslash followed by n as a line end"
    )
    documents: bool = Field(
        False,
        description="keep the line ends within records of jsonl and parquet, so that these are "
        "learnt too; parts of up to 4,192 bytes take the place of lines",
    )
    filters: Annotated[
        Filters, pydantic.BeforeValidator(lambda value: Filters() if value is None else value)
    ] = Field(
        Filters(),
        description="conditions that a record must meet to be read; every one is, by default. "
        "docs/corpora.md lists the keys",
    )

    @property
    def layout(self) -> Layout:
        """How the text is stored in its files."""
        return Layout.parse(
            self.format, self.split_sentences, self.escaped_newlines, self.documents
        )


def check_filters(filters: Filters, layout: Layout) -> None:
    """Raises UsageError for conditions on the fields of records without fields."""
    if filters.where and layout.kind not in RECORDS:
        raise UsageError(
            f"where: text of format {layout.format!r} has no other fields; {' and '.join(RECORDS)} "
            "have"
        )


def parse_filters(text: str) -> Filters:
    """Filters of JSON; raises UsageError for a mistake."""
    try:
        return Filters.model_validate_json(text)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = "".join(f"{part}: " for part in first["loc"])
        raise SettingError("filters", f"{text}: {place}{first['msg']}; correct it") from None


class Distinct:
    """Tells texts that were seen before, by 64-bit hashes (BLAKE2b) of the first
    `limit` distinct ones.

    Memory: 8 bytes a text, twice that while they are sorted. Of a million texts two
    different ones have one hash in one of 37 million runs.
    """

    def __init__(self, limit: int) -> None:
        self.limit, self.full = limit, False
        self._sorted = np.zeros(1, np.uint64)
        self._recent: set[int] = set()

    def is_new(self, texts: Sequence[str]) -> list[bool]:
        """Whether each text is seen for the first time."""
        digests = b"".join(
            blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest() for text in texts
        )
        hashes = np.frombuffer(digests, "<u8")
        known = self._sorted[np.searchsorted(self._sorted, hashes, "right") - 1] == hashes
        new = []
        for value, seen in zip(hashes.tolist(), known.tolist(), strict=True):
            first = not seen and value not in self._recent
            new.append(first)
            if first and not self.full:
                self._recent.add(value)
                self.full = len(self._sorted) + len(self._recent) > self.limit
                if self.full:
                    log.warning(
                        "distinct: %s different records are remembered; later ones are compared "
                        "with these alone",
                        f"{self.limit:,}",
                    )
        if len(self._recent) >= RECENT:
            recent = np.fromiter(self._recent, np.uint64, len(self._recent))
            self._sorted = np.sort(np.concatenate([self._sorted, recent]))
            self._recent.clear()
        return new


class RecordFilter:
    """Filters at work on the files of one language; `dropped` counts the records that
    each filter left out, by its name. A record counts once, for the first that did.
    """

    def __init__(self, filters: Filters) -> None:
        self.filters = filters
        self.dropped: Counter[str] = Counter()
        seen = Distinct(filters.distinct or 0)

        def reach(place: int, texts: Sequence[str], least: float) -> Iterable[bool]:
            counts = count_letters(texts, filters.script or "Zyyy")
            return counts[place] >= least * counts[place + 1]

        # of some texts and the value of a filter, whether each passes
        tests: dict[str, Callable[[Sequence[str], Any], Iterable[bool]]] = {
            "min_characters": lambda texts, least: np.array(list(map(len, texts))) >= least,
            "max_characters": lambda texts, most: np.array(list(map(len, texts))) <= most,
            "min_letters": partial(reach, 0),
            "min_script": partial(reach, 2),
            "distinct": lambda texts, _: seen.is_new(texts),
        }
        given = filters.model_dump(exclude_none=True)
        self._tests = [(name, test, given[name]) for name, test in tests.items() if name in given]

    def keep_texts(self, texts: list[str]) -> list[str]:
        """The texts that pass the filters of text, in their order."""
        for name, test, value in self._tests:
            kept = list(compress(texts, test(texts, value)))
            self.dropped[name] += len(texts) - len(kept)
            texts = kept
        return texts

    def matching(self, columns: Mapping[str, Any], path: object) -> list[int]:
        """The numbers of the records that `where` holds for; a condition on a missing
        value does not hold.

        `columns`: of each field in `Filters.fields` a list, or an array of Arrow's.
        Raises VocapError, naming `path`, where values cannot be compared.
        """
        import pyarrow
        from pyarrow.parquet import filters_to_expression

        try:
            table = pyarrow.table(dict(columns))
            numbers = pyarrow.array(np.arange(len(table)))
            # a name that no condition has
            kept = table.append_column("\0", numbers).filter(
                filters_to_expression(self.filters.where)
            )
        except (pyarrow.ArrowException, OverflowError) as error:
            said = " ".join(str(error).split())[:300]
            raise VocapError(
                f"{path}: where {self.filters.where}: the values cannot be compared ({said}); "
                "compare text with text, and numbers with numbers: whole ones from -2^63 to "
                "2^63 - 1, beside fractions those to 2^53"
            ) from None
        self.dropped["where"] += len(table) - len(kept)
        return kept.column("\0").to_pylist()


def record_filter(filters: Filters, language: str, layout: Layout) -> RecordFilter | None:
    """Filters at work, None for those that every record passes; the script that
    `min_script` asks for is that of the language in the table, unless given. Raises
    UsageError for a language that is not there, and as `check_filters`.
    """
    if filters == Filters():
        return None
    check_filters(filters, layout)
    known = read_languages().get(language)
    return RecordFilter(filters.of_script(known.script if known else ""))
