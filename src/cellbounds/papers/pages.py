"""The results as pages with their figures: what was printed, what we get, why they differ.

`docs/papers` is written by ``cellbounds reproduce --pages docs/papers`` (`make papers`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib import resources
from pathlib import Path

from cellbounds.papers.figures import draw_figures
from cellbounds.papers.reproduction import DOCUMENTS, Reproduction
from cellbounds.papers.study import DIGITS, SHAPES, SPREADS, TABLES, Setting, study, study_chart
from cellbounds.papers.study import TITLES as STUDY_TITLES
from cellbounds.papers.swapping import Tradeoff, swapped_at, swapping_chart, tradeoffs
from cellbounds.papers.worked_releases import (
    releases_together,
    sums_within_rows,
    together_chart,
    together_rows,
)
from cellbounds.papers.worked_tests import worked_tests
from cellbounds.results import Bounds
from cellbounds.results.charts import save_chart
from cellbounds.runtime.files import write_whole

FIGURES = {
    "002": ["document-002-figure"],
    "004": ["document-004-figure-1", "document-004-figure-2"],
}
"""The documents' own figures, as `draw_figures` names them."""

TESTS = ("table", "given", "statistic", "elsewhere", "ours")

ENOUGH = 2.5
"""People in an average row, in units of the last decimal, from which the study sees no risk."""

RISKY = 0.1
"""The share of small counts that are determined from which a setting is called risky."""


def write_pages(folder: Path, found: Reproduction, tables: int = TABLES) -> list[Path]:
    """Write all pages and figures into a folder; `tables` random ones for each setting."""
    drawn = draw_figures(folder, found.times)
    settings, seen = list(study(tables)), list(tradeoffs())
    for what in STUDY_TITLES:
        drawn.append(folder / f"{_study_name(what)}.svg")
        save_chart(study_chart(settings, what), drawn[-1])
    together = list(releases_together())
    drawn.append(folder / "releases-together.svg")
    save_chart(together_chart(together), drawn[-1])
    drawn.append(folder / "swapping.svg")
    save_chart(swapping_chart(seen), drawn[-1])
    pages = {
        "README": _index(found),
        **{f"document-{name}": _document(found, name) for name in DOCUMENTS},
        "exact-tests": "\n".join([_words("exact-tests"), _table(TESTS, worked_tests())]),
        "study": _study(settings),
        "swapping": _swapping(seen),
        "sums-and-releases": _sums_and_releases(together),
    }
    for name, text in pages.items():
        write_whole(folder / f"{name}.md", text)
    return [*(folder / f"{name}.md" for name in pages), *drawn]


def _index(found: Reproduction) -> str:
    agree = sum(figure.agrees is True for figure in found.comparisons)
    wrong = sum(figure.agrees is False for figure in found.comparisons)
    missing = sum(figure.agrees is None for figure in found.comparisons)
    rows = [
        (f"[{entry.document}](document-{entry.document}.md)", entry.item, entry.status)
        for entry in found.inventory
    ]
    counts = (
        f"{agree} of {len(found.comparisons)} printed figures agree, {wrong} differ for a reason "
        f"that is given, {missing} need data that were not at hand.\n"
    )
    listed = _table(("document", "table or figure", ""), rows)
    return "\n".join([_words("head"), counts, listed, _words("data")])


def _document(found: Reproduction, name: str) -> str:
    own = [figure for figure in found.comparisons if figure.document == name]
    differ = [
        (figure.place, figure.item, figure.printed, figure.ours, figure.error)
        for figure in own
        if figure.agrees is False
    ]
    entries = [entry for entry in found.inventory if entry.document == name]
    parts = [
        f"# {DOCUMENTS[name].TITLE}\n",
        _table(("table or figure", ""), [(entry.item, entry.status) for entry in entries]),
    ]
    if differ:
        parts += ["## What was printed, what we get, and why they differ\n"]
        parts += [_table(("table", "item", "printed", "ours", "why"), differ)]
    times = [line for line in found.times if line.document == name and line.ours is not None]
    if times:
        lines = [
            (line.place, line.data or "random", f"{line.rows} x {line.columns}", line.people,
             "exact" if line.digits is None else str(line.digits), f"{line.printed:g}",
             line.solver, f"{line.ours or 0:.4f}")
            for line in times
        ]  # fmt: skip
        header = ("table", "data", "rows x columns", "N", "decimals", "printed", "CPLEX", "ours")
        parts += ["## Times in seconds, as printed and on this machine\n", _table(header, lines)]
    parts += [f"![{figure}]({figure}.svg)\n" for figure in FIGURES.get(name, ())]
    return "\n".join(parts)


