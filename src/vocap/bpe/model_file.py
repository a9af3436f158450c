"""A tokenizer.json of byte-pair encoding: read and checked, exported, cut to some
tokens or continued.

The merges behind a token are those that are applied where text is encoded as it. No
merge that is applied reaches over the borders of a token of the result, and merges are
applied by rank, of equal rank from the left. So those inside a token are the ones that
its characters alone lead to, whatever stands beside it: each token has one derivation.
Merges in no derivation of a text's tokens are not applied in it.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from tokenizers import Tokenizer

from vocap import __version__
from vocap.errors import VocapError
from vocap.files.io import read_object, write_json, write_text
from vocap.tokenizer_files import CHAT_TEMPLATE
from vocap.tokenizer_files.card import About
from vocap.tokenizer_files.encoders import HuggingFaceEncoder, definition_model, refusals, roles_of
from vocap.tokenizer_files.export import (
    NOTHING,
    configuration,
    find_settings,
    find_templates,
    special_tokens_step,
    write_folder,
)
from vocap.tokenizer_files.id_layout import IdLayout
from vocap.tokenizer_files.model_file import BYTES
from vocap.tokenizer_files.splitting import Splitter, dead_ids, texts_of

# characters of a token whose derivation is looked up: the time grows with their square
LONGEST = 1000


@dataclass(frozen=True)
class BpeFile:
    """`definition`: the content of the file. `tokens` by id, V of them; `merges` int32
    [M, 3] as ids.

    `special`: ids of special tokens, which text is not encoded as; `added`: those of
    other added tokens, whose text always is. `roles`: the special token of each role
    that there is.
    """

    path: Path
    definition: dict[str, Any]
    tokens: list[str]
    merges: np.ndarray
    special: frozenset[int]
    added: frozenset[int]
    roles: dict[str, str]

    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the definition. Raises VocapError, naming the file, where
        the library refuses it.
        """
        with refusals(self.path):
            return Tokenizer.from_str(json.dumps(self.definition, ensure_ascii=False))


def read_bpe(path: str | Path) -> BpeFile:
    """Read a tokenizer.json, or that of a folder.

    Raises VocapError, naming the file and the merge or token, for another model than
    BPE, ids with gaps, merges whose parts or result are no tokens, and values of
    another type.
    """
    path = Path(path)
    path = path / "tokenizer.json" if path.is_dir() else path
    if not path.is_file():
        raise VocapError(f"{path}: no such file; give a tokenizer.json, or a folder with one")
    definition = read_object(path)
    model = definition.get("model")
    if not isinstance(model, dict):
        model = {}
    vocabulary = model.get("vocab")
    if not isinstance(vocabulary, dict) or not isinstance(model.get("merges"), list):
        raise VocapError(
            f"{path}: a model of type {model.get('type', 'unknown')}, not BPE with vocab and "
            "merges; give one of those"
        )
    if model.get("continuing_subword_prefix") or model.get("end_of_word_suffix"):
        raise VocapError(
            f"{path}: pieces with a prefix or suffix for words are not known here; use another form"
        )
    with refusals(path):
        # Ids
        ids: dict[str, int] = dict(vocabulary)
        special: set[int] = set()
        added: set[int] = set()
        for entry in definition.get("added_tokens") or ():
            ids[entry["content"]] = entry["id"]
            (special if entry.get("special") else added).add(entry["id"])
        by_id = {number: token for token, number in ids.items()}
        if sorted(by_id) != list(range(len(ids))):
            raise VocapError(
                f"{path}: {len(ids)} tokens, whose ids are not 0 to {len(ids) - 1}; save it again"
            )
        # Merges, as ids
        merges = np.empty((len(model["merges"]), 3), np.int32)
        for rank, pair in enumerate(model["merges"]):
            parts = pair.split(" ") if isinstance(pair, str) else pair
            if not isinstance(parts, list) or len(parts) != 2:
                raise VocapError(f"{path}: merge {rank} is {pair!r}, not two tokens; save it again")
            for token in (*parts, "".join(map(str, parts))):
                if token not in vocabulary:
                    raise VocapError(
                        f"{path}: merge {rank}, {' '.join(map(str, parts))!r}: {token!r} is no "
                        "token of the vocabulary; a merge needs its parts and its result: take it "
                        "out, or put the token back"
                    )
            merges[rank] = *(ids[part] for part in parts), ids["".join(parts)]
        tokens = [by_id[number] for number in range(len(by_id))]
        return BpeFile(
            path,
            definition,
            tokens,
            merges,
            frozenset(special),
            frozenset(added),
            roles_of(path, ids),
        )


