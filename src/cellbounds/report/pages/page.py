"""The page: one HTML file that needs nothing else; its map of cells and its drawings."""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cellbounds.report.pages.content import ReportLimits
from cellbounds.report.pages.wording import (
    interval_text,
    label_text,
    labels_text,
    read_values,
    values_text,
)
from cellbounds.text import counted

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
    levels = {name: [label_text(label) for label in labels] for name, labels in variables}
    rest = [name for name in levels if name not in columns]
    inner = _inner(levels, rest)
    outer = rest[: len(rest) - len(inner)]
    # The numbers of the cells, turned so that headings come first and columns last.
    order = [list(levels).index(name) for name in (*outer, *inner, *columns)]
    shape = [len(labels) for labels in levels.values()]
    cells = np.arange(math.prod(shape)).reshape(shape).transpose(order)
    rows = math.prod(len(levels[name]) for name in inner)
    width = math.prod(len(levels[name]) for name in columns)
    headings = itertools.product(*(levels[name] for name in outer))
    groups = [
        (
            "; ".join(f"{name}: {label}" for name, label in zip(outer, heading, strict=True)),
            tuple(_lines([levels[name] for name in inner], block)),
        )
        for heading, block in zip(headings, cells.reshape(-1, rows, width).tolist(), strict=True)
    ]
    return CellMap(tuple(inner), tuple(_tops(levels, columns)), tuple(groups))


def _inner(levels: Mapping[str, Sequence[str]], rest: Sequence[str]) -> list[str]:
    """The last row variables: as many as give a group of bearable length, but one at least."""
    rows = 1
    inner: list[str] = []
    for name in reversed(rest):
        rows *= len(levels[name])
        if inner and rows > GROUP:
            break
        inner.insert(0, name)
    return inner


def _tops(
    levels: Mapping[str, Sequence[str]], columns: Sequence[str]
) -> Iterator[tuple[str, tuple[HeaderCell, ...]]]:
    """The lines of column headers; a header stands over all columns that share it."""
    repeats = 1
    for place, name in enumerate(columns):
        width = math.prod(len(levels[later]) for later in columns[place + 1 :])
        yield name, tuple(HeaderCell(text, width) for text in levels[name]) * repeats
        repeats *= len(levels[name])


def _lines(levels: Sequence[Sequence[str]], block: Sequence[Sequence[int]]) -> Iterator[MapRow]:
    """The rows of a group; a header stands over all rows that share it."""
    spans = [math.prod(map(len, levels[place + 1 :])) for place in range(len(levels))]
    for number, (labels, places) in enumerate(zip(itertools.product(*levels), block, strict=True)):
        heads = zip(labels, spans, strict=True)
        begun = tuple(HeaderCell(label, span) for label, span in heads if number % span == 0)
        yield MapRow(begun, tuple(places))


TEMPLATES = Path(__file__).parent / "templates"

TITLED = 6
"""Statements that the title names."""

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
    shown = _chosen(cells, None if is_map else limits.listed)
    verdict = (internal or public)["verdict"]
    word, sign = OUTCOMES[verdict["outcome"]]
    if public["policy"] is None:
        word = "NOT JUDGED"
    title = _title([statement["notation"] for statement in public["published"]["statements"]])
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
        title=title,
        question=f"May {title} be published?" if internal else f"What {title} gives away",
        steps=_next_steps(verdict) if internal else [],
        findings=_findings(verdict, internal),
        layout=laid_out(public["variables"], public["columns"]) if is_map else None,
        names=json.dumps([[n, [label_text(x) for x in xs]] for n, xs in public["variables"]]),
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
    return str(_templates().get_template(template).render(content))


def _hash_of(text: str) -> str:
    """What a browser compares inline styles and scripts with."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


@cache
def _templates() -> Any:
    """The templates, compiled once, with what they all use."""
    import jinja2
    from markupsafe import Markup

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
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


def _title(statements: Sequence[str]) -> str:
    left = len(statements) - TITLED
    return ", ".join(statements[:TITLED]) + (f" and {left} more" if left > 0 else "")


SUGGEST = (
    "`cellbounds suggest`, given the same table and release, lists safe releases near this one"
)

CHANGES = 5
"""Ways to change what was found that are named."""


def _findings(
    verdict: Mapping[str, Any], internal: Mapping[str, Any] | None
) -> list[dict[str, Any]]:
    """What breaks a rule, then what may, the fewest attainable counts first; what reveals it."""
    blamed = [] if internal is None else internal["blame"]["findings"]
    revealing = {one["finding"]: one["statements"] for one in blamed}
    findings = [
        {**finding, "revealed_by": revealing.get(place, [])}
        for place, finding in enumerate(verdict.get("findings", ()))
    ]
    return sorted(
        findings, key=lambda one: (one["outcome"] != "unsafe", one.get("size") or math.inf)
    )


def _next_steps(verdict: Mapping[str, Any]) -> list[str]:
    """What the owner does now, in sentences."""
    if verdict["outcome"] == "safe":
        return [
            "it may be published under this policy, if nothing else about this table is out",
            "if something is, or will be: `cellbounds ledger` judges releases together",
            "keep this page to yourself; `--public` writes one to hand on",
        ]
    first = "do not publish it as it is"
    if verdict["outcome"] == "undecided":
        first = "take it for unsafe until it is decided: more time (`--seconds`) may settle it"
    changes = dict.fromkeys(one["change"] for one in verdict["findings"] if one["change"])
    ways = [f"what would change it: {change}" for change in [*changes][:CHANGES]]
    more = counted(len(changes) - CHANGES, "more way")
    ways += [f"{more}: the JSON and Excel forms of this report have them all"] * (
        len(changes) > CHANGES
    )
    return [first, SUGGEST, *ways]


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith(".") else ".")


def _chosen(cells: Sequence[Mapping[str, Any]], most: int | None) -> list[dict[str, Any]]:
    """All cells in order for a map; else those at most risk, the worst first."""
    if most is not None:
        ranks = {mark: rank for rank, mark in enumerate(RISKS)}
        order = sorted(cells, key=lambda cell: (ranks[cell["mark"]], cell["size"] or math.inf))
        cells = order[:most]
    return [shown_cell(cell) for cell in cells]


def shown_cell(cell: Mapping[str, Any]) -> dict[str, Any]:
    """A cell as the map shows it: colour, sign, interval, details."""
    mark = cell["mark"]
    details = [values_text(read_values(cell))]
    if mark not in ("", "exact", "narrow", "not settled"):
        details.append(SIGNS[mark][1])
    shown = {
        "labels": cell["labels"],
        "tone": TONES.get(mark, ""),
        "mark": mark,
        "interval": interval_text(cell),
    }
    if "count" in cell:
        shown["count"] = str(cell["count"])
        details.insert(0, f"count {cell['count']}")
    shown["details"] = "; ".join(details)
    return shown
