"""How many pieces each language gets of a merged vocabulary of T: Algorithm 1 and its cost-aware variant."""

META = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")  # XLM-R's special tokens, in the order of their ids
SPECIALS = len(META)  # rows of T that are not pieces

REVISION = 2  # raised by a commit that changes this stage's results, so that workflows run it again
