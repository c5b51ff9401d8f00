"""The machinery that tries to break the program: malformed inputs, faults, mutants."""
