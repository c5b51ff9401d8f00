"""What can be said about a table: its total, and what is known beforehand of a margin."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from cellbounds.data.domain import Domain, Label
from cellbounds.data.storage import DENSE_LIMIT
from cellbounds.errors import InvalidInput, TooMuchWork
from cellbounds.runtime.arrays import IntArray, whole_array
from cellbounds.statements.numbers import whole_number

__all__ = [
    "Known",
    "Prior",
    "Total",
    "check_rate_variables",
    "flat_index",
    "names_text",
    "shaped_entries",
    "variable_names",
]


def names_text(names: Sequence[str]) -> str:
    """Variables as they stand in the notation, quoted where they need it."""
    return ",".join(
        name if not set(name) & set('[]|,@~<"\\ \t') else '"' + name.replace('"', '""') + '"'
        for name in names
    )


@dataclass(frozen=True, slots=True, init=False)
class Total:
    """The sample size N, or what is known of it.

    Examples
    --------
    >>> from cellbounds import Total
    >>> Total(135)
    Total(135)
    >>> Total(lower=100, upper=200)
    Total(lower=100, upper=200)
    """

    lower: int
    upper: int | None

    def __init__(self, n: object = None, *, lower: object = None, upper: object = None) -> None:
        if n is not None:
            if lower is not None or upper is not None:
                raise InvalidInput(
                    "a total with n= needs no lower= or upper=; give one or the other"
                )
            lower = upper = n
        low = 0 if lower is None else whole_number(lower, "the total's lower")
        high = None if upper is None else whole_number(upper, "the total's upper")
        if high is not None and high < low:
            raise InvalidInput(f"the total's lower {low} is above its upper {high}; swap them")
        object.__setattr__(self, "lower", low)
        object.__setattr__(self, "upper", high)

    @property
    def exact(self) -> int | None:
        """N itself if it is known."""
        return self.lower if self.lower == self.upper else None

    @property
    def notation(self) -> str:
        """This statement in the notation of releases."""
        if self.exact is not None:
            return f"N={self.exact}"
        return f"N in {self.lower}..{'' if self.upper is None else self.upper}"

    def to_dict(self) -> dict[str, Any]:
        """This statement as plain values."""
        return {"total": {"lower": self.lower, "upper": self.upper}}

    def __repr__(self) -> str:
        if self.exact is not None:
            return f"Total({self.exact})"
        return f"Total(lower={self.lower}, upper={self.upper})"


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """Prior knowledge laid out over a margin: bounds for each cell, and lists of values.

    `upper` holds -1 where nothing is known. `values` maps a flat index to the possible counts.
    """

    lower: IntArray
    upper: IntArray
    values: Mapping[int, tuple[int, ...]]

    def limits(self) -> tuple[IntArray, IntArray]:
        """Flat lower and upper bounds (-1: none), the ends of the lists among them."""
        lower, upper = self.lower.ravel().tolist(), self.upper.ravel().tolist()
        for place, possible in self.values.items():
            lower[place] = max(lower[place], min(possible))
            high = max(possible)
            upper[place] = high if upper[place] < 0 else min(upper[place], high)
        return whole_array(lower, (len(lower),)), whole_array(upper, (len(upper),))


class Prior:
    """What is known beforehand about a margin: bounds, or lists of possible values.

    Parameters
    ----------
    variables
        The margin: all variables of the domain for its cells, the givens for the row sums.
    lower, upper
        Bounds: one number for all, an array in the margin's shape (None: nothing known), or a
        mapping from labels (a tuple, or a single label if there is one variable).
    values
        Lists of possible counts: a mapping from labels, or an array of lists.

    Examples
    --------
    >>> from cellbounds import Prior
    >>> Prior(["county"], lower={"Alpha": 10}, values={"Beta": [50, 55, 60]})
    Prior([county]: lower, values)
    """

    __slots__ = ("lower", "upper", "values", "variables")

    def __init__(
        self,
        variables: Iterable[str],
        *,
        lower: object = None,
        upper: object = None,
        values: object = None,
    ) -> None:
        self.variables = variable_names(variables, "a prior")
        if lower is None and upper is None and values is None:
            raise InvalidInput("a prior says nothing; give lower=, upper= or values=")
        self.lower, self.upper, self.values = lower, upper, values

    @property
    def notation(self) -> str:
        """A short text for this statement."""
        return f"prior on [{names_text(self.variables)}]"

    def known(self, domain: Domain) -> Known:
        """Lay this knowledge out over its margin, checked against the domain."""
        margin = domain.project(self.variables)
        what = self.notation
        if margin.size > DENSE_LIMIT:
            raise TooMuchWork(
                f"{what}: its margin has {margin.size} cells, and up to {DENSE_LIMIT} are listed; "
                "say it about fewer variables"
            )
        lower = self._laid_out(self.lower, margin, 0, f"lower of the {what}")
        upper = self._laid_out(self.upper, margin, -1, f"upper of the {what}")
        crossed = np.argwhere((upper >= 0) & (upper < lower))
        if len(crossed):
            raise InvalidInput(
                f"{what}: lower is above upper for {margin.labels(crossed[0])}; swap or correct"
            )
        return Known(lower, upper, self._value_lists(margin))

    @staticmethod
    def _laid_out(given: object, margin: Domain, nothing: int, what: str) -> IntArray:
        flat = [nothing] * margin.size
        if isinstance(given, Mapping):
            for labels, value in given.items():
                if value is not None:
                    flat[flat_index(margin, labels)] = whole_number(value, what)
        elif given is not None:
            entries = np.array(given, dtype=object)
            if entries.shape not in ((), margin.shape):
                raise InvalidInput(
                    f"the {what} has shape {entries.shape}; its margin needs {margin.shape}"
                )
            spread = np.broadcast_to(entries, margin.shape)
            flat = [nothing if v is None else whole_number(v, what) for v in spread.flat]
        return whole_array(flat, margin.shape)

    def _value_lists(self, margin: Domain) -> dict[int, tuple[int, ...]]:
        if self.values is None:
            return {}
        what = f"a value of the {self.notation}"
        lists: Iterable[tuple[int, Any]]
        if isinstance(self.values, Mapping):
            lists = [(flat_index(margin, key), value) for key, value in self.values.items()]
        else:
            nested: Any = self.values
            if isinstance(nested, str) or not isinstance(nested, Iterable):
                raise InvalidInput(f"{what} is {nested!r}; give a list of possible counts")
            for _ in range(len(margin.shape) - 1):
                if not all(isinstance(outer, list | tuple | np.ndarray) for outer in nested):
                    raise InvalidInput(
                        f"{what}: lists for a margin of {len(margin.shape)} variables must be "
                        "nested as deep, or be a mapping from labels"
                    )
                nested = [inner for outer in nested for inner in outer]
            nested = list(nested)
            lists = list(enumerate(nested))
            if len(nested) != margin.size:
                raise InvalidInput(
                    f"{what}: {len(nested)} lists for a margin of {margin.size} cells"
                )
        chosen: dict[int, tuple[int, ...]] = {}
        for place, value in lists:
            if value is None:
                continue
            if isinstance(value, str) or not isinstance(value, Iterable):
                raise InvalidInput(f"{what} is {value!r}; give a list of possible counts")
            chosen[place] = tuple(sorted({whole_number(number, what) for number in value}))
            if not chosen[place]:
                where = margin.labels([int(i) for i in np.unravel_index(place, margin.shape)])
                raise InvalidInput(
                    f"{self.notation}: the list of values for {where} is empty; give at least one"
                )
        return chosen

    def to_dict(self) -> dict[str, Any]:
        """This statement as plain values.

        `keyed` names what is written as pairs of labels and value; labels may be numbers, so that
        such pairs cannot be told from an array of lists otherwise.
        """
        said = {"lower": self.lower, "upper": self.upper, "values": self.values}
        return {
            "prior": {
                "variables": list(self.variables),
                **{name: _plain(given) for name, given in said.items()},
                "keyed": [name for name, given in said.items() if isinstance(given, Mapping)],
            }
        }

    def __repr__(self) -> str:
        parts = [name for name in ("lower", "upper", "values") if getattr(self, name) is not None]
        return f"Prior([{names_text(self.variables)}]: {', '.join(parts)})"


def variable_names(variables: Iterable[str], what: str) -> tuple[str, ...]:
    """Check a list of variables as a statement names them."""
    if isinstance(variables, str):
        raise InvalidInput(
            f"the variables of {what} are the text {variables!r}; give a list, [{variables!r}]"
        )
    names = tuple(variables)
    if not names:
        raise InvalidInput(f"{what} names no variable; name at least one")
    return names


def shaped_entries(given: object, axes: int, what: str, kind: str) -> npt.NDArray[np.object_]:
    """An array of entries, one axis for each variable that is named."""
    try:
        entries = np.array(given, dtype=object)
    except ValueError:  # lists that numpy cannot lay out at all
        entries = np.empty(0, dtype=object)
    ragged = any(isinstance(one, list | tuple | np.ndarray) for one in entries.flat)
    if entries.ndim != axes or not entries.size or ragged:
        raise InvalidInput(
            f"{what}: {kind} of shape {entries.shape}; it names {axes} "
            f"{'variable' if axes == 1 else 'variables'}, so they need {axes} "
            f"{'axis' if axes == 1 else 'axes'}, and lists of the same length"
        )
    return entries


def check_rate_variables(
    domain: Domain, responses: Sequence[str], given: Sequence[str], notation: str
) -> None:
    """Check that rates of these variables add up to one and speak of each variable once."""
    behind: dict[str, str] = {}
    for name in (*given, *responses):
        found = domain.grouping(name)
        base = name if found is None else found[0]
        if base in behind:
            raise InvalidInput(
                f"{notation}: {behind[base]!r} and {name!r} both speak of the levels of {base!r}; "
                "name one of them"
            )
        behind[base] = name
    for name in responses:
        domain.check_partition(name)


def flat_index(margin: Domain, labels: Label | tuple[Label, ...]) -> int:
    """The place of a cell in a margin laid out flat; a single label may stand by itself."""
    whole = labels if isinstance(labels, tuple) else (labels,)
    if len(margin.shape) == 1 and labels in margin.levels(margin.names[0]):
        whole = (labels,)  # a level that is itself a tuple
    return int(np.ravel_multi_index(margin.index(whole), margin.shape))


def _plain(given: object) -> Any:
    if isinstance(given, Mapping):
        pairs = [
            [list(key) if isinstance(key, tuple) else [key], _plain(value)]
            for key, value in given.items()
        ]
        return sorted(pairs, key=repr)
    if isinstance(given, np.ndarray):
        return _plain(given.tolist())  # an array of objects may hold numpy's integers
    if isinstance(given, Sequence | set | frozenset | range) and not isinstance(given, str):
        return [_plain(value) for value in (sorted(given) if isinstance(given, set) else given)]
    if isinstance(given, np.integer | Fraction):
        return int(given) if math.floor(given) == given else str(given)
    return given
