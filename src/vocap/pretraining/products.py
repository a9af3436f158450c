"""Products of float16 or bfloat16 matrices with float32 sums, and which of the two types a GPU has."""

import functools

import torch
from torch import Tensor

from vocap.errors import VocapError


def half_type(device: torch.device) -> torch.dtype | None:
    """The 16-bit type that a GPU multiplies fast: bfloat16, of older ones (Volta, Turing) float16; else None."""
    if device.type != "cuda":
        return None
    if torch.cuda.is_bf16_supported(including_emulation=False):
        return torch.bfloat16
    return torch.float16 if torch.cuda.get_device_capability(device) >= (7, 0) else None


def check_kernels(device: torch.device) -> None:
    """Raise VocapError where this build of torch has no kernels for a GPU: newer builds leave out older GPUs.

    A build names what it has: `sm_80`, the kernels of capability 8.0, for any 8.x from there on; `compute_80`,
    code that a driver compiles for any GPU from 8.0 on. Names of another kind (AMD's) are passed over.
    """
    if device.type != "cuda":
        return
    major, minor = torch.cuda.get_device_capability(device)
    own = 10 * major + minor
    built = [name for name in torch.cuda.get_arch_list() if name.startswith(("sm_", "compute_"))]
    for name in built:
        kind, _, number = name.partition("_")
        version = int("".join(filter(str.isdigit, number)))
        if version <= own and (kind == "compute" or version // 10 == major):
            return
    if built:
        raise VocapError(
            f"{torch.cuda.get_device_name(device)} has compute capability {major}.{minor}, for which torch "
            f"{torch.__version__} has no kernels ({', '.join(built)}); install a build of torch for an older CUDA "
            "(a V100 needs one for CUDA 12.6)"
        )


def multiply(a: Tensor, b: Tensor, wide: torch.dtype) -> Tensor:
    """a [n, d] @ b [d, m] in the dtype `wide`; rounded to that of the factors before where the device must."""
    if a.is_cuda and a.dtype != wide and multiplies_wide():
        return torch.mm(a, b, out_dtype=wide)
    return (a @ b).to(wide)


def add_product(a: Tensor, b: Tensor, total: Tensor | None, wide: torch.dtype) -> Tensor:
    """total + a @ b in the dtype `wide`, in the memory of `total`; None is a sum of nothing."""
    if total is None:
        return multiply(a, b, wide)
    if a.dtype == wide:
        return total.addmm_(a, b)
    if sums_wide(a.device, a.dtype, wide):
        return torch.addmm(total, a, b, out_dtype=wide, out=total)
    return total.add_(multiply(a, b, wide))


@functools.cache
def multiplies_wide() -> bool:
    """Whether this torch has products in another dtype than their factors'."""
    return hasattr(torch.ops.aten.mm, "dtype")


@functools.cache
def sums_wide(device: torch.device, dtype: torch.dtype, wide: torch.dtype) -> bool:
    """Whether this torch adds products to a sum that is wider than their factors, in place: it is tried out.

    An earlier release has the function and refuses such a sum; on a CPU there is none.
    """
    factor = torch.ones(16, 16, dtype=dtype, device=device)
    total = torch.ones(16, 16, dtype=wide, device=device)
    try:
        torch.addmm(total, factor, factor, out_dtype=wide, out=total)
    except (RuntimeError, TypeError):
        return False
    return bool((total == 17).all())
