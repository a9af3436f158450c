"""A unigram model that `trim` cuts and `extend` appends to."""

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sentencepiece import sentencepiece_model_pb2
from tokenizers import Tokenizer

from vocap.adapt.adaptable import Adaptable, Extension, KeptTokens, Reason, encoder_as_loaded
from vocap.adapt.own_text import find_scripts, is_own
from vocap.bpe.model_file import renumber
from vocap.errors import VocapError, listed, log
from vocap.files.io import read_object, read_tsv
from vocap.text_files.text import Text, text_blocks, text_name
from vocap.tokenizer_files import EXPORTED, encoders, layout
from vocap.tokenizer_files.card import About
from vocap.tokenizer_files.export import (
    find_settings,
    pipeline,
    scores_of,
    write_export,
    write_folder,
)
from vocap.tokenizer_files.id_layout import ROLES, XLM_R_LAYOUT, IdLayout, layout_of, role_ids
from vocap.tokenizer_files.layout import Contents
from vocap.tokenizer_files.model_file import (
    CONTROL,
    NORMAL,
    build_processor,
    find_model,
    ids_of,
    read_model,
)
from vocap.tokenizers.trained import as_trained
from vocap.unigram.text_settings import (
    META_PIECES,
    NFC,
    NORMALIZATIONS,
    TextSettings,
    trained_settings,
)

if TYPE_CHECKING:
    from vocap.unigram.word_types import WordTypes

WIDEST = 16  # sizes from the number of new pieces up to so many times as many
FINE = 12  # sizes to a power of two, by 6 %: of the new pieces, at most so many are clipped


