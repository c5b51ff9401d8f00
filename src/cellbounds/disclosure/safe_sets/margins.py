"""Which margins, or other statements, may be released together."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import numpy as np

from cellbounds.data.table import Table
from cellbounds.disclosure.policies import DEFAULT, Outcome, Policy, policy_of
from cellbounds.disclosure.policies.knowledge import with_known_structure
from cellbounds.disclosure.policies.scenarios import empty_rows
from cellbounds.disclosure.safe_sets.candidates import Candidates, margin_texts, spoken_candidates
from cellbounds.disclosure.safe_sets.set_search import SetJudge, judge_all, search
from cellbounds.disclosure.safe_sets.statement_sets import SafeSets, StatementSet
from cellbounds.errors import InvalidInput
from cellbounds.model.constraints import violations
from cellbounds.runtime.budget import UNLIMITED, Budget, budgeted
from cellbounds.runtime.interrupts import Late
from cellbounds.statements import Conditional, Release, Statement, Total
from cellbounds.utility import fit_loglinear


@budgeted
def safe_margins(
    table: Table,
    *,
    margins: int | Iterable[Iterable[str]] | None = None,
    given: Release | None = None,
    statements: Release | Iterable[str] | None = None,
    policy: Policy | str | Path = DEFAULT,
    total: bool = True,
    independent: bool = False,
    budget: Budget = UNLIMITED,
    seconds: float | None = None,
) -> SafeSets:
    """Find the largest sets of margins, or of other statements, that are safe together.

    Rules under which publishing more can only make things worse are searched with few judgements;
    under other rules every set is judged, up to 4096 of them.

    Parameters
    ----------
    table
        The confidential table.
    margins
        The candidates: every margin up to the full table (None), all margins of so many variables,
        or a list of lists of names. A margin tells its own margins too, so that sets are named by
        their largest members.
    given
        What is out already.
    statements
        Candidates in the notation (rounded margins, rates), or a release whose statements are the
        candidates, such as ``publish(table, ..., rounding="consistent")``. Instead of `margins`.
    policy
        A profile's name, a file, or a :class:`Policy`.
    total
        Whether N is out too.
    independent
        Judge without the true counts, as for :func:`cellbounds.judge`. No utility is worked out
        then: it would depend on the counts.
    budget, seconds
        What everything may cost: a :class:`Budget`, or seconds alone. One judgement takes
        a fifth of what is left at most; sets that are not decided by then are undecided.

    Examples
    --------
    >>> import cellbounds as cb
    >>> found = safe_margins(cb.datasets.read("census3"))
    >>> found.maximal
    (('[race]', '[gender,income]'),)
    >>> found.minimal_unsafe
    (('[gender,race]',), ('[race,income]',))
    """
    begun = time.perf_counter()
    chosen = policy_of(policy)
    if margins is not None and statements is not None:
        raise InvalidInput(
            "margins and statements are both given; name the candidates in one of them "
            "(statements takes margins too: '[A,B]')"
        )
    for name, flag in (("total", total), ("independent", independent)):
        if not isinstance(flag, bool):
            raise InvalidInput(f"{name}={flag!r}; give True or False")
    table, out = _already_out(table, given, total)
    table = with_known_structure(table)
    wanted = margin_texts(table.domain, margins) if statements is None else statements
    candidates = Candidates.of(table.domain, out, spoken_candidates(table, wanted))
    _check(table, candidates)
    reasons = why_not_monotone(chosen, candidates, independent=independent)
    # Without the true counts nothing may depend on them, not even what stays undecided.
    judged = SetJudge(candidates, table, chosen, independent, not reasons and not independent)
    known = judge_all(judged, budget) if reasons else search(judged, budget)
    undecided = known.undecided
    safe = _sets(candidates, known.safe, known.maximal)
    if not independent:
        with suppress(Late):  # what they are good for is worked out if there is time
            safe = _sets(candidates, known.safe, known.maximal, worth_in(table))
    return SafeSets(
        policy=chosen,
        given=tuple(statement.notation for statement in out),
        candidates=tuple(candidate.text for candidate in candidates.listed),
        safe=safe,
        unsafe=_sets(candidates, known.unsafe, known.minimal),
        undecided=tuple(candidates.texts(chosen) for chosen in undecided),
        never=tuple(
            candidate.text
            for candidate, below in zip(candidates.listed, candidates.below, strict=True)
            if known.outcome(below | candidates.ground) is Outcome.UNSAFE
        ),
        judgements=len(known.judged),
        complete=known.finished and not undecided,
        independent=independent,
        notes=(f"every set was judged: {'; '.join(reasons)}",) if reasons else (),
        seconds=time.perf_counter() - begun,
    )


def _already_out(table: Table, given: Release | None, total: bool) -> tuple[Table, list[Statement]]:
    """The table with all groupings that are spoken of, and everything that is out."""
    if not isinstance(table, Table):
        raise InvalidInput(f"table={table!r}; give a Table, such as read_table(...)")
    out: list[Statement] = []
    if given is not None:
        if not isinstance(given, Release):
            raise InvalidInput(f"given={given!r}; give a Release, such as publish(table, ...)")
        if given.domain != table.domain:
            raise InvalidInput(
                f"given speaks of {given.domain!r}, the table is over {table.domain!r}; they need "
                "the same variables and levels in the same order"
            )
        domain = table.domain.with_groupings(given.domain.groupings)
        table = table.with_domain(domain)
        out += given.statements
    if total and not any(
        not statement.variables and statement.shown_counts() is not None for statement in out
    ):
        out = [statement for statement in out if statement.variables] + [Total(table.total)]
    return table, out


def _check(table: Table, candidates: Candidates) -> None:
    wanted = (candidate.statement for candidate in candidates.listed)
    named = [statement for statement in wanted if statement.variables]
    for statements, what in ((candidates.given, "given"), (named, "statements")):
        broken = violations(table, Release(table.domain, statements))
        if broken:
            raise InvalidInput(
                f"{what}: the table contradicts {', '.join(broken)}; give what was made from it"
            )


def _sets(
    candidates: Candidates,
    sets: list[int],
    proven: Callable[[int], bool],
    worth: Callable[[Release], float | None] | None = None,
) -> tuple[StatementSet, ...]:
    return tuple(
        StatementSet(
            candidates.texts(chosen),
            proven(chosen),
            (chosen & ~candidates.ground).bit_count(),
            None if worth is None else worth(candidates.release(chosen)),
        )
        for chosen in sorted(sets, key=candidates.least)
    )


def why_not_monotone(
    policy: Policy, candidates: Candidates, *, independent: bool
) -> tuple[str, ...]:
    """Why an unsafe set may have a safe superset; nothing if it cannot."""
    why = (rule.why_not_monotone(independent=independent) for rule in policy.rules)
    reasons = [reason for reason in why if reason]
    if independent and policy.respondent:
        reasons.append(
            "without the true counts, publishing more may rule out the respondent who was at risk"
        )
    if any(rule.exempts_empty_rows for rule in policy.rules) and _exempts(candidates):
        reasons.append("rates that say of a row that it is empty make its cells exempt")
    return tuple(reasons)


def _exempts(candidates: Candidates) -> bool:
    """Whether a candidate says of more rows than what is out already that they are empty."""
    domain = candidates.domain
    known = empty_rows(Release(domain, candidates.given), domain.names)
    said_by = (candidate.statement for candidate in candidates.listed)
    rates = [statement for statement in said_by if isinstance(statement, Conditional)]
    empty = empty_rows(Release(domain, rates), domain.names)
    return bool(np.any(empty & ~known))


def worth_in(table: Table) -> Callable[[Release], float | None]:
    """How much of the association in a table the margins of a release tell, as a function.

    That is ``1 - G(margins) / G(independence)``: 0 for one-way margins alone, which are taken to be
    known, and 1 for the whole table. G is twice the log-likelihood ratio of the log-linear model
    that fits the margins to the table itself. Of what is no exact margin it tells None, and also if
    there is no association to be told.
    """
    singles = [(name,) for name in table.domain.names]
    associated = bool(table.total) and len(singles) > 1
    apart = fit_loglinear(table, singles).g if associated else 0.0

    def worth(release: Release) -> float | None:
        statements = [
            statement
            for statement in release.statements
            if statement.published and statement.variables
        ]
        margins = [
            statement.variables
            for statement in statements
            if statement.fixed_counts(release.domain) is not None
        ]
        # Rounding in the fit leaves a little of G even where nothing is associated.
        if apart < 1e-9 * max(table.total, 1) or len(margins) < len(statements):
            return None
        return min(1.0, max(0.0, 1 - fit_loglinear(table, [*margins, *singles]).g / apart))

    return worth
