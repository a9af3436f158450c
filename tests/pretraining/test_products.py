"""Products summed in a wider type than their factors', against float64."""

import pytest
import torch

from vocap.pretraining.products import add_product, multiply

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_products_and_their_sums(device, dtype):
    torch.manual_seed(0)
    a = torch.randn(40, 300).to(device, dtype)
    b = torch.randn(300, 24).to(device, dtype)
    right = a.double() @ b.double()
    # a CPU rounds sums to the factors' type
    rounding = max(1e-5, torch.finfo(dtype).eps if device == "cpu" else 0)
    product = multiply(a, b, torch.float32)
    assert product.dtype == torch.float32
    torch.testing.assert_close(product.double(), right, rtol=rounding, atol=40 * rounding)

    total = add_product(a, b, None, torch.float32)
    memory = total.data_ptr()
    total = add_product(a, b, total, torch.float32)
    assert (total.dtype, total.data_ptr()) == (torch.float32, memory)
    torch.testing.assert_close(total.double(), 2 * right, rtol=2 * rounding, atol=80 * rounding)
