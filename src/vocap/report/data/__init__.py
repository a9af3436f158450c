"""Results of the stages as plain data, and the numbers that the page computes from
them.
"""
