"""AdamW as XLM-R is trained with, clipping of gradients, and the schedule of the learning rate."""

import torch
from torch import Tensor, nn

BETAS = (0.9, 0.98)
EPSILON = 1e-6
DECAY = 0.01


def learning_rate(step: int, peak_lr: float, warmup: int, steps: int) -> float:
    """The rate of the update number `step`, from 0 on; the last is `steps - 1`.

    >>> [learning_rate(step, 1.0, 2, 6) for step in range(6)]
    [0.5, 1.0, 1.0, 0.75, 0.5, 0.25]
    """
    if step < warmup:
        return peak_lr * (step + 1) / warmup
    return peak_lr * (steps - step) / (steps - warmup)


class AdamW(torch.optim.AdamW):
    """torch's fused AdamW that also takes row-sparse gradients, with the result of dense ones.

    A row-sparse gradient is written into a dense one that is kept, of which only the rows last written are
    cleared: this saves the zeroing of V rows a step.
    """

    def __init__(self, parameters, **options):
        super().__init__(parameters, fused=True, **options)
        self._buffers: dict[Tensor, tuple[Tensor, Tensor]] = {}  # dense gradient, rows last written

    @torch.no_grad()
    def step(self, closure=None):
        """One update. Sparse gradients are left as they were given."""
        parameters = [parameter for group in self.param_groups for parameter in group["params"]]
        sparse = {each: each.grad for each in parameters if each.grad is not None and each.grad.is_sparse}
        for parameter, gradient in sparse.items():
            parameter.grad = self._dense(parameter, gradient.coalesce())
        loss = super().step(closure)
        for parameter, gradient in sparse.items():
            parameter.grad = gradient
        return loss

    def _dense(self, parameter: Tensor, gradient: Tensor) -> Tensor:
        rows = gradient.indices()[0]
        if parameter in self._buffers:
            dense, written = self._buffers[parameter]
            dense[written] = 0
        else:
            dense = torch.zeros_like(parameter)
        dense[rows] = gradient.values()
        self._buffers[parameter] = (dense, rows)
        return dense


def build_optimizer(
    model: nn.Module,
    lr: float,
    *,
    betas: tuple[float, float] = BETAS,
    eps: float = EPSILON,
    weight_decay: float = DECAY,
) -> AdamW:
    """AdamW over every parameter of `model`."""
    return AdamW(model.parameters(), lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)


@torch.no_grad()
def clip_gradients(parameters, max_norm: float) -> Tensor:
    """Scale all gradients, dense and row-sparse, so that their joint norm is at most `max_norm`; the norm before.

    A norm that is not finite scales nothing: the caller skips the step.
    """
    parameters = [parameter for parameter in parameters if parameter.grad is not None]
    for parameter in parameters:
        if parameter.grad.is_sparse:
            parameter.grad = parameter.grad.coalesce()
    values = [parameter.grad.values() if parameter.grad.is_sparse else parameter.grad for parameter in parameters]
    norm = torch.linalg.vector_norm(torch.stack(torch._foreach_norm(values)))
    scale = (max_norm / (norm + 1e-6)).clamp(max=1.0)
    scale = torch.where(norm.isfinite(), scale, torch.ones_like(scale))
    torch._foreach_mul_(values, scale)
    return norm
