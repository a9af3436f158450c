"""The paper's own numbers, as printed (the .tsv files here), and this run's matching numbers."""
