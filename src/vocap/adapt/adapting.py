"""A tokenizer cut to what some languages need, or given a language more; every line is compared."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from vocap.adapt.adaptable import SPECIAL, Adaptable
from vocap.adapt.sparse_rows import sparse_sums
from vocap.adapt.sweep import round_down
from vocap.errors import VocapError
from vocap.files.atomic import replacing_directory
from vocap.files.tsv import write_tsv
from vocap.text_files.named_texts import Texts, read_sentences
from vocap.tokenizer_files import CARD, CHAT_TEMPLATE, EXPORTED
from vocap.unigram.alp import corpus_alp, count_tokens
from vocap.wording import listed

logger = logging.getLogger(__name__)
EXAMPLES = 3
_LINE = 80  # characters of an example
ID_COLUMNS = ("old", "new", "piece", "reason")
OWNED = (
    *("sentencepiece.model", *EXPORTED[:2], CHAT_TEMPLATE, "pieces.tsv", "description.json"),
    *("ids.tsv", "comparison.tsv", "additions.tsv", "huggingface/", "model/"),
)


@dataclass
class Check:
    """The lines of one text: `identical` have the same pieces; `unforeseen` use one that training text did not.

    `unforeseen` of held-out text: the lines that would have changed if it had not been read, an estimate for
    unseen text; None where it is not measured.
    """

    lines: int = 0
    identical: int = 0
    tokens_before: int = 0
    tokens_after: int = 0
    unforeseen: int | None = None
    examples: list[str] = field(default_factory=list)

    def row(self, language: str, part: str) -> dict[str, Any]:
        """The cells of comparison.tsv by column; no share where there is no line."""
        return {
            "language": language,
            "part": part,
            "lines": self.lines,
            "identical": self.identical,
            "share": self.identical / self.lines if self.lines else None,
            "tokens_before": self.tokens_before,
            "tokens_after": self.tokens_after,
            "unforeseen": self.unforeseen,
            "example": "; ".join(self.examples),
        }


Checks = Mapping[tuple[str, str], Check]  # by language and part


def trim(
    source: Adaptable,
    files: Texts,
    owners: Mapping[str, Sequence[str]],
    settings: Mapping[str, Any],
    model,
    out: Path,
) -> tuple[list[str], int]:
    """Write the tokenizer of what the languages of `files` need. Returns the lines to print, and T.

    `owners`: token to the languages whose it is; `settings`: `min_count`, `all_characters`, and others to record.
    """
    # uses of each id in the texts and in the held-out texts
    uses = np.zeros((2, source.encoder.size), np.int64)
    for parts in files.values():
        for part, path in parts.items():
            blocks = read_sentences(path)
            uses[int(part == "heldout")] += count_tokens(source.encoder.encode_batch, uses.shape[1], blocks)[0]
    if not uses.any():
        raise VocapError("no line in any text; give text with a sentence a line")
    # choose, with and without held-out text
    owned = {piece for piece, codes in owners.items() if not files.keys().isdisjoint(codes)}
    limits = (owned, settings["min_count"], settings["all_characters"])
    choice = source.choose(*uses, *limits)
    foreseen = source.choose(uses[0], np.zeros_like(uses[1]), *limits).reasons
    if choice.unreachable:
        says = "%s: %d tokens that no text is encoded as are left out: %s"
        shown = listed(choice.unreachable, separator=" ")
        logger.warning(says, source.path, len(choice.unreachable), shown)
    # cut and compare
    after = source.cut_to(choice, owners)
    pieces, number = source.encoder.pieces, {piece: new for new, piece in enumerate(after.encoder.pieces)}
    renamed = {old: number[piece] for old, piece in enumerate(pieces) if piece in number}
    checks = compare_texts(source, after, renamed, files, np.array([piece in foreseen for piece in pieces]))
    ids = [
        (source.ids.get(piece), new, name, choice.reasons.get(piece, SPECIAL))
        for new, (piece, name) in enumerate(zip(after.encoder.pieces, after.names, strict=True))
    ]
    if model is not None:
        from vocap.adapt.model_rows import renumber_specials, replace_rows  # torch: only where it is needed

        renumber_specials(model, {old: new for old, new, *_ in ids})
        replace_rows(model, [[old] for old, *_ in ids])
    # write
    kept_for = {reason: sum(why == reason for why in choice.reasons.values()) for reason in source.reasons}
    facts = {
        "total_before": source.total,
        **choice.facts,
        "kept_for": kept_for,
        "lines_compared": sum(found.lines for found in checks.values()),
        "lines_identical": sum(found.identical for found in checks.values()),
    }
    write_adapted(out, after, "trimmed", settings, ids, checks, facts, model)
    return _trimmed(checks, facts), len(ids)


def _trimmed(checks: Checks, facts: Mapping[str, Any]) -> list[str]:
    """The summary: pieces kept by reason, and lines that changed."""
    lines, identical = facts["lines_compared"], facts["lines_identical"]
    reasons = (f"{count:,} {reason}" for reason, count in facts["kept_for"].items() if count)
    shown = [f"kept: {', '.join(reasons)}"]
    for (code, part), found in checks.items():
        if found.lines:
            note = f"{code} {part}: {found.identical:,} of {found.lines:,} lines as before"
            if found.unforeseen is not None:
                share = 100 * found.unforeseen / found.lines
                note += f"; {found.unforeseen:,} ({share:.2f} %) use pieces that only this text kept"
            shown += [note, *(f"  {example}" for example in found.examples)]
    verdict = "all the same" if lines == identical else f"{lines - identical:,} differ"
    return [*shown, f"{lines:,} lines compared, {verdict}"]


def extend(
    source: Adaptable,
    own: Mapping[str, Path | None],
    others: Texts,
    settings: Mapping[str, Any],
    model,
    init: str,
    out: Path,
) -> list[str]:
    """Write the tokenizer with a language more. Returns the lines to print.

    `own` and `others`: the texts of the new language, by part, and of the others; `settings`: `language`,
    `pieces`, and others to record.
    """
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
    origins, additions, facts = learned.account(after)
    # compare: every text, and the new language's ALP
    same = {number: number for number in range(source.encoder.size)}
    texts = {language: {part: path for part, path in own.items() if path is not None}, **others}
    checks = compare_texts(source, after, same, texts)
    alps = {}
    for part, path in texts[language].items():
        found = [corpus_alp(side.encoder, read_sentences(path)) for side in (source, after)]
        if found[0] is not None:
            alps[part] = {"before": found[0].alp, "after": found[1].alp}
    facts = {"total_before": source.total, **facts, "language_alp": alps}
    # rows of the model
    if model is not None:
        from vocap.adapt.model_rows import replace_rows  # torch: only where it is needed

        sums = sparse_sums(source.encoder, after.encoder, own["train"]) if init == "omp" else None
        replace_rows(model, [*([number] for number in range(source.total)), *origins], sums)
        facts["rows"] = init
    # write
    old, new = after.names[: source.total], after.names[source.total :]
    ids = [(number, number, name, "old") for number, name in enumerate(old)]
    ids += [(None, number, name, "new") for number, name in enumerate(new, start=source.total)]
    write_adapted(out, after, "extended", settings, ids, checks, facts, model, additions)
    head = f"{out}: {source.total:,} + {count:,} = {after.total:,} ids, from {learned.origin}"
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


def compare_texts(
    before: Adaptable,
    after: Adaptable,
    new_ids: Mapping[int, int],
    texts: Texts,
    foreseen: np.ndarray | None = None,
) -> dict[tuple[str, str], Check]:
    """Segment every line of every text with both; one block of lines is held at a time.

    `new_ids`: the encoder's id in `after` of each id of `before` that stays. `foreseen` bool [V before]: the
    pieces that were chosen without held-out text, for its check.
    """
    renamed = [new_ids.get(number, -1) for number in range(before.encoder.size)]
    surprising = None if foreseen is None else set(np.flatnonzero(~foreseen).tolist())
    checks = {}
    for code, part, path in ((code, *entry) for code, parts in texts.items() for entry in parts.items()):
        check = checks[code, part] = Check()
        if surprising is not None and part == "heldout":
            check.unforeseen = 0
        for lines in read_sentences(path):
            check.lines += len(lines)
            both = (side.encoder.encode_batch(lines) for side in (before, after))
            for line, old, new in zip(lines, *both, strict=True):
                check.tokens_before += len(old)
                check.tokens_after += len(new)
                if check.unforeseen is not None and not surprising.isdisjoint(old):
                    check.unforeseen += 1
                if list(map(renamed.__getitem__, old)) == new:
                    check.identical += 1
                elif len(check.examples) < EXAMPLES:
                    check.examples.append(_show(before.tokens(line), after.tokens(line), line))
    return checks


def _show(one: list[str], other: list[str], line: str) -> str:
    """The line, shortened, and the part of both splits that differs, with a piece on either side."""
    shortest = min(len(one), len(other))
    start = next((n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), shortest)
    end = 0
    while end < shortest - start and one[-1 - end] == other[-1 - end]:
        end += 1
    first, last = max(start - 1, 0), max(end - 1, 0)
    shown = [" ".join(side[first : len(side) - last]) for side in (one, other)]
    return f"“{line if len(line) <= _LINE else line[:_LINE] + '…'}”: {shown[0]} → {shown[1]}"


def write_adapted(
    out: Path,
    after: Adaptable,
    kind: str,
    settings: Mapping[str, Any],
    ids: Sequence[tuple],
    checks: Checks,
    facts: Mapping[str, Any],
    model=None,
    additions: Sequence[tuple] = (),
) -> None:
    """Write `OWNED` to the folder `out`, whole or not at all: `model/` with a model, additions.tsv with additions.

    `ids` are rows of `ID_COLUMNS`, `additions` of `after.columns`; `facts` are entries of description.json.
    """
    with replacing_directory(out, owned=OWNED) as folder:
        known = {key: value for key, value in settings.items() if key not in after.unused}
        card = after.write(folder, out, kind, known, facts)
        write_tsv(folder / "ids.tsv", ID_COLUMNS, ids)
        rows = [found.row(language, part) for (language, part), found in checks.items()]
        write_tsv(folder / "comparison.tsv", tuple(rows[0]), [tuple(row.values()) for row in rows])
        if additions:
            write_tsv(folder / "additions.tsv", after.columns, additions)
        (folder / "huggingface" / CARD).write_text(card, "utf-8")
        if model is not None:
            from vocap.adapt.model_rows import save_model  # torch: only where it is needed

            save_model(model, folder / "huggingface", folder / "model")
