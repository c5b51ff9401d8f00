"""Headings between the rows of a table: ``Men``, its rows, ``Women``, the same rows again."""

from __future__ import annotations

from collections.abc import Sequence

GROUP = "heading"
"""What the variable of such headings is called."""


def under_headings(
    rows: Sequence[Sequence[str]], header: int
) -> tuple[list[list[str]], int, list[int]] | None:
    """The rows with their headings in a column of their own; None if they are no such rows.

    That is so if each row belongs to a heading and each heading has rows of the same labels: of
    other labels, headings may as well be names of variables, or totals that are not shown.

    Parameters
    ----------
    rows, header
        The texts of a table with one column of labels, and how many rows are its header.

    Returns
    -------
    tuple
        The rows, how many of them are the header, and the number of each row before.

    Examples
    --------
    >>> rows = [["", "f"], ["North", ""], ["young", "1"], ["South", ""], ["young", "2"]]
    >>> under_headings(rows, 1)
    ([['heading', '', 'f'], ['North', 'young', '1'], ['South', 'young', '2']], 1, [0, 2, 4])
    """
    alone = [bool(row[0].strip()) and not any(map(str.strip, row[1:])) for row in rows]
    if not any(alone[header:]):
        return None
    if header > 1 and alone[header - 1]:
        header -= 1  # the first heading looked like the last row of the header
    if not alone[header]:
        return None
    below: dict[str, list[str]] = {}
    heading = ""
    kept = list(range(header))
    grouped = [["", *row] for row in rows[:header]]
    grouped[-1][0] = GROUP
    for number, row in enumerate(rows[header:], start=header):
        if alone[number]:
            heading = row[0].strip()
            if heading in below:
                return None
            below[heading] = []
            continue
        below[heading].append(row[0].strip())
        grouped.append([heading, *row])
        kept.append(number)
    labels = [sorted(some) for some in below.values()]
    if len(labels) < 2 or not labels[0] or any(some != labels[0] for some in labels):
        return None
    return grouped, header, kept
