"""Variables, their levels, and the cells they span."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

from cellbounds.errors import InvalidInput

__all__ = ["Domain", "Label"]

Label = Hashable


class Domain:
    """An ordered set of variables, each with its ordered levels.

    Parameters
    ----------
    levels
        A mapping from the name of each variable to its levels, in order. The order of the
        variables is the order of the axes of every array over this domain.

    Examples
    --------
    >>> from cellbounds import Domain
    >>> domain = Domain({"county": ["Alpha", "Beta"], "education": ["Low", "High"]})
    >>> domain.shape
    (2, 2)
    >>> domain.index(("Beta", "Low"))
    (1, 0)
    """

    __slots__ = ("_axes", "_levels", "_positions")

    def __init__(self, levels: Mapping[str, Iterable[Label]]) -> None:
        if not levels:
            raise InvalidInput("the domain has no variables; it needs at least one")
        self._levels: dict[str, tuple[Label, ...]] = {}
        self._positions: dict[str, dict[Label, int]] = {}
        for name, labels in levels.items():
            if not isinstance(name, str) or not name:
                raise InvalidInput(
                    f"variable name {name!r}: a name is a non-empty text; rename the variable"
                )
            if isinstance(labels, str):
                raise InvalidInput(
                    f"levels of {name!r} are the text {labels!r}; give a list of levels"
                )
            ordered = tuple(labels)
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
        self._axes = {name: axis for axis, name in enumerate(self._levels)}

    @property
    def names(self) -> tuple[str, ...]:
        """The variables, in order."""
        return tuple(self._levels)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of levels of each variable, in order."""
        return tuple(len(labels) for labels in self._levels.values())

    @property
    def size(self) -> int:
        """The number of cells (a Python integer: it may be very large)."""
        size = 1
        for labels in self._levels.values():
            size *= len(labels)
        return size

    def levels(self, name: str) -> tuple[Label, ...]:
        """The levels of one variable, in order."""
        levels = self._levels.get(name)
        if levels is None:
            self.axis(name)  # raises, naming the variables
        return self._levels[name]

    def axis(self, name: str) -> int:
        """The axis that a variable has in arrays over this domain."""
        try:
            return self._axes[name]
        except KeyError:
            known = ", ".join(map(repr, self.names))
            raise InvalidInput(f"unknown variable {name!r}; the variables are {known}") from None

    def axes(self, names: Iterable[str]) -> tuple[int, ...]:
        """The axes of several variables, in the order given."""
        return tuple(self.axis(name) for name in names)

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
        """The domain of some of the variables, in the order given."""
        chosen = self.distinct(names)
        return Domain({name: self.levels(name) for name in chosen})

    def distinct(self, names: Iterable[str]) -> tuple[str, ...]:
        """Check that names are variables of this domain, each named once."""
        if isinstance(names, str):
            raise InvalidInput(
                f"variables are given as the text {names!r}; give a list, such as [{names!r}]"
            )
        chosen = tuple(names)
        self.axes(chosen)
        for name in chosen:
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
