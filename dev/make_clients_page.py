"""Measure the matrix of clients, and write docs/clients.md.

    python dev/make_clients_page.py [--clients NAME,NAME]

Makes the tokenizers of tests/clients/tokenizers.yaml, installs each client of
clients.yaml in an environment of its own (in the folder that VOCAP_CLIENTS names), and
compares ids and decoded text with those of `tokenizers`. With VOCAP_DATA the text is
FLORES in 21 languages, else it is made. A client that is not among `--clients` or does
not install has no row.
"""

import argparse
import re
import sys
import tempfile
from datetime import date
from pathlib import Path

import tokenizers

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.clients.comparison import CLIENTS, Result, compare, known  # noqa: E402
from tests.clients.environments import NotInstalledError  # noqa: E402
from tests.clients.tokenizers import compared_lines, languages, make_all  # noqa: E402

HEAD = """\
# Where the tokenizers load

With this page you can find out whether a program reads your tokenizer with the same ids,
how to load it there, and what to do where it does not. First write the form for Hugging
Face's libraries, which most programs read:

```sh
vocap export results/tokenizers/pieces-100k/sentencepiece.model -o pieces-100k
```

A run writes the files of tiktoken and llama.cpp beside that folder, `tiktoken/` and
`bpe-100k.gguf`, where the tokenizer has the key `export: [tiktoken, gguf]`. What one of these
programs would read with other ids is refused before the run.

Each row below was measured on {day} with the program itself: ids and decoded text of
{lines:,} texts, compared with `tokenizers` {version}. The texts are of {languages} languages,
and of characters on which programs are known to differ. The tokenizers are:

| name | tokenizer |
|---|---|
| `unigram` | a unigram model: VOCAP, PIECES or JOINT |
| `unigram-symbols`, `-chat`, `-bytes` | with user-defined symbols; with chat tokens and reserved ids; with lossless text and byte pieces |
| `bpe-nfkc` | byte-pair encoding of normalised text |
| `bpe-words`, `-spaces`, `-gpt2` and so on | byte-pair encoding of lossless text, by its [cut](tokenizers.md#words-before-merging); `bpe-words` has chat tokens |
| `bpe-symbols` | the same with user-defined symbols |

Each of the {kinds} is tried as it was trained, after `vocap trim` and after `vocap extend`. A
program is given those that have a file in the form that it reads.

| program | version | tokenizers tried | all ids equal | differs for |
|---|---|---|---|---|
"""  # noqa: E501  # rows of tables

TAIL = """
## If something goes wrong

**The tokenizer is not of the kind that the program reads.** The export refuses it:

```text
vocap: error: tok/sentencepiece.model: no byte-pair encoding, and tiktoken holds nothing else; export it without --format
```

Train [byte-pair encoding](tokenizers.md#bpe), or take a program that reads unigram models.

**The text or the cut is not one that the program knows.** The message names those that are:

```text
vocap: error: bpe3/tokenizer.json: llama.cpp has no cut like its own, or its text is normalised; train it with --preset lossless and --split gpt2, llama-3, qwen
```

**Every word becomes `<unk>`, or every id is moved by one.** `sentencepiece.model` was given
to `XLMRobertaTokenizer`. Load the folder `huggingface/` with `AutoTokenizer` instead.

**OpenVINO gives `<unk>` for characters such as `½`, `…` or U+00A0.** Its `convert_tokenizer`
drops the table of normalisation (`Precompiled`) where a step `NFC` follows: with
openvino-tokenizers 2026.4.1.0, 150 of 1,245 texts got other ids from a unigram model. The
export needs that step, as `tokenizers` does not compose letters and marks by the table
alone. Convert a copy of the folder without it, which is for OpenVINO only; then 3 texts
differed, those with NUL:

```python
import json
import shutil

shutil.copytree("huggingface", "for-openvino")
with open("for-openvino/tokenizer.json", encoding="utf-8") as file:
    content = json.load(file)
steps = content["normalizer"]["normalizers"]
content["normalizer"]["normalizers"] = [step for step in steps if step["type"] != "NFC"]
with open("for-openvino/tokenizer.json", "w", encoding="utf-8") as file:
    json.dump(content, file)
```
"""  # noqa: E501  # messages as they are printed


def row(client: str, version: str, results: dict[str, Result]) -> str:
    """The line of a client in the table."""
    right = sum(not (result.error or result.ids) for result in results.values())
    kinds = dict.fromkeys(
        name.removesuffix("-trimmed").removesuffix("-extended")
        for name, result in results.items()
        if result.error or result.ids
    )
    title = CLIENTS[client]["title"]
    anchor = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
    link = f"[{title}](#{anchor})"
    differs = ", ".join(f"`{kind}`" for kind in kinds) or "none"
    return f"| {link} | {version} | {len(results)} | {right} | {differs} |"


def section(client: str, results: dict[str, Result], lines: int) -> str:
    """What a client takes, how to load it, and where it differs."""
    entry = CLIENTS[client]
    parts = [f"## {entry['title']}", entry["guide"].strip()]
    rows: dict[tuple[str, str, str], list[str]] = {}  # tokenizers of each difference
    for name, result in results.items():
        if result.right or name.endswith(("-trimmed", "-extended")):
            continue
        reason = known(client, name) or {"reason": "Not known.", "remedy": ""}
        count = "refused" if result.error else f"{len(result.ids)} of {lines:,}"
        if not result.error and not result.ids:
            count = f"text alone, {len(result.text)} of {lines:,}"
        rows.setdefault((count, reason["reason"], reason["remedy"]), []).append(f"`{name}`")
    if rows:
        head = "| tokenizer | texts that differ | reason | remedy |\n|---|---|---|---|"
        table = [f"| {', '.join(names)} | {' | '.join(row)} |" for row, names in rows.items()]
        parts.append("\n".join([head, *table]))
    return "\n\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--clients", default=",".join(CLIENTS), help="names of clients.yaml")
    chosen = parser.parse_args().clients.split(",")
    lines, rows, sections = compared_lines(), [], []
    with tempfile.TemporaryDirectory() as folder:
        files = make_all(Path(folder))
        for client in chosen:
            try:
                version, results = compare(client, files, lines)
            except NotInstalledError as reason:
                print(f"{client}: {reason}", file=sys.stderr)
                continue
            rows.append(row(client, version, results))
            sections.append(section(client, results, len(lines)))
    head = HEAD.format(
        kinds=len(files) // 3,
        day=date.today(),
        lines=len(lines),
        languages=len(languages()) + 1,
        version=tokenizers.__version__,
    )
    page = head + "\n".join(rows) + "\n\n" + "\n\n".join(sections) + "\n" + TAIL
    (ROOT / "docs" / "clients.md").write_text(page, "utf-8")


if __name__ == "__main__":
    main()
