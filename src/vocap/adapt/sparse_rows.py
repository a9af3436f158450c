"""Rows of new pieces as sparse combinations of old rows, after neighbours in the text of the added language.

Neighbours are old pieces, before and behind, of the text as the old tokenizer segments it; a new piece has those
around its place. So both kinds of pieces are described by the same columns, without the model.
"""

import logging
from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from pathlib import Path

import numpy as np

from vocap.progress import Steps
from vocap.text_files.named_texts import read_sentences
from vocap.tokenizer_files.encoders import Encoder

logger = logging.getLogger(__name__)
ATOMS = 64  # of a new row: as in mergekit-tokensurgeon
WINDOW = 5  # old pieces on either side
COLUMNS = 1000  # most frequent old pieces that count as neighbours, on either side
DIMENSIONS = 256
LEAST = 5  # occurrences of a piece with a vector
MOST_LINES = 200_000  # of the text
SMOOTHING = 0.75  # of the neighbours' frequencies, against rare ones (Levy, Goldberg and Dagan 2015)
BATCH = 256  # targets at a time: [BATCH, atoms] of float64 are held
RIDGE = 1e-9  # of the squared length of an atom: combinations of parallel atoms stay finite

_BYTES = {f"<0x{byte:02X}>": int(not 0x80 <= byte < 0xC0) for byte in range(256)}  # a character's first byte: 1
Segmented = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]


def sparse_sums(before: Encoder, after: Encoder, path: Path) -> dict[int, tuple[list[int], list[float]]]:
    """For each new id with a vector, the old ids and the factors of its row; the text is that of the language."""
    segmented = []
    for side in (before, after):
        ids = {piece: number for number, piece in enumerate(side.pieces)}
        segmented.append(segment(side.split_batch, ids, read_sentences(path)))
    anchors, atoms, wanted, targets = context_vectors(*segmented, before.size, after.size)
    if not len(anchors):
        logger.warning("%s: no old piece is frequent enough in it; all new rows are means", path)
        return {}
    new = after.size - before.size
    logger.info(
        "%s: %d of %d new rows as sums of %d old ones, the others as means", path, len(wanted), new, len(anchors)
    )
    chosen, factors = orthogonal_matching_pursuit(targets, atoms, ATOMS)
    rows = zip(wanted.tolist(), anchors[chosen].tolist(), factors.tolist(), strict=True)
    return {number: (ids, weights) for number, ids, weights in rows}


def segment(
    encode_pieces: Callable[[list[str]], list[list[str]]], ids: Mapping[str, int], blocks: Iterable[list[str]]
) -> Segmented:
    """The tokens of at most `MOST_LINES` lines: ids (-1: no piece), begins, ends and lines, int64 [tokens].

    `encode_pieces` gives the pieces of each line as text, which together are the line as it is normalised; byte
    pieces stand for one character together. Begins and ends count characters of the whole text.
    """
    numbers, lengths, lines, done = [np.empty(0, np.int64)], [np.empty(0, np.int64)], [np.empty(0, np.int64)], 0
    for block in blocks:
        pieces = encode_pieces(block[: MOST_LINES - done])
        flat = list(chain.from_iterable(pieces))
        numbers.append(np.fromiter((ids.get(piece, -1) for piece in flat), np.int64, len(flat)))
        lengths.append(np.fromiter((_BYTES.get(piece, len(piece)) for piece in flat), np.int64, len(flat)))
        lines.append(np.repeat(np.arange(done, done + len(pieces)), list(map(len, pieces))))
        done += len(pieces)
        if done >= MOST_LINES:
            break
    length = np.concatenate(lengths)
    ends = np.cumsum(length)
    return np.concatenate(numbers), ends - length, ends, np.concatenate(lines)


