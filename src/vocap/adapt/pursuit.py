"""Vectors as sparse combinations of others: orthogonal matching pursuit."""

import numpy as np

from vocap.progress import Steps

BATCH = 256  # targets at a time: [BATCH, atoms] of float64 are held
RIDGE = 1e-9  # of the squared length of an atom: combinations of parallel atoms stay finite


def orthogonal_matching_pursuit(
    targets: np.ndarray, atoms: np.ndarray, count: int, ridge: float = RIDGE
) -> tuple[np.ndarray, np.ndarray]:
    """For each target the `count` atoms of the pursuit, and the coefficients of their best combination.

    Step by step the atom with the largest absolute cosine with the residual joins, of equals the first, and the
    coefficients of all that have joined are solved anew by least squares (Pati, Rezaiifar, Krishnaprasad 1993).

    Parameters
    ----------
    targets : float array [n, d]
    atoms : float array [m, d]
    count : int
        At most m are taken.
    ridge : float
        Times the squared length of each atom, added to the diagonal of the normal equations.

    Returns
    -------
    chosen : int array [n, min(count, m)]
        In the order in which they join.
    coefficients : float64 array of the same shape
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
