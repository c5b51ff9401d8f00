"""Flowcharts as pictures: the site loads no script from elsewhere to draw one."""

from __future__ import annotations

import re
from html import escape
from itertools import pairwise

_ARROW = re.compile(r"^\s*(\w+) --> (\w+)\s*$")
_STEP, _BOX, _ROW = 132, 104, 44


def svg(text: str) -> str:
    """Draw ``a --> b`` lines from left to right; each box stands behind all that lead to it."""
    head, *lines = text.strip().splitlines()
    if head != "flowchart LR":
        raise ValueError(f"{head!r} is not drawn; write 'flowchart LR' and lines 'a --> b'")
    arrows = []
    for line in lines:
        if not (found := _ARROW.match(line)):
            raise ValueError(f"{line!r} is not drawn; write 'a --> b'")
        arrows.append((found[1], found[2]))
    columns = _columns(arrows)
    tall = max(map(len, columns))
    places = {
        name: (_STEP * column, (row + (tall - len(names)) / 2) * _ROW)
        for column, names in enumerate(columns)
        for row, name in enumerate(names)
    }
    wide, high = _STEP * (len(columns) - 1) + _BOX + 4, tall * _ROW
    drawn = [
        *(_curve(places[first], places[last]) for first, last in arrows),
        *(_box(name, *place) for name, place in places.items()),
    ]
    said = "; ".join(f"{first} to {last}" for first, last in arrows)
    return (
        f'<div class="flowchart" tabindex="0"><svg viewBox="-2 0 {wide} {high}" role="img" '
        f'aria-label="{escape(said)}" style="min-width: {wide * 0.7:.0f}px">'
        '<defs><marker id="head" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>'
        f"{''.join(drawn)}</svg></div>\n"
    )


def _columns(arrows: list[tuple[str, str]]) -> list[list[str]]:
    """The boxes by the longest way that leads to them, near those that lead there."""
    names = list(dict.fromkeys(name for arrow in arrows for name in arrow))
    before = {name: [first for first, last in arrows if last == name] for name in names}
    depth: dict[str, int] = {}

    def deep(name: str) -> int:
        if name not in depth:
            depth[name] = 1 + max(map(deep, before[name]), default=-1)
        return depth[name]

    columns: list[list[str]] = [[] for _ in range(1 + max(map(deep, names)))]
    for name in names:
        columns[depth[name]].append(name)
    for earlier, later in pairwise(columns):
        rows = {name: row for row, name in enumerate(earlier)}
        later.sort(key=lambda name: sum(rows.get(each, 0) for each in before[name]))
    return columns


def _curve(first: tuple[float, float], last: tuple[float, float]) -> str:
    left, top = first[0] + _BOX, first[1] + _ROW / 2
    right, low = last[0], last[1] + _ROW / 2
    bend = min(60, (right - left) / 2)
    return (
        f'<path class="arrow" marker-end="url(#head)" d="M{left:g} {top:g}'
        f'C{left + bend:g} {top:g} {right - bend:g} {low:g} {right:g} {low:g}"/>'
    )


def _box(name: str, left: float, top: float) -> str:
    return (
        f'<rect x="{left:g}" y="{top + 8:g}" width="{_BOX}" height="{_ROW - 16}" rx="4"/>'
        f'<text x="{left + _BOX / 2:g}" y="{top + _ROW / 2 + 4:g}">{escape(name)}</text>'
    )
