"""`vocap code-length`: the bits of lines of text under any causal language model, each
line by itself.

A line is the start token (the begin token, or the end token where a tokenizer has
none), its tokens and the end token. Its bits are the sum of -log2 p of every token
behind the first, the end token's too, and 8 for each UTF-8 byte of its unknown
characters, beside `<unk>`. p is the softmax over the ids that a text can have: special
tokens but the end and `<unk>` are left out. It is a code length of the line if the
tokenizer is lossless, else of the normalised line.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import transformers

from vocap.errors import VocapError
from vocap.files.io import file_sha256, write_tsv
from vocap.model_folder import (
    REMEDY,
    foreign_model,
    is_causal,
    longest_input,
    read_config,
    weight_files,
)
from vocap.pretraining.data import SpecialIds
from vocap.pretraining.tokenizing import load_block_tokenizer
from vocap.progress import Steps
from vocap.tables.bits_per_byte import CODE_LENGTH, bits_per_byte, causal_bits, with_unknown_bytes
from vocap.tables.line_bits import write_lengths
from vocap.text_files.text import text_blocks
from vocap.tokenizer_files import EXPORTED
from vocap.tokenizer_files.encoders import Encoder, is_lossless, unknown_bytes
from vocap.training.distributed import own_device

HELD = 2**27  # bytes of logits that are held at once; their softmax takes as much again
LONGEST = 1024  # ids of an input of a model whose configuration does not bound them
COLUMNS = ("language", "part", "lines", "tokens", "bytes", "unknown_bytes", "bits", "bits_per_byte")


@dataclass(frozen=True)
class CausalModel:
    """A model with its tokenizer; `longest`: the most ids of an input."""

    model: transformers.PreTrainedModel
    encoder: Encoder
    special: SpecialIds
    longest: int


def load_causal(folder: Path, device: torch.device) -> CausalModel:
    """A causal model of a Hugging Face folder, float32, with its tokenizer.json; no
    code there is run.

    Raises VocapError for a folder without either, for another kind of model, and for
    weights that are damaged or no safetensors.
    """
    config = read_config(folder)
    definition = folder / EXPORTED[0]
    if not is_causal(config):
        raise VocapError(
            f"{folder}: no causal model, which alone has a code length; name the folder of one"
        )
    weight_files(folder)  # others may run code
    encoder, special = load_block_tokenizer(definition, file_sha256(definition))
    transformers.utils.logging.disable_progress_bar()  # of the weights, in the middle of ours
    with foreign_model(folder, "no usable model", REMEDY):
        model = transformers.AutoModelForCausalLM.from_pretrained(
            folder,
            dtype=torch.float32,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
        )
    # torch types what a module holds as a tensor or a module
    rows = model.get_input_embeddings().weight.shape[0]  # type: ignore[index]
    if rows < encoder.size:
        raise VocapError(
            f"{folder}: a model of {rows} rows for a tokenizer of {encoder.size} ids; take its own"
        )
    return CausalModel(model.eval().to(device), encoder, special, longest_input(config) or LONGEST)


def prediction_windows(length: int, longest: int) -> Iterator[tuple[int, int, int]]:
    """(start, end, first) of the inputs of `length` ids: of each the ids from `first`
    on are predicted.

    One where it fits; else windows of `longest` ids, so that every id has half of them
    or more before it.

    >>> list(prediction_windows(5, 8)), list(prediction_windows(11, 8))
    ([(0, 5, 1)], [(0, 8, 1), (3, 11, 8)])
    """
    end = min(length, longest)
    yield 0, end, 1
    while end < length:
        first, end = end, min(length, end + longest // 2)
        yield end - longest, end, first


@torch.no_grad()
def token_bits(found: CausalModel, lines: Sequence[Sequence[int]]) -> np.ndarray:
    """-log2 p summed over the ids of each line but its first, float64 [lines]."""
    model, bits = found.model, np.zeros(len(lines))
    inputs = [
        (row, *span)
        for row, ids in enumerate(lines)
        for span in prediction_windows(len(ids), found.longest)
    ]
    inputs.sort(key=lambda one: one[2] - one[1], reverse=True)  # the longest first: little padding
    never = torch.tensor(
        found.special.never_predicted(causal=True), dtype=torch.int64, device=model.device
    )
    while inputs:
        # inputs side by side, padded behind, which no position before it sees
        width = inputs[0][2] - inputs[0][1]
        count = 1 + HELD // (4 * width * found.encoder.size)
        batch, inputs = inputs[:count], inputs[count:]
        ids = np.full((len(batch), width), found.special.padding, np.int64)
        predicted = np.zeros((len(batch), width), bool)
        for place, (row, start, end, begin) in enumerate(batch):
            ids[place, : end - start] = lines[row][start:end]
            predicted[place, begin - start : end - start] = True
        given = torch.from_numpy(ids).to(model.device)
        asked = torch.from_numpy(predicted).to(model.device)
        # the bits of the predicted ones
        logits = model(input_ids=given, use_cache=False).logits[:, :-1][asked[:, 1:]].float()
        logits[:, never] = -torch.inf
        own = logits.gather(1, given[asked][:, None])[:, 0]
        nats = (torch.logsumexp(logits, 1) - own).double().cpu().numpy()
        rows = np.repeat([row for row, *_ in batch], predicted.sum(1))
        bits += causal_bits(nats, rows, len(lines))
    return bits


def code_lines(found: CausalModel, lines: Sequence[str]) -> tuple[np.ndarray, int, int]:
    """Bits and UTF-8 bytes of each line, float64 [2, lines]; tokens predicted, and
    bytes of unknown characters.
    """
    ids = found.encoder.encode_batch(list(lines))
    special = found.special
    unknown = np.array(unknown_bytes(found.encoder, lines, ids), np.int64)
    bits = token_bits(found, [[special.start, *row, special.eos] for row in ids])
    bits = with_unknown_bytes(bits, unknown)
    size = np.array([len(line.encode()) for line in lines], float)
    return np.stack([bits, size]), sum(map(len, ids)) + len(ids), int(unknown.sum())


def spread_lines(path: str | Path, most: int, aligned: bool = False) -> list[str]:
    """Lines spread evenly over a file, at most `most`, without empty ones: the same for
    every model.

    Of parallel files (`aligned`) they have the same numbers. Documents have their line
    ends.
    """
    lines = [line for block in text_blocks(path, aligned)() for line in block]
    count = min(most, len(lines))
    chosen = [lines[number * len(lines) // count] for number in range(count)]
    return [line for line in chosen if line.strip()]


def measure_code_length(
    folder: Path, texts: Mapping[tuple[str, str], str | Path], most: int, threads: int, output: Path
) -> tuple[str, Mapping[str, float]]:
    """Write the table `output`, and beside it the bits and bytes of each line (`.npz`).

    `texts`: files by part ("heldout", "parallel") and language, of which `most` lines
    each are measured. Returns the name of the measure, and bits per byte of each part
    as a whole.
    """
    torch.set_num_threads(threads)
    rows, lengths, sums = [], {}, {part: np.zeros(2) for part, _ in texts}
    with own_device() as device, Steps("code lengths", len(texts)) as steps:
        found = load_causal(folder, device)
        for (part, code), path in texts.items():
            lines = spread_lines(path, most, part == "parallel")
            lengths[part, code], tokens, unknown = code_lines(found, lines)
            sums[part] += (own := lengths[part, code].sum(1))
            bits, size = own.tolist()
            quotient = bits_per_byte(lengths[part, code])
            rows.append((code, part, len(lines), tokens, int(size), unknown, bits, quotient))
            steps.advance()
    output.parent.mkdir(parents=True, exist_ok=True)
    write_lengths(output.with_suffix(".npz"), lengths)
    write_tsv(output, COLUMNS, rows)
    parts = {part: bits / max(1, size) for part, (bits, size) in sums.items()}
    return CODE_LENGTH[is_lossless(found.encoder)], parts
