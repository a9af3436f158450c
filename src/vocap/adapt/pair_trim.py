"""`vocap trim` for byte-pair encoding: the tokens and merges that the text of some languages needs."""

import logging
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from vocap.adapt.folder import compare_texts, count_uses, trim_facts
from vocap.adapt.pair_files import PairSource, checked_encoder, listed, write_pairs
from vocap.bpe.derivation import Derivations
from vocap.bpe.model_file import BpeFile
from vocap.bpe.renumbering import keep_tokens
from vocap.bpe.words import byte_characters
from vocap.tokenizer_files.model_file import BYTES
from vocap.tokenizer_files.splitter import step_types

logger = logging.getLogger(__name__)
SPECIAL, TEXT, HELDOUT, PART, CHARACTER = "special", "text", "heldout", "part", "character"
REASONS = (TEXT, HELDOUT, PART, CHARACTER)


def trim_pairs(source: PairSource, files, settings: Mapping, model, out: Path) -> tuple[dict, dict, int]:
    """Choose, build, compare, write: the check of each text, `trim_facts`, and T.

    `files`: the texts of each language by part; `settings`: `min_count` and `all_characters` among them.
    """
    text, heldout = count_uses(source.encoder, files)
    options = (settings["min_count"], settings["all_characters"])
    kept, rows = choose(source.read, source.derivations, text, heldout, *options)
    foreseen, _ = choose(source.read, source.derivations, text, np.zeros_like(heldout), *options)
    tokens = sorted(kept)
    names = [source.read.tokens[number] for number in tokens]
    after = checked_encoder(keep_tokens(source.read, tokens, rows), names, source.path)
    number = {old: new for new, old in enumerate(tokens)}
    known = np.zeros(source.total, bool)
    known[list(foreseen)] = True
    checks = compare_texts(source.encoder, after, number, files, known)
    if model is not None:
        from vocap.adapt.model_rows import renumber_specials, replace_rows

        renumber_specials(model, number)
        replace_rows(model, [[old] for old in tokens])
    ids = [(old, new, after.readable[new], kept[old]) for new, old in enumerate(tokens)]
    unreachable = [n for n in source.derivations.unreachable() if not text[n] and not heldout[n]]
    if dropped := [source.encoder.readable[n] for n in unreachable if n not in kept]:
        logger.warning(
            "%s: %d tokens that no text is encoded as are left out: %s", source.path, len(dropped), listed(dropped)
        )
    facts = trim_facts(kept.values(), REASONS, checks)
    write_pairs(
        out, source, after, "trimmed", settings, ids, checks, model,
        total_before=source.total,
        merges_before=len(source.read.merges),
        unreachable_before=len(unreachable),
        **facts,
    )  # fmt: skip
    return checks, facts, len(tokens)


def choose(
    read: BpeFile,
    derivations: Derivations,
    text: np.ndarray,
    heldout: np.ndarray,
    least: int = 1,
    all_characters: bool = False,
) -> tuple[dict[int, str], list[int]]:
    """The tokens that stay, each with its reason, and the rows of the merges that stay, ascending.

    `text` and `heldout` int64 [V]: uses of each token. A token stays if it is used `least` times in both together,
    a single character if it is used at all; the merges behind these tokens stay, and the tokens that they take
    and give; the characters of all of them (with `all_characters`, all there are; of a byte-level vocabulary the
    256 bytes in any case), byte pieces, the unknown token, and special and added tokens.
    """
    model, tokens = read.definition["model"], read.tokens
    byte_level = "ByteLevel" in step_types(
        *(read.definition.get(step) for step in ("normalizer", "pre_tokenizer", "decoder"))
    )
    always = set(byte_characters()) if byte_level else set()
    fixed = {model.get("unk_token"), *(BYTES if model.get("byte_fallback") else ())}
    kept = dict.fromkeys(read.special | read.added, SPECIAL)
    kept |= dict.fromkeys((model["vocab"][name] for name in fixed if name in model["vocab"]), SPECIAL)
    uses = text + heldout
    chosen = [n for n in np.flatnonzero(uses).tolist() if uses[n] >= least or len(tokens[n]) == 1]
    for number in chosen:
        kept.setdefault(number, TEXT if text[number] else HELDOUT)
    rows = derivations.closure(chosen)
    for number in np.unique(read.merges[rows]).tolist():  # the tokens that these merges take and give
        if len(tokens[number]) > 1:
            kept.setdefault(number, PART)
    always |= set(derivations.single) if all_characters else set("".join(tokens[number] for number in kept))
    for character in always & derivations.single.keys():
        kept.setdefault(derivations.single[character], CHARACTER)
    return kept, rows
