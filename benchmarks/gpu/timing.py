"""Times and memory of a device: medians over calls, by the device's own events on a
GPU.
"""

import gc
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch

WARM_UP = 3
TURNS = 10
LONG_MS = 200.0  # of a call: fewer turns are enough


class Clock:
    """Milliseconds between marks, by events on a GPU."""

    def __init__(self, device: str):
        self.cuda = device == "cuda"

    def mark(self) -> Any:
        if not self.cuda:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def between(self, start: Any, stop: Any) -> float:
        if not self.cuda:
            return (stop - start) * 1000
        torch.cuda.synchronize()
        return start.elapsed_time(stop)


def median_ms(call: Callable[[], object], device: str) -> float:
    """The median of some calls, after those that compile and warm up."""
    clock, times = Clock(device), []
    for _ in range(WARM_UP):
        start = clock.mark()
        call()
        warm = clock.between(start, clock.mark())
    for _ in range(TURNS if warm < LONG_MS else WARM_UP):
        start = clock.mark()
        call()
        times.append(clock.between(start, clock.mark()))
    return statistics.median(times)


def peak_gib(call: Callable[[], object], device: str) -> float | None:
    """The most memory of one call beyond that in use before it; None on a CPU."""
    if device != "cuda":
        return None
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    call()
    torch.cuda.synchronize()
    return (torch.cuda.max_memory_allocated() - before) / 2**30


def free_memory(device: str) -> None:
    """Return what no tensor holds any more, so that the next measurement begins like
    the first.
    """
    gc.collect()
    if device == "cuda":
        torch.cuda.empty_cache()


def copy_gb_per_s(device: str, size: int) -> float:
    """Bandwidth of a copy within the device's memory, 10^9 bytes read and written a
    second.
    """
    source = torch.empty(size // 4, device=device).normal_()
    target = torch.empty_like(source)
    return 2 * source.nbytes / 1e6 / median_ms(lambda: target.copy_(source), device)


def product_tflops(device: str, size: int, dtype: torch.dtype) -> float:
    """Rate of a square product of random matrices, 10^12 floating-point operations a
    second.
    """
    a, b = (torch.randn(size, size, device=device).to(dtype) for _ in range(2))
    return 2 * size**3 / 1e9 / median_ms(lambda: a @ b, device)
