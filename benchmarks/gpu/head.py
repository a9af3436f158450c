"""The output layer alone, forward and backward: milliseconds, memory, share of the
device's peak, roofline.
"""

from functools import partial
from typing import Any

import numpy as np
import torch

from vocap.pretraining.losses.interface import fastest_softmax_loss, softmax_loss

from .heads import Head, heads, special_ids, zipf
from .sizes import Sizes
from .table import Table
from .timing import copy_gb_per_s, free_memory, median_ms, peak_gib, product_tflops

HELD = 2**36  # bytes of logits, their copy in float32 and their gradient: more is not tried
# heads whose operations are 6 N U d
COUNTED = (
    "full",
    "k-NN",
    "target",
    "NCE",
    "NEG",
    "sampled",
    "uniform",
)


def run(table: Table, sizes: Sizes, device: str) -> None:
    """The two ceilings, then every head at every V, d and N."""
    table.measure(lambda: {"gb_per_s": copy_gb_per_s(device, sizes.copied)}, what="copy")
    table.measure(
        lambda: {"tflops": product_tflops(device, sizes.product, dtype_of(device))}, what="product"
    )
    for width in sizes.widths:
        for vocabulary in sizes.vocabularies:
            _table(table, sizes, device, vocabulary, width)


def dtype_of(device: str) -> torch.dtype:
    """The type of the products: float32 on a CPU, whose bfloat16 may be emulated."""
    return torch.bfloat16 if device == "cuda" else torch.float32


def _table(table: Table, sizes: Sizes, device: str, vocabulary: int, width: int) -> None:
    """The rows of one W."""
    cases = [
        (targets, head)
        for targets in sizes.targets
        for head in heads(sizes, batch_fits=10 * targets * vocabulary < HELD)
    ]
    at = {"what": "head", "V": vocabulary, "d": width}
    if not table.lacks({**at, "N": targets, "head": head.name} for targets, head in cases):
        return
    free_memory(device)
    generator = torch.Generator(device).manual_seed(0)
    weight = (
        torch.empty(vocabulary, width, device=device)
        .normal_(0, 0.02, generator=generator)
        .requires_grad_()
    )
    bias = torch.zeros(vocabulary, device=device, requires_grad=True)
    for targets, head in cases:
        free_memory(device)
        call = partial(measure, head, weight, bias, targets, table)
        table.measure(call, **at, N=targets, head=head.name)
        weight.grad = bias.grad = None


def measure(
    head: Head, weight: torch.Tensor, bias: torch.Tensor, count: int, table: Table
) -> dict[str, Any]:
    """One row. `loss`, nats a target, is equal for all exact kernels."""
    device, (vocabulary, width) = weight.device.type, weight.shape
    hidden = torch.randn(
        count, width, device=device, generator=torch.Generator(device).manual_seed(1)
    )
    hidden.requires_grad_()
    targets = zipf(vocabulary, (count,), np.random.default_rng(2)).to(device)
    loss = head.build(weight.detach(), special_ids(vocabulary))

    def clear() -> None:
        hidden.grad = weight.grad = bias.grad = None

    def step():
        clear()
        loss.calls = 0
        with torch.autocast(device, dtype=dtype_of(device), enabled=device == "cuda"):
            output = loss(hidden, weight, bias, targets)
        (output.loss / count).backward()
        return output

    output = step()
    row = {"candidates": output.candidates, "loss": output.loss.item() / count}
    if head.name.startswith("full, chunk"):
        row["compiled"] = fastest_softmax_loss(device) is not softmax_loss
    del output
    row["ms"] = median_ms(step, device)
    clear()
    row["memory_gib"] = peak_gib(step, device)
    if head.name.startswith(COUNTED):
        row |= limits(row["ms"], count, row["candidates"], vocabulary, width, table)
    return row


def limits(
    ms: float, count: int, candidates: float, vocabulary: int, width: int, table: Table
) -> dict[str, float]:
    """Share of the measured peak, and the roofline: 6 N U d operations, or W's rows
    read and its gradient written.

    The gradient of W is dense, float32, in every head.
    """
    operations, moved = 6 * count * candidates * width, 4 * (candidates + vocabulary) * width
    peaks = {row["what"]: row for row in table.measured() if row["what"] in ("copy", "product")}
    if len(peaks) < 2:
        return {}
    compute_ms = operations / peaks["product"]["tflops"] / 1e9
    return {
        "share_of_peak": compute_ms / ms,
        "roofline_ms": max(compute_ms, moved / peaks["copy"]["gb_per_s"] / 1e6),
    }
