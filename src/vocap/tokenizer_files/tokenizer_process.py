"""The program of the process that holds a tokenizer from elsewhere (`guarded_tokenizer` starts it and asks).

A hostile `tokenizer.json` can crash the library, keep it busy for hours or make it ask for all memory: that ends
this process alone. A file of its own, run by its path: it imports nothing of this package.

Arguments: `json` and a tokenizer.json, or `transformers` and a folder; bytes of memory; bytes of an answer;
seconds of processor time for a request, and as many again for each MiB of it. Requests and answers on standard
input and output are 8 bytes of length, then JSON: `[method, argument]`, and `[true, value]` or `[false, error]`.
"""

import contextlib
import json
import os
import resource
import signal
import sys

import orjson


def load_json(path: str):
    """The `tokenizers.Tokenizer` of a tokenizer.json, and its unknown id or None."""
    from tokenizers import Tokenizer

    with open(path, "rb") as file:
        text = file.read()
    model = json.loads(text)["model"]
    token, number = model.get("unk_token"), model.get("unk_id")
    tokenizer = Tokenizer.from_str(text.decode("utf-8"))
    if token is not None:
        number = tokenizer.token_to_id(token)
    return tokenizer, number if isinstance(number, int) else None


def load_transformers(folder: str):
    """The same for the tokenizer that AutoTokenizer loads from a folder; code in the folder is not run."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    return tokenizer.backend_tokenizer, tokenizer.unk_token_id


class Answers:
    """The methods that can be asked for; a line is encoded whole, and a literal special token in it is text."""

    def __init__(self, kind: str, path: str) -> None:
        self.tokenizer, self.unk_id = {"json": load_json, "transformers": load_transformers}[kind](path)
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self.tokenizer.encode_special_tokens = True

    def facts(self, _) -> dict:
        vocabulary = self.tokenizer.get_vocab(with_added_tokens=True)
        return {
            "vocabulary": vocabulary,
            "unk_id": self.unk_id,
            "normalizes": self.tokenizer.normalizer is not None,
        }

    def definition(self, _) -> str:
        return self.tokenizer.to_str()

    def normalize(self, text: str) -> str:
        return self.tokenizer.normalizer.normalize_str(text)

    def pipeline(self, _) -> dict:
        """The definition without the vocabulary."""
        definition = orjson.loads(self.tokenizer.to_str())
        definition["model"].pop("vocab", None)
        return definition

    def normalize_batch(self, lines: list[str]) -> list[str]:
        normalizer = self.tokenizer.normalizer
        return [normalizer.normalize_str(line) for line in lines] if normalizer else lines

    def normalized_ids(self, lines: list[str]) -> list[list[int]]:
        """Of lines that the normaliser is not to change."""
        normalizer = self.tokenizer.normalizer
        self.tokenizer.normalizer = None
        try:
            return self.ids(lines)
        finally:
            self.tokenizer.normalizer = normalizer

    def ids(self, lines: list[str]) -> list[list[int]]:
        return [entry.ids for entry in self.tokenizer.encode_batch_fast(lines, add_special_tokens=False)]

    def texts(self, ids: list[list[int]]) -> list[str]:
        return self.tokenizer.decode_batch(ids, skip_special_tokens=False)

    def encodings(self, lines: list[str]) -> list[tuple]:
        found = self.tokenizer.encode_batch(lines, add_special_tokens=False)
        return [(entry.ids, entry.tokens, entry.offsets, ()) for entry in found]

    def pair(self, texts: list[str]) -> tuple:
        """Of two texts with the special tokens around them."""
        entry = self.tokenizer.encode(*texts)
        return entry.ids, entry.tokens, entry.offsets, entry.sequence_ids


def limit(kind: int, wanted: int) -> None:
    with contextlib.suppress(ValueError, OSError):  # not every system has every limit
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


def main(kind: str, path: str, memory: int, answer_bytes: int, seconds: int) -> None:
    """Answer until standard input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the other process reports interrupts
    source, sink = sys.stdin.buffer, os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # the output of libraries is no answer
    limit(resource.RLIMIT_CORE, 0)
    limit(resource.RLIMIT_DATA, memory)
    answers = None
    while head := source.read(8):
        size = int.from_bytes(head, "little")
        usage = resource.getrusage(resource.RUSAGE_SELF)
        limit(resource.RLIMIT_CPU, int(usage.ru_utime + usage.ru_stime) + seconds * (1 - (-size >> 20)))
        try:
            answers = answers or Answers(kind, path)
            method, argument = orjson.loads(source.read(size))
            data = orjson.dumps([True, getattr(answers, method)(argument)])
            if len(data) > answer_bytes:
                data = orjson.dumps([False, f"it gives {len(data)} bytes for {size}"])
        except MemoryError:
            data = orjson.dumps([False, f"it needs more than {memory >> 20} MiB"])
        except BaseException as error:  # a panic of Rust code is no Exception
            said = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            data = orjson.dumps([False, said.encode("utf-8", "replace").decode("utf-8")])
        sink.write(len(data).to_bytes(8, "little") + data)
        sink.flush()
    os._exit(0)  # the library may crash when it exits; all output is written


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
