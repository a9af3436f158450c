"""Gates of `vocap evaluate`: what breaks in use, each passed or failed with an
example.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence

from vocap.errors import listed
from vocap.tokenizer_files.encoders import byte_names
from vocap.tokenizer_files.splitting import Splitter, dead_ids, texts_of
from vocap.unigram.usage import LOSSES, RoundTrips, Segments

LONGEST = 64  # characters of an id
RUN = re.compile(r"(\S)\1{7,}")  # of one character; spaces and line ends are wanted, in code
SHOWN = 24  # characters of an example
# Texts that a tokenizer which keeps all text gives back: spaces, case, line ends,
# compatibility, marks, joiners
PROBES = (
    "  A\tb  c ",
    "a\r\nb\n",
    "\ufb01 \u00bd \u3000",
    "e\u0301 \u00e9",
    "\U0001f469\u200d\U0001f680",
)


def check_gates(
    splitter: Splitter, trips: RoundTrips, unknown: Mapping[str, int]
) -> dict[str, str]:
    """Gate to `pass`, or `fail: ` and what fails, with an example.

    `trips`, `unknown`: the lines of a text that do not come back, and its unknown
    characters with their counts.
    """
    texts = dict(texts_of(splitter))
    held = {number: text for number, text in texts.items() if not splitter.broken[number]}
    found = {
        "lossless": lossless(splitter, trips),
        "unknown characters": by_script(unknown),
        "all bytes": missing_bytes(splitter),
        "dead ids": shown(dead_ids(splitter, texts), texts),
        "junk runs": shown([number for number, text in held.items() if RUN.search(text)], texts),
        f"ids over {LONGEST} characters": shown(
            [n for n, text in held.items() if len(text) > LONGEST], texts
        ),
        "fragments of characters": shown(sorted(texts.keys() - held.keys()), texts),
    }
    return {gate: f"fail: {what}" if what else "pass" for gate, what in found.items()}


def lossless(splitter: Splitter, trips: RoundTrips) -> str:
    """What does not come back: lines of the text, or else hard texts."""
    name = "lines"
    if not trips.kinds:
        probes, name = Segments(splitter.encoder, decodes=True), "hard texts"
        probes.add(list(PROBES))
        trips = probes.trips
    kinds = ", ".join(f"{kind} {trips.kinds[kind]:,}" for kind in LOSSES if trips.kinds[kind])
    lost = f"{trips.kinds.total():,} of {trips.lines:,} {name}"
    return f"{lost} ({kinds}): {next(iter(trips.examples.values()))}" if kinds else ""


def by_script(unknown: Mapping[str, int]) -> str:
    """Unknown characters by script, the first word of the Unicode names of letters and
    marks.
    """
    scripts: dict[str, Counter[str]] = {}
    for character, count in unknown.items():
        word = unicodedata.name(character, "") if unicodedata.category(character)[0] in "LM" else ""
        script = re.split("[ -]", word)[0].capitalize() or "symbols"
        scripts.setdefault(script, Counter())[character] += count
    ordered = sorted(scripts.items(), key=lambda entry: (-entry[1].total(), entry[0]))
    return listed(
        [f"{script} {found.total():,} ({found.most_common(1)[0][0]})" for script, found in ordered]
    )


def missing_bytes(splitter: Splitter) -> str:
    """How many of the 256 bytes have no id, and the first."""
    names, held = byte_names(splitter.encoder.byte_level), set(splitter.encoder.pieces)
    missing = sorted(name for piece, name in names.items() if piece not in held)
    return f"{len(missing)} without an id, the first {missing[0]}" if missing else ""


def shown(ids: Sequence[int], texts: Mapping[int, str]) -> str:
    """The number of ids, and the first with its text."""
    if not ids:
        return ""
    text = texts[ids[0]]
    more = "…" if len(text) > SHOWN else ""
    return f"{len(ids):,}, the first id {ids[0]} “{text[:SHOWN]}{more}”"
