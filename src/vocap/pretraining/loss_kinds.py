"""The losses: one class each, with its settings, its candidate words, its memory and
its label.

A loss is an entry of `pretraining: models: NAME: loss`, distinguished by `kind`;
`loss: knn` is `{kind: knn}`. This module imports no torch: `build` imports the
computation. Configuration, training, memory, plan and report use the class of a loss
alone, so that a new loss is written in one place.
"""

from abc import abstractmethod
from collections.abc import Sequence
from pkgutil import resolve_name
from typing import Annotated, Any, ClassVar, Literal, TypeVar, Union

from pydantic import BeforeValidator, Field, SerializeAsAny, TypeAdapter

from vocap.section import ConfigSection

FullSoftmaxFraction = Annotated[
    float,
    Field(
        ge=0,
        le=1,
        description="share of the steps, the last ones, that train with the full softmax",
    ),
]

Count = TypeVar("Count", int, float)  # of targets; a mean is no whole number
LOGITS = 2**28  # logits that a loss over V' holds at once, at most


class LossSettings(ConfigSection):
    """The settings of one loss, with its label, candidate words, memory and computation.

    Attributes
    ----------
    label : name of the loss in the tables of the report
    computation : its class, as MODULE:CLASS, imported by `build`
    weighed : whether it draws words by their frequency in the data, which is then
        counted before training
    restricted : whether it normalises over the words of V' alone, so that other words
        are never pushed down
    """

    kind: str
    label: ClassVar[str]
    computation: ClassVar[str]
    weighed: ClassVar[bool] = False
    restricted: ClassVar[bool] = False

    @property
    def full_softmax_fraction(self) -> float:
        """Share of the steps, the last ones, that train with the full softmax (key
        `finish`).
        """
        return getattr(self, "finish", 0.0)

    @abstractmethod
    def candidates(self, vocabulary: int, targets: Count) -> Count:
        """The largest |V'| of a call with so many targets: rows of W that take part."""

    def mean_candidates(self, vocabulary: int, targets: float) -> float:
        """The expected |V'| of such a call."""
        return self.candidates(vocabulary, targets)

    def build(self, vocabulary: int, excluded: Sequence[int], **common: Any) -> Any:
        """The computation (a `Loss`), without the last part by the full softmax;
        arguments as in `build_loss`.
        """
        return resolve_name(self.computation)(self, vocabulary, excluded, **common)

    def check(self, words: float) -> str | None:
        """The reason why the loss does not fit a vocabulary of so many words (special
        tokens left out; infinite where unknown), if any.
        """
        return None

    def head_bytes(self, vocabulary: int, width: int, targets: int, half: bool) -> int:
        """Bytes of logits held at once and of copied rows of W, with gradients; `half`:
        products of 16 bits.
        """
        candidates = self.candidates(vocabulary, targets)
        size = 2 if half else 4
        # of the full softmax, which copies W for 16 bits alone
        chunk = getattr(self, "chunk", None)
        held = min(targets, chunk or max(1, LOGITS // candidates))
        copied = candidates * width if half or chunk is None else 0
        return held * candidates * (2 * size + 2 * 4) + copied * (size + 4)

    def index_bytes(self, vocabulary: int) -> int:
        """Bytes of an index that is kept during the training."""
        return 0

    def index_operations(self, vocabulary: int, width: int, steps: int) -> float:
        """Floating-point operations of that index in `steps` steps."""
        return 0.0


LOSSES: dict[str, type[LossSettings]] = {}


def register_loss(loss: type[LossSettings]) -> type[LossSettings]:
    """Make a loss known under its `kind`; a class decorator."""
    LOSSES[loss.model_fields["kind"].default] = loss
    return loss


@register_loss
class Full(LossSettings):
    """The exact softmax over the whole vocabulary."""

    kind: Literal["full"] = "full"
    chunk: int = Field(1024, ge=1, description="masked positions whose logits are held at once")
    label: ClassVar[str] = "full softmax"
    computation: ClassVar[str] = "vocap.pretraining.losses.full:FullSoftmax"

    def candidates(self, vocabulary: int, targets: Count) -> Count:
        return vocabulary


@register_loss
class Knn(LossSettings):
    """k-NN target sampling (Equations 4 to 6, Algorithm 2)."""

    kind: Literal["knn"] = "knn"
    k: int = Field(50, ge=1, description="neighbours of each target")
    every: int = Field(
        1000,
        ge=1,
        description="n: steps from one refresh of the index to the next: of all rows on a GPU, "
        "of each row at its "
        "next use on a CPU",
    )
    group: int | None = Field(
        None,
        ge=1,
        description="targets that share a V'; null: those of one micro-batch of one device. The "
        "paper's speeds "
        "fit 2458",
    )
    uniform: int = Field(0, ge=0, description="uniform negatives that are mixed into every V'")
    finish: FullSoftmaxFraction = 0.0
    label: ClassVar[str] = "k-NN"
    computation: ClassVar[str] = "vocap.pretraining.losses.knn:KnnSampling"
    restricted: ClassVar[bool] = True

    def candidates(self, vocabulary: int, targets: Count) -> Count:
        return min(vocabulary, (self.k + 1) * targets + self.uniform)

    def mean_candidates(self, vocabulary: int, targets: float) -> float:
        """About 2 D k^0.75 for D distinct targets, as the paper's table over k reads
        (10K at k = 5, 88K at 100, if 1,543 of 2,458 are distinct); D is taken as 0.63
        of the targets.
        """
        return min(float(vocabulary), 2 * 0.63 * targets * self.k**0.75 + self.uniform)

    def check(self, words: float) -> str | None:
        return (
            f"k is {self.k}, the vocabulary has {words} words; take a smaller k"
            if self.k > words
            else None
        )

    def index_bytes(self, vocabulary: int) -> int:
        return 4 * vocabulary * self.k

    def index_operations(self, vocabulary: int, width: int, steps: int) -> float:
        """2 V^2 d a refresh."""
        sampled_steps = steps - round(self.finish * steps)
        return -(-sampled_steps // self.every) * 2 * vocabulary**2 * width


@register_loss
class Target(LossSettings):
    """Target sampling (Jean et al. 2015): the last tau distinct targets as V'."""

    kind: Literal["target"] = "target"
    tau: int = Field(50_000, ge=1, description="distinct words in V'")
    finish: FullSoftmaxFraction = 0.0
    label: ClassVar[str] = "target sampling"
    computation: ClassVar[str] = "vocap.pretraining.losses.candidates:TargetSampling"
    restricted: ClassVar[bool] = True

    def candidates(self, vocabulary: int, targets: Count) -> Count:
        return min(vocabulary, max(self.tau, targets))


class Negative(LossSettings):
    """A loss with negatives that are drawn anew for every batch."""

    negatives: int = Field(
        50_000, ge=1, description="words drawn anew for every batch, shared by all its targets"
    )
    finish: FullSoftmaxFraction = 0.0

    def candidates(self, vocabulary: int, targets: Count) -> Count:
        return min(vocabulary, self.negatives + targets)


@register_loss
class Uniform(Negative):
    """The control: the targets and uniform negatives as V', without a correction."""

    kind: Literal["uniform"] = "uniform"
    label: ClassVar[str] = "uniform negatives"
    computation: ClassVar[str] = "vocap.pretraining.losses.candidates:UniformSampling"
    restricted: ClassVar[bool] = True


class Weighed(Negative):
    """A loss with negatives that are drawn by their frequency."""

    power: float = Field(
        1.0, ge=0, le=1, description="negatives are drawn by frequency to this power"
    )
    weighed: ClassVar[bool] = True


@register_loss
class Sampled(Weighed):
    """Sampled softmax with the logQ correction."""

    kind: Literal["sampled"] = "sampled"
    label: ClassVar[str] = "sampled softmax"
    computation: ClassVar[str] = "vocap.pretraining.losses.candidates:SampledSoftmax"


@register_loss
class Nce(Weighed):
    """Noise contrastive estimation."""

    kind: Literal["nce"] = "nce"
    label: ClassVar[str] = "NCE"
    computation: ClassVar[str] = "vocap.pretraining.losses.candidates:Nce"


@register_loss
class Neg(Weighed):
    """Negative sampling, as in word2vec."""

    kind: Literal["neg"] = "neg"
    power: float = Field(
        0.75, ge=0, le=1, description="negatives are drawn by frequency to this power"
    )
    label: ClassVar[str] = "NEG"
    computation: ClassVar[str] = "vocap.pretraining.losses.candidates:NegativeSampling"


def parse_loss(value: Any) -> LossSettings:
    """The settings of a loss from its kind, or from keys and values with a `kind`;
    settings as they are.

    Raises pydantic's ValidationError, located below the kind.
    """
    if isinstance(value, LossSettings):
        return value
    losses: Any = Union[tuple(LOSSES.values())]  # noqa: UP007  # that are registered now
    adapter = TypeAdapter[LossSettings](Annotated[losses, Field(discriminator="kind")])
    return adapter.validate_python({"kind": value} if isinstance(value, str) else value)


# a field of any registered loss: a union of pydantic holds those that are registered
# before its declaration
AnyLoss = Annotated[SerializeAsAny[LossSettings], BeforeValidator(parse_loss)]
