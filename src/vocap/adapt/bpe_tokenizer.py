"""Byte-pair encoding that `trim` cuts and `extend` appends to."""

import json
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from vocap.adapt.adaptable import Adaptable, Extension, KeptTokens, Reason, encoder_as_loaded
from vocap.adapt.own_text import find_scripts, is_foreign, is_own
from vocap.bpe import model_file
from vocap.errors import VocapError, listed, log
from vocap.files.io import write_json, write_tsv
from vocap.text_files.named_texts import read_sentences
from vocap.text_files.text import Text, text_name
from vocap.tokenizer_files import encoders, layout, splitting
from vocap.tokenizer_files.card import About
from vocap.tokenizer_files.export import NOTHING
from vocap.tokenizer_files.model_file import BYTES
from vocap.unigram.alp import count_tokens


class BpeTokenizer(Adaptable):
    """The tokenizer of a checked tokenizer.json, or of a `definition` made from it,
    with its `tokens` by id.
    """

    reasons = (Reason.TEXT, Reason.HELDOUT, Reason.PART, Reason.CHARACTER)
    unused = frozenset({"share", "only_used"})
    columns = ("piece", "id", "merge", "uses", "origin")

    def __init__(
        self,
        read: model_file.BpeFile,
        definition: Mapping[str, Any] | None = None,
        tokens: Sequence[str] = (),
    ):
        """Raises VocapError where the library refuses the definition, or gives tokens
        other ids.
        """
        self.read, self.path = read, read.path
        self.ids = {token: number for number, token in enumerate(tokens or read.tokens)}
        self.definition = definition or read.definition
        self.encoder = encoder_as_loaded(self.definition, self.ids, self.path)

    @cached_property
    def splitter(self) -> splitting.Splitter:
        return splitting.Splitter(self.encoder)

    @property
    def names(self) -> list[str]:
        """Bytes as text, U+2581 for spaces."""
        return self.splitter.texts

    @cached_property
    def derivations(self) -> model_file.Derivations:
        return model_file.Derivations(self.read)

    @cached_property
    def unreachable(self) -> list[int]:
        """The ids that no text is encoded as."""
        return self.derivations.unreachable()

    def choose(
        self,
        text: NDArray[np.int64],
        heldout: NDArray[np.int64],
        owned: Collection[str],
        least: int,
        all_characters: bool,
    ) -> KeptTokens:
        """The tokens that stay, each with its reason, and the rows of the merges that
        stay, ascending.

        A token stays if it is used `least` times in both texts together, a single
        character if it is used at all; the merges behind these tokens stay, and the
        tokens that they take and give; the characters of all of them (with
        `all_characters`, all there are; of a byte-level vocabulary the 256 bytes in any
        case), byte pieces, the unknown token, and special and added tokens.
        """
        read, single = self.read, self.derivations.single
        model, tokens = read.definition["model"], read.tokens
        # special tokens, bytes
        always = set(encoders.byte_characters()) if self.encoder.byte_level else set()
        fixed = {model.get("unk_token"), *(BYTES if model.get("byte_fallback") else ())}
        special = {model["vocab"][name] for name in fixed if name in model["vocab"]}
        kept = dict.fromkeys(special | read.special | read.added, Reason.SPECIAL)
        # tokens of the text, and what their merges take and give
        uses = text + heldout
        chosen = [
            n for n in np.flatnonzero(uses).tolist() if uses[n] >= least or len(tokens[n]) == 1
        ]
        for number in chosen:
            kept.setdefault(number, Reason.TEXT if text[number] else Reason.HELDOUT)
        rows = self.derivations.closure(chosen)
        for number in np.unique(read.merges[rows]).tolist():
            if len(tokens[number]) > 1:
                kept.setdefault(number, Reason.PART)
        # their characters
        always |= set(single) if all_characters else set("".join(tokens[number] for number in kept))
        for character in always & single.keys():
            kept.setdefault(single[character], Reason.CHARACTER)
        # tokens that no text is encoded as
        unreachable = [n for n in self.unreachable if not uses[n]]
        facts = {"merges_before": len(read.merges), "unreachable_before": len(unreachable)}
        left_out = [self.names[n] for n in unreachable if n not in kept]
        return KeptTokens(
            {tokens[number]: kept[number] for number in sorted(kept)}, rows, left_out, facts
        )

    def cut_to(self, choice: KeptTokens, owners: Mapping[str, Sequence[str]]) -> "BpeTokenizer":
        if choice.unreachable:
            says = "%s: %d tokens that no text is encoded as are left out: %s"
            log.warning(
                says, self.path, len(choice.unreachable), listed(choice.unreachable, separator=" ")
            )
        kept = list(choice.reasons)
        numbers = [self.ids[token] for token in kept]
        return BpeTokenizer(
            self.read, model_file.keep_tokens(self.read, numbers, choice.merges), kept
        )

    def write_token(self, token: str) -> str:
        """The token as text; U+FFFD for bytes that are no whole character."""
        if not self.encoder.byte_level:
            return token
        return bytes(map(encoders.byte_characters().__getitem__, token)).decode(errors="replace")

    def is_own(self, token: str, scripts: frozenset[str]) -> bool:
        """Whether the token is text of the scripts, or may be a part of it."""
        text = self.write_token(token)
        return is_own(text, scripts) or ("\ufffd" in text and not is_foreign(text, scripts))

    def extended(self, text: Text, settings: Mapping[str, Any]) -> Extension:
        """A token comes from its characters; from the unknown token, or the first,
        where one of them has none.
        """
        # numba: seconds, which trim need not take
        from vocap.bpe.continuing import continue_training, count_words

        # the merges of the language's text
        name, language = text_name(text), settings["language"]
        words = count_words(self.read, self.encoder.tokenizer, read_sentences(text))
        if not words:
            raise VocapError(f"{name}: no text in it; give text with a sentence a line")
        log.info("%s: %d distinct words", name, len(words))
        scripts = find_scripts(language, read_sentences(text))
        added, left_out = continue_training(
            self.read,
            words,
            settings["pieces"],
            settings["coverage"],
            lambda token: self.is_own(token, scripts),
        )
        if not len(added):
            raise VocapError(
                f"{name}: every word of it is a token already, or no text of the language; "
                "nothing to add"
            )
        written = list(map(self.write_token, left_out))
        count = self.count_new(len(added), written, scripts, name, settings)
        # the tokenizer with them
        tokens, pairs = added.first(count)
        definition = model_file.append_tokens(self.read, tokens, pairs)
        after = BpeTokenizer(self.read, definition, [*self.read.tokens, *tokens])
        uses, _ = count_tokens(after.encoder, read_sentences(text))
        # old tokens behind each new one
        single, unknown = self.derivations.single.keys(), self.encoder.unk_id or 0
        made = {"".join(pair): pair for pair in reversed(pairs)}  # the first pair of each
        origins, rows = [], []
        for number, token in enumerate(tokens, start=self.total):
            known = single >= set(token)
            origins.append(self.derivations.encode(token)[0] if known else [unknown])
            merge = " ".join(after.names[after.ids[part]] for part in made.get(token, ()))
            old = " ".join(after.names[one] for one in origins[-1])
            rows.append((after.names[number], number, merge, int(uses[number]), old))
        if unused := [piece for piece, _, _, times, _ in rows if not times]:
            says = "%s: %d of %d new tokens are only parts of longer ones: %s"
            log.warning(says, name, len(unused), len(tokens), listed(unused, separator=" "))
        facts = {
            "merges_before": len(self.read.merges),
            "added": len(tokens),
            "new_characters": len(added.characters[: len(tokens)]),
            "never_used": len(unused),
            "not_own_text": len(left_out),
        }
        return Extension(after, f"merges of {language}", origins, rows, facts)

    def write(
        self,
        folder: Path,
        name: str,
        kind: str,
        settings: Mapping[str, Any],
        facts: Mapping[str, Any],
    ) -> tuple[About, Mapping[str, Any]]:
        model_file.write_definition(
            folder,
            Tokenizer.from_str(json.dumps(self.definition)),
            self.read.roles,
            NOTHING,
            self.config,
        )
        read = model_file.read_bpe(folder / "tokenizer.json")
        rows, description = model_file.describe_pairs(
            self.encoder, read.merges[:, 2].tolist(), kind, settings, **facts
        )
        write_tsv(folder / "pieces.tsv", layout.PIECE_COLUMNS, rows)
        write_json(folder / "description.json", description)
        model_file.write_bpe_export(read, folder / "huggingface", chat=self.chat)
        return model_file.about(read), description
