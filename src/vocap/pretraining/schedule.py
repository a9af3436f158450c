"""The learning rate: a linear rise, then a linear fall to 0 (fairseq's polynomial decay of power 1)."""


def learning_rate(step: int, highest: float, warmup: int, steps: int) -> float:
    """The rate of the update number `step`, from 0 on; the last is `steps - 1`.

    >>> [learning_rate(step, 1.0, 2, 6) for step in range(6)]
    [0.5, 1.0, 1.0, 0.75, 0.5, 0.25]
    """
    if step < warmup:
        return highest * (step + 1) / warmup
    return highest * (steps - step) / (steps - warmup)
