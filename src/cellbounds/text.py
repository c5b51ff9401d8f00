"""Text for people: aligned columns, messages on one line, plain names for awkward ones."""

from __future__ import annotations

import itertools
import re
import sys
import unicodedata
from collections.abc import Collection, Sequence

WIDTH, NARROWEST = 80, 40
"""Columns of a line anywhere but on a terminal, and the fewest that a terminal is taken to have."""

BREAKABLE, WIDEST = 24, 160
"""Columns from which on a word of a table is broken rather than given room; longer texts are cut,
but not at the end of a line."""

LONGEST, LONGEST_VALUE, LONGEST_WORD = 1200, 80, 300
"""Characters of a message, of a value that it quotes, and of anything else without a space."""

_QUOTED = re.compile(r"""(?<!\w)(['"])(.*?)\1(?!\w)""")
_WORD = re.compile(rf"\S{{{LONGEST_WORD + 1},}}")

_NUMBER = re.compile(r"\s*[-+]?[0-9][0-9.,' \u00a0]*\s*")

_JOINERS = "\u200c\u200d"
"""Invisible, but parts of words in some scripts, and of emoji."""


def counted(number: int, noun: str, several: str = "") -> str:
    """A number of things in words.

    Examples
    --------
    >>> counted(1, "finding"), counted(1200, "finding"), counted(2, "entry", "entries")
    ('1 finding', '1,200 findings', '2 entries')
    """
    return f"{number:,} {noun if number == 1 else several or noun + 's'}"


def line_width() -> int:
    """How many columns a line may have: those of the terminal, or 80 anywhere else."""
    if sys.stdout is None or not sys.stdout.isatty():
        return WIDTH
    import shutil

    return max(NARROWEST, shutil.get_terminal_size((WIDTH, 24)).columns)


def width(text: str) -> int:
    """How many columns a text takes on a terminal: wide characters take two, accents none.

    Examples
    --------
    >>> width("Ile"), width("I\u0302le"), width("\u5bae\u57ce")
    (3, 3, 4)
    """
    if text.isascii():
        return len(text)
    return sum(
        1 + (unicodedata.east_asian_width(character) in ("W", "F"))
        for character in text
        if unicodedata.category(character) not in ("Mn", "Me", "Cf")
    )


def _fitting(text: str, most: int) -> int:
    """How many of the first characters fit into so many columns; the others are not looked at."""
    if text.isascii():
        return min(len(text), most)
    sums = itertools.accumulate(map(width, text))
    return sum(1 for _ in itertools.takewhile(lambda columns: columns <= most, sums))


