"""A Hugging Face tokenizer in a process of its own, with limits of memory and time (`tokenizer_process`)."""

import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from vocap.errors import VocapError

MEMORY = 4 << 30  # bytes; a unigram model of 500,000 pieces takes 1 GB while it is read
ANSWER_BYTES = 1 << 28
SECONDS = 30  # of processor time, for a request and again for each MiB of it; a MiB of text takes 1 to 4
REMEDY = "save it again with its own library, or use another tokenizer"
_PROGRAM = Path(__file__).with_name("tokenizer_process.py")


class Encoding(NamedTuple):
    """The attributes of `tokenizers.Encoding` that are used."""

    ids: list[int]
    tokens: list[str]
    offsets: list[tuple[int, int]]
    sequence_ids: list[int | None]


class GuardedTokenizer:
    """The methods of `tokenizers.Tokenizer` that are used, run in another process, without truncation or padding.

    Every method raises VocapError, naming `path`, where the library refuses, crashes or passes a limit.
    """

    def __init__(self, kind: str, path: str | os.PathLike, memory: int = MEMORY, seconds: int = SECONDS) -> None:
        """`kind`: `json` for a tokenizer.json, `transformers` for a folder that AutoTokenizer loads."""
        if kind == "transformers" and importlib.util.find_spec(kind) is None:
            raise ModuleNotFoundError(f"No module named {kind!r}", name=kind)
        self.path, self.memory, self.seconds = path, memory, seconds
        limits = [str(number) for number in (memory, ANSWER_BYTES, seconds)]
        self._process = subprocess.Popen(
            [sys.executable, "-P", str(_PROGRAM), kind, os.path.abspath(path), *limits],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self._end = weakref.finalize(self, _end, self._process)
        facts = self._ask("facts")
        self._vocabulary: dict[str, int] = facts["vocabulary"]
        self.unk_token_id: int | None = facts["unk_id"]
        self._normalizes: bool = facts["normalizes"]

    @property
    def name_or_path(self) -> str:
        return str(self.path)

    @property
    def backend_tokenizer(self) -> "GuardedTokenizer":
        return self

    def no_truncation(self) -> None:
        """Nothing to do: the process has switched it off."""

    def no_padding(self) -> None:
        """Nothing to do: the process has switched it off."""

    def get_vocab(self, with_added_tokens: bool = True) -> dict[str, int]:
        """Token to id, added tokens among them."""
        return self._vocabulary

    def token_to_id(self, token: str) -> int | None:
        return self._vocabulary.get(token)

    def to_str(self) -> str:
        return self._ask("definition")

    def pipeline(self) -> dict[str, Any]:
        """The definition, as in a tokenizer.json, without the model's vocabulary."""
        return self._ask("pipeline")

    def normalize_batch(self, lines: Sequence[str]) -> list[str]:
        """Every line normalised; unchanged where the tokenizer has no normaliser."""
        return self._ask("normalize_batch", lines)

    def encode_normalized(self, lines: Sequence[str]) -> list[list[int]]:
        """The ids of every line, which is taken as normalised already; no special tokens added."""
        return self._ask("normalized_ids", lines)

    @property
    def normalizer(self) -> "GuardedTokenizer | None":
        return self if self._normalizes else None

    def normalize_str(self, text: str) -> str:
        return self._ask("normalize", text)

    def encode_batch_fast(self, lines: Sequence[str], add_special_tokens: bool = False) -> list[Encoding]:
        """Only the ids of every line."""
        return [Encoding(ids, [], [], []) for ids in self._ask("ids", lines)]

    def encode_batch(self, lines: Sequence[str], add_special_tokens: bool = False) -> list[Encoding]:
        return [Encoding(*entry) for entry in self._ask("encodings", lines)]

    def decode_batch(self, ids: Sequence[Sequence[int]], skip_special_tokens: bool = False) -> list[str]:
        """The text of the ids of every line, special tokens included."""
        return self._ask("texts", ids)

    def encode(self, text: str, pair: str | None = None, add_special_tokens: bool = True) -> Encoding:
        """Of a pair of texts, or without special tokens."""
        if pair is not None:
            return Encoding(*self._ask("pair", [text, pair]))
        return self.encode_batch([text])[0]

    def _ask(self, method: str, argument: Any = None) -> Any:
        request = orjson.dumps([method, argument])
        try:
            self._process.stdin.write(len(request).to_bytes(8, "little") + request)
            self._process.stdin.flush()
            size = int.from_bytes(self._process.stdout.read(8), "little")
            answer = self._process.stdout.read(size) if 0 < size <= ANSWER_BYTES else b""
        except BrokenPipeError:
            answer = b""
        if not answer:
            raise VocapError(f"{self.path}: {self._death()}; {REMEDY}")
        good, value = orjson.loads(answer)
        if not good:
            raise VocapError(f"{self.path}: not a usable Hugging Face tokenizer ({value}); {REMEDY}")
        return value

    def _death(self) -> str:
        """The end of the process, in words."""
        status = self._process.wait()
        if status == -signal.SIGXCPU:
            return f"it took more than {self.seconds} s of processor time, and as many for each MiB of text"
        if status in (-signal.SIGKILL, -signal.SIGABRT):
            return f"it needs more than {self.memory >> 20} MiB of memory, or its library crashes"
        name = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        return f"its library crashes ({name})"


def _end(process: subprocess.Popen) -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):  # a request that was not taken
            pipe.close()