def describe_pairs(
    encoder: HuggingFaceEncoder,
    results: Sequence[int],
    kind: str,
    settings: Mapping[str, Any],
    **more: Any,
) -> tuple[list[tuple[str, int, float, str, str, str]], dict[str, Any]]:
    """Rows of `pieces.tsv`, and the entries of description.json with `more`, of byte-pair
    encoding.

    `results`: the id that each merge gives, by rank. The score of a piece is less the
    number of merges before its own, 0 for the alphabet.
    """
    splitter = Splitter(encoder)
    dead = set(dead_ids(splitter, dict(texts_of(splitter))))
    scores = {number: -rank for rank, number in reversed(list(enumerate(results)))}
    added = encoder.tokenizer.get_added_tokens_decoder()
    rows: list[tuple[str, int, float, str, str, str]] = []
    for number, piece in enumerate(splitter.pieces):
        if number not in added:
            status = "dead" if number in dead else "ok"
            rows.append((piece or "", number, scores.get(number, 0), "", status, ""))
        elif not added[number].special:
            rows.append((added[number].content, number, 0, "", "symbol", ""))
    pieces = encoder.size - len(added)
    return rows, {
        "kind": kind,
        "total": encoder.size,
        "settings": settings,
        "scores": "by the order of merges",
        "pieces": pieces,
        "dead": len(dead),
        "dead_share": len(dead) / pieces,
        "merges": len(results),
        **more,
        "versions": {"vocap": __version__, "tokenizers": tokenizers.__version__},
    }


def is_bpe(path: Path) -> bool:
    """Whether a file, or tokenizer.json of a folder without a SentencePiece model, is
    byte-pair encoding.
    """
    model = definition_model(path) or {}
    return model.get("type", "BPE") == "BPE" and "merges" in model


def write_definition(
    folder: Path,
    tokenizer: Tokenizer,
    roles: Mapping[str, str],
    use: Mapping[str, Any],
    given: Mapping[str, Any] = NOTHING,
) -> None:
    """Write `tokenizer.json` and `tokenizer_config.json`: `roles` to their special
    tokens; `use` and `given` as in `configuration`.
    """
    config = configuration(tokenizer, roles, use, given)
    write_text(folder / "tokenizer.json", tokenizer.to_str(pretty=False))
    write_json(folder / "tokenizer_config.json", config)


def export_bpe(path: str | Path, output: str | Path, layout: IdLayout | None = None) -> int:
    """Write `output` from a tokenizer.json, with the special tokens around a text that
    `layout` asks for.

    Returns the number of ids. Without a layout these and the longest input are those of
    the files. Raises VocapError as `read_bpe`, and for a layout with other tokens.
    """
    read = read_bpe(path)
    write_bpe_export(read, output, layout, find_templates(read.path))
    return len(read.tokens)


def write_bpe_export(
    read: BpeFile,
    output: str | Path,
    layout: IdLayout | None = None,
    chat: Mapping[str, str] = NOTHING,
) -> None:
    """`export` of a file that is read; `chat`: as in `find_templates`."""
    ids = {token: number for number, token in enumerate(read.tokens)}
    tokenizer, roles = read.tokenizer(), read.roles
    if layout is not None:
        if lacking := [name for name in layout.names if name not in ids]:
            raise VocapError(
                f"{read.path}: no special token {lacking[0]!r}; give the layout that the "
                "tokenizer was made with"
            )
        tokenizer.post_processor = special_tokens_step(layout, ids)
        roles = layout.roles
        if template := layout.read_template(ids):
            chat = {**chat, CHAT_TEMPLATE: template}
    given = NOTHING if layout else find_settings(read.path)
    write_folder(output, tokenizer, roles, layout.use if layout else NOTHING, chat, given)


def about(read: BpeFile) -> About:
    """The facts for the model card."""
    special = sorted(read.special)
    leading = [number for place, number in enumerate(special) if place == number]
    others = (
        f", {len(special) - len(leading)} more special tokens"
        if len(special) > len(leading)
        else ""
    )
    others += f", {len(read.added)} user-defined symbols" if read.added else ""
    others += f", pieces of {len(read.merges):,} merges"
    if read.definition.get("normalizer"):
        losses = ["- Text is normalised: decoded text can differ from the encoded."]
    else:
        losses = ["- Every text comes back from its ids."]
    shown = [(read.tokens[number], number) for number in leading[:8]]
    return About("byte-pair encoding", len(read.tokens), shown, others, losses, "bpe, vocap")


