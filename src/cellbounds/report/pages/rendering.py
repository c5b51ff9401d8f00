"""The page: one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from cellbounds.report.pages.drawing import distribution_svg
from cellbounds.report.pages.layout import laid_out
from cellbounds.report.pages.plain import (
    interval_text,
    label_text,
    labels_text,
    read_values,
    values_text,
)

__all__ = ["BANDS", "hash_of", "page", "shown_cell", "surroundings"]

TEMPLATES = Path(__file__).parent / "templates"

MOST_FINDINGS = 200
"""Findings that the page lists; the other formats have them all."""

MOST_MAPPED, LISTED = 6_000, 500
"""Cells that a map shows; of larger tables the page lists so many, those at most risk."""

TITLED = 6
"""Statements that the title names."""

BANDS = (
    (1, "one", "1"),
    (3, "few", "2 or 3"),
    (9, "some", "4 to 9"),
    (99, "many", "10 to 99"),
    (None, "most", "100 or more"),
)
"""How many attainable counts share a colour: the most of them, a class, words."""

SIGNS = {
    "broken": ("×", "breaks a rule"),
    "open": ("?", "not decided"),
    "exact": ("●", "a single attainable count"),
    "narrow": ("◐", "2 or 3 attainable counts"),
    "not settled": ("…", "not every attainable count is settled"),
    "structural zero": ("∅", "structural zero: cannot hold anybody"),
    "empty row": ("∅", "in a row that is published as empty"),
}
"""A sign beside the colour, and what it says."""

RISKS = ("broken", "open", "exact", "narrow", "not settled", "", "structural zero", "empty row")
"""Marks from the most risk to the least."""

OUTCOMES = {
    "safe": ("SAFE", "✓"),
    "unsafe": ("UNSAFE", "×"),
    "undecided": ("UNDECIDED", "?"),
    None: ("JUDGED BY ITS OWNER", "i"),
}

_TICKS = re.compile("`([^`]+)`")


def page(content: Mapping[str, Any]) -> str:
    """The whole report as HTML."""
    public, internal = content["public"], content.get("internal")
    parts = {"public": public} | ({} if internal is None else {"internal": internal})
    mapped = len(public["cells"]) <= MOST_MAPPED
    shown = {name: _chosen(part["cells"], mapped) for name, part in parts.items()}
    verdict = (internal or public)["verdict"]
    word, sign = OUTCOMES[verdict["outcome"]]
    if public["policy"] is None:
        word = "NOT JUDGED"
    return str(
        surroundings()
        .get_template("report.html.j2")
        .render(
            content=content,
            public=public,
            internal=internal,
            verdict=verdict,
            word=word,
            sign=sign,
            tone=verdict["outcome"] or "untold",
            title=_title([one["notation"] for one in public["published"]["statements"]]),
            layout=laid_out(public["variables"], public["columns"]) if mapped else None,
            names=json.dumps([[n, [label_text(x) for x in xs]] for n, xs in public["variables"]]),
            shown=shown,
            marks_of={part: {cell["mark"] for cell in cells} for part, cells in shown.items()},
            most=MOST_FINDINGS,
        )
    )


@cache
def surroundings() -> Any:
    """The templates, compiled once, with what they all use."""
    import jinja2
    from markupsafe import Markup

    style, script = (
        (TEMPLATES / name).read_text("utf-8").strip() for name in ("report.css", "report.js")
    )
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    made.filters.update(
        label=label_text,
        labels=labels_text,
        sentence=_sentence,
        thousands="{:,}".format,
        ticks=lambda text: Markup(_TICKS.sub(r"<code>\1</code>", str(Markup.escape(text)))),
    )
    made.globals.update(
        drawn=distribution_svg,
        bands=BANDS,
        signs=SIGNS,
        style=Markup(style),
        script=Markup(script),
        # Nothing else may run or be fetched, whatever a label says.
        allowed=f"style-src '{hash_of(style)}'; script-src '{hash_of(script)}'",
    )
    return made


def hash_of(text: str) -> str:
    """What a browser compares inline styles and scripts with: nothing else may run."""
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _title(statements: Sequence[str]) -> str:
    left = len(statements) - TITLED
    return ", ".join(statements[:TITLED]) + (f" and {left} more" if left > 0 else "")


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}" + ("" if text.endswith(".") else ".")


def _chosen(cells: Sequence[Mapping[str, Any]], mapped: bool) -> list[dict[str, Any]]:
    """All cells in order for a map; else those at most risk, the worst first."""
    if not mapped:
        ranks = {mark: rank for rank, mark in enumerate(RISKS)}
        order = sorted(cells, key=lambda cell: (ranks[cell["mark"]], cell["size"] or math.inf))
        cells = order[:LISTED]
    return [shown_cell(cell) for cell in cells]


def shown_cell(cell: Mapping[str, Any]) -> dict[str, Any]:
    """A cell as the map shows it: colour, sign, interval, details."""
    mark = cell["mark"]
    details = [values_text(read_values(cell))]
    if mark not in ("", "exact", "narrow", "not settled"):
        details.append(SIGNS[mark][1])
    shown = {
        "labels": cell["labels"],
        "band": _band(cell),
        "mark": mark,
        "interval": interval_text(cell),
    }
    if "count" in cell:
        shown["count"] = str(cell["count"])
        details.insert(0, f"count {cell['count']}")
    shown["details"] = "; ".join(details)
    return shown


def _band(cell: Mapping[str, Any]) -> str:
    if cell["mark"] in ("structural zero", "empty row"):
        return "none"
    if not cell["settled"]:
        return "open"
    size = cell["size"]
    return next(name for most, name, _ in BANDS if most is None or (size or 10**9) <= most)
