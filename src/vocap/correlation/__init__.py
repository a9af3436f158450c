"""The correlation study (section 2.1): ALP and vocabulary size as predictors of a
model's scores.
"""

REVISION = 1  # raised by a commit that changes this stage's results, so that workflows run it again
