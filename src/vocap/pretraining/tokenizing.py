"""One language's text, streamed, to blocks of token ids; a killed run goes on from its journal."""

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from vocap.corpora.corpus import Corpus
from vocap.corpora.records import Layout, TextFile
from vocap.corpora.sampling import survey
from vocap.errors import VocapError
from vocap.files import replacing, write_text
from vocap.pretraining.blocks import DESCRIPTION, FORMAT, BlockWriter
from vocap.pretraining.locking import locked
from vocap.pretraining.packing import UNK, Packer

JOURNAL = "journal.json"
SAVE_BYTES = 1 << 26  # of text between two entries of the journal: about ten seconds of encoding
COUNTS = ("lines", "bytes", "tokens", "unknown", "heldout_lines", "empty", "overlong", "invalid_utf8", "no_field")

Progress = Callable[[TextFile, int], None]


def file_sha256(path: str | os.PathLike) -> str:
    """The SHA-256 of a file's bytes, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def tokenize_language(
    language: str,
    files: Sequence[str],
    layout: Layout,
    heldout: str | os.PathLike,
    model: str | os.PathLike,
    folder: str | os.PathLike,
    length: int = 512,
    progress: Progress = lambda file, lines: None,
) -> dict[str, Any]:
    """Write the blocks of `files` and of `heldout` to `folder`; returns the description, which is written last.

    `model` is a SentencePiece model in the layout of `vocap.tokenizers`. Lines of `files` that are equal to a
    held-out line are left out and counted. Memory: one MiB of text and the held-out lines. A folder that an
    earlier call left unfinished, with the same files and settings, is gone on with, to the same bytes. Raises
    VocapError for unusable input, and where another call writes to `folder`.
    """
    from vocap.vocabularies.encoders import load_encoder

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    encoder = load_encoder(model)
    pieces = encoder.pieces
    if [*pieces[:4], pieces[-1]] != ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]:
        raise VocapError(
            f"{model}: not laid out as <s> 0, <pad> 1, </s> 2, <unk> 3, <mask> last; make it with vocap fit, "
            "joint or mono (mono takes any SentencePiece model)"
        )
    held = _heldout_lines(Path(heldout))
    made_of = {
        "format": FORMAT,
        "language": language,
        "tokenizer": file_sha256(model),
        "vocabulary": encoder.size,
        "length": length,
        "heldout_sha256": file_sha256(heldout),
    }
    with locked(folder / ".lock"):
        (folder / DESCRIPTION).unlink(missing_ok=True)
        run = _Run(folder, encoder, length, frozenset(held), made_of, files, layout)
        train = run.encode(Corpus(files, layout), progress)
        description = {**made_of, "train": train, "heldout": _write_heldout(folder, encoder, length, held)}
        write_text(folder / DESCRIPTION, json.dumps(description, indent=2, ensure_ascii=False) + "\n")
        (folder / JOURNAL).unlink(missing_ok=True)
        return description


def _heldout_lines(path: Path) -> list[bytes]:
    """The lines of a text in UTF-8, the last with or without a line end."""
    lines = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines, 1):
        try:
            line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise VocapError(f"{path}:{number}: not UTF-8 ({error.reason}); make it with: vocap sample") from None
    return lines if lines[-1] else lines[:-1]


def _write_heldout(folder: Path, encoder, length: int, lines: Sequence[bytes]) -> dict[str, int]:
    packer, writer = Packer(length), BlockWriter(folder, "heldout")
    ids = encoder.encode_batch([line.decode("utf-8") for line in lines])
    blocks = packer.add(ids, [len(line) for line in lines]) + packer.close()
    writer.append(blocks)
    lengths = writer.lengths
    writer.close()
    return {
        "lines": len(lines),
        "bytes": sum(map(len, lines)),
        "text_tokens": sum(map(len, ids)),
        "tokens": lengths[""],
        "blocks": lengths["-ends"],
        "unknown": sum(sentence.count(UNK) for sentence in ids),
        "cut": packer.cut,
    }


class _Run:
    """The writing of the part `train`, with its journal."""

    def __init__(
        self,
        folder: Path,
        encoder,
        length: int,
        heldout: frozenset[bytes],
        made_of: dict[str, Any],
        files: Sequence[str],
        layout: Layout,
    ) -> None:
        self.folder, self.encoder, self.heldout = folder, encoder, heldout
        sources = [[str(path), os.stat(path).st_size, os.stat(path).st_mtime_ns] for path in files]
        self.key = {**made_of, "files": sources, "layout": list(vars(layout).values())}
        journal = self._journal()
        self.skip = journal["done"]  # blocks of text, and ends of files, that an earlier run has dealt with
        self.counts = journal["counts"]
        self.packer = Packer(length, tuple(journal["open"]) if journal["open"] else None)
        self.packer.cut = journal["cut"]
        self.writer = BlockWriter(folder, "train", journal["lengths"])

    def _journal(self) -> dict[str, Any]:
        fresh = {"done": 0, "counts": dict.fromkeys(COUNTS, 0), "open": None, "cut": 0, "lengths": None}
        try:
            journal = json.loads((self.folder / JOURNAL).read_bytes())
        except (FileNotFoundError, ValueError):
            return fresh
        return journal if journal.get("key") == self.key else fresh

    def encode(self, corpus: Corpus, progress: Progress) -> dict[str, int]:
        """Encode what the journal has not seen; the counts of the whole part."""
        try:
            self._encode(corpus, progress)
        except BaseException:
            self.writer.abandon()
            raise
        self.writer.append(self.packer.close())
        lengths = self.writer.lengths
        self.writer.close()
        counts = dict(self.counts)
        counts["text_tokens"] = counts.pop("tokens")
        return {**counts, "tokens": lengths[""], "blocks": lengths["-ends"], "cut": self.packer.cut}

    def _encode(self, corpus: Corpus, progress: Progress) -> None:
        done, read, waiting = 0, 0, 0
        for file in corpus:
            for lines, counts in _usable(file):
                done += 1
                read += len(lines)
                if done > self.skip:
                    self._add(lines, counts)
                    waiting += counts["size"]
                    if waiting >= SAVE_BYTES:
                        self._save(done)
                        waiting = 0
                progress(file, read)
            done += 1
            if done > self.skip:
                self.counts["overlong"] += file.passed_over
                self.counts["invalid_utf8"] += file.undecodable
                self.counts["no_field"] += file.no_field

    def _add(self, lines: list[bytes], counts: dict[str, int]) -> None:
        kept = [line for line in lines if line not in self.heldout]
        sentences = self.encoder.encode_batch([line.decode("utf-8") for line in kept])
        sizes = [len(line) for line in kept]
        self.writer.append(self.packer.add(sentences, sizes))
        found = {
            "lines": len(kept),
            "bytes": sum(sizes),
            "tokens": sum(map(len, sentences)),
            "unknown": sum(sentence.count(UNK) for sentence in sentences),
            "heldout_lines": len(lines) - len(kept),
            **{name: counts[name] for name in ("empty", "overlong", "invalid_utf8")},
        }
        for name, count in found.items():
            self.counts[name] += count

    def _save(self, done: int) -> None:
        """Bring the arrays to the disk, then say so: a journal never promises what is not there."""
        self.writer.sync()
        entry = {
            "key": self.key,
            "done": done,
            "counts": self.counts,
            "open": self.packer.open,
            "cut": self.packer.cut,
            "lengths": self.writer.lengths,
        }
        with replacing(self.folder / JOURNAL) as out:
            json.dump(entry, out)


def _usable(file: TextFile) -> Iterator[tuple[list[bytes], dict[str, int]]]:
    """The lines of each block of text that can be encoded, and the counts of the others; `size` is in bytes."""
    for block in file:
        found = survey(block)
        bounds = zip(found.starts.tolist(), found.ends.tolist(), strict=True)
        counts = {name: getattr(found, name) for name in ("empty", "overlong", "invalid_utf8")}
        yield [block[start:end] for start, end in bounds], {**counts, "size": len(block)}
