"""The verifier's reading of rows that were rounded so that they add to one, against all rows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import cellbounds as cb
from bruteforce import compositions
from cellbounds.certificates.verifying.rounding import SharedOut
from cellbounds.certificates.verifying.row_proofs import proofs_by_rows
from cellbounds.certificates.verifying.space import Space
from cellbounds.certificates.verifying.statements import read_statement


def printed(counts, unit):
    """What the largest remainders make of counts."""
    held = sum(counts)
    shares = [Fraction(unit * count, held) for count in counts]
    made = [int(share) for share in shares]
    ranks = sorted(range(len(counts)), key=lambda j: (made[j] - shares[j], j))
    for place in ranks[: unit - sum(made)]:
        made[place] += 1
    return tuple(made)


def rows_behind(unit, columns, most):
    """For each printed row and sum of counts every row that prints it."""
    found = {}
    for held in range(1, most + 1):
        for counts in compositions(held, columns):
            found.setdefault((printed(counts, unit), held), []).append(counts)
    return found


@pytest.mark.parametrize(("unit", "columns"), [(5, 3), (10, 2), (4, 4)])
def test_what_may_be_behind_a_printed_row(unit, columns):
    most = 2 * unit + 3
    behind = rows_behind(unit, columns, most)
    small, large = np.arange(1, unit + 1), np.arange(unit + 1, most + 1)
    for figures in compositions(unit, columns):
        row = SharedOut(unit, figures)
        counts, may = row.single(small)
        for place, held in enumerate(small.tolist()):
            rows = behind.get((figures, held), [])
            assert bool(may[place]) is bool(rows)
            assert [tuple(counts[:, place].tolist())] == rows or not rows
        for column in range(columns):
            seen = [[one[column] for one in behind[figures, held]] for held in large.tolist()]
            assert row.least(column, large).tolist() == list(map(min, seen))
            assert row.most(column, large).tolist() == list(map(max, seen))


@pytest.mark.parametrize(("unit", "columns"), [(5, 3), (10, 2)])
def test_pairs_of_columns_say_all_of_it(unit, columns):
    every = [counts for held in range(1, unit + 3) for counts in compositions(held, columns)]
    pairs = [(a, b) for a in range(columns) for b in range(columns) if a != b]
    for figures in compositions(unit, columns):
        row = SharedOut(unit, figures)
        said = [row.pair(a, b) for a, b in pairs]
        for counts in every:
            holds = all(
                sum(factor * count for factor, count in zip(factors, counts, strict=True)) >= least
                for factors, least in said
            )
            assert row.prints(counts) is holds is (printed(counts, unit) == figures)


def release_of(figures, least, most):
    """One row of tenths that add to one, and how many it holds."""
    names = "pqrs"[: len(figures)]
    shown = [f"0.{figure}" if figure < 10 else "1.0" for figure in figures]
    rates = cb.Conditional(["b"], rates=shown, digits=1, rounding="consistent", rule="rounding")
    return cb.Release(cb.Domain({"b": [*names]}), [rates, cb.Total(lower=least, upper=most)])


def read(release):
    said = release.to_dict()
    space = Space(said["domain"], {})
    return space, [
        read_statement(one, place, space) for place, one in enumerate(said["statements"])
    ]


BEHIND = rows_behind(10, 3, 24)
FIGURES = [(3, 3, 4), (5, 5, 0), (1, 2, 7), (10, 0, 0), (0, 1, 9), (2, 4, 4)]


@pytest.mark.parametrize("figures", FIGURES, ids=str)
def test_the_sums_that_a_printed_row_may_have(figures):
    (proofs,) = proofs_by_rows(*read(release_of(figures, 0, 24))).values()
    listed = {n for first, last, by in proofs.admitted[0] for n in range(first, last + 1, by)}
    assert listed == {held for one, held in BEHIND if one == figures}


@pytest.mark.parametrize(("least", "most"), [(1, 7), (7, 7), (9, 12), (11, 24), (17, 17)])
@pytest.mark.parametrize("figures", FIGURES, ids=str)
def test_rows_prove_what_all_rows_show_and_no_more(figures, least, most):
    rows = [one for held in range(least, most + 1) for one in BEHIND.get((figures, held), [])]
    (proofs,) = proofs_by_rows(*read(release_of(figures, least, most))).values()
    for column in range(3):
        seen = [one[column] for one in rows]
        cells = np.array([column])
        for proven in range(-1, most + 2):
            holds = {
                "lower": all(count >= proven for count in seen),
                "upper": all(count <= proven for count in seen),
            }
            for side, true in holds.items():
                assert (proofs.proof(cells, side, proven) is not None) is true, (side, proven)


def test_a_row_that_does_not_add_up_holds_nobody():
    row = SharedOut(10, (3, 3, 3))
    assert not row.adds_up
    assert not any(row.prints(counts) for counts in compositions(7, 3))