def _study(settings: Sequence[Setting]) -> str:
    releases, kinds = sum(setting.seen.tables for setting in settings), len(settings) // len(DIGITS)
    far = [
        setting
        for setting in settings
        if setting.digits is not None
        and setting.people / setting.rows >= ENOUGH * 10**setting.digits
    ]
    seen = sum(setting.seen.small for setting in far)
    lost = sum(setting.seen.small_determined for setting in far)
    narrow = sum(setting.seen.narrow for setting in settings)
    missed = sum(setting.seen.missed for setting in settings)
    text = _words("study").format(
        releases=f"{releases:,}", tables=f"{releases // len(DIGITS):,}", kinds=kinds,
        enough=ENOUGH, far=f"{seen:,}", lost=f"{lost:,}", narrow=f"{narrow:,}",
        missed=f"{missed:,}", share=f"{missed / max(narrow, 1):.0%}", risky=f"{RISKY:.0%}",
    )  # fmt: skip
    figures = [f"![{title}]({_study_name(what)}.svg)\n" for what, title in STUDY_TITLES.items()]
    return "\n".join([text, _risky(settings), *figures])


def _study_name(what: str) -> str:
    return f"study-{what.replace(' ', '-')}"


def _risky(settings: Sequence[Setting]) -> str:
    """The largest N at which enough small counts are determined, by decimals."""
    header = ["table", "cells", *(setting.precision for setting in settings[: len(DIGITS)])]
    rows = []
    for rows_, columns in SHAPES:
        for spread in SPREADS:
            own = [
                setting
                for setting in settings
                if (setting.rows, setting.columns, setting.spread) == (rows_, columns, spread)
            ]
            largest = []
            for digits in DIGITS:
                people = [
                    one.people
                    for one in own
                    if one.digits == digits and (one.share("small count") or 0) >= RISKY
                ]
                largest.append(f"{max(people):,}" if people else "-")
            rows.append([f"{rows_} x {columns}", spread, *largest])
    return _table(header, rows)


def _swapping(seen: Sequence[Tradeoff]) -> str:
    rows = []
    for losses in seen:
        errors = [losses.rate_loss, losses.association_loss]
        if losses.kind == "rates":
            errors += swapped_at(losses, seen)
        texts = [f"{error:.4f}" for error in errors]
        rows.append([f"{losses.people:,}", losses.kind, losses.how, f"{losses.risk:.2f}", *texts])
    header = ["N", "release", "", "small counts guessed right", "error of rates", "error of V"]
    header += ["the same, swapping at that risk", ""]
    filled = [row + [""] * (len(header) - len(row)) for row in rows]
    figure = "![Swapping records and rounding rates](swapping.svg)\n"
    return "\n".join([_words("swapping"), _table(header, filled), figure])


def _sums_and_releases(together: list[tuple[str, int, Bounds]]) -> str:
    sums = ("county", "education", "bounds of cells added", "sharp bounds", "values")
    releases = ("published beside N", "tables that fit", "bounds apart, mean", "determined")
    figure = "![Bounds from releases of the same table](releases-together.svg)\n"
    parts = [_words("sums-and-releases"), _table(sums, sums_within_rows()), _words("together")]
    return "".join([*parts, _table(releases, together_rows(together)), "\n", figure])


def _words(name: str) -> str:
    """The words of a page, to be followed or filled in by figures."""
    file = resources.files("cellbounds.papers") / "data" / f"page-{name}.md"
    return file.read_text("utf-8")


def _table(header: Iterable[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    head = list(header)
    lines = [head, ["---"] * len(head), *rows]
    escaped = ([str(cell).replace("|", "\\|") for cell in line] for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in escaped)
