"""Tables, figures and the page."""

REVISION = 12  # raised by a commit that changes this stage's results, so that workflows run it again
