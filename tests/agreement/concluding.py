"""What hiding gives away, a second time: which of the listed tables an intruder still believes in.

From the definitions: where a margin prints a zero, hidden counts are at least 1; where it marks
small counts, one that is hidden without the mark is none of those that the mark stands for.
"""

from __future__ import annotations

import numpy as np

from bruteforce import count_fits
from cellbounds import Margin, Release
from listing import belongs, sums

FAR = 10**6
"""A count that no mark of a test reaches."""


def believed(
    release: Release,
    tables: np.ndarray,
    closed: np.ndarray,
    *,
    truth: np.ndarray | None,
    zeros: str = "shown",
    marks: str = "shown",
) -> np.ndarray:
    """The tables (flat, a line each) that fit what hiding gives away.

    With the truth, only what is true of it is believed; `closed` are cells nobody can be in.
    """
    left = np.ones(len(tables), dtype=bool)
    for margin in release.statements:
        if not isinstance(margin, Margin):
            continue
        seen = sums(release, tables, margin.variables)
        true = None if truth is None else sums(release, truth[None, :], margin.variables)[0]
        possible = belongs(release, margin.variables)[~closed.ravel()].sum(axis=0) > 0
        for alternatives in conclusions(margin, release, possible, zeros, marks):
            for fits in alternatives:
                if true is None or all(fits(place, count) for place, count in enumerate(true)):
                    left &= [all(map(fits, range(len(line)), line)) for line in seen]
                    break
    return tables[left]


def conclusions(margin, release, possible, zeros, marks):
    """Ways to read the hidden counts of a margin: alternatives, the boldest first."""
    entries = margin.entries.ravel().tolist()
    plain = margin.base is None and margin.noise is None
    shown = [entry for entry in entries if isinstance(entry, int) and plain]
    zeros_shown = zeros == "always" or (zeros == "shown" and 0 in shown)
    hidden = [k for k, entry in enumerate(entries) if not isinstance(entry, int) and possible[k]]
    if zeros_shown:
        yield [lambda place, count: place not in hidden or count >= 1]
    blank = [k for k in hidden if entries[k] is None]
    ends = []
    marked_zero = False
    for k in hidden:
        fits = [count_fits(margin, entries[k], n) for n in (0, 1, FAR)]
        if entries[k] is not None and fits[1] and not fits[2]:
            ends.append(next(n for n in range(1, FAR) if not count_fits(margin, entries[k], n)))
            marked_zero |= fits[0]
    if marks == "never" or not blank or not ends:
        return
    beyond = min(ends)
    printed = [entry for k, entry in enumerate(entries) if isinstance(entry, int) and possible[k]]
    for entry in printed:
        fitting = [n for n in (*range(2 * beyond + 50), FAR) if count_fits(margin, entry, n)]
        if fitting and fitting[0] >= 1 and fitting[-1] < beyond:
            return  # a small count is shown
    alternatives = []
    if zeros_shown or marked_zero:
        alternatives.append(lambda place, count: place not in blank or count >= beyond)
    most = release.total.upper
    if not zeros_shown and most is not None and beyond <= most <= 5000:
        alternatives.append(
            lambda place, count: place not in blank or count in (0, *range(beyond, most + 1))
        )
    if alternatives:
        yield alternatives
