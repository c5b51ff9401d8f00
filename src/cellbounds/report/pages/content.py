"""What a report holds, as plain values: a public part, and an internal one for the owner.

The public part is what follows from the release; structural zeros go with it, as everybody is taken
to know them. The internal part is everything that leans on the confidential counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cellbounds.data.domain import Domain, Label
from cellbounds.disclosure.auditing import Audit, CellRisk
from cellbounds.disclosure.policies import Finding, Outcome, Verdict
from cellbounds.errors import (
    CellboundsError,
    InconsistentRelease,
    TooMuchWork,
    Unsettled,
    UnsupportedRelease,
)
from cellbounds.inference.chooser import ExactSums, exact_sums
from cellbounds.inference.posterior import posterior
from cellbounds.model.priors import belief_of
from cellbounds.model.structure import gather
from cellbounds.report.pages.wording import plain_label, plain_values, published, responses_of
from cellbounds.results import UNBOUNDED, Attainable, Distribution
from cellbounds.runtime.budget import Budget, stopped_late
from cellbounds.solvers.solve import attainable
from cellbounds.statements import Release
from cellbounds.utility.display import picked
from cellbounds.utility.distances import as_floats, distance_of
from cellbounds.utility.retained_utility import retained

SLOW = 5.0
"""Seconds for the attainable counts; where they take longer, blame is left to whoever asks."""

PRIOR = "uniform"


@dataclass(frozen=True, slots=True)
class ReportLimits:
    """How much a report works out and shows; what is left out is said.

    Attributes
    ----------
    effort, row_effort
        Steps that exact posterior sums may take, for one conditional (`row_effort`) and for all
        else: a few seconds.
    draws, draw_seconds
        Tables that are drawn where the exact sums would take more, if a seed is given, and a time
        for that if there is no budget.
    plots, bars
        Cells whose distribution is plotted, and bars of a plot.
    means
        Cells of a table whose posterior means are compared with the counts.
    blamed, blame_cells, blame_seconds
        Findings whose statements are worked out, which takes the bounds of every cell anew; on
        larger tables that is left to whoever asks. A time for that if there is no budget.
    again_seconds
        For working out anew what the owner's budget left open, if no other budget is given.
    findings
        Findings that the page lists; the other formats have them all.
    mapped, listed
        Cells that a map shows; of larger tables the page lists so many, those at most risk.
    attainable
        How attainable counts are worked out.
    """

    effort: float = 1e7
    row_effort: float = 5e7
    draws: int = 2_000
    draw_seconds: float = 20.0
    plots: int = 12
    bars: int = 40
    means: int = 200
    blamed: int = 12
    blame_cells: int = 5_000
    blame_seconds: float = 10.0
    again_seconds: float = 20.0
    findings: int = 200
    mapped: int = 6_000
    listed: int = 500
    attainable: Callable[..., Attainable] = attainable


USUAL_LIMITS = ReportLimits()


def plain_verdict(verdict: Verdict) -> dict[str, Any]:
    """The verdict with everything that breaks a rule or stayed open."""
    outcomes = [cell.outcome for cell in verdict.cells]
    return {
        "outcome": verdict.outcome.value,
        "said": _reason(verdict),
        "independent": verdict.independent,
        "margins": [list(names) for names in verdict.margins],
        "besides": verdict.besides,
        "knows": [known.notation for known in verdict.knows],
        "warning": verdict.warning,
        "notes": list(verdict.notes),
        "summary": {outcome.value: outcomes.count(outcome) for outcome in Outcome},
        "findings": [_plain(verdict, finding) for finding in (*verdict.broken, *verdict.open)],
    }


def _reason(verdict: Verdict) -> str:
    """One sentence: why it is safe, unsafe or undecided."""
    outcome = verdict.outcome
    if outcome is Outcome.SAFE:
        return f"No rule of the policy is broken; {_many(len(verdict.cells), 'place')} looked at."
    first = (verdict.broken or verdict.open)[0]
    where = f"first {first.place(verdict.over)}: {first.evidence}."
    if outcome is Outcome.UNSAFE:
        return f"A rule is broken for certain in {_many(len(verdict.broken), 'place')}; {where}"
    many = _many(len(verdict.open), "place")
    return f"No rule is broken for certain, but {many} could not be decided; {where}"


def _many(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _plain(verdict: Verdict, finding: Finding) -> dict[str, Any]:
    """One finding as plain values; the count is there if the finding has it."""
    values: dict[str, Any] = {
        "rule": finding.rule,
        "outcome": finding.outcome.value,
        "variables": list(finding.variables),
        "labels": [plain_label(label) for label in finding.labels],
        "response": finding.response,
        "respondent": finding.respondent and [plain_label(one) for one in finding.respondent],
        "where": finding.place(verdict.over),
        **picked(finding, "evidence", "change"),
    }
    if finding.values is not None:
        values |= plain_values(finding.values)
    if finding.count is not None:
        values["count"] = finding.count
    return values


def _blamed(audit: Audit, budget: Budget, limits: ReportLimits) -> dict[str, Any]:
    """The statements that force each of the first broken findings; and what was left out."""
    verdict = audit.verdict
    broken = verdict.broken
    if not broken:
        return {"said": "nothing is broken for certain", "findings": []}
    slow = audit.answer.seconds > SLOW or not all(cell.values.settled for cell in audit.cells)
    if slow or len(audit.cells) > limits.blame_cells:
        large = f"more than {limits.blame_cells:,} cells"
        why = "bounds of this release take long" if slow else large
        return {"said": f"not worked out: {why} (Verdict.blame works one out)", "findings": []}
    blamed: list[dict[str, Any]] = []
    share = budget.share(most=limits.blame_seconds if budget.left is None else None)
    words = ""
    for place, finding in enumerate(broken[: limits.blamed]):
        if place and share.spent:
            words = "the time was spent; "
            break
        try:
            with stopped_late(budget):
                statements = list(verdict.blame(finding))
        except CellboundsError as problem:
            return {"said": f"not worked out: {problem}", "findings": blamed}
        where = finding.place(verdict.over)
        blamed.append({"finding": place, "where": where, "statements": statements})
    left = len(broken) - len(blamed)
    rest = f"{_many(left, 'finding')} more not worked out" if left else ""
    return {"said": words + (rest or "every broken finding is listed"), "findings": blamed}


@dataclass(frozen=True, slots=True, eq=False)
class CellPosteriors:
    """The distribution of each cell of the table, or why there is none."""

    said: str
    method: str | None = None
    at: Callable[[tuple[Label, ...]], Distribution] | None = None


def chances_of(
    release: Release,
    over: tuple[str, ...],
    *,
    seed: int | None,
    budget: Budget,
    limits: ReportLimits,
) -> CellPosteriors:
    """The posterior of the cells under a uniform prior over the consistent tables."""
    domain = release.domain
    if set(over) != set(domain.names):
        return CellPosteriors(
            "not worked out: the cells here are those of a margin, and posteriors are of the cells "
            "of the whole table"
        )

    def place(labels: tuple[Label, ...]) -> int:
        ordered = dict(zip(over, labels, strict=True))
        index = domain.index([ordered[name] for name in domain.names])
        return int(np.ravel_multi_index(index, domain.shape))

    try:
        with stopped_late(budget):
            return _posteriors(release, place, seed, budget, limits)
    except InconsistentRelease:
        raise
    except CellboundsError as problem:
        return CellPosteriors(f"not worked out: {problem}")


def _posteriors(
    release: Release,
    place: Callable[[tuple[Label, ...]], int],
    seed: int | None,
    budget: Budget,
    limits: ReportLimits,
) -> CellPosteriors:
    one_conditional = gather(release).conditional is not None
    effort = limits.row_effort if one_conditional else limits.effort
    exact = exact_sums(release, belief_of(PRIOR).weights(release.domain), effort)
    if isinstance(exact, ExactSums):
        sums = exact.weighted
        return CellPosteriors(
            "exact: every consistent table is summed over",
            exact.name,
            lambda labels: sums.distribution(place(labels)),
        )
    if exact.steps is None:
        return CellPosteriors(f"not worked out: {exact.reason}")
    if seed is None:
        return CellPosteriors(f"not worked out: {exact.reason} (a report with a seed estimates it)")
    drawn = posterior(
        release,
        PRIOR,
        effort=effort,
        draws=limits.draws,
        rng=seed,
        budget=budget.share(most=limits.draw_seconds),
    )
    words = f"estimated from {limits.draws:,} tables, seed {seed}: {'; '.join(drawn.notes)}"
    return CellPosteriors(words, drawn.method, lambda labels: drawn.at(place(labels)))


def plotted(
    chances: CellPosteriors,
    cells: Sequence[CellRisk],
    chosen: str,
    limits: ReportLimits,
    *,
    counts: bool = False,
) -> dict[str, Any]:
    """The section of a report: the distributions of the first of some cells.

    `chosen` is what the cells have in common; `counts` shows what they hold.
    """
    plots: list[dict[str, Any]] = []
    words = chances.said
    for cell in cells[: limits.plots] if chances.at is not None else ():
        assert chances.at is not None  # said by the loop's condition
        try:
            distribution = chances.at(cell.labels)
        except TooMuchWork as problem:
            words = f"{words}; the others are not worked out: {problem}"
            break
        plots.append(
            {
                "labels": [plain_label(label) for label in cell.labels],
                "mean": _rounded(distribution.mean),
                "sd": _rounded(distribution.sd),
                "interval95": list(distribution.interval("0.95")),
                "bars": _bars(distribution, limits.bars),
                **({"count": cell.count} if counts else {}),
            }
        )
    return {
        "prior": PRIOR,
        "method": chances.method,
        "said": words,
        "chosen": chosen,
        "left_out": max(len(cells) - limits.plots, 0),
        "cells": plots,
    }


def _bars(distribution: Distribution, most: int) -> list[list[int | float]]:
    """First and last count of each bar, and its probability: one count a bar if they are few."""
    first, last = int(distribution.values[0]), int(distribution.values[-1])
    width = -(-(last - first + 1) // most)
    sums = np.zeros((last - first) // width + 1)
    np.add.at(sums, (distribution.values - first) // width, distribution.probabilities)
    return [
        [first + width * k, min(first + width * (k + 1) - 1, last), _rounded(float(chance))]
        for k, chance in enumerate(sums)
    ]


def _rounded(value: float) -> float:
    """Six digits: the last bits of a sum may differ between machines."""
    return float(f"{value:.6g}")


OWNER = "judged by the owner of the table; the outcome depends on confidential counts"


@dataclass(frozen=True, slots=True, eq=False)
class PublicCells:
    """Cells as everybody can work them out, without the owner's table; or why there are none."""

    cells: tuple[CellRisk, ...]
    method: str
    evidence: str
    said: str


