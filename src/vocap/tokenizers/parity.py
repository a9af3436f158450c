"""SentencePiece's form of a tokenizer and Hugging Face's, line by line."""

import zlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vocap.errors import VocapError, log
from vocap.progress import Steps
from vocap.text_files.records import read_blocks
from vocap.text_files.text import keep_short
from vocap.tokenizer_files.encoders import HuggingFaceEncoder, parse_encoder
from vocap.tokenizer_files.model_file import CONTROL, build_processor, parse_model
from vocap.tokenizers.evaluation import Differences, shared_prefix

if TYPE_CHECKING:
    from sentencepiece.sentencepiece_model_pb2 import ModelProto

PARITY_COLUMNS = ("language", "lines", "identical", "share", "example")
PARITY_KINDS = ("normaliser", "special token", "unknown", "tie", "score")
LEAST_SHARE = 0.999  # of the lines of every language
# lines in all; or lines of each language, of so many languages
SAMPLE, OF_MANY, MANY = 10_000, 1_000, 10
_ROUNDING = 0.01  # nats: the largest error of float32 sums of a long line
_SHOWN = 8  # pieces of an example on each side
_LINE = 60  # characters of its line


def compare_forms(
    tokenizer: str | Path, corpora: str | Path, languages: Sequence[str], sample: int, seed: int = 0
) -> dict[str, Differences]:
    """The lines of each language whose ids differ between the two forms.

    Parameters
    ----------
    tokenizer
        Folder with sentencepiece.model and huggingface/.
    corpora
        Folder with {language}/train.txt and heldout.txt.
    sample, seed
        Lines of each language, and what they follow from.

    Raises
    ------
    VocapError
        For forms that are missing, or of different numbers of ids.
    """
    forms = TokenizerForms.load(tokenizer)
    results = {}
    with Steps("parity", len(languages)) as steps:
        for code in languages:
            found = forms.compare(sampled_blocks(Path(corpora) / code, sample, seed))
            results[code] = found
            if found.lines and found.identical < LEAST_SHARE * found.lines:
                share = 100 * found.identical / found.lines
                log.warning("%s: only %.3f %% of the lines are identical", code, share)
            steps.advance()
    return results


class TokenizerForms:
    """SentencePiece's model and its export, side by side."""

    def __init__(
        self, proto: "ModelProto", encoder: HuggingFaceEncoder, name: str | Path = "the model"
    ):
        self.proto, self.encoder, self.processor = proto, encoder, build_processor(proto, name)
        if (size := len(encoder.ids)) != len(proto.pieces):
            raise VocapError(
                f"the export has {size} ids, the model {len(proto.pieces)}; run vocap export again"
            )

    @classmethod
    def load(cls, folder: str | Path) -> "TokenizerForms":
        """From `sentencepiece.model` and `huggingface/` of a tokenizer's folder, both
        parsed, never executed.
        """
        path = Path(folder) / "huggingface" / "tokenizer.json"
        if not path.exists():
            raise VocapError(f"{path}: no such file; run vocap export first")
        model = Path(folder) / "sentencepiece.model"
        return cls(parse_model(model), parse_encoder(path.read_bytes(), path), model)

    def compare(self, blocks: Iterable[list[str]]) -> Differences:
        """Ids of every line from both, without special tokens; one block of lines is
        held at a time.
        """
        result = Differences()
        for lines in filter(None, blocks):
            wanted = self.processor.encode(lines, num_threads=1)
            result.lines += len(lines)
            given = self.encoder.encode_with_all_steps(lines)
            for line, ids, others in zip(lines, wanted, given, strict=True):
                if ids != others:
                    result.add(self.kind(line, ids, others), self.show(line, ids, others))
        return result

    def kind(self, line: str, wanted: list[int], given: list[int]) -> str:
        """The reason for a line that differs.

        `normaliser`: the normalised texts differ; `special token`: the export found one
        in the text; `unknown`: another number of unknown characters; `tie`: another
        path of the same score; `score`: of another score.
        """
        normalizer = self.encoder.tokenizer.normalizer
        if normalizer and normalizer.normalize_str(line) != self.processor.normalize(line):
            return "normaliser"
        if any(self.proto.pieces[number].type == CONTROL for number in given):
            return "special token"
        unknown = self.processor.unk_id()
        if wanted.count(unknown) != given.count(unknown):
            return "unknown"
        own, other = (sum(map(self.processor.get_score, ids)) for ids in (wanted, given))
        return "tie" if abs(own - other) < _ROUNDING else "score"

    def show(self, line: str, wanted: list[int], given: list[int]) -> str:
        """The line, shortened, and both splits from two pieces before their first
        difference on.
        """
        start = max(shared_prefix(wanted, given) - 2, 0)
        end = start + _SHOWN
        both = []
        for ids in (wanted, given):
            shown = [self.processor.id_to_piece(number) for number in ids[start:end]]
            if start:
                shown.insert(0, "…")
            if end < len(ids):
                shown.append("…")
            both.append(" ".join(shown))
        text = line if len(line) <= _LINE else line[:_LINE] + "…"
        return f"“{text}”: {both[0]} | {both[1]}"


def lines_of_each(languages: int) -> int:
    """How many lines of each language are compared: fewer where there are many
    languages.
    """
    return OF_MANY if languages >= MANY else SAMPLE // languages


def sampled_blocks(folder: Path, sample: int, seed: int) -> Iterator[list[str]]:
    """At most `sample` lines of heldout.txt and train.txt in `folder`, which follow
    from `seed` and its name.
    """
    paths = folder / "heldout.txt", folder / "train.txt"
    read = keep_short(lambda: chain.from_iterable(map(read_blocks, paths)))
    total = sum(map(len, read()))
    chosen = choose_lines(total, sample, seed, folder.name)
    first = 0
    for lines in read():
        low, high = np.searchsorted(chosen, (first, first + len(lines)))
        yield [line for number in chosen[low:high].tolist() if (line := lines[number - first])]
        first += len(lines)


def choose_lines(total: int, count: int, seed: int, name: str) -> NDArray[np.int64]:
    """`count` of the numbers below `total` (all, if there are no more), rising, drawn
    by `seed` and `name`.
    """
    if count >= total:
        return np.arange(total)
    generator = np.random.Generator(np.random.Philox([seed, zlib.crc32(name.encode("utf-8"))]))
    return np.sort(generator.choice(total, count, replace=False, shuffle=False))
