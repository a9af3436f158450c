"""Blocks, tables and figures of a page, and the files written from them."""
