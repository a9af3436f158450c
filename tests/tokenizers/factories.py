"""Three made languages, real models of them, and an allocation, for the tests of the
tokenizers; bytes merged.
"""

import random
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from sentencepiece import sentencepiece_model_pb2
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

from tests.made_text import write_lines
from vocap.files.io import write_tsv
from vocap.tables.curve import write_characters
from vocap.tokenizer_files.model_file import NORMAL, read_pieces
from vocap.unigram.sentencepiece_trainer import train
from vocap.unigram.training_text import character_counts

ALPHABETS = {
    "en": "etaoinshrdlucmfw",
    "ka": "აბგდევზთიკლმნოპრ",
    "zh": "的一是不了在人有我他这个们中来上大为和国地到以说时",
}
SIZES = {"en": 260, "ka": 200, "zh": 220}
TOKENS = {"en": 15.5, "ka": 18.25, "zh": 12.0}  # a sentence, as curve.tsv says
NUMBERS = {"en": 3000, "ka": 300, "zh": 900}


def make_lines(language: str, lines: int, seed: int = 1) -> list[str]:
    """Sentences of words of a small made lexicon, frequent ones short; `zh` has no
    spaces.
    """
    rng = random.Random(f"{seed} {language}")
    alphabet = ALPHABETS[language]
    syllables = [rng.choice(alphabet) + rng.choice(alphabet) for _ in range(40)]
    lexicon = ["".join(rng.choices(syllables, k=1 + rank // 60)) for rank in range(240)]
    weights = [1 / (rank + 2) for rank in range(240)]
    space = "" if language == "zh" else " "
    return [space.join(rng.choices(lexicon, weights, k=rng.randint(3, 12))) for _ in range(lines)]


def byte_tokenizer(lines, normalizer=None, size=300, **options) -> Tokenizer:
    """Byte-level BPE of the library."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=size, initial_alphabet=alphabet, show_progress=False, **options
    )
    tokenizer.train_from_iterator(lines, trainer)
    if normalizer:
        tokenizer.normalizer = normalizer
    return tokenizer


@cache
def trained_normalizer():
    """The `NormalizerSpec` that the pinned SentencePiece writes into the models it
    trains.
    """
    return sentencepiece_model_pb2.ModelProto.FromString(
        train(make_lines("en", 200), 40)
    ).normalizer_spec


@dataclass(frozen=True)
class StageFolders:
    """Paths of what the earlier stages would have left, and the options that name
    them.
    """

    root: Path

    @property
    def options(self) -> list[str | Path]:
        return [
            *("--allocation", self.root / "allocation"),
            *("--vocabularies", self.root / "vocabularies"),
            *("--weights", self.root / "weights.tsv"),
        ]

    def model(self, language: str) -> Path:
        return self.root / "vocabularies" / language / "models" / f"{SIZES[language]}.model"


def make_stages(root: Path) -> StageFolders:
    """Corpora, models, tables of characters, an allocation of all their pieces, weights
    and a sample of all.
    """
    made, owners, mix = StageFolders(root), {}, []
    for language, size in SIZES.items():
        lines = make_lines(language, 1500)
        made.model(language).parent.mkdir(parents=True)
        made.model(language).write_bytes(train(lines, size, threads=1))
        contents = read_pieces(made.model(language))
        for piece, kind in zip(contents.pieces, contents.types, strict=True):
            if kind == NORMAL:
                owners.setdefault(piece, []).append(language)
        columns = ("size", "pieces", "alp", "alp_heldout", "tokens_per_sentence", "status")
        rows = [
            (20, None, None, None, None, "too small"),
            (size, size, -50.5, -51.5, TOKENS[language], "ok"),
        ]
        write_tsv(root / "vocabularies" / language / "curve.tsv", columns, rows)
        mix += lines[: 1500 * NUMBERS[language] // 3000]
        train_file = root / "corpora" / language / "train.txt"
        write_lines(train_file, lines)
        table = root / "vocabularies" / language / "characters.tsv"
        write_characters(table, character_counts([lines]), len(lines))
    random.Random(1).shuffle(mix)
    write_lines(root / "mix.txt", mix)
    rows = [
        (language, NUMBERS[language], 0.0, 0.0, size, 1.0, 1) for language, size in SIZES.items()
    ]
    columns = ("language", "n", "q", "weight", "size", "gain", "own_pieces")
    write_tsv(root / "allocation" / "allocation.tsv", columns, rows)
    write_tsv(
        root / "allocation" / "vocabulary.tsv",
        ("piece", "languages"),
        [(piece, ",".join(codes)) for piece, codes in sorted(owners.items())],
    )
    write_tsv(
        root / "weights.tsv",
        ("language", "n", "source"),
        [(code, n, "lines") for code, n in NUMBERS.items()],
    )
    return made