def _tells_nothing(verdict: Verdict) -> bool:
    """Whether a verdict may be shown to anybody: it rests on what everybody knows."""
    return verdict.independent and not verdict.knows


def public_cells(
    source: Audit | Attainable, known: Release, budget: Budget, limits: ReportLimits
) -> PublicCells:
    """What everybody knows of each cell: `known` is the release with the structural zeros.

    A settled set is a fact of what it was found from, whoever found it and how. Where one is open,
    what is known of it leans on the table that the owner's search began with; and with private
    knowledge it is no fact that everybody has. Then everything is worked out anew.
    """
    if isinstance(source, Attainable):
        cells = tuple(CellRisk(labels, values) for labels, values in source.items())
        return _described(source, cells)
    answer = source.answer
    sets = [cell.values for cell in source.cells]
    leans = source.start_used and not all(values.settled for values in sets)
    if leans or answer.digest != known.digest:
        again = budget.share(most=limits.again_seconds if budget.left is None else None)
        try:
            with stopped_late(budget):
                answer = limits.attainable(known, over=answer.over, budget=again)
        except (TooMuchWork, Unsettled, UnsupportedRelease) as problem:
            return PublicCells((), "none", "none", f"not worked out: {problem}")
        sets = [values for _, values in answer.items()]
    told = _tells_nothing(source.verdict)
    cells = tuple(
        replace(cell, values=values, count=None, outcome=cell.outcome if told else Outcome.SAFE)
        for cell, values in zip(source.cells, sets, strict=True)
    )
    return _described(answer, cells)


