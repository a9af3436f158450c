"""Compilation of the loops, by explicit signatures on import, cached, without the GIL; threads that share them.

The threads share the blocks of one computation; the result does not depend on their number.
"""

import contextlib
import os
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from typing import NamedTuple

import numpy as np
from numba import njit

# The type of indices in inner loops: a signed one would be checked each time, as -1 means the last element (a
# fifth of the E step's time). Signed and unsigned numbers must not meet in a sum: it would be a float.
index = np.uintp

# What all passes over lattices take first: `Lattice` (first, piece, length), and where types begin and how long
# they are.
LATTICES = "int32[::1], int32[::1], uint8[::1], int32[::1], int32[::1]"


def kernel(signature, inner: bool = False):
    """Compile a function for `signature`; its bits must not depend on the compiler, so no fast-math.

    An `inner` one is called by other kernels alone: it is compiled without an entry for Python, which for many
    arguments takes as long as the function.

    numba caches the machine code beside the source file or in the user's cache folder (NUMBA_CACHE_DIR overrules
    both); where none of them can be written, or the device is full, every process compiles for itself.
    """
    settings = {"nogil": True, "fastmath": False, "error_model": "numpy"}
    if inner:
        settings |= {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}

    def compile_function(function):
        try:
            return njit(signature, cache=True, **settings)(function)
        except (RuntimeError, OSError) as error:
            if isinstance(error, RuntimeError) and "cannot cache" not in str(error):
                raise
            return njit(signature, **settings)(function)

    return compile_function


@contextlib.contextmanager
def one_compiler() -> Iterator[None]:
    """Hold a lock of this machine while kernels are imported: the first of many jobs compiles, the others wait.

    Only speed depends on it: numba renames finished cache files into place, so jobs on other machines that share
    the cache, or a system without such locks, may compile at the same time.
    """
    try:
        import fcntl

        path = os.path.join(tempfile.gettempdir(), f"vocap-kernels-{os.getuid()}.lock")
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except (ImportError, OSError):
        yield
        return
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


BUFFERS = 2  # for each thread: blocks that are computed and not added yet


class WorkBuffer(NamedTuple):
    """Memory for one block: `compute` fills it, `add` adds its content to the result."""

    compute: Callable[[int], None]
    add: Callable[[int], None]


class Workers:
    """The threads of a pool, which join the computation of the thread that calls.

    Never more than `threads` run: a helper is a task of the pool like any other, started when a thread is idle;
    the caller computes alone while none is.
    """

    def __init__(self, threads: int = 1, pool: Executor | None = None):
        self.threads = threads if pool else 1
        self._pool = pool

    def in_order(self, blocks: int, new_buffer: Callable[[], WorkBuffer]) -> None:
        """Compute blocks 0, 1, 2 ... in any thread; add each to the result after all blocks before it."""
        if self.threads == 1 or blocks < 2:
            buffer = new_buffer()
            for block in range(blocks):
                buffer.compute(block)
                buffer.add(block)
            return
        ordered = _OrderedBlocks(blocks, min(self.threads, blocks) * BUFFERS, new_buffer)
        helpers = [self._pool.submit(ordered.work) for _ in range(min(self.threads, blocks) - 1)]
        try:
            ordered.work()
        finally:
            for helper in helpers:
                helper.cancel()
        for helper in helpers:
            if not helper.cancelled():
                helper.result()

    def map(self, blocks: int, function: Callable[[int], object]) -> list:
        """The results of `function(block)` for blocks 0, 1, 2 ..., computed by several threads."""
        results = [None] * blocks

        def compute(block: int) -> None:
            results[block] = function(block)

        self.in_order(blocks, lambda: WorkBuffer(compute, lambda block: None))
        return results


ONE_THREAD = Workers()


class _OrderedBlocks:
    """The next block to compute, and the next block to add.

    A thread does not wait for its turn to add: the thread that adds the block before adds this one too, and this
    thread computes the next in another buffer. (Waiting for a millisecond means sleeping; waking up takes longer.)
    """

    def __init__(self, blocks: int, buffers: int, new_buffer: Callable[[], WorkBuffer]):
        self.blocks = blocks
        self.new_buffer = new_buffer
        self.taken = 0  # blocks whose computation has begun
        self.added = 0
        self.adding = False  # whether a thread adds now: never two at once
        self.unmade = buffers  # buffers that may still be allocated
        self.free: list[WorkBuffer] = []
        self.ready: dict[int, WorkBuffer] = {}  # by the block that it holds
        self.changed = threading.Condition()

    def work(self) -> None:
        """Take blocks until none is left. An error in one thread ends the others too."""
        try:
            while (task := self._take()) is not None:
                block, buffer = task
                buffer.compute(block)
                with self.changed:
                    self.ready[block] = buffer
                self._add()
        except BaseException:
            with self.changed:
                self.blocks = 0
                self.changed.notify_all()
            raise

    def _take(self) -> tuple[int, WorkBuffer] | None:
        """The next block and a buffer for it, as soon as one is free; None at the end."""
        with self.changed:
            self.changed.wait_for(lambda: self.free or self.unmade or self.taken >= self.blocks)
            if self.taken >= self.blocks:
                return None
            self.taken += 1
            block = self.taken - 1
            if self.free:
                return block, self.free.pop()  # the one used last is still in the processor's cache
            self.unmade -= 1
        return block, self.new_buffer()

    def _add(self) -> None:
        """Add the blocks that are ready, in order, unless another thread does."""
        while (task := self._next_to_add()) is not None:
            block, buffer = task
            buffer.add(block)
            with self.changed:
                self.added += 1
                self.adding = False
                self.free.append(buffer)
                self.changed.notify()

    def _next_to_add(self) -> tuple[int, WorkBuffer] | None:
        with self.changed:
            if self.adding or self.added not in self.ready:
                return None
            self.adding = True
            return self.added, self.ready.pop(self.added)
