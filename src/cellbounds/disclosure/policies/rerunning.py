"""Which of the tables that fit a release would have led to it too.

An intruder knows this tool, the policy and the request. Of the tables that fit a release he keeps
those for which the same steps would have led to the same release. A release hides its table from
him if that leaves a closed crowd with the table in it (see ``crowds``).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cellbounds.data.table import Table
from cellbounds.disclosure.policies.crowds import Crowds, Passed, closed, crowds_of, hidden
from cellbounds.disclosure.policies.scenarios import Case
from cellbounds.disclosure.policies.verdict import CANNOT_RERUN, Finding, Outcome, Verdict, worst
from cellbounds.errors import (
    InconsistentRelease,
    InvalidInput,
    TooMuchWork,
    Unsettled,
    UnsupportedRelease,
)
from cellbounds.inference.counting import tables
from cellbounds.inference.posterior import sample
from cellbounds.model.constraints import violations
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.budget import Budget
from cellbounds.solvers.solve import attainable, bounds
from cellbounds.statements import Release, Statement, Total
from cellbounds.statements.release import published_statement

LISTED = 2000
"""Tables that fit up to which all of them are listed."""

RERUN = 256
"""The same where each of them is rerun."""

JUDGED = 512
"""Tables that are drawn where no more is asked than whether they keep the policy."""

DRAWN = 256
"""Tables that are drawn where more fit, and each is rerun."""

PATIENCE = 128
"""Tables that are rerun at least; no more if none of them leads to the release."""

MOST_FIRST = 16
"""Tables of which it is asked whether what comes earlier in their lists hides them."""

FIRST = 4
"""Tables that are rerun before the first look whether they are enough; then as many again,"""

AT_ONCE = 32
"""but no more than these."""

MOST_WORK = 400
"""Releases that are judged while tables are rerun for one of a list."""

MOST_CELLS = 1024
"""Cells of tables that are rerun."""

SHARE = 0.5
"""The part of a budget for tables that are rerun, where there is another way."""

UNUSUAL = 6
"""The smallest counts of each cell that tables are made for; and the largest."""

NOTHING = Passed()

REFUSED = (TooMuchWork, Unsettled, UnsupportedRelease, InconsistentRelease)
"""Why there are no tables, or no more."""

Leads = Callable[[IntArray], Passed | None]
"""What is passed over to get from a table (flat) to the same release; None if nobody gets there."""


@dataclass(frozen=True, slots=True, eq=False)
class Hiding:
    """Whether a table hides among those that lead to the same release.

    Attributes
    ----------
    hides
        None if that was not settled.
    crowd
        A closed crowd of tables that lead to it.
    rerun
        How many tables were rerun.
    complete
        Whether these are all that fit: no more are rerun than it takes.
    cut
        Whether the budget was spent before that was settled.
    """

    hides: bool | None
    crowd: IntArray
    rerun: int
    complete: bool
    cut: bool = False

    @property
    def sentence(self) -> str:
        """How far it got, in words."""
        tried = f"of {self.rerun} tables that fit" + (", which are all," if self.complete else "")
        if self.hides:
            led = f"{tried} {len(self.crowd)} lead here too, enough to hide it"
            return f"holds against whoever reruns it: {led}"
        if self.hides is None:
            why = " (the budget was spent)" if self.cut else ""
            return f"{CANNOT_RERUN}: {tried} too few are known to lead here too{why}"
        led = f"{tried} {len(self.crowd)} lead here too"
        return f"whoever reruns it learns more than the policy allows: {led}"


class Fitting:
    """Tables that fit a release, flat, in an order that does not depend on the true one.

    All of them, unless there are more than `listed`: then so many are drawn, and perhaps others
    made that have `unusual` counts, cell by cell. `complete` says that these are all.
    """

    def __init__(
        self, release: Release, budget: Budget, listed: int, drawn: int, unusual: bool = True
    ) -> None:
        self._release, self._budget, self._unusual = release, budget, unusual
        self.complete = False
        self._tables: Iterator[IntArray] = iter(())
        if release.domain.size > MOST_CELLS or budget.spent:
            return
        with suppress(*REFUSED):
            self._tables = self._found(listed, drawn)

    def __iter__(self) -> Iterator[IntArray]:
        seen: set[bytes] = set()
        with suppress(*REFUSED):
            for table in self._tables:
                if table.tobytes() not in seen:
                    seen.add(table.tobytes())
                    yield table

    def _found(self, listed: int, drawn: int) -> Iterator[IntArray]:
        release, budget = _limited(self._release), self._budget
        if release is self._release:
            listed_counts = [
                table.counts.ravel() for table in tables(release, listed + 1, budget=budget)
            ]
            if len(listed_counts) <= listed:
                self.complete = True
                order = np.random.default_rng(0).permutation(len(listed_counts))
                return iter([listed_counts[place] for place in order])
        draws = sample(release, drawn, budget=budget).counts.reshape(-1, release.domain.size)
        return itertools.chain(draws, self._made(release) if self._unusual else ())

    def _made(self, release: Release) -> Iterator[IntArray]:
        answer = attainable(release, budget=self._budget)
        for labels, values in answer.items():
            counts = itertools.islice(values.known, UNUSUAL)
            largest = values.largest if values.settled else None
            tried = {*counts, *([largest] if isinstance(largest, int) else [])}
            for count in tried:
                yield answer.witness(*labels, value=count).counts.ravel()


def _limited(release: Release) -> Release:
    """The release with a limit for N, if it has none."""
    try:
        next(iter(tables(release, 1)), None)
    except UnsupportedRelease:
        least = int(bounds(release).lower.sum())
        others = [
            statement for statement in release.statements if statement is not release.stated_total
        ]
        total = Total(lower=release.total.lower, upper=2 * least + release.domain.size)
        return Release(release.domain, [*others, total])
    return release


def hiding(
    cases: Sequence[Case],
    table: IntArray,
    leads: Leads,
    budget: Budget,
    *,
    passed: Passed = NOTHING,
    listed: int = LISTED,
    drawn: int = JUDGED,
    patience: int = JUDGED,
    tired: Callable[[], bool] = lambda: False,
) -> Hiding:
    """Whether a table (flat) hides among those that fit and lead to the same release.

    What is looked at does not depend on the table, but for what was `passed` over: whether tables
    are enough for it is asked with a closed crowd of others. So every table for which the answer is
    yes would get it, and all of them are a closed crowd. Nothing is said after so many tables of
    which none leads here (`patience`), or when that was too much work (`tired`).

    `cases` are those without the true counts. If the release only seems to show how figures were
    hidden, they are listed from the tables for which that is true: who doubts it takes no fewer
    for possible.
    """
    fitting = Fitting(
        cases[0].known,
        budget,
        listed,
        drawn,
        unusual=drawn >= JUDGED or cases[0].policy.many_values,
    )
    crowds = crowds_of(cases)
    monotone = all(case.policy.monotone for case in cases)
    core = led = np.zeros((0, len(table)), dtype=np.int64)
    over: list[Passed] = []
    passed_before: list[Passed] = []
    rerun, chunk, several = 0, FIRST, iter(fitting)
    while some := list(itertools.islice(several, chunk)):
        ways = [(counts, leads(counts)) for counts in some if not budget.spent]
        more = [(counts, way) for counts, way in ways if way is not None and way <= passed]
        new = np.array([counts for counts, _ in more], dtype=np.int64).reshape(-1, len(table))
        led, over = np.concatenate([led, new]), [*over, *(way for _, way in more)]
        rerun += len(some)
        chunk = min(rerun, AT_ONCE)
        if budget.spent or (not len(led) and rerun >= patience and not fitting.complete):
            return Hiding(None, core, rerun, False, cut=budget.spent)
        if monotone:
            core, passed_before = closed(crowds, led, over)
            if hidden(crowds, core, table, passed_before, passed):
                whole = fitting.complete and next(several, None) is None
                return Hiding(True, core, rerun, whole)
        if tired():
            return Hiding(None, core, rerun, False)
    if not fitting.complete:
        return Hiding(None, core, rerun, False, cut=budget.spent)
    core, _ = closed(crowds, led, over)
    inside = bool((core == table).all(axis=1).any())
    if not inside and cases[0].doubting is not None:
        return Hiding(None, core, rerun, False)  # more tables fit before somebody who doubts
    return Hiding(inside, core, rerun, True)


# --- one judgement ----------------------------------------------------------------------------


def rejudged(
    plain: Verdict,
    cases: Sequence[Case],
    table: Table,
    budget: Budget,
    blind: Callable[[], Verdict],
) -> Verdict:
    """A verdict that holds against whoever reruns it.

    `plain` was made with the true counts. If the table keeps the policy, those that would be
    refused cannot be the true one, so that others may break it without them, and so on: what is
    left must have the true table. `blind` judges without the counts, where that is not settled: if
    every table that fits keeps the policy, none is left out. What is not SAFE depends on the
    counts, and says so.
    """
    if plain.outcome is not Outcome.SAFE:
        return plain
    crowds, flat = crowds_of(cases), table.counts.ravel()
    answer = hiding(cases, flat, lambda _: NOTHING, budget.share(SHARE))
    notes = *plain.notes, answer.sentence
    if answer.hides:
        cells = tuple(_findings(crowds, answer.crowd))
        return replace(plain, cells=cells, elsewhere=(), notes=notes, independent=True)
    if answer.hides is False:
        cells = tuple(_findings(crowds, np.concatenate([answer.crowd, flat[None]]), owned=True))
        if worst(cell.outcome for cell in cells) is not Outcome.UNSAFE:
            # Somebody with a record of his own learns it, or the last to go took others along.
            told = [rule for rule in plain.policy.rules if rule.tells()] or plain.policy.rules
            why = answer.sentence, cases[0].remedy
            cells += tuple(Finding(rule.name, Outcome.UNSAFE, (), (), *why) for rule in told)
        return replace(plain, cells=cells, elsewhere=(), notes=notes)
    verdict = blind()
    if verdict.safe:
        return verdict
    why = answer.sentence, "more time"
    rules = plain.policy.rules
    cells = tuple(Finding(rule.name, Outcome.UNDECIDED, (), (), *why) for rule in rules)
    return replace(plain, cells=cells, elsewhere=(), notes=notes)


def _findings(crowds: Crowds, found: IntArray, *, owned: bool = False) -> Iterator[Finding]:
    """What each rule finds before whoever takes just these tables for possible.

    With `owned` the last of them is the true one.
    """
    for crowd in crowds(found) if len(found) else ():
        attacker = crowd.owned(len(crowd) - 1) if owned else crowd
        for rule in crowd.case.policy.rules:
            yield from rule.findings(attacker)


class Gathered:
    """A closed crowd of tables that lead to a release, and which tables hide in it.

    The same as :func:`hiding` for many tables, with one crowd for all of them.
    """

    def __init__(self, cases: Sequence[Case], leads: Leads, budget: Budget) -> None:
        self._crowds, self._budget = crowds_of(cases), budget
        fitting = Fitting(cases[0].known, budget, LISTED, JUDGED)
        led = [counts for counts in fitting if not budget.spent and leads(counts) is not None]
        tables = np.array(led, dtype=np.int64).reshape(-1, cases[0].known.domain.size)
        self._core, _ = closed(self._crowds, tables)
        self.complete = fitting.complete and not budget.spent
        self._monotone = all(case.policy.monotone for case in cases)

    def hides(self, table: IntArray) -> bool:
        """Whether a table is known to hide."""
        if self._monotone:
            return hidden(self._crowds, self._core, table)
        return self.complete and bool((self._core == table).all(axis=1).any())


# --- making a release again ----------------------------------------------------------------------


def republished(release: Release, table: Table) -> Release | None:
    """What would have been published about another table in the place of a release.

    The same figures are hidden. None if that cannot be said: a figure was made by chance, or a
    statement that is not made of counts does not hold.
    """
    domain = release.domain
    known = table.with_domain(domain)
    made: list[Statement] = []
    for said_statement in release.statements:
        if said_statement is release.stated_total and said_statement.exact is not None:
            made.append(Total(table.total))
            continue
        statement = _again(said_statement, known)
        if statement is None:
            return None
        made.append(statement)
    return Release(domain, made)


def _again(statement: Statement, table: Table) -> Statement | None:
    before = statement.tabulated
    if before is None:
        return None if violations(table, Release(table.domain, [statement])) else statement
    if statement.by_chance:
        return None
    try:
        after = published_statement(table, before.request).tabulated
    except InvalidInput:
        return None  # a tolerance that rounding passes
    assert after is not None  # of the same kind
    more = before.hidden & ~after.hidden
    if before.request.below is not None or not more.any():
        return after
    return after.suppressed(more)


# --- a choice among several ------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Offer:
    """A release that was judged safe, in a list of such.

    Attributes
    ----------
    key
        What tells it from the others of a list, without its figures.
    rank
        Where it stands, whatever the counts are.
    """

    key: Hashable
    rank: Any
    release: Release


AS_ASKED: Hashable = ()
"""The key of what was asked for: where it is published, nothing else is shown."""

Offers = Callable[[Table, Offer, Passed], tuple[Sequence[Offer], int]]
"""What a table leads to, in order, up to an offer; and how many releases were judged for that.