def wrapped(text: str, most: int, indent: str = "") -> list[str]:
    """A text in lines of at most so many columns; all but the first begin with the indent.

    They end at spaces, or else after a comma or a slash, or else where they are full.

    Examples
    --------
    >>> wrapped("the only attainable count is 3", 20, "  ")
    ['the only attainable', '  count is 3']
    """
    lines: list[str] = []
    indent = indent if 2 * len(indent) < most else ""
    while (end := _fitting(text, most)) < len(text):
        end = max(1, end)
        begun = len(text) - len(text.lstrip())
        cut = text.rfind(" ", begun + 1, end + 1)
        word = text[cut + 1 :].split(" ", 1)[0]
        if cut < end // 3 and _fitting(word, most - len(indent)) < len(word):
            # The next word fits no line: better break it than leave this one almost empty.
            cut = 1 + max(text.rfind(mark, max(cut, begun, end // 3), end) for mark in ",;/|")
        cut = cut if cut > 0 else end
        lines.append(text[:cut].rstrip())
        text = indent + text[cut:].lstrip()
    return [*lines, text]


def aligned(
    header: Sequence[str], rows: Sequence[Sequence[str]], numbers: Collection[str] = ()
) -> str:
    r"""Lay rows out in columns that fit a line; columns named in `numbers` are flush right.

    Long texts go on in further lines. If there are too many columns, those before the first number
    become one; if that is not enough, every row becomes a paragraph. What would break a line is
    shown as an escape.

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
    most = line_width()
    lines: list[list[str]] = []
    for row in (header, *rows):
        cut = [text if len(text) <= WIDEST else f"{text[: WIDEST - 1]}…" for text in row[:-1]]
        lines.append([on_one_line(text) for text in (*cut, *row[-1:])])
    right = [name in numbers for name in header]
    widths = _widths(lines, right, most)
    labels = right.index(True) if True in right else 0
    if widths is None and labels > 1:
        lines = [[", ".join(filter(None, row[:labels])), *row[labels:]] for row in lines]
        right = right[labels - 1 :]
        widths = _widths(lines, right, most)
    if widths is None:
        pairs = (zip(lines[0], row, strict=True) for row in lines[1:])
        texts = ("; ".join(f"{name}: {text}" for name, text in row if text) for row in pairs)
        return "\n".join(line for text in texts for line in wrapped(text, most, "  "))
    laid: list[str] = []
    for row in lines:
        cells = [wrapped(text, most, "  ") for text, most in zip(row, widths, strict=True)]
        for parts in itertools.zip_longest(*cells, fillvalue=""):
            fields = []
            for text, most, number in zip(parts, widths, right, strict=True):
                space = " " * (most - width(text))
                fields.append(space + text if number else text + space)
            laid.append("  ".join(fields).rstrip())
    return "\n".join(laid)


def _widths(lines: Sequence[Sequence[str]], right: Sequence[bool], most: int) -> list[int] | None:
    """The widths of columns that fit a line: numbers and words whole; None if they do not fit."""
    whole = [max(map(width, column)) for column in zip(*lines, strict=True)]
    left = most - 2 * (len(whole) - 1)
    if sum(whole) <= left:
        return whole
    words = [
        max(width(word) for text in column for word in text.split(" "))
        for column in zip(*lines, strict=True)
    ]
    # Long headings are broken before anything below them is; what goes on is indented.
    body = [max(map(width, column)) for column in zip(*lines[1:], strict=True)]
    whole = [
        min(full, max(most, word + 2)) for full, most, word in zip(whole, body, words, strict=True)
    ]
    widths = [
        full if number else min(full, BREAKABLE, word + 2)
        for full, word, number in zip(whole, words, right, strict=True)
    ]
    left -= sum(widths)
    if left < 0:
        return None
    # The columns that lack least first, so that most of them are whole.
    needy = sorted(range(len(whole)), key=lambda place: whole[place] - widths[place])
    for rank, place in enumerate(needy):
        given = min(whole[place] - widths[place], left // (len(needy) - rank))
        widths[place] += given
        left -= given
    return widths


def column_names(names: Sequence[str]) -> str:
    """The columns of a file in a message: numbers are not shown.

    If the first line holds no names after all, they are counts.

    Examples
    --------
    >>> print(column_names(["county", "Low", "15"]))
    'county', 'Low', a number
    """
    return ", ".join("a number" if _NUMBER.fullmatch(name) else repr(name) for name in names)


def legible(text: str, *, fitted: bool = True) -> str:
    r"""Text with escapes for what would act on a terminal, or turn text round.

    Its lines fit the terminal, unless they need not be `fitted`.

    Examples
    --------
    >>> print(legible("\x1b[31mred\u202eder"))
    \x1b[31mred\u202eder
    """
    most = line_width()
    lines: list[str] = []
    for line in map(on_one_line, text.split("\n")):
        begun = line[: len(line) - len(line.lstrip())]
        lines += wrapped(line, most, f"{begun}  ") if fitted else [line]
    return "\n".join(lines)


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
    if "\n" in text:
        text = " ".join(line.strip() for line in text.splitlines() if line.strip())
    flat = on_one_line(text)
    flat = _QUOTED.sub(
        lambda found: found[1] + _shortened(found[2], LONGEST_VALUE) + found[1], flat
    )
    flat = _WORD.sub(lambda found: _shortened(found[0], LONGEST_WORD), flat)
    return _shortened(flat, LONGEST)


def _shortened(text: str, most: int) -> str:
    """The beginning and the end of a long text: messages end with the remedy."""
    if len(text) <= most:
        return text
    end = most // 3
    return f"{text[: most - end - 3]}...{text[-end:]}"


def on_one_line(text: str) -> str:
    """A text with visible escapes for characters that cannot be seen."""
    if text.isprintable():
        return text
    return "".join(
        character.encode("unicode_escape").decode("ascii")
        if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")
        and character not in _JOINERS
        else character
        for character in text
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
    import html

    sides = ["right" if name in numbers else "left" for name in header]

    def line(tag: str, row: Sequence[str]) -> str:
        cells = (
            f'<{tag} style="text-align:{side}">{html.escape(text)}</{tag.split()[0]}>'
            for text, side in zip(row, sides, strict=True)
        )
        return f"<tr>{''.join(cells)}</tr>"

    body = "".join(line("td", row) for row in rows)
    head = line('th scope="col"', header)
    footer = (
        f'<tfoot><tr><td colspan="{len(sides)}">{html.escape(foot)}</td></tr></tfoot>'
        if foot
        else ""
    )
    return (
        f'<table><caption style="text-align:left">{html.escape(title)}</caption>'
        f"<thead>{head}</thead><tbody>{body}</tbody>{footer}</table>"
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
