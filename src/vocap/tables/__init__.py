"""The tables that several stages read: curves, piece indexes, characters, weights of
languages.
"""
