"""Sums over the consistent tables of one conditional, row by row.

row_types      distinct rows: feasible sums, ranges of cells; listing tables
sum_kernel     sums over the vectors of one row, for every feasible sum (compiled)
polynomials    products of polynomials whose coefficients have any magnitude (compiled)
row_choices    the largest of many products, and draws in their ratio (compiled)
row_vectors    how many vectors a row has and what they weigh, parts of cells included
row_fibre      counts, weights, draws and the most probable table
"""
