"""XTREME fine-tuning: an issue of its own; nothing can be configured yet."""


rule finetuning:
    """Every task of every model (none yet)"""
    input:
        [],
