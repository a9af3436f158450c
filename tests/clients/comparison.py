"""Each client's ids, texts and special tokens beside those of the library `tokenizers`,
of the version that this project is tested with.
"""

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from tokenizers import Tokenizer

from tests.clients.environments import prepare, run_program
from tests.clients.tokenizers import HERE
from vocap.files.io import read_object, write_json

CLIENTS: dict[str, dict[str, Any]] = yaml.safe_load((HERE / "clients.yaml").read_text("utf-8"))
PLAIN = ("sentencepiece", "tiktoken", "gguf")  # forms in which names of special tokens are text

Files = Mapping[str, Mapping[str, str]]  # tokenizer to form to file


@dataclass
class Result:
    """One client on one tokenizer: `error`, or the lines whose ids or text differ."""

    error: str = ""
    ids: list[str] = field(default_factory=list)
    text: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def right(self) -> bool:
        return not (self.error or self.ids or self.text)


def known(client: str, tokenizer: str) -> dict[str, str] | None:
    """The entry of `differs` for a tokenizer, if the client is known to read it
    otherwise.
    """
    entries = CLIENTS[client].get("differs", ())
    return next((one for one in entries if re.fullmatch(one["tokenizers"], tokenizer)), None)


def unexpected(client: str, tokenizer: str, result: Result) -> bool:
    """Whether the client differs where it is not known to, or no longer where it is."""
    entry = known(client, tokenizer)
    if entry is None:
        return not result.right
    if entry.get("only") == "text":
        return bool(result.error or result.ids or not result.text)
    return result.right


def compare(client: str, files: Files, lines: Sequence[str]) -> tuple[str, dict[str, Result]]:
    """The client's version, and its result for each tokenizer whose form it reads.

    Raises NotInstalledError where it cannot be installed.
    """
    entry = CLIENTS[client]
    if without := entry.get("without"):
        lines = [line for line in lines if not re.search(without, line)]
    alone = entry.get("alone", ())
    environment = prepare(client, entry["language"], entry["packages"], alone)
    read = {name: dict(forms) for name, forms in files.items() if entry["files"] in forms}
    with tempfile.TemporaryDirectory() as folder:
        request, answer = Path(folder, "request.json"), Path(folder, "answer.json")
        write_json(request, {"tokenizers": read, "lines": list(lines)})
        program = HERE / "programs" / entry["program"]
        run_program(environment, entry["language"], program, request, answer)
        found = read_object(answer)
    results = {}
    for name, given in found["results"].items():
        right = expected(read[name]["huggingface"], lines, entry["files"] in PLAIN)
        results[name] = differences(given, lines, *right)
    return found["version"], results


def expected(
    folder: str, lines: Sequence[str], plain: bool
) -> tuple[list[list[int]], list[str], int | None]:
    """Ids, decoded text and the unknown id by `tokenizers`; `plain`: special tokens are
    not looked for.
    """
    tokenizer = Tokenizer.from_file(f"{folder}/tokenizer.json")
    tokenizer.encode_special_tokens = plain
    ids = [row.ids for row in tokenizer.encode_batch(list(lines), add_special_tokens=False)]
    decoded = [tokenizer.decode(row, skip_special_tokens=False) for row in ids]
    return ids, decoded, tokenizer.token_to_id("<unk>")


def differences(
    given: Mapping[str, Any],
    lines: Sequence[str],
    ids: Sequence[Sequence[int]],
    decoded: Sequence[str],
    unknown: int | None,
) -> Result:
    """The lines for which a client's answer is another one; text is compared where no
    token is `unknown`.
    """
    if "error" in given:
        return Result(error=given["error"])
    result = Result(facts=given.get("facts", {}))
    result.ids = [
        line for line, one, other in zip(lines, ids, given["ids"], strict=True) if one != other
    ]
    if texts := given.get("decoded"):
        pairs = zip(lines, ids, decoded, texts, strict=True)
        # SentencePiece writes U+2047 for an unknown token
        result.text = [
            line for line, row, one, other in pairs if one != other and unknown not in row
        ]
    return result
