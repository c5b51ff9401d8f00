"""Benchmarks of published margins: bounds of every cell, beside general solvers and numpy.

Run with ``python -m benchmarks.margins.run`` from the root of the repository. Every part is
measured on its own and written into one JSON file of raw figures; the report is rendered from
that file, so a long run can be taken up again, or one part of it repeated.
"""
