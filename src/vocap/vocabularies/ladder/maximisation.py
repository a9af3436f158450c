"""The M step: scores from expected counts, with the sparse prior of a Dirichlet process (`Trainer::RunMStep`)."""

import math

import numpy as np

from vocap.vocabularies.ladder.kernels import kernel

THRESHOLD = np.float32(0.5)  # kExpectedFrequencyThreshold: a piece expected less often is dropped


@kernel("float64(float64)")
def digamma(x):
    """`Digamma` of unigram_model_trainer.cc: recurrence to 7, then an asymptotic series about x - 1/2."""
    result = 0.0
    while x < 7:
        result -= 1 / x
        x += 1
    x -= 1.0 / 2.0
    xx = 1.0 / x
    xx2 = xx * xx
    xx4 = xx2 * xx2
    return (
        result
        + math.log(x)
        + (1.0 / 24.0) * xx2
        - (7.0 / 960.0) * xx4
        + (31.0 / 8064.0) * xx4 * xx2
        - (127.0 / 30720.0) * xx4 * xx4
    )


@kernel("Tuple((int32[::1], float32[::1]))(float32[::1])")
def maximise(expected):
    """Numbers of the pieces that stay, int32, rising, and their new scores float32: digamma(e) - digamma(sum)."""
    kept = np.empty(expected.size, np.int32)
    count = 0
    total = np.float32(0)
    for number in range(expected.size):
        if expected[number] >= THRESHOLD:
            kept[count] = number
            count += 1
            total = np.float32(total + expected[number])
    log_total = np.float64(np.float32(digamma(np.float64(total))))
    scores = np.empty(count, np.float32)
    for index in range(count):
        scores[index] = np.float32(digamma(np.float64(expected[kept[index]])) - log_total)
    return kept[:count].copy(), scores
