"""What a release says, in words."""

from __future__ import annotations

from typing import Any

from cellbounds.report.pages.plain import plain_label
from cellbounds.statements import Release

__all__ = ["published", "responses_of"]


def published(release: Release) -> dict[str, Any]:
    """The statements in the notation with their meaning, and the derived variables they name.

    Examples
    --------
    >>> import cellbounds as cb
    >>> said = published(cb.publish(cb.example_table("mp3"), "[mp3|gender]@2"))
    >>> for statement in said["statements"]:
    ...     print(statement["notation"], "-", statement["meaning"])
    [mp3|gender]@2 - rates of mp3 among those who share gender; 2 decimals, rounded to the
    nearest, halves up: a figure p stands for p - 0.005 <= rate < p + 0.005
    N=50 - the number of people in the table
    """
    domain = release.domain
    named = {name for one in release.statements for name in one.variables}
    said: dict[str, Any] = {
        "digest": release.digest,
        "statements": [
            {"notation": one.notation, "meaning": one.description(domain)}
            for one in release.statements
        ],
        "derived": [
            {
                "name": name,
                "of": grouping.of,
                "levels": [
                    [plain_label(level), [plain_label(part) for part in parts]]
                    for level, parts in grouping.groups
                ],
            }
            for name, grouping in domain.groupings.items()
            if name in named
        ],
    }
    if release.total.upper is None:
        said["statements"].append({"notation": "no N", "meaning": "no upper limit of N is said"})
    return said


def responses_of(release: Release) -> tuple[str, ...]:
    """The responses that all published rates share; none if they differ or there are no rates."""
    found = {one.responses for one in release.statements if one.responses}
    return found.pop() if len(found) == 1 else ()
