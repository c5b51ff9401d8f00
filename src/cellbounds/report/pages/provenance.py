"""Where a report comes from: versions, seed, digests; a clock only if it is asked for."""

from __future__ import annotations

import datetime
import os
import platform
from importlib import metadata
from typing import Any

from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput
from cellbounds.statements import Release
from cellbounds.version import __version__

__all__ = ["made_at", "open_seed", "provenance"]

LIBRARIES = ("numpy", "scipy", "highspy", "ortools", "python-flint", "numba", "jinja2")
"""What may have a hand in an answer, or in the page."""


def provenance(table: Table | None, *, key: bytes | None, seed: int | None) -> dict[str, Any]:
    """Versions, seed, and the table's digest under a key that only its owner has.

    A plain digest would single the table out among the few that are consistent; it stands in the
    internal part only.
    """
    keyed = None if table is None or key is None else table.keyed_digest(key)
    return {"versions": _versions(), "seed": seed, "keyed_digest": keyed}


def open_seed(release: Release, seed: int | None) -> int | None:
    """The seed that everybody may see, and that estimates for everybody are made with.

    If counts were rounded at random, perhaps with this very seed, whoever knows it can round every
    consistent table again and keep those that give the published figures. Then another seed takes
    its place: the first 32 bits of the release's digest, which everybody has already.

    Examples
    --------
    >>> import cellbounds as cb
    >>> table = cb.example_table("delinquent")
    >>> open_seed(cb.publish(table, "[county]~5"), 7)
    7
    >>> release = cb.publish(table, "[county]~5", count_rounding="random", rng=7)
    >>> open_seed(release, 7) == int(release.digest[:8], 16)
    True
    """
    at_random = any(one.by_chance for one in release.statements)
    return seed if seed is None or not at_random else int(release.digest[:8], 16)


def _versions() -> dict[str, str]:
    found = {"cellbounds": __version__, "python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue  # an optional library that is not here had no hand in it
    return found


def made_at() -> str:
    """Now, or what SOURCE_DATE_EPOCH says, in UTC to the second."""
    said = os.environ.get("SOURCE_DATE_EPOCH")
    if said is None:
        moment = datetime.datetime.now(datetime.UTC)
    else:
        try:
            moment = datetime.datetime.fromtimestamp(int(said), datetime.UTC)
        except (ValueError, OverflowError, OSError):
            raise InvalidInput(
                f"SOURCE_DATE_EPOCH is {said!r}; it has to be whole seconds since 1970, or unset"
            ) from None
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
