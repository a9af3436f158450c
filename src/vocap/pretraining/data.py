"""The data of a run: blocks of every language, read through memory maps, their shares,
and batches.

A batch is a pure function of seed, step and place: order, masks, arrays.

The folder of a language holds two parts, `train` and `heldout`, each of four arrays in
NumPy's own format: `{part}.npy` uint32, the ids of all blocks of up to 512,
concatenated; `{part}-ends.npy` int64, the end of each block; `{part}-bytes.npy` and
`{part}-unknown.npy` uint32, the UTF-8 bytes of the text in each block, and those of its
unknown characters. `description.json` names their tokenizer and settings.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from vocap.errors import UsageError, VocapError, log
from vocap.files.io import file_sha256
from vocap.files.written import read_written, written_by
from vocap.tables.sampling_probabilities import quotas, read_weights, sampling_probabilities
from vocap.training.randomness import MASKS, ORDER, generator, mixed, permuted

MODELS = ("sentencepiece.model", "tokenizer.json")  # within a tokenizer's folder, one of them
EXPORT = "huggingface"
COUNTED = 1 << 24  # tokens of a language that unigram frequencies are counted on, at most
PIECES = 16  # parts that they are counted in
SHORTEST = 8  # ids of a block: the two around it and a few to learn from
FORMAT = 1
SHARE = 0.15  # of a block's tokens
# below the first: <mask>; below the second: a random id; else as it is
AS_MASK = 0.8
AS_RANDOM = 0.9
DECK = 1 << 18  # slots divided among the languages at a time; the rarest of the paper's 86 gets 120
HELDOUT_SEED = 0  # held-out blocks have the same masks for every model and seed
DESCRIPTION = "description.json"
COLUMNS: dict[str, np.dtype] = {
    "": np.dtype("<u4"),
    "-ends": np.dtype("<i8"),
    "-bytes": np.dtype("<u4"),
    "-unknown": np.dtype("<u4"),
}
PARTS = ("train", "heldout")


@dataclass(frozen=True)
class SpecialIds:
    """Ids of a tokenizer that are no words: those with a role, None if absent, and
    `others`, as reserved ones.
    """

    bos: int | None
    pad: int | None
    eos: int
    unk: int | None
    mask: int | None
    others: tuple[int, ...] = ()

    @classmethod
    def of_xlm_r(cls, vocabulary: int) -> "SpecialIds":
        """Special ids of XLM-R's layout with `vocabulary` rows."""
        return cls(bos=0, pad=1, eos=2, unk=3, mask=vocabulary - 1)

    @property
    def all(self) -> list[int]:
        """The ids that are never masked, drawn or predicted by a masked model,
        rising.
        """
        ids = {self.bos, self.pad, self.eos, self.unk, self.mask, *self.others}
        return sorted(number for number in ids if number is not None)

    def never_predicted(self, causal: bool) -> list[int]:
        """The ids that are no target, rising: a causal model predicts the end of a
        sentence and `<unk>`, too.
        """
        return [number for number in self.all if not (causal and number in (self.eos, self.unk))]

    @property
    def start(self) -> int:
        """The first id of a block: the begin token, or the end token where there is
        none.
        """
        return self.eos if self.bos is None else self.bos

    @property
    def padding(self) -> int:
        """The id behind a block that is shorter than others beside it, which no model
        sees.
        """
        return self.eos if self.pad is None else self.pad


@dataclass(frozen=True)
class Blocks:
    """The blocks of one part of one language, memory-mapped arrays."""

    tokens: np.ndarray
    ends: np.ndarray
    size_bytes: np.ndarray
    unknown_bytes: np.ndarray

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, index: int) -> np.ndarray:
        """The ids of one block, int64 (torch has no arithmetic on uint32)."""
        start = int(self.ends[index - 1]) if index else 0
        return self.tokens[start : int(self.ends[index])].astype(np.int64)


@dataclass(frozen=True)
class TokenizedLanguage:
    """The output of `vocap tokenize` for one language."""

    language: str
    description: dict[str, Any]
    train: Blocks
    heldout: Blocks

    @property
    def special(self) -> SpecialIds:
        """Special ids of its tokenizer."""
        ids = self.description["special"]
        return SpecialIds(**{**ids, "others": tuple(ids["others"])})