@dataclass
class UnigramTokenizer(Adaptable):
    """A unigram model at `path`; `ids` are its own, or those of its `definition`: the
    content of a tokenizer.json beside it, if there is one. XLM-R's are shifted.

    `exported`: whether its steps are those that `vocap export` makes of the pieces;
    `unscored`: added tokens without a row in the vocabulary of the definition; `roles`:
    its special tokens; `languages`: those of the pieces, where they are known;
    `described`: entries of description.json.
    """

    path: Path
    proto: Any  # ModelProto
    ids: dict[str, int]
    layout: IdLayout
    definition: dict[str, Any] | None = None
    exported: bool = False
    unscored: Collection[str] = ()
    roles: Mapping[str, str] = field(default_factory=dict)
    languages: Mapping[str, Sequence[str]] = field(default_factory=dict)
    described: Mapping[str, str] = field(default_factory=dict)
    encoder: encoders.Encoder = field(init=False, repr=False)
    lacking: Sequence[str] = field(init=False)

    reasons = (Reason.TEXT, Reason.HELDOUT, Reason.LANGUAGE, Reason.CHARACTER, Reason.EXTREME)
    columns = ("piece", "id", "score", "own_score", "origin")

    def __post_init__(self) -> None:
        self.lacking = [token for token in self.layout.names if token not in self.ids]
        if self.definition is None:
            self.encoder = encoders.SentencePieceEncoder(build_processor(self.proto, self.path))
        else:
            self.encoder = encoder_as_loaded(self.definition, self.ids, self.path)

    @cached_property
    def contents(self) -> Contents:
        return layout.read_contents(self.proto, str(self.path))

    def owners(self) -> dict[str, list[str]]:
        path = self.path.with_name("pieces.tsv")
        rows = read_tsv(path, ("piece", "languages")) if path.is_file() else ()
        return {row["piece"]: row["languages"].split(",") for row in rows if row["languages"]}

    def in_order(self) -> "UnigramTokenizer":
        """Raise VocapError unless each piece has one id, and special tokens have the
        first, in order.
        """
        wanted = [entry.token for entry in self.layout.special]
        by_id = sorted(self.ids, key=self.ids.__getitem__)
        if self.lacking or by_id[: len(wanted)] != wanted or self.total != len(self.ids):
            raise VocapError(
                f"{self.path}: its ids are not {', '.join(wanted)} from 0 on, and its model's "
                "pieces behind them; lay it out with vocap mono first, or name the folder with its "
                "tokenizer.json"
            )
        # behind old rows, new pieces need an added token as a row, which a text of
        # unknown characters would be encoded as wherever it stands
        for entry in (self.definition or {}).get("added_tokens") or ():
            if entry["content"] in self.unscored and entry.get("single_word"):
                raise VocapError(
                    f"{self.path}: the added token {entry['content']!r} is one only as a whole "
                    "word, which no token before new pieces can be; save it without single_word"
                )
        return replace(self, proto=self._lay_out(self.contents, by_id))

    def _lay_out(self, contents: Contents, order: Sequence[str]) -> Any:
        """The `ModelProto` of `contents`: the rows of the layout, then those of `order`
        in its order.
        """
        proto = layout.lay_out(
            contents, self.proto.normalizer_spec, self.layout, self.proto.trainer_spec
        )
        place = {token: number for number, token in enumerate(order)}
        proto.pieces.sort(key=lambda entry: place.get(entry.piece, -1))
        return proto

    def _remade(self, proto: Any, **changes: Any) -> "UnigramTokenizer":
        """This tokenizer with the rows of `proto`, in both forms."""
        ids, definition = ids_of(proto), None
        if self.definition is not None:
            definition = deepcopy(self.definition)
            if self.exported:
                definition |= pipeline(proto, str(self.path))
            model = definition["model"]
            unknown = model["vocab"][model["unk_id"]][0] if model.get("unk_id") is not None else ""
            scores = dict(map(tuple, model["vocab"]))
            rows = [[piece, scores.get(piece, score)] for piece, score in scores_of(proto)]
            # the library numbers added tokens behind the rows; as rows, they would
            # change the penalty of unknown characters
            while rows[-1][0] in self.unscored:
                rows.pop()
            model["vocab"], model["unk_id"] = rows, ids.get(unknown)
            renumber(
                definition,
                {old: ids[token] for token, old in self.ids.items() if token in ids},
                self.path,
            )
        return replace(self, proto=proto, ids=ids, definition=definition, **changes)

    def choose(
        self,
        text: NDArray[np.int64],
        heldout: NDArray[np.int64],
        owned: Collection[str],
        least: int,
        all_characters: bool,
    ) -> KeptTokens:
        """The pieces that stay, each with its reason.

        A piece of several characters stays if it occurs `least` times in both texts
        together, a single character if it occurs at all; all of `owned`; the characters
        of every piece that stays (or, with `all_characters`, all there are); the pieces
        of the lowest and of the highest score; and what is no piece.
        """
        contents = self.contents
        kept: dict[str, str] = {}
        ids = {piece: number for number, piece in enumerate(self.encoder.pieces) if piece}
        for piece in contents.pieces:
            times = text[ids[piece]] + heldout[ids[piece]]
            if times >= least or (times and len(piece) == 1):
                kept[piece] = Reason.TEXT if text[ids[piece]] else Reason.HELDOUT
            elif piece in owned:
                kept[piece] = Reason.LANGUAGE
        written = set("".join(kept))
        for piece in contents.pieces:
            if len(piece) == 1 and (all_characters or piece in written):
                kept.setdefault(piece, Reason.CHARACTER)
        for extreme in (contents.scores.argmin(), contents.scores.argmax()):
            kept.setdefault(contents.pieces[extreme], Reason.EXTREME)
        for entry in (self.definition or {}).get("added_tokens") or ():
            kept.setdefault(entry["content"], Reason.SPECIAL)
        return KeptTokens(
            {**dict.fromkeys(ids.keys() - set(contents.pieces), Reason.SPECIAL), **kept}
        )

    def cut_to(self, choice: KeptTokens, owners: Mapping[str, Sequence[str]]) -> "UnigramTokenizer":
        """Scores as they are; symbols and byte pieces stay."""
        places = [
            place for place, piece in enumerate(self.contents.pieces) if piece in choice.reasons
        ]
        pieces = [self.contents.pieces[place] for place in places]
        contents = replace(self.contents, pieces=pieces, scores=self.contents.scores[places])
        order = sorted(self.unscored, key=self.ids.__getitem__)
        return self._remade(
            self._lay_out(contents, order),
            languages={piece: owners[piece] for piece in pieces if piece in owners},
            described={
                "scores": "as in the tokenizer that was trimmed, every one",
                "rounding": "none: every score is as it was",
            },
        )

    def extended(self, text: Text, settings: Mapping[str, Any]) -> Extension:
        """A piece comes from those of its string under the old model: not normalised,
        no space before it.
        """
        language, share, coverage = (settings[key] for key in ("language", "share", "coverage"))
        # the model of the language's text, and its pieces
        name = text_name(text)
        words = _read_words(self, text, coverage)
        scripts = find_scripts(language, text_blocks(text)())

        def is_new(piece: str) -> bool:
            symbols = self.contents.symbols
            return piece not in self.ids and not any(symbol in piece for symbol in symbols)

        @cache  # sizes share most pieces
        def is_wanted(piece: str) -> bool:
            return is_new(piece) and is_own(piece, scripts)

        size, own_scores, new = choose_model(words, is_wanted, settings["pieces"], coverage)
        if not new:
            raise VocapError(
                f"{name}: every piece of its vocabulary is in the tokenizer already, or no text "
                "of the language; nothing to add"
            )
        left_out = [piece for piece in own_scores if is_new(piece) and piece not in new]
        count = self.count_new(len(new), left_out, scripts, name, settings)
        # characters first
        ordered = sorted(new, key=lambda piece: (len(piece) > 1, -new[piece], piece))
        new = {piece: new[piece] for piece in ordered[:count]}
        # the tokenizer with them
        proto = append(self.proto, layout.score_additions(self.contents, new, share))
        languages = self.owners()
        for piece in own_scores.keys() & {entry.piece for entry in proto.pieces}:
            languages[piece] = sorted({*languages.get(piece, ()), language})
        after = self._remade(
            proto,
            languages=languages,
            described={
                "scores": f"old pieces as they were; new ones log({share} p(x)), p of the model of "
                f"{size} ids that the language's text gives, not below the lowest old score, and "
                "raised above their best split",
                "rounding": "old scores as they were, new ones to multiples of 2^-10",
            },
        )
        # old pieces behind each new one
        entries = proto.pieces[self.total :]
        bare = layout.bare_processor(self.proto)
        origins = bare.encode([entry.piece for entry in entries], out_type=int, num_threads=1)
        rows = []
        for number, (entry, origin) in enumerate(
            zip(entries, origins, strict=True), start=self.total
        ):
            old = " ".join(self.names[one] for one in origin)
            rows.append((entry.piece, number, entry.score, own_scores[entry.piece], old))
        facts = {"added": len(rows), "size": size, "not_own_text": len(left_out)}
        return Extension(after, f"a model of {size:,} of {language}", origins, rows, facts)

    def write(
        self,
        folder: Path,
        name: str,
        kind: str,
        settings: Mapping[str, Any],
        facts: Mapping[str, Any],
    ) -> tuple[About, Mapping[str, Any]]:
        made = as_trained(kind, self.proto, settings, self.languages, **self.described, **facts)
        made.write(folder)
        target, given = folder / "huggingface", self.config
        if self.definition is None:
            write_export(self.proto, name, target, self.layout, self.chat, given)
        else:
            tokenizer = Tokenizer.from_str(json.dumps(self.definition))
            write_folder(target, tokenizer, self.roles, self.layout.use, self.chat, given)
        return About.of(self.proto), made.description


