"""The result of an allocation as input: languages, vocabulary, and the models of the chosen sizes."""

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from vocap.errors import UsageError, VocapError
from vocap.files.json_object import read_object
from vocap.files.tsv import number, read_tsv
from vocap.tables.character_table import count_lines
from vocap.tables.sampling_probabilities import read_weights, sampling_probabilities
from vocap.tokenizer_files import SPECIALS
from vocap.tokenizer_files.id_layout import IdLayout
from vocap.tokenizer_files.layout import read_contents
from vocap.tokenizer_files.model_file import read_model


@dataclass(frozen=True)
class Allocated:
    """`sizes`: language to size of its chosen model; `owners`: piece to its languages, in the file's order.

    No language holds a required character that all chosen models lack.
    """

    sizes: dict[str, int]
    owners: dict[str, list[str]]


def read_allocation(folder: str | os.PathLike) -> Allocated:
    """Read `allocation.tsv` and `vocabulary.tsv`; VocapError names file and line of inconsistent rows."""
    sizes, table = {}, Path(folder) / "allocation.tsv"
    for line, row in enumerate(read_tsv(table, ("language", "size")), start=2):
        language, size = row["language"], row["size"]
        if not size.isascii() or not size.isdigit() or not language or language in sizes:
            raise VocapError(
                f"{table}, line {line}: language {language!r} of size {size!r}; "
                "every language needs one row with a whole number; run vocap allocate again"
            )
        sizes[language] = int(size)
    if not sizes:
        raise VocapError(f"{table}: no language; run vocap allocate again")
    owners, table, sizes_from = {}, Path(folder) / "vocabulary.tsv", table.name
    for line, row in enumerate(read_tsv(table, ("piece", "languages")), start=2):
        if not row["piece"] or row["piece"] in owners:
            raise VocapError(
                f"{table}, line {line}: the piece {row['piece']!r} is empty or a duplicate; allocate again"
            )
        holders = row["languages"].split(",") if row["languages"] else []
        unknown = [language for language in holders if language not in sizes]
        if unknown or not (holders or len(row["piece"]) == 1):
            raise VocapError(
                f"{table}, line {line}: the piece {row['piece']!r} is of "
                f"{f'{unknown[0]!r}, which {sizes_from} lacks' if unknown else 'no language'}; "
                "run vocap allocate again"
            )
        owners[row["piece"]] = holders
    if not owners:
        raise VocapError(f"{table}: no piece; run vocap allocate again with a larger total")
    return Allocated(sizes, owners)


def read_models(vocabularies: str | os.PathLike, chosen: Allocated):
    """The scores of every chosen model, language to {piece: score}; the normaliser they share; a `TrainerSpec`.

    Raises VocapError for a missing or unusable model, for one that lacks a piece it should have given, and where
    two models normalise text differently.
    """
    models, normalizer, trained = {}, None, None
    for language, size in chosen.sizes.items():
        path = Path(vocabularies) / language / "models" / f"{size}.model"
        if not path.is_file():
            raise VocapError(
                f"{path}: no such model, but the allocation chose {language} at {size}; "
                "train that size, or run vocap allocate again on the models there are"
            )
        proto = read_model(path)
        contents = read_contents(proto, str(path))
        models[language] = dict(zip(contents.pieces, contents.scores.tolist(), strict=True))
        if normalizer is None:
            normalizer, trained, first = proto.normalizer_spec, proto.trainer_spec, path
        elif proto.normalizer_spec != normalizer:
            raise VocapError(
                f"{path}: another normaliser than {first}; train all models with one release of SentencePiece"
            )
    for piece, holders in chosen.owners.items():
        for language in holders:
            if piece not in models[language]:
                path = Path(vocabularies) / language / "models" / f"{chosen.sizes[language]}.model"
                raise VocapError(
                    f"{path}: it lacks {piece!r}, so it is another model than the allocation read; "
                    "run vocap allocate again"
                )
    return models, normalizer, trained


