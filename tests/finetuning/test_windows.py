"""The arithmetic of inputs (cutting pairs, sentences and contexts), against the step-by-step definitions."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from vocap.finetuning.encoding import cuts, longest_first, most_context, windows

LENGTHS = st.integers(0, 40)


@given(LENGTHS, LENGTHS, LENGTHS)
def test_the_longer_of_a_pair_loses_its_last_token_until_both_fit(first, second, budget):
    left, right = first, second
    while left + right > budget:
        if left > right:
            left -= 1
        else:
            right -= 1
    assert longest_first(first, second, budget) == (left, right)


@given(st.lists(st.integers(1, 8), max_size=30), st.integers(8, 20))
def test_sentences_are_cut_between_words_as_late_as_possible(lengths, room):
    parts = cuts(lengths, room)
    assert [place for start, end in parts for place in range(start, end)] == list(range(len(lengths)))
    for number, (start, end) in enumerate(parts):
        assert sum(lengths[start:end]) <= room
        if number + 1 < len(parts):
            assert end > start and sum(lengths[start : end + 1]) > room


@given(st.integers(0, 300), st.integers(1, 50), st.integers(1, 60))
def test_windows_cover_the_context_and_start_a_stride_apart(length, room, stride):
    parts = windows(length, room, stride)
    assert {place for start, end in parts for place in range(start, end)} == set(range(length))
    assert parts[0][0] == 0 and parts[-1][1] == length and all(end < length for _, end in parts[:-1])
    assert all(after[0] - before[0] == min(room, stride) for before, after in pairwise(parts))
    assert all(end - start == room for start, end in parts[:-1])


@given(st.integers(1, 200), st.integers(1, 50), st.integers(1, 60))
def test_each_token_has_its_best_window(length, room, stride):
    """As `_check_is_max_context` of the original BERT code decides, window by window for one token."""
    parts = windows(length, room, stride)
    most = most_context(length, parts)
    for place in range(length):
        chosen, best = None, None
        for number, (start, end) in enumerate(parts):
            if start <= place < end:
                score = min(place - start, end - 1 - place) + 0.01 * (end - start)
                if best is None or score > best:
                    chosen, best = number, score
        assert most[place] == chosen
