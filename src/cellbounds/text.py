"""Text for people: aligned columns, messages on one line, plain names for awkward ones."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Collection, Sequence

WIDEST = 160
"""Longer cells of aligned text are cut where one of them would widen every line."""

LONGEST, LONGEST_VALUE, LONGEST_WORD = 1200, 80, 300
"""Characters of a message, of a value that it quotes, and of anything else without a space."""

_QUOTED = re.compile(r"""(?<!\w)(['"])(.*?)\1(?!\w)""")
_WORD = re.compile(rf"\S{{{LONGEST_WORD + 1},}}")

_NUMBER = re.compile(r"\s*[-+]?[0-9][0-9.,' \u00a0]*\s*")

_JOINERS = "\u200c\u200d"
"""Invisible, but parts of words in some scripts, and of emoji."""


def aligned(
    header: Sequence[str], rows: Sequence[Sequence[str]], numbers: Collection[str] = ()
) -> str:
    r"""Lay rows out in columns; columns named in `numbers` are flush right.

    What would break a line is shown as an escape, and very long texts are cut, but not at the end
    of a line.

    Examples
    --------
    >>> print(aligned(["cell", "lower"], [["Alpha", "3"], ["Beta", "12"]], {"lower"}))
    cell   lower
    Alpha      3
    Beta      12
    >>> print(aligned(["cell"], [["two\nlines"]]))
    cell
    two\nlines
    """
    shown = [[*map(_cut, row[:-1]), *row[-1:]] for row in [header, *rows]]
    shown = [[_on_one_line(text) for text in row] for row in shown]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = []
    for row in shown:
        fields = [
            text.rjust(width) if name in numbers else text.ljust(width)
            for name, text, width in zip(header, row, widths, strict=True)
        ]
        lines.append("  ".join(fields).rstrip())
    return "\n".join(lines)


def _cut(text: str) -> str:
    return text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…"


def column_names(names: Sequence[str]) -> str:
    """The columns of a file in a message: numbers are not shown.

    If the first line holds no names after all, they are counts.

    Examples
    --------
    >>> print(column_names(["county", "Low", "15"]))
    'county', 'Low', a number
    """
    return ", ".join("a number" if _NUMBER.fullmatch(name) else repr(name) for name in names)


def legible(text: str) -> str:
    r"""Lines of text with visible escapes for what would act on a terminal, or turn text round.

    Examples
    --------
    >>> print(legible("\x1b[31mred\u202eder"))
    \x1b[31mred\u202eder
    """
    return "\n".join(map(_on_one_line, text.split("\n")))


def one_line(text: str) -> str:
    r"""A message on one line that people can read, however long what it quotes is.

    Examples
    --------
    >>> print(one_line("column 'a\nb' is\n   odd"))
    column 'a b' is odd
    >>> len(one_line(f"the level {'x' * 5000!r} is unknown; give another"))
    117
    """
    # Not all of a text that somebody else made as long as he could.
    text = _shortened(text, 20 * LONGEST)
    flat = _on_one_line(_joined(text) if "\n" in text else text)
    flat = _QUOTED.sub(
        lambda found: found[1] + _shortened(found[2], LONGEST_VALUE) + found[1], flat
    )
    flat = _WORD.sub(lambda found: _shortened(found[0], LONGEST_WORD), flat)
    return _shortened(flat, LONGEST)


def _joined(text: str) -> str:
    return " ".join(line.strip() for line in text.splitlines() if line.strip())


def _shortened(text: str, most: int) -> str:
    """The beginning and the end of a long text: messages end with the remedy."""
    if len(text) <= most:
        return text
    end = most // 3
    return f"{text[: most - end - 3]}...{text[-end:]}"


def _on_one_line(text: str) -> str:
    """A text with visible escapes for characters that cannot be seen."""
    if text.isprintable():
        return text
    return "".join(
        one.encode("unicode_escape").decode("ascii")
        if unicodedata.category(one) in ("Cc", "Cf", "Cs", "Zl", "Zp") and one not in _JOINERS
        else one
        for one in text
    )


def html_table(
    title: str,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    numbers: Collection[str] = (),
    foot: str = "",
) -> str:
    """The same as a table for notebooks: everything escaped, with a caption and perhaps a foot.

    Examples
    --------
    >>> html_table("counts < 3", ["cell"], [["A&B"]]).split("<tbody>")[1]
    '<tr><td style="text-align:left">A&amp;B</td></tr></tbody></table>'
    """
    sides = ["right" if name in numbers else "left" for name in header]

    def line(tag: str, row: Sequence[str]) -> str:
        cells = (
            f'<{tag} style="text-align:{side}">{html.escape(text)}</{tag.split()[0]}>'
            for text, side in zip(row, sides, strict=True)
        )
        return f"<tr>{''.join(cells)}</tr>"

    body = "".join(line("td", row) for row in rows)
    head = line('th scope="col"', header)
    said = (
        f'<tfoot><tr><td colspan="{len(sides)}">{html.escape(foot)}</td></tr></tfoot>'
        if foot
        else ""
    )
    return (
        f'<table><caption style="text-align:left">{html.escape(title)}</caption>'
        f"<thead>{head}</thead><tbody>{body}</tbody>{said}</table>"
    )


def label_keys(names: Sequence[str], reserved: Collection[str]) -> dict[str, str]:
    """Keys for variables beside fixed ones: a variable called `lower` becomes `lower_`."""
    taken = {*reserved, *names}
    keys: dict[str, str] = {}
    for name in names:
        key = name
        while key in reserved or (key != name and key in taken):
            key += "_"
        taken.add(key)
        keys[name] = key
    return keys
