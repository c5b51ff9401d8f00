"""Variables, their levels, the cells they span, and groupings of levels."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cellbounds.errors import InvalidInput

Label = Hashable


@dataclass(frozen=True, slots=True, init=False, repr=False)
class Grouping:
    """A derived variable: each of its levels is a set of levels of one variable.

    Groups may overlap and need not cover the variable.

    Parameters
    ----------
    of
        The variable whose levels are grouped.
    levels
        A mapping from each level of the derived variable to the levels behind it, in order.

    Examples
    --------
    >>> from cellbounds import Domain, Grouping
    >>> regions = Grouping("county", {"North": ["A", "B"], "South": ["C"]})
    >>> domain = Domain({"county": ["A", "B", "C"]}, groupings={"region": regions})
    >>> domain.levels("region")
    ('North', 'South')
    >>> domain.grouping("region")
    ('county', ((0, 1), (2,)))
    """

    of: str
    groups: tuple[tuple[Label, tuple[Label, ...]], ...]

    def __init__(self, of: str, levels: Mapping[Label, Iterable[Label]]) -> None:
        if not isinstance(of, str) or not of:
            raise InvalidInput(f"a grouping of {of!r}; name the variable whose levels it groups")
        if not isinstance(levels, Mapping) or not levels:
            raise InvalidInput(
                f"the levels of a grouping of {of!r} are {levels!r}; give a mapping from each new "
                f"level to a list of levels of {of!r}"
            )
        groups = tuple(
            (_plain(label), _members(of, label, parts)) for label, parts in levels.items()
        )
        object.__setattr__(self, "of", of)
        object.__setattr__(self, "groups", groups)

    @property
    def levels(self) -> dict[Label, tuple[Label, ...]]:
        """Each level of the derived variable, with the levels behind it."""
        return dict(self.groups)

    def __repr__(self) -> str:
        return f"Grouping({self.of!r}, {len(self.groups)} levels)"


def _plain(label: Label) -> Label:
    """Labels from arrays as plain Python values: they look the same and can be written."""
    return label.item() if isinstance(label, np.generic) else label


def _members(of: str, label: Label, parts: object) -> tuple[Label, ...]:
    if isinstance(parts, str) or not isinstance(parts, Iterable):
        raise InvalidInput(
            f"the group {label!r} of {of!r} is {parts!r}; give a list of levels of {of!r}"
        )
    members = tuple(map(_plain, parts))
    if not members:
        raise InvalidInput(f"the group {label!r} of {of!r} is empty; give it at least one level")
    for member in members:
        if members.count(member) > 1:
            raise InvalidInput(
                f"the group {label!r} of {of!r} lists the level {member!r} twice; list it once"
            )
    return members


class Domain:
    """An ordered set of variables, each with its ordered levels.

    Parameters
    ----------
    levels
        A mapping from the name of each variable to its levels, in order. The order of the
        variables is the order of the axes of every array over this domain.
    groupings
        Derived variables by name: other ways to speak of the same cells. They have no axis, and
        domains that differ only in them are equal.

    Attributes
    ----------
    names
        The variables, in order.
    shape
        The number of levels of each variable, in order.
    size
        The number of cells (a Python integer: it may be very large).

    Examples
    --------
    >>> from cellbounds import Domain
    >>> domain = Domain({"county": ["Alpha", "Beta"], "education": ["Low", "High"]})
    >>> domain.shape
    (2, 2)
    >>> domain.index(("Beta", "Low"))
    (1, 0)
    """

    __slots__ = ("_groupings", "_levels", "_positions", "names", "shape", "size")

    names: tuple[str, ...]
    shape: tuple[int, ...]
    size: int

    def __init__(
        self,
        levels: Mapping[str, Iterable[Label]],
        *,
        groupings: Mapping[str, Grouping] | None = None,
    ) -> None:
        if not levels:
            raise InvalidInput("the domain has no variables; it needs at least one")
        self._levels: dict[str, tuple[Label, ...]] = {}
        self._positions: dict[str, dict[Label, int]] = {}
        self._groupings: dict[str, Grouping] = {}
        for name, labels in levels.items():
            if not isinstance(name, str) or not name:
                raise InvalidInput(
                    f"variable name {name!r}: a name is a non-empty text; rename the variable"
                )
            if isinstance(labels, str):
                raise InvalidInput(
                    f"levels of {name!r} are the text {labels!r}; give a list of levels"
                )
            ordered = tuple(map(_plain, labels))
            try:
                positions = {label: place for place, label in enumerate(ordered)}
            except TypeError:
                raise InvalidInput(
                    f"a level of {name!r} is a list or another thing that can change; give texts, "
                    "numbers or tuples"
                ) from None
            if not ordered:
                raise InvalidInput(f"variable {name!r} has no levels; it needs at least one")
            if len(positions) != len(ordered):
                twice = next(label for label in ordered if ordered.count(label) > 1)
                raise InvalidInput(
                    f"variable {name!r} lists the level {twice!r} twice; levels must differ"
                )
            self._levels[name] = ordered
            self._positions[name] = positions
        self.names, self.shape = tuple(self._levels), tuple(map(len, self._levels.values()))
        self.size = math.prod(self.shape)
        for name, grouping in (groupings or {}).items():
            self._add(name, grouping)

    def _add(self, name: str, grouping: Grouping) -> None:
        if not isinstance(name, str) or not name:
            raise InvalidInput(
                f"grouping name {name!r}: a name is a non-empty text; rename the grouping"
            )
        if not isinstance(grouping, Grouping):
            raise InvalidInput(f"the grouping {name!r} is {grouping!r}; give Grouping(of, levels)")
        if name in self._levels:
            raise InvalidInput(
                f"the grouping {name!r} has the name of a variable; choose another name"
            )
        if grouping.of not in self._levels:
            known = ", ".join(map(repr, self.names))
            raise InvalidInput(
                f"the grouping {name!r} is of {grouping.of!r}; it must be of one of the variables "
                f"{known}"
            )
        for member in (member for _, members in grouping.groups for member in members):
            self.position(grouping.of, member)
        self._groupings[name] = grouping
        self._positions[name] = {label: place for place, (label, _) in enumerate(grouping.groups)}

    @property
    def groupings(self) -> dict[str, Grouping]:
        """The derived variables by name."""
        return dict(self._groupings)

    def grouping(self, name: str) -> tuple[str, tuple[tuple[int, ...], ...]] | None:
        """The variable behind a derived one and the positions behind each of its levels.

        None if `name` is a variable of its own.
        """
        of = self.base(name)
        if of == name:
            return None
        places, groups = self._positions[of], self._groupings[name].groups
        return of, tuple(tuple(places[member] for member in members) for _, members in groups)

    def base(self, name: str) -> str:
        """The variable whose levels a name speaks of: itself, or the one that it groups."""
        if name in self._levels:
            return name
        if name not in self._groupings:
            raise self._unknown(name)
        return self._groupings[name].of

    def level_sets(self, name: str) -> list[frozenset[int]]:
        """The positions behind each level of a name; a level of a variable stands for itself."""
        grouping = self.grouping(name)
        if grouping is None:
            return [frozenset((place,)) for place in range(len(self._levels[name]))]
        return [frozenset(members) for members in grouping[1]]

    def with_groupings(self, groupings: Mapping[str, Grouping]) -> Domain:
        """The same domain with more derived variables.

        Examples
        --------
        >>> from cellbounds import Domain, Grouping
        >>> domain = Domain({"age": ["0-17", "18-64", "65+"]})
        >>> grown = domain.with_groupings({"adult": Grouping("age", {"yes": ["18-64", "65+"]})})
        >>> grown.project(["adult"])
        Domain(adult[1])
        """
        for name, grouping in groupings.items():
            if self._groupings.get(name, grouping) != grouping:
                raise InvalidInput(
                    f"the grouping {name!r} is already there and means something else; choose "
                    "another name"
                )
        return Domain(self._levels, groupings={**self._groupings, **groupings})

    def check_partition(self, name: str) -> None:
        """Check that the levels of a variable share out everybody, each in one place."""
        of = self.base(name)
        if of == name:
            return
        behind = [place for members in self.level_sets(name) for place in members]
        labels = self._levels[of]
        if len(set(behind)) < len(behind):
            twice = next(place for place in behind if behind.count(place) > 1)
            raise InvalidInput(
                f"the groups of {name!r} overlap in {labels[twice]!r}, so rates of it do not add "
                f"up to one; use groups that share out the levels of {of!r}, or publish a margin"
            )
        if len(behind) < len(labels):
            absent = next(x for place, x in enumerate(labels) if place not in set(behind))
            raise InvalidInput(
                f"the groups of {name!r} leave out {absent!r}, so rates of it do not add up to "
                f"one; add a group for the other levels of {of!r}, or publish a margin"
            )

    def shares_out(self, name: str) -> bool:
        """Whether the levels of a variable hold everybody, each in one of them."""
        behind = [place for members in self.level_sets(name) for place in members]
        return sorted(behind) == list(range(len(self._levels[self.base(name)])))

    def coarser(self, name: str) -> tuple[str, ...]:
        """The levels of a hierarchy above a variable, the finest first.

        Those are derived variables that share out everybody and hold each level of the one before
        in one of theirs.

        Examples
        --------
        >>> from cellbounds import Domain, Grouping
        >>> regions = Grouping("county", {"North": ["A", "B"], "South": ["C"]})
        >>> domain = Domain({"county": ["A", "B", "C"]}, groupings={"region": regions})
        >>> domain.coarser("county"), domain.coarser("region")
        (('region',), ())
        """
        base, chain, own = self.base(name), list[str](), self.level_sets(name)
        others = [
            other
            for other, grouping in self._groupings.items()
            if grouping.of == base and other != name and self.shares_out(other)
        ]
        for other in sorted(others, key=lambda one: -len(self.level_sets(one))):
            sets = self.level_sets(other)
            if len(sets) < len(own) and all(any(part <= level for level in sets) for part in own):
                chain.append(other)
                own = sets
        return tuple(chain)

    def levels(self, name: str) -> tuple[Label, ...]:
        """The levels of one variable, in order."""
        if self.base(name) == name:
            return self._levels[name]
        return tuple(self._positions[name])

    def axis(self, name: str) -> int:
        """The axis that a variable has in arrays over this domain."""
        if name in self._groupings:
            raise InvalidInput(
                f"{name!r} groups the levels of {self._groupings[name].of!r} and has no axis; the "
                f"variables are {', '.join(map(repr, self.names))}"
            )
        return self.names.index(self.base(name))

    def _unknown(self, name: str) -> InvalidInput:
        known = ", ".join(map(repr, self._positions))
        return InvalidInput(f"unknown variable {name!r}; the variables are {known}")

    def axes(self, names: Iterable[str]) -> tuple[int, ...]:
        """The axes of several variables, in the order given."""
        return tuple(map(self.axis, names))

    def position(self, name: str, label: Label) -> int:
        """The place of a level among the levels of its variable."""
        try:
            return self._positions[name][label]
        except (KeyError, TypeError):
            levels = self.levels(name)
            shown = ", ".join(map(repr, levels[:8])) + (", ..." if len(levels) > 8 else "")
            hint = ""
            if any(str(level) == str(label) for level in levels):
                kind = type(levels[0]).__name__
                hint = f" (a label of type {type(label).__name__}; these are of type {kind})"
            raise InvalidInput(
                f"unknown level {label!r} of variable {name!r}{hint}; its levels are {shown}"
            ) from None

    def index(self, labels: Sequence[Label]) -> tuple[int, ...]:
        """The index of the cell with these labels, one label for each variable in order."""
        if len(labels) != len(self._levels):
            raise InvalidInput(
                f"{len(labels)} labels {tuple(labels)!r} for {len(self._levels)} variables "
                f"({', '.join(self.names)}); give one label for each"
            )
        return tuple(
            self.position(name, label) for name, label in zip(self._levels, labels, strict=True)
        )

    def labels(self, index: Sequence[int]) -> tuple[Label, ...]:
        """The labels of the cell at an index."""
        return tuple(
            levels[place] for levels, place in zip(self._levels.values(), index, strict=True)
        )

    def cells(self) -> Iterator[tuple[Label, ...]]:
        """The labels of every cell, the last variable running fastest."""
        return itertools.product(*self._levels.values())

    def project(self, names: Iterable[str]) -> Domain:
        """The domain of some of the variables, in the order given; derived ones become plain."""
        chosen = self.distinct(names)
        if not chosen:
            return Domain({})  # which says what is wrong with it
        # Names and levels were checked when this domain was made; margins are asked for often.
        margin = object.__new__(Domain)
        margin._levels = {name: self.levels(name) for name in chosen}
        margin._positions = {name: self._positions[name] for name in chosen}
        margin._groupings = {}
        margin.names, margin.shape = chosen, tuple(map(len, margin._levels.values()))
        margin.size = math.prod(margin.shape)
        return margin

    def part(self, names: Iterable[str]) -> Domain:
        """Some variables in the order of this domain, and the groupings of them."""
        chosen = frozenset(names)
        part = self.project(name for name in self._levels if name in chosen)
        groupings = {
            name: grouping for name, grouping in self._groupings.items() if grouping.of in chosen
        }
        return part.with_groupings(groupings) if groupings else part

    def distinct(self, names: Iterable[str]) -> tuple[str, ...]:
        """Check that names are variables of this domain or derived ones, each named once."""
        if isinstance(names, str):
            raise InvalidInput(
                f"variables are given as the text {names!r}; give a list, such as [{names!r}]"
            )
        if not isinstance(names, Iterable):
            raise InvalidInput(f"variables are given as {names!r}; give a list of their names")
        chosen = tuple(names)
        for name in chosen:
            if not isinstance(name, str):
                raise InvalidInput(f"a variable is given as {name!r}; names of variables are text")
            if name not in self._positions:
                raise self._unknown(name)
            if chosen.count(name) > 1:
                raise InvalidInput(f"variable {name!r} is named twice; name it once")
        return chosen

    def to_dict(self) -> dict[str, list[Label]]:
        """Names and levels as plain lists."""
        return {name: list(labels) for name, labels in self._levels.items()}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Domain):
            return NotImplemented
        return list(self._levels.items()) == list(other._levels.items())

    def __hash__(self) -> int:
        return hash(tuple(self._levels.items()))

    def __contains__(self, name: object) -> bool:
        return name in self._levels

    def __repr__(self) -> str:
        inside = " x ".join(f"{name}[{len(labels)}]" for name, labels in self._levels.items())
        return f"Domain({inside})"
