"""Time and memory of a pre-training step by loss, split into encoder, head and optimizer, beside a free head.

    python benchmarks/pretraining.py steps [--device cuda] [--out FOLDER] [...]   whole steps, every loss
    python benchmarks/pretraining.py head [--vocabulary 500000] [--out FOLDER]    the head alone: for a CPU

Tokens follow Zipf's law (1/rank over V), weights are as initialised. Such weights share few neighbours, so that
|V'| is about as large as it can be for k: a trained table's is smaller. A row is the median of its steps (of the
head alone: the least, as the machine may be busy). `free` is a step whose head costs nothing: encoder and
optimizer alone, the limit for every other.
"""

import argparse
import gc
import json
import platform
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from pretraining_head import run_head, zipf

from vocap.pretraining.index import NeighbourIndex, nearest
from vocap.pretraining.loss_kinds import Full, Knn, Nce, Neg, Sampled, Target, Uniform
from vocap.pretraining.losses import build_loss
from vocap.pretraining.losses.interface import Loss, LossOutput
from vocap.training.optimizer import build_optimizer, clip_gradients

EVERY = 1000  # steps between two refreshes, as in the paper
MASKED = 0.15


class Free(Loss):
    """No output layer: a gradient for h, none for W."""

    def __call__(self, hidden, weight, bias, targets):
        return LossOutput(hidden.float().sum(), len(targets), 0.0)


@dataclass(frozen=True)
class Variant:
    """A loss to time; `parts`: micro-batches that a batch is cut into, where its logits do not fit at once."""

    name: str
    settings: object | None
    parts: int = 1


def variants(group: int, few: bool) -> list[Variant]:
    """In the order in which they matter, should time run out."""
    knn = {
        k: Variant(f"k-NN k={k}", Knn(k=k, group=group, every=EVERY, refresh="burst"))
        for k in (5, 10, 25, 50, 100)
    }
    first = [
        Variant("free", None),
        knn[50],
        Variant("full compiled, chunk 1024", Full(kernel="compiled", chunk=1024)),
        Variant("full compiled, chunk 4096", Full(kernel="compiled", chunk=4096)),
        Variant("full cut cross-entropy", Full(kernel="cce")),
        Variant("full chunked, chunk 2048", Full(kernel="chunked", chunk=2048)),
        Variant("full torch, chunk 2048", Full(kernel="torch", chunk=2048)),
        Variant("full eager", Full(kernel="eager"), parts=8),
    ]
    if few:
        return first
    return [
        *first,
        *(knn[k] for k in (5, 10, 25, 100)),
        Variant("k-NN k=50, one V'", Knn(k=50, every=EVERY, refresh="burst")),
        Variant("target sampling 50K", Target(tau=50_000)),
        Variant("uniform 50K", Uniform(negatives=50_000)),
        Variant("sampled softmax 50K", Sampled(negatives=50_000)),
        Variant("NCE 50K", Nce(negatives=50_000)),
        Variant("NEG 50K", Neg(negatives=50_000)),
    ]


class Clock:
    """Milliseconds between marks, by the device's own events on a GPU."""

    def __init__(self, device: str):
        self.cuda = device == "cuda"

    def mark(self):
        if not self.cuda:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def between(self, start, stop) -> float:
        if not self.cuda:
            return (stop - start) * 1000
        torch.cuda.synchronize()
        return start.elapsed_time(stop)


def batch(vocabulary: int, sequences: int, length: int, seed: int, device: str):
    """(input ids [B, T], masked positions of each sequence [B, n], targets [B, n])."""
    random = np.random.default_rng(seed)
    ids = zipf(vocabulary, (sequences, length), random)
    count = int(length * MASKED)
    positions = torch.from_numpy(np.sort(np.argsort(random.random((sequences, length)), 1)[:, :count], 1))
    targets = ids.gather(1, positions)
    return ids.scatter(1, positions, vocabulary - 1).to(device), positions.to(device), targets.to(device)


