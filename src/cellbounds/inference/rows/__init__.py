"""Sums over the consistent tables of one conditional, row by row.

row_types      distinct rows: feasible sums, ranges of cells; listing tables
row_vectors    sums over the vectors of one row, for every feasible sum
polynomials    products of polynomials whose coefficients have any magnitude
row_sampling   draws of whole tables
row_fibre      counts, weights and the most probable table
sum_kernel, choice_kernel   compiled
"""
