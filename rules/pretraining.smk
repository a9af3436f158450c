"""Masked language model pre-training: an issue of its own; no model can be configured yet."""


rule pretraining:
    """Every named model (none yet)"""
    input:
        [],
