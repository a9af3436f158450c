"""The normalisation rules inside a SentencePiece model: a table of strings and what becomes of them."""

import numpy as np

from vocap.errors import VocapError

MAX_KEY_BYTES = 64  # nmt_nfkc: 16
MAX_RULES = 1 << 20  # nmt_nfkc: 225,262
_LEAF, _VALUE, _LABEL = np.uint32(1 << 8), np.uint32((1 << 31) - 1), np.uint32((1 << 31) | 0xFF)
_BYTES = np.arange(1, 256, dtype=np.uint32)


def read_charsmap(blob: bytes, name: str = "the model") -> dict[str, str]:
    """Key to value of `NormalizerSpec.precompiled_charsmap`; empty for an empty blob (no rules).

    The blob is a little-endian length, a Darts double array of that many bytes, and the values, each ended by
    NUL (`Normalizer::DecodePrecompiledCharsMap`). The array is walked level by level; several keys may share a
    node. Raises VocapError, naming `name`, for a blob whose parts point outside of it or in a circle.
    """
    if not blob:
        return {}
    size = int.from_bytes(blob[:4], "little")
    if len(blob) < 8 or size % 4 or not 4 <= size < len(blob) - 4:
        raise _damaged(name)
    units = np.frombuffer(blob, "<u4", size // 4, 4)
    values = blob[4 + size :]
    rules: dict[str, str] = {}
    nodes, keys = np.zeros(1, np.int64), [b""]
    for _ in range(MAX_KEY_BYTES):
        unit = units[nodes]
        base = nodes ^ _offset(unit)
        ends = np.flatnonzero(unit & _LEAF)
        if base.max() >= len(units) or len(rules) + len(ends) > MAX_RULES:
            raise _damaged(name)
        for position, start in zip(ends.tolist(), (units[base[ends]] & _VALUE).tolist(), strict=True):
            end = values.find(b"\0", start)
            if end < 0:
                raise _damaged(name)
            try:
                rules[keys[position].decode("utf-8")] = values[start:end].decode("utf-8")
            except UnicodeDecodeError:
                raise _damaged(name) from None
        distinct, shared = np.unique(base, return_inverse=True)
        parents, labels = _children(units, distinct)
        firsts = np.searchsorted(parents, np.arange(len(distinct) + 1))
        counts = np.diff(firsts)[shared]  # children of every key's node
        if counts.sum() > MAX_RULES:
            raise _damaged(name)
        if not counts.any():
            return rules
        of_key = np.repeat(np.arange(len(keys)), counts)
        within = np.arange(len(of_key)) - np.repeat(np.cumsum(counts) - counts, counts)
        taken = labels[firsts[shared[of_key]] + within]
        nodes = base[of_key] ^ taken
        keys = [keys[key] + bytes((label,)) for key, label in zip(of_key.tolist(), taken.tolist(), strict=True)]
    raise _damaged(name)


def _offset(units: np.ndarray) -> np.ndarray:
    """`DoubleArrayUnit::offset`: from a unit to its children, by exclusive or."""
    return ((units >> np.uint32(10)) << ((units & np.uint32(1 << 9)) >> np.uint32(6))).astype(np.int64)


def _children(units: np.ndarray, bases: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Which of `bases` (by index, rising) lead on by which byte: two int64 arrays."""
    parents, labels = [], []
    for start in range(0, len(bases), 4096):  # 4096 x 255 units at a time: 8 MB
        reached = bases[start : start + 4096, None] ^ _BYTES.astype(np.int64)
        inside = reached < len(units)
        rows, columns = np.nonzero(inside & (units[np.where(inside, reached, 0)] & _LABEL == _BYTES))
        parents.append(rows + start)
        labels.append(columns + 1)
    return np.concatenate(parents), np.concatenate(labels)


def _damaged(name: str) -> VocapError:
    return VocapError(f"{name}: its normalisation rules are damaged; train or download the model again")
