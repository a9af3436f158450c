"""Made text: sentences of made words that follow Zipf's law, and a file of lines."""

import random
from collections.abc import Iterable, Iterator
from pathlib import Path


def draw_sentences(
    seed: str,
    letters: str,
    space: str = " ",
    words: int = 1200,
    longest: int = 7,
    length: tuple[int, int] = (4, 10),
) -> Iterator[str]:
    """Sentences without end.

    `words`: of the lexicon; `longest`: letters of a word; `length`: words of a
    sentence, least and most.
    """
    generator = random.Random(seed)
    lexicon = [
        "".join(generator.choices(letters, k=generator.randint(2, longest))) for _ in range(words)
    ]
    weights = [1 / rank for rank in range(1, len(lexicon) + 1)]
    while True:
        yield space.join(generator.choices(lexicon, weights, k=generator.randint(*length)))


def write_lines(path: Path, lines: Iterable[str]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path
