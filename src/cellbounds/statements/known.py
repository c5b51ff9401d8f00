"""Side information: what is known of the counts of a margin besides what was published."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from cellbounds.data.domain import Domain
from cellbounds.data.storage import DENSE_LIMIT
from cellbounds.errors import InvalidInput, TooMuchWork
from cellbounds.runtime.arrays import IntArray, whole_array
from cellbounds.statements.inequalities import MarginBounds
from cellbounds.statements.notation import names_text
from cellbounds.statements.numbers import whole_number
from cellbounds.statements.statement import BoundedCounts, flat_index, objects, variable_names

if TYPE_CHECKING:
    from cellbounds.statements.release_files import FileEntry, ReleaseFile

_PARTS = ("lower", "upper", "values")
"""What may be known of a count."""


class Known(BoundedCounts):
    """What is known of a margin besides what was published: bounds, or lists of possible values.

    An intruder's side information (``knows=`` of :func:`judge` and :func:`audit`), or what
    everybody knows (structural zeros). It is no prior: no count is more likely for it than another.

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
    >>> from cellbounds import Known
    >>> Known(["county"], lower={"Alpha": 10}, values={"Beta": [50, 55, 60]})
    Known([county]: lower, values)
    """

    __slots__ = ("lower", "upper", "values", "variables")

    kind: ClassVar[str] = "prior"  # as ledgers and certificates of 0.1 have it
    section: ClassVar[str] = "known"
    published: ClassVar[bool] = False

    variables: tuple[str, ...]

    def __init__(
        self,
        variables: Iterable[str],
        *,
        lower: object = None,
        upper: object = None,
        values: object = None,
    ) -> None:
        self.variables = variable_names(variables, "Known")
        if lower is None and upper is None and values is None:
            raise InvalidInput("Known says nothing; give lower=, upper= or values=")
        self.lower, self.upper, self.values = lower, upper, values

    @property
    def notation(self) -> str:
        """A short text for this statement."""
        return f"knowledge of [{names_text(self.variables)}]"

    @property
    def lists_values(self) -> bool:
        """Whether there are lists of values."""
        return self.values is not None

    def description(self, domain: Domain) -> str:
        """What is known, and of which counts."""
        return f"what is known besides of the counts over {', '.join(self.variables)}"

    def known(self, domain: Domain) -> MarginBounds:
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
        chosen: dict[int, tuple[int, ...]] = {}
        for place, values in self._lists_by_place(margin, f"a value of the {what}"):
            if values is None:
                continue
            numbers = _listed(values, f"a value of the {what}")
            chosen[place] = tuple(
                sorted({whole_number(number, f"a value of the {what}") for number in numbers})
            )
            if not chosen[place]:
                where = margin.labels([int(i) for i in np.unravel_index(place, margin.shape)])
                raise InvalidInput(
                    f"{what}: the list of values for {where} is empty; give at least one"
                )
        return MarginBounds(lower, upper, chosen)

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

    def _lists_by_place(self, margin: Domain, what: str) -> Iterable[tuple[int, Any]]:
        if self.values is None:
            return ()
        if isinstance(self.values, Mapping):
            return [(flat_index(margin, key), value) for key, value in self.values.items()]
        nested = list(_listed(self.values, what))
        for _ in range(len(margin.shape) - 1):
            if not all(isinstance(outer, list | tuple | np.ndarray) for outer in nested):
                raise InvalidInput(
                    f"{what}: lists for a margin of {len(margin.shape)} variables must be "
                    "nested as deep, or be a mapping from labels"
                )
            nested = [inner for outer in nested for inner in outer]
        if len(nested) != margin.size:
            raise InvalidInput(f"{what}: {len(nested)} lists for a margin of {margin.size} cells")
        return enumerate(nested)

    def to_dict(self) -> dict[str, Any]:
        """This statement as plain values.

        `keyed` names what is written as pairs of labels and value; labels may be numbers, so that
        such pairs cannot be told from an array of lists otherwise.
        """
        parts = {name: getattr(self, name) for name in _PARTS}
        return {
            self.kind: {
                "variables": list(self.variables),
                **{name: _plain(given) for name, given in parts.items()},
                "keyed": [name for name, given in parts.items() if isinstance(given, Mapping)],
            }
        }

    def to_plain(self, domain: Domain) -> dict[str, Any]:
        """With everything laid out flat."""
        known = self.known(domain)
        return {
            self.kind: {
                "variables": list(self.variables),
                "lower": [int(low) for low in known.lower.flat],
                "upper": [None if high < 0 else int(high) for high in known.upper.flat],
                "values": [[place, list(listed)] for place, listed in known.values.items()],
            }
        }

    @classmethod
    def from_plain(cls, values: dict[str, Any], domain: Domain) -> Self:
        """From the plain values of a ledger."""
        shape = domain.project(values["variables"]).shape
        lists: list[Any] = [None] * math.prod(shape)
        for place, numbers in values["values"]:
            lists[place] = numbers
        return cls(
            values["variables"],
            lower=objects(values["lower"], shape),
            upper=objects(values["upper"], shape),
            values=objects(lists, shape).tolist() if values["values"] else None,
        )

    def to_entry(self, domain: Domain, figures: str) -> FileEntry:
        """Variables; a line for each count of which something is known."""
        margin, known = domain.project(self.variables), self.known(domain)
        rows: list[list[object]] = []
        for flat, labels in enumerate(margin.cells()):
            lower, upper = int(known.lower.flat[flat]), int(known.upper.flat[flat])
            listed = " ".join(map(str, known.values.get(flat, ())))
            if lower or upper >= 0 or listed:
                rows.append([*labels, lower or "", upper if upper >= 0 else "", listed])
        if not rows:
            rows = [[*next(margin.cells()), 0, "", ""]]  # what says nothing is still said
        return {"variables": list(self.variables), "bounds": figures}, _PARTS, rows

    @classmethod
    def from_entry(cls, entry: Any, file: ReleaseFile) -> Self:
        """From ``[[known]]``: variables, and lower, upper, values or a file of bounds."""
        file.only(entry, {"variables", *_PARTS, "bounds"}, "[[known]]")
        names = file.names(entry, "variables")
        if "bounds" not in entry:
            return cls(names, **{part: entry[part] for part in _PARTS if part in entry})
        margin = file.margin(names)
        known: dict[str, Any] = {}
        for part in _PARTS:
            laid = file.column(str(entry["bounds"]), margin, part, needed=False)
            if laid:
                known[part] = {
                    labels: text.split() if part == "values" else text
                    for labels, text in laid.items()
                    if text.strip()
                }
        return cls(names, **known)

    def __repr__(self) -> str:
        parts = [name for name in _PARTS if getattr(self, name) is not None]
        return f"Known([{names_text(self.variables)}]: {', '.join(parts)})"


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


def _listed(values: object, what: str) -> Iterable[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise InvalidInput(f"{what} is {values!r}; give a list of possible counts")
    return values
