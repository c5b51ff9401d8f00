"""The page: one HTML file that needs nothing else; its map of cells and its drawings."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cellbounds.report.pages.content import ReportLimits, label_text, labels_text, read_values
from cellbounds.results import Unbounded, ValueSet
from cellbounds.text import counted

RUNS = 8
"""Runs of attainable counts that a page names for a cell; the other formats have them all."""

GROUP = 24
"""Rows under one heading; tables with no more rows than this have none."""


class HeaderCell(NamedTuple):
    """A header cell: its text, and the columns or rows that it stands over."""

    text: str
    span: int


class MapRow(NamedTuple):
    """A row: the headers that begin with it, and the places of its cells in the table."""

    heads: tuple[HeaderCell, ...]
    places: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class CellMap:
    """The whole layout: lines of column headers, then rows in groups under headings."""

    names: tuple[str, ...]
    tops: tuple[tuple[str, tuple[HeaderCell, ...]], ...]
    groups: tuple[tuple[str, tuple[MapRow, ...]], ...]

    @property
    def width(self) -> int:
        """How many columns a heading stands over."""
        return len(self.names) + len(self.groups[0][1][0].places)


def laid_out(variables: Sequence[tuple[str, Sequence[Any]]], columns: Sequence[str]) -> CellMap:
    """Lay the cells of a table, the last variable running fastest, out over a page.

    Examples
    --------
    >>> cell_map = laid_out([("county", ["A", "B"]), ("age", [1, 2, 3])], ["age"])
    >>> cell_map.tops[0][0], cell_map.tops[0][1][2]
    ('age', HeaderCell(text='3', span=1))
    >>> cell_map.groups[0][1][1]
    MapRow(heads=(HeaderCell(text='B', span=1),), places=(3, 4, 5))
    """
    levels = {name: [*map(label_text, labels)] for name, labels in variables}
    sizes = {name: len(labels) for name, labels in levels.items()}
    outer = [name for name in levels if name not in columns]
    inner = [outer.pop()]
    rows = sizes[inner[0]]
    # As many row variables as give a group of bearable length.
    while outer and rows * sizes[outer[-1]] <= GROUP:
        rows *= sizes[outer[-1]]
        inner.insert(0, outer.pop())
    # The numbers of the cells, turned so that headings come first and columns last.
    order = [list(levels).index(name) for name in (*outer, *inner, *columns)]
    cells = np.arange(math.prod(sizes.values())).reshape([*sizes.values()]).transpose(order)
    width = math.prod(sizes[name] for name in columns)
    headers = _headers([levels[name] for name in inner])
    begun = [
        tuple(heads[row // heads[0].span] for heads in headers if row % heads[0].span == 0)
        for row in range(rows)
    ]
    groups = []
    headings = itertools.product(*(levels[name] for name in outer))
    for heading, block in zip(headings, cells.reshape(-1, rows, width).tolist(), strict=True):
        title = "; ".join(f"{name}: {label}" for name, label in zip(outer, heading, strict=True))
        lines = zip(begun, map(tuple, block), strict=True)
        groups.append((title, tuple(itertools.starmap(MapRow, lines))))
    tops = zip(columns, _headers([levels[name] for name in columns]), strict=True)
    return CellMap(tuple(inner), tuple(tops), tuple(groups))


def _headers(levels: Sequence[Sequence[str]]) -> list[tuple[HeaderCell, ...]]:
    """The headers of each variable; one stands over all columns or rows that share it."""
    sizes = [*map(len, levels)]
    return [
        tuple(HeaderCell(label, math.prod(sizes[place + 1 :])) for label in labels)
        * math.prod(sizes[:place])
        for place, labels in enumerate(levels)
    ]


TEMPLATES = Path(__file__).parent / "templates"

SIGNS = {
    "broken": ("×", "breaks a rule"),
    "open": ("?", "could not be decided"),
    "exact": ("●", "a single attainable count"),
    "narrow": ("◐", "2 or 3 attainable counts"),
    "not settled": ("…", "not every attainable count is settled"),
    "structural zero": ("∅", "structural zero: cannot hold anybody"),
    "empty row": ("∅", "in a row that is published as empty"),
}
"""A sign beside the colour, and what it says."""

TONES = {"broken": "broken", "open": "open", "structural zero": "none", "empty row": "none"}
"""Colours: what breaks a rule or may, and what is known to be empty; everything else has none."""

RISKS = ("broken", "open", "exact", "narrow", "not settled", "", "structural zero", "empty row")
"""Marks from the most risk to the least."""

OUTCOMES = {
    "safe": ("SAFE", "✓"),
    "unsafe": ("UNSAFE", "×"),
    "undecided": ("UNDECIDED", "?"),
    None: ("JUDGED BY ITS OWNER", "i"),
}

_TICKS = re.compile("`([^`]+)`")


def page(content: Mapping[str, Any], limits: ReportLimits) -> str:
    """The whole report as HTML; the limits say how many findings and cells it shows."""
    public, internal = content["public"], content.get("internal")
    cells = (internal or public)["cells"]
    whole = len(cells) == math.prod(len(levels) for _, levels in public["variables"])
    is_map = whole and len(cells) <= limits.mapped
    if not is_map:  # those at most risk, the worst first
        ranks = {mark: rank for rank, mark in enumerate(RISKS)}
        order = sorted(cells, key=lambda cell: (ranks[cell["mark"]], cell["size"] or math.inf))
        cells = order[: limits.listed]
    shown = [shown_cell(cell) for cell in cells]
    verdict = (internal or public)["verdict"]
    word, sign = OUTCOMES[verdict["outcome"]]
    if public["policy"] is None:
        word = "NOT JUDGED"
    return rendered(
        "report.html.j2",
        ["report.css"],
        content=content,
        public=public,
        internal=internal,
        verdict=verdict,
        word=word,
        sign=sign,
        tone=verdict["outcome"] or "untold",
        findings=_findings(verdict, internal["blame"]["findings"] if internal else ()),
        layout=laid_out(public["variables"], public["columns"]) if is_map else None,
        names=json.dumps([[name, [*map(label_text, of)]] for name, of in public["variables"]]),
        shown=shown,
        marks={cell["mark"] for cell in shown},
        most=limits.findings,
    )


def rendered(template: str, styles: Sequence[str], **content: Any) -> str:
    """A page from its template, with style sheets and the script inside it."""
    from markupsafe import Markup

    style = "\n".join((TEMPLATES / name).read_text("utf-8").strip() for name in styles)
    script = (TEMPLATES / "report.js").read_text("utf-8").strip()
    # Nothing else may run or be fetched, whatever a label says.
    content["allowed"] = f"style-src '{_hash_of(style)}'; script-src '{_hash_of(script)}'"
    content |= {"style": Markup(style), "script": Markup(script)}
    return str(templates().get_template(template).render(content))


def _hash_of(text: str) -> str:
    """What a browser compares inline styles and scripts with."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def templates(*folders: Path) -> Any:
    """The templates of a report and of further folders, compiled once, with what they all use."""
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader([*folders, TEMPLATES]),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(
        label=label_text,
        labels=labels_text,
        sentence=_sentence,
        counted=counted,
        percent="{:.1%}".format,
        thousands="{:,}".format,
        ticks=lambda text: Markup(_TICKS.sub(r"<code>\1</code>", str(Markup.escape(text)))),
    )
    environment.globals.update(signs=SIGNS, tones=TONES)
    return environment