The list may also end early where something comes that was not to be passed over.
"""


class Choice:
    """A list of releases to choose from, and which of them hide the table they were made from.

    Only those are shown. Whoever goes down what is shown, and passes some over for reasons that do
    not depend on the counts, tells by his choice that nothing else was shown before. A table leads
    there too if the same release is in its list, and nothing comes earlier that was not passed
    over.
    """

    def __init__(
        self,
        offers: Offers,
        cases: Callable[[Table, Release], Sequence[Case]],
        budget: Budget,
        *,
        work: int = MOST_WORK,
        first: int = MOST_FIRST,
    ) -> None:
        self._offers, self._cases = offers, cases
        self._work, self._first = work, first
        self._budget = budget.quiet().resumed(None)
        self._leading: dict[bytes, bool] = {}

    def hiding(self, table: Table, offers: Sequence[Offer], place: int) -> Hiding:
        """Whether the release at a place of the list of a table hides that table.

        All that comes earlier counts as passed over, shown or not.
        """
        return self._asked(table, offers, place, lambda _, __: True)

    def first(self, table: Table, offers: Sequence[Offer], place: int) -> bool:
        """Whether nothing is told by what comes before the first that is shown.

        That is: whether it hides the table among those for which nothing before it hides them.
        """
        if place == 0:
            return True
        left = self._first

        def alike(other: Table, earlier: Sequence[Offer]) -> bool:
            nonlocal left
            left -= bool(earlier)
            return left >= 0 and not any(
                self.hiding(other, earlier, at).hides for at in range(len(earlier))
            )

        return bool(self._asked(table, offers, place, alike).hides)

    def further(self, table: Table, offers: Sequence[Offer], place: int) -> Hiding:
        """Whether a release that comes after one that is shown hides a table.

        That is: among those that are surely shown it. They have nothing before it, or what they
        have first is shown to them.
        """
        left = self._first

        def alike(other: Table, earlier: Sequence[Offer]) -> bool:
            nonlocal left
            left -= bool(earlier)
            return not earlier or (left >= 0 and self._led_by(other, earlier[0]))

        return self._asked(table, offers, place, alike)

    def _led_by(self, table: Table, offer: Offer) -> bool:
        """Whether the first of the list of a table is shown, and is not what was asked for."""
        key = table.counts.tobytes()
        if key not in self._leading:
            shown = offer.key != AS_ASKED and self.hiding(table, [offer], 0).hides
            self._leading[key] = bool(shown)
        return self._leading[key]

    def _asked(
        self,
        table: Table,
        offers: Sequence[Offer],
        place: int,
        alike: Callable[[Table, Sequence[Offer]], bool],
    ) -> Hiding:
        offer, passed = offers[place], Passed(offer.key for offer in offers[:place])
        work = 0

        def leads(counts: IntArray) -> Passed | None:
            nonlocal work
            other = _like(table, counts)
            theirs, judged = self._offers(other, offer, passed)
            work += judged
            keys = [rule.key for rule in theirs]
            if offer.key not in keys:
                return None
            place = keys.index(offer.key)
            over = Passed(keys[:place])
            same = theirs[place].release.digest == offer.release.digest
            return over if same and over <= passed and alike(other, theirs[:place]) else None

        cases = self._cases(table, offer.release)
        return hiding(
            cases,
            table.counts.ravel(),
            leads,
            self._budget,
            passed=passed,
            listed=RERUN,
            drawn=DRAWN,
            patience=PATIENCE,
            tired=lambda: work >= self._work,
        )


def _like(table: Table, counts: IntArray) -> Table:
    """Another table over the same cells."""
    shape = table.counts.shape
    return Table(table.domain, counts.reshape(shape), structural=table.structural)
