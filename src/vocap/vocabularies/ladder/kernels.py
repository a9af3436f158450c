"""How the compiled loops are compiled: ahead of time by explicit signatures, cached on disk, free of the GIL."""

from numba import njit


def kernel(signature: str):
    """Compile a function for `signature`; bits must not depend on the compiler, so no fast-math."""
    return njit(signature, cache=True, nogil=True, fastmath=False, error_model="numpy")