def _findings(verdict: Mapping[str, Any], blamed: Sequence[Any]) -> list[dict[str, Any]]:
    """What breaks a rule, then what may, the fewest attainable counts first; what reveals it."""
    revealing = {blame["finding"]: blame["statements"] for blame in blamed}
    findings = [
        {**finding, "revealed_by": revealing.get(place, [])}
        for place, finding in enumerate(verdict.get("findings", ()))
    ]
    findings.sort(key=lambda made: (made["outcome"] != "unsafe", made.get("size") or math.inf))
    return findings


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith(".") else ".")


def shown_cell(cell: Mapping[str, Any]) -> dict[str, Any]:
    """A cell as the map shows it: colour, sign, interval, details."""
    mark = cell["mark"]
    details = [values_text(read_values(cell))]
    if mark not in ("", "exact", "narrow", "not settled"):
        details.append(SIGNS[mark][1])
    counts = {"count": str(cell["count"])} if "count" in cell else {}
    return {
        "labels": cell["labels"],
        "tone": TONES.get(mark, ""),
        "mark": mark,
        "interval": interval_text(cell),
        "details": "; ".join([*(f"count {count}" for count in counts.values()), *details]),
        **counts,
    }


def interval_text(plain: Mapping[str, Any]) -> str:
    """The smallest and the largest count of a cell, as a page shows them.

    Examples
    --------
    >>> [interval_text({"lower": 3, "upper": upper}) for upper in (3, 27, None)]
    ['3', '3–27', '3+']
    """
    lower, upper = plain["lower"], plain["upper"]
    if upper is None:
        return f"{lower}+"
    return str(lower) if lower == upper else f"{lower}–{upper}"


def values_text(values: ValueSet) -> str:
    """The attainable counts in one short sentence.

    Examples
    --------
    >>> values_text(ValueSet([(3, 9, 3)])), values_text(ValueSet([(4, None, 1)]))
    ('3 attainable counts: 3, 6, 9', 'endlessly many attainable counts: 4-')
    """
    if not values.settled:
        return f"not settled: {values.text(RUNS)}"
    size = values.size
    if size == 1:
        return f"only {values.smallest} is attainable"
    many = "endlessly many" if isinstance(size, Unbounded) else f"{size:,}"
    return f"{many} attainable counts: {values.text(RUNS)}"
