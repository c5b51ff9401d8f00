"""Benchmarks: this library beside the published algorithm and general solvers, in one run.

Run with ``python -m benchmarks.run`` from the root of the repository. Equal answers are
checked before any ratio is printed: a mismatch stops the run with exit code 1.
"""
