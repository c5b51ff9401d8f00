"""Layered diagrams: each path from top to bottom is a table.

sums         sums of cells between limits, in one form
dependence   sums that follow from others
stages       what a sum remembers of the cells placed so far
ordering     in which order cells are placed, and how large the diagram would be
layers       the numbers that the compiled parts need, cell by cell
growing      layer after layer, counting on the way (compiled: nodes.py)
paths        the finished diagram: listing, weighing, drawing (compiled: walks.py)
"""
