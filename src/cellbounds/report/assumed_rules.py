"""What is assumed of figures that somebody else rounded, and what changes without it."""

from __future__ import annotations

from cellbounds.errors import CellboundsError
from cellbounds.model.structure import gather
from cellbounds.results import Attainable
from cellbounds.solvers.solve import bounds
from cellbounds.statements import Release
from cellbounds.text import counted


def assumed_rules(answer: Attainable) -> str | None:
    """Which rounding rules are taken to be known, and how many cells are wider as intervals.

    None if no figure says more by its rule than an interval around it does. The cells are counted
    where the rows of one statement of rates answer at once.
    """
    release = answer.release
    readings = [(statement, statement.as_intervals()) for statement in release.statements]
    ruled = [statement.summary for statement, other in readings if other is not None]
    if not ruled:
        return None
    words = f"whoever reads {', '.join(ruled)} knows the rule that rounded it"
    if gather(release).conditional is None:
        return f'{words}; rule = "interval" in the file reads figures as intervals'
    wide = Release(release.domain, [other or statement for statement, other in readings])
    cells = list(answer.items())
    try:
        ends = bounds(wide, over=answer.over, cells=[labels for labels, _ in cells])
    except CellboundsError:
        return f'{words}; rule = "interval" in the file reads figures as intervals'
    wider = sum(
        (values.possible.smallest, values.possible.largest) != tuple(ends[labels])
        for labels, values in cells
    )
    return (
        f'{words}; read as intervals (rule = "interval" in the file), {counted(wider, "cell")} of '
        f"{len(cells)} would have wider bounds"
    )
