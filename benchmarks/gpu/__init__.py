"""Measurements on a GPU, in stages: correctness, the head, the step, the learning."""
