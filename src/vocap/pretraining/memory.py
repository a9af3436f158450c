"""What a training will need, before it starts: bytes on the device, from the shape, the loss and the batch."""

from vocap.pretraining.loss_settings import Full, Knn, LossSettings, Target
from vocap.pretraining.shapes import Shape

FLOAT = 4
ACTIVATIONS = 34  # bytes a token, layer and unit of the hidden width in 16 bits (Korthikanti et al. 2022, 4.1)


def estimate_memory(
    shape: Shape,
    vocabulary: int,
    loss: LossSettings,
    *,
    sequences: int,
    length: int,
    masked: int,
    half: bool = False,
) -> dict[str, int]:
    """Bytes by part, of one device: weights, gradients, moments, activations, head, index.

    `sequences` blocks of `length` tokens and `masked` targets in a micro-batch; `half`: products run in 16 bits.
    Weights, gradients and both moments of Adam are float32. The head's share is its logits and the rows of W that
    it copies, with a finish the larger of both losses'. A rough figure: leave room.
    """
    parameters = count_parameters(shape, vocabulary)
    width = 2 if half else FLOAT
    heads = [loss, Full()] if getattr(loss, "finish", 0) else [loss]
    return {
        "weights": parameters * FLOAT,
        "gradients": (parameters + vocabulary * shape.width) * FLOAT,
        "moments": 2 * parameters * FLOAT,
        "activations": ACTIVATIONS * shape.hidden * shape.layers * sequences * length * width // 2,
        "head": max(_head(head, vocabulary, shape.width, masked, half) for head in heads),
        "index": 4 * vocabulary * loss.k if isinstance(loss, Knn) else 0,
    }


def _head(loss: LossSettings, vocabulary: int, width: int, masked: int, half: bool) -> int:
    """Bytes of logits and of copied rows of W; |V'| of k-NN is taken as large as k and the targets allow."""
    size = 2 if half else FLOAT
    candidates = {
        Full: lambda: vocabulary,
        Knn: lambda: min(vocabulary, (loss.k + 1) * masked + loss.uniform),
        Target: lambda: min(vocabulary, max(loss.tau, masked)),
    }.get(type(loss), lambda: min(vocabulary, loss.negatives + masked))()
    if isinstance(loss, Full):
        held = masked if loss.kernel == "eager" else min(masked, loss.chunk)
        rows = vocabulary if half else 0
    else:
        held = min(masked, max(1, 2**28 // candidates))
        rows = candidates
    return held * candidates * (2 * size + 2 * FLOAT) + rows * width * (size + FLOAT)


def count_parameters(shape: Shape, vocabulary: int) -> int:
    """Parameters of `build_model(shape, vocabulary)`, without building it."""
    hidden, width = shape.hidden, shape.width
    layer = (
        4 * (hidden + 1) * hidden + 2 * 2 * hidden + 2 * hidden * shape.intermediate + shape.intermediate + hidden
    )
    if width == hidden:
        positions, projections = shape.positions + 2, 0
    else:
        positions, projections = shape.positions, (width + 1) * hidden
    head = (hidden + 1) * width + 2 * width
    return vocabulary * (width + 1) + (positions + 1 + 2) * width + projections + shape.layers * layer + head
