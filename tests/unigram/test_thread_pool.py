"""Blocks are added in their order, whatever thread computes them and however long it
takes.
"""

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from vocap.unigram.kernels import BUFFERS, Workers


class Recorder:
    """Blocks of one number that record how they are computed and added. They take a random
    time of up to a millisecond.
    """

    def __init__(self, seed: int, fails_at: int | None = None):
        self.random = random.Random(seed)
        self.fails_at = fails_at
        self.buffers = 0
        self.added = []
        self.adding = threading.Lock()
        self.threads = set()

    def fold(self, workers: Workers, blocks: int) -> None:
        workers.fold(range(blocks + 1), self.new_work, self.compute, self.add)

    def new_work(self) -> list[int]:
        self.buffers += 1
        return []

    def compute(self, begin: int, stop: int, held: list[int]) -> None:
        assert stop == begin + 1
        assert not held, "a block was computed in memory that still holds another"
        self.threads.add(threading.get_ident())
        time.sleep(self.random.random() / 1000)
        if begin == self.fails_at:
            raise ArithmeticError(f"block {begin}")
        held.append(begin)

    def add(self, begin: int, stop: int, held: list[int]) -> None:
        assert self.adding.acquire(blocking=False), "two threads add at once"
        time.sleep(self.random.random() / 3000)
        assert held.pop() == begin
        self.added.append(begin)
        self.adding.release()


@pytest.mark.parametrize("blocks", [0, 1, 2, 3, 7, 200])
@pytest.mark.parametrize("threads", [1, 2, 3, 8])
def test_blocks_are_added_in_order_and_buffers_are_few(threads, blocks):
    for seed in range(3):
        recorder = Recorder(seed)
        with ThreadPoolExecutor(threads) as pool:
            workers = Workers(threads, pool)
            pool.submit(recorder.fold, workers, blocks).result(timeout=600)
        assert recorder.added == list(range(blocks))
        assert recorder.buffers <= max(threads * BUFFERS, 1)
        assert len(recorder.threads) <= threads


def test_the_caller_computes_alone_while_other_threads_are_busy():
    recorder, done = Recorder(1), threading.Event()
    with ThreadPoolExecutor(2) as pool:
        busy = pool.submit(done.wait, 600)
        pool.submit(recorder.fold, Workers(2, pool), 50).result(timeout=600)
        assert not busy.done()
        done.set()
    assert recorder.added == list(range(50)) and recorder.buffers == 2 * BUFFERS


@pytest.mark.parametrize("fails_at", [0, 1, 60, 99])
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_an_error_in_one_block_ends_the_work_of_all(threads, fails_at):
    recorder = Recorder(fails_at, fails_at)
    with ThreadPoolExecutor(threads) as pool:
        workers = Workers(threads, pool)
        with pytest.raises(ArithmeticError, match=f"block {fails_at}"):
            pool.submit(recorder.fold, workers, 100).result(timeout=600)
    assert recorder.added == list(range(len(recorder.added))) and len(recorder.added) <= fails_at


def test_results_come_in_the_order_of_their_blocks():
    with ThreadPoolExecutor(4) as pool:
        found = Workers(4, pool).map(range(0, 901, 3), lambda begin, stop: begin * stop)
    assert found == [begin * (begin + 3) for begin in range(0, 900, 3)]
