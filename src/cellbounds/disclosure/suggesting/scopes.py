"""Which cells a suggestion is judged over, so that a smaller table hides nothing."""

from __future__ import annotations

from collections.abc import Sequence

from cellbounds.data.domain import Domain
from cellbounds.statements import Release, Tabulated
from cellbounds.utility.retained import levels_behind

__all__ = ["Scope", "scopes_of"]

Scope = tuple[str, ...] | None
"""The variables of a margin; None for the cells of the table."""


def scopes_of(release: Release, original: Release, over: Scope) -> list[Scope]:
    """The cells asked for, and the smaller tables that the release makes public.

    These are the table of all variables that figures are published of and, where a statement
    lost a variable or levels, the margin that it speaks of now: a small cell there is given away
    even if the cells behind it are not. Whoever asks about a margin (`over`) is answered about
    that one, unless other things are published than in the original release.

    Examples
    --------
    >>> from cellbounds import example_table, publish
    >>> table = example_table("koch4")
    >>> original = publish(table, "[center,status]", "[status,treatment,recovery]")
    >>> scopes_of(publish(table, "[center]", "[status,treatment,recovery]"), original, None)
    [None, ('center',)]
    """
    domain = release.domain
    known = {frozenset(over or domain.names)}
    if over is not None:
        known.add(frozenset(_named(original.domain, _figures(original))))
    spoken_of = {frozenset(one.variables) for one in _figures(original)}
    changed = [one for one in _figures(release) if frozenset(one.variables) not in spoken_of]
    found: list[Scope] = [over]
    for statements in (_figures(release), *([one] for one in changed)):
        names = _named(domain, statements)
        if names and frozenset(names) not in known:
            known.add(frozenset(names))
            found.append(names)
    return found


def _figures(release: Release) -> list[Tabulated]:
    return [one.tabulated for one in release.statements if one.tabulated is not None]


def _named(domain: Domain, statements: Sequence[Tabulated]) -> tuple[str, ...]:
    """The variables that are named, one for each variable behind them.

    Where a variable and groups of it, or several groupings of it, are named, it stands for all.
    """
    behind: dict[str, str] = {}
    for statement in statements:
        for name in statement.variables:
            base = levels_behind(domain, name)[0]
            behind[base] = name if behind.get(base, name) == name else base
    return tuple(behind[name] for name in domain.names if name in behind)
