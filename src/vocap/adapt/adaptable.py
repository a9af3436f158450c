"""A finished tokenizer that `trim` cuts and `extend` appends to: a unigram model, or byte-pair encoding."""

import json
import logging
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
import tokenizers
from sentencepiece import sentencepiece_model_pb2

from vocap import __version__
from vocap.bpe import model_file
from vocap.errors import VocapError
from vocap.files.atomic import write_text
from vocap.files.plain_data import read_object
from vocap.files.tsv import read_tsv, write_tsv
from vocap.text_files.lines import read_blocks
from vocap.text_files.named_texts import read_sentences
from vocap.tokenizer_files import CHAT_TEMPLATE, EXPORTED, encoders, layout
from vocap.tokenizer_files.export import About, write_card, write_export
from vocap.tokenizer_files.id_layout import ROLES, XLM_R_LAYOUT, IdLayout, layout_of
from vocap.tokenizer_files.model_file import BYTES, NORMAL, build_processor, find_model, read_model
from vocap.unigram import COVERAGE
from vocap.unigram.alp import count_tokens
from vocap.unigram.text_settings import META_PIECES, NFC, TextSettings, settings_of
from vocap.wording import listed

logger = logging.getLogger(__name__)
# reasons to keep a token; LANGUAGE and EXTREME of unigram models, PART of merges: a token that one takes or gives
TEXT, HELDOUT, CHARACTER, SPECIAL = "text", "heldout", "character", "special"
LANGUAGE, EXTREME, PART = "language", "extreme", "part"
WIDEST = 16  # sizes from the number of new pieces up to so many times as many
FINE = 12  # sizes to a power of two, by 6 %: of the new pieces, at most so many are clipped


@dataclass(frozen=True)
class Choice:
    """The tokens that stay, each with its reason, and the rows of the merges that stay.

    `unreachable`: tokens that are left out although no text lacks them; `facts`: entries of description.json.
    """

    reasons: Mapping[str, str]
    merges: Sequence[int] = ()
    unreachable: Sequence[str] = ()
    facts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Extension:
    """The tokenizer `after`, with the new tokens of a language behind all others, which are `origin` (in words).

    `origins`: the old ids behind each new token; `rows` of additions.tsv; `facts`: entries of description.json.
    """

    after: "Adaptable"
    origin: str
    origins: Sequence[Sequence[int]]
    rows: Sequence[tuple]
    facts: Mapping[str, int]


class Adaptable(Protocol):
    """A tokenizer of either kind.

    `ids` are those of a model's rows, special tokens among them; they differ from the encoder's in XLM-R's files.
    """

    path: Path
    ids: dict[str, int]
    encoder: encoders.Encoder
    lacking: Sequence[str] = ()  # special tokens of every result that have no id
    reasons: ClassVar[tuple[str, ...]]  # to keep a token, in the order of the summary
    unused: ClassVar[frozenset[str]] = frozenset()  # options of the other kind
    columns: ClassVar[tuple[str, ...]]  # of additions.tsv

    @property
    def total(self) -> int:
        """T: the number of ids."""
        return max(self.ids.values()) + 1

    @property
    def names(self) -> list[str]:
        """The encoder's tokens by id, to be read."""
        return self.encoder.pieces

    def in_order(self) -> "Adaptable":
        """The tokenizer with the encoder's ids in the order of `ids`."""
        return self

    def owners(self) -> dict[str, list[str]]:
        """Token to the languages whose it is, by pieces.tsv beside the file; empty where that is unknown."""
        return {}

    def tokens(self, line: str) -> list[str]:
        """The tokens of a line, to be read."""
        return [self.names[number] for number in self.encoder.encode_batch([line])[0]]

    def choose(
        self, text: np.ndarray, heldout: np.ndarray, owned: Collection[str], least: int, all_characters: bool
    ) -> Choice:
        """The tokens that stay, by their uses in training and held-out text, int64 [V] each."""

    def cut_to(self, choice: Choice, owners: Mapping[str, Sequence[str]]) -> "Adaptable":
        """The tokenizer of these tokens alone."""

    def extended(self, text: Path, settings: Mapping[str, Any]) -> Extension:
        """Train on a text, and append `pieces` of the settings. Raises VocapError where it gives none."""

    def reachable(self, available: int, text: Path, settings: Mapping[str, Any]) -> int:
        """The number of new tokens: `pieces` of the settings, or the most of `available` that keep `multiple_of`.

        Raises VocapError where the text gives none.
        """
        wanted, multiple = settings["pieces"], settings.get("multiple_of", 1)
        if available >= wanted:
            return wanted
        count = available - (self.total + available) % multiple
        if count < 1:
            raise VocapError(
                f"{text}: it gives {available} new pieces, too few for a multiple of {multiple} ids; "
                "give more text"
            )
        logger.warning("%s: too little text for %d new pieces: %d", text, wanted, count)
        return count

    def write(self, folder: Path, out: Path, kind: str, settings: Mapping, facts: Mapping) -> str:
        """Write tokenizer, tables, description and export to `folder`, which becomes `out`; returns the card."""