def token_shares(
    vocabularies: str | os.PathLike, sizes: dict[str, int], shares: dict[str, float]
) -> dict[str, float]:
    """The share of each language in the tokens of the multilingual sample, from its share q_l of the sentences.

    A sentence of language l has `tokens_per_sentence` tokens in its chosen model (`curve.tsv`).
    Raises VocapError, naming file and line, where the curve does not say.
    """
    tokens = {}
    for language, size in sizes.items():
        path = Path(vocabularies) / language / "curve.tsv"
        for line, row in enumerate(read_tsv(path, ("size", "tokens_per_sentence")), start=2):
            if row["size"] == str(size):
                tokens[language] = shares[language] * number(row["tokens_per_sentence"])
                if not 0 < tokens[language] < float("inf"):
                    raise VocapError(
                        f"{path}, line {line}: tokens_per_sentence of size {size} is "
                        f"{row['tokens_per_sentence']!r}, not a positive number; run vocap curve again"
                    )
        if language not in tokens:
            raise VocapError(f"{path}: no row of size {size}, which the allocation chose; run vocap curve again")
    total = sum(tokens.values())
    return {language: value / total for language, value in tokens.items()}


def learnt_from(
    allocation: str | os.PathLike, vocabularies: str | os.PathLike, languages: Collection[str]
) -> dict[str, int | float]:
    """Lines of text and exponents of the chosen models, from those of the files that exist."""
    facts: dict[str, int | float] = {}
    tables = [Path(vocabularies) / language / "characters.tsv" for language in languages]
    if all(table.exists() for table in tables):
        facts["lines"] = sum(map(count_lines, tables))
    summary = Path(allocation) / "summary.json"
    if summary.exists():
        content = read_object(summary, "run vocap allocate again")
        if isinstance(content.get("lines"), int):  # of a rule that reads the text itself
            facts["lines"] = content["lines"]
        settings = settings_of(allocation)
        facts |= {name: settings[name] for name in ("alpha", "beta") if isinstance(settings.get(name), float)}
    return facts


def settings_of(allocation: str | os.PathLike) -> dict:
    """The settings in an allocation's `summary.json`; none without one."""
    summary = Path(allocation) / "summary.json"
    settings = read_object(summary, "run vocap allocate again").get("settings") if summary.exists() else None
    return settings if isinstance(settings, dict) else {}


def free_rows(allocation: str | os.PathLike) -> int:
    """The rows of T that an allocation leaves to byte fallback and symbols; 0 where that is not recorded."""
    rows = settings_of(allocation).get("other_rows")
    return rows if isinstance(rows, int) and rows > 0 else 0


def check_special_rows(allocation: str | os.PathLike, layout: IdLayout) -> None:
    """Raise UsageError where an allocation leaves other rows of T to special tokens than the layout has."""
    rows = settings_of(allocation).get("special_tokens", SPECIALS)
    if rows != layout.rows:
        raise UsageError(
            f"{allocation}: it leaves {rows} rows to special tokens, the layout has {layout.rows}; allocate again "
            f"with --special-tokens {layout.rows}, or give the same layout"
        )


def learnt_from_one(folder: Path) -> dict[str, int]:
    """Lines of text of one language's models, if its folder has characters.tsv."""
    table = folder / "characters.tsv"
    return {"lines": count_lines(table)} if table.exists() else {}


def sentence_shares(path: str | os.PathLike, languages: Collection[str], alpha: float) -> dict[str, float]:
    """q_l of `languages` by Equation 3 over these languages, from a table with the columns language and n.

    Raises VocapError for a table that cannot be used, and for a language that has no n above 0 there.
    """
    numbers = read_weights(path)
    for language in languages:
        if not numbers.get(language):
            raise VocapError(
                f"{path}: n of language {language!r}, which the allocation chose, is "
                f"{numbers.get(language, 'missing')}; it must be a positive number"
            )
    shares = sampling_probabilities([numbers[language] for language in languages], alpha)
    return dict(zip(languages, shares.tolist(), strict=True))
