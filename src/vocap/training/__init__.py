"""The training loop and its surroundings: checkpoints, optimiser, process groups, random state, choice of GPUs."""
