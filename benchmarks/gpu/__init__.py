"""Measurements on a GPU, in stages: correctness, the head, the step, the learning, the
costs of `vocap plan`.
"""
