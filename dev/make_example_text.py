"""Make the text of the tutorial, docs/example/text, from the messages of Home Assistant
(Apache-2.0) that a run on the starter corpus has extracted:

    python dev/make_example_text.py results/corpora/starter/messages/homeassistant
"""

import random
import sys
from pathlib import Path

from vocap.files.io import read_tsv

FOLDER = Path(__file__).parents[1] / "docs" / "example" / "text"
LINES = {"en": 4000, "uk": 2000, "ja": 1200}  # unequal, as real text is
PARALLEL = 200  # messages that all three languages have, kept out of the text
SHORTEST = 25  # bytes of a sentence


def main() -> None:
    messages = Path(sys.argv[1])
    rows = {
        language: [
            row
            for row in read_tsv(messages / f"{language}.tsv")
            if len(row["text"].encode()) >= SHORTEST
        ]
        for language in LINES
    }
    sentences = {
        language: {row["message"]: row["text"] for row in table if row["message"]}
        for language, table in rows.items()
    }
    generator = random.Random("example")
    common = sorted(set.intersection(*map(set, sentences.values())))
    aligned = generator.sample(common, PARALLEL)
    for language, count in LINES.items():
        apart = {sentences[language][message] for message in aligned}
        lines = [line for row in rows[language] if (line := row["text"]) not in apart]
        chosen = sorted(generator.sample(range(len(lines)), count))
        write(FOLDER / f"{language}.txt", [lines[place] for place in chosen])
        write(
            FOLDER / "parallel" / f"{language}.txt",
            [sentences[language][message] for message in aligned],
        )


def write(path: Path, lines: list[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


if __name__ == "__main__":
    main()
