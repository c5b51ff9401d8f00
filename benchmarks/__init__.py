"""Benchmarks: this library beside its peers, in one run and one report.

Run with ``python -m benchmarks`` from the root of the repository. Equal answers are checked before
any ratio is printed. Figures are kept as JSON, one file a section, and the report is written from
all that is there, so that a run can be taken up again, or one part of it repeated.
"""
