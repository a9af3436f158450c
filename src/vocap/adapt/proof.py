"""The proof of a written model: on text whose ids are mapped one by one, it gives the
outputs of the old one.
"""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from vocap.adapt.model_rows import ModelFiles, ModelSize
from vocap.errors import VocapError
from vocap.model_folder import WITHOUT, foreign_model

LIMIT = 1e-4  # of the largest absolute output
LINES, LONGEST = 8, 30  # lines that are compared, and ids of each
TEXT = {"input_ids", "decoder_input_ids"}  # arguments that are ids
MASKED = 1e30  # values beyond are no outputs, but mark ids that are never to be given


@dataclass(frozen=True)
class Proof:
    """The largest difference of an output, and the largest absolute one, over `lines`
    lines; `size`: of the written model.
    """

    output: str
    lines: int
    difference: float
    largest: float
    size: ModelSize


def prove(
    old: ModelFiles, written: Path, number: Mapping[int, int], lines: Sequence[Sequence[int]]
) -> Proof:
    """Compare the outputs of the model in the folder `written` with those of the old
    one, in float32; one of them is in memory at a time.

    The outputs are the logits of the ids that both have, or else the last hidden states.
    `number`: old to new ids; `lines`: old ids. Raises VocapError, naming the class, where
    they differ by more than `LIMIT`.
    """
    step = -(-len(lines) // LINES) or 1
    # without a line whose tokens all stay, ids alone
    given = [line[:LONGEST] for line in lines[::step]] or [list(number)[-LONGEST:]]
    ends = (old.config.get(name) for name in ("eos_token_id", "pad_token_id"))
    tail = [one for one in ends if isinstance(one, int) and one in number]
    given = [[*line, *tail] for line in given]
    model = old.load(dtype=torch.float32)
    name, before = _outputs(model, old.folder, given, list(number), old.total)
    del model
    model = old.load(written, torch.float32)
    renamed = [[number[one] for one in line] for line in given]
    total = len(model.get_input_embeddings().weight)
    _, after = _outputs(model, old.folder, renamed, list(number.values()), total)
    difference, sizes = float("inf"), before.abs()
    if before.shape == after.shape:
        difference = (before - after).abs().masked_fill(before == after, 0).max().item()
    largest = sizes.masked_fill(sizes > MASKED, 0).max().item()
    if not difference <= LIMIT * largest:  # also for no number
        raise VocapError(
            f"{old.folder}: {old.kind.__name__} with other ids gives other {name}: by up to "
            f"{difference:.2g}, the largest being {largest:.2g}; its outputs depend on ids in "
            f"a manner that is not known here; {WITHOUT}"
        )
    return Proof(name, len(given), difference, largest, ModelSize.of(model, written))


def _outputs(
    model: Any,
    folder: Path,
    lines: Sequence[Sequence[int]],
    columns: Sequence[int],
    total: int,
) -> tuple[str, torch.Tensor]:
    """The name of the first output of a model, and its values for all lines, float32 [n];
    of logits of `total` ids, the `columns`.
    """
    accepted, found, name = inspect.signature(model.forward).parameters, [], ""
    with foreign_model(folder, f"{type(model).__name__} gives no outputs for ids", WITHOUT):
        for line in lines:
            ids = torch.tensor([line])
            inputs: dict[str, Any] = dict.fromkeys(TEXT & accepted.keys(), ids)
            with torch.random.fork_rng([]), torch.inference_mode():
                torch.manual_seed(0)
                if "input_ids" not in accepted:  # an encoder of sound or images
                    width = getattr(model.config, "encoder", model.config).hidden_size
                    inputs["encoder_outputs"] = (torch.randn(1, len(line), width),)
                name, values = next(iter(model(**inputs, return_dict=True).items()))
            if name.endswith("logits") and values.shape[-1] == total:
                values = values[..., torch.tensor(columns)]
            found.append(values.float().flatten())
    return name.replace("_", " "), torch.cat(found)
