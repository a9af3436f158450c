"""Random samples of lines: of one language's text with its counts, and of all languages
in their shares.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vocap.corpora.stored_lines import LineStore, StoredLines
from vocap.errors import VocapError
from vocap.files.io import replacing
from vocap.tables.sampling_probabilities import quotas
from vocap.text_files import MAX_LINE_BYTES, Layout, kind_of
from vocap.text_files.lines import LineFile, check_encoding, survey
from vocap.text_files.records import detect_file, read_blocks

WARNED = 0.01  # of a text's lines dropped as overlong
REFUSED = 0.5
MARKED_UP = 0.1  # of a text's lines with mark-up, from which a warning says so
_LOOKED_AT = 10_000  # lines of a sample, about
# A tag of HTML that is closed or has an attribute, so that neither <unk> nor a <b is one.
_TAG = re.compile(
    rb"</?(?:a|abbr|article|aside|b|blockquote|body|br|center|cite|code|dd|div|dl|dt|em|figure|font"
    rb"|footer|form|h[1-6]|head|header|hr|html|i|iframe|img|input|label|li|link|main|meta|nav|ol"
    rb"|option|p|pre|script|section|small|span|strong|style|sub|sup|table|tbody|td|th|thead|title"
    rb"|tr|u|ul)(?:\s+[a-z:-]+\s*=|\s*/?>)",
    re.IGNORECASE,
)
_LIMIT = f"longer than {MAX_LINE_BYTES:,} bytes, SentencePiece's limit"


class Reservoir:
    """Selection of a uniform sample of `size` items of a stream: Algorithm L (Li 1994),
    skipping most of them.

    Draws depend on the position in the stream alone, so cutting the stream into other
    blocks changes nothing.
    """

    def __init__(self, size: int, seed: int) -> None:
        self.size, self.seen = size, 0
        self._random = np.random.Generator(np.random.PCG64(seed)).random
        self._weight = 1.0
        self._next = size - 1  # position of the next item kept, once the reservoir is full
        self._skip()

    def _skip(self) -> None:
        self._weight *= math.exp(math.log(1.0 - self._random()) / self.size)
        gap = math.log(1.0 - self._random()) / math.log1p(-self._weight) if self._weight < 1 else 0
        self._next += int(min(gap, 2.0**62)) + 1

    def offer(self, count: int) -> tuple[list[int], list[int]]:
        """Take `count` items; gives the indices of those kept, rising, and the slot
        that each is put into.
        """
        end = self.seen + count
        filled = min(end, self.size)
        indices = list(range(filled - self.seen))
        slots = list(range(self.seen, filled))
        while self._next < end:
            indices.append(self._next - self.seen)
            slots.append(int(self._random() * self.size))
            self._skip()
        self.seen = end
        return indices, slots


def heldout_count(kept: int) -> int:
    """Lines held out of `kept`: max(1 %, min(500, 10 %)), at most 10,000, and never the
    only line.
    """
    return min(10_000, max(-(-kept // 100), min(500, kept // 10)), kept // 2)


def limit_characters(lines: StoredLines, limit: int | None, seed: int) -> StoredLines:
    """Draw as many lines at random as hold no more than `limit` characters, one at
    least, in their order; None: all.
    """
    if limit is None or lines.sizes.sum() <= limit:  # a character has a byte at least
        return lines
    characters = np.fromiter((len(line.decode()) for line in lines), np.int64, len(lines))
    order = np.random.Generator(np.random.PCG64([seed, 2])).permutation(len(lines))
    fitting = np.searchsorted(np.cumsum(characters[order]), limit, side="right")
    return lines[np.sort(order[: max(1, fitting)])]


@dataclass
class Sample:
    r"""Lines (bytes without `\n`) in corpus order, and the counts of `stats.json`."""

    train: StoredLines
    heldout: StoredLines
    counts: dict[str, int]


def draw_sample(
    files: Iterable[LineFile], max_sentences: int, seed: int, max_characters: int | None = None
) -> Sample:
    """A uniform sample of the valid lines of `files`, read once, cut into train and
    held-out lines by content.

    Memory: some 60 bytes a line of the sample; the lines are in a file of the folder for
    temporary files, and the text may be of any size. Of equal lines in the sample the
    first stays, so no line is in both parts. Where the lines hold more than
    `max_characters`, a uniform sample of them does not. Raises VocapError for a file in
    which more than a tenth of the lines are not UTF-8.
    """
    lines, counts = _read(files, Reservoir(max_sentences, seed))
    distinct = lines[~lines.repeated()]
    kept = limit_characters(distinct, max_characters, seed)
    generator = np.random.Generator(np.random.PCG64([seed, 1]))
    out = np.zeros(len(kept), bool)
    out[generator.choice(len(kept), heldout_count(len(kept)), replace=False)] = True
    counts["duplicates"] = len(lines) - len(distinct)
    counts["left_out"] = len(distinct) - len(kept)
    sample = Sample(kept[~out], kept[out], counts)
    counts["train"], counts["heldout"] = len(sample.train), len(sample.heldout)
    counts["kept"] = len(kept)
    return sample


def _read(files: Iterable[LineFile], reservoir: Reservoir) -> tuple[StoredLines, Counter[str]]:
    """The lines that the reservoir keeps, in corpus order, and the counts."""
    store = LineStore()
    counts: Counter[str] = Counter()
    for file in files:
        own: Counter[str] = Counter()  # of this file
        for block in file:
            found = survey(block)
            own["bytes"] += len(block)
            own.update(found.counts)
            own["valid"] += len(found.starts)
            seen = reservoir.seen
            indices, slots = reservoir.offer(len(found.starts))
            bounds = zip(found.starts[indices].tolist(), found.ends[indices].tolist(), strict=True)
            lines = [block[start:end] for start, end in bounds]
            store.put(slots, seen + np.array(indices, np.int64), lines)
        own["no_field"] += file.no_field
        check_encoding(file, own)
        file.counts = own
        counts += own  # those above 0
    counts["valid"] = reservoir.seen
    return store.lines(), counts


def check_dropped(path: str, layout: Layout, counts: Mapping[str, int]) -> list[str]:
    """Warnings on the counts of a sample, for a text whose first file is `path`.

    Raises VocapError where no line is left, and where most are too long to be learnt
    from and nothing cut them into sentences yet.
    """
    if not counts["kept"]:
        reasons = ["read", "empty", "overlong", "no_field"]
        reasons += ["filtered"] if counts.get("filtered") else []
        found = ", ".join(f"{counts[name]:,} {name}" for name in reasons)
        raise VocapError(f"{path}: no usable line ({found}); check the file and its format")
    overlong = counts["overlong"]
    lines = counts["read"] - counts["empty"]
    said = f"{overlong:,} of {lines:,} lines are {_LIMIT}"
    if layout.split_sentences:
        remedy = "cut them at shorter distances: they have little punctuation"
    else:
        remedy = (
            "if they are whole documents, cut them into sentences: split_sentences: true (vocap "
            "sample --split-sentences)"
        )
        if overlong > REFUSED * lines:
            raise VocapError(f"{path}: {said}, and would be dropped; {remedy}")
    warnings = []
    if layout.kind == "text" and kind_of(path) == "tsv":
        warnings.append(
            f"{path} is a table by its name, read as text; write format: "
            f'"{detect_file(path).format}"'
        )
    if overlong > WARNED * lines:
        warnings.append(f"{said}, and were dropped; {remedy}")
    if (lacking := counts["no_field"]) > (valid := counts["valid"]):
        warnings.append(
            f"{lacking:,} records do not have the field; the others gave {valid:,} lines"
        )
    if counts["left_out"]:
        warnings.append(f"{counts['left_out']:,} lines left out: more than max_characters")
    return warnings


def overlong_languages(stats: Iterable[Mapping[str, Any]]) -> str:
    """One warning for all languages of which a share of lines above `WARNED` is
    overlong; empty for none.
    """
    shares = {
        entry["language"]: entry["overlong"] / max(1, entry["read"] - entry["empty"])
        for entry in stats
    }
    named = [f"{language} {share:.0%}" for language, share in shares.items() if share > WARNED]
    if not named:
        return ""
    return (
        f"lines {_LIMIT}, were dropped: {', '.join(named)}; cut documents into sentences with "
        "split_sentences: true"
    )


def markup_warnings(lines: Sequence[bytes]) -> list[str]:
    """A warning where a tenth of the lines or more hold tags of HTML, by every k-th line
    of many.

    >>> markup_warnings([b"plain", b"<p>It rains.</p>"])[0][:37]
    'about 50% of the lines hold mark-up ('
    >>> markup_warnings([b"a <b and 3 > 2, <unk>"] * 9)
    []
    """
    looked_at = lines[:: len(lines) // _LOOKED_AT or 1]
    tags = [found[0].decode() for line in looked_at if (found := _TAG.search(line))]
    if not tags or len(tags) < MARKED_UP * len(looked_at):
        return []
    return [
        f"about {len(tags) / len(looked_at):.0%} of the lines hold mark-up ({tags[0]}), which the "
        "vocabulary would learn; take it out first, as with trafilatura or BeautifulSoup's get_text"
    ]


def chosen_lines(lines: int, quota: int, generator: np.random.Generator) -> np.ndarray:
    """Indices, rising, of `quota` out of `lines` lines: each floor(quota / lines) times
    or once more.
    """
    passes, remainder = divmod(quota, lines)
    extra = np.sort(generator.choice(lines, remainder, replace=False))
    return np.sort(np.concatenate([np.repeat(np.arange(lines), passes), extra]))


def write_mix(
    path: str | Path,
    files: Sequence[tuple[str, str | Path]],
    q: np.ndarray,
    sentences: int,
    seed: int,
) -> np.ndarray:
    """Write `sentences` lines of `files` (language, path), shuffled, in shares by `q`;
    returns the shares.

    Where a share is larger than the file, lines are taken several times. Each line gets
    a random 63-bit key, and lines are written in the order of their keys; the lines and
    keys of a language depend on its own share alone. Each file is read twice. Memory: 50
    bytes for each line of the mix; the lines are in a file of the folder for temporary
    files. Raises VocapError for a file without lines whose share is not 0, and as
    `read_blocks`.
    """
    counts = quotas(sentences, q)
    store, stored = LineStore(), 0
    for (language, file), quota in zip(files, counts.tolist(), strict=True):
        if not quota:
            continue
        lines = sum(map(len, read_blocks(file)))
        if not lines:
            raise VocapError(
                f"{file}: no line to take {quota:,} from; give {language} n = 0 in the "
                "weights, or some text"
            )
        code = int.from_bytes(language.encode(), "big")
        generator = np.random.Generator(np.random.PCG64([seed, code]))
        chosen = chosen_lines(lines, quota, generator)
        keys = generator.integers(1 << 63, size=quota, dtype=np.int64)
        seen = 0
        for block in read_blocks(file):
            first, end = np.searchsorted(chosen, [seen, seen + len(block)]).tolist()
            taken = [block[number].encode() for number in (chosen[first:end] - seen).tolist()]
            store.put(range(stored + first, stored + end), keys[first:end], taken)
            seen += len(block)
        stored += quota
    with replacing(path, "wb") as output:
        output.writelines(line + b"\n" for line in store.lines())
    return counts
