"""ACRO's outputs: ``results.json`` with a CSV file for each table.

A suppressed count is an empty field. Totals are recomputed from the cells that are shown, so they
say nothing of the hidden ones: where a cell below them is hidden they are left out, after it was
seen that they are such sums.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from cellbounds.data.hierarchy import Hierarchy
from cellbounds.data.other_tools.building import Reading, check_additive, whole_count
from cellbounds.data.other_tools.lines import delimited_lines, read_text
from cellbounds.data.other_tools.metadata import beside
from cellbounds.data.published import Cell, Entry, PublishedTable
from cellbounds.data.totals import hierarchy_of
from cellbounds.errors import InvalidInput
from cellbounds.runtime.inputs import parse_json, read_bytes

NAME = "acro"

MARGIN = "All"
"""The label of totals, as pandas writes it."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How an output was protected.

    Attributes
    ----------
    base
        The multiples to which counts were rounded; None if they were not.
    hidden
        What an empty field stands for.
    """

    base: int | None
    hidden: Entry


def recognises(_: Path, text: str) -> bool:
    """Whether this is a ``results.json`` of ACRO."""
    return text.lstrip().startswith("{") and '"results"' in text and "ACRO" in text


def read(path: Path, text: str, reading: Reading) -> tuple[PublishedTable, ...]:
    """Read the tables of counts that a ``results.json`` names."""
    try:
        content = parse_json(text.encode(), path)
        results = content["results"]
        listed = [(uid, each) for uid, each in results.items() if each["type"] == "table"]
        described = [
            (uid, each["properties"], [file["name"] for file in each["files"]], _named(each))
            for uid, each in listed
        ]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InvalidInput(
            f"{path} is no results.json of ACRO: it needs results with a type, properties and "
            "files each; it may be cut off"
        ) from None
    config = _config(path)
    tables: list[PublishedTable] = []
    left: list[str] = []
    for uid, properties, files, names in described:
        rules = _rules(path, properties, config)
        for file in files:
            table = _table(path, uid, str(file), names, rules, reading)
            left += [uid] if table is None else []
            tables += [] if table is None else [table]
    if not tables:
        raise InvalidInput(
            f"{path} has no table of counts"
            + (f" ({', '.join(left)}: other statistics)" if left else "")
            + "; tables of counts come from crosstab without values"
        )
    if left:
        note = f"left out, as they are no counts: {', '.join(left)}"
        tables[0] = replace(tables[0], notes=(*tables[0].notes, note))
    return tuple(tables)


def _named(result: Any) -> list[str]:
    """The variables of a table, rows before columns, where ACRO says them."""
    named = (result.get("fair") or {}).get("independent") or []
    return [str(name) for name in named] if isinstance(named, list) else []


def _config(path: Path) -> dict[str, Any]:
    config = beside(path, "config.json")
    if config is None:
        return {}
    try:
        content = parse_json(read_bytes(config), config)
    except ValueError:
        raise InvalidInput(f"{config} is no JSON file; fetch it again, or take it away") from None
    return content if isinstance(content, dict) else {}


def _rules(path: Path, properties: Any, config: dict[str, Any]) -> Rules:
    mitigation = properties.get("mitigation", "none") if isinstance(properties, dict) else ""
    if mitigation not in ("none", "suppress", "round"):
        raise InvalidInput(f"{path}: mitigation {mitigation!r}; it is none, suppress or round")
    threshold = config.get("safe_threshold")
    zeros = config.get("zeros_are_disclosive", True)
    hidden: Entry = None
    if isinstance(threshold, int) and not isinstance(threshold, bool) and threshold > 1:
        # The rule is known: below the threshold, and zeros are hidden only if they disclose.
        hidden = f"<{threshold}" if zeros else f"1-{threshold - 1}"
    base = None
    if mitigation == "round":
        base = properties.get("round_base", config.get("safe_round_base"))
        if not isinstance(base, int) or isinstance(base, bool) or base < 2:
            raise InvalidInput(
                f"{path}: counts were rounded, and the base is {base!r}; give a whole number, 2 "
                "or more, in round_base or in config.json"
            )
    return Rules(base, hidden)


@dataclass(frozen=True, slots=True)
class AcroSheet:
    """A table as pandas writes it: names and labels of both sides, and the fields between."""

    names: tuple[str, ...]
    rows: list[tuple[str, ...]]
    columns: list[tuple[str, ...]]
    body: list[list[str]]

    def fields(self) -> Iterator[tuple[tuple[str, ...], tuple[str, ...], str]]:
        """Each field with the labels of its row and of its column."""
        for labels, line in zip(self.rows, self.body, strict=True):
            for head, field in zip(self.columns, line, strict=True):
                yield labels, head, field


def _table(
    path: Path, uid: str, name: str, names: list[str], rules: Rules, reading: Reading
) -> PublishedTable | None:
    """The table of a file; None if its figures are no counts."""
    file = beside(path, name)
    if file is None:
        raise InvalidInput(f"{path} names {name!r}, which is not beside it; fetch it, too")
    sheet = _counts_only(_sheet(str(file), delimited_lines(read_text(file), str(file), ","), names))
    if sheet is None or any(
        field.strip() and whole_count(field) is None for _, _, field in sheet.fields()
    ):
        return None
    size = len(sheet.rows[0])
    entries: dict[Cell, Entry] = {}
    for labels, head, field in sheet.fields():
        cell = _with_totals(labels[:size]) + _with_totals(head)
        if cell in entries:
            raise InvalidInput(f"{file}: the cell {cell} stands twice; give it once")
        count = whole_count(field)
        entries[cell] = rules.hidden if count is None else count
    return _placed(str(file), uid, sheet.names, entries, rules, reading)


def _with_totals(labels: tuple[str, ...]) -> tuple[str, ...]:
    """A margin has its label once and nothing below it: it is the total of each variable."""
    whole = labels[0] == MARGIN and not any(labels[1:])
    return (MARGIN,) * len(labels) if whole else labels


def _sheet(where: str, lines: list[list[str]], names: list[str]) -> AcroSheet:
    width = len(lines[0])
    if any(len(line) != width for line in lines) or len(lines) < 2:
        raise InvalidInput(
            f"{where}: its lines have different numbers of fields, or there is only one; the file "
            "may be cut off: fetch it again"
        )
    # With several levels of columns, a line of the names of the rows alone ends the header. With
    # one level, the header begins with the name of the rows.
    flat = bool(names) and lines[0][0] == names[0]
    ends = (k for k, line in enumerate(lines[:8]) if k > 1 and 0 < _filled(line) < width)
    deep = None if flat else next((k for k in ends if not any(lines[k][_filled(lines[k]) :])), None)
    if deep is not None:
        heads, index, first = lines[:deep], [each for each in lines[deep] if each], deep + 1
        levels = [line[0] for line in heads]
    else:
        size = len(names) - 1 if len(names) > 1 else _labels_before_counts(lines[1:])
        index, first = lines[0][:size], 1
        heads, levels = lines[:1], [names[-1] if len(names) > size else "columns"]
    size, body = len(index), lines[first:]
    if not size or size >= width or not body:
        raise InvalidInput(f"{where}: labels and counts cannot be told apart; fetch it again")
    columns = list(zip(*(line[size:] for line in heads), strict=True))
    rows = [tuple(line[:size]) for line in body]
    return AcroSheet((*index, *levels), rows, columns, [line[size:] for line in body])


def _filled(line: Sequence[str]) -> int:
    """How many fields a line begins with that are not empty."""
    return next((k for k, field in enumerate(line) if not field), len(line))


def _labels_before_counts(body: list[list[str]]) -> int:
    """How many of the first columns hold labels: something that is no number."""
    for place, column in enumerate(zip(*body, strict=True)):
        if all(not field or whole_count(field) is not None for field in column):
            return place
    return 0


def _counts_only(sheet: AcroSheet) -> AcroSheet | None:
    """The columns that count, of a pivot table: levels without a name say which statistic it is."""
    size = len(sheet.rows[0])
    levels = sheet.names[size:]
    unnamed = [k for k, name in enumerate(levels) if not name]
    if not unnamed:
        return sheet
    counted = [
        k for k, head in enumerate(sheet.columns) if any(head[u] == "count" for u in unnamed)
    ]
    named = [k for k in range(len(levels)) if k not in unnamed]
    if not counted or not named:
        return None
    return AcroSheet(
        (*sheet.names[:size], *(levels[k] for k in named)),
        sheet.rows,
        [tuple(sheet.columns[k][level] for level in named) for k in counted],
        [[line[k] for k in counted] for line in sheet.body],
    )


def _placed(
    where: str,
    uid: str,
    names: tuple[str, ...],
    entries: dict[Cell, Entry],
    rules: Rules,
    reading: Reading,
) -> PublishedTable:
    if len(set(names)) < len(names) or not all(names):
        raise InvalidInput(f"{where}: the variables {list(names)} need names of their own")
    notes = [f"read as ACRO's {uid}"]
    if rules.hidden is not None and rules.hidden in entries.values():
        notes.append(f"an empty field is a count that was suppressed: {rules.hidden}")
    true_totals, recomputed = _true_totals(where, entries, rules)
    if recomputed:
        notes.append(
            f"{recomputed:,} totals are sums of the cells that are shown, and say nothing of the "
            "hidden ones; they are left out"
        )
    trees = {}
    for place, name in enumerate(names):
        codes = list(dict.fromkeys(cell[place] for cell in true_totals))
        total = MARGIN if MARGIN in codes else None
        below = [code for code in codes if code != total]
        if not below:
            raise InvalidInput(f"{where}: the variable {name!r} has no level but its total")
        given = reading.hierarchies.get(name)
        tree = Hierarchy(below) if given is None else hierarchy_of(given, below)
        trees[name] = tree.with_total(total)
    hidden = [cell for cell, entry in true_totals.items() if not isinstance(entry, int)]
    rounding = None if rules.base is None else ("nearest" if rules.base % 2 else "half-even")
    table = PublishedTable(
        where=where,
        hierarchies=trees,
        entries=true_totals,
        printed=dict.fromkeys(hidden, ""),
        flags=dict.fromkeys(hidden, "primary"),
        base=rules.base,
        rounding=rounding,
        title=uid,
        notes=tuple(notes),
    )
    if rules.base is None:
        check_additive(table)
    return table


def _true_totals(
    where: str, entries: dict[Cell, Entry], rules: Rules
) -> tuple[dict[Cell, Entry], int]:
    """The cells without those totals that are sums of the shown cells below them only."""
    inner = [cell for cell in entries if MARGIN not in cell]
    levels = [
        tuple(dict.fromkeys(cell[k] for cell in inner)) for k in range(len(next(iter(entries))))
    ]
    inside: dict[Cell, Entry] = {}
    recomputed = 0
    for cell, entry in entries.items():
        if MARGIN in cell:
            sides = [levels[k] if code == MARGIN else (code,) for k, code in enumerate(cell)]
            parts = [entries[part] for part in product(*sides) if part in entries]
            shown = sum(part for part in parts if isinstance(part, int))
            if any(not isinstance(part, int) for part in parts) and entry in (shown, rules.hidden):
                recomputed += 1
                continue
            if not isinstance(entry, int) or (rules.base is None and entry < shown):
                raise InvalidInput(
                    f"{where}: the total {cell} is less than the cells below it that are shown; "
                    "correct the file"
                )
        inside[cell] = entry
    return inside, recomputed
