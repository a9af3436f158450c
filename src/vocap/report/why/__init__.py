"""One language of a run: what it gets, what that costs, why, and what would help."""