@dataclass(frozen=True)
class UnigramTokenizer(Adaptable):
    """A unigram model at `path`; `ids` are its own, or those of a tokenizer.json beside it: XLM-R's are shifted.

    `languages`: those of its pieces, where they are known; `scores`, `rounding`: entries of description.json.
    """

    path: Path
    proto: Any  # ModelProto
    ids: dict[str, int]
    layout: IdLayout
    languages: Mapping[str, Sequence[str]] = field(default_factory=dict)
    scores: str = ""
    rounding: str = ""

    reasons = (TEXT, HELDOUT, LANGUAGE, CHARACTER, EXTREME)
    columns = ("piece", "id", "score", "own_score", "origin")

    @cached_property
    def contents(self) -> layout.Contents:
        return layout.read_contents(self.proto, str(self.path))

    @cached_property
    def encoder(self) -> encoders.SentencePieceEncoder:
        return encoders.SentencePieceEncoder(build_processor(self.proto, self.path))

    @property
    def lacking(self) -> list[str]:
        return [token for token in self.layout.names if token not in self.ids]

    def tokens(self, line: str) -> list[str]:
        return self.encoder.processor.encode(line, out_type=str)  # unknown text is itself

    def owners(self) -> dict[str, list[str]]:
        path = self.path.with_name("pieces.tsv")
        rows = read_tsv(path, ("piece", "languages")) if path.is_file() else ()
        return {row["piece"]: row["languages"].split(",") for row in rows if row["languages"]}

    def in_order(self) -> "UnigramTokenizer":
        """Raise VocapError unless each piece has one id, and special tokens have the first, in order."""
        wanted = [entry.token for entry in self.layout.special]
        proto = layout.lay_out(self.contents, self.proto.normalizer_spec, self.layout, self.proto.trainer_spec)
        entries = {entry.piece: entry for entry in proto.pieces}
        by_id = sorted(self.ids, key=self.ids.get)
        foreign = [token for token in by_id if token not in entries]
        if foreign or self.lacking or by_id[: len(wanted)] != wanted or not self.total == len(self.ids):
            raise VocapError(
                f"{self.path}: its ids are not {', '.join(wanted)} from 0 on, and its model's pieces behind them; "
                "lay it out with vocap mono first, or name the folder with its tokenizer.json"
            )
        del proto.pieces[:]
        for token in by_id:
            proto.pieces.add().CopyFrom(entries[token])
        return replace(self, proto=proto)

    def choose(self, text, heldout, owned, least, all_characters) -> Choice:
        """The pieces that stay, each with its reason.

        A piece of several characters stays if it occurs `least` times in both texts together, a single character
        if it occurs at all; all of `owned`; the characters of every piece that stays (or, with `all_characters`,
        all there are); the pieces of the lowest and of the highest score; and what is no piece.
        """
        contents, kept = self.contents, {}
        ids = {piece: number for number, piece in enumerate(self.encoder.pieces)}
        for piece in contents.pieces:
            times = text[ids[piece]] + heldout[ids[piece]]
            if times >= least or (times and len(piece) == 1):
                kept[piece] = TEXT if text[ids[piece]] else HELDOUT
            elif piece in owned:
                kept[piece] = LANGUAGE
        written = set("".join(kept))
        for piece in contents.pieces:
            if len(piece) == 1 and (all_characters or piece in written):
                kept.setdefault(piece, CHARACTER)
        for extreme in (contents.scores.argmin(), contents.scores.argmax()):
            kept.setdefault(contents.pieces[extreme], EXTREME)
        return Choice({**dict.fromkeys(ids.keys() - set(contents.pieces), SPECIAL), **kept})

    def cut_to(self, choice: Choice, owners: Mapping[str, Sequence[str]]) -> "UnigramTokenizer":
        """Scores as they are; symbols and byte pieces stay."""
        places = [place for place, piece in enumerate(self.contents.pieces) if piece in choice.reasons]
        pieces = [self.contents.pieces[place] for place in places]
        contents = replace(self.contents, pieces=pieces, scores=self.contents.scores[places])
        proto = layout.lay_out(contents, self.proto.normalizer_spec, self.layout, self.proto.trainer_spec)
        return replace(
            self,
            proto=proto,
            ids=_ids(proto),
            languages={piece: owners[piece] for piece in pieces if piece in owners},
            scores="as in the tokenizer that was trimmed, every one",
            rounding="none: every score is as it was",
        )

    def extended(self, text: Path, settings: Mapping[str, Any]) -> Extension:
        """A piece comes from those of its string under the old model: not normalised, no space before it."""
        language, share, coverage = (settings[key] for key in ("language", "share", "coverage"))
        # the model of the language's text, and its pieces
        words = _read_words(self, text, coverage)
        size, own_scores, new = choose_model(words, self.ids, self.contents.symbols, settings["pieces"], coverage)
        if not new:
            raise VocapError(f"{text}: every piece of its vocabulary is in the tokenizer already; nothing to add")
        ordered = sorted(new, key=lambda piece: (len(piece) > 1, -new[piece], piece))  # characters first
        new = {piece: new[piece] for piece in ordered[: self.reachable(len(new), text, settings)]}
        # the tokenizer with them
        proto = append(self.proto, layout.score_additions(self.contents, new, share))
        languages = self.owners()
        for piece in own_scores.keys() & {entry.piece for entry in proto.pieces}:
            languages[piece] = sorted({*languages.get(piece, ()), language})
        after = replace(
            self,
            proto=proto,
            ids=_ids(proto),
            languages=languages,
            scores=f"old pieces as they were; new ones log({share} p(x)), p of the model of {size} ids that "
            "the language's text gives, not below the lowest old score, and raised above their best split",
            rounding="old scores as they were, new ones to multiples of 2^-10",
        )
        # old pieces behind each new one
        entries = proto.pieces[self.total :]
        bare = layout.bare_processor(self.proto)
        origins = bare.encode([entry.piece for entry in entries], out_type=int, num_threads=1)
        rows = [
            (
                entry.piece,
                number,
                entry.score,
                own_scores[entry.piece],
                " ".join(self.names[old] for old in origin),
            )
            for number, (entry, origin) in enumerate(zip(entries, origins, strict=True), start=self.total)
        ]
        facts = {"added": len(rows), "size": size}
        return Extension(after, f"a model of {size:,} of {language}", origins, rows, facts)

    def write(self, folder: Path, out: Path, kind: str, settings: Mapping, facts: Mapping) -> str:
        more = {"scores": self.scores, "rounding": self.rounding, **facts}
        description = layout.write_as_trained(folder, kind, self.proto, settings, self.languages, **more)
        write_export(self.proto, str(out), folder / "huggingface", self.layout)
        return write_card(out.resolve().name, About.of(self.proto), description)