def _described(answer: Attainable, cells: tuple[CellRisk, ...]) -> PublicCells:
    open_ones = sum(not cell.values.settled for cell in cells)
    words = "every attainable count of every cell is settled"
    if open_ones:
        words = (
            f"{open_ones} of {len(cells)} cells are not settled: what is attainable includes the "
            "counts shown and perhaps more"
        )
    if any(cell.structural for cell in cells):
        words += "; structural zeros are taken to be known to everybody"
    return PublicCells(cells, answer.method, answer.evidence.value, words)


def public_part(
    release: Release,
    over: tuple[str, ...],
    cells: PublicCells,
    chances: CellPosteriors,
    verdict: Verdict | None,
    limits: ReportLimits,
) -> dict[str, Any]:
    """Everything but where the report comes from.

    The verdict is told if it was made without the counts and without private knowledge.
    """
    domain = release.domain.project(over)
    told = verdict is not None and _tells_nothing(verdict)
    words = OWNER if verdict is not None else "nobody judged: this is what anybody can work out"
    untold: dict[str, Any] = {"outcome": None, "said": words, "notes": []}
    return {
        "verdict": plain_verdict(verdict) if verdict is not None and told else untold,
        "published": published(release),
        "policy": None if verdict is None else verdict.policy.to_dict(),
        "over": list(over),
        "variables": [[name, [plain_label(x) for x in domain.levels(name)]] for name in over],
        "columns": list(columns_of(domain, responses_of(release))),
        "cells": [plain_cell(cell, judged=told) for cell in cells.cells],
        "summary": _summary(cells.cells),
        "posteriors": _few_counts(cells.cells, chances, limits),
        "method": {"name": cells.method, "evidence": cells.evidence, "said": cells.said},
    }


