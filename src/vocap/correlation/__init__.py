"""The correlation study (section 2.1): does ALP, or the size of a vocabulary, tell what a model will reach?"""

REVISION = 1  # raised by a commit that changes this stage's results, so that workflows run it again
