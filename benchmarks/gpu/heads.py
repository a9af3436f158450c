"""The output layers to compare: exact kernels, k-NN and its rivals, a relative of k-NN,
a free head.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding

from vocap.pretraining.loss_kinds import Full, Knn, LossSettings, Nce, Neg, Sampled, Target, Uniform
from vocap.pretraining.losses import build_loss
from vocap.pretraining.losses.full import torch_cross_entropy
from vocap.pretraining.losses.interface import Loss, LossOutput, block_loss, chunks, softmax_loss

from .sizes import Sizes

EVERY = 1000  # steps between two refreshes of the index, as in the paper
FREE = "free"
KNN = "k-NN k={}"
DRAWN = 10**6  # tokens that frequencies are counted on


@dataclass(frozen=True)
class Head:
    """An output layer of a W [V, d]; `build`: from W and the special ids to the
    loss.
    """

    name: str
    build: Callable[[Tensor, Sequence[int]], Loss]


class Free(Loss):
    """No output layer: a gradient for h, none for W."""

    def of_targets(self, hidden, weight, bias, targets):
        return LossOutput(hidden.float().sum(), len(targets), 0.0)


class Exact(Loss):
    """The full softmax by a function of h, W, b and the targets."""

    def __init__(self, *arguments, function: Callable[..., Tensor], **options):
        super().__init__(*arguments, **options)
        self.function = function

    def of_targets(self, hidden, weight, bias, targets):
        return LossOutput(
            self.function(hidden, weight, bias, targets), len(targets), float(self.vocabulary)
        )


def plain(hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor, chunk: int) -> Tensor:
    """Ours, uncompiled, in blocks of `chunk` rows."""
    return block_loss(hidden, weight, bias, chunks(targets, chunk), softmax_loss)


def eager(hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """All logits at once."""
    logits = torch.nn.functional.linear(hidden, weight, bias).float()
    return torch.nn.functional.cross_entropy(logits, targets, reduction="sum")


def cut(hidden: Tensor, weight: Tensor, bias: Tensor, targets: Tensor) -> Tensor:
    """Apple's Cut Cross-Entropy, which autocast does not reach."""
    from cut_cross_entropy import linear_cross_entropy

    kind = hidden.device.type
    dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else hidden.dtype
    with torch.autocast(kind, enabled=False):
        tensors = (tensor.to(dtype) for tensor in (hidden, weight))
        options = {"bias": bias.to(dtype), "reduction": "sum", "impl": "cce_kahan_full_c"}
        return linear_cross_entropy(*tensors, targets, **options).float()


class Liger(Loss):
    """Liger's fused linear cross-entropy, about `chunk` rows at once (its own choice is
    4 at V = 500K).
    """

    def __init__(self, *arguments, chunk: int, **options):
        super().__init__(*arguments, **options)
        self.chunk = chunk

    def of_targets(self, hidden, weight, bias, targets):
        from liger_kernel.transformers.functional import liger_fused_linear_cross_entropy

        kind = hidden.device.type
        dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else hidden.dtype
        share = max(1, round(len(weight) / weight.shape[1] * self.chunk / max(1, len(targets))))
        with torch.autocast(kind, enabled=False):
            loss = liger_fused_linear_cross_entropy(
                hidden.to(dtype),
                weight.to(dtype),
                targets,
                bias.to(dtype),
                reduction="sum",
                accum_dtype=torch.float32,
                chunk_mem_const=share,
            )
        return LossOutput(loss.float(), len(targets), float(self.vocabulary))


class ScalableCrossEntropy(Loss):
    """SCE (Mezentsev et al., RecSys 2024, Algorithm 1): softmax within buckets of
    random directions.

    2 sqrt(N) buckets hold the 2 sqrt(N) rows of h and the `words` rows of W with the
    largest projections each; a target's loss is the largest of its buckets', one in no
    bucket has none. The directions are mixtures of h.
    """

    def __init__(self, *arguments, words: int = 256, **options):
        super().__init__(*arguments, **options)
        self.bucket_words = words
        self.excluded = torch.tensor(arguments[2], device=self.words.device)

    def of_targets(self, hidden, weight, bias, targets):
        count = len(targets)
        size = min(count, math.ceil(2 * math.sqrt(count)))
        with torch.no_grad():
            directions = torch.randn(size, count, device=hidden.device) @ hidden.float()
            rows = torch.topk(directions @ hidden.float().T, size).indices  # [buckets, rows]
            projections = directions @ weight.T
            projections[:, self.excluded] = -torch.inf
            words = torch.topk(projections, min(self.bucket_words, len(self.words))).indices
        own = (hidden * embedding(targets, weight)).sum(1).float() + bias[targets]
        logits = torch.bmm(hidden[rows], embedding(words, weight).mT).float() + bias[words][:, None]
        logits = logits.masked_fill(words[:, None] == targets[rows][:, :, None], -torch.inf)
        nats = torch.logsumexp(torch.cat([logits, own[rows][..., None]], 2), 2) - own[rows]
        losses = torch.zeros(count, device=hidden.device).scatter_reduce(
            0, rows.flatten(), nats.flatten(), "amax", include_self=False
        )
        return LossOutput(losses.sum(), count, float(words.unique().numel()))