def open_language(folder: str | Path, tokenizer: str | None = None) -> TokenizedLanguage:
    """The blocks of one language.

    `tokenizer` is the SHA-256 of the model that must have made them. Raises VocapError,
    naming the file, for blocks of another tokenizer.
    """
    path = Path(folder, DESCRIPTION)
    description = read_written(path, "tokenize")
    if tokenizer is not None and description["tokenizer"] != tokenizer:
        raise VocapError(
            f"{path}: these blocks were made with another tokenizer; delete the folder and run: "
            "vocap tokenize"
        )
    with written_by("tokenize", folder):
        parts = {part: _open_part(path.parent, part, description[part]) for part in PARTS}
    return TokenizedLanguage(description["language"], description, **parts)


def _open_part(folder: Path, part: str, counts: Mapping[str, int]) -> Blocks:
    mode: Literal["r"] | None = "r" if counts["blocks"] else None  # no map has a length of 0
    return Blocks(*(np.load(folder / f"{part}{suffix}.npy", mmap_mode=mode) for suffix in COLUMNS))


@dataclass(frozen=True)
class Data:
    """`q` float64 [languages] are the shares of Equation 3; `fingerprint` identifies
    the data, for checkpoints.
    """

    languages: list[str]
    train: list[Blocks]
    heldout: list[Blocks]
    q: np.ndarray
    vocabulary: int  # T, rows of the model
    special: SpecialIds
    longest: int  # tokens of a block, at most
    fingerprint: dict[str, Any]


def load_data(
    tokens: Path,
    languages: Sequence[str],
    tokenizer: Path,
    alpha: float,
    by: str,
    weights: str | Path | None = None,
) -> Data:
    """Open `tokens`/{language} of each language, made with the tokenizer of the folder
    `tokenizer`.

    `by`: n_i is the lines or the bytes of the text, or (corpora) that of the table
    `weights`. Languages without text are left out with a warning. Raises VocapError for
    blocks of another tokenizer, and where no language has text.
    """
    # the blocks of each language, all of this tokenizer
    model = next((tokenizer / name for name in MODELS if (tokenizer / name).exists()), None)
    if model is None:
        named = " or ".join(MODELS)
        raise VocapError(
            f"{tokenizer}: no {named}; name the folder of a tokenizer, which holds {EXPORT}/ too"
        )
    digest = file_sha256(model)
    opened = [open_language(tokens / language, digest) for language in languages]
    # the languages with text
    used = [found for found in opened if len(found.train)]
    if empty := [found.language for found in opened if not len(found.train)]:
        log.warning("no text to pre-train on, left out: %s", " ".join(empty))
    if unmeasured := [found.language for found in used if not len(found.heldout)]:
        log.warning("no held-out text, so no exact loss: %s", " ".join(unmeasured))
    if not used:
        raise VocapError(f"{tokens}: no language has any text; bring some, or name other languages")
    # their shares, and a digest of all for checkpoints
    n = _sizes(used, by, weights)
    first = used[0].description
    digests = {
        found.language: hashlib.sha256(
            json.dumps(found.description, sort_keys=True).encode()
        ).hexdigest()[:16]
        for found in used
    }
    return Data(
        languages=[found.language for found in used],
        train=[found.train for found in used],
        heldout=[found.heldout for found in used],
        q=sampling_probabilities(n, alpha),
        vocabulary=first["vocabulary"],
        special=used[0].special,
        longest=max(found.description["length"] for found in used),
        fingerprint={"tokenizer": digest, "data": digests, "n": n},
    )


def _sizes(used: Sequence[TokenizedLanguage], by: str, weights: str | Path | None) -> list[float]:
    if by in ("lines", "bytes"):
        return [found.description["train"][by] for found in used]
    if weights is None:
        raise UsageError("weights: corpora needs the table of the corpora stage; give weights too")
    table = read_weights(weights)
    if missing := [found.language for found in used if not table.get(found.language)]:
        raise VocapError(
            f"{weights}: no n above 0 for {', '.join(missing)}, which have text; weigh by lines "
            "or bytes"
        )
    return [table[found.language] for found in used]


def unigram_counts(data: Data) -> np.ndarray:
    """Frequency of each id in a stream of the languages' shares, int64 [V], scaled to
    the tokens counted.

    At most `COUNTED` tokens of a language are counted, in evenly spread parts.
    """
    frequencies, total = np.zeros(data.vocabulary), 0
    for share, blocks in zip(data.q, data.train, strict=True):
        tokens, parts = blocks.tokens, 1 if len(blocks.tokens) <= COUNTED else PIECES
        size = min(len(tokens), COUNTED) // parts
        counts = np.zeros(data.vocabulary, np.int64)
        for start in np.linspace(0, len(tokens) - size, parts).astype(np.int64):
            counts += np.bincount(tokens[start : start + size], minlength=data.vocabulary)
        frequencies += share * counts / counts.sum()
        total += int(counts.sum())
    return np.rint(frequencies * total).astype(np.int64)


