"""One entry of the `allocation` section of the configuration."""

from typing import Any, Literal

from pydantic import Field, model_validator

from vocap.allocation.rules import RULES
from vocap.errors import SettingError
from vocap.section import Alpha, Code, ConfigSection
from vocap.tokenizer_files import SPECIALS
from vocap.unigram.text_settings import XLM_R, TextSettings
from vocap.unigram.training_settings import Memory, UnigramTraining, as_text_settings

LARGEST = 500_000  # T that a trunk is for, unless said


class Allocation(ConfigSection):
    """One allocation of a merged vocabulary; the fields are the options of `vocap
    allocate`.
    """

    total: int = Field(
        ge=2, description="T, the number of all ids of the tokenizer, special tokens included"
    )
    alpha: Alpha = 0.7
    beta: float = Field(
        0.7,
        ge=0,
        le=10,
        description="exponent beta of the weight q_i^beta of a language (Equation 2)",
    )
    fairness: float = Field(
        0.0,
        ge=0,
        le=50,
        description="how much more a nat counts in a language far from its best ALP. This is the "
        "exponent of the factor (ALP / best)",
    )
    token_fairness: float = Field(
        0.0,
        ge=0,
        le=16,
        description="for rule pieces, the exponent of the factor (tokens on development parallel "
        "text / mean) by which the weight of each language is multiplied. The descent is "
        "then repeated twice",
    )
    core: float | None = Field(
        None,
        ge=0,
        le=1,
        description="for rule pieces, the share of the pieces that are the first tokens of "
        "byte-pair encoding (0.5 unless given). A larger share saves tokens on text of other "
        "domains and loses likelihood",
    )
    rule: Literal[tuple(RULES)] = Field(  # type: ignore[valid-type]  # RULES can be added to
        "paper",
        description=". ".join(
            [
                "how sizes or pieces are chosen",
                *(f"{rule.name} is {rule.description}" for rule in RULES.values()),
            ]
        ),
    )
    per: Literal["line", "character"] = Field(
        "line",
        description="whether gains are counted by line or by character, for languages whose lines "
        "differ in length. For character, weights are multiplied by the mean characters "
        "of a line in all languages, divided by those in this language",
    )
    without: list[Code] = Field([], description="codes of languages to leave out")
    other_rows: int = Field(
        0,
        ge=0,
        description="number of ids that byte fallback, user-defined and control symbols of the "
        "tokenizer take. A configuration takes it from section text unless given",
    )
    special_tokens: int = Field(
        SPECIALS,
        ge=1,
        description="number of ids that special tokens, reserved ids and the mask take. A "
        "configuration takes it from section layout",
    )

    @property
    def capacity(self) -> int:
        """The pieces of the merged vocabulary: T without special tokens and other
        rows.
        """
        return self.total - self.reserved

    @property
    def reserved(self) -> int:
        """Rows of T that are no pieces of the merged vocabulary."""
        return self.special_tokens + self.other_rows

    @property
    def needs_text(self) -> bool:
        """Whether the rule reads the languages' text, and so makes models of its
        own.
        """
        return RULES[self.rule].needs_text

    @property
    def trunk(self) -> str:
        """File name of the trunk of a rule that reads text: the settings that do not
        depend on T.
        """
        without = [f"no.{code}" for code in self.without]
        return "-".join([f"alpha{self.alpha:g}", f"beta{self.beta:g}", self.per, *without])

    @model_validator(mode="after")
    def _options_of_the_rule(self) -> "Allocation":
        if self.capacity < 1:
            raise ValueError(
                f"total {self.total} has no row for pieces: special tokens take "
                f"{self.special_tokens}, bytes and "
                f"symbols {self.other_rows}; raise total"
            )
        for name in sorted({"core", "fairness", "token_fairness"} - RULES[self.rule].options):
            if getattr(self, name):
                raise ValueError(
                    f"rule {self.rule} does not use {name}; remove it, or take another rule"
                )
        return self


class AllocationRun(UnigramTraining, Allocation):
    """The settings of `allocate`: those of section allocation, the text, its coverage, threads.

    Rows that byte fallback and symbols take are by default those of the text.
    """

    memory: Memory = None

    @model_validator(mode="before")
    @classmethod
    def _rows_of_the_text(cls, values: dict[str, Any]) -> dict[str, Any]:
        text, rule = as_text_settings(values.get("text", XLM_R)), values.get("rule", "paper")
        if values.get("other_rows") is not None or not isinstance(text, TextSettings):
            return values
        return {**values, "other_rows": rows_beside_pieces(text, rule)}


def rows_beside_pieces(text: TextSettings, rule: str) -> int:
    """The rows of a tokenizer of this text that are neither special tokens nor pieces
    of the rule's vocabulary.

    The languages' models hold user-defined symbols as pieces, and so does the union of
    their lists. Raises UsageError for an unknown rule.
    """
    if rule not in RULES:
        raise SettingError("rule", f"{rule!r}; take one of {', '.join(RULES)}")
    return text.other_rows(() if RULES[rule].needs_text else text.user_defined_symbols)
