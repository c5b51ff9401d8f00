"""Machinery that tries to break the library: faults, malformed input, changed code."""
