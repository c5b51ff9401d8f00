"""From raw figures to the report of the benchmarks of margins."""

from __future__ import annotations

from benchmarks.margins import report_searches
from benchmarks.margins.records import Records

SECTIONS = (
    ("cps8", "All margins of one size of the CPS table", report_searches.budgeted),
    ("nltcs16-2way", "All two-way margins of nltcs16", report_searches.budgeted),
)


def render(records: Records) -> str:
    """Write the report from whatever has been measured so far."""
    parts = ["# Benchmarks of margins", "\n".join(f"- {line}" for line in records.machines())]
    for section, title, paragraphs in SECTIONS:
        found = records.of(section)
        if found:
            parts += [f"## {title}", *paragraphs(found)]
    return "\n\n".join(parts) + "\n"
