"""Compilation of the loops, by explicit signatures on import, cached, without the GIL;
threads that share them.

The threads share the blocks of one computation; the result does not depend on their
number.
"""

from collections.abc import Callable, Iterable
from concurrent.futures import Executor, Future
from itertools import pairwise
from types import FunctionType
from typing import Any, TypeVar

import numpy as np
from numba import boolean, float32, float64, int8, int32, int64, njit, uint8, uint32, uint64

# The type of indices in inner loops: a signed one would be checked each time, as -1
# means the last element (a fifth of the E step's time). Signed and unsigned numbers
# must not meet in a sum: it would be a float.
index = np.uintp


# One-dimensional arrays without gaps, in signatures.
BOOLEANS = boolean[::1]
FLOAT32S = float32[::1]
FLOAT64S = float64[::1]
INT32S = int32[::1]
INT64S = int64[::1]
INT8S = int8[::1]
UINT32S = uint32[::1]
UINT64S = uint64[::1]
UINT8S = uint8[::1]


def kernel(
    signature: Any,
    inner: bool = False,
    allocates: bool = True,
    fused: bool = False,
    inlined: bool = False,
) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function for `signature`; its bits must not depend on the compiler, so
    no fast-math.

    An `inner` one is called by other kernels alone: it is compiled without an entry for
    Python, which for many arguments takes as long as the function. One that neither
    `allocates` an array nor returns one does without counts of references, two
    operations for each field of a record that it reads. In a `fused` one a product and a
    sum may be rounded once: for approximations whose error is bounded. One that is
    `inlined` has no calls, for which a large record would be copied each time.

    numba caches the machine code beside the source file or in the user's cache folder
    (NUMBA_CACHE_DIR overrules both); where none of them can be written, or the device
    is full, every process compiles for itself. So it does beside the files of an earlier
    version whose records had other names (AttributeError): a NamedTuple that kernels
    take keeps its name.
    """
    settings: dict[str, Any] = {
        "nogil": True,
        "fastmath": {"contract"} if fused else False,
        "error_model": "numpy",
        "no_cfunc_wrapper": True,  # for C, which calls none of them
        "no_cpython_wrapper": inner,
        "_nrt": allocates,
        "forceinline": inlined,
    }

    def compile_function(function: Callable[..., Any]) -> Any:
        try:
            return njit(signature, cache=True, **settings)(function)
        except (RuntimeError, OSError, AttributeError) as error:
            if isinstance(error, RuntimeError) and "cannot cache" not in str(error):
                raise
            return njit(signature, **settings)(function)

    return compile_function


def calling(function: Any, **kernels: Any) -> Callable[..., Any]:
    """The source of the kernel `function`, to be compiled with calls of these `kernels`
    where it calls others by their names.

    numba caches what is compiled with the file of these kernels, so that it is compiled
    again when they change. A closure over kernels would not be cached: to numba, it is
    another function in each process.
    """
    source, first = function.py_func, next(iter(kernels.values()))
    code = source.__code__.replace(co_filename=first.py_func.__code__.co_filename)
    return FunctionType(code, {**source.__globals__, **kernels}, source.__name__)


Result = TypeVar("Result")
Work = TypeVar("Work")
BUFFERS = 2  # for each thread: blocks that are computed or wait to be added


class Workers:
    """The threads of a pool, which join the computation of the thread that calls.

    Never more than `threads` run: a block is a task of the pool like any other, begun
    when a thread is idle; the caller computes those that no thread has begun.
    """

    def __init__(self, threads: int = 1, pool: Executor | None = None):
        self.threads = threads if pool else 1
        self._pool = pool

    def fold(
        self,
        bounds: Iterable[int],
        new_work: Callable[[], Work],
        compute: Callable[[int, int, Work], object],
        add: Callable[[int, int, Work], object],
    ) -> None:
        """Compute the blocks, each from one of the rising `bounds` to the next, in any thread; add
        each to the result after all blocks before it.

        `new_work` gives memory for one block: `compute(begin, stop, work)` fills it,
        `add(begin, stop, work)` adds its content to the result.
        """
        blocks = list(pairwise(bounds))
        buffers = self.threads * BUFFERS if self.threads > 1 else 1
        free = [new_work() for _ in range(min(len(blocks), buffers))]
        pool = self._pool
        if pool is None or len(free) < 2:
            for block in blocks:
                compute(*block, free[0])
                add(*block, free[0])
            return
        waiting = iter(blocks)
        # by block, those that are not added yet
        tasks: dict[tuple[int, int], tuple[Work, Future[object]]] = {}
        try:
            for added in blocks:
                while free and (following := next(waiting, None)):
                    work = free.pop()
                    tasks[following] = work, pool.submit(compute, *following, work)
                # This thread computes blocks until the next one to add is done
                for block, (work, task) in tasks.items():
                    if tasks[added][1].done():
                        break
                    if not task.done() and task.cancel():
                        compute(*block, work)
                work, task = tasks.pop(added)
                if not task.cancelled():
                    task.result()
                add(*added, work)
                free.append(work)
        finally:
            for _, task in tasks.values():
                task.cancel()

    def map(self, bounds: Iterable[int], function: Callable[[int, int], Result]) -> list[Result]:
        """The results of `function(begin, stop)` for the blocks from one of the `bounds` to
        the next, computed by several threads.
        """
        results: list[Result] = []

        def compute(begin: int, stop: int, found: list[Result]) -> None:
            found.append(function(begin, stop))

        def add(begin: int, stop: int, found: list[Result]) -> None:
            results.append(found.pop())

        self.fold(bounds, list[Result], compute, add)
        return results


ONE_THREAD = Workers()
