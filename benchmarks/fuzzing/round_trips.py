"""Random Unicode text through both forms of a tokenizer: equal ids, and the text that
comes back.

    python benchmarks/fuzzing/round_trips.py TOKENIZER [--characters 10000000] [--seed
        1]

TOKENIZER holds sentencepiece.model and huggingface/. Characters are any code points but
surrogates and U+2581, a third of them each from ASCII, below U+3000, and from all
planes. Prints the counts; exits 1 if ids of both forms differ or a text does not come
back (`text: {preset: lossless}` keeps all).
"""

import argparse
import random
import sys
from collections.abc import Iterator
from pathlib import Path

from vocap.tokenizer_files.encoders import load_encoder

LIMITS = (0x80, 0x3000, 0x110000)
TEXTS = 1000  # of a batch


def draw_texts(rng: random.Random, count: int) -> Iterator[str]:
    """Texts of 1 to 200 characters."""
    for _ in range(count):
        codes = map(rng.randrange, rng.choices(LIMITS, k=rng.randint(1, 200)))
        yield "".join(chr(code) for code in codes if not 0xD800 <= code < 0xE000 and code != 0x2581)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("tokenizer", type=Path)
    arguments.add_argument("--characters", type=int, default=10_000_000)
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    forms = {
        "SentencePiece": load_encoder(options.tokenizer / "sentencepiece.model"),
        "Hugging Face": load_encoder(options.tokenizer / "huggingface"),
    }
    rng, characters, texts, different = random.Random(options.seed), 0, 0, 0
    lost = dict.fromkeys(forms, 0)
    while characters < options.characters:
        batch = list(draw_texts(rng, TEXTS))
        characters += sum(map(len, batch))
        texts += len(batch)
        encoded = {name: form.encode_batch(batch) for name, form in forms.items()}
        different += sum(one != other for one, other in zip(*encoded.values(), strict=True))
        for name, form in forms.items():
            lost[name] += sum(
                back != text
                for back, text in zip(form.decode_batch(encoded[name]), batch, strict=True)
            )
    print(f"{characters:,} characters in {texts:,} texts: ids of {different:,} differ;", end=" ")
    print(", ".join(f"{count:,} do not come back from {name}" for name, count in lost.items()))
    sys.exit(bool(different or any(lost.values())))


if __name__ == "__main__":
    main()
