"""The size of a vocabulary: ALP and tokens by T, and the cost of a model that has so
many embeddings.
"""