def heads(sizes: Sizes, batch_fits: bool = True) -> list[Head]:
    """In the order of worth, should time run out. `batch_fits`: all logits of a batch
    may be held at once.
    """

    def kind(settings: LossSettings) -> Callable[[Tensor, Sequence[int]], Loss]:
        return lambda weight, special: _of_kind(settings, weight, special)

    def own(loss: type[Loss], **options) -> Callable[[Tensor, Sequence[int]], Loss]:
        return lambda weight, special: loss(
            None, len(weight), special, device=weight.device, **options
        )

    first, *others = sizes.candidates
    words, chunk = sizes.words, sizes.chunks[0]
    return [
        Head(FREE, own(Free)),
        _knn(first, sizes),
        # ours, on a GPU compiled
        *(Head(f"full, chunk {size}", kind(Full(chunk=size))) for size in sizes.chunks),
        Head("full cut cross-entropy", own(Exact, function=cut)),
        Head(f"full Liger, chunk {chunk}", own(Liger, chunk=chunk)),
        Head(
            f"full torch, chunk {chunk}",
            own(Exact, function=partial(torch_cross_entropy, chunk=chunk)),
        ),
        Head(f"full plain, chunk {chunk}", own(Exact, function=partial(plain, chunk=chunk))),
        *(_knn(k, sizes) for k in others),
        Head(f"target sampling {words}", kind(Target(tau=words))),
        Head(f"NCE {words}", kind(Nce(negatives=words))),
        Head(f"NEG {words}", kind(Neg(negatives=words))),
        Head(f"sampled softmax {words}", kind(Sampled(negatives=words))),
        Head(f"uniform {words}", kind(Uniform(negatives=words))),
        Head("SCE, 256 words a bucket", own(ScalableCrossEntropy)),
        *([Head("full eager", own(Exact, function=eager))] if batch_fits else []),
    ]


def _knn(k: int, sizes: Sizes) -> Head:
    """k-NN whose V' has about the paper's size: all neighbours are in a pool of as many
    words.
    """

    def build(weight: Tensor, special: Sequence[int]) -> Loss:
        loss = _of_kind(Knn(k=k, group=sizes.group, every=EVERY), weight, special)
        generator = torch.Generator(weight.device).manual_seed(0)
        pool = loss.words[
            torch.randperm(len(loss.words), device=weight.device, generator=generator)
        ]
        pool = pool[: sizes.candidates[k]]
        drawn = torch.randint(
            len(pool), (len(weight), k), device=weight.device, generator=generator
        )
        loss.index.burst = True  # in a dry run on a CPU too
        loss.index.table.copy_(pool[drawn])
        loss.index.built.fill_(0)
        return loss

    return Head(KNN.format(k), build)


def _of_kind(settings: LossSettings, weight: Tensor, special: Sequence[int]) -> Loss:
    """The loss of a training that has run for long: frequencies are known, target
    sampling has its tau words.
    """
    vocabulary, device = len(weight), weight.device
    counts = torch.bincount(
        zipf(vocabulary, (DRAWN,), np.random.default_rng(1)), minlength=vocabulary
    ).numpy()
    loss = build_loss(settings, vocabulary, special, counts=counts, device=device)
    if isinstance(settings, Target):
        generator = torch.Generator(device).manual_seed(0)
        recent = torch.randperm(len(loss.words), device=device, generator=generator)[: settings.tau]
        loss.seen[loss.words[recent]] = 1
        loss.time = 1
    return loss


def zipf(vocabulary: int, size: tuple[int, ...], random: np.random.Generator) -> Tensor:
    """Word ids with frequency 1/rank; ranks are spread over the ids, special ones are
    left out.
    """
    ranks = np.minimum(
        np.exp(random.random(size) * np.log(vocabulary - 5)).astype(np.int64), vocabulary - 6
    )
    return torch.from_numpy(np.random.default_rng(0).permutation(vocabulary - 5)[ranks] + 4)


def special_ids(vocabulary: int) -> list[int]:
    """Those of XLM-R's layout."""
    return [0, 1, 2, 3, vocabulary - 1]