def load_unigram(path: Path) -> UnigramTokenizer:
    """The tokenizer of a .model or of a folder with one: results/tokenizers/NAME, or
    XLM-R's files.

    Raises VocapError for anything else, naming the remedy.
    """
    encoders.refuse_definition(path)
    model = find_model(path)
    proto = read_model(model)
    ids, own = ids_of(proto), layout_of(proto)
    # a stock model names tokens of roles that it lacks, such as <pad>
    named = (role for role in ROLES if getattr(proto.trainer_spec, f"{role}_piece"))
    if any(own.token(role) is None for role in named):
        mask = "mask" not in role_ids(proto) or own.mask  # a symbol stays one
        own = XLM_R_LAYOUT.model_copy(update={"model_max_length": None, "mask": mask})
    # the tokenizer.json of the folder, or of its export
    folders = (model.parent, model.parent / "huggingface")[path.is_file() :]
    definition = next((one / EXPORTED[0] for one in folders if (one / EXPORTED[0]).is_file()), None)
    if definition is None:
        added = find_settings(model).get("added_tokens_decoder") if path.is_dir() else None
        for token in (added or {}).values():
            if token["content"] not in {*ids, *own.names}:
                raise VocapError(
                    f"{path}: the added token {token['content']!r} is not in the model; save the "
                    f"tokenizer again as one with {EXPORTED[0]}"
                )
        return UnigramTokenizer(model, proto, ids, own)
    content = read_object(definition)
    found = encoders.parse_encoder(definition.read_bytes(), definition).ids
    by_id = dict(sorted(found.items(), key=itemgetter(1)))
    vocabulary = content["model"].get("vocab")
    missing = [piece for piece in ids if piece not in by_id]
    if missing or not isinstance(vocabulary, list):
        raise VocapError(
            f"{definition}: it lacks pieces of {model.name} ({listed(missing, most=3)}), or is no "
            "unigram model; they are not of one tokenizer: keep the files of one"
        )
    exported = pipeline(proto, str(model)).items() <= content.items()
    # tokens that the model lacks become its control symbols
    further = [token for token in by_id if token not in ids and token not in own.names]
    proto.pieces.extend(type(proto).SentencePiece(piece=token, type=CONTROL) for token in further)
    proto.trainer_spec.control_symbols.extend(further)
    unscored = by_id.keys() - {piece for piece, _ in vocabulary}
    roles = encoders.roles_of(definition, by_id)
    return UnigramTokenizer(model, proto, by_id, own, content, exported, unscored, roles)


