"""Malformed inputs for every command and format, run under limits and judged by the contract.

A case is a valid invocation, with its files, to which nothing, one or several things were done at
random places. It follows from the seed and its number alone. ``python -m reliability.fuzz --help``.
"""