def _ids(proto) -> dict[str, int]:
    return {entry.piece: number for number, entry in enumerate(proto.pieces)}


def load_unigram(path: Path) -> UnigramTokenizer:
    """The tokenizer of a .model or of a folder with one: results/tokenizers/NAME, or XLM-R's files.

    Raises VocapError for anything else, naming the remedy.
    """
    model = find_model(path)
    if encoders.is_json(model):
        raise VocapError(
            f"{model}: not a SentencePiece model, nor byte-pair encoding; name the .model that it was made from"
        )
    proto = read_model(model)
    ids = _ids(proto)
    definition = model.parent / EXPORTED[0]
    if path.is_dir() and definition.is_file():
        ids = dict(encoders.load_encoder(definition).ids)
        if missing := [entry.piece for entry in proto.pieces if entry.piece not in ids]:
            raise VocapError(
                f"{definition}: it lacks the piece {missing[0]!r} of {model.name}; "
                "they are not of one tokenizer: keep the files of one"
            )
    return UnigramTokenizer(model, proto, ids, _layout(model, proto))


def _layout(path: Path, proto) -> IdLayout:
    """The model's own, with the settings of the export beside it; XLM-R's for a stock model.

    A stock model names tokens of roles that it lacks, such as <pad>; one that was laid out does not.
    """
    own = layout_of(proto)
    if any(getattr(proto.trainer_spec, f"{role}_piece") and own.token(role) is None for role in ROLES):
        return XLM_R_LAYOUT
    definition, config = (path.parent / "huggingface" / name for name in EXPORTED[:2])
    if not (definition.is_file() and config.is_file()):
        return own
    template = (read_object(definition).get("post_processor") or {}).get("single", ())
    around = {part["SpecialToken"]["id"] for part in template if "SpecialToken" in part}
    bos, eos = (own.token(role) in around for role in ("bos", "eos"))
    found: dict[str, Any] = {"bos_eos": "both" if bos and eos else "bos" if bos else "eos" if eos else "none"}
    length = read_object(config).get("model_max_length")
    return own.model_copy(update=found | ({"model_max_length": length} if isinstance(length, int) else {}))