def _read_words(source: UnigramTokenizer, text: Text, coverage: float) -> "WordTypes":
    """The word types of a text, as `source` normalises it. Raises VocapError for no
    text.
    """
    from vocap.unigram.model_files import specifications  # numba: seconds, which trim need not take
    from vocap.unigram.word_types import load_word_types

    def alike(settings: TextSettings) -> bool:
        """Whether the tokenizer normalises text by the same table as the models that
        the ladder gives.
        """
        own = sentencepiece_model_pb2.ModelProto.FromString(
            specifications(coverage, 4, settings=settings)
        )
        spec = source.proto.normalizer_spec
        return own.normalizer_spec.precompiled_charsmap == spec.precompiled_charsmap

    if not source.proto.trainer_spec.split_by_whitespace:
        raise VocapError(
            f"{source.path}: its pieces cross spaces (split_by_whitespace: false), and new ones "
            "cannot; extend a tokenizer whose pieces do not"
        )
    trained_with = trained_settings(source.proto)
    composing = replace(trained_with, normalization=NFC)  # a table, which the file does not name
    if alike(composing):
        trained_with = composing
    elif source.proto.normalizer_spec.name == "user_defined":
        raise VocapError(
            f"{source.path}: it normalises text by a table of its own, and new pieces cannot be "
            f"trained so; extend a tokenizer of {', '.join(NORMALIZATIONS)}"
        )
    name = text_name(text)
    words = load_word_types({"train": text_blocks(text)}, coverage=coverage, settings=trained_with)
    log.info("%s: %d lines, %d word types", name, words.sentences["train"], words.trained)
    if not alike(trained_with):
        log.warning(
            "%s: its normaliser is not that of this SentencePiece; some new pieces may "
            "never be used",
            source.path,
        )
    if not words.required:
        raise VocapError(f"{name}: no text in it; give text with a sentence a line")
    return words


def choose_model(
    words: "WordTypes",
    is_wanted: Callable[[str], bool],
    count: int,
    coverage: float,
) -> tuple[int, dict[str, float], dict[str, float]]:
    """The smallest model of a language with `count` new pieces: size, scores of all
    pieces and of the new ones.

    New pieces are those that are wanted. Sizes are 2^(n/12)
    rounded up, or the smallest or largest that the text gives; one descent trains all
    of them. Where the text cannot give as many pieces, the largest model that it gives.
    `words` as `load_word_types` gives them. Raises VocapError where the text gives
    none.
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
            new = {piece: score for piece, score in scores.items() if is_wanted(piece)}
            found = rung.point.size, scores, new
            if len(new) < count:
                chosen = chosen if enough else found
                break
            chosen, enough = found, True
        sizes = {most} - sizes if not enough and most is not None else set()
    if chosen is None:
        raise VocapError("the text gives no vocabulary: it holds no word")
    return chosen


def append(proto: Any, scores: Mapping[str, float]) -> Any:
    """A copy of the `ModelProto` with these pieces behind all others, by score
    descending, then by string.
    """
    longer = deepcopy(proto)
    for score, piece in sorted((-score, piece) for piece, score in scores.items()):
        longer.pieces.add(piece=piece, score=-score, type=NORMAL)
    longer.trainer_spec.vocab_size = len(longer.pieces)
    return longer
