"""Numbers and outcomes as the report writes them."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.report.text import duration
from benchmarks.results import Record

WRITTEN_OUT = 10**18


def number(count: int) -> str:
    """Write a number out if it is small, with a power of ten otherwise.

    Examples
    --------
    >>> number(16788429), number(10**345 * 12 // 10)
    ('16,788,429', '1.2e345')
    """
    if count < WRITTEN_OUT:
        return f"{count:,}"
    digits = len(str(count))
    leading = round(count // 10 ** (digits - 3) / 10)  # 10 to 100
    if leading == 100:
        leading, digits = 10, digits + 1
    return f"{leading / 10:.1f}e{digits - 1}"


def outcome(record: Record) -> str:
    """Say in a word why there is no figure."""
    if "refused" in record:
        return "refused"
    return f"ended after {duration(record['stopped'])}"


def took(record: Record) -> str:
    """Write the time of an answer, or why there is none; a star if no mode was found."""
    star = r"\*" if record.get("no_mode") else ""
    return duration(record["seconds"]) + star if "seconds" in record else outcome(record)


def refusals(answers: Sequence[tuple[str, str, Record]]) -> list[str]:
    """List what was refused, and why, in one paragraph; none if nothing was."""
    lines = [
        f"- {case}, {name}: {answer['refused']}"
        for case, name, answer in answers
        if "refused" in answer
    ]
    lines += [
        f"- {case}, {name}, only the most probable table (\\*): {answer['no_mode']}"
        for case, name, answer in answers
        if answer.get("no_mode")
    ]
    return ["\n".join(["Refused:", "", *lines])] if lines else []
