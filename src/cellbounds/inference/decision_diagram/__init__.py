"""Layered diagrams: each path from top to bottom is a table.

sums         sums of cells between limits, in one form
dependence   sums that follow from others
stages       what a sum remembers of the cells placed so far
partial      partial sums that follow from others
grouping     cells without a choice, placed along with the one before
ordering     in which order cells are placed, and how large the diagram would be
layers       the numbers that the compiled parts need, cell by cell
growing      layer after layer, counting on the way (compiled: nodes.py)
floors       the layers of the finished diagram
paths        listing, weighing, drawing its paths (compiled: walks.py)
"""
