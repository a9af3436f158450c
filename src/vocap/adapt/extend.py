"""A language added to a finished tokenizer, and to its model; all old ids stay."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vocap.adapt.adaptable import Adaptable
from vocap.adapt.adapted import Adapted, IdRow, open_model, open_tokenizer
from vocap.adapt.comparison import check_lines
from vocap.errors import UsageError
from vocap.files.io import read_object
from vocap.text_files.named_texts import Parts, find_texts
from vocap.text_files.text import Text, repeatable, text_name
from vocap.unigram.text_settings import COVERAGE

if TYPE_CHECKING:
    from vocap.adapt.model_rows import ModelFiles

# of the tokens, which the scores of new pieces assume; docs/adapting.md compares others
SHARE = 0.01


@dataclass(kw_only=True, repr=False)
class Extended(Adapted):
    """The tokenizer with a language more.

    `origin`: of the new pieces, in words.
    """

    language: str
    origin: str


def extend(  # noqa: PLR0913  # the options of the command, each by its name
    tokenizer: str | Path,
    language: str,
    pieces: int,
    output: str | Path | None = None,
    *,
    text: Text | Mapping[str, Text] | None = None,
    heldout: Text | Mapping[str, Text] | None = None,
    multiple_of: int = 1,
    corpora: str | Path | None = None,
    languages: Sequence[str] | None = None,
    share: float = SHARE,
    coverage: float = COVERAGE,
    model: str | Path | None = None,
) -> Extended:
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
    multiple_of
        Pieces are added until the number of ids is a multiple of this number.
    corpora
        A folder with {language}/heldout.txt, to measure the changes for the languages
        that the tokenizer has, by default that of the run that made it.
    languages
        The languages to measure, by default those of `text` and `heldout`, and those
        that the tokenizer was trimmed to, or else all of `corpora`.
    share
        The share of all tokens that the language is assumed to have, from which the
        scores are computed.
    coverage
        The share of the language's characters that must be pieces.
    model
        The folder of the tokenizer's Hugging Face model, which is extended too.

    Raises
    ------
    UsageError
        For no text of the language, and a folder `output` with anything in it.
    VocapError
        For files that are no such tokenizer or model, and for a text that gives no new
        piece.
    """
    source = open_tokenizer(tokenizer, output)
    adapted = open_model(model, source)
    source = source.in_order()
    if share != SHARE and "share" in source.unused:
        raise UsageError(f"--share {share}: byte-pair encoding has no scores; leave it out")
    named = {"text": _named(text, language), "heldout": _named(heldout, language)}
    folder = source.corpora if corpora is None else Path(corpora)
    description = source.path.with_name("description.json")  # which trim and extend write
    served = None
    if description.is_file():
        served = read_object(description).get("settings", {}).get("languages")
    own = find_own(language, named, folder)
    others = find_others(language, named, folder, languages, served)
    settings: dict[str, Any] = {
        "language": language,
        "pieces": pieces + -(source.total + pieces) % multiple_of,
        "share": share,
        "coverage": coverage,
    }
    if multiple_of > 1:
        settings["multiple_of"] = multiple_of
    if served is not None:
        settings["languages"] = list(dict.fromkeys([*served, language]))
    found = _extend_by(source, own, others, settings, adapted)
    if output is not None:
        found.write(output)
    return found


def _extend_by(
    source: Adaptable,
    own: dict[str, Text],
    others: Parts,
    settings: Mapping[str, Any],
    model: "ModelFiles | None",
) -> Extended:
    language = settings["language"]
    made = source.extended(own["train"], settings)
    checks = check_lines(source, made.after, {language: own, **others})
    facts = {
        "total_before": source.total,
        **made.facts,
        "language_alp": {
            part: {"before": check.before.alp, "after": check.after.alp}
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
    return Extended(
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
        language=language,
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
        raise UsageError(
            f"no text of {language}: give --text FILE, or --corpora with {language}/train.txt"
        )
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
                raise UsageError(
                    f"--{option} {code}={text_name(text)}: {code} is not among --languages"
                )
            if code != language:
                others.setdefault(code, {})[option] = repeatable(text)
    if chosen is None and corpora is not None and served is not None:
        chosen = [code for code in served if (corpora / code / "heldout.txt").is_file()]
    if chosen is not None:
        chosen = [code for code in chosen if code not in (language, *others)]
    if chosen or (chosen is None and corpora is not None):
        others = find_texts({}, corpora, chosen, ["heldout"]) | others
        others.pop(language, None)
    return others
