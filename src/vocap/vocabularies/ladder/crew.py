"""Threads that share one piece of work, so that its result does not depend on how many they are."""

import threading
from collections.abc import Callable
from concurrent.futures import Executor
from typing import NamedTuple

BENCHES = 2  # blocks for each thread that may be computed and not added yet


class Bench(NamedTuple):
    """Room for one block: what `compute` leaves there, `add` adds to the result."""

    compute: Callable[[int], None]
    add: Callable[[int], None]


class Crew:
    """The threads of a pool, as helpers of whoever calls from one of them.

    Never more than `threads` run: a helper is a task of the pool like any other, taken up when a thread is free,
    and the caller goes on alone where none is.
    """

    def __init__(self, threads: int = 1, pool: Executor | None = None):
        self.threads = threads if pool else 1
        self._pool = pool

    def in_turns(self, blocks: int, new_bench: Callable[[], Bench]) -> None:
        """Compute blocks 0, 1, 2 ... in any thread, and add each to the result when all before it are in."""
        if self.threads == 1 or blocks < 2:
            bench = new_bench()
            for block in range(blocks):
                bench.compute(block)
                bench.add(block)
            return
        turns = _Turns(blocks, min(self.threads, blocks) * BENCHES, new_bench)
        helpers = [self._pool.submit(turns.work) for _ in range(min(self.threads, blocks) - 1)]
        try:
            turns.work()
        finally:
            for helper in helpers:
                helper.cancel()
        for helper in helpers:
            if not helper.cancelled():
                helper.result()

    def all_of(self, blocks: int, function: Callable[[int], object]) -> list:
        """`function(block)` of blocks 0, 1, 2 ..., which several threads call at once."""
        results = [None] * blocks

        def compute(block: int) -> None:
            results[block] = function(block)

        self.in_turns(blocks, lambda: Bench(compute, lambda block: None))
        return results


ALONE = Crew()


class _Turns:
    """Which block is computed next, and which is added next.

    A thread does not wait for its turn to add: it leaves the block, on its bench, to whoever adds the one before,
    and computes the next on another. (To wait for a millisecond means to sleep, and to wake up takes long.)
    """

    def __init__(self, blocks: int, benches: int, new_bench: Callable[[], Bench]):
        self.blocks = blocks
        self.new_bench = new_bench
        self.taken = 0  # blocks that a thread computes or has computed
        self.added = 0
        self.adding = False  # whether a thread is at it: never two at once
        self.unmade = benches  # how many benches may be made yet
        self.free: list[Bench] = []
        self.ready: dict[int, Bench] = {}  # by the block that waits there to be added
        self.changed = threading.Condition()

    def work(self) -> None:
        """Take blocks until none is left. An error in one thread ends the others too."""
        try:
            while (task := self._take()) is not None:
                block, bench = task
                bench.compute(block)
                with self.changed:
                    self.ready[block] = bench
                self._add()
        except BaseException:
            with self.changed:
                self.blocks = 0
                self.changed.notify_all()
            raise

    def _take(self) -> tuple[int, Bench] | None:
        """The next block and a bench for it, as soon as there is one."""
        with self.changed:
            self.changed.wait_for(lambda: self.free or self.unmade or self.taken >= self.blocks)
            if self.taken >= self.blocks:
                return None
            self.taken += 1
            block = self.taken - 1
            if self.free:
                return block, self.free.pop()  # the one used last, which a processor still has at hand
            self.unmade -= 1
        return block, self.new_bench()

    def _add(self) -> None:
        """Add what is ready, in order, unless another thread is at it."""
        while (task := self._next_to_add()) is not None:
            block, bench = task
            bench.add(block)
            with self.changed:
                self.added += 1
                self.adding = False
                self.free.append(bench)
                self.changed.notify()

    def _next_to_add(self) -> tuple[int, Bench] | None:
        with self.changed:
            if self.adding or self.added not in self.ready:
                return None
            self.adding = True
            return self.added, self.ready.pop(self.added)