def _read_words(source: UnigramTokenizer, path: Path, coverage: float):
    """The word types of a text, as `source` normalises it. Raises VocapError for no text."""
    from vocap.unigram.ladder import specifications  # numba: seconds, which trim need not take
    from vocap.unigram.word_types import load_word_types

    def alike(settings: TextSettings) -> bool:
        """Whether the tokenizer normalises text by the same table as the models that the ladder gives."""
        own = sentencepiece_model_pb2.ModelProto.FromString(specifications(coverage, 4, settings=settings))
        spec = source.proto.normalizer_spec
        return own.normalizer_spec.precompiled_charsmap == spec.precompiled_charsmap

    trained_with = settings_of(source.proto)
    composing = replace(trained_with, normalization=NFC)  # a table, which the file does not name
    if alike(composing):
        trained_with = composing
    words = load_word_types({"train": lambda: read_blocks(path)}, coverage=coverage, settings=trained_with)
    logger.info("%s: %d lines, %d word types", path, words.sentences["train"], words.trained)
    if not alike(trained_with):
        logger.warning(
            "%s: another normaliser than this SentencePiece trains with; some new pieces may never be used",
            source.path,
        )
    if not words.required:
        raise VocapError(f"{path}: no text in it; give text with a sentence a line")
    return words


def choose_model(
    words, taken: Collection[str], symbols: Sequence[str], count: int, coverage: float = COVERAGE
) -> tuple[int, dict[str, float], dict[str, float]]:
    """The smallest model of a language with `count` new pieces: size, scores of all pieces and of the new ones.

    New pieces are not `taken`, and hold no user-defined symbol.
    Sizes are 2^(n/12) rounded up, or the smallest or largest that the text gives; one descent trains all of them.
    Where the text cannot give as many pieces, the largest model that it gives. `words` as `load_word_types` gives
    them. Raises VocapError where the text gives none.
    """
    from vocap.unigram.ladder import train_sizes  # numba, as above

    # sizes
    least = len(words.required) + len(META_PIECES)
    exponents = count.bit_length() - 1, (count * WIDEST - 1).bit_length()
    steps = range(FINE * exponents[0], FINE * exponents[1] + 1)
    sizes = {least, *(max(least, math.ceil(2 ** (step / FINE))) for step in steps)}
    # models from the largest down, to the first with too few pieces
    chosen, enough, most = None, False, None  # `most`: the largest size possible, if known
    while sizes:
        for rung in train_sizes(words, sorted(sizes), coverage):
            most = rung.most or most
            if rung.model is None:
                continue
            proto = sentencepiece_model_pb2.ModelProto.FromString(rung.model)
            contents = layout.read_contents(proto, "the language's model")
            scores = dict(zip(contents.pieces, contents.scores.tolist(), strict=True))
            new = {
                piece: score
                for piece, score in scores.items()
                if piece not in taken and not any(symbol in piece for symbol in symbols)
            }
            found = rung.point.size, scores, new
            if len(new) < count:
                chosen = chosen if enough or (chosen and chosen[0] > found[0]) else found
                break
            chosen, enough = found, True
        sizes = {most} - sizes if not enough and most is not None else set()
    if chosen is None:
        raise VocapError("the text gives no vocabulary: it holds no word")
    return chosen


