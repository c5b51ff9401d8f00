"""`protect`: a table made ready for publication by one of several methods."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from cellbounds.data.table import Table
from cellbounds.disclosure.policies import DEFAULT, Policy, policy_of
from cellbounds.disclosure.policies.knowledge import with_known_structure
from cellbounds.disclosure.protecting.earlier import Earlier, read_earlier
from cellbounds.disclosure.protecting.finished import Finished
from cellbounds.disclosure.protecting.intervals import ranged
from cellbounds.disclosure.protecting.recoding import recoded
from cellbounds.disclosure.protecting.reruns import checked
from cellbounds.disclosure.protecting.rounding import rounded
from cellbounds.disclosure.protecting.suppressing import CellName, Suppressing, suppressed
from cellbounds.errors import InvalidInput
from cellbounds.runtime.budget import UNLIMITED, Budget, budgeted
from cellbounds.statements import Release, publish

WORK = 200
"""Millions of steps of the search unless said: the same on every machine, whatever its load."""


@budgeted(resumes=True, parts=True)
def protect(
    table: Table,
    *statements: str,
    policy: Policy | str | Path = DEFAULT,
    method: str = "suppress",
    base: int | None = None,
    widths: Sequence[int] | None = None,
    cost: str | Mapping[str, Any] = "counts",
    keep: Iterable[str | Mapping[str, Any]] = (),
    prefer: Iterable[str | Mapping[str, Any]] = (),
    total: bool = True,
    marked: bool = False,
    earlier: Iterable[Earlier] | Earlier = (),
    released: Release | None = None,
    work: int = WORK,
    independent: bool | None = None,
    budget: Budget = UNLIMITED,
    seconds: float | None = None,
) -> Finished:
    """Change published tables as little as possible so that a policy is kept.

    By suppression, small counts are hidden (primary), and further figures (secondary) so that
    nobody can work them out from totals and from each other. The intruder knows that zeros are
    shown, unless the policy hides them too: a hidden count is at least 1. By intervals, figures are
    shown as ranges instead, the narrowest that will do. By controlled rounding, every figure
    becomes a multiple of a base beside its count, and totals add up. By recoding, the fewest levels
    are merged, with neighbours or to the coarser level of a hierarchy. What comes out is attacked
    with the methods of :func:`judge`; a lower bound on what any result of the method loses is
    proven in whole numbers.

    Parameters
    ----------
    table
        The confidential table.
    *statements
        The margins to publish, exact, in the notation: ``"[mun,age]"``, ``"[mun]"``, or
        ``"[mun+,age+]"`` for all levels with all totals. Derived variables may be named.
    policy
        A profile's name, a file, or a :class:`Policy`. Its rules about small counts say what is
        hidden and how uncertain it must stay; the other rules are judged at the end.
    method
        ``"suppress"`` (cell suppression), ``"intervals"`` (ranges), ``"round"`` (controlled
        rounding) or ``"recode"`` (levels merged until no small count is shown).
    base
        What figures are rounded to multiples of. Unless said, the smallest of 3, 5, 10, 20, 50, 100
        that is larger than small counts, and is judged safe.
    widths
        How wide ranges may be, each a multiple of the one before: 5, 10, 50, 100, ... unless said.
        Ranges of a width lie side by side, so that their ends tell nothing more.
    cost
        What hiding a secondary figure costs: ``"counts"`` (the count), ``"cells"`` (1), or whole
        numbers of your own for some margins: ``{"[mun]": [5, 1, 9]}``; others cost their counts.
    keep, prefer
        Figures that are never hidden, and figures that cost nothing: margins (``"[mun]"``) or
        single cells (``{"mun": "North", "age": "old"}``). N is always shown.
    total
        Whether N is published too.
    marked
        Whether the finished table tells primary figures from secondary ones. The intruder then
        knows the first to be small, and the others, unless ``marks="never"``, not to be.
    earlier
        Last year's table with the same codes, as it was published: a release, published tables, or
        the file of either; or several. What was hidden stays hidden, where it may be.
    released
        What is out already about the same people, as ``ledger.together()`` says it. What it shows
        is known, what it hides stays hidden; both are judged together.
    work
        How long to search for cheaper patterns and better bounds, in millions of steps: attacks on
        single counts, times the cells there are. The result is the same on every run.
    independent
        Unless said, tables of up to 100 published figures are protected in a way that holds against
        an intruder who protects every table that fits, and keeps those that end up alike; what is
        not known to hold says "SAFE if the intruder cannot rerun the choice". True: larger tables
        too, up to 1,024 cells, and SAFE means nothing else. False: by the counts alone.
    budget, seconds
        What the work may cost: a :class:`Budget`, or seconds alone. Where time ends the search,
        the result says so, and may be another one next time. A search for a pattern that was
        stopped goes on from the budget's checkpoint, and ends with the pattern that it would have
        ended with.

    Returns
    -------
    Protected, Ranged, Rounded or Recoded
        What to publish, what it costs, a bound on any result's cost, and the verdict on it.

    Raises
    ------
    InvalidInput
        If a figure must be hidden and must be kept, a cost is none, or an option does not go with
        the method.
    UnsupportedRelease
        If something else than exact margins is to be published.

    Examples
    --------
    >>> import cellbounds as cb
    >>> table = cb.datasets.read("delinquent")
    >>> done = cb.protect(table, "[county+,education+]")
    >>> done
    <SAFE under the policy small-counts: 6 primary and 3 secondary figures of 25 hidden>
    >>> done.cost, done.bound, done.optimal
    (29, 29, True)
    >>> cb.bounds(done.release)["Alpha", "Medium"]
    (1, 3)
    """
    if not isinstance(table, Table):
        raise InvalidInput(f"table={table!r}; give the Table to be protected")
    if isinstance(work, bool) or not isinstance(work, int) or work < 0:
        raise InvalidInput(f"work={work!r}; give a whole number of millions of steps, 0 or more")
    if not isinstance(independent, bool | None):
        raise InvalidInput(f"independent={independent!r}; give True, False or None")
    chosen = policy_of(policy)
    table = with_known_structure(table)
    given = {"base": base is not None, "widths": widths is not None, "cost": cost != "counts"}
    given |= {"marked": marked, "released": released is not None}
    given |= {"checkpoint": budget.checkpoint is not None}
    _check_method(method, **given, keep=keep, prefer=prefer, earlier=earlier)
    one_way: dict[str, Callable[..., Finished]] = {
        "intervals": partial(ranged, widths=widths),
        "round": partial(rounded, base=base),
        "recode": recoded,
    }
    if method in one_way:

        def made(other: Table, effort: Budget) -> Finished:
            return one_way[method](other, statements, chosen, total=total, budget=effort)

        asked_for = publish(table, *statements, total=total)
        done = made(table, budget)
        return checked(done, table, asked_for, made, budget, asked=independent)
    way = Suppressing(
        statements=statements,
        policy=chosen,
        cost=cost,
        keep=_several(keep),
        prefer=_several(prefer),
        total=total,
        marked=marked,
        earlier=tuple(read_earlier(earlier, table)),
        released=released,
        work=work,
    )
    return suppressed(table, way, budget, independent=independent)


METHODS = {
    "suppress": ("cost", "keep", "prefer", "marked", "earlier", "released", "checkpoint"),
    "intervals": ("widths",),
    "round": ("base",),
    "recode": (),
}
"""The ways to protect a table, and the options that go with each."""


def _check_method(method: object, **given: object) -> None:
    if method not in METHODS:
        raise InvalidInput(f"method={method!r}; choose one of {', '.join(METHODS)}")
    for name, value in given.items():
        fitting = [one for one, options in METHODS.items() if name in options]
        if value and method not in fitting:
            raise InvalidInput(
                f"{name} goes with the method {' or '.join(fitting)}, not with {method}; leave it "
                "out"
            )


def _several(given: Iterable[CellName] | CellName) -> tuple[CellName, ...]:
    return (given,) if isinstance(given, str | Mapping) else tuple(given)
