"""Mutation testing of what decides: small faults put into the code, and the tests that notice.

Run with ``python -m reliability.mutants --area judging --sample 300 --seed 1`` from the root of the
repository. A warm process collects the tests of an area once; for each mutant it forks, replaces
the code of one function and runs the tests that touch the changed line, fastest first.
"""
