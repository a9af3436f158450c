"""`vocap trim` for byte-pair encoding: the tokens and merges that the text of some languages needs."""

import logging
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from vocap.adapt.folder import compare_texts
from vocap.adapt.pair_files import PairSource, checked_encoder, listed, write_pairs
from vocap.bpe.derivation import Derivations
from vocap.bpe.model_file import BpeFile
from vocap.bpe.renumbering import keep_tokens
from vocap.bpe.words import byte_characters
from vocap.errors import VocapError
from vocap.text_files.named_texts import read_sentences
from vocap.tokenizer_files.model_file import BYTES
from vocap.tokenizer_files.splitter import step_types
from vocap.unigram.alp import count_tokens

logger = logging.getLogger(__name__)
SPECIAL, TEXT, HELDOUT, PART, CHARACTER = "special", "text", "heldout", "part", "character"
REASONS = (TEXT, HELDOUT, PART, CHARACTER)


def trim_pairs(source: PairSource, files, settings: Mapping, model, out: Path) -> tuple[dict, dict, int]:
    """Choose, build, compare, write: the check of each text, the number of tokens by reason, and T.

    `files`: the texts of each language by part; `settings`: `min_count` and `all_characters` among them.
    """
    text, heldout = _count_uses(source, files)
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
    reasons = {reason: sum(why == reason for why in kept.values()) for reason in REASONS}
    write_pairs(
        out, source, after, "trimmed", settings, ids, checks, model,
        total_before=source.total,
        merges_before=len(source.read.merges),
        unreachable_before=len(unreachable),
        kept_for=reasons,
        lines_compared=sum(found.lines for found in checks.values()),
        lines_identical=sum(found.identical for found in checks.values()),
    )  # fmt: skip
    return checks, reasons, len(tokens)


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


def _count_uses(source: PairSource, files) -> tuple[np.ndarray, np.ndarray]:
    """Uses of each token in the text and in the held-out text, int64 [V]."""
    counts = np.zeros((2, source.total), np.int64)
    for parts in files.values():
        for part, path in parts.items():
            counts[int(part == "heldout")] += count_tokens(
                source.encoder.encode_batch, source.total, read_sentences(path)
            )[0]
    if not counts.any():
        raise VocapError("no line in any text; give text with a sentence a line")
    return counts[0], counts[1]