WIDEST = 10
"""Columns that a long table may be spread over."""

TALL = 40
"""A table with more rows than this is spread over more columns, if it has the variables."""


def columns_of(domain: Domain, responses: Sequence[str]) -> tuple[str, ...]:
    """The variables that go over the columns: the responses or else the last one, and more.

    Examples
    --------
    >>> from cellbounds import Domain
    >>> columns_of(Domain({"county": ["A", "B"], "age": [1, 2], "sex": ["f", "m"]}), ["age"])
    ('age',)
    """
    names = domain.names
    if len(names) == 1:
        return ()
    columns = [name for name in names if name in responses]
    if not columns or len(columns) == len(names) or _product(domain, columns) > 2 * WIDEST:
        columns = [names[-1]]
    rest = [name for name in names if name not in columns]
    while len(rest) > 1 and _product(domain, rest) > TALL:
        if _product(domain, [*columns, rest[-1]]) > WIDEST:
            break
        columns.insert(0, rest.pop())
    return tuple(columns)


def _product(domain: Domain, names: Sequence[str]) -> int:
    return math.prod(len(domain.levels(name)) for name in names)


MARKS = {Outcome.UNSAFE: "broken", Outcome.UNDECIDED: "open"}


def plain_cell(cell: CellRisk, *, judged: bool) -> dict[str, Any]:
    """One cell without its count; with what the rules say of it if it was judged."""
    values = {
        "labels": [plain_label(label) for label in cell.labels],
        **plain_values(cell.values),
        "mark": mark_of(cell),
    }
    if judged:
        values |= {"mark": MARKS.get(cell.outcome, values["mark"]), "outcome": cell.outcome.value}
    return values


def mark_of(cell: CellRisk) -> str:
    """A word for what the attainable counts give away."""
    if cell.structural or cell.empty_row:
        return "structural zero" if cell.structural else "empty row"
    if cell.disclosed:
        return "exact"
    if cell.narrow:
        return "narrow"
    return "" if cell.values.settled else "not settled"