def context_vectors(
    old: Segmented, new: Segmented, old_size: int, new_size: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Ids and unit vectors of the pieces of either kind that occur `LEAST` times.

    `old`, `new`: the same text as `segment` gives it, under the old tokenizer of `old_size` ids and under the
    extended one of `new_size`. A vector is the row of positive pointwise mutual information with the neighbours,
    projected on the `DIMENSIONS` first right singular vectors of the old pieces' rows. Returns old ids [m] and
    vectors float64 [m, d], new ids [n] and vectors [n, d].
    """
    times = np.bincount(old[0][old[0] >= 0], minlength=old_size)
    frequent = np.lexsort((np.arange(old_size), -times))[:COLUMNS]
    column = np.full(old_size + 1, -1, np.int32)  # the last is that of -1, no piece
    column[frequent] = np.arange(len(frequent))
    anchors = np.flatnonzero(times >= LEAST)
    added = np.bincount(new[0][new[0] >= 0], minlength=new_size)
    added[:old_size] = 0
    wanted = np.flatnonzero(added >= LEAST)
    tables = []
    for tokens, ids, size in ((old, anchors, old_size), (new, wanted, new_size)):
        row = np.full(size + 1, -1, np.int32)
        row[ids] = np.arange(len(ids))
        tables.append(_count(old, column, tokens, row[tokens[0]], len(ids), len(frequent)))
    share = tables[0].sum(0, dtype=np.float64) ** SMOOTHING
    share /= max(share.sum(), 1)
    tables = [_information(table, share) for table in tables]
    _, axes = np.linalg.eigh((tables[0].T @ tables[0]).astype(np.float64))
    axes = axes[:, ::-1][:, :DIMENSIONS].astype(np.float32)
    return anchors, _unit(tables[0] @ axes), wanted, _unit(tables[1] @ axes)


def _count(
    old: Segmented, column: np.ndarray, tokens: Segmented, row: np.ndarray, height: int, width: int
) -> np.ndarray:
    """Neighbours of each row, float32 [height, 2 width]: those before, then those behind."""
    counts = np.zeros((height, 2 * width), np.float32)
    ids, begins, ends, lines = old
    kept = np.flatnonzero(row >= 0)
    row, begin, end, line = row[kept], tokens[1][kept], tokens[2][kept], tokens[3][kept]
    last = np.searchsorted(ends, begin, "right") - 1  # old tokens that end before the token
    first = np.searchsorted(begins, end, "left")  # and that begin behind it
    for distance in range(WINDOW):
        for side, place in enumerate((last - distance, first + distance)):
            there = np.flatnonzero((place >= 0) & (place < len(ids)))
            there = there[lines[place[there]] == line[there]]
            neighbour = column[ids[place[there]]]
            known = neighbour >= 0
            np.add.at(counts, (row[there[known]], neighbour[known] + side * width), 1)
    return counts


def _information(counts: np.ndarray, share: np.ndarray) -> np.ndarray:
    """log(p(neighbour | row) / share), not below 0, in the place of `counts` (float32); 0 where a count is 0."""
    counts /= np.maximum(counts.sum(1, keepdims=True), 1)
    counts /= np.where(share > 0, share, np.inf).astype(np.float32)
    return np.log(np.maximum(counts, 1, out=counts), out=counts)


def _unit(rows: np.ndarray) -> np.ndarray:
    rows = rows.astype(np.float64)
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(lengths > 0, lengths, 1)


def orthogonal_matching_pursuit(
    targets: np.ndarray, atoms: np.ndarray, count: int, ridge: float = RIDGE
) -> tuple[np.ndarray, np.ndarray]:
    """For each target the `count` atoms of the pursuit, and the coefficients of their best combination.

    Step by step the atom with the largest absolute cosine with the residual joins, of equals the first, and the
    coefficients of all that have joined are solved anew by least squares (Pati, Rezaiifar, Krishnaprasad 1993).
    `targets` float [n, d], `atoms` float [m, d]; `ridge`, times the squared length of each atom, is added to the
    diagonal of the normal equations. Returns int [n, min(count, m)], in the order in which the atoms join, and
    float64 of that shape.
    """
    targets, atoms = np.asarray(targets, np.float64), np.asarray(atoms, np.float64)
    count = min(count, len(atoms))
    chosen = np.zeros((len(targets), count), np.int64)
    coefficients = np.zeros((len(targets), count))
    lengths = np.linalg.norm(atoms, axis=1)
    unit = (atoms / np.where(lengths > 0, lengths, 1)[:, None]).T
    floor = np.where(lengths > 0, ridge * lengths**2, 1)
    with Steps("sparse combinations", -(-len(targets) // BATCH)) as steps:
        for begin in range(0, len(targets), BATCH):
            goal = targets[begin : begin + BATCH]
            joined, residual = chosen[begin : begin + BATCH], goal
            rows = np.arange(len(goal))
            basis = np.zeros((len(goal), count, goal.shape[1]))
            gram = np.zeros((len(goal), count, count))
            for step in range(count):
                cosine = np.abs(residual @ unit)
                cosine[rows[:, None], joined[:, :step]] = -1
                joined[:, step] = cosine.argmax(1)
                basis[:, step] = atoms[joined[:, step]]
                have = basis[:, : step + 1]
                products = (have @ basis[:, step, :, None])[:, :, 0]
                gram[:, step, : step + 1] = gram[:, : step + 1, step] = products
                gram[:, step, step] += floor[joined[:, step]]
                solved = np.linalg.solve(gram[:, : step + 1, : step + 1], have @ goal[:, :, None])
                residual = goal - (solved.swapaxes(1, 2) @ have)[:, 0]
            coefficients[begin : begin + BATCH] = solved[:, :, 0]
            steps.advance()
    return chosen, coefficients
