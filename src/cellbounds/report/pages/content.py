"""What a report holds, as plain values: a public part, and an internal one for the owner.

The public part is what follows from the release; structural zeros go with it, as everybody is taken
to know them. The internal part is everything that leans on the confidential counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cellbounds import errors
from cellbounds.data.domain import Domain, Label
from cellbounds.data.table import Table
from cellbounds.disclosure.auditing import Audit, CellRisk
from cellbounds.disclosure.policies import Finding, Outcome, Verdict
from cellbounds.inference.chooser import exact_sums
from cellbounds.inference.posterior import posterior
from cellbounds.model.priors import belief_of
from cellbounds.model.structure import gather
from cellbounds.results import UNBOUNDED, Attainable, Distribution, ValueSet
from cellbounds.results.answers import json_number
from cellbounds.runtime.budget import Budget, stopped_late
from cellbounds.solvers.solve import attainable
from cellbounds.statements import Release
from cellbounds.text import counted
from cellbounds.utility.display import picked
from cellbounds.utility.distances import as_floats, distance_of
from cellbounds.utility.retained_utility import retained


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


def plain_verdict(verdict: Verdict, notes: Sequence[str] = ()) -> dict[str, Any]:
    """The verdict with everything that breaks a rule or stayed open, and further notes."""
    outcomes = [cell.outcome for cell in verdict.cells]
    findings = (*verdict.broken, *verdict.open)
    where = f"first {findings[0].place(verdict.over)}: {findings[0].evidence}." if findings else ""
    many = counted(len(verdict.broken or verdict.open or verdict.cells), "place")
    reasons = {
        Outcome.SAFE: f"No rule of the policy is broken; {many} looked at.",
        Outcome.UNSAFE: f"A rule is broken for certain in {many}; {where}",
        Outcome.UNDECIDED: (
            f"No rule is broken for certain, but {many} could not be decided; {where}"
        ),
    }
    return {
        "outcome": verdict.outcome.value,
        "said": reasons[verdict.outcome],
        "independent": verdict.independent,
        "outside": verdict.outside,
        "margins": [list(names) for names in verdict.margins],
        "besides": verdict.besides,
        "knows": [known.notation for known in verdict.knows],
        "intruder": list(verdict.intruder),
        "warning": verdict.warning,
        "notes": [*verdict.notes, *notes],
        "summary": {outcome.value: outcomes.count(outcome) for outcome in Outcome},
        "findings": [_plain(verdict, finding) for finding in findings],
    }


def _plain(verdict: Verdict, finding: Finding) -> dict[str, Any]:
    """One finding as plain values; the count is there if the finding has it."""
    values: dict[str, Any] = {
        "rule": finding.rule,
        "outcome": finding.outcome.value,
        "variables": list(finding.variables),
        "labels": [*map(plain_label, finding.labels)],
        "response": finding.response,
        "respondent": finding.respondent and [*map(plain_label, finding.respondent)],
        "partner": finding.partner and [*map(plain_label, finding.partner)],
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
    broken = audit.verdict.broken
    if not broken:
        return {"said": "nothing is broken for certain", "findings": []}
    slow = audit.answer.seconds > SLOW or not _all_settled(audit)
    if slow or len(audit.cells) > limits.blame_cells:
        large = f"more than {limits.blame_cells:,} cells"
        why = "bounds of this release take long" if slow else large
        return {"said": f"not worked out: {why} (Verdict.blame works one out)", "findings": []}
    blamed: list[dict[str, Any]] = []
    share = budget.share(most=limits.blame_seconds if budget.left is None else None)
    words = ""
    for place, finding in enumerate(broken[: limits.blamed]):
        if share.spent:
            words = "the time was spent; "
            break
        try:
            with stopped_late(budget):
                statements = list(audit.verdict.blame(finding))
        except errors.CellboundsError as problem:
            return {"said": f"not worked out: {problem}", "findings": blamed}
        where = finding.place(audit.verdict.over)
        blamed.append({"finding": place, "where": where, "statements": statements})
    left = len(broken) - len(blamed)
    words += f"{counted(left, 'finding')} more not worked out" if left else ""
    return {"said": words or "every broken finding is listed", "findings": blamed}


@dataclass(frozen=True, slots=True, eq=False)
class CellPosteriors:
    """The distribution of each cell of the table, or why there is none."""

    said: str
    method: str | None = None
    at: Callable[[tuple[Label, ...]], Distribution] | None = None


def chances_of(
    release: Release, over: tuple[str, ...], seed: int | None, budget: Budget, limits: ReportLimits
) -> CellPosteriors:
    """The posterior of the cells under a uniform prior over the consistent tables."""
    domain = release.domain
    if set(over) != set(domain.names):
        return CellPosteriors(
            "not worked out: the cells here are those of a margin, and posteriors are of the cells "
            "of the whole table"
        )

    if budget.spent:
        return CellPosteriors("not worked out within the budget")

    def place(labels: tuple[Label, ...]) -> int:
        ordered = dict(zip(over, labels, strict=True))
        index = domain.index([ordered[name] for name in domain.names])
        return int(np.ravel_multi_index(index, domain.shape))

    try:
        with stopped_late(budget):
            one_conditional = gather(release).conditional is not None
            effort = limits.row_effort if one_conditional else limits.effort
            try:
                exact = exact_sums(release, belief_of(PRIOR).weights(domain), effort)
            except errors.TooMuchWork as problem:
                if seed is None:
                    hint = "(a report with a seed estimates it)"
                    return CellPosteriors(f"not worked out: {problem} {hint}")
                share = budget.share(most=limits.draw_seconds)
                drawn = posterior(
                    release, PRIOR, effort=effort, draws=limits.draws, rng=seed, budget=share
                )
            else:
                words, sums = "exact: every consistent table is summed over", exact.weighted
                at = _in_time(lambda labels: sums.distribution(place(labels)), budget)
                return CellPosteriors(words, exact.name, at)
    except errors.InconsistentRelease:
        raise
    except errors.CellboundsError as problem:
        return CellPosteriors(f"not worked out: {problem}")
    words = f"estimated from {limits.draws:,} tables, seed {seed}: {'; '.join(drawn.notes)}"
    at = _in_time(lambda labels: drawn.at(place(labels)), budget)
    return CellPosteriors(words, drawn.method, at)


def _in_time(
    at: Callable[[tuple[Label, ...]], Distribution], budget: Budget
) -> Callable[[tuple[Label, ...]], Distribution]:
    """The distribution of a cell, if there is time for it; else it is Unsettled."""

    def distribution(labels: tuple[Label, ...]) -> Distribution:
        if budget.spent:
            raise errors.Unsettled("the budget is spent")
        with stopped_late(budget):
            return at(labels)

    return distribution


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
        except (errors.TooMuchWork, errors.Unsettled) as problem:
            words = f"{words}; the others are not worked out: {problem}"
            break
        plots.append(
            {
                "labels": [*map(plain_label, cell.labels)],
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


def public_cells(
    source: Audit | Attainable, known: Release, budget: Budget, limits: ReportLimits
) -> tuple[tuple[CellRisk, ...], dict[str, str]]:
    """What everybody knows of each cell, and how: `known` is the release with structural zeros.

    A settled set is a fact of what it was found from, whoever found it and how. Where one is open,
    what is known of it leans on the table that the owner's search began with; and with private
    knowledge it is no fact that everybody has. Then everything is worked out anew, without the
    owner's table; there are no cells if that would take too much.
    """
    if isinstance(source, Attainable):
        answer = source
        cells = tuple(CellRisk(labels, values) for labels, values in source.items())
    else:
        answer = source.answer
        sets = [cell.values for cell in source.cells]
        leans = source.start_used and not _all_settled(source)
        if leans or answer.digest != known.digest:
            again = budget.share(most=limits.again_seconds if budget.left is None else None)
            try:
                with stopped_late(budget):
                    answer = limits.attainable(known, over=answer.over, budget=again)
                    sets = [values for _, values in answer.items()]
            except (errors.TooMuchWork, errors.Unsettled, errors.UnsupportedRelease) as problem:
                why = f"not worked out: {problem}"
                return (), {"name": "none", "evidence": "none", "said": why}
        told = source.verdict.open_to_all
        cells = tuple(
            replace(cell, values=values, count=None, outcome=cell.outcome if told else Outcome.SAFE)
            for cell, values in zip(source.cells, sets, strict=False)  # some may not be listed
        )
    open_cells = sum(not cell.values.settled for cell in cells)
    words = "every attainable count of every cell is settled"
    if not cells:
        words = "no cell was worked out"
    elif open_cells:
        words = (
            f"{open_cells} of {len(cells)} cells are not settled: what is attainable includes the "
            "counts shown and perhaps more"
        )
    if 0 < len(cells) < answer.size:
        words += f"; {counted(answer.size - len(cells), 'cell')} not listed: not worked out"
    if any(cell.structural for cell in cells):
        words += "; structural zeros are taken to be known to everybody"
    return cells, {"name": answer.method, "evidence": answer.evidence.value, "said": words}


def _all_settled(audit: Audit) -> bool:
    listed = len(audit.cells) == audit.answer.size
    return listed and all(cell.values.settled for cell in audit.cells)


def public_part(
    release: Release,
    over: tuple[str, ...],
    cells: Sequence[CellRisk],
    chances: CellPosteriors,
    verdict: Verdict | None,
    limits: ReportLimits,
) -> dict[str, Any]:
    """Everything but how it was worked out and where the report comes from.

    The verdict is told if it was made without the counts and without private knowledge. Posteriors
    are those of the cells with the fewest attainable counts: a choice without the counts.
    """
    domain = release.domain.project(over)
    words = "nobody judged: this is what anybody can work out"
    if verdict is not None:
        words = "judged by the owner of the table; the outcome depends on confidential counts"
    told: dict[str, Any] = {"outcome": None, "said": words, "notes": []}
    open_to_all = verdict is not None and verdict.open_to_all
    if verdict is not None and open_to_all:
        told = plain_verdict(verdict)
    marks = [mark_of(cell) for cell in cells]
    several = [cell for cell in cells if cell.values.settled and 1 < _size(cell) < UNBOUNDED]
    chosen = "the cells with the fewest attainable counts, but more than one"
    return {
        "verdict": told,
        "published": published(release),
        "policy": None if verdict is None else verdict.policy.to_dict(),
        "over": list(over),
        "variables": [[name, [*map(plain_label, domain.levels(name))]] for name in over],
        "columns": list(columns_of(domain, responses_of(release))),
        "cells": [plain_cell(cell, judged=open_to_all) for cell in cells],
        "summary": {
            "cells": len(cells),
            "exact": marks.count("exact"),
            "narrow": marks.count("narrow"),
            "known_empty": marks.count("structural zero") + marks.count("empty row"),
            "unsettled": sum(not cell.values.settled for cell in cells),
        },
        "posteriors": plotted(chances, sorted(several, key=_size), chosen, limits),
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

    def cells(names: Sequence[str]) -> int:
        return math.prod(len(domain.levels(name)) for name in names)

    columns = [name for name in names if name in responses]
    if not columns or len(columns) == len(names) or cells(columns) > 2 * WIDEST:
        columns = [names[-1]]
    rest = [name for name in names if name not in columns]
    while len(rest) > 1 and cells(rest) > TALL and cells([*columns, rest[-1]]) <= WIDEST:
        columns.insert(0, rest.pop())
    return tuple(columns)


MARKS = {Outcome.UNSAFE: "broken", Outcome.UNDECIDED: "open"}


def plain_cell(cell: CellRisk, *, judged: bool) -> dict[str, Any]:
    """One cell without its count; with what the rules say of it if it was judged."""
    values = {
        "labels": [*map(plain_label, cell.labels)],
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
    if cell.disclosed or cell.narrow:
        return "exact" if cell.disclosed else "narrow"
    return "" if cell.values.settled else "not settled"


WARNING = "this part holds confidential counts and what follows from them: keep it to yourself"


def internal_part(
    audit: Audit, table: Table, chances: CellPosteriors, budget: Budget, limits: ReportLimits
) -> dict[str, Any]:
    """Verdict, findings, counts, blame, utility; posteriors of the cells at risk.

    Those are the cells that break a rule or may; then those with few attainable counts.
    """
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
    return {
        "warning": WARNING,
        "verdict": plain_verdict(audit.verdict, [nesting.remedy for nesting in audit.determines]),
        "cells": [plain_cell(cell, judged=True) | {"count": cell.count} for cell in audit.cells],
        "blame": _blamed(audit, budget, limits),
        "posteriors": plotted(chances, risky, chosen, limits, counts=True),
        "utility": _utility(audit, table, chances, budget, limits),
    }


def _size(cell: CellRisk) -> Any:
    """How many counts are attainable, as far as is known; to be compared."""
    return cell.values.possible.size


def _utility(
    audit: Audit, table: Table, chances: CellPosteriors, budget: Budget, limits: ReportLimits
) -> dict[str, Any]:
    """What a reader gets from the release: its figures, and the best guess of the table."""
    try:
        with stopped_late(budget):
            own = retained(table, audit.release).to_dict()
    except errors.CellboundsError as problem:
        return {"said": f"not worked out: {problem}"}
    return {
        "said": (
            "share kept: 1 if a reader comes as close as the exact figures would bring him, 0 if "
            "he does no better than by an even guess; distances are the mean over people of the "
            "total variation distance in their row"
        ),
        "figures": own,
        "posterior_mean_hellinger": _hellinger(audit, table, chances, limits),
    }


def _hellinger(
    audit: Audit, table: Table, chances: CellPosteriors, limits: ReportLimits
) -> float | None:
    """The distance of the expected table from the true one; None if it is not worked out."""
    cells = len(audit.cells)
    if chances.at is None or not audit.answer.size == cells <= limits.means:
        return None
    if table.total == 0:
        return None
    try:
        means = np.array([chances.at(cell.labels).mean for cell in audit.cells])
    except (errors.TooMuchWork, errors.Unsettled):
        return None
    true = as_floats(table.margin(audit.answer.over)).ravel()
    return _rounded(distance_of(true, means))
