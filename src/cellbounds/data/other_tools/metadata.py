"""tau-ARGUS metadata: ``.rda`` (which columns there are), ``.hrc`` (trees), ``.cdl`` (labels)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cellbounds.data.hierarchy import Hierarchy
from cellbounds.data.other_tools.building import PRIMARY, SHOWN
from cellbounds.data.other_tools.lines import delimited_lines, read_text
from cellbounds.errors import InvalidInput

Tags = dict[str, tuple[str, ...]]
"""The values of each tag."""

_PART = re.compile(r'"([^"]*)"|(<[A-Za-z_]+>)|([^\s"<]+)')

_ROLES = {
    "RECODEABLE": "code",
    "RECODABLE": "code",
    "FREQUENCY": "frequency",
    "STATUS": "status",
    "MAXSCORE": "largest",
    "WEIGHT": "weight",
    "RECORDKEY": "key",
    "HOLDING": "holding",
    "REQUEST": "request",
    "SHADOW": "shadow",
    "COST": "cost",
    "COSTVAR": "cost",
    "LOWERPL": "protection",
    "UPPERPL": "protection",
    "NUMERIC": "value",
}
"""What a column is, by its tags: the first of these that it has, ``NUMERIC`` last."""

_LETTERS = {"SAFE": SHOWN, "UNSAFE": PRIMARY, "PROTECT": SHOWN}


@dataclass(frozen=True, slots=True)
class Column:
    """A variable of a metadata file: its name, the numbers beside it, and its tags."""

    name: str
    numbers: tuple[str, ...]
    tags: Mapping[str, tuple[str, ...]]

    @property
    def role(self) -> str:
        """What it is: ``code``, ``value``, ``frequency``, ``status``, ..."""
        return next((role for tag, role in _ROLES.items() if tag in self.tags), "other")

    def first(self, tag: str) -> str | None:
        """The first value of a tag; None if it is not there, or empty."""
        return next(iter(self.tags.get(tag, ())), None) or None


@dataclass(frozen=True, slots=True)
class Metadata:
    """What a ``.rda`` file says.

    Attributes
    ----------
    where
        The file.
    columns
        Its variables in order.
    separator
        What stands between fields; None for columns of fixed width.
    letters
        The status letters that it declares, with what they mean.
    """

    where: Path
    columns: tuple[Column, ...]
    separator: str | None
    letters: Mapping[str, str] = field(default_factory=dict)

    def of_role(self, role: str) -> tuple[Column, ...]:
        """The columns of one role."""
        return tuple(column for column in self.columns if column.role == role)


def parse_metadata(text: str, where: str | Path) -> Metadata:
    r"""What a metadata file says of its columns.

    Examples
    --------
    >>> text = '<SEPARATOR> ";"\nsex "9"\n  <RECODABLE>\n  <TOTCODE> "Total"\nn\n <FREQUENCY>\n'
    >>> found = parse_metadata(text, "table.rda")
    >>> [(column.name, column.role) for column in found.columns], found.separator
    ([('sex', 'code'), ('n', 'frequency')], ';')
    """
    blocks: list[tuple[str, tuple[str, ...], Tags]] = []
    tops: Tags = {}
    for number, line in enumerate(text.split("\n"), start=1):
        parts = list(_PART.finditer(line))
        if not parts:
            if line.strip():
                raise InvalidInput(
                    f"{where}, line {number} is {line.strip()[:40]!r}, which is neither a variable "
                    "nor a <TAG>; check the metadata file"
                )
            continue
        if not parts[0][2]:
            words = [part[1] if part[1] is not None else part[2] or part[3] for part in parts]
            blocks.append((words[0], tuple(words[1:]), {}))
            continue
        # Tags belong to the variable above them; before the first one, to the whole file.
        _add_tags(parts, blocks[-1][2] if blocks else tops)
    columns = [Column(*each) for each in blocks]
    if not columns or not any(column.role != "other" for column in columns):
        raise InvalidInput(
            f"{where} is no tau-ARGUS metadata: no variable in it has a tag such as <RECODEABLE>, "
            "<NUMERIC> or <FREQUENCY>; fetch or write it again"
        )
    names = [column.name for column in columns]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise InvalidInput(f"{where} names the variable {twice!r} twice; name each once")
    letters = {tops[tag][0]: kind for tag, kind in _LETTERS.items() if tops.get(tag)}
    separator = next(iter(tops.get("SEPARATOR", ())), None)
    if separator is not None and len(separator) != 1:
        raise InvalidInput(f"{where}: the separator is {separator!r}; give one character")
    return Metadata(Path(where), tuple(columns), separator, letters)


def _add_tags(parts: list[re.Match[str]], tags: Tags) -> None:
    """The tags of a line, each with what follows it."""
    tag = ""
    for part in parts:
        if part[2]:
            tag = part[2][1:-1].upper()
            tags[tag] = ()
        else:
            tags[tag] = (*tags[tag], part[1] if part[1] is not None else part[3])


def read_metadata(path: str | Path) -> Metadata:
    """Read a ``.rda`` file."""
    return parse_metadata(read_text(path), path)


def tree_of(column: Column, metadata: Metadata, codes: Iterable[str]) -> Hierarchy | None:
    """The hierarchy of a column, from its file or from the digits of its codes; None if flat."""
    total = column.first("TOTCODE")
    listed = column.first("HIERCODELIST")
    if "HIERARCHICAL" not in column.tags:
        return None
    if listed is not None:
        path = beside(metadata.where, listed)
        if path is None:
            raise InvalidInput(
                f"{metadata.where}: the hierarchy {listed!r} of {column.name!r} is not there; put "
                f"it beside the metadata, or give it (--hierarchy {column.name}=FILE)"
            )
        lead = column.first("HIERLEADSTRING") or "."
        tree = Hierarchy.from_hrc(read_text(path), lead=lead, total=total)
        # Codes for what is missing belong to the total, and to no branch.
        known, occurring = {code for code, _ in tree.parents}, set(codes)
        missing = [code for code in column.numbers if code in occurring and code not in known]
        return Hierarchy({**tree.tree(), **dict.fromkeys(missing)}, total=total)
    widths = column.tags.get("HIERLEVELS", ())
    if not widths or not all(width.isdecimal() for width in widths):
        raise InvalidInput(
            f"{metadata.where}: {column.name!r} is hierarchical without <HIERCODELIST> or "
            "<HIERLEVELS>; give one of them"
        )
    return _by_digits([int(width) for width in widths], codes, total)


def _by_digits(widths: list[int], codes: Iterable[str], total: str | None) -> Hierarchy:
    """Codes whose first digits name what they belong to."""
    ends = [sum(widths[: k + 1]) for k in range(len(widths))]
    pairs: dict[str, str | None] = {}
    for code in codes:
        if code.strip() in ("", total):
            continue
        above = None
        for end in (end for end in ends if end <= max(len(code), ends[0])):
            if code[:end] != above:
                pairs.setdefault(code[:end], above)
            above = code[:end]
    return Hierarchy.from_pairs(pairs.items(), total=total)


def beside(path: Path, name: str) -> Path | None:
    """A file that another one names, in its folder, however letters are cased; None if none."""
    last = name.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    folder = path.parent
    if last in ("", ".", "..") or not folder.is_dir():
        return None
    same = [each for each in folder.iterdir() if each.name.lower() == last.lower()]
    return next((each for each in sorted(same) if each.is_file()), None)


def read_code_list(path: str | Path) -> dict[str, str]:
    """The label of each code, from a ``.cdl`` file: a line ``code,label`` for each."""
    labels: dict[str, str] = {}
    for number, line in enumerate(delimited_lines(read_text(path), str(path), ","), start=1):
        if len(line) < 2:
            raise InvalidInput(f"{path}, line {number} has no label; write it as code,label")
        labels[line[0].strip()] = ",".join(line[1:]).strip()
    return labels
