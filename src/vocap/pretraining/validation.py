"""Full-softmax validation loss on fixed held-out blocks, per language, for any training loss."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from vocap.pretraining.batches import Batch, Vocabulary, heldout_batch, heldout_blocks
from vocap.pretraining.data import Data
from vocap.pretraining.losses import exact_loss
from vocap.pretraining.model import MaskedLanguageModel
from vocap.training.distributed import rank, summed, world_size

SUMS = ("nats", "count", "correct", "reciprocal_ranks")  # over the masked tokens of a language


class Validation:
    """The fixed held-out batch of a run; this process measures the batches `rank`, `rank + ranks`, ..."""

    def __init__(self, data: Data, blocks: int, micro_batch: int) -> None:
        chosen = heldout_blocks(data.heldout, blocks)
        parts = [chosen[start : start + micro_batch] for start in range(0, len(chosen), micro_batch)]
        self.languages, self.special = data.languages, data.special.all
        ids = Vocabulary(data.vocabulary, data.special)
        self._batches = []  # with the language of each masked token
        for part in parts[rank() :: world_size()]:
            batch = heldout_batch(part, ids)
            self._batches.append((batch, np.array([block.language for block in part])[batch.rows]))
        tokens, size_bytes = np.zeros((2, len(data.languages)), np.int64)
        for block in chosen:
            tokens[block.language] += ids.ordinary(block.ids).sum()
            size_bytes[block.language] += block.size_bytes
        self._text = {"tokens": tokens, "bytes": size_bytes}

    @torch.no_grad()
    def measure(self, model: MaskedLanguageModel, device: torch.device, dtype: torch.dtype) -> dict[str, Any]:
        """Validation entries of a line of metrics.jsonl; a collective call with equal results on every rank."""
        sums = np.zeros((len(SUMS), len(self.languages)))
        model.eval()
        for batch, languages in self._batches:
            with torch.autocast(device.type, dtype, enabled=dtype != torch.float32):
                hidden = encode(model, batch, device)
            targets = torch.from_numpy(batch.targets).to(device)
            weight, bias = model.decoder_weight, model.decoder_bias
            scores = exact_loss(hidden, weight, bias, targets, self.special)
            nats, ranked = (values.double().cpu().numpy() for values in (scores.nats, scores.ranks))
            columns = (nats, np.ones(len(ranked)), ranked == 1, 1 / ranked)
            for place, values in enumerate(columns):
                sums[place] += np.bincount(languages, values, len(self.languages))
        model.train()
        total = np.array(summed(sums.ravel(), device)).reshape(sums.shape)
        return summary(self.languages, {**dict(zip(SUMS, total, strict=True)), **self._text})


def encode(model: MaskedLanguageModel, batch: Batch, device: torch.device) -> torch.Tensor:
    """h [m, d] at the masked positions of a batch."""
    ids, attention, positions = (
        torch.from_numpy(array).to(device, non_blocking=True)
        for array in (batch.input_ids, batch.attention, batch.positions)
    )
    return model(ids, None if batch.attention.all() else attention, positions)


def summary(languages: Sequence[str], sums: dict[str, np.ndarray]) -> dict[str, Any]:
    """Per language and over all: nats per masked token, bits per byte, accuracy, mean reciprocal rank.

    `sums` [languages] of each language: `SUMS`, `tokens` of its held-out text that can be masked, its `bytes`.

    Bits per byte: the mean loss of a masked token, in bits, times the tokens of the text, over its UTF-8 bytes;
    over all languages, those of their texts together. None where nothing was masked, or no finite number.
    """
    whole = _scores(sums, np.arange(len(languages)))
    return {**whole, "languages": {name: _scores(sums, np.array([at])) for at, name in enumerate(languages)}}


def _scores(sums: dict[str, np.ndarray], places: np.ndarray) -> dict[str, float | None]:
    """The four scores of the languages at `places`."""
    means = {"exact_loss": "nats", "accuracy": "correct", "mrr": "reciprocal_ranks"}
    places = places[sums["count"][places] > 0]
    if not len(places):
        return dict.fromkeys([*means, "bits_per_byte"])
    chosen = {name: values[places] for name, values in sums.items()}
    found = {name: chosen[of].sum() / chosen["count"].sum() for name, of in means.items()}
    nats = chosen["nats"] / chosen["count"] * chosen["tokens"]
    found["bits_per_byte"] = nats.sum() / math.log(2) / chosen["bytes"].sum()
    return {
        name: float(value) if math.isfinite(value) else None for name, value in found.items()
    }  # as JSON lacks NaN
