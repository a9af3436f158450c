"""The text of one language, streamed, to blocks of token ids."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from vocap.errors import VocapError
from vocap.files.io import file_sha256, replacing_directory, write_json
from vocap.files.paths import expand_all
from vocap.pretraining.data import COLUMNS, DESCRIPTION, FORMAT, PARTS, SpecialIds
from vocap.storage.listing import Listing, check_present, local_shard, with_text
from vocap.text_files import Layout
from vocap.text_files.filters import Filters, record_filter
from vocap.text_files.lines import LineFile, survey, unescape_line
from vocap.text_files.records import TextFile, read_lines
from vocap.tokenizer_files.encoders import Encoder, load_encoder, special_ids, unknown_bytes

OWNED = {DESCRIPTION, *(f"{part}{suffix}.npy" for part in PARTS for suffix in COLUMNS)}
LEFT_OUT = ("heldout_lines", "empty", "overlong", "invalid_utf8", "no_field")
# ids, the UTF-8 bytes of their text, and those of its unknown characters
Block = tuple[list[int], int, int]


class Packer:
    """Fills blocks of at most `length` ids with sentences in their order; no sentence
    is cut that fits in a block.

    A longer one is cut into blocks of its own, each opened by `bos` and ended by `eos`;
    its bytes are divided in proportion to the ids.

    >>> packer = Packer(8, bos=0, eos=2)
    >>> packer.add([[10, 11, 12], [13, 14], [15]], [6, 4, 2], [0, 1, 0])
    [([0, 10, 11, 12, 2, 13, 14, 2], 10, 1)]
    >>> packer.close()
    [([0, 15, 2], 2, 0)]
    """

    def __init__(self, length: int, bos: int, eos: int) -> None:
        self.length, self.bos, self.eos = length, bos, eos
        self.cut = 0  # sentences longer than a block
        self.ids, self.size, self.unknown = [bos], 0, 0  # the unfinished block

    def add(
        self, sentences: Sequence[list[int]], sizes: Sequence[int], unknown: Sequence[int]
    ) -> list[Block]:
        """The blocks that these sentences (ids, bytes, unknown bytes) close; those
        without ids are skipped.
        """
        closed: list[Block] = []
        room = self.length - 2
        for sentence, size, lost in zip(sentences, sizes, unknown, strict=True):
            if len(sentence) > room:
                self.cut += 1
                parts = [sentence[start : start + room] for start in range(0, len(sentence), room)]
                ends = np.cumsum(list(map(len, parts)))
                shares = (np.diff(n * ends // len(sentence), prepend=0) for n in (size, lost))
                closed += self.add(parts, *map(np.ndarray.tolist, shares))
            elif sentence:
                if len(self.ids) + len(sentence) >= self.length:
                    closed += self.close()
                self.ids += sentence
                self.ids.append(self.eos)
                self.size += size
                self.unknown += lost
        return closed

    def close(self) -> list[Block]:
        """The last block, if there is anything in it."""
        last = (self.ids, self.size, self.unknown)
        self.ids, self.size, self.unknown = [self.bos], 0, 0
        return [last] if len(last[0]) > 1 else []


def tokenize_language(
    language: str,
    files: Sequence[str | Path] | Listing,
    layout: Layout,
    heldout: str | Path,
    model: str | Path,
    folder: str | Path,
    length: int = 512,
    filters: Filters | None = None,
) -> dict[str, Any]:
    """Write the blocks of `files` (files, folders or patterns of this machine, or a
    listing) and of `heldout` to `folder`, whole or not at all; returns the description.

    `model` is a SentencePiece model, or a tokenizer.json, with an end token. Lines of
    `files` equal to a held-out line are dropped and counted. Memory: one MiB of text and
    the held-out lines. Raises VocapError for unusable input, and UsageError for a
    `folder` that holds other files.
    """
    shards = (
        files.shards
        if isinstance(files, Listing)
        else list(map(local_shard, expand_all(map(str, files))))
    )
    # an empty file stands for a language that its source lacks
    shards = with_text(shards)
    check_present(language, shards)
    if not Path(heldout).exists():
        raise VocapError(f"{heldout}: no such file; make it with: vocap sample")
    encoder, special = load_block_tokenizer(model, Path(model).is_file() and file_sha256(model))
    held = list(read_lines(heldout))
    description: dict[str, Any] = {
        "format": FORMAT,
        "language": language,
        "tokenizer": file_sha256(model),
        "vocabulary": encoder.size,
        "special": asdict(special),
        "length": length,
        "heldout_sha256": file_sha256(heldout),
    }
    chosen = record_filter(filters or Filters(), language, layout)
    left_out = Counter(dict.fromkeys(LEFT_OUT, 0))
    with replacing_directory(folder, OWNED) as made:
        train = _Part(made, "train", encoder, special, length)
        for shard in shards:
            file = TextFile(shard, layout, chosen=chosen)
            _add_file(train, file, frozenset(held), layout.documents, left_out)
        measured = _Part(made, "heldout", encoder, special, length)
        measured.add(held)
        description["train"] = {**left_out, **train.close()}
        description["heldout"] = measured.close()
        write_json(made / DESCRIPTION, description)
    return description


@lru_cache(maxsize=1)
def load_block_tokenizer(model: str | Path, sha256: str | bool) -> tuple[Encoder, SpecialIds]:
    """The tokenizer in the file `model` of that content, and its special ids; kept, for
    `vocap each`.

    Raises VocapError for one without an end token.
    """
    encoder = load_encoder(model)
    ids, others = special_ids(model, encoder)
    if "eos" not in ids:
        raise VocapError(
            f"{model}: no special token of role eos, which ends each sentence in a block; make it "
            "with vocap fit, joint, bpe or mono (mono takes any SentencePiece model), with a "
            "layout that has it"
        )
    roles = {role: ids.get(role) for role in ("bos", "pad", "unk", "mask")}
    return encoder, SpecialIds(**roles, eos=ids["eos"], others=others)


class _Part:
    """One part as it is written: its arrays, whose headers get the lengths at the end,
    and counts of its text.
    """

    def __init__(
        self, folder: Path, part: str, encoder: Encoder, special: SpecialIds, length: int
    ) -> None:
        self.encoder, self.special = encoder, special
        self.packer = Packer(length, special.start, special.eos)
        self.files = {
            suffix: open(folder / f"{part}{suffix}.npy", "wb")  # noqa: SIM115
            for suffix in COLUMNS
        }
        self.lengths = dict.fromkeys(COLUMNS, 0)
        self.counts = Counter(lines=0, bytes=0, text_tokens=0, unknown=0)
        self._write_headers()

    def _write_headers(self) -> None:
        """Write the headers for the lengths so far; NumPy pads them to one size for
        every length.
        """
        for suffix, file in self.files.items():
            file.seek(0)
            header = {
                "descr": COLUMNS[suffix].str,
                "fortran_order": False,
                "shape": (self.lengths[suffix],),
            }
            np.lib.format.write_array_header_1_0(file, header)

    def _write(self, blocks: Sequence[Block]) -> None:
        """Add blocks; an id that does not fit in its type raises OverflowError."""
        if not blocks:
            return
        ids, sizes, unknown = zip(*blocks, strict=True)
        ends = self.lengths[""] + np.cumsum([len(one) for one in ids])
        columns: tuple[Sequence[int] | np.ndarray, ...] = (
            list(chain.from_iterable(ids)),
            ends,
            sizes,
            unknown,
        )
        for suffix, values in zip(COLUMNS, columns, strict=True):
            self.files[suffix].write(np.asarray(values, COLUMNS[suffix]).tobytes())
            self.lengths[suffix] += len(values)

    def add(self, texts: list[str]) -> None:
        sentences = self.encoder.encode_batch(texts)
        sizes = [len(text.encode()) for text in texts]
        unknown = unknown_bytes(self.encoder, texts, sentences)
        self._write(self.packer.add(sentences, sizes, unknown))
        unk = -1 if self.special.unk is None else self.special.unk
        self.counts.update(
            lines=len(texts),
            bytes=sum(sizes),
            text_tokens=sum(map(len, sentences)),
            unknown=sum(sentence.count(unk) for sentence in sentences),
        )

    def close(self) -> dict[str, int]:
        """Finish the arrays; counts of the part."""
        self._write(self.packer.close())
        self._write_headers()
        for file in self.files.values():
            file.close()
        return {
            **self.counts,
            "tokens": self.lengths[""],
            "blocks": self.lengths["-ends"],
            "cut": self.packer.cut,
        }


def _add_file(
    part: _Part,
    file: LineFile,
    heldout: frozenset[str],
    documents: bool,
    left_out: Counter[str],
) -> None:
    """Add the usable lines that are not held out; count the others in `left_out`."""
    for block in file:
        found = survey(block)
        bounds = zip(found.starts.tolist(), found.ends.tolist(), strict=True)
        texts = [block[start:end].decode() for start, end in bounds]
        if documents:
            texts = list(map(unescape_line, texts))
        kept = [text for text in texts if text not in heldout]
        part.add(kept)
        left_out["heldout_lines"] += len(texts) - len(kept)
        for name in ("empty", "overlong", "invalid_utf8"):
            left_out[name] += found.counts[name]
    left_out["no_field"] += file.no_field
