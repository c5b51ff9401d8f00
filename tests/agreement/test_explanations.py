"""What is blamed for a bound forces it, and nothing blamed can be left out."""

from __future__ import annotations

import numpy as np
from hypothesis import assume, given

import cellbounds as cb
from blaming import statements_of
from bruteforce import consistent_tables
from strategies import LARGEST, few, releases


def bound(release, statements, labels, side):
    """The bound that some of the statements leave, None if they are not enough to ask."""
    try:
        answer = cb.bounds(cb.Release(release.domain, statements))
    except cb.UnsupportedRelease:
        return None
    return answer[labels][side]


@few(5, least=20)
@given(releases())
def test_blame(release):
    assume(any(True for _ in consistent_tables(release, LARGEST)))
    assume(len({s.notation for s in release.statements}) == len(release.statements))
    labels = tuple(release.domain.levels(name)[-1] for name in release.domain.names)
    answer = cb.bounds(release)
    explained = answer.explain(*labels)
    assert (explained.lower, explained.upper) == answer[labels]
    assert not cb.violations(explained.lower_witness, release)
    assert explained.lower_witness[labels] == explained.lower
    for side, value, blame in (
        (0, explained.lower, explained.lower_blame),
        (1, explained.upper, explained.upper_blame),
    ):
        if side == 0 and value == 0:
            assert blame.statements == ()
            continue
        chosen = statements_of(release, blame)
        assert bound(release, chosen, labels, side) == value
        assert blame.smallest
        for left_out in chosen:
            fewer = [one for one in chosen if one is not left_out]
            assert bound(release, fewer, labels, side) != value
        check_figures(release, chosen, blame, labels, side, value)


def check_figures(release, chosen, blame, labels, side, value):
    for place, statement in enumerate(chosen):
        if not isinstance(statement, cb.Conditional):
            continue
        shape = statement.intervals.low.shape
        margin = release.domain.project(statement.variables)
        shown = np.zeros(shape, dtype=bool)
        for flat, cell in enumerate(margin.cells()):
            where = ", ".join(map(str, cell))
            figure = f"{statement.notation} at {where}: "
            shown.flat[flat] = any(text.startswith(figure) for text in blame.figures)
        loose = shown & ~statement.intervals.zero[:, None]

        def with_only(kept, statement=statement, place=place):
            hidden = ~kept & ~statement.intervals.zero[:, None]
            weaker = statement.withheld(hidden)
            return bound(release, [*chosen[:place], weaker, *chosen[place + 1 :]], labels, side)

        assert with_only(shown) == value
        for index in np.argwhere(loose):
            kept = shown.copy()
            kept[tuple(index)] = False
            assert with_only(kept) != value
