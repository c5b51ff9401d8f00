"""What callers give for options: whole numbers and seeds, checked where they come in."""

from __future__ import annotations

import numpy as np

from cellbounds.errors import InvalidInput


def checked_whole(name: str, value: object, least: int = 1) -> int:
    """A whole number given for an option.

    Examples
    --------
    >>> checked_whole("draws", np.int64(5))
    5
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InvalidInput(f"{name}={value!r}; give a whole number, {least} or more")
    return int(value)


def checked_generator(rng: int | np.random.Generator) -> np.random.Generator:
    """A generator, or the one of a seed."""
    if isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, bool) or not isinstance(rng, int | np.integer) or rng < 0:
        raise InvalidInput(f"rng={rng!r}; give a seed (a whole number, 0 or more) or a Generator")
    return np.random.default_rng(rng)
