"""Hierarchies: the codes of one variable as a tree, from its total down to its levels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cellbounds.data.domain import Grouping, Label
from cellbounds.data.formats.delimited import read_csv_rows
from cellbounds.errors import InvalidInput
from cellbounds.runtime.inputs import read_bytes, utf8_text

MOST_LEVELS = 64
"""Levels of a hierarchy: deeper ones are a mistake, or meant to keep us busy."""

_PAIR_NAMES = ({"child", "code"}, {"parent"})
"""How the columns of a file of children and parents are called."""


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Hierarchy:
    """The codes of a variable as a tree.

    Its leaves are the levels of the variable; every inner code stands for the leaves below it, the
    total for all of them. Branches may differ in depth.

    Parameters
    ----------
    tree
        The codes below the total: a mapping from each code to the codes below it, themselves a
        mapping or a list of leaves; or None, or an empty list, for a leaf. A list has leaves only.
    total
        The code of the total, as tables print it; None if they do not.
    names
        Names of the levels above the leaves, from the top; ``variable.1``, ``variable.2``, ...
        unless given.

    Attributes
    ----------
    parents
        Every code but the total with the code above it (None: the total), in the order of print.

    Examples
    --------
    >>> from cellbounds.data.hierarchy import Hierarchy
    >>> places = Hierarchy({"North": ["N1", "N2"], "South": {"S1": ["S1a", "S1b"], "S2": None}})
    >>> places.leaves
    ('N1', 'N2', 'S1a', 'S1b', 'S2')
    >>> places.children("South"), places.leaves_below("South")
    (('S1', 'S2'), ('S1a', 'S1b', 'S2'))
    >>> places.groupings("mun")["mun.1"].levels
    {'North': ('N1', 'N2'), 'South': ('S1a', 'S1b', 'S2')}
    """

    total: Label | None
    names: tuple[str, ...]
    parents: tuple[tuple[Label, Label | None], ...]

    def __init__(
        self,
        tree: Mapping[Label, object] | Iterable[Label],
        *,
        total: Label | None = None,
        names: Sequence[str] = (),
    ) -> None:
        parents: dict[Label, Label | None] = {}
        _grow(tree, None, parents, total, 1)
        if not parents:
            raise InvalidInput("a hierarchy without codes; give at least one")
        object.__setattr__(self, "total", total)
        object.__setattr__(self, "names", tuple(names))
        object.__setattr__(self, "parents", tuple(parents.items()))
        if names and len(names) != self.depth - 1:
            raise InvalidInput(
                f"{len(names)} names {tuple(names)!r} for a hierarchy with {self.depth - 1} levels "
                "above its leaves; name each of them, from the top"
            )

    @classmethod
    def from_columns(
        cls, columns: Mapping[str, Sequence[Label]], *, total: Label | None = None
    ) -> Hierarchy:
        """From nested columns, the coarsest first: the levels of records, or a table of codes.

        A code that stands below itself (``AZ, X, X``) is one code.

        Examples
        --------
        >>> from cellbounds.data.hierarchy import Hierarchy
        >>> tree = Hierarchy.from_columns({"county": ["N", "N", "S"], "mun": ["N1", "N2", "S"]})
        >>> tree.children(None), tree.children("N"), tree.names
        (('N', 'S'), ('N1', 'N2'), ('county',))
        """
        if not columns or any(isinstance(column, str) for column in columns.values()):
            raise InvalidInput("a hierarchy from columns needs a list of codes for each level")
        above: dict[Label, Label | None] = {}
        for line in zip(*columns.values(), strict=True):
            before: Label | None = None
            for name, code in zip(columns, line, strict=True):
                if code is None or code == "":
                    raise InvalidInput(
                        f"a code of {name!r} is missing below {before!r}; give every line a code "
                        "for each level"
                    )
                if code == before:
                    continue
                if above.setdefault(code, before) != before:
                    raise InvalidInput(
                        f"the code {code!r} of {name!r} stands below {above[code]!r} and below "
                        f"{before!r}; a code has one place in a hierarchy"
                    )
                before = code
        tree = cls.from_pairs(above.items(), total=total)
        names = tuple(columns)[:-1]
        return cls(tree.tree(), total=total, names=names if len(names) == tree.depth - 1 else ())

    @classmethod
    def from_pairs(
        cls, pairs: Iterable[tuple[Label, Label | None]], *, total: Label | None = None
    ) -> Hierarchy:
        """From children and their parents, in any order.

        A parent that is None, empty or the total, or that never is a child, stands at the top: if
        there is one such parent for all, it is the total.

        Examples
        --------
        >>> from cellbounds.data.hierarchy import Hierarchy
        >>> tree = Hierarchy.from_pairs([("N1", "N"), ("N2", "N"), ("N", "All"), ("S", "All")])
        >>> tree.total, tree.children(None), tree.leaves
        ('All', ('N', 'S'), ('N1', 'N2', 'S'))
        """
        below: dict[Label | None, list[Label]] = {}
        parent_of: dict[Label, Label | None] = {}
        for child, parent in pairs:
            above = None if parent in (None, "", total) else parent
            if parent_of.setdefault(child, above) != above:
                raise InvalidInput(
                    f"the code {child!r} has the parents {parent_of[child]!r} and {above!r}; a "
                    "code has one place in a hierarchy"
                )
            if child not in below.setdefault(above, []):
                below[above].append(child)
        tops = [code for code in below if code is not None and code not in parent_of]
        if total is None and len(tops) == 1 and not below.get(None):
            total = tops[0]
            below[None] = below.pop(total)
        elif tops:
            below[None] = [*below.get(None, []), *tops]
        seen: set[Label] = set()
        tree = _nested(None, below, seen, 1)
        lost = next((code for code in parent_of if code not in seen), None)
        if lost is not None:
            raise InvalidInput(
                f"the code {lost!r} stands below itself; parents lead up to the total"
            )
        return cls(tree, total=total)

    @classmethod
    def from_prefixes(cls, codes: Iterable[str], *, total: str | None = None) -> Hierarchy:
        """From codes whose beginnings name what they belong to: each below the longest of them.

        Examples
        --------
        >>> from cellbounds.data.hierarchy import Hierarchy
        >>> Hierarchy.from_prefixes(["FR1", "FR10", "FR101", "FR2", "FR20"]).children("FR1")
        ('FR10',)
        """
        listed = dict.fromkeys(code for code in codes if code != total)
        pairs = []
        for code in listed:
            begins = (code[:size] for size in range(len(code) - 1, 0, -1))
            pairs.append((code, next((part for part in begins if part in listed), None)))
        return cls.from_pairs(pairs, total=total)

    @classmethod
    def from_hrc(
        cls, text: str, *, lead: str | None = None, total: Label | None = None
    ) -> Hierarchy:
        r"""From tau-ARGUS's ``.hrc``: a code a line, as deep as it has leading ``@`` (or ``.``).

        Examples
        --------
        >>> from cellbounds.data.hierarchy import Hierarchy
        >>> Hierarchy.from_hrc("N\n@N1\n@N2\nS\n", total="Total").children("N")
        ('N1', 'N2')
        """
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        if lead is None:
            lead = next((line[0] for line in lines if line[0] in "@."), "@")
        path: list[Label] = []
        pairs: list[tuple[Label, Label | None]] = []
        seen: set[Label] = set()
        for number, line in enumerate(lines, start=1):
            code = line.lstrip(lead)
            depth = (len(line) - len(code)) // len(lead)
            if not code.strip() or depth > len(path):
                raise InvalidInput(
                    f"line {number} of the hierarchy, {line!r}, is {depth} deep below a line that "
                    f"is {len(path) - 1} deep; each {lead!r} goes one level below the line before"
                )
            path[depth:] = [code.strip().strip('"')]
            if path[depth] in seen:
                raise InvalidInput(f"the code {path[depth]!r} stands twice in the hierarchy")
            seen.add(path[depth])
            pairs.append((path[depth], path[depth - 1] if depth else None))
        return cls.from_pairs(pairs, total=total)

    @classmethod
    def read(cls, path: str | Path, *, total: Label | None = None) -> Hierarchy:
        """Read a hierarchy: ``.hrc``, or CSV with columns child and parent, or nested columns.

        Nested columns stand from the coarsest to the finest, a line for each leaf.
        """
        if Path(path).suffix.lower() == ".hrc":
            return cls.from_hrc(utf8_text(read_bytes(path), path), total=total)
        header, rows = read_csv_rows(Path(path))
        names = [name.strip().lower() for name in header]
        if len(names) == 2 and names[0] in _PAIR_NAMES[0] and names[1] in _PAIR_NAMES[1]:
            return cls.from_pairs(((child, parent) for child, parent in rows), total=total)
        return cls.from_columns(
            dict(zip(header, zip(*rows, strict=True), strict=True)), total=total
        )

    def tree(self) -> dict[Label, object]:
        """The codes below the total as a nested mapping; leaves have None."""
        made: dict[Label, dict[Label, object]] = {}
        tree: dict[Label, object] = {}
        inner = {parent for _, parent in self.parents}
        for code, parent in self.parents:
            place = tree if parent is None else made[parent]
            place[code] = made.setdefault(code, {}) if code in inner else None
        return tree

    @property
    def codes(self) -> tuple[Label, ...]:
        """Every code, the total first if it has one, in the order of print."""
        below = tuple(code for code, _ in self.parents)
        return below if self.total is None else (self.total, *below)

    @property
    def leaves(self) -> tuple[Label, ...]:
        """The codes with none below them: the levels of the variable."""
        inner = {parent for _, parent in self.parents}
        return tuple(code for code, _ in self.parents if code not in inner)

    @property
    def depth(self) -> int:
        """The number of levels below the total; 1 if there are only leaves."""
        return max(self.depths().values())

    def depths(self) -> dict[Label, int]:
        """How deep each code stands; the total is 0 deep."""
        depths: dict[Label, int] = {} if self.total is None else {self.total: 0}
        for code, parent in self.parents:
            depths[code] = 1 if parent is None else depths[parent] + 1
        return depths

    def children(self, code: Label | None) -> tuple[Label, ...]:
        """The codes right below one; those of the total for None."""
        above = None if code == self.total else code
        return tuple(child for child, parent in self.parents if parent == above)

    def leaves_below(self, code: Label | None) -> tuple[Label, ...]:
        """The leaves that a code stands for: itself, if it is one."""
        if code is None or code == self.total:
            return self.leaves
        return self._below()[code]

    def _below(self) -> dict[Label, tuple[Label, ...]]:
        parent_of, below = dict(self.parents), dict[Label, list[Label]]()
        for leaf in self.leaves:
            above: Label | None = leaf
            while above is not None:
                below.setdefault(above, []).append(leaf)
                above = parent_of[above]
        return {code: tuple(leaves) for code, leaves in below.items()}

    def level_names(self, variable: str) -> tuple[str, ...]:
        """The names of the levels from the top; the last is the variable itself."""
        inner = self.names or tuple(f"{variable}.{level}" for level in range(1, self.depth))
        return (*inner, variable)

    def levels(self) -> tuple[tuple[Label, ...], ...]:
        """The codes of each level from the top: a leaf stands in all levels from its own on.

        So each level shares out everybody.
        """
        depths, leaves = self.depths(), frozenset(self.leaves)
        return tuple(
            tuple(
                code
                for code, _ in self.parents
                if depths[code] == level or (depths[code] < level and code in leaves)
            )
            for level in range(1, self.depth + 1)
        )

    def groupings(self, variable: str) -> dict[str, Grouping]:
        """The levels above the leaves as derived variables, by their names."""
        below = self._below()
        named = zip(self.level_names(variable), self.levels(), strict=True)
        return {
            name: Grouping(variable, {code: below[code] for code in codes})
            for name, codes in list(named)[:-1]
        }

    def with_total(self, total: Label | None) -> Hierarchy:
        """The same tree with another code of the total."""
        return Hierarchy(self.tree(), total=total, names=self.names)

    def restricted(self, codes: Iterable[Label]) -> Hierarchy:
        """The tree of these codes and those above them: the others hold nobody, or are not split.

        Examples
        --------
        >>> from cellbounds.data.hierarchy import Hierarchy
        >>> Hierarchy({"N": ["N1", "N2"], "S": ["S1", "S2"]}).restricted(["N1", "S"]).leaves
        ('N1', 'S')
        """
        parent_of, wanted = dict(self.parents), set[Label]()
        for code in codes:
            above: Label | None = code
            while above is not None and above != self.total and above not in wanted:
                wanted.add(above)
                above = parent_of.get(above)
        pairs = [(code, parent) for code, parent in self.parents if code in wanted]
        tree = Hierarchy.from_pairs(((c, p) for c, p in pairs), total=self.total)
        names = self.names if len(self.names) == tree.depth - 1 else ()
        return Hierarchy(tree.tree(), total=self.total, names=names)

    def __repr__(self) -> str:
        top = "" if self.total is None else f", total {self.total!r}"
        return f"Hierarchy({len(self.leaves)} leaves, {self.depth} levels{top})"


def _grow(
    tree: object,
    parent: Label | None,
    parents: dict[Label, Label | None],
    total: Label | None,
    depth: int,
) -> None:
    if isinstance(tree, str) or not isinstance(tree, Iterable):
        raise InvalidInput(
            f"what stands below {parent!r} in a hierarchy is {tree!r}; give a list or a mapping"
        )
    if depth > MOST_LEVELS:
        raise InvalidInput(f"a hierarchy of more than {MOST_LEVELS} levels; give fewer")
    for code in tree:
        if code in parents or code == total or code is None:
            raise InvalidInput(
                f"the code {code!r} stands twice in a hierarchy, or is its total; a code has one "
                "place"
            )
        parents[code] = parent
        below = tree[code] if isinstance(tree, Mapping) else None
        if below is not None:
            _grow(below, code, parents, total, depth + 1)


def _nested(
    above: Label | None, below: Mapping[Label | None, list[Label]], seen: set[Label], depth: int
) -> dict[Label, object]:
    if depth > MOST_LEVELS:
        raise InvalidInput(f"a hierarchy of more than {MOST_LEVELS} levels; give fewer")
    tree: dict[Label, object] = {}
    for code in below.get(above, ()):
        seen.add(code)
        tree[code] = _nested(code, below, seen, depth + 1) if code in below else None
    return tree
