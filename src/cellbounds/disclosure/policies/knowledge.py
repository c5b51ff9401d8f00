"""What an intruder knows besides the figures, added to a release as statements: the one place.

That is what he is said to know, what the release itself shows of how it was made, and the structure
that everybody knows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np

from cellbounds.data.domain import Domain, Label
from cellbounds.data.nesting import Nesting, assumed_nestings, impossible
from cellbounds.data.table import Table
from cellbounds.disclosure.policies.intruder import USUAL, Intruder
from cellbounds.errors import InconsistentRelease, InvalidInput, TooMuchWork, Unsettled
from cellbounds.model.constraints import violations
from cellbounds.runtime.arrays import BoolArray
from cellbounds.runtime.budget import UNLIMITED, Budget
from cellbounds.solvers.solve import bounds
from cellbounds.statements import Known, Release, Statement, Total
from cellbounds.statements.hiding import HidingRule


@dataclass(frozen=True, slots=True, eq=False)
class Knowledge:
    """A release with everything that the intruder knows besides.

    Attributes
    ----------
    release
        The release with what he knows as further statements.
    doubting
        The same without what the release only seems to show, if nobody may look whether that is
        true: who doubts it must not find anything either. Else None.
    table
        The table with the structural zeros that everybody knows; None if there is no table.
    sentences
        What he knows besides what is published and what he was said to know, in words.
    notes
        What he was not taken to know although the release seems to show it, and why.
    """

    release: Release
    doubting: Release | None
    table: Table | None
    sentences: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def checked_knowledge(knows: Iterable[Statement] | Statement) -> tuple[Statement, ...]:
    """Check a list of what an intruder knows beforehand."""
    listed = tuple(knows) if isinstance(knows, Iterable) else (knows,)
    for statement in listed:
        if not isinstance(statement, Statement):
            raise InvalidInput(
                f"knows has {statement!r}; give what the intruder knows as statements, such as "
                "Known(variables, lower=, upper=, values=), Total(...) or Margin(...)"
            )
    return listed


def informed(
    release: Release,
    table: Table | None,
    knows: Sequence[Statement] = (),
    intruder: Intruder = USUAL,
    *,
    unseen: bool = False,
    effort: Budget = UNLIMITED,
) -> Knowledge:
    """The release with everything the intruder knows besides, checked against the table.

    With `unseen` the counts of the table are not to be looked at, so that nobody can say whether it
    is true what the release seems to show; it is left out if it contradicts the figures.
    """
    if table is not None:
        _check_true(release, table)
        for statement in knows:
            if violations(table, Release(release.domain, [statement])):
                raise InvalidInput(
                    f"knows: the {statement.notation} contradicts the table; an intruder knows "
                    "what is true of it: correct the knowledge"
                )
    nestings = assumed_nestings(release.domain, table)
    sentences = [
        f"every {nesting.child} is in one {nesting.parent}: their codes say so"
        for nesting in nestings
    ]
    table = None if table is None else with_known_structure(table)
    closed = _closed(release, table, nestings)
    known = joined_with(release, [*knows, *_of_total(release, table, intruder)])
    known = _closing(known, closed)
    sentences += intruder.sentences
    unseen = unseen or table is None
    rules, notes = _of_hiding(release, None if unseen else table, intruder, closed)
    known = joined_with(known, [rule.statement for rule in rules if not rule.shown])
    shown = [rule.statement for rule in rules if rule.shown]
    full, doubting = joined_with(known, shown), known if shown and unseen else None
    if doubting is not None and not _possible(full, table, effort):
        rules, full, doubting = [rule for rule in rules if not rule.shown], known, None
        notes = ("figures seem to be hidden by a rule that they contradict: it is not assumed",)
    sentences += [rule.words for rule in rules]
    return Knowledge(full, doubting, table, tuple(sentences), notes)


def with_known_structure(table: Table) -> Table:
    """The table with the structural zeros that everybody knows by the codes of its variables."""
    nestings = assumed_nestings(table.domain, table)
    if not nestings:
        return table
    closed = table.structural | impossible(table.domain, nestings)
    return Table(table.domain, table.counts, structural=closed)


def _check_true(release: Release, table: Table) -> None:
    broken = violations(table, release)
    if broken:
        raise InvalidInput(
            f"the table contradicts {', '.join(broken)}; judge a release that was made from it"
        )


def joined_with(release: Release, statements: Sequence[Statement]) -> Release:
    """A release that says more; what is said of N twice is said once."""
    if not statements:
        return release
    everything = [*release.statements, *statements]
    totals = [statement for statement in everything if isinstance(statement, Total)]
    if len(totals) < 2:
        return Release(release.domain, everything)
    lower = max(total.lower for total in totals)
    upper = min((total.upper for total in totals if total.upper is not None), default=None)
    if upper is not None and upper < lower:
        texts = ", ".join(total.notation for total in totals)
        raise InvalidInput(
            f"what is said of N ({texts}) contradicts itself; correct what the intruder knows"
        )
    rest = [statement for statement in everything if not isinstance(statement, Total)]
    return Release(release.domain, [*rest, Total(lower=lower, upper=upper)])


def _of_total(release: Release, table: Table | None, intruder: Intruder) -> list[Total]:
    """What he knows of N, if that is more than what is published."""
    if intruder.total == "known":
        if release.total.exact is not None:
            return []
        if table is None:
            raise InvalidInput(
                "the intruder knows N (total=known), which nobody told; give a range instead, "
                "such as total=100-120"
            )
        return [Total(table.total)]
    ends = intruder.range_of_total
    if ends is None:
        return []
    known = Total(lower=ends[0], upper=ends[1])
    if table is not None and violations(table, Release(release.domain, [known])):
        raise InvalidInput(
            f"the intruder knows N to be in {intruder.total}, which the table contradicts; an "
            "intruder knows what is true: correct the range"
        )
    return [known]


def _of_hiding(
    release: Release, table: Table | None, intruder: Intruder, closed: BoolArray | None
) -> tuple[list[HidingRule], tuple[str, ...]]:
    """What hiding gives away of each margin, the strongest that is true of the table."""
    domain = release.domain
    rules_assumed: list[HidingRule] = []
    notes: list[str] = []
    for statement in release.statements:
        if statement.tabulated is None or not statement.tabulated.hidden.any():
            continue
        alternatives = statement.hiding_rules(
            _closed_entries(domain, statement, closed),
            zeros_shown=intruder.zeros_shown,
            marks=intruder.marks == "shown",
            most=release.total.upper,
        )
        for rules in alternatives:
            fitting = (rule for rule in rules if _is_true(domain, table, rule.statement))
            chosen = next(fitting, None)
            if chosen is not None:
                rules_assumed.append(chosen)
            elif rules[0].shown:
                notes.append(f"not assumed: {rules[0].words} (the table contradicts it)")
            else:
                raise InvalidInput(
                    f"the intruder knows that {rules[0].words}, which the table contradicts; an "
                    "intruder knows what is true: choose zeros=shown or zeros=never"
                )
    return rules_assumed, tuple(notes)


def hides_figures(release: Release) -> bool:
    """Whether a release hides some figures, so that it may seem to show by which rule."""
    tables = (statement.tabulated for statement in release.statements)
    return any(table is not None and bool(table.hidden.any()) for table in tables)


def _is_true(domain: Domain, table: Table | None, statement: Statement) -> bool:
    return table is None or not violations(table, Release(domain, [statement]))


def _closed_entries(domain: Domain, said: Statement, closed: BoolArray | None) -> BoolArray:
    """The entries of a margin that nobody can be in."""
    shape = domain.project(said.variables).shape
    if closed is None or not closed.any():
        return np.zeros(shape, dtype=bool)
    nobody = Table(domain, np.zeros(domain.shape, dtype=np.int64), structural=closed)
    return nobody.margin(said.variables).structural


def _possible(release: Release, table: Table | None, effort: Budget) -> bool:
    """Whether some table fits, as far as the budget tells; the true one is as good as any."""
    if table is not None and not violations(table, release):
        return True
    try:
        bounds(release, over=release.domain.names[:1], budget=effort.resumed(None).quiet())
    except InconsistentRelease:
        return False
    except (TooMuchWork, Unsettled):
        return True
    return True


# --- cells that nobody can be in ----------------------------------------------------------------


def _closed(release: Release, table: Table | None, nestings: Sequence[Nesting]) -> BoolArray | None:
    """The cells that nobody can be in, by the release, the table or the codes; None if all may."""
    masks = [_said_empty(release)]
    masks += [table.structural] if table is not None and table.has_structural else []
    masks += [impossible(release.domain, nestings)] if nestings else []
    known = [mask for mask in masks if mask is not None]
    return np.logical_or.reduce(known) if known else None


def _closing(release: Release, closed: BoolArray | None) -> Release:
    """The release with the structural zeros that it does not say itself: everybody knows them."""
    already = _said_empty(release)
    if closed is None or not (closed if already is None else closed & ~already).any():
        return release
    blocked = np.full(closed.shape, None, dtype=object)
    blocked[closed] = 0
    return joined_with(release, [Known(release.domain.names, upper=blocked)])


def nobody_of(release: Release, table: Table | None) -> Table:
    """A table of nobody, with the structural zeros that are known of it."""
    domain = release.domain
    nestings = assumed_nestings(domain, None) if table is None else ()
    structural = _closed(release, table, nestings)
    if structural is None:
        return Table.from_cells(domain, np.zeros((0, len(domain.names)), dtype=np.int64), [])
    return Table(domain, np.zeros(domain.shape, dtype=np.int64), structural=structural)


def _of_every_cell(statement: Statement, domain: Domain) -> TypeGuard[Known]:
    return isinstance(statement, Known) and sorted(statement.variables) == sorted(domain.names)


def only_closes(statement: Statement, domain: Domain) -> bool:
    """Whether a statement says no more than that nobody can be in some cells of the table."""
    if not _of_every_cell(statement, domain):
        return False
    known = statement.known(domain)
    return not known.values and not bool((known.lower > 0).any() or (known.upper > 0).any())


def _said_empty(release: Release) -> BoolArray | None:
    """Cells that the release says to be zero; None if it says that of none."""
    domain = release.domain
    stated = [statement for statement in release.statements if _of_every_cell(statement, domain)]
    if not stated:
        return None
    empty = np.zeros(domain.shape, dtype=bool)
    for known in stated:
        order = [known.variables.index(name) for name in domain.names]
        empty |= np.transpose(known.known(domain).upper == 0, order).astype(bool)
    return empty


# --- somebody who is in the table himself -------------------------------------------------------


def as_respondents(
    release: Release,
    over: tuple[str, ...],
    cells: Sequence[tuple[Label, ...]],
    *,
    at_most: int | None = None,
) -> Release:
    """What people know together who are themselves in these cells of a margin, one in each.

    A cell that is named twice holds two of them. With `at_most` also that the cells are small: the
    tables in which they would be tried.
    """
    upper = None if at_most is None else dict.fromkeys(cells, at_most)
    return joined_with(release, [Known(over, lower=dict(Counter(cells)), upper=upper)])