def _summary(cells: tuple[CellRisk, ...]) -> dict[str, int]:
    marks = [mark_of(cell) for cell in cells]
    return {
        "cells": len(cells),
        "exact": marks.count("exact"),
        "narrow": marks.count("narrow"),
        "known_empty": marks.count("structural zero") + marks.count("empty row"),
        "unsettled": sum(not cell.values.settled for cell in cells),
    }


def _few_counts(
    cells: Sequence[CellRisk], chances: CellPosteriors, limits: ReportLimits
) -> dict[str, Any]:
    """Posteriors of the cells with the fewest attainable counts: a choice without the counts."""
    several = [cell for cell in cells if cell.values.settled and 1 < _size(cell) < UNBOUNDED]
    chosen = "the cells with the fewest attainable counts, but more than one"
    return plotted(chances, sorted(several, key=_size), chosen, limits)


WARNING = "this part holds confidential counts and what follows from them: keep it to yourself"


def internal_part(
    audit: Audit,
    chances: CellPosteriors,
    *,
    seed: int | None,
    source: str | None,
    made: str | None,
    budget: Budget,
    limits: ReportLimits,
) -> dict[str, Any]:
    """Verdict, findings, counts, blame, posteriors of the cells at risk, utility, the input."""
    verdict = audit.verdict
    part: dict[str, Any] = {
        "warning": WARNING,
        "verdict": plain_verdict(verdict),
        "cells": [plain_cell(cell, judged=True) | {"count": cell.count} for cell in audit.cells],
        "blame": _blamed(audit, budget, limits),
        "posteriors": _at_risk(audit, chances, limits),
        "utility": _utility(audit, chances, limits),
        "input": {"digest": audit.table.digest, "source": source, "seed": seed},
        "method": {"name": audit.answer.method, "evidence": audit.answer.evidence.value},
    }
    if made is not None:
        part["clock"] = {
            "made": made,
            "attainable_seconds": round(audit.answer.seconds, 3),
            "judging_seconds": round(verdict.seconds, 3),
        }
    return part


def _at_risk(audit: Audit, chances: CellPosteriors, limits: ReportLimits) -> dict[str, Any]:
    """The cells that break a rule or may; then those with few attainable counts."""
    risky = [
        cell
        for cell in audit.cells
        if not cell.disclosed and (cell.outcome is not Outcome.SAFE or cell.narrow)
    ]
    ranks = [Outcome.UNSAFE, Outcome.UNDECIDED, Outcome.SAFE]
    risky.sort(key=lambda cell: (ranks.index(cell.outcome), _size(cell)))
    chosen = (
        "the cells that break a rule or may, and the narrow ones; a cell with a single attainable "
        "count needs no plot"
    )
    return plotted(chances, risky, chosen, limits, counts=True)


def _size(cell: CellRisk) -> Any:
    """How many counts are attainable, as far as is known; to be compared."""
    return cell.values.possible.size


def _utility(audit: Audit, chances: CellPosteriors, limits: ReportLimits) -> dict[str, Any]:
    """What a reader gets from the release: its figures, and the best guess of the table."""
    try:
        own = retained(audit.table, audit.release).to_dict()
    except CellboundsError as problem:
        return {"said": f"not worked out: {problem}"}
    return {
        "said": (
            "share kept: 1 if a reader comes as close as the exact figures would bring him, 0 if "
            "he does no better than by an even guess; distances are the mean over people of the "
            "total variation distance in their row"
        ),
        "figures": own,
        "posterior_mean_hellinger": _hellinger(audit, chances, limits),
    }


def _hellinger(audit: Audit, chances: CellPosteriors, limits: ReportLimits) -> float | None:
    """The distance of the expected table from the true one; None if it is not worked out."""
    if chances.at is None or len(audit.cells) > limits.means or audit.table.total == 0:
        return None
    try:
        means = np.array([chances.at(cell.labels).mean for cell in audit.cells])
    except TooMuchWork:
        return None
    true = as_floats(audit.table.margin(audit.answer.over)).ravel()
    return float(f"{distance_of(true, means):.6g}")
