"""Threads that share one piece of work, so that its result does not depend on how many they are."""

import threading
from collections.abc import Callable
from concurrent.futures import Executor


class Crew:
    """The threads of a pool, as helpers of whoever calls from one of them.

    Never more than `threads` run: a helper is a task of the pool like any other, taken up when a thread is free,
    and the caller goes on alone where none is.
    """

    def __init__(self, threads: int = 1, pool: Executor | None = None):
        self.threads = threads if pool else 1
        self._pool = pool

    def in_turns(self, blocks: int, work_on: Callable[[], tuple[Callable, Callable]]) -> None:
        """Compute blocks 0, 1, 2 ... in any thread, and add each to the result when all before it are in.

        Each thread calls `work_on` once, for functions `compute(block)` and `add(block)` with room of their own.
        """
        if self.threads == 1 or blocks < 2:
            compute, add = work_on()
            for block in range(blocks):
                compute(block)
                add(block)
            return
        turns = _Turns(blocks)
        helpers = [self._pool.submit(turns.work, work_on) for _ in range(min(self.threads, blocks) - 1)]
        try:
            turns.work(work_on)
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

        self.in_turns(blocks, lambda: (compute, lambda block: None))
        return results


ALONE = Crew()


class _Turns:
    """Which block is computed next, and which is added next."""

    def __init__(self, blocks: int):
        self.blocks = blocks
        self.computed = 0  # blocks that a thread has taken
        self.added = 0
        self.changed = threading.Condition()

    def work(self, work_on: Callable[[], tuple[Callable, Callable]]) -> None:
        """Take blocks until none is left. An error in one thread ends the others too."""
        try:
            room = None
            while (block := self._take()) is not None:
                compute, add = room = room or work_on()
                compute(block)
                with self.changed:
                    self.changed.wait_for(lambda block=block: self.added == block or self.blocks == 0)
                    if not self.blocks:
                        return
                add(block)
                with self.changed:
                    self.added += 1
                    self.changed.notify_all()
        except BaseException:
            with self.changed:
                self.blocks = 0
                self.changed.notify_all()
            raise

    def _take(self) -> int | None:
        with self.changed:
            if self.computed >= self.blocks:
                return None
            self.computed += 1
            return self.computed - 1
