"""Memory of a training: its estimate by part, and its comparison with the memory of the device."""

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

from vocap.errors import UsageError
from vocap.pretraining.batches import SHARE
from vocap.pretraining.loss_kinds import Full
from vocap.pretraining.settings import Recipe, Shape

if TYPE_CHECKING:
    import torch

FLOAT = 4
ACTIVATIONS = 34  # bytes a token, layer and unit of the hidden width in 16 bits (Korthikanti et al. 2022, 4.1)
OVERHEAD = 500_000_000  # bytes of Python, torch and the batches, measured on a CPU: 460 MB
log = logging.getLogger(__name__)


def estimate_memory(recipe: Recipe, vocabulary: int, length: int, half: bool = False) -> dict[str, int]:
    """Bytes by part, of one device: weights, gradients, moments, activations, head, index.

    `length`: tokens of a block; `half`: products run in 16 bits. Weights, gradients and both moments of Adam are
    float32. The head's share is its logits and the rows of W that it copies, with a finish the larger of both
    losses'. A rough figure.
    """
    shape, loss, blocks = recipe.shape, recipe.loss, recipe.micro_batch
    parameters = count_parameters(shape, vocabulary)
    width = 2 if half else FLOAT
    masked = int(SHARE * blocks * length) + blocks
    heads = [loss, Full()] if loss.full_softmax_fraction else [loss]
    return {
        "weights": parameters * FLOAT,
        "gradients": (parameters + vocabulary * shape.width) * FLOAT,
        "moments": 2 * parameters * FLOAT,
        "activations": ACTIVATIONS * shape.hidden * shape.layers * blocks * length * width // 2,
        "head": max(head.head_bytes(vocabulary, shape.width, masked, half) for head in heads),
        "index": loss.index_bytes(vocabulary),
    }


def count_parameters(shape: Shape, vocabulary: int) -> int:
    """Parameters of `build_model(shape, vocabulary)`, tied ones once."""
    hidden, width = shape.hidden, shape.width
    if width == hidden:
        positions, projections = shape.positions + 2, 0
    else:
        positions, projections = shape.positions, (width + 1) * hidden
    head = (hidden + 1) * width + 2 * width
    return vocabulary * (width + 1) + (positions + 1 + 2) * width + projections + layer_parameters(shape) + head


def layer_parameters(shape: Shape) -> int:
    """Parameters of all transformer layers: products with their biases, two LayerNorms each."""
    hidden, wide = shape.hidden, shape.intermediate
    return shape.layers * (4 * (hidden + 1) * hidden + 2 * 2 * hidden + 2 * hidden * wide + wide + hidden)


def paper_parameters(shape: Shape, vocabulary: int) -> int:
    """Parameters without the row of token types, which Hugging Face adds to XLM-R; "265M" is 265 * 2**20."""
    return count_parameters(shape, vocabulary) - shape.width


def check_memory(recipe: Recipe, vocabulary: int, length: int, device: "torch.device", half: bool) -> None:
    """Log the memory that a run needs; raises UsageError where the device, or this process, has less.

    `length`: tokens of the longest block; `half`: products run in 16 bits.
    """
    parts = estimate_memory(recipe, vocabulary, length, half)
    needed = sum(parts.values()) + OVERHEAD
    there = available_bytes(device)
    detail = ", ".join(f"{name} {size / 1e9:.2f}" for name, size in parts.items())
    log.info("needs about %.1f GB of %.1f GB on %s (%s)", needed / 1e9, there / 1e9, device, detail)
    if needed > there:
        raise UsageError(
            f"this run needs about {needed / 1e9:.1f} GB and {device} has {there / 1e9:.1f} GB free ({detail}); "
            f"most of it is {max(parts, key=parts.__getitem__)}: make micro_batch, the vocabulary or the shape "
            "smaller, or pass --no-memory-check"
        )


def available_bytes(device: "torch.device") -> int:
    """Bytes available to this process: of the GPU, or its share of the machine."""
    if device.type == "cuda":
        import torch  # the estimate alone needs none

        return torch.cuda.mem_get_info(device)[0]
    lines = Path("/proc/meminfo").read_text("ascii").splitlines()
    free = next(int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:"))
    return free // int(os.environ.get("LOCAL_WORLD_SIZE", 1))  # torchrun's processes of this node
