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

This page says which programs give the ids of this project's tokenizers. Each row was
measured with the program itself; `python dev/make_clients_page.py` makes the page. The
tokenizers are unigram models (`unigram`; `-symbols`: with user-defined symbols; `-chat`:
with chat tokens and reserved ids; `-bytes`: with byte pieces for lossless text) and
byte-pair encoding (`bpe-nfkc`: of normalised text; `-characters`: of characters; the
others are lossless and named by their [cut](byte-pairs.md#words-before-merging), `bpe-words`
with chat tokens, `-symbols` with user-defined symbols). Each of the {kinds} is also tried as
`vocap trim` and `vocap extend` leave it. A program gets those that have a file in the
form that it reads: `sentencepiece.model` is of unigram models alone, and the forms of
tiktoken and llama.cpp are of the kinds that `vocap export` writes.

Compared on {day}: ids and decoded text of {lines:,} texts ({languages} languages, and strings
on which programs are known to differ: marks, joiners, control characters, presentation
forms, emoji, names of special tokens, only spaces, NUL) with `tokenizers` {version}.

| program | version | tokenizers tried | all ids equal | differs for |
|---|---|---|---|---|
"""


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
    rows = []
    for name, result in results.items():
        if result.right or name.endswith(("-trimmed", "-extended")):
            continue
        reason = known(client, name) or {"reason": "Not known.", "remedy": ""}
        count = "refused" if result.error else f"{len(result.ids)} of {lines:,}"
        if not result.error and not result.ids:
            count = f"text alone, {len(result.text)} of {lines:,}"
        rows.append(f"| `{name}` | {count} | {reason['reason']} | {reason['remedy']} |")
    if rows:
        head = "| tokenizer | texts that differ | reason | remedy |\n|---|---|---|---|"
        parts.append("\n".join([head, *rows]))
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
    page = head + "\n".join(rows) + "\n\n" + "\n\n".join(sections) + "\n"
    (ROOT / "docs" / "clients.md").write_text(page, "utf-8")


if __name__ == "__main__":
    main()
