"""The precompiled character map of a model: its check and its rules.

SentencePiece follows it without checking bounds. A map is
`<bytes of the trie: uint32><trie: a Darts double array of uint32 units><replacements, each ended by NUL>`
(`Normalizer::DecodePrecompiledCharsMap`). The library follows offsets of the array wherever they lead, and keeps
at most 32 matches of one prefix in an array on its stack without counting them (`Normalizer::NormalizePrefix`).
"""

import functools
import io

import numpy as np

from vocap.errors import VocapError

MAX_BYTES = 8 << 20  # the largest of the library's own has 0.3 MB
MAX_MATCHES = 32  # Normalizer::kMaxTrieResultsSize
MAX_KEY_BYTES = 256
MAX_REPLACEMENT_BYTES = 256  # a longer one could blow a text up; NFKC's longest has 33
MAX_RULES = 1 << 20  # nmt_nfkc: 225,262
BUILT_IN = ("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfkc_cf")

_LEAF = np.uint32(1 << 8)  # DoubleArrayUnit::has_leaf
_VALUE = np.uint32((1 << 31) - 1)  # DoubleArrayUnit::value
_LABEL = np.uint32(1 << 31 | 0xFF)  # DoubleArrayUnit::label: a leaf's has the highest bit, so it matches no byte
_BYTES = np.arange(256, dtype=np.uint32)


@functools.cache
def built_in_maps() -> frozenset[bytes]:
    """The maps that the installed SentencePiece makes for its own rule names.

    Taken from models of one letter, a few milliseconds each: the normaliser class cannot give its own map.
    """
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2

    maps = []
    for name in BUILT_IN:
        model = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(["a"]),
            model_writer=model,
            vocab_size=5,
            normalization_rule_name=name,
            num_threads=1,
            minloglevel=2,
        )
        proto = sentencepiece_model_pb2.ModelProto.FromString(model.getvalue())
        maps.append(proto.normalizer_spec.precompiled_charsmap)
    return frozenset(maps)


def check_charsmap(blob: bytes) -> None:
    """Raise ValueError, with the reason, unless SentencePiece can use `blob` on any text."""
    if not blob or blob in built_in_maps():
        return
    if len(blob) > MAX_BYTES:
        raise ValueError(f"{len(blob)} bytes, more than {MAX_BYTES}")
    trie_bytes = int.from_bytes(blob[:4], "little")
    if trie_bytes < 1024 or trie_bytes % 1024 or 4 + trie_bytes >= len(blob):
        raise ValueError(f"its trie claims {trie_bytes} of the {len(blob)} bytes")
    units, replacements = _parts(blob)
    _check_replacements(replacements)
    _check_trie(units, np.frombuffer(replacements, np.uint8))


def read_charsmap(blob: bytes, name: str = "the model") -> dict[str, str]:
    """Key to replacement of every rule of a map; empty for an empty blob.

    Raises VocapError, naming `name`, where `check_charsmap` does, and for a key that is not UTF-8 or more than
    `MAX_RULES` rules (keys may share the nodes of the trie, so a small one can hold any number).
    """
    try:
        check_charsmap(blob)
        return _rules(*_parts(blob)) if blob else {}
    except ValueError as error:
        raise VocapError(
            f"{name}: its normalisation rules are damaged ({error}); train or download the model again"
        ) from None


