"""A first configuration for a folder of text; above all stages, as `vocap.config`
is.
"""
