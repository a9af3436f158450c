"""Whole training steps of the paper's models: encoder, head and optimizer, by loss."""

import itertools
import statistics
from functools import partial

import numpy as np
import torch
from torch import Tensor

from vocap.pretraining.losses import exact_loss
from vocap.pretraining.losses.interface import Loss
from vocap.pretraining.losses.knn import NeighbourIndex
from vocap.pretraining.model import MaskedLanguageModel, build_language_model
from vocap.pretraining.settings import Recipe, Shape, count_parameters
from vocap.training.loop import build_optimizer

from .head import dtype_of
from .heads import EVERY, Head, heads, special_ids, zipf
from .sizes import Sizes
from .table import Table
from .timing import TURNS, WARM_UP, Clock, free_memory, median_ms

MASKED = 0.15
FEW = ("free", "full", "k-NN k=50")  # heads of the models after the first


def run(table: Table, sizes: Sizes, device: str) -> None:
    """Every head of the first model; of the others the free one, the exact ones and
    k-NN.
    """
    for place, (vocabulary, width) in enumerate(sizes.models):
        chosen = [head for head in heads(sizes) if not place or head.name.startswith(FEW)]
        at = {"V": vocabulary, "d": width}
        names = ["refresh of the index", "exact loss", *(head.name for head in chosen)]
        if not table.lacks({**at, "head": name} for name in names):
            continue
        free_memory(device)
        shape = shape_of(sizes, width)
        torch.manual_seed(0)
        with torch.device(device):
            model = build_language_model(shape, vocabulary)
        model.train()
        optimizer = build_optimizer(model, 1e-6, Recipe())
        weight, bias = model.decoder_weight, model.decoder_bias
        table.measure(partial(measure_refresh, weight.detach()), needs_s=60, **at, head=names[0])
        table.measure(partial(measure_exact, weight, bias, sizes), **at, head=names[1])
        for head in chosen:
            free_memory(device)
            call = partial(measure, head, model, optimizer, sizes)
            table.measure(
                call,
                needs_s=20,
                **at,
                head=head.name,
                parameters=count_parameters(shape, vocabulary),
            )
            optimizer.zero_grad()
        del model, optimizer, weight, bias


def shape_of(sizes: Sizes, width: int) -> Shape:
    """Transformer layers of 64 units a head, and an embedding table of `width`."""
    return Shape(
        layers=sizes.layers,
        hidden=sizes.hidden,
        heads=max(1, sizes.hidden // 64),
        intermediate=4 * sizes.hidden,
        embedding_size=width,
        positions=sizes.length,
    )


def measure_refresh(weight: Tensor) -> dict[str, float]:
    """Seconds of one whole index, k = 50, after one to warm up."""
    words = torch.arange(4, len(weight) - 1, device=weight.device)
    index = NeighbourIndex(len(weight), words, 50, EVERY)
    index.burst = True  # in a dry run on a CPU too
    index.start(0, weight)
    return {"seconds": index.start(0, weight)}


def measure_exact(weight: Tensor, bias: Tensor, sizes: Sizes) -> dict[str, float]:
    """Validation: loss and rank of a batch's targets over all words, in float32."""
    count = int(sizes.sequences * sizes.length * MASKED)
    hidden = torch.randn(count, weight.shape[1], device=weight.device)
    targets = zipf(len(weight), (count,), np.random.default_rng(2)).to(weight.device)
    special = special_ids(len(weight))
    ms = median_ms(lambda: exact_loss(hidden, weight, bias, targets, special), weight.device.type)
    return {"ms": ms, "N": count}


def batch(vocabulary: int, sizes: Sizes, seed: int, device: str) -> tuple[Tensor, Tensor, Tensor]:
    """Input ids [B, T], masked positions [N] of the flattened batch, targets [N]."""
    random = np.random.default_rng(seed)
    length, count = sizes.length, int(sizes.length * MASKED)
    ids = zipf(vocabulary, (sizes.sequences, length), random)
    places = torch.from_numpy(np.sort(np.argsort(random.random(ids.shape), 1)[:, :count], 1))
    targets = ids.gather(1, places)
    inputs = ids.scatter(1, places, vocabulary - 1)
    flat = places + torch.arange(len(ids))[:, None] * length
    return inputs.to(device), flat.flatten().to(device), targets.flatten().to(device)


def measure(
    head: Head, model: MaskedLanguageModel, optimizer: torch.optim.Optimizer, sizes: Sizes
) -> dict[str, float]:
    """Medians over steps of the step and its parts, ms; |V'|; peak memory of the
    device.
    """
    weight = model.decoder_weight
    device, vocabulary = weight.device.type, len(weight)
    loss = head.build(weight.detach(), special_ids(vocabulary))
    batches = [batch(vocabulary, sizes, seed, device) for seed in range(4)]
    rows = []
    for step in range(WARM_UP + TURNS):
        if step == WARM_UP and device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        rows.append(timed_step(model, optimizer, loss, batches[step % len(batches)], device, step))
    kept = rows[WARM_UP:]
    result = {name: statistics.median(row[name] for row in kept) for name in kept[0]}
    tokens = sizes.sequences * sizes.length
    result |= {
        "tokens_per_s": tokens / result["step_ms"] * 1000,
        "tokens": tokens,
        "N": len(batches[0][2]),
    }
    if device == "cuda":
        result["memory_gib"] = torch.cuda.max_memory_allocated() / 2**30
    return result


def timed_step(
    model: MaskedLanguageModel,
    optimizer,
    loss: Loss,
    inputs: tuple[Tensor, Tensor, Tensor],
    device: str,
    step: int,
) -> dict[str, float]:
    """One step: the head's backward pass runs by itself, so that it can be told from
    the encoder's.
    """
    ids, positions, targets = inputs
    clock, marks = Clock(device), []
    loss.step, loss.calls = step, 0
    marks.append(clock.mark())
    with torch.autocast(device, dtype=dtype_of(device), enabled=device == "cuda"):
        hidden = model(ids, None, positions)
        marks.append(clock.mark())
        rows_of_h = hidden.detach().requires_grad_()
        output = loss(rows_of_h, model.decoder_weight, model.decoder_bias, targets)
    (output.loss / len(targets)).backward()
    marks.append(clock.mark())
    hidden.backward(rows_of_h.grad)
    marks.append(clock.mark())
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad()
    marks.append(clock.mark())
    forward, head, backward, update = (clock.between(a, b) for a, b in itertools.pairwise(marks))
    return {
        "step_ms": clock.between(marks[0], marks[-1]),
        "encoder_ms": forward + backward,
        "head_ms": head,
        "optimizer_ms": update,
        "candidates": output.candidates,
    }
