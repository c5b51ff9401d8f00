"""What ends a measurement."""

from __future__ import annotations


class Mismatch(Exception):
    """Two methods disagree about what can be attained."""


class NotThere(Exception):
    """A part of this machine or of this library that a measurement needs is not there."""
