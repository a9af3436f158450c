"""For all tests."""

from hypothesis import settings

# A busy machine may leave any test waiting for a second: how long an example takes is no fault of the code.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")
