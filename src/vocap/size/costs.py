"""Parameters, memory and floating-point operations of a transformer language model with T embeddings.

H: width of the layers, L: layers, I: width of the feed-forward layers, S: tokens of a block, T: ids. A product of
a vector with a matrix of N weights counts 2 N operations, 6 N with its backward pass (Kaplan et al. 2020, 2.1).
"""

from dataclasses import dataclass

from vocap.plan.training import encoder_operations
from vocap.pretraining.batches import SHARE
from vocap.pretraining.memory import count_parameters, layer_parameters
from vocap.pretraining.settings import Shape

TRAINED_BYTES = 16  # of a parameter: weight, gradient and both moments of Adam in float32
SERVED_BYTES = 2  # of a parameter, and of a number of the cache of keys and values: 16 bits


@dataclass(frozen=True)
class ModelCosts:
    """A masked language model in XLM-R's form, or a causal one in GPT-2's; both predict from the embedding table.

    `untied`: the output layer has a table of its own. `candidates`: words of a sampled loss that take part in a
    batch; None: all T (the full softmax). `shape` has the embeddings as wide as the layers.
    """

    shape: Shape
    causal: bool = False
    untied: bool = False
    candidates: int | None = None

    @property
    def predicted(self) -> float:
        """The share of the tokens that are predicted in training."""
        return 1.0 if self.causal else SHARE

    def parameters(self, total: int) -> int:
        """All parameters of the model with `total` ids, a tied table once."""
        shape = self.shape
        if self.causal:
            body = layer_parameters(shape) + shape.positions * shape.hidden + 2 * shape.hidden
        else:
            body = count_parameters(shape, 0)
        return body + self.embedding_parameters(total)

    def embedding_parameters(self, total: int) -> int:
        """T H of a table, twice if untied; a masked model has an output bias of T besides."""
        return total * (self.shape.hidden * (2 if self.untied else 1) + (not self.causal))

    def training_bytes(self, total: int) -> int:
        """Memory of weights, gradients and moments; activations depend on the batch and are left out."""
        return TRAINED_BYTES * self.parameters(total)

    def inference_bytes(self, total: int) -> int:
        """Memory of the weights in 16 bits."""
        return SERVED_BYTES * self.parameters(total)

    def cache_bytes(self) -> int:
        """Keys and values of one token in all layers, 16 bits; 0 for a masked model, which keeps none."""
        return 2 * self.shape.layers * self.shape.hidden * SERVED_BYTES if self.causal else 0

    def training_operations(self, total: int) -> float:
        """Operations of one token, forward and backward: layers, attention over a whole block, and the head.

        6 L (4 H^2 + 2 H I) + 12 L S H + 6 p (K H + H^2 of a masked model): p is the share of tokens that are
        predicted, K the smaller of T and the candidates.
        """
        body = encoder_operations(self.shape, self.shape.positions)
        return body + 3 * self.predicted * self._head(min(total, self.candidates or total))

    def inference_operations(self, total: int) -> float:
        """Operations of one token, forward: a third of the layers', and the head of a causal model, with all T.

        A masked model is taken for an encoder, as after fine-tuning: it has no head over the vocabulary.
        """
        body = encoder_operations(self.shape, self.shape.positions)
        return body / 3 + (self._head(total) if self.causal else 0)

    def _head(self, words: int) -> float:
        """Operations of one predicted token, forward: 2 a weight; a masked model's head has a layer of its own."""
        hidden = self.shape.hidden
        return 2 * hidden * words + (0 if self.causal else 2 * hidden * hidden)