def append(proto, scores: Mapping[str, float]):
    """A copy of the `ModelProto` with these pieces behind all others, by score descending, then by string."""
    longer = type(proto)()
    longer.CopyFrom(proto)
    for score, piece in sorted((-score, piece) for piece, score in scores.items()):
        longer.pieces.add(piece=piece, score=-score, type=NORMAL)
    longer.trainer_spec.vocab_size = len(longer.pieces)
    return longer


class BpeTokenizer(Adaptable):
    """The tokenizer of a checked tokenizer.json, or of a `definition` made from it, with its `tokens` by id."""

    reasons = (TEXT, HELDOUT, PART, CHARACTER)
    unused = frozenset({"share", "only_used"})
    columns = ("piece", "id", "merge", "uses", "origin")

    def __init__(self, read: model_file.BpeFile, definition: Mapping | None = None, tokens: Sequence[str] = ()):
        """Raises VocapError where the library refuses the definition, or gives tokens other ids."""
        self.read, self.path = read, read.path
        self.ids = {token: number for number, token in enumerate(tokens or read.tokens)}
        text = json.dumps(definition or read.definition, ensure_ascii=False)
        self.encoder = encoders.parse_encoder(text, self.path)
        for token, number in self.ids.items():
            if self.encoder.ids.get(token) != number:
                raise VocapError(
                    f"{self.path}: tokenizers gives {token!r} the id {self.encoder.ids.get(token)} instead of "
                    f"{number}; save it again with its added tokens in the order of their ids"
                )

    @cached_property
    def names(self) -> list[str]:
        """Bytes as text, U+2581 for spaces."""
        return [piece or "" for piece in encoders.Splitter(self.encoder).pieces]

    @cached_property
    def unreachable(self) -> list[int]:
        """The ids that no text is encoded as."""
        return self.derivations.unreachable()

    @cached_property
    def derivations(self) -> model_file.Derivations:
        return model_file.Derivations(self.read)

    def choose(self, text, heldout, owned, least, all_characters) -> Choice:
        """The tokens that stay, each with its reason, and the rows of the merges that stay, ascending.

        A token stays if it is used `least` times in both texts together, a single character if it is used at all;
        the merges behind these tokens stay, and the tokens that they take and give; the characters of all of them
        (with `all_characters`, all there are; of a byte-level vocabulary the 256 bytes in any case), byte pieces,
        the unknown token, and special and added tokens.
        """
        read, single = self.read, self.derivations.single
        model, tokens = read.definition["model"], read.tokens
        # special tokens, bytes
        steps = (read.definition.get(step) for step in ("normalizer", "pre_tokenizer", "decoder"))
        always = set(encoders.byte_characters()) if "ByteLevel" in encoders.step_types(*steps) else set()
        fixed = {model.get("unk_token"), *(BYTES if model.get("byte_fallback") else ())}
        kept = dict.fromkeys(read.special | read.added, SPECIAL)
        kept |= dict.fromkeys((model["vocab"][name] for name in fixed if name in model["vocab"]), SPECIAL)
        # tokens of the text, and what their merges take and give
        uses = text + heldout
        chosen = [n for n in np.flatnonzero(uses).tolist() if uses[n] >= least or len(tokens[n]) == 1]
        for number in chosen:
            kept.setdefault(number, TEXT if text[number] else HELDOUT)
        rows = self.derivations.closure(chosen)
        for number in np.unique(read.merges[rows]).tolist():
            if len(tokens[number]) > 1:
                kept.setdefault(number, PART)
        # their characters
        always |= set(single) if all_characters else set("".join(tokens[number] for number in kept))
        for character in always & single.keys():
            kept.setdefault(single[character], CHARACTER)
        # tokens that no text is encoded as
        unreachable = [n for n in self.unreachable if not uses[n]]
        facts = {"merges_before": len(read.merges), "unreachable_before": len(unreachable)}
        left_out = [self.names[n] for n in unreachable if n not in kept]
        return Choice({tokens[number]: kept[number] for number in sorted(kept)}, rows, left_out, facts)

    def cut_to(self, choice: Choice, owners: Mapping[str, Sequence[str]]) -> "BpeTokenizer":
        if choice.unreachable:
            says = "%s: %d tokens that no text is encoded as are left out: %s"
            logger.warning(says, self.path, len(choice.unreachable), listed(choice.unreachable, separator=" "))
        kept = list(choice.reasons)
        numbers = [self.ids[token] for token in kept]
        return BpeTokenizer(self.read, model_file.keep_tokens(self.read, numbers, choice.merges), kept)

    def extended(self, text: Path, settings: Mapping[str, Any]) -> Extension:
        """A token comes from its characters; from the unknown token, or the first, where one of them has none."""
        from vocap.bpe.continuing import continue_training, count_words  # numba: seconds, which trim need not take

        # the merges of the language's text
        words = count_words(self.read, self.encoder.tokenizer, read_sentences(text))
        if not words:
            raise VocapError(f"{text}: no text in it; give text with a sentence a line")
        logger.info("%s: %d distinct words", text, len(words))
        added = continue_training(self.read, words, settings["pieces"], settings["coverage"])
        if not len(added):
            raise VocapError(f"{text}: every word of it is a token already; nothing to add")
        # the tokenizer with them
        total = self.total
        tokens, pairs = added.first(self.reachable(len(added), text, settings))
        after = BpeTokenizer(
            self.read, model_file.append_tokens(self.read, tokens, pairs), [*self.read.tokens, *tokens]
        )
        uses = count_tokens(after.encoder.encode_batch, after.encoder.size, read_sentences(text))[0]
        if unused := [after.names[number] for number in range(total, after.total) if not uses[number]]:
            says = "%s: %d of %d new tokens are only parts of longer ones: %s"
            logger.warning(says, text, len(unused), len(tokens), listed(unused, separator=" "))
        # old tokens behind each new one
        single, unknown = self.derivations.single, self.encoder.unk_id or 0
        made = {"".join(pair): pair for pair in reversed(pairs)}  # the first pair of each
        origins, rows = [], []
        for number, token in enumerate(tokens, start=total):
            known = all(character in single for character in token)
            origins.append(self.derivations.encode(token)[0] if known else [unknown])
            merge = " ".join(after.names[after.ids[part]] for part in made.get(token, ()))
            old = " ".join(after.names[one] for one in origins[-1])
            rows.append((after.names[number], number, merge, int(uses[number]), old))
        facts = {
            "merges_before": len(self.read.merges),
            "added": len(tokens),
            "new_characters": len(added.characters[: len(tokens)]),
            "never_used": len(unused),
        }
        return Extension(after, f"merges of {settings['language']}", origins, rows, facts)

    def write(self, folder: Path, out: Path, kind: str, settings: Mapping, facts: Mapping) -> str:
        model_file.write_definition(
            folder, self.encoder.tokenizer, self.read.roles, model_file.longest_input(self.path)
        )
        read = model_file.read_bpe(folder / "tokenizer.json")
        dead = set(model_file.Derivations(read).unreachable())
        description = {
            "kind": kind,
            "total": len(read.tokens),
            "settings": dict(settings),
            "scores": "by the order of merges",
            "pieces": len(read.tokens) - len(read.special) - len(read.added),
            "dead": len(dead),
            "dead_share": len(dead) / len(read.tokens),
            "merges": len(read.merges),
            **facts,
            "versions": {"vocap": __version__, "tokenizers": tokenizers.__version__},
        }
        # a score is less the number of merges before the token's first
        first = {new: -rank for rank, new in reversed(list(enumerate(read.merges[:, 2].tolist())))}
        status = dict.fromkeys(dead, "dead") | dict.fromkeys(read.added, "symbol")
        rows = [
            (name, number, first.get(number, 0), "", status.get(number, "ok"), "")
            for number, name in enumerate(self.names)
            if number not in read.special
        ]
        write_tsv(folder / "pieces.tsv", layout.PIECE_COLUMNS, rows)
        write_text(folder / "description.json", json.dumps(description, ensure_ascii=False, indent=2) + "\n")
        model_file.write_export(read, folder / "huggingface")
        config, template = self.path.with_name(EXPORTED[1]), self.path.with_name(CHAT_TEMPLATE)
        chat = read_object(config).get("chat_template") if config.is_file() else None
        chat = template.read_text("utf-8") if template.is_file() else chat
        for place in (folder, folder / "huggingface") if isinstance(chat, str) else ():
            write_text(place / CHAT_TEMPLATE, chat)
        return write_card(out.resolve().name, model_file.about(read), description)
