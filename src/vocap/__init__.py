"""Allocating large vocabulary capacity for cross-lingual language model pre-training (VoCap).

One package a stage, in the order in which a run passes through them:
corpora, vocabularies, allocation, tokenizers, pretraining, finetuning, correlation, report.
A stage imports only earlier ones.
"""

__version__ = "0.1.0"
