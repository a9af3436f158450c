"""What an allocation has to beat: sizes by a fixed share, without a look at any curve."""

from collections.abc import Sequence

from vocap.allocation.greedy import Choice
from vocap.allocation.ladders import Problem


def allocate_by_shares(problem: Problem, shares: Sequence[float]) -> Choice:
    """Every language the largest of its sizes within scale x share, for the largest scale whose union fits.

    `shares` are above 0, in any unit: all alike for the uniform allocation, n_i for one in proportion to the text.
    Every language has its smallest size at least, and its largest at most. Of languages that reach their next size
    at the same scale the one of larger weight goes first; the first step that does not fit is the end.
    """
    union = problem.start()
    if union.size > problem.capacity:
        return Choice(tuple(union.ranks), union.size, None, None, None)
    steps = sorted(
        (int(size) / share, -ladder.weight, language)
        for language, (ladder, share) in enumerate(zip(problem.ladders, shares, strict=True))
        for size in ladder.sizes[1:]
    )
    for _, _, language in steps:
        if union.size + union.growth(language) > problem.capacity:
            break
        union.step(language)
    ranks = tuple(union.ranks)
    return Choice(ranks, union.size, ranks, union.size, None)
