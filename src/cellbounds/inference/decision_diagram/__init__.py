"""Layered decision diagrams: each path from top to bottom is a table.

components      independent parts of a release: sums of cells between limits, without what follows
ordering        in which order cells are placed, and how large the diagram would be
layers          the numbers that the compiled parts need, cell by cell
construction    layer after layer, counting on the way (compiled)
paths           listing, weighing, drawing paths (compiled)
diagram_fibre   the tables of a release as the product of its components
"""
