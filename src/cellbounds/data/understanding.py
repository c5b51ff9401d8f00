"""From sheets to published tables: what labels, totals, hierarchies and marks mean."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from cellbounds.data.crosstabs import Layout, SheetTable, tables_in
from cellbounds.data.domain import Label
from cellbounds.data.formats.grids import grids_of
from cellbounds.data.hierarchy import Hierarchy
from cellbounds.data.marks import Legend
from cellbounds.data.percents import SheetPercents, find_base, said_of
from cellbounds.data.published import UNKNOWN, ZERO, Cell, Entry, Percents, PublishedTable
from cellbounds.data.totals import (
    Lines,
    Sums,
    check_told,
    confirm_total,
    confirm_tree,
    families,
    find_total,
    hierarchy_of,
    names_a_total,
    seeming_base,
    sums_of,
    tolerance_of,
)
from cellbounds.errors import InvalidInput
from cellbounds.runtime.inputs import check_cells
from cellbounds.text import counted

FAR = 2**62
"""How far figures are from counts under noise without bounds."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a reader says of tables.

    Attributes
    ----------
    legend
        What marks mean.
    hierarchies
        Hierarchies by variable: as such, a file, ``"prefix"``, or a nested mapping.
    totals
        The code of the total by variable; False if there are no totals; None: to be found.
    base, rounding
        How numbers are rounded.
    support
        Of noisy numbers, the counts that a figure can stand for; None if it can be any.
    absent
        What cells that are not listed hold: ``"unknown"`` or ``"zero"``.
    sums
        What totals add up: ``"all"`` cells, the ``"shown"`` ones only; None: to be found.
    percents
        The variables within whose levels percents add up to 100; False if they are to be left out;
        None: to be found.
    """

    legend: Legend = field(default_factory=Legend)
    hierarchies: Mapping[str, Any] = field(default_factory=dict)
    totals: Mapping[str, Label] | bool | None = None
    base: int | None = None
    rounding: str | None = None
    support: Callable[[int], Sequence[int] | None] | None = None
    absent: str = "unknown"
    sums: str | None = None
    percents: Sequence[str] | bool | None = None


def published_tables(
    source: Any,
    meaning: Meaning,
    layout: Layout,
    *,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    sheet: str | None = None,
) -> list[PublishedTable]:
    """Every table of a file or a frame."""
    grids = grids_of(source, encoding=encoding, delimiter=delimiter, sheet=sheet)
    sheets = [table for grid in grids for table in tables_in(grid, meaning.legend, layout)]
    if not sheets:
        raise InvalidInput(
            f"{grids[0].where} holds no table: no row has a label and a number or a mark beside "
            "it; give a header row and one row for each line of the table"
        )
    return [understand(table, meaning) for table in sheets]


def understand(sheet: SheetTable, meaning: Meaning) -> PublishedTable:
    """What a table of a sheet says."""
    names, cells = list(sheet.variables), _entries(sheet, meaning.legend)
    printed: dict[Cell, str] = {cell: text.strip() for cell, text in sheet.cells.items()}
    draft = _Draft(sheet.where, names, cells, printed, list(sheet.notes), meaning)
    draft.shares = list(sheet.percents)
    footnotes = sum(map(meaning.legend.has_footnote, sheet.cells.values()))
    if footnotes:
        draft.notes.append(f"{counted(footnotes, 'number')} with the mark of a footnote")
    draft.multiples = seeming_base(cells)
    draft.drop_single()
    draft.find_trees(sheet.depths)
    draft.find_totals()
    percents = draft.find_percents()
    draft.leave_out_shown_sums()
    draft.fill_absent()
    draft.remark()
    return PublishedTable(
        where=draft.where,
        hierarchies={name: draft.trees[name] for name in draft.names},
        entries=draft.entries,
        printed=draft.printed,
        base=meaning.base,
        rounding=meaning.rounding,
        percents=percents,
        title=sheet.title,
        notes=tuple(draft.notes),
    )


def _entries(sheet: SheetTable, legend: Legend) -> dict[Cell, Entry]:
    entries: dict[Cell, Entry] = {}
    for cell, text in sheet.cells.items():
        try:
            entries[cell] = legend.entry(text)
        except ValueError:
            where = f"{sheet.where}, cell {sheet.places[cell]}"
            if legend.is_other(text):
                raise InvalidInput(
                    f"{where} holds {text.strip()!r}, which is no count; tables of counts are "
                    "read: name the column of counts (--count NAME), or say what separates "
                    "thousands (--thousands .)"
                ) from None
            raise InvalidInput(
                f"{where} holds {text.strip()!r}, which is neither a number nor a mark that is "
                f'known; say what it means: --marks "{text.strip()[:20]}=hidden" (or unknown, '
                "zero, a range)"
            ) from None
    return entries


@dataclass(slots=True)
class _Draft:
    """A table that is being understood."""

    where: str
    names: list[str]
    entries: dict[Cell, Entry]
    printed: dict[Cell, str]
    notes: list[str]
    meaning: Meaning
    trees: dict[str, Hierarchy] = field(default_factory=dict)
    joint: dict[str, tuple[int, int]] = field(default_factory=dict)
    multiples: int = 1
    shares: list[SheetPercents] = field(default_factory=list)

    def codes(self, axis: int) -> list[Label]:
        """The codes along an axis, in the order of print."""
        return list(dict.fromkeys(cell[axis] for cell in self.entries))

    @property
    def slack(self) -> int | None:
        """How far a figure may be from its count, so that totals need not add up."""
        if self.meaning.support is None:
            return self.meaning.base
        figures = {entry for entry in self.entries.values() if isinstance(entry, int)}
        meant = {figure: self.meaning.support(figure) for figure in figures}
        if any(counts is None for counts in meant.values()):
            return FAR
        return max(
            (abs(count - figure) for figure, counts in meant.items() for count in counts or ()),
            default=0,
        )

    def lines(self, axis: int) -> Lines:
        """The lines along an axis."""
        return Lines.along(self.names, axis, self.entries)

    def relabel(self, move: Any) -> None:
        """Name every cell anew."""
        self.entries = {move(cell): entry for cell, entry in self.entries.items()}
        self.printed = {move(cell): text for cell, text in self.printed.items()}
        self.shares = [
            replace(share, figures={move(cell): text for cell, text in share.figures.items()})
            for share in self.shares
        ]

    def drop_single(self) -> None:
        """Leave out variables that all cells have the same label of."""
        for axis in reversed(range(len(self.names))):
            if len(self.names) > 1 and len(self.codes(axis)) == 1:
                name = self.names.pop(axis)
                label = next(iter(self.entries))[axis]
                self.notes.append(f"all cells have {name} = {label!s}")
                self.relabel(lambda cell, axis=axis: (*cell[:axis], *cell[axis + 1 :]))

    def find_trees(self, depths: Mapping[str, Mapping[str, int]]) -> None:
        """Hierarchies that were given, that indentation shows, or that nested columns make."""
        check_told(self.where, "a hierarchy of", self.meaning.hierarchies, self.names)
        if self.meaning.totals is not False:
            self._join_nested()
        for axis, name in enumerate(self.names):
            if name in self.trees:
                continue
            given = self.meaning.hierarchies.get(name)
            if given is not None:
                self.trees[name] = self._given(axis, hierarchy_of(given, self.codes(axis)))
            elif name in depths and self.meaning.totals is not False:
                self._indented(axis, depths[name])

    def _given(self, axis: int, tree: Hierarchy) -> Hierarchy:
        """A hierarchy of a variable with its total, without codes that hold nobody."""
        name, codes = self.names[axis], self.codes(axis)
        known = {code for code, _ in tree.parents}
        others = [code for code in codes if code not in known]
        told = self.meaning.totals
        total = told.get(name, tree.total) if isinstance(told, Mapping) else tree.total
        if total not in codes:
            total = next((code for code in others if names_a_total(code)), None)
        odd = next((code for code in others if code != total), None)
        if odd is not None:
            raise InvalidInput(
                f"{self.where}: the code {odd!r} of {name!r} is not in its hierarchy; add it, or "
                f"say that it is the total: --totals {name}={odd}"
            )
        whole = tree.with_total(total)
        listed = [code for code in codes if code != total]
        return self._with_unlisted(axis, whole, whole.restricted(listed))

    def _with_unlisted(self, axis: int, whole: Hierarchy, tree: Hierarchy) -> Hierarchy:
        """Codes that no cell has hold nobody if those beside them add up; else they may."""
        lines, rest, empty = self.lines(axis), list[Label](), list[Label]()
        present = dict(families(tree))
        for code, parts in present.items():
            absent = [child for child in whole.children(code) if child not in parts]
            if absent:
                compared = sums_of(lines, code, parts, tolerance_of(self.slack, len(parts)))
                held = compared.differing or not compared.confirmed or _gaps(lines, code, parts)
                (rest if held else empty).extend(absent)
        name = self.names[axis]
        if empty:
            self.notes.append(
                f"codes of {name} that are not listed hold nobody, as the others add up: "
                f"{_some(empty)}"
            )
        if not rest:
            return tree
        self.notes.append(f"codes of {name} are not listed, and may hold people: {_some(rest)}")
        return whole.restricted([*(code for code, _ in tree.parents), *rest])

    def _indented(self, axis: int, depths: Mapping[str, int]) -> None:
        """A hierarchy from indentation, if the codes that it makes totals are."""
        path: list[tuple[int, Label]] = []
        pairs: list[tuple[Label, Label | None]] = []
        for code in self.codes(axis):
            if names_a_total(code):
                continue
            depth = depths.get(str(code), 0)
            while path and path[-1][0] >= depth:
                path.pop()
            pairs.append((code, path[-1][1] if path else None))
            path.append((depth, code))
        tree = Hierarchy.from_pairs(pairs)
        if tree.depth == 1:
            return
        lines = self.lines(axis)
        compared = [sums_of(lines, code, parts) for code, parts in families(tree)]
        if any(sums.differing for sums in compared) or not any(sums.confirmed for sums in compared):
            return
        self.trees[self.names[axis]] = self._given(axis, tree)
        self.notes.append(f"{self.names[axis]} is indented: {tree.depth} levels of codes")

    def _join_nested(self) -> None:
        """Make one variable of several, of which each label belongs to one of the one before."""
        axis = 0
        while axis + 1 < len(self.names):
            last = axis
            given = set(self.meaning.hierarchies)
            while last + 1 < len(self.names) and not given & set(self.names[axis : last + 2]):
                if not self._is_nested(last):
                    break
                last += 1
            if last > axis:
                self._join(axis, last)
            axis += 1

    def _join(self, first: int, last: int) -> None:
        """Make one variable of nested ones."""

        def code_of(cell: Cell) -> Label | None:
            named = [label for label in cell[first : last + 1] if not names_a_total(label)]
            return named[-1] if named else None

        outermost, innermost = self.names[first], self.names[last]
        lines = {cell[first : last + 1] for cell in self.entries}
        order = {cell[first : last + 1]: None for cell in self.entries}
        whole = [line for line in order if not any(map(names_a_total, line))]
        columns = dict(zip(self.names[first : last + 1], zip(*whole, strict=True), strict=True))
        tops = [line for line in lines if all(map(names_a_total, line))]
        total = next(filter(None, tops[0]), "Total") if tops else None
        try:
            self.trees[innermost] = Hierarchy.from_columns(columns, total=total)
        except InvalidInput:  # the same code at different places
            return
        move = {
            cell: (*cell[:first], code if code is not None else total, *cell[last + 1 :])
            for cell in self.entries
            for code in [code_of(cell)]
        }
        self.relabel(move.__getitem__)
        del self.names[first:last]
        self.notes.append(
            f"{innermost} is nested in {outermost}: each of its levels is in one of them"
        )

    def _is_nested(self, axis: int) -> bool:
        """Whether each label of the next variable stands beside one label of this one."""
        above: dict[Label, set[Label]] = {}
        for cell in self.entries:
            outer, inner = cell[axis : axis + 2]
            if names_a_total(outer) and not names_a_total(inner):
                return False
            if not names_a_total(inner):
                above.setdefault(inner, set()).add(outer)
        outers = set[Label]().union(*above.values())
        return all(len(codes) == 1 for codes in above.values()) and 1 < len(outers) < len(above)

    def find_totals(self) -> None:
        """The total of each variable; a flat hierarchy where there is none yet."""
        told = self.meaning.totals
        given = told if isinstance(told, Mapping) else {}
        check_told(self.where, "a total of", given, self.names)
        how: dict[str, Any] = {"base": self.slack, "multiples": self.multiples}
        if told is not False:
            self._find_joint(how)
        for axis, name in enumerate(self.names):
            if name in self.joint:
                continue
            lines, codes = self.lines(axis), self.codes(axis)
            if name in self.trees:
                seen = confirm_tree(lines, self.trees[name], self.where, **how)
            else:
                total: Label | None = None
                if name in given:
                    total = given[name]
                    if total not in codes:
                        raise InvalidInput(
                            f"{self.where}: {total!r} is no level of {name!r}; its levels are "
                            f"{_some(codes)}"
                        )
                elif told is not False:
                    total = find_total(lines, codes, self.where, **how)
                parts = [code for code in codes if code != total]
                if not parts:
                    raise InvalidInput(f"{self.where}: {name!r} has a total and no other level")
                self.trees[name] = Hierarchy(parts, total=total)
                if total is None:
                    continue
                seen = [confirm_total(lines, total, parts, self.where, told=name in given, **how)]
            if any(compared.confirmed for compared in seen):
                self.notes.append(self.said_of_totals(name, seen))
        for axis, name in enumerate(self.names):
            self._name_blank(axis, name)

    def _find_joint(self, how: dict[str, Any]) -> None:
        """Totals over several variables at once, where only the first one names it.

        So crosstabs print them: ``All`` above two header rows, the second of which is empty.
        """
        for axis in range(len(self.names) - 1):
            last = axis
            while last + 1 < len(self.names) and self._blank_below(axis, last + 1):
                last += 1
            if last == axis or any(name in self.trees for name in self.names[axis : last + 1]):
                continue
            lines = self._lines_together(axis, last)
            codes: list[Any] = list({code: 0 for line in lines.by_others.values() for code in line})
            total = next(code for code in codes if names_a_total(code[0]))
            parts = [code for code in codes if code != total]
            seen = confirm_total(lines, total, parts, self.where, **how)
            self.notes.append(self.said_of_totals(lines.name, [seen]))
            for place in range(axis, last + 1):
                name, top = self.names[place], total[place - axis]
                levels = [code for code in self.codes(place) if code != top]
                self.trees[name] = Hierarchy(levels, total=top)
                self.joint[name] = (axis, last)

    def said_of_totals(self, name: str, seen: Sequence[Sums]) -> str:
        """On how many lines totals are the sums of their parts, or may be."""
        lines = counted(sum(found.confirmed for found in seen), "line")
        if self.slack is None:
            return f"totals of {name} add up on {lines}"
        return f"totals of {name} are as near to their sums as figures are to counts on {lines}"

    def _blank_below(self, axis: int, below: int) -> bool:
        """Whether labels are empty exactly where those of an outer variable are its total."""
        pairs = {(cell[axis], cell[below]) for cell in self.entries}
        totals = {outer for outer, _ in pairs if outer != "" and names_a_total(outer)}
        return len(totals) == 1 and all((one in totals) == (two == "") for one, two in pairs)

    def _lines_together(self, first: int, last: int) -> Lines:
        """The lines along several variables, whose labels together are the codes."""
        entries = {
            (*cell[:first], cell[first : last + 1], *cell[last + 1 :]): entry
            for cell, entry in self.entries.items()
        }
        together = " x ".join(self.names[first : last + 1])
        return Lines.along([*self.names[:first], together], first, entries)

    def _name_blank(self, axis: int, name: str) -> None:
        """A total without a label gets one."""
        tree = self.trees[name]
        if tree.total != "":
            return
        first = self.trees[self.names[self.joint[name][0]]] if name in self.joint else None
        label = "Total" if first is None else first.total
        label = "(total)" if label in tree.codes else label
        self.trees[name] = tree.with_total(label)
        self.relabel(
            lambda cell: (*cell[:axis], label, *cell[axis + 1 :]) if cell[axis] == "" else cell
        )

    def find_percents(self) -> tuple[Percents, ...]:
        """What percents are of; those that are none, or of rounded counts, are left out."""
        told = self.meaning.percents
        within: Sequence[str] | None = None
        if told is not None and told is not False:
            within = tuple(told) if isinstance(told, Sequence) else ()
            check_told(self.where, "percents within", within, self.names)
        read: list[Percents] = []
        trees = {name: self.trees[name] for name in self.names}
        for share in self.shares:
            figures = {cell: text for cell, text in share.figures.items() if cell in self.entries}
            found = None
            if told is not False and self.meaning.base is None:
                listed = replace(share, figures=figures)
                found = find_base(listed, trees, self.entries, self.where, within)
            if found is None:
                self.notes.append(f"{share.label!r} holds no counts and is not read")
                continue
            read.append(found[0])
            self.notes.append(said_of(*found))
            unread = [text for cell, text in figures.items() if cell not in found[0].figures]
            odd_ones = [text for text in unread if any(map(str.isdigit, text))]
            if odd_ones:
                self.notes.append(f"percents that are ranges are not read: {_some(odd_ones)}")
            for cell, text in found[0].figures.items():
                if self.entries[cell] is None:
                    unit = "%" if found[0].unit == "percent" else ""
                    self.printed[cell] = f"{self.printed[cell]} ({text}{unit})"
        return tuple(read)

    def leave_out_shown_sums(self) -> None:
        """Totals that add up the shown cells only say nothing about the others."""
        shown = other = 0
        if self.meaning.sums is None:
            for lines, code, parts in self._families():
                compared = sums_of(lines, code, parts)
                shown, other = shown + compared.shown_sums, other + compared.other_sums
        if self.meaning.sums == "all" or (self.meaning.sums is None and (other or not shown)):
            return
        left = self._totals_of_hidden()
        self.entries = {cell: entry for cell, entry in self.entries.items() if cell not in left}
        self.notes.append(
            f"totals are the sums of the shown cells only: {counted(len(left), 'total')} of hidden "
            "cells tell nothing and are left out (--sums all, if hidden cells are in them)"
        )

    def _families(self) -> Iterator[tuple[Lines, Label, Sequence[Label]]]:
        """Every total with its parts, and the lines that they stand on."""
        for axis, name in enumerate(self.names):
            first, last = self.joint.get(name, (axis, axis))
            if first == last:
                lines = self.lines(axis)
                for code, parts in families(self.trees[name]):
                    yield lines, code, parts
            elif first == axis:
                trees = [self.trees[name] for name in self.names[first : last + 1]]
                total = tuple(tree.total for tree in trees)
                cells: list[Label] = list(itertools.product(*(tree.leaves for tree in trees)))
                yield self._lines_together(first, last), total, cells

    def _totals_of_hidden(self) -> set[Cell]:
        """Cells above a hidden one."""
        above: list[dict[Label, list[Label]]] = []
        for name in self.names:
            tree = self.trees[name]
            parent_of, chains = dict(tree.parents), dict[Label, list[Label]]()
            for code in tree.codes:
                chain, up = [code], parent_of.get(code)
                while up is not None:
                    chain.append(up)
                    up = parent_of.get(up)
                top = tree.total
                chains[code] = chain if top is None or code == top else [*chain, top]
            above.append(chains)
        left: set[Cell] = set()
        for cell, entry in self.entries.items():
            if isinstance(entry, int) or entry == ZERO:
                continue
            chains_of = [chains[code] for chains, code in zip(above, cell, strict=True)]
            left.update(upper for upper in itertools.product(*chains_of) if upper != cell)
        return {cell for cell in left if isinstance(self.entries.get(cell), int)}

    def fill_absent(self) -> None:
        """Cells that are not listed, if they hold nobody; totals are never taken to be zero."""
        levels = [self.trees[name].leaves for name in self.names]
        size = math.prod(map(len, levels))
        inner = [frozenset(some) for some in levels]
        missing = size - sum(
            all(code in some for code, some in zip(cell, inner, strict=True))
            for cell in self.entries
        )
        if not missing:
            return
        if self.meaning.absent == "zero":
            check_cells(size, self.where)
            for cell in itertools.product(*levels):
                self.entries.setdefault(cell, ZERO)
            self.notes.append(f"{counted(missing, 'cell')} not listed: zero, as was said")
        else:
            self.notes.append(
                f"{counted(missing, 'cell')} not listed: nothing is taken to be known of them "
                "(--absent zero, if they hold nobody)"
            )

    def remark(self) -> None:
        """What else a reader should know before anything is concluded."""
        blank = [cell for cell, text in self.printed.items() if not text and cell in self.entries]
        unsaid = [cell for cell in blank if self.entries[cell] == UNKNOWN]
        if unsaid:
            self.notes.append(
                f"{counted(len(unsaid), 'empty cell')}: unknown, perhaps 0 "
                '(--marks "blank=hidden" or "blank=zero")'
            )
        if self.multiples > 1 and self.slack is None:
            self.notes.append(
                f"all counts are multiples of {self.multiples}; they are taken as exact until you "
                f"say that they are rounded (--base {self.multiples})"
            )


def _gaps(lines: Lines, total: Label, parts: Sequence[Label]) -> bool:
    """Whether a total is more than its parts somewhere, all of them being shown."""
    for line in lines.by_others.values():
        whole = line.get(total)
        listed = [line[part] for part in parts if part in line]
        shown = [entry for entry in listed if isinstance(entry, int)]
        if isinstance(whole, int) and len(shown) == len(listed) and sum(shown) < whole:
            return True
    return False


def _some(codes: Sequence[Label], most: int = 8) -> str:
    return ", ".join(map(str, codes[:most])) + (", ..." if len(codes) > most else "")
