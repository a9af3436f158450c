"""A language added to a tokenizer behind all its ids."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from vocap.adapt import SHARE
from vocap.adapt.adaptable import Adaptable, Checks, compare_texts, corpora_of, write_adapted
from vocap.adapt.sparse_rows import sparse_sums
from vocap.adapt.sweep import round_down, round_up, sweep
from vocap.errors import UsageError, VocapError
from vocap.text_files.named_texts import Texts, check_file, find_texts, parse_languages, read_sentences
from vocap.unigram.alp import corpus_alp

logger = logging.getLogger(__name__)


def extend(
    source: Adaptable,
    model,
    counts: Sequence[int],
    total: int | None,
    multiple: int,
    share: float,
    coverage: float,
    init: str,
    out: Path,
    **texts,
) -> list[str]:
    """Write the tokenizer with a language more, or for several `counts` a table, as `vocap extend` says.

    Returns the lines to print.
    """
    if share != SHARE and "share" in source.unused:
        raise UsageError(f"--share {share}: byte-pair encoding has no scores; leave it out")
    # numbers of new pieces, texts
    if total is not None:
        counts = [total - source.total]
        if counts[0] < 1:
            raise UsageError(f"--total {total}: {source.path} has {source.total} ids already; give a larger total")
    counts = sorted({round_up(source.total, count, multiple) for count in counts})
    own, others = _find_texts(source, **texts)
    settings = {"language": texts["language"], "pieces": counts[-1], "share": share, "coverage": coverage}
    if multiple > 1:
        settings["multiple_of"] = multiple
    if len(counts) > 1:
        return sweep(source, own, others, settings, counts, model, out)
    return _extend(source, own, others, settings, model, init, out)


def _find_texts(
    source: Adaptable, language: str, text, heldout, corpora, languages, checks
) -> tuple[dict[str, Path | None], Texts]:
    """The texts of the new language by part (None: no held-out text), and those of the others."""
    corpora = corpora or corpora_of(source.path)
    own = {"train": text, "heldout": heldout}
    for part, path in own.items():
        named = corpora / language / f"{part}.txt" if corpora is not None else None
        own[part] = path or (named if named is not None and named.is_file() else None)
        if own[part] is not None:
            check_file(own[part])
    if own["train"] is None:
        raise UsageError(f"no text of {language}: give --text FILE, or --corpora with {language}/train.txt")
    if corpora is None and not checks:
        return own, {}
    others = find_texts(checks, corpora, parse_languages(languages), ["heldout"])
    others.pop(language, None)
    return own, others


def _extend(source: Adaptable, own, others: Texts, settings, model, init: str, out: Path) -> list[str]:
    """Train, append, compare, write. Returns the lines to print."""
    language, wanted = settings["language"], settings["pieces"]
    # train and append, fewer than asked for where the text does not give as many
    learned = source.learn(own["train"], [wanted], settings)
    count, available = wanted, learned.available(wanted)
    if available < wanted:
        multiple = settings.get("multiple_of", 1)
        count = round_down(source.total, available, multiple)
        if not count:
            raise VocapError(
                f"{own['train']}: it gives {available} new pieces, too few for a multiple of {multiple} ids; "
                "give more text"
            )
        logger.warning("%s: too little text for %d new pieces: %d", own["train"], wanted, count)
    after = learned.extended(count)
    origins = learned.origins(after)
    # compare: every text, and the new language's ALP
    same = {number: number for number in range(source.encoder.size)}
    texts = {language: {part: path for part, path in own.items() if path is not None}, **others}
    checks = compare_texts(source, after, same, texts)
    alps = {}
    for part, path in texts[language].items():
        found = [corpus_alp(side.encoder, read_sentences(path)) for side in (source, after)]
        if found[0] is not None:
            alps[part] = {"before": found[0].alp, "after": found[1].alp}
    # rows of the model
    more = {}
    if model is not None:
        from vocap.adapt.model_rows import replace_rows  # torch

        sums = sparse_sums(source.encoder, after.encoder, own["train"]) if init == "omp" else None
        replace_rows(model, [*([number] for number in range(source.total)), *origins], sums)
        more["rows"] = init
    # write
    additions, facts = learned.account(after, origins)
    ids = [(number, number, name, "old") for number, name in enumerate(after.names[: source.total])]
    ids += [(None, number, name, "new") for number, name, *_ in ((row[1], row[0]) for row in additions)]
    facts = {"total_before": source.total, **facts, "language_alp": alps, **more}
    kept = {key: value for key, value in settings.items() if key not in source.unused}
    write_adapted(out, after, "extended", kept, ids, checks, facts, model, additions)
    head = f"{out}: {source.total:,} + {count:,} = {source.total + count:,} ids, from {learned.origin}"
    return [head, *_extended(language, checks, alps)]


def _extended(language: str, checks: Checks, alps: Mapping[str, Mapping[str, float]]) -> list[str]:
    """The summary: the effect of the new pieces on the language and on the others."""
    shown = []
    for part, alp in alps.items():
        found = checks[language, part]
        tokens = found.tokens_before / found.lines, found.tokens_after / found.lines
        shown.append(
            f"{language} {part}: {tokens[0]:.2f} to {tokens[1]:.2f} tokens a line, ALP {alp['before']:.2f} to "
            f"{alp['after']:.2f}"
        )
    others = {code: found for (code, _), found in checks.items() if code != language and found.lines}
    if not others:
        return [*shown, "no text of other languages was given: changes for them are not measured"]
    lines, identical, before, after = (
        sum(getattr(found, name) for found in others.values())
        for name in ("lines", "identical", "tokens_before", "tokens_after")
    )
    moved = 100 * (after - before) / before if before else 0.0
    shown.append(
        f"{len(others)} other languages: {lines - identical:,} of {lines:,} lines segmented differently "
        f"({100 * (lines - identical) / lines:.2f} %), tokens {moved:+.3f} %; the most:"
    )
    worst = sorted(others.items(), key=lambda pair: (pair[1].identical / pair[1].lines, pair[0]))
    for code, found in worst[:5]:
        if found.identical < found.lines:
            share = 100 * (found.lines - found.identical) / found.lines
            shown += [f"  {code}: {share:.2f} % of its lines", *(f"    {one}" for one in found.examples[:1])]
    return shown
