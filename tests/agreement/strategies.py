"""Random small releases, the ugly ones included."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from cellbounds import Conditional, Domain, Known, Margin, Release, Total
from cellbounds.statements.rounding import ROUNDINGS, round_rows

LARGEST = 9
"""Records at most: few enough for listing every table."""


LONG = settings.default.max_examples > 1000
"""Whether this is the long profile."""


def few(share: int, least: int = 12) -> settings:
    """A share of the profile's examples, for what is slow."""
    return settings(max_examples=max(least, settings.default.max_examples // share))


def examples(few: int, many: int) -> settings:
    """So many examples of a slow property in every run, and more in the long profile."""
    return settings(max_examples=many if LONG else few)


@st.composite
def domains(draw, most_cells: int = 8):
    names = draw(st.permutations(["a", "b", "c"]))[: draw(st.integers(1, 3))]
    levels, size = {}, 1
    for name in names:
        count = draw(st.integers(1, max(1, min(4, most_cells // size))))
        size *= count
        levels[name] = [f"{name}{k}" for k in range(count)]
    return Domain(levels)


@st.composite
def tables(draw, domain: Domain, largest: int = LARGEST):
    flat = [0] * domain.size
    for _ in range(draw(st.integers(1, largest))):
        flat[draw(st.integers(0, domain.size - 1))] += 1
    return np.array(flat).reshape(domain.shape)


@st.composite
def conditionals(draw, domain: Domain, counts: np.ndarray):
    """Rates of a real table, sometimes spoilt, or any rates at all."""
    names = list(draw(st.permutations(domain.names)))
    responses = names[: draw(st.integers(1, len(names)))]
    rest = names[len(responses) :]
    given = rest[: draw(st.integers(0, len(rest)))]
    order = [*given, *responses]
    left = list(domain.names)
    margin = counts
    for name in domain.names:
        if name not in order:
            margin = margin.sum(axis=left.index(name))
            left.remove(name)
    margin = np.transpose(margin, [left.index(name) for name in order])
    shape = margin.shape
    rows = int(np.prod(shape[: len(given)], dtype=int))
    margin = margin.reshape(rows, -1)
    sums = margin.sum(axis=1)
    style = draw(st.sampled_from(["exact", "rounded", "rounded", "eps", "any", "mixed", "both"]))
    options: dict = {}
    if style == "exact":
        rates = [
            [Fraction(int(x), int(n)) if n else None for x in row]
            for row, n in zip(margin, sums, strict=True)
        ]
    else:
        digits = draw(st.integers(0, 2))
        unit = 10**digits
        rule = draw(st.sampled_from(sorted(ROUNDINGS)))
        if style == "rounded":
            options["rounding"] = rule
            options["rule"] = draw(st.sampled_from(["rounding", "rounding", "interval"]))
        elif style == "both":
            # A rule and a tolerance, which may say less than the rule or more.
            wide = ["1"] if rule == "consistent" else ["0", "0.01", "0.05", "0.25", "1"]
            options["rounding"], options["eps"] = rule, draw(st.sampled_from(wide))
        else:
            pool = ["0", "0.01", "0.05", "0.1", "1/3", "0.25", "0.5", "0.7", "1"]
            if style == "mixed":
                size = margin.size
                eps = draw(st.lists(st.sampled_from(pool), min_size=size, max_size=size))
                options["eps"] = np.array(eps, dtype=object).reshape(shape).tolist()
            else:
                options["eps"] = draw(st.sampled_from(pool))
            options["strict"] = draw(st.booleans())
        units = np.zeros(margin.shape, dtype=int)
        if (sums > 0).any():
            units[sums > 0] = round_rows(margin[sums > 0], digits, rule)
        if style == "any" or draw(st.integers(0, 4)) == 0:
            for index in np.ndindex(units.shape):
                if draw(st.integers(0, 3)) == 0:
                    units[index] = draw(st.integers(0, unit))
        rates = [
            [decimal_text(int(x), digits) if n else None for x in row]
            for row, n in zip(units, sums, strict=True)
        ]
    missing = "zero"
    if any(rate is None for row in rates for rate in row) and draw(st.integers(0, 4)) == 0:
        missing = "suppressed"
    if draw(st.integers(0, 4)) == 0:
        # Suppress single figures; whole missing rows then count as suppressed too.
        missing = "suppressed"
        for row in rates:
            if draw(st.booleans()):
                row[draw(st.integers(0, len(row) - 1))] = None
    shaped = np.empty(margin.size, dtype=object)
    shaped[:] = [rate for row in rates for rate in row]
    if all(rate is None for rate in shaped) and options.get("rounding"):
        options.pop("rounding")
    if any(isinstance(rate, str) for rate in shaped) and style in ("rounded", "both"):
        options["digits"] = digits
    return Conditional(
        responses, given, rates=shaped.reshape(shape).tolist(), missing=missing, **options
    )


def decimal_text(units: int, digits: int) -> str:
    return f"{units // 10**digits}.{units % 10**digits:0{digits}d}" if digits else str(units)


@st.composite
def totals(draw, true: int):
    kind = draw(st.sampled_from(["exact", "exact", "exact", "off", "range", "below"]))
    if kind == "exact":
        return Total(true)
    if kind == "off":
        return Total(draw(st.integers(0, LARGEST)))
    upper = min(LARGEST, true + draw(st.integers(0, 3)))
    if kind == "below":
        return Total(upper=upper)
    return Total(lower=max(0, true - draw(st.integers(0, 3))), upper=upper)


@st.composite
def priors(draw, domain: Domain, names: tuple[str, ...], counts: np.ndarray):
    margin = domain.project(names)
    left = list(domain.names)
    for name in domain.names:
        if name not in names:
            counts = counts.sum(axis=left.index(name))
            left.remove(name)
    true = np.transpose(counts, [left.index(name) for name in names])
    if draw(st.integers(0, 5)) == 0:
        return Margin(names, true)
    known: dict = {"lower": {}, "upper": {}, "values": {}}
    for index, labels in zip(np.ndindex(margin.shape), margin.cells(), strict=True):
        key = labels if len(names) > 1 else labels[0]
        about = int(true[index]) if draw(st.integers(0, 3)) else draw(st.integers(0, 5))
        kind = draw(st.sampled_from(["none", "none", "lower", "upper", "both", "values"]))
        if kind in ("lower", "both"):
            known["lower"][key] = max(0, about - draw(st.integers(0, 2)))
        if kind in ("upper", "both"):
            known["upper"][key] = max(about, known["lower"].get(key, 0)) + draw(st.integers(0, 2))
        if kind == "values":
            others = draw(st.lists(st.integers(0, 7), max_size=3))
            known["values"][key] = sorted({about, *others})
    kept = {name: given for name, given in known.items() if given}
    return Known(names, **(kept or {"lower": 0}))


@st.composite
def releases(draw):
    """A release over a small domain; its table may or may not be consistent with it."""
    domain = draw(domains())
    counts = draw(tables(domain))
    conditional = draw(conditionals(domain, counts))
    statements: list = [conditional, draw(totals(int(counts.sum())))]
    choices = [conditional.variables, tuple(domain.names)]
    if conditional.given:
        choices.append(conditional.given)
    for _ in range(draw(st.sampled_from([0, 0, 0, 1, 1, 2]))):
        names = draw(st.sampled_from(choices))
        statements.append(draw(priors(domain, names, counts)))
    return Release(domain, draw(st.permutations(statements)))
