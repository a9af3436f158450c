"""The output layer alone, on a CPU: exact, and k-NN at a given |V'|, beside plain
products of the same shapes.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from gpu.heads import special_ids, zipf

from vocap.pretraining.loss_kinds import Full, Knn
from vocap.pretraining.losses import build_loss
from vocap.pretraining.losses.knn import nearest

QUERIES = 32  # rows of the index that are built to time it
SIZES = (20_000, 40_000)  # |V'|


@dataclass(frozen=True)
class Head:
    """h [N, d] and targets [N], random, for W [V, d] and b [V], all of which want
    gradients.
    """

    weight: torch.Tensor
    bias: torch.Tensor
    hidden: torch.Tensor
    targets: torch.Tensor

    @property
    def specials(self) -> list[int]:
        return special_ids(len(self.weight))


def run_head(arguments: argparse.Namespace) -> list[dict]:
    """The full softmax, k-NN at |V'| of 20K and 40K, and plain products of each size,
    for every N.
    """
    vocabulary, width = arguments.vocabulary, arguments.width
    generator = torch.Generator().manual_seed(0)
    weight = torch.empty(vocabulary, width).normal_(0, 0.02, generator=generator).requires_grad_()
    bias = torch.zeros(vocabulary, requires_grad=True)
    print(f"finding the neighbours of a word: {neighbour_seconds(weight.detach()):.3f} s")
    rows = []
    for count in arguments.targets:
        hidden = torch.randn(count, width, generator=generator).requires_grad_()
        head = Head(weight, bias, hidden, zipf(vocabulary, (count,), np.random.default_rng(2)))
        rows += measured(head, arguments)
    return rows


def measured(head: Head, arguments: argparse.Namespace) -> list[dict]:
    """The rows of one N."""
    count, turns = len(head.targets), arguments.steps
    plain = {size: timed(plain_products(head, size), turns) for size in (*SIZES, len(head.weight))}
    rows = []
    for name, kind, size in (("full", Full(chunk=256), len(head.weight)), *knn_cases(head)):
        seconds, cpu_seconds = timed(
            step_of(head, kind, size), turns if isinstance(kind, Full) else 4 * turns
        )
        gflop = 6e-9 * count * size * head.weight.shape[1]
        row = {"loss_kind": name, "targets": count, "candidates": size, "seconds": seconds}
        row |= {
            "cpu_seconds": cpu_seconds,
            "gflops": gflop / cpu_seconds,
            "plain_gflops": gflop / plain[size][1],
        }
        rows.append(row)
        best = [
            min(one[what] for one in rows if one["candidates"] == len(head.weight)) / row[what]
            for what in TIMES
        ]
        print(
            f"N={count} {name:20} |V'| {size:7} {seconds * 1000:9.1f} ms, of CPU "
            f"{cpu_seconds * 1000:9.1f} ms"
            f"  best exact: {best[0]:6.1f} x as long, {best[1]:6.1f} x the CPU time"
            f"  {row['gflops']:6.1f} Gflop/s, plain products {row['plain_gflops']:6.1f}",
            flush=True,
        )
    return rows


TIMES = ("seconds", "cpu_seconds")


def timed(call: Callable[[], object], turns: int) -> tuple[float, float]:
    """The least wall and CPU seconds of some calls, after one to warm up: what others
    leave of a CPU.
    """
    wall, cpu = [], []
    for turn in range(1 + turns):
        began, busy = time.perf_counter(), time.process_time()
        call()
        if turn:
            wall.append(time.perf_counter() - began)
            cpu.append(time.process_time() - busy)
    return min(wall), min(cpu)


def plain_products(head: Head, size: int) -> Callable[[], object]:
    """The three products of a step at |V'| = `size` and nothing else, into memory that
    is there.
    """
    table, hidden = head.weight.detach()[:size], head.hidden.detach()
    logits, rows, gradient = hidden @ table.T, torch.empty_like(hidden), torch.empty_like(table)

    def products():
        torch.mm(hidden, table.T, out=logits)
        torch.mm(logits, table, out=rows)
        torch.mm(logits.T, hidden, out=gradient)

    return products


def knn_cases(head: Head) -> list[tuple[str, Knn, int]]:
    different = len(head.targets.unique())
    return [("k-NN", Knn(k=-(-(size - different) // different)), size) for size in SIZES]


def step_of(head: Head, kind: Full | Knn, size: int) -> Callable[[], object]:
    """One forward and backward pass of a loss; k-NN's index is filled so that |V'| is
    `size` exactly.
    """
    loss = build_loss(kind, len(head.weight), head.specials)
    loss.start(0, head.weight)
    if isinstance(kind, Knn):
        targets = head.targets.unique()
        others = loss.words[~torch.isin(loss.words, targets)]
        chosen = others[torch.randperm(len(others), generator=torch.Generator().manual_seed(0))]
        chosen = chosen[: size - len(targets)].numpy()
        loss.index.table[targets] = torch.from_numpy(
            np.resize(chosen, (len(targets), kind.k))
        ).int()
        loss.index.built[targets] = 0

    def step():
        head.hidden.grad = head.weight.grad = head.bias.grad = None
        output = loss(head.hidden, head.weight, head.bias, head.targets)
        assert output.candidates == size
        (output.loss / output.count).backward()

    return step


def neighbour_seconds(weight: torch.Tensor) -> float:
    """Seconds of one row of the index."""
    began = time.perf_counter()
    nearest(weight[:QUERIES], weight, 50)
    return (time.perf_counter() - began) / QUERIES
