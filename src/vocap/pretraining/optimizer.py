"""AdamW as XLM-R is trained with: one group, decay on every parameter; and its row-sparse (lazy) form."""

import torch
from torch import Tensor, nn

BETAS = (0.9, 0.98)
EPSILON = 1e-6
DECAY = 0.01
ROW_STEP = "row_step"


class AdamW(torch.optim.AdamW):
    """torch's fused AdamW that also takes row-sparse gradients.

    Dense (the default): exactly AdamW. A row-sparse gradient is written into a dense one that is kept, of which
    only the rows last written are cleared: the zeroing of V rows a step is saved, the result is the same.
    `lazy`: only the rows of the gradient move. What a row has missed is caught up when it comes again: its moments
    decay by beta^steps and its weights by (1 - lr decay)^steps. Not made up for is how dense Adam keeps moving a
    row by its momentum some ten steps after its last gradient.
    """

    def __init__(self, parameters, *, lazy: bool = False, **options):
        super().__init__(parameters, fused=True, **options)
        self.lazy = lazy
        self._buffers: dict[Tensor, tuple[Tensor, Tensor]] = {}  # dense gradient, rows last written

    @torch.no_grad()
    def step(self, closure=None):
        """One update. Sparse gradients are left as they were given."""
        sparse = {
            parameter: parameter.grad
            for group in self.param_groups
            for parameter in group["params"]
            if parameter.grad is not None and parameter.grad.is_sparse
        }
        for parameter, gradient in sparse.items():
            parameter.grad = None if self.lazy else self._dense(parameter, gradient.coalesce())
        loss = super().step(closure)
        for group in self.param_groups if self.lazy else ():
            for parameter in group["params"]:
                if parameter in sparse:
                    self._step_rows(parameter, sparse[parameter].coalesce(), group)
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

    def _step_rows(self, parameter: Tensor, gradient: Tensor, group: dict) -> None:
        state = self.state[parameter]
        if not state:
            state["step"] = torch.zeros((), dtype=torch.float32, device=parameter.device)
            state["exp_avg"] = torch.zeros_like(parameter)
            state["exp_avg_sq"] = torch.zeros_like(parameter)
            state[ROW_STEP] = parameter.new_zeros(len(parameter))
        state["step"] += 1
        step = int(state["step"])
        rows, values = gradient.indices()[0], gradient.values()
        (beta1, beta2), rate = group["betas"], float(group["lr"])
        missed = (step - state[ROW_STEP][rows]).to(values.dtype)[:, None]
        first = state["exp_avg"][rows] * beta1**missed + (1 - beta1) * values
        second = state["exp_avg_sq"][rows] * beta2**missed + (1 - beta2) * values * values
        denominator = (second.sqrt() / (1 - beta2**step) ** 0.5).add_(group["eps"])
        kept = parameter[rows] * (1 - rate * group["weight_decay"]) ** missed
        parameter[rows] = kept - rate / (1 - beta1**step) * first / denominator
        state["exp_avg"][rows], state["exp_avg_sq"][rows] = first, second
        state[ROW_STEP][rows] = step


def build_optimizer(
    model: nn.Module,
    lr: float,
    *,
    betas: tuple[float, float] = BETAS,
    eps: float = EPSILON,
    weight_decay: float = DECAY,
    lazy: bool = False,
) -> AdamW:
    """AdamW over every parameter of `model`; `lazy` needs a model with row gradients."""
    return AdamW(model.parameters(), lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, lazy=lazy)


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
