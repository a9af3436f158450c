"""What a vocabulary is worth to a language when those far from their best count more."""

import numpy as np


def fair_values(alp: np.ndarray, fairness: float) -> np.ndarray:
    """The worth of every size of one language [S], in nats a line.

    `alp` [S] is its ALP, best its largest. A size then costs x = ALP / best times the nats of the language's best
    vocabulary, x >= 1, whatever its lines are long. The worth is

        best (x^(1 + fairness) + fairness) / (1 + fairness):

    its ALP where `fairness` is 0; else still best at its best, and one nat is worth x^fairness as much. That is
    the power family of fair objectives (Atkinson 1970; Mo and Walrand 2000 call it alpha-fairness): the larger
    `fairness`, the more the language of the largest x decides, and in the limit that one alone (max-min). A sum
    over languages still, so Algorithm 1 and the bound hold as they are. A best of 0 has no x: ALP is the worth.

    >>> fair_values(np.array([-15.0, -10.0]), 1.0).tolist()
    [-16.25, -10.0]
    """
    alp = np.asarray(alp, np.float64)
    best = alp.max()
    if fairness == 0 or best >= 0:
        return alp
    return best * ((alp / best) ** (1 + fairness) + fairness) / (1 + fairness)
