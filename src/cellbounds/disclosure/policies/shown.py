"""The rule about figures that are shown, decided from the statements themselves."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from cellbounds.data.domain import Label
from cellbounds.data.table import Table
from cellbounds.disclosure.policies.rules import MinimumCount
from cellbounds.disclosure.policies.verdict import Finding, Outcome
from cellbounds.statements import Margin, Release, Total

__all__ = ["shown_figures"]


def shown_figures(release: Release, rule: MinimumCount, table: Table) -> Iterator[Finding]:
    """A finding for N and for every entry of a margin that shows one count.

    Of the table only its structural zeros matter.
    """
    whole = table.with_domain(release.domain)
    for statement in release.statements:
        if isinstance(statement, Total) and statement.exact is not None:
            yield _finding(rule, statement.exact, statement.notation, (), ())
        elif isinstance(statement, Margin):
            margin = whole.margin(*statement.variables)
            for index in np.ndindex(margin.domain.shape):
                figure = _figure(statement, index)
                if figure is None or margin.structural[index]:
                    continue
                labels = margin.domain.labels(index)
                yield _finding(rule, figure, statement.notation, statement.variables, labels)


def _figure(statement: Margin, index: tuple[int, ...]) -> int | None:
    """The count that an entry shows; None for ranges and suppressed entries."""
    entry = statement.entries[index]
    if isinstance(entry, int):
        return entry
    low, high = int(statement.lower[index]), int(statement.upper[index])
    return low if low == high else None  # a range of one count shows it


def _finding(
    rule: MinimumCount,
    figure: int,
    notation: str,
    variables: tuple[str, ...],
    labels: tuple[Label, ...],
) -> Finding:
    broken = figure < rule.at_least and (rule.zeros or figure > 0)
    change = f"suppressing the figure, or coarser levels in {notation}" if broken else ""
    evidence = f"{notation} shows {figure}"
    return Finding(rule.name, Outcome.of(broken), variables, labels, evidence, change)
