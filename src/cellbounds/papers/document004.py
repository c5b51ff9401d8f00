"""Sage and Wright 2016: cell counts from rounded conditional frequencies.

The document's tables were lost; what its text says about them is compared. Its examples hold
with eps = one unit of the last decimal, weak.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from cellbounds import datasets
from cellbounds.data.domain import Domain
from cellbounds.papers.data_files import DataFiles
from cellbounds.papers.printed_figures import Figures
from cellbounds.papers.times import printed_times
from cellbounds.results import ValueSet
from cellbounds.solvers.solve import attainable, bounds
from cellbounds.statements import Conditional, Known, Release, Total, publish

TITLE = "Sage, Wright 2016: counts from rounded conditionals"

DOMAIN = Domain({"row": ["1", "2", "3", "4"], "column": ["1", "2"]})

EXACT = "4/7 3/7  5/8 3/8  3/5 2/5  5/9 4/9"
THREE_DIGITS = "0.571 0.429  0.625 0.375  0.600 0.400  0.556 0.444"
TWO_DIGITS = {
    "3(c)": "0.57 0.43  0.63 0.37  0.60 0.40  0.56 0.44",
    "3(d)": "0.57 0.43  0.62 0.38  0.60 0.40  0.56 0.44",
}


def figures(_: DataFiles) -> Figures:
    """Our figures for the two examples of section 3, and the curve of Figure 2."""
    yield "Table 1(c), feasible row sums", _row_sums(EXACT, "0")
    yield "Table 3(b), feasible row sums", _row_sums(THREE_DIGITS, "0.001")
    for name, rates in TWO_DIGITS.items():
        yield f"Table {name}, admissible row sums", _row_sums(rates, "0.01", total_known=False)
        yield f"Table {name}, feasible row sums", _row_sums(rates, "0.01")
    wide, narrow = (_row_sums(TWO_DIGITS["3(c)"], eps) for eps in ("0.01", "0.005"))
    yield "Table 3(c)", ["results unchanged" if narrow == wide else "fewer row sums"]
    yield from _delinquent()
    yield "Fig. 2", [_fit(math.log, 0), _fit(math.log10, 1841)]


def _row_sums(rates: str, eps: str, *, total_known: bool = True) -> list[str]:
    """The feasible sums of each row up to N = 48, as a set."""
    shaped = np.reshape(rates.split(), DOMAIN.shape).tolist()
    total = [Total(48)] if total_known else []
    release = Release(DOMAIN, [Conditional(["column"], ["row"], rates=shaped, eps=eps), *total])
    sums = attainable(release, over=["row"])
    feasible = [[n for n in range(1, 49) if n in sums[row]] for row in DOMAIN.levels("row")]
    return ["{" + ",".join(map(str, values)) + "}" for values in feasible]


def _delinquent() -> Figures:
    children, rounded = datasets.read("delinquent"), delinquent_rounded(2)
    corner = delinquent_rounded(3).statements[0]
    assert isinstance(corner, Conditional)
    yield "Table 7(a)", [corner.figure_at(4 * 2 + 3)]
    yield "Table 7(a), three digits", [_revealed(delinquent_rounded(3), "all", "some")]
    small: list[ValueSet] = []
    large: list[ValueSet] = []
    values = attainable(rounded)
    for labels, counts in values.items():
        (small if children[labels] <= 3 else large).append(counts)
    gaps = any(np.ptp(list(counts)) >= len(counts) for counts in small)
    yield "Table 8", [str(len(small)), "yes" if gaps else "no", str(min(map(len, large)))]
    yield "Table 8", [str(len(values["Alpha", "Low"]))]
    lowest = [low for _, low in lower_by_row_sum()]
    yield "Fig. 1", ["monotone" if lowest == sorted(lowest) else "not monotone"]
    below = bounds(rounded, over=["county"]).upper < bounds(rounded).upper.sum(axis=1)
    yield "Table 8", ["all" if below.all() else "some"]
    exact = publish(children, "[education|county]")
    yield "Table 6, exact rates", [_revealed(exact, "one", "several")]


def curve(rows: int, total: int, log: Callable[[float], float] = math.log) -> float:
    """The seconds that Figure 2's curve gives: ((I ln I)(N ln N))^0.6 times 5.25e-5."""
    return float((rows * log(rows) * total * log(total)) ** 0.6 * 5.25e-5)


def _fit(log: Callable[[float], float], least: int) -> str:
    """How the curve lies to the times that Table 9 prints, of tables of so many people."""
    ratios = sorted(
        curve(line.rows, int(line.people), log) / line.printed
        for line in printed_times()
        if line.place == "Table 9" and int(line.people) >= least
    )
    low, high = f"{ratios[0]:.1f}", f"{ratios[-1]:.1f}"
    return "fits" if low in ("0.9", "1.0") and high in ("1.0", "1.1") else f"{low} to {high} times"


def _revealed(release: Release, yes: str, no: str) -> str:
    """One text if the bounds leave one table, another if not."""
    answer = bounds(release)
    return yes if (answer.lower == answer.upper).all() else no


def delinquent_rounded(digits: int) -> Release:
    """Table 7: nearest rounding with one entry of row 2 adjusted so that rows add to one."""
    release = publish(
        datasets.read("delinquent"),
        f"[education|county]@{digits}",
        rounding="consistent",
        rule="interval",
    )
    if digits == 2:
        return release
    rates = release.statements[0]
    assert isinstance(rates, Conditional)
    texts = [[rates.figure_at(4 * i + j) for j in range(4)] for i in range(4)]
    texts[1] = ["0.363", "0.182", "0.182", "0.273"]
    table = Conditional(["education"], given=["county"], rates=texts, eps="0.001")
    return Release(release.domain, [table, Total(135)])


def lower_by_row_sum() -> list[tuple[int, int]]:
    """Figure 1: the lower bound of row 3, column 4 for each feasible sum of row 3."""
    release = delinquent_rounded(2)
    lows = []
    for total in attainable(release, over=["county"])["Gamma"]:
        fixed = Known(["county"], values={"Gamma": [total]})
        answer = bounds(Release(release.domain, [*release.statements, fixed]))
        lows.append((total, int(answer["Gamma", "Very High"][0])))
    return lows
