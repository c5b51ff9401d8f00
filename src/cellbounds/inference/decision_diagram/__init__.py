"""Layered decision diagrams: each path from top to bottom is a table.

linear_constraints   sums of cells between limits; those that follow from others
components           independent parts of a release
ordering             in which order cells are placed, and how large the diagram would be
layers               the numbers that the compiled parts need, cell by cell
construction         layer after layer, counting on the way (compiled: expansion_kernel)
paths                listing, weighing, drawing paths (compiled: path_kernel)
diagram_fibre        the tables of a release as the product of its components
"""