def _parts(blob: bytes) -> tuple[np.ndarray, bytes]:
    """Units of the trie, uint32, and the replacements."""
    trie_bytes = int.from_bytes(blob[:4], "little")
    return np.frombuffer(blob, "<u4", trie_bytes // 4, 4), blob[4 + trie_bytes :]


def _rules(units: np.ndarray, replacements: bytes) -> dict[str, str]:
    """Walk a checked trie by level, with the key that led to each node."""
    rules: dict[str, str] = {}
    nodes, keys = np.zeros(1, np.uint32), [b""]
    while len(nodes):
        found = units[nodes]
        bases = nodes ^ _offset(found)
        ends = np.flatnonzero(found & _LEAF)
        for place, start in zip(ends.tolist(), (units[bases[ends]] & _VALUE).tolist(), strict=True):
            # UnicodeDecodeError is a ValueError
            rules[keys[place].decode("utf-8")] = replacements[start : replacements.index(0, start)].decode("utf-8")
        distinct, of_node = np.unique(bases, return_inverse=True)
        parents, labels = _followed(units, distinct)
        firsts = np.searchsorted(parents, np.arange(len(distinct) + 1))
        counts = np.diff(firsts)[of_node]  # children of every key's node
        if len(rules) + counts.sum() > MAX_RULES:
            raise ValueError(f"more than {MAX_RULES} rules")
        of_key = np.repeat(np.arange(len(keys)), counts)
        within = np.arange(len(of_key)) - np.repeat(np.cumsum(counts) - counts, counts)
        taken = labels[firsts[of_node[of_key]] + within]
        nodes = bases[of_key] ^ taken
        keys = [keys[key] + bytes((label,)) for key, label in zip(of_key.tolist(), taken.tolist(), strict=True)]
    return rules


def _check_replacements(replacements: bytes) -> None:
    if replacements[-1] != 0:
        raise ValueError("its last replacement has no end")
    try:
        replacements.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError("a replacement is not UTF-8") from None
    longest = max(map(len, replacements.split(b"\0")))
    if longest > MAX_REPLACEMENT_BYTES:
        raise ValueError(f"a replacement has {longest} bytes, more than {MAX_REPLACEMENT_BYTES}")


def _offset(units: np.ndarray) -> np.ndarray:
    """`DoubleArrayUnit::offset`: from a unit to its children, by exclusive or."""
    return (units >> 10) << ((units & (1 << 9)) >> 6)


def _check_trie(units: np.ndarray, replacements: np.ndarray) -> None:
    """Follow every path that a text could take, a byte a level, all of a level at once.

    `units` uint32 [n], n a multiple of 256; `replacements` uint8 [bytes]. Nodes may be shared (the library writes
    equal subtrees once), so a level holds each node once, with the most matches on any path to it.
    """
    bases = _offset(units[:1])
    matches = np.zeros(1, np.int64)
    visited = 0
    for _ in range(MAX_KEY_BYTES + 1):
        if bases.max() >= len(units):
            raise ValueError("its trie points outside itself")
        visited += len(bases)
        if visited > 4 * len(units):  # the library's own stay below once: every node has one depth
            break
        parents, labels = _followed(units, bases)
        if not len(parents):
            return
        children, shared = np.unique(bases[parents] ^ labels, return_inverse=True)
        reached, matches = matches[parents], np.zeros(len(children), np.int64)
        np.maximum.at(matches, shared, reached)
        found = units[children]
        bases = children ^ _offset(found)
        leaf = found & _LEAF != 0
        if bases.max() >= len(units):
            raise ValueError("its trie points outside itself")
        _check_values(units[bases[leaf]] & _VALUE, replacements)
        matches = matches + leaf
        if matches.max() > MAX_MATCHES:
            raise ValueError(f"more than {MAX_MATCHES} of its keys begin each other, or it has a cycle")
    raise ValueError(f"its trie has a cycle, or keys of more than {MAX_KEY_BYTES} bytes")


def _followed(units: np.ndarray, bases: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The transitions from `bases`: index of the base (int64, rising) and byte (uint32)."""
    parents, labels = [], []
    for start in range(0, len(bases), 4096):  # 4096 x 256 units at a time: 4 MB
        part = bases[start : start + 4096, None] ^ _BYTES
        rows, columns = np.nonzero(units[part] & _LABEL == _BYTES)
        parents.append(rows + start)
        labels.append(_BYTES[columns])
    return np.concatenate(parents), np.concatenate(labels)


def _check_values(values: np.ndarray, replacements: np.ndarray) -> None:
    """A match's value is where its replacement starts."""
    if len(values) and values.max() >= len(replacements):
        raise ValueError("a replacement lies outside the map")
    if np.any(replacements[values] & 0xC0 == 0x80):
        raise ValueError("a replacement starts inside a character")
