"""Labels, attainable counts and statements in plain values and words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from cellbounds.data.domain import Label
from cellbounds.results import Unbounded, ValueSet
from cellbounds.results.answers import json_number
from cellbounds.statements import Release

FINDING = {
    "outcome": "outcome",
    "rule": "rule",
    "place": "where",
    "respondent in": "respondent",
    "evidence": "evidence",
    "what would change it": "change",
}
"""What a list of findings has: titles of columns, and what of a finding stands there."""

RUNS = 8
"""Runs of attainable counts that a page names for a cell; the other formats have them all."""


def plain_label(label: Label) -> Any:
    """A label for JSON: texts, numbers and truth values as they are, everything else as text."""
    return label if isinstance(label, str | int | float | None) else label_text(label)


def label_text(label: Any) -> str:
    """A label for people; combined ones part by part.

    Examples
    --------
    >>> label_text("Alpha"), label_text((1, "b"))
    ('Alpha', '1, b')
    """
    return labels_text(label) if isinstance(label, tuple) else str(label)


def labels_text(labels: Iterable[Any]) -> str:
    """The labels of a cell or a row for people."""
    return ", ".join(map(label_text, labels))


def plain_values(values: ValueSet) -> dict[str, Any]:
    """Attainable counts: ends, number, and all of them as progressions ``[first, last, step]``."""
    possible = values.possible
    plain: dict[str, Any] = {
        "lower": possible.smallest,
        "upper": json_number(possible.largest),
        "size": json_number(values.size) if values.settled else None,
        "settled": values.settled,
        "runs": values.to_list(),
    }
    if not values.settled:
        plain["unknown"] = ValueSet(values.unknown).to_list()
    return plain


def read_values(plain: Mapping[str, Any]) -> ValueSet:
    """The attainable counts behind :func:`plain_values`."""
    return ValueSet(map(tuple, plain["runs"]), unknown=map(tuple, plain.get("unknown", ())))


def interval_text(plain: Mapping[str, Any]) -> str:
    """The smallest and the largest count of a cell, as a page shows them.

    Examples
    --------
    >>> [interval_text({"lower": 3, "upper": upper}) for upper in (3, 27, None)]
    ['3', '3–27', '3+']
    """
    lower, upper = plain["lower"], plain["upper"]
    if upper is None:
        return f"{lower}+"
    return str(lower) if lower == upper else f"{lower}–{upper}"


def values_text(values: ValueSet) -> str:
    """The attainable counts in one short sentence.

    Examples
    --------
    >>> values_text(ValueSet([(3, 9, 3)])), values_text(ValueSet([(4, None, 1)]))
    ('3 attainable counts: 3, 6, 9', 'endlessly many attainable counts: 4-')
    """
    if not values.settled:
        return f"not settled: {values.text(RUNS)}"
    size = values.size
    if size == 1:
        return f"only {values.smallest} is attainable"
    many = "endlessly many" if isinstance(size, Unbounded) else f"{size:,}"
    return f"{many} attainable counts: {values.text(RUNS)}"


def published(release: Release) -> dict[str, Any]:
    """The statements in the notation with their meaning, and the derived variables they name.

    Examples
    --------
    >>> import cellbounds as cb
    >>> said = published(cb.publish(cb.datasets.read("mp3"), "[mp3|gender]@2"))
    >>> for statement in said["statements"]:
    ...     print(statement["notation"], "-", statement["meaning"])
    [mp3|gender]@2 - rates of mp3 among those who share gender; 2 decimals, rounded to the
    nearest, halves up: a figure p stands for p - 0.005 <= rate < p + 0.005
    N=50 - the number of people in the table
    """
    domain = release.domain
    named = {name for statement in release.statements for name in statement.variables}
    content: dict[str, Any] = {
        "digest": release.digest,
        "statements": [
            {"notation": statement.notation, "meaning": statement.description(domain)}
            for statement in release.statements
        ],
        "derived": [
            {
                "name": name,
                "of": grouping.of,
                "levels": [[plain_label(x), [*map(plain_label, of)]] for x, of in grouping.groups],
            }
            for name, grouping in domain.groupings.items()
            if name in named
        ],
    }
    if release.total.upper is None:
        content["statements"].append({"notation": "no N", "meaning": "no upper limit of N is said"})
    return content


def responses_of(release: Release) -> tuple[str, ...]:
    """The responses that all published rates share; none if they differ or there are no rates."""
    shared = {statement.responses for statement in release.statements if statement.responses}
    return shared.pop() if len(shared) == 1 else ()