class Vocabulary:
    """The ids of a tokenizer as masking sees them: T = `size`, `special`, and `words`,
    int64, the others.
    """

    def __init__(self, size: int, special: SpecialIds) -> None:
        self.size, self.special = size, special
        self._ordinary = np.ones(size, bool)
        self._ordinary[special.all] = False
        self.words = np.flatnonzero(self._ordinary)

    def ordinary(self, ids: np.ndarray) -> np.ndarray:
        """bool, the shape of `ids`: True for ids that are not special."""
        return self._ordinary[ids]


def mask_tokens(
    ids: np.ndarray, vocabulary: Vocabulary, random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mask a block: the input ids, the positions to predict, and their ids.

    `ids` int64 [n]; gives int64 [n], [m], [m], places rising. m = floor(0.15 e + u) of
    the e tokens that are not special, u uniform in [0, 1); 80 % of them become <mask>,
    10 % an id drawn uniformly from those that are not special, 10 % stay.
    """
    assert vocabulary.special.mask is not None  # which a masked model is refused without
    eligible = np.flatnonzero(vocabulary.ordinary(ids))
    count = int(SHARE * len(eligible) + random.random())
    places = np.sort(random.choice(eligible, count, replace=False))
    draws = random.random(count)
    drawn = vocabulary.words[random.integers(0, len(vocabulary.words), count)]
    targets = ids[places]
    seen = ids.copy()
    seen[places] = np.where(
        draws < AS_MASK, vocabulary.special.mask, np.where(draws < AS_RANDOM, drawn, targets)
    )
    return seen, places, targets


class Order:
    """The endless sequence of slots of a run; slot `step * batch + place` fills one
    place of a batch.

    Of every deck of `DECK` slots each language has its share (`quotas`; at least one),
    in a random order. A language's blocks follow in a random order, a new one in each
    epoch of that language. `blocks`: number of each language's blocks; `q`: shares, 0
    for languages without blocks.
    """

    def __init__(self, blocks: Sequence[int], q: np.ndarray, seed: int, deck: int = DECK) -> None:
        self.blocks, self.seed = np.asarray(blocks, np.int64), seed
        self.counts = quotas(deck, q)
        for place in np.flatnonzero(
            (np.asarray(q) > 0) & (self.counts == 0)
        ):  # one of those with the most
            self.counts[place] += 1
            self.counts[np.argmax(self.counts)] -= 1
        self.deck = deck
        self._dealt = lru_cache(2)(self._deal)  # its last two decks

    def _deal(self, number: int) -> tuple[np.ndarray, np.ndarray]:
        """The languages of one deck, int64 [deck], and for each the number of earlier
        slots of its language.
        """
        languages = np.repeat(np.arange(len(self.counts)), self.counts)
        generator(self.seed, ORDER, number).shuffle(languages)
        ordinals = np.empty(self.deck, np.int64)
        starts = np.cumsum(self.counts) - self.counts
        ordinals[np.argsort(languages, kind="stable")] = np.arange(self.deck) - np.repeat(
            starts, self.counts
        )
        return languages, ordinals + number * self.counts[languages]

    def slots(self, first: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        """The languages (places in `blocks`) and block numbers of `count` slots from
        `first` on, int64 [count].
        """
        decks = range(first // self.deck, (first + count - 1) // self.deck + 1)
        place = first - decks[0] * self.deck
        language, ordinal = (
            np.concatenate(parts)[place : place + count]
            for parts in zip(*map(self._dealt, decks), strict=True)
        )
        sizes = self.blocks[language]
        rounds, positions = np.divmod(ordinal, sizes)
        keys = mixed(
            mixed(mixed(np.uint64(self.seed) + language.astype(np.uint64)))
            + rounds.astype(np.uint64)
        )
        return language, permuted(positions, sizes, keys)


@dataclass(frozen=True)
class BlockBatch:
    """A few blocks side by side.

    `input_ids` int64 [b, t], padded to the longest; `attention` bool [b, t];
    `positions` int64 [m], the places in the flattened [b * t] to predict from, masked
    ones or all but the last of a block; `targets` int64 [m], the ids before masking, or
    the next ones; `rows` int64 [m], the block of each; `tokens`, the number of ids
    without padding.
    """

    input_ids: np.ndarray
    attention: np.ndarray
    positions: np.ndarray
    targets: np.ndarray
    rows: np.ndarray
    tokens: int


def assemble_blocks(
    blocks: Sequence[np.ndarray],
    vocabulary: Vocabulary,
    randoms: Iterable[np.random.Generator] | None,
) -> BlockBatch:
    """Put blocks (int64 [n]) side by side, each masked with its own generator.

    Without generators nothing is masked, and each token but the first of a block is
    predicted from those before.
    """
    width = max(map(len, blocks))
    input_ids = np.full((len(blocks), width), vocabulary.special.padding, np.int64)
    positions, targets = [], []
    masking: Iterable[np.random.Generator | None] = randoms or [None] * len(blocks)
    for row, (ids, random) in enumerate(zip(blocks, masking, strict=True)):
        if random is None:
            seen, places, hidden = ids, np.arange(len(ids) - 1), ids[1:]
        else:
            seen, places, hidden = mask_tokens(ids, vocabulary, random)
        input_ids[row, : len(seen)] = seen
        positions.append(places + row * width)
        targets.append(hidden)
    lengths = np.array([len(ids) for ids in blocks])
    return BlockBatch(
        input_ids=input_ids,
        attention=np.arange(width) < lengths[:, None],
        positions=np.concatenate(positions),
        targets=np.concatenate(targets),
        rows=np.repeat(np.arange(len(blocks)), list(map(len, targets))),
        tokens=int(lengths.sum()),
    )


@dataclass
class TrainingBatches:
    """The batches of a run; this process makes the micro-batches `rank`, `rank + ranks`, ...

    The blocks of a micro-batch and their masks do not depend on the number of ranks.
    `causal`: without masks.
    """

    languages: Sequence[Blocks]
    q: np.ndarray
    vocabulary: Vocabulary
    seed: int
    batch: int
    micro_batch: int
    rank: int = 0
    ranks: int = 1
    causal: bool = False

    def __post_init__(self) -> None:
        self.order = Order([len(blocks) for blocks in self.languages], self.q, self.seed)

    @property
    def micro_batches(self) -> list[int]:
        """The numbers of this process's micro-batches within a step."""
        return list(range(self.rank, -(-self.batch // self.micro_batch), self.ranks))

    def members(self, step: int) -> tuple[np.ndarray, np.ndarray]:
        """Languages and block numbers of the whole batch of a step, int64 [batch]."""
        return self.order.slots(step * self.batch, self.batch)

    def micro(self, step: int, number: int) -> BlockBatch:
        """One micro-batch of a step."""
        first = number * self.micro_batch
        places = range(first, min(first + self.micro_batch, self.batch))
        languages, blocks = self.order.slots(step * self.batch + first, len(places))
        pairs = zip(languages.tolist(), blocks.tolist(), strict=True)
        ids = [self.languages[language][block] for language, block in pairs]
        randoms = (
            None if self.causal else [generator(self.seed, MASKS, step, place) for place in places]
        )
        return assemble_blocks(ids, self.vocabulary, randoms)

    def step(self, step: int) -> list[BlockBatch]:
        """This process's micro-batches of a step."""
        return [self.micro(step, number) for number in self.micro_batches]


@dataclass(frozen=True)
class HeldoutBlock:
    """One held-out block: index of its language, ids int64 [n], its number, bytes of
    its text and unknown ones.
    """

    language: int
    ids: np.ndarray
    number: int
    size_bytes: int
    unknown_bytes: int


def heldout_blocks(languages: Sequence[Blocks], count: int) -> list[HeldoutBlock]:
    """Up to `count` held-out blocks of each language, evenly spaced."""
    chosen = []
    for place, blocks in enumerate(languages):
        take = min(count, len(blocks))
        for number in (len(blocks) * np.arange(take) // max(take, 1)).tolist():
            size, unknown = blocks.size_bytes[number], blocks.unknown_bytes[number]
            chosen.append(HeldoutBlock(place, blocks[number], number, int(size), int(unknown)))
    return chosen


def heldout_batch(
    blocks: Sequence[HeldoutBlock], vocabulary: Vocabulary, causal: bool = False
) -> BlockBatch:
    """These blocks with their fixed masks, a function of the language's index and the
    block's number, or none.
    """
    randoms = [generator(HELDOUT_SEED, MASKS, block.number, block.language) for block in blocks]
    return assemble_blocks([block.ids for block in blocks], vocabulary, None if causal else randoms)
