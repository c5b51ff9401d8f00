"""Random small releases with statements of every kind, and questions about any margin."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from bruteforce import summed_by_cell
from cellbounds import Conditional, Domain, Grouping, Known, Linear, Margin, Release, Table, Total
from cellbounds.statements.rounding import COUNT_ROUNDINGS, ROUNDINGS, round_counts, round_rows
from listing import most_records
from strategies import decimal_text

SHAPES = [
    ((3,), 7),
    ((2, 2), 9),
    ((2, 3), 9),
    ((3, 3), 7),
    ((2, 5), 7),
    ((2, 2, 2), 9),
    ((1, 2, 3), 8),
    ((2, 2, 3), 7),
    ((2, 2, 3), 6),
    ((3, 4), 6),
    ((2, 2, 2, 2), 4),
    ((2, 1, 2, 2), 7),
    ((2, 2, 2, 2, 2), 3),
]
"""Numbers of levels, and records at most: few enough for listing every table."""

MARGIN_SHAPES = [
    ((2, 2, 2), 9),
    ((2, 2, 3), 7),
    ((3, 2, 2), 7),
    ((2, 3, 2), 6),
    ((2, 2, 2, 2), 4),
    ((2, 2, 1, 2, 2), 4),
    ((2, 2, 2, 2, 2), 3),
]

WEIGHTS = ["1", "1", "-1", "2", "-2", "1/2", "-1/3", "0.25", "0", "3"]


@dataclass(frozen=True)
class Case:
    """A release, a table that it may have been made from, and a margin to ask about."""

    release: Release
    counts: np.ndarray
    largest: int
    over: tuple[str, ...]

    @property
    def table(self) -> Table:
        return Table(self.release.domain, self.counts)


@st.composite
def tables(draw, domain: Domain, largest: int):
    flat = [0] * domain.size
    records = draw(st.sampled_from([largest, largest, largest - 1, largest // 2, 1, 0]))
    for _ in range(records):
        flat[draw(st.integers(0, domain.size - 1))] += 1
    return np.array(flat, dtype=np.int64).reshape(domain.shape)


@st.composite
def domains(draw, shapes=SHAPES, groupings: bool = True):
    shape, largest = draw(st.sampled_from(shapes))
    shape = draw(st.permutations(shape))
    names = draw(st.permutations("abcde"))[: len(shape)]
    levels = {
        name: [f"{name}{k}" for k in range(count)] for name, count in zip(names, shape, strict=True)
    }
    derived = {}
    if groupings and draw(st.integers(0, 2)) == 0:
        for place in range(draw(st.integers(1, 2))):
            derived[f"g{place}"] = draw(derived_variables(levels))
    return Domain(levels, groupings=derived), largest


@st.composite
def derived_variables(draw, levels: dict):
    """Groups that split a variable, or overlap, or leave levels out."""
    of = draw(st.sampled_from(sorted(levels)))
    parts = levels[of]
    if draw(st.booleans()):
        group = [draw(st.integers(0, 1)) for _ in parts]
        groups = {
            f"{of}-{k}": [p for p, g in zip(parts, group, strict=True) if g == k] for k in (0, 1)
        }
    else:
        count = draw(st.integers(1, 2))
        groups = {
            f"{of}-{k}": draw(st.lists(st.sampled_from(parts), min_size=1, unique=True))
            for k in range(count)
        }
    return Grouping(of, {label: members for label, members in groups.items() if members})


@st.composite
def some_names(draw, domain: Domain, least: int = 1, derived: bool = True):
    """Some variables in any order; derived ones stand for, or beside, those behind them."""
    names = list(domain.names)
    if derived and domain.groupings and draw(st.booleans()):
        names += list(domain.groupings)
    order = draw(st.permutations(names))
    return tuple(order[: draw(st.integers(least, min(3, len(order))))])


def margin_of(domain: Domain, counts: np.ndarray, names: tuple[str, ...]) -> np.ndarray:
    return summed_by_cell(Release(domain, []), counts, names)


@st.composite
def exact_margins(draw, domain: Domain, counts: np.ndarray, spoilt: bool, derived: bool = True):
    names = draw(some_names(domain, derived=derived))
    margin = margin_of(domain, counts, names)
    if spoilt:
        margin = draw(nudged(margin))
    return Margin(names, margin)


@st.composite
def nudged(draw, margin: np.ndarray):
    """One entry moved, sometimes another one in return."""
    margin = margin.copy()
    places = draw(st.lists(st.integers(0, margin.size - 1), min_size=1, max_size=2))
    for place, step in zip(places, draw(st.permutations([1, -1])), strict=False):
        margin.flat[place] = max(0, margin.flat[place] + step)
    return margin


@st.composite
def loose_margins(draw, domain: Domain, counts: np.ndarray, spoilt: bool):
    """Rounded counts, ranges, suppressed entries."""
    names = draw(some_names(domain))
    margin = margin_of(domain, counts, names)
    if spoilt:
        margin = draw(nudged(margin))
    base = draw(st.sampled_from([None, None, 2, 3, 5]))
    options = {}
    entries = margin.astype(object)
    if base is not None:
        rule = draw(st.sampled_from(sorted(COUNT_ROUNDINGS)))
        seed = np.random.default_rng(draw(st.integers(0, 3))) if rule == "random" else None
        entries = round_counts(margin, base, rule, seed).astype(object)
        reading = draw(st.sampled_from(["rounding", "interval"]))
        options = {"base": base, "rounding": rule, "rule": reading}
        if draw(st.booleans()):
            below = draw(st.integers(2, 8))
            options["below"] = below
            entries[margin < below] = f"<{below}"
    for place, value in enumerate(margin.flat):
        value = int(value)
        kind = draw(st.sampled_from(["shown", "shown", "hidden", "below", "above", "between"]))
        if kind == "hidden":
            entries.flat[place] = None
        elif kind == "below":
            entries.flat[place] = f"<{value + draw(st.integers(1, 2))}"
        elif kind == "above":
            entries.flat[place] = f">={max(0, value - draw(st.integers(0, 2)))}"
        elif kind == "between":
            low = max(0, value - draw(st.integers(0, 1)))
            entries.flat[place] = f"{low}-{value + draw(st.integers(0, 2))}"
    return Margin(names, entries.tolist(), **options)


def is_partition(domain: Domain, name: str) -> bool:
    if name not in domain.groupings:
        return True
    grouping = domain.groupings[name]
    members = [level for group in grouping.levels.values() for level in group]
    return sorted(members) == sorted(domain.levels(grouping.of))


@st.composite
def rates(draw, domain: Domain, counts: np.ndarray, spoilt: bool):
    """Rates of a real table: exact, rounded or within a tolerance; joint ones without givens."""
    names = list(draw(some_names(domain)))
    bases = [domain.groupings[n].of if n in domain.groupings else n for n in names]
    names = [n for k, n in enumerate(names) if bases[k] not in bases[:k]]
    whole = [name for name in names if is_partition(domain, name)]
    if not whole:
        whole = names = [domain.names[0]]
    responses = whole[: draw(st.integers(1, len(whole)))]
    given = [name for name in names if name not in responses]
    margin = margin_of(domain, counts, (*given, *responses))
    shape = margin.shape
    rows = int(np.prod(shape[: len(given)], dtype=int))
    margin = margin.reshape(rows, -1)
    held = margin.sum(axis=1)
    style = draw(st.sampled_from(["exact", "exact", "rounded", "rounded", "eps"]))
    options: dict = {}
    if style == "exact":
        figures = [
            [Fraction(int(x), int(n)) if n else None for x in row]
            for row, n in zip(margin, held, strict=True)
        ]
    else:
        digits = draw(st.integers(0, 2))
        rule = draw(st.sampled_from(sorted(ROUNDINGS)))
        units = np.zeros(margin.shape, dtype=int)
        if (held > 0).any():
            units[held > 0] = round_rows(margin[held > 0], digits, rule)
        if spoilt:
            place = draw(st.integers(0, units.size - 1))
            units.flat[place] = draw(st.integers(0, 10**digits))
        figures = [
            [decimal_text(int(x), digits) if n else None for x in row]
            for row, n in zip(units, held, strict=True)
        ]
        if style == "eps":
            pool = ["0", "0.01", "0.05", "0.1", "1/3", "0.25", "0.5"]
            options["eps"] = draw(st.sampled_from(pool))
            options["strict"] = draw(st.booleans())
        elif (held > 0).any():
            options["rounding"], options["digits"] = rule, digits
            options["rule"] = draw(st.sampled_from(["rounding", "rounding", "interval"]))
    missing = draw(st.sampled_from(["zero", "zero", "zero", "suppressed"]))
    if draw(st.integers(0, 5)) == 0:
        missing = "suppressed"
        for row in figures:
            if draw(st.booleans()):
                row[draw(st.integers(0, len(row) - 1))] = None
    if all(figure is None for row in figures for figure in row):
        options = {}
    flat = np.empty(margin.size, dtype=object)
    flat[:] = [figure for row in figures for figure in row]
    if not any(figure is None for figure in flat):
        missing = None
    return Conditional(
        responses, given, rates=flat.reshape(shape).tolist(), missing=missing, **options
    )


@st.composite
def linears(draw, domain: Domain, counts: np.ndarray, spoilt: bool):
    names = draw(some_names(domain))
    margin = margin_of(domain, counts, names)
    weights = [draw(st.sampled_from(WEIGHTS)) for _ in range(margin.size)]
    if not any(Fraction(weight) for weight in weights):
        weights[0] = "1"
    value = sum(
        (Fraction(w) * int(x) for w, x in zip(weights, margin.flat, strict=True)), start=Fraction(0)
    )
    if spoilt:
        value += draw(st.sampled_from([-2, -1, Fraction(1, 2), 1]))
    shaped = np.array(weights, dtype=object).reshape(margin.shape).tolist()
    kind = draw(st.sampled_from(["equals", "lower", "upper", "both"]))
    if kind == "equals":
        return Linear(names, shaped, equals=value)
    low = value - draw(st.sampled_from([0, Fraction(1, 3), 1, 2]))
    high = value + draw(st.sampled_from([0, Fraction(1, 3), 1, 2]))
    return Linear(
        names,
        shaped,
        lower=None if kind == "upper" else low,
        upper=None if kind == "lower" else high,
    )


@st.composite
def priors(draw, domain: Domain, counts: np.ndarray, spoilt: bool):
    names = draw(some_names(domain))
    margin = margin_of(domain, counts, names)
    labels = list(domain.project(names).cells())
    known: dict = {"lower": {}, "upper": {}, "values": {}}
    for value, label in zip(margin.flat, labels, strict=True):
        about = int(value) if not spoilt else draw(st.integers(0, 4))
        key = label if len(names) > 1 else label[0]
        kinds = ["none", "none", "lower", "upper", "both", "values", "values up to", "all"]
        kind = draw(st.sampled_from(kinds))
        if kind in ("lower", "both", "all"):
            known["lower"][key] = max(0, about - draw(st.integers(0, 2)))
        if kind in ("upper", "both", "values up to", "all"):
            known["upper"][key] = about + draw(st.integers(0, 2))
        if kind in ("values", "values up to", "all"):
            known["values"][key] = sorted({about, *draw(st.lists(st.integers(0, 7), max_size=3))})
    kept = {name: given for name, given in known.items() if given}
    return Known(names, **(kept or {"lower": 0}))


@st.composite
def structural_zeros(draw, domain: Domain, counts: np.ndarray, spoilt: bool):
    """Cells that nobody can be in, known to all."""
    nobody = {
        labels: 0
        for labels, value in zip(domain.cells(), counts.flat, strict=True)
        if (not value or spoilt) and draw(st.integers(0, 2)) == 0
    }
    if not nobody:
        return Known(domain.names, lower=0)
    if len(domain.names) == 1:
        nobody = {labels[0]: 0 for labels in nobody}
    return Known(domain.names, upper=nobody)


KINDS = {
    "margin": exact_margins,
    "loose": loose_margins,
    "rates": rates,
    "linear": linears,
    "prior": priors,
    "zeros": structural_zeros,
}

OFTEN = [
    "margin",
    "margin",
    "margin",
    "loose",
    "loose",
    "rates",
    "rates",
    "linear",
    "prior",
    "zeros",
]


@st.composite
def totals(draw, true: int, largest: int):
    kind = draw(st.sampled_from(["exact", "exact", "exact", "exact", "off", "range", "below"]))
    if kind == "exact":
        return Total(true)
    if kind == "off":
        return Total(draw(st.integers(0, largest)))
    upper = min(largest, true + draw(st.integers(0, 3)))
    if kind == "below":
        return Total(upper=upper)
    return Total(lower=max(0, true - draw(st.integers(0, 3))), upper=upper)


@st.composite
def cases(draw, *, kinds=tuple(OFTEN), shapes=SHAPES, closed: bool = True, spoil: bool = True):
    """A mixture of statements and a question; `closed` limits the records to what can be listed."""
    domain, largest = draw(domains(shapes))
    counts = draw(tables(domain, largest))
    statements: list = []
    for _ in range(draw(st.integers(0, 4))):
        kind = draw(st.sampled_from(kinds))
        spoilt = spoil and draw(st.integers(0, 9)) == 0
        statements.append(draw(KINDS[kind](domain, counts, spoilt)))
    with_total = draw(st.integers(0, 2)) > 0
    if with_total:
        if spoil:
            statements.append(draw(totals(int(counts.sum()), largest)))
        else:
            statements.append(Total(int(counts.sum())))
    release = Release(domain, statements)
    if closed and most_records(release, largest) is None:
        statements = [one for one in statements if not isinstance(one, Total)]
        statements.append(Total(upper=largest))
    release = Release(domain, draw(st.permutations(statements)))
    return Case(release, counts, largest, draw(some_names(domain)))


@st.composite
def margin_cases(draw, shapes=MARGIN_SHAPES):
    """Exact margins only, of tables with three to five variables."""
    domain, largest = draw(domains(shapes, groupings=False))
    counts = draw(tables(domain, largest))
    spoilt = draw(st.integers(0, 3)) == 0
    statements: list = []
    for place in range(draw(st.integers(1, 5))):
        made = exact_margins(domain, counts, spoilt and place == 0, derived=False)
        statements.append(draw(made))
    if draw(st.booleans()):
        statements.append(Total(int(counts.sum())))
    elif most_records(Release(domain, statements), largest) is None:
        statements.append(Total(upper=largest))
    release = Release(domain, draw(st.permutations(statements)))
    over = domain.names if draw(st.booleans()) else draw(some_names(domain, derived=False))
    return Case(release, counts, largest, over)
