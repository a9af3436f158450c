"""The text of one language, streamed, to blocks of token ids; a killed run resumes from its journal."""

import json
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from vocap.errors import VocapError
from vocap.files import file_sha256
from vocap.files.atomic import locked, replacing, write_text
from vocap.pretraining.blocks import DESCRIPTION, FORMAT, BlockWriter, Packer, SpecialIds
from vocap.text_files.corpus import Corpus
from vocap.text_files.documents import holds_documents, unescape
from vocap.text_files.lines import survey
from vocap.text_files.records import Layout, TextFile

JOURNAL = "journal.json"
SAVE_BYTES = 1 << 26  # of text between two entries of the journal: about ten seconds of encoding
COUNTS = ("lines", "bytes", "tokens", "unknown", "heldout_lines", "empty", "overlong", "invalid_utf8", "no_field")

Progress = Callable[[TextFile, int], None]


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

    `model` is a SentencePiece model, or a tokenizer.json, with special tokens of all roles. Lines of `files` equal
    to a held-out line are dropped and counted. Memory: one MiB of text and the held-out lines. An unfinished
    `folder` of the same files and settings is completed, to the same bytes. Raises VocapError for unusable input,
    and where another call writes to `folder`.
    """
    from vocap.tokenizer_files.encoders import load_encoder

    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    encoder = load_encoder(model)
    special = _special_ids(model, encoder)
    held = _heldout_lines(Path(heldout))
    made_of = {
        "format": FORMAT,
        "language": language,
        "tokenizer": file_sha256(model),
        "vocabulary": encoder.size,
        "special": {**asdict(special), "others": list(special.others)},
        "length": length,
        "heldout_sha256": file_sha256(heldout),
    }
    sources = [[str(path), os.stat(path).st_size, os.stat(path).st_mtime_ns] for path in files]
    key = {**made_of, "files": sources, "layout": list(vars(layout).values())}
    with locked(folder / ".lock"):
        (folder / DESCRIPTION).unlink(missing_ok=True)
        train = _Run(folder, encoder, special, length, frozenset(held), key, layout.documents).encode(
            Corpus(files, layout), progress
        )
        description = {
            **made_of,
            "train": train,
            "heldout": _write_heldout(folder, encoder, special, length, _texts(held, holds_documents(heldout))),
        }
        write_text(folder / DESCRIPTION, json.dumps(description, indent=2, ensure_ascii=False) + "\n")
        (folder / JOURNAL).unlink(missing_ok=True)
        return description


def _special_ids(model: str | os.PathLike, encoder) -> SpecialIds:
    from vocap.tokenizer_files.encoders import special_ids

    ids, others = special_ids(model, encoder)
    roles = [one.name for one in fields(SpecialIds) if one.name != "others"]
    if lacking := [role for role in roles if role not in ids]:
        raise VocapError(
            f"{model}: no special token of role {', '.join(lacking)}, which a masked language model needs; "
            "make it with vocap fit, joint, bpe or mono (mono takes any SentencePiece model), with XLM-R's layout "
            "or a --layout that has them"
        )
    return SpecialIds(**ids, others=others)


def _texts(lines: Sequence[bytes], documents: bool) -> list[str]:
    """The lines as text, or the documents that they stand for."""
    texts = [line.decode("utf-8") for line in lines]
    return list(map(unescape, texts)) if documents else texts


def _heldout_lines(path: Path) -> list[bytes]:
    """The lines of a text in UTF-8, the last with or without a line end."""
    lines = path.read_bytes().split(b"\n")
    for number, line in enumerate(lines, 1):
        try:
            line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise VocapError(f"{path}:{number}: not UTF-8 ({error.reason}); make it with: vocap sample") from None
    return lines if lines[-1] else lines[:-1]


def _write_heldout(
    folder: Path, encoder, special: SpecialIds, length: int, texts: Sequence[str]
) -> dict[str, int]:
    packer, writer = Packer(length, special.bos, special.eos), BlockWriter(folder, "heldout")
    ids, sizes = encoder.encode_batch(texts), [len(text.encode()) for text in texts]
    blocks = packer.add(ids, sizes) + packer.close()
    writer.append(blocks)
    lengths = writer.lengths
    writer.close()
    return {
        "lines": len(texts),
        "bytes": sum(sizes),
        "text_tokens": sum(map(len, ids)),
        "tokens": lengths[""],
        "blocks": lengths["-ends"],
        "unknown": sum(sentence.count(special.unk) for sentence in ids),
        "cut": packer.cut,
    }


class _Run:
    """The writing of the part `train`, with its journal."""

    def __init__(
        self,
        folder: Path,
        encoder,
        special: SpecialIds,
        length: int,
        heldout: frozenset[bytes],
        key: dict[str, Any],
        documents: bool,
    ) -> None:
        self.documents = documents
        self.folder, self.encoder, self.heldout, self.key = folder, encoder, heldout, key
        self.unk = special.unk
        journal = self._journal()
        self.skip = journal["done"]  # blocks of text, and ends of files, that an earlier run has processed
        self.counts = journal["counts"]
        self.packer = Packer(length, special.bos, special.eos, tuple(journal["open"]) if journal["open"] else None)
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
        """Encode the text after the journal's last entry; returns the counts of the whole part."""
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
        texts = _texts(kept, self.documents)
        sentences = self.encoder.encode_batch(texts)
        sizes = [len(text.encode()) for text in texts] if self.documents else list(map(len, kept))
        self.writer.append(self.packer.add(sentences, sizes))
        self.counts["lines"] += len(kept)
        self.counts["bytes"] += sum(sizes)
        self.counts["tokens"] += sum(map(len, sentences))
        self.counts["unknown"] += sum(sentence.count(self.unk) for sentence in sentences)
        self.counts["heldout_lines"] += len(lines) - len(kept)
        for name in ("empty", "overlong", "invalid_utf8"):
            self.counts[name] += counts[name]

    def _save(self, done: int) -> None:
        """Flush the arrays to the disk before the journal that counts them."""
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
