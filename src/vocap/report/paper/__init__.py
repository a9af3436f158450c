"""The paper's own numbers, as printed (the .tsv files here), and what of a run stands beside them."""
