"""Tables of text for people: aligned columns, and plain names for awkward ones."""

from __future__ import annotations

from collections.abc import Collection, Sequence

__all__ = ["aligned", "label_keys"]


def aligned(
    header: Sequence[str], rows: Sequence[Sequence[str]], numbers: Collection[str] = ()
) -> str:
    """Lay rows out in columns; columns named in `numbers` are flush right.

    Examples
    --------
    >>> print(aligned(["cell", "lower"], [["Alpha", "3"], ["Beta", "12"]], {"lower"}))
    cell   lower
    Alpha      3
    Beta      12
    """
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    lines = []
    for row in [header, *rows]:
        fields = [
            text.rjust(width) if name in numbers else text.ljust(width)
            for name, text, width in zip(header, row, widths, strict=True)
        ]
        lines.append("  ".join(fields).rstrip())
    return "\n".join(lines)


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