def time_steps(model, optimizer, loss, arguments, parts: int) -> dict:
    """Medians over steps of encoder, head, optimizer (ms), |V'|, peak memory and the last loss."""
    device, clock, weight = arguments.device, Clock(arguments.device), model.decoder_weight
    vocabulary, length = weight.shape[0], arguments.length
    rows = []
    for step in range(arguments.warm_up + arguments.steps):
        ids, positions, targets = batch(vocabulary, arguments.sequences, length, step % 4, device)
        if step == arguments.warm_up and device == "cuda":
            torch.cuda.reset_peak_memory_stats()
        spent, marks, total, candidates = {"encoder": 0.0, "head": 0.0, "optimizer": 0.0}, [], 0.0, []
        loss.step, loss.calls = step, 0
        began = clock.mark()
        for part in range(parts):
            share = slice(part * len(ids) // parts, (part + 1) * len(ids) // parts)
            flat = positions[share] + torch.arange(len(ids[share]), device=device)[:, None] * length
            marks.append(clock.mark())
            with torch.autocast(device, dtype=torch.bfloat16, enabled=arguments.bf16):
                hidden = model(ids[share], None, flat.flatten())
                marks.append(clock.mark())
                rows_of_h = hidden.detach().requires_grad_()
                output = loss(rows_of_h, weight, model.decoder_bias, targets[share].flatten())
            (output.loss / targets.numel()).backward()
            marks.append(clock.mark())
            hidden.backward(rows_of_h.grad)
            marks.append(clock.mark())
            total += output.loss.detach()
            candidates.append(output.candidates)
        clip_gradients(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        end = clock.mark()
        for a, b, c, d in zip(*(marks[offset::4] for offset in range(4)), strict=True):
            spent["encoder"] += clock.between(a, b) + clock.between(c, d)
            spent["head"] += clock.between(b, c)
        spent["optimizer"] = clock.between(marks[-1], end)
        if step >= arguments.warm_up:
            rows.append({"step": clock.between(began, end), **spent, "candidates": statistics.mean(candidates)})
    result = {name: statistics.median(row[name] for row in rows) for name in rows[0]}
    result["loss"] = float(total) / targets.numel()
    if device == "cuda":
        result["memory_gib"] = torch.cuda.max_memory_allocated() / 2**30
    return result


def measure_refresh(vocabulary: int, weight: torch.Tensor, loss: Loss, rows: int | None) -> float:
    """Seconds of a whole refresh; on a CPU extrapolated from `rows` rows."""
    if not isinstance(getattr(loss, "index", None), NeighbourIndex):
        return 0.0
    index = loss.index
    if rows is None:
        index.start(0, weight.detach())  # once to warm up
        return index.start(0, weight.detach())
    began = time.perf_counter()
    table = weight.detach()[index.words]
    nearest(table[:rows], table, index.k)
    seconds = (time.perf_counter() - began) * len(index.words) / rows
    index.table[index.words] = torch.randint(4, vocabulary - 1, (len(index.words), index.k), dtype=torch.int32)
    index.built[:] = 0
    return seconds


def run_steps(arguments) -> list[dict]:
    """Every variant at every vocabulary."""
    from vocap.pretraining.model import build_model
    from vocap.pretraining.settings import Shape

    rows, began = [], time.perf_counter()
    for name in arguments.models:
        vocabulary, width = (int(number) for number in name.split("x"))
        shape = Shape(
            layers=arguments.layers,
            hidden=arguments.hidden,
            heads=arguments.hidden // 64,
            intermediate=4 * arguments.hidden,
            embedding_size=width,
            positions=arguments.length,
        )
        torch.manual_seed(0)
        with torch.device(arguments.device):
            model = build_model(shape, vocabulary)
        model.train()
        if arguments.compile_encoder:
            model.forward = torch.compile(model.forward)
        optimizer = build_optimizer(model, 1e-6)
        few = arguments.few or name != arguments.models[0]
        for variant in variants(arguments.group, few):
            row = {"model": name, "loss_kind": variant.name, "compiled_encoder": arguments.compile_encoder}
            if time.perf_counter() - began > arguments.limit:
                row["failed"] = "no time left"
            else:
                try:
                    row |= measure(model, optimizer, variant, arguments)
                except Exception as error:  # a kernel that this machine does not have is a row of the table
                    row["failed"] = f"{type(error).__name__}: {str(error).splitlines()[0][:90]}"
            rows.append(row)
            print_row(row)
            optimizer.zero_grad()
            gc.collect()
            if arguments.device == "cuda":
                torch.cuda.empty_cache()
        del model, optimizer
        gc.collect()
    compare(rows)
    return rows


def measure(model, optimizer, variant: Variant, arguments) -> dict:
    weight = model.decoder_weight
    vocabulary, specials = weight.shape[0], [0, 1, 2, 3, weight.shape[0] - 1]
    if variant.settings is None:
        loss = Free(vocabulary, specials, device=arguments.device)
    else:
        counts = torch.bincount(zipf(vocabulary, (10**6,), np.random.default_rng(1)), minlength=vocabulary).numpy()
        loss = build_loss(variant.settings, vocabulary, specials, counts=counts, device=arguments.device)
    if isinstance(variant.settings, Target):  # as if the stream had been walked for long
        loss.seen[loss.words[torch.randperm(len(loss.words), device=arguments.device)[: loss.tau]]] = 1
        loss.time = 1
    rows = None if arguments.device == "cuda" else 512
    refresh = measure_refresh(vocabulary, weight, loss, rows)
    result = time_steps(model, optimizer, loss, arguments, variant.parts)
    tokens = arguments.sequences * arguments.length
    share = refresh / (EVERY * result["step"] / 1000 + refresh)
    return {**result, "refresh_s": refresh, "refresh_share": share, "tokens_per_s": tokens / result["step"] * 1000}


def print_row(row: dict) -> None:
    if "failed" in row:
        print(f"{row['model']:>11} {row['loss_kind']:28} {row['failed']}", flush=True)
        return
    print(
        f"{row['model']:>11} {row['loss_kind']:28} step {row['step']:8.1f} ms = encoder {row['encoder']:8.1f}"
        f" + head {row['head']:8.1f} + optimizer {row['optimizer']:6.1f}  |V'| {row['candidates']:7.0f}"
        f"  memory {row.get('memory_gib', 0):5.1f} GiB  refresh {row['refresh_s']:6.2f} s"
        f" ({row['refresh_share']:.2%} at n={EVERY})  {row['tokens_per_s']:8.0f} tokens/s",
        flush=True,
    )


def compare(rows: list[dict]) -> None:
    """The ratios that the paper and the goals are stated in, refresh counted in."""
    for name in dict.fromkeys(row["model"] for row in rows):
        steps = {
            row["loss_kind"]: row["step"] + row["refresh_s"] * 1000 / EVERY
            for row in rows
            if row["model"] == name and "failed" not in row
        }
        full = {kind: step for kind, step in steps.items() if kind.startswith("full")}
        knn = steps.get("k-NN k=50")
        if not full or not knn:
            continue
        best = min(full, key=full.get)
        line = f"{name}: k-NN k=50 is {full[best] / knn:.2f} x as fast as the best full softmax ({best})"
        if "full eager" in full:
            line += f", {full['full eager'] / knn:.2f} x as fast as the eager one"
        if "free" in steps:
            line += f", {knn / steps['free'] - 1:+.1%} of the free head's step"
        print(line)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["steps", "head"])
    parser.add_argument(
        "--device", choices=["cuda", "cpu"], default="cuda" if torch.cuda.is_available() else "cpu"
    )
    parser.add_argument("--models", nargs="+", help="VxD; the first has every loss", default=None)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--hidden", type=int, default=768)
    parser.add_argument("--sequences", type=int, default=256)
    parser.add_argument("--length", type=int, default=512)
    parser.add_argument(
        "--group", type=int, default=2458, help="targets that share a V'; the paper's speeds fit 2458"
    )
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--warm-up", type=int, default=3)
    parser.add_argument("--few", action="store_true", help="the free head, k = 50 and the full softmax only")
    parser.add_argument("--compile-encoder", action="store_true")
    parser.add_argument("--float32", dest="bf16", action="store_false", help="no bfloat16 autocast")
    parser.add_argument("--limit", type=float, default=1e9, help="seconds after which no further row is begun")
    parser.add_argument("--vocabulary", type=int, default=500_000)
    parser.add_argument("--width", type=int, default=768)
    parser.add_argument("--targets", type=int, nargs="+", default=[256], help="N, of the head alone")
    parser.add_argument("--kernels", nargs="+", default=["eager", "torch", "chunked"], help="of the head on a CPU")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    if arguments.device == "cuda" and not torch.cuda.is_available():
        parser.error(f"--device cuda: torch {torch.__version__} sees no GPU here")
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    arguments.models = arguments.models or ["500000x768", "250000x768", "500000x384"]
    device = (
        torch.cuda.get_device_name() if arguments.device == "cuda" else platform.processor() or platform.machine()
    )
    head = {"torch": torch.__version__, "device": device, "threads": torch.get_num_threads()}
    print(json.dumps(head))
    rows = run_head(arguments) if arguments.what == "head" else run_steps(arguments)
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        name = f"pretraining-{arguments.what}{'-compiled' if arguments.compile_encoder else ''}.json"
        content = {**head, "arguments": {**vars(arguments), "out": None}, "rows": rows}
        (arguments.out / name).write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
