"""A language added to a finished tokenizer, and to its model; all old ids stay."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from vocap.adapt.adaptable import Adaptable
from vocap.adapt.adapted import Adapted, IdRow, open_model, open_tokenizer
from vocap.adapt.comparison import check_lines
from vocap.errors import SettingError, UsageError
from vocap.files.io import read_object
from vocap.section import Code, ConfigSection
from vocap.text_files.named_texts import Parts, find_texts
from vocap.text_files.text import Text, repeatable, text_name
from vocap.unigram.text_settings import COVERAGE
from vocap.unigram.usage import cell

if TYPE_CHECKING:
    from vocap.adapt.model_rows import ModelFiles

# of the tokens, which the scores of new pieces assume; docs/adapting.md compares others
SHARE = 0.01


class Extension(ConfigSection):
    """How `extend` trains and scores the new pieces, and what it measures."""

    multiple_of: int = Field(
        1,
        ge=1,
        le=1 << 20,
        description="add pieces until the number of ids is a multiple of this number",
    )
    share: float = Field(
        SHARE,
        gt=0,
        le=1,
        description="share of all tokens that the language is assumed to have, from which the "
        "scores are computed",
    )
    coverage: float = Field(
        COVERAGE,
        ge=0.98,
        le=1,
        description="share of the language's characters that must be pieces",
    )
    languages: list[Code] | None = Field(
        None,
        description="languages to measure. By default those of the texts that are given, and "
        "those that the tokenizer was trimmed to, or else all of the corpora",
    )


def extend(  # noqa: PLR0913  # eight and the settings
    tokenizer: str | Path,
    language: str,
    pieces: int,
    output: str | Path | None = None,
    *,
    text: Text | Mapping[str, Text] | None = None,
    heldout: Text | Mapping[str, Text] | None = None,
    corpora: str | Path | None = None,
    model: str | Path | None = None,
    settings: ConfigSection | None = None,
    **fields: object,
) -> Adapted:
    """Add a language to a finished tokenizer, whose ids all stay. Every line is
    segmented before and after, and compared.

    Parameters
    ----------
    tokenizer
        results/tokenizers/NAME, XLM-R's folder, or a tokenizer.json of byte-pair
        encoding, whose merges come before those of the new language.
    language
        The code of the language to add.
    pieces
        The number of new pieces.
    output
        A new folder to write. Without it nothing is written (see `Adapted.write`).
    text, heldout
        The training text and the held-out text of the language, by default those of
        `corpora`. A mapping may name texts of other languages too, to measure the
        changes on.
    corpora
        A folder with {language}/heldout.txt, to measure the changes for the languages
        that the tokenizer has, by default that of the run that made it.
    model
        The folder of the tokenizer's Hugging Face model, which is extended too.
    settings, **fields
        An `Extension`, and its fields in the place of its own: multiple_of, share,
        coverage, languages.

    Raises
    ------
    UsageError
        For no text of the language, and a folder `output` with anything in it.
    VocapError
        For files that are no such tokenizer or model, and for a text that gives no new
        piece.
    """
    extension = Extension.given(settings, **fields)
    source = open_tokenizer(tokenizer, output)
    adapted = open_model(model, source)
    source = source.in_order()
    if extension.share != SHARE and "share" in source.unused:
        raise SettingError(
            "share", f"{extension.share}: byte-pair encoding has no scores; leave it out"
        )
    named = {"text": _named(text, language), "heldout": _named(heldout, language)}
    folder = source.corpora if corpora is None else Path(corpora)
    description = source.path.with_name("description.json")  # which trim and extend write
    served = None
    if description.is_file():
        served = read_object(description).get("settings", {}).get("languages")
    own = find_own(language, named, folder)
    others = find_others(language, named, folder, extension.languages, served)
    facts: dict[str, Any] = {
        "language": language,
        "pieces": pieces + -(source.total + pieces) % extension.multiple_of,
        "share": extension.share,
        "coverage": extension.coverage,
    }
    if extension.multiple_of > 1:
        facts["multiple_of"] = extension.multiple_of
    if served is not None:
        facts["languages"] = list(dict.fromkeys([*served, language]))
    found = _extend_by(source, own, others, facts, adapted)
    if output is not None:
        found.write(output)
    return found


def _extend_by(
    source: Adaptable,
    own: dict[str, Text],
    others: Parts,
    settings: Mapping[str, Any],
    model: "ModelFiles | None",
) -> Adapted:
    language = settings["language"]
    made = source.extended(own["train"], settings)
    checks = check_lines(source, made.after, {language: own, **others})
    facts = {
        "total_before": source.total,
        **made.facts,
        "language_alp": {
            part: {
                "before": cell(check.sums, "nats_before / lines_before"),
                "after": cell(check.sums, "nats_after / lines_after"),
            }
            for (code, part), check in checks.items()
            if code == language and check.lines
        },
    }
    ids: list[IdRow] = []
    for number, name in enumerate(made.after.names):
        old = number < source.total
        ids.append((number, number, name, "old") if old else (None, number, name, "new"))
    if model is not None:
        facts["rows"] = "mean"
    return Adapted(
        source=source,
        tokenizer=made.after,
        kind="extended",
        settings=settings,
        facts=facts,
        ids=ids,
        checks=checks,
        model=model,
        origins=[*([number] for number in range(source.total)), *made.origins],
        additions=made.rows,
        origin=made.origin,
    )


def _named(text: Text | Mapping[str, Text] | None, language: str) -> Mapping[str, Text]:
    """Texts by language; one alone is that of `language`."""
    if isinstance(text, Mapping):
        return text
    return {} if text is None else {language: text}


def find_own(
    language: str, named: Mapping[str, Mapping[str, Text]], corpora: Path | None
) -> dict[str, Text]:
    """The texts of the new language by part: those `named` "text" and "heldout", or
    those of `corpora`. Raises UsageError where there is none to train on.
    """
    own: dict[str, Text] = {}
    for part, texts in (("train", named["text"]), ("heldout", named["heldout"])):
        path = (corpora or Path()) / language / f"{part}.txt"
        if language in texts:
            own[part] = repeatable(texts[language])
        elif corpora is not None and path.is_file():
            own[part] = path
    if "train" not in own:
        raise UsageError(f"no text of {language}: give text, or corpora with {language}/train.txt")
    return own


def find_others(
    language: str,
    named: Mapping[str, Mapping[str, Text]],
    corpora: Path | None,
    chosen: Sequence[str] | None,
    served: Sequence[str] | None,
) -> Parts:
    """The texts of the other languages: those `named`, by option and language, and
    those of `corpora`.

    `chosen`: the languages to measure; where it is None, `served` are those to be found
    in `corpora`, and None stands for all.
    """
    others: Parts = {}
    for option, texts in named.items():
        for code, text in texts.items():
            if chosen is not None and code not in (language, *chosen):
                raise SettingError(
                    option, f"{code}={text_name(text)}: {code} is not among languages"
                )
            if code != language:
                others.setdefault(code, {})[option] = repeatable(text)
    if chosen is None and corpora is not None and served is not None:
        chosen = [code for code in served if (corpora / code / "heldout.txt").is_file()]
    if chosen is not None:
        chosen = [code for code in chosen if code not in (language, *others)]
    if chosen or (chosen is None and corpora is not None):
        of_corpora = find_texts({}, corpora, chosen, ["heldout"])
        others = {**of_corpora, **others}  # type: ignore[dict-item]  # a dict is invariant
        others.pop(language, None)
    return others