class Derivations:
    """The derivations of the tokens of a file, each found when it is asked for."""

    def __init__(self, read: BpeFile):
        model = read.definition["model"]
        self.tokens, self.merges = read.tokens, read.merges.tolist()
        self.single = {token: number for token, number in model["vocab"].items() if len(token) == 1}
        self.ranks = {(a, b): rank for rank, (a, b, _) in enumerate(self.merges)}
        self.whole_words = bool(model.get("ignore_merges"))
        self._apart = {*read.special, *read.added, *self.single.values()}
        names = [model.get("unk_token"), *(BYTES if model.get("byte_fallback") else ())]
        self._apart.update(model["vocab"][name] for name in names if name in model["vocab"])

    def encode(self, text: str) -> tuple[list[int], list[int]]:
        """The ids of a word, and the merges (rows of the file) that lead to them, in
        the order of application.

        Raises KeyError for a character that is no token.
        """
        ids, rows = [self.single[character] for character in text], []
        none = len(self.merges)
        while len(ids) > 1:
            rank, place = min(
                (self.ranks.get(pair, none), place) for place, pair in enumerate(pairwise(ids))
            )
            if rank == none:
                break
            ids[place : place + 2] = [self.merges[rank][2]]
            rows.append(rank)
        return ids, rows

    def of(self, token: int) -> list[int] | None:
        """The merges that lead to a token; None where its characters lead to others."""
        name = self.tokens[token]
        if len(name) > LONGEST or not all(character in self.single for character in name):
            return None
        ids, rows = self.encode(name)
        return rows if ids == [token] else None

    def closure(self, tokens: Iterable[int]) -> list[int]:
        """The merges, ascending, with which all texts of these tokens are encoded as
        with all merges.

        For a token of text that its characters do not lead to (bytes that merge), all
        that give it or its parts; where whole words are tokens without merges
        (`ignore_merges`), none.
        """
        makers: dict[int, list[int]] = {}
        kept: set[int] = set()
        waiting, seen = list(tokens), set()
        while waiting:
            if (token := waiting.pop()) in seen:
                continue
            seen.add(token)
            rows = self.of(token)
            if rows is None and not self.whole_words:
                if not makers:
                    for rank, (_, _, new) in enumerate(self.merges):
                        makers.setdefault(new, []).append(rank)
                rows = makers.get(token, [])
                waiting += [part for row in rows for part in self.merges[row][:2]]
            kept.update(rows or ())
        return sorted(kept)

    def unreachable(self) -> list[int]:
        """The tokens that no text is encoded as, by id; none are known where whole
        words are taken as tokens.
        """
        if self.whole_words:
            return []
        return [
            number
            for number in range(len(self.tokens))
            if number not in self._apart and self.of(number) is None
        ]


def keep_tokens(read: BpeFile, tokens: Sequence[int], rows: Sequence[int]) -> dict[str, Any]:
    """The definition with these tokens (ascending ids) and merges (ascending rows)
    alone; ids are places in it.

    Normaliser, pre-tokeniser and decoder stay as they are. Raises VocapError for a
    post-processor that is not of `tokenizers`, and for special or added tokens that are
    not among `tokens`.
    """
    number = {old: new for new, old in enumerate(tokens)}
    if lost := sorted((read.special | read.added) - number.keys()):
        raise VocapError(
            f"{read.path}: the added token {read.tokens[lost[0]]!r} must stay; keep it"
        )
    changed = _copy(read)
    model = changed["model"]
    model["vocab"] = {token: number[old] for token, old in model["vocab"].items() if old in number}
    model["merges"] = [_names(read, row) for row in rows]
    renumber(changed, number, read.path)
    return changed


def append_tokens(
    read: BpeFile, tokens: Sequence[str], merges: Sequence[tuple[str, str]]
) -> dict[str, Any]:
    """The definition with these tokens behind all others, and with these merges after
    all others.

    Added tokens become rows of the vocabulary too: without one, a library would give
    them ids behind the new ones.
    """
    changed = _copy(read)
    model = changed["model"]
    for entry in changed.get("added_tokens") or ():
        model["vocab"].setdefault(entry["content"], entry["id"])
    model["vocab"] |= {token: number for number, token in enumerate(tokens, start=len(read.tokens))}
    model["merges"] = [_names(read, row) for row in range(len(read.merges))] + [
        list(pair) for pair in merges
    ]
    return changed


def _copy(read: BpeFile) -> dict[str, Any]:
    model = read.definition["model"]
    rest = deepcopy({key: value for key, value in read.definition.items() if key != "model"})
    kept = {key: value for key, value in model.items() if key not in ("vocab", "merges")}
    copied = {**read.definition, **rest}
    copied["model"] = {**kept, "vocab": dict(model["vocab"]), "merges": []}
    return copied


def _names(read: BpeFile, row: int) -> list[str]:
    return [read.tokens[number] for number in read.merges[row, :2].tolist()]


def renumber(definition: dict[str, Any], number: Mapping[int, int], path: Path) -> None:
    """Give the added tokens, padding and post-processor of a tokenizer.json new ids, in
    place.

    `number`: old to new ids; `path` is said in errors. Raises VocapError for a
    post-processor that is not of `tokenizers`, and for one that names an id without a
    new one.
    """
    for entry in definition.get("added_tokens") or ():
        entry["id"] = number[entry["id"]]
    if padding := definition.get("padding"):
        padding["pad_id"] = number.get(padding["pad_id"], 0)
    steps = [definition.get("post_processor") or {"type": "ByteLevel"}]
    try:
        for step in steps:
            kind = step.get("type")
            if kind == "Sequence":
                steps += step["processors"]
            elif kind == "TemplateProcessing":
                for entry in step["special_tokens"].values():
                    entry["ids"] = [number[old] for old in entry["ids"]]
            elif kind in ("BertProcessing", "RobertaProcessing"):
                for side in ("sep", "cls"):
                    step[side] = [step[side][0], number[step[side][1]]]
            elif kind != "ByteLevel":
                raise VocapError(
                    f"{path}: a post-processor of type {kind} is not known here; leave it out"
                )
    except KeyError as error:
        raise VocapError(
            f"{path}: its post-processor names {error}, which is no id of a special token; "
            "correct it"
        ) from None
