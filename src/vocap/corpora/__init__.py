"""Text: sources, downloads, and a bounded sample of each language."""

MIN_CHARACTERS = 100_000  # the lowest limit of a sample: some thousand lines; a line always fits

REVISION = 4  # raised by a commit that changes this stage's results, so that workflows run it again
# the same for samples of text that is read in part: with a limit, or on other machines
PARTS_REVISION = 1
