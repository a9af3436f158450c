"""Compilation of the loops: by explicit signatures on import, cached, without the GIL."""

import contextlib
import os
import tempfile
from collections.abc import Iterator

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
