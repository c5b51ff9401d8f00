"""Linear statements: a weighted sum of the counts of a margin, and its limits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from cellbounds.data.cell_groups import cells_behind
from cellbounds.data.domain import Domain, Label
from cellbounds.errors import InvalidInput
from cellbounds.runtime.arrays import IntArray, whole_array
from cellbounds.statements.inequalities import NO_LOWER, NO_UPPER, LinearRows, impossible, narrowed
from cellbounds.statements.notation import names_text
from cellbounds.statements.numbers import exact_number
from cellbounds.statements.statement import (
    Statement,
    flat_index,
    objects,
    shaped_entries,
    variable_names,
)

if TYPE_CHECKING:
    from cellbounds.statements.release_files import FileEntry, ReleaseFile


class Linear(Statement):
    """A weighted sum of the counts of a margin lies between two limits.

    Parameters
    ----------
    variables
        The variables of the margin; derived ones too.
    coefficients
        A mapping from labels (a tuple, or a single label if there is one variable) to numbers,
        cells that are not named having 0; or an array in the margin's shape. Numbers are whole,
        Fractions, Decimals or text (``"1/3"``, ``"0.25"``); floats are refused.
    equals
        What the sum is. Instead of:
    lower, upper
        What the sum is at least and at most; one of them may be left out.

    Examples
    --------
    Twice as many in Alpha as in Beta, or more:

    >>> from cellbounds import Domain, Linear
    >>> twice = Linear(["county"], {"Alpha": 1, "Beta": -2}, lower=0)
    >>> twice
    Linear([county]: sum >= 0)
    >>> twice.terms(Domain({"county": ["Alpha", "Beta", "Gamma"]}))
    (array([ 1, -2,  0]), 0, None)
    """

    __slots__ = ("coefficients", "lower", "upper", "variables")

    kind: ClassVar[str] = "linear"

    coefficients: dict[Label, Fraction] | npt.NDArray[np.object_]
    lower: Fraction | None
    upper: Fraction | None
    variables: tuple[str, ...]

    def __init__(
        self,
        variables: Iterable[str],
        coefficients: object,
        *,
        equals: object = None,
        lower: object = None,
        upper: object = None,
    ) -> None:
        self.variables = variable_names(variables, "a linear statement")
        what = f"the {self.notation}"
        self.coefficients = self._read_coefficients(coefficients, what)
        if equals is not None:
            if lower is not None or upper is not None:
                raise InvalidInput(
                    f"{what} has equals={equals!r} and lower= or upper= too; give one or the other"
                )
            lower = upper = equals
        if lower is None and upper is None:
            raise InvalidInput(f"{what} has no limit; give equals=, lower= or upper=")
        self.lower = None if lower is None else exact_number(lower, f"{what}: its lower limit")
        self.upper = None if upper is None else exact_number(upper, f"{what}: its upper limit")
        if self.lower is not None and self.upper is not None and self.upper < self.lower:
            raise InvalidInput(
                f"{what}: its lower limit {self.lower} is above its upper limit {self.upper}; "
                "swap them"
            )

    def _read_coefficients(
        self, given: object, what: str
    ) -> dict[Label, Fraction] | npt.NDArray[np.object_]:
        read: dict[Label, Fraction] | npt.NDArray[np.object_]
        if isinstance(given, Mapping):
            read = {
                labels: exact_number(value, f"{what}: the coefficient of {labels!r}")
                for labels, value in given.items()
            }
            numbers = list(read.values())
        else:
            entries = shaped_entries(given, len(self.variables), what, "coefficients")
            numbers = [exact_number(entry, f"{what}: a coefficient") for entry in entries.flat]
            read = objects(numbers, entries.shape)
            read.flags.writeable = False
        if not any(numbers):
            raise InvalidInput(
                f"{what} has no coefficient other than 0, so it says nothing of the table; give at "
                "least one"
            )
        return read

    @property
    def notation(self) -> str:
        """A short text for this statement."""
        return f"linear on [{names_text(self.variables)}]"

    @property
    def rule(self) -> str:
        """The limits of the sum, in words."""
        if self.lower == self.upper:
            return f"sum = {self.lower}"
        if self.lower is None or self.upper is None:
            return f"sum <= {self.upper}" if self.lower is None else f"sum >= {self.lower}"
        return f"{self.lower} <= sum <= {self.upper}"

    @property
    def summary(self) -> str:
        """The variables and the limits of the sum."""
        return f"{self.notation}: {self.rule}"

    def description(self, domain: Domain) -> str:
        """What is summed, and its limits."""
        names = ", ".join(self.variables)
        return f"a sum of the counts over {names} with stated weights: {self.rule}"

    def check(self, domain: Domain) -> None:
        """Check variables and shape by laying it out."""
        self.laid_out(domain)

    def laid_out(self, domain: Domain) -> list[Fraction]:
        """The coefficient of each cell of the margin, checked against the domain."""
        margin = domain.project(self.variables)
        if isinstance(self.coefficients, np.ndarray):
            if self.coefficients.shape != margin.shape:
                raise InvalidInput(
                    f"the {self.notation} has coefficients of shape {self.coefficients.shape}; "
                    f"its variables need {margin.shape}"
                )
            laid: list[Fraction] = self.coefficients.ravel().tolist()
            return laid
        flat = [Fraction(0)] * margin.size
        seen: set[int] = set()
        for labels, number in self.coefficients.items():
            place = flat_index(margin, labels)
            if place in seen:
                raise InvalidInput(
                    f"the {self.notation} names the cell {labels!r} twice; name it once"
                )
            seen.add(place)
            flat[place] = number
        return flat

    def terms(self, domain: Domain) -> tuple[IntArray, int | None, int | None]:
        """Whole coefficients without a common divisor, and whole limits of their sum.

        Coefficients are laid out flat over the cells of the margin. Counts are whole, so limits
        are rounded inwards; if no whole number lies between them, the lower comes out above the
        upper one.

        Examples
        --------
        >>> from cellbounds import Domain, Linear
        >>> Linear(["a"], ["1/2", "1/3"], upper="1.7").terms(Domain({"a": ["x", "y"]}))
        (array([3, 2]), None, 10)
        """
        whole, lower, upper = self._unrounded(domain)
        shared = math.gcd(*whole)
        lower = None if lower is None else -(-lower // shared)
        upper = None if upper is None else upper // shared
        return whole_array([number // shared for number in whole], (len(whole),)), lower, upper

    def _unrounded(self, domain: Domain) -> tuple[list[int], int | None, int | None]:
        """Coefficients and limits as integers, without the rounding that whole counts allow."""
        laid = self.laid_out(domain)
        limits = [limit for limit in (self.lower, self.upper) if limit is not None]
        scale = math.lcm(*(number.denominator for number in (*laid, *limits)))
        lower, upper = (
            None if limit is None else int(limit * scale) for limit in (self.lower, self.upper)
        )
        return [int(number * scale) for number in laid], lower, upper

    def inequalities(self, domain: Domain, *, closed: bool = False) -> Iterator[LinearRows]:
        """One row: the weighted sum of the cells behind the margin."""
        coefficients, lower, upper = self._unrounded(domain)
        groups = cells_behind(domain, self.variables)
        spread = np.repeat(np.array(coefficients, dtype=object), groups.widths)
        # Derived variables may overlap: a cell behind several groups adds their coefficients.
        cells, back = np.unique(groups.cells, return_inverse=True)
        summed = np.zeros(len(cells), dtype=object)
        np.add.at(summed, back, spread)
        says = np.asarray(summed != 0, dtype=bool)
        if not says.any():
            if (lower is not None and lower > 0) or (upper is not None and upper < 0):
                yield impossible(0)
            return
        shared = 1 if closed else math.gcd(*summed[says].tolist())
        # Limits are rounded inwards, as sums are whole.
        lower = None if lower is None else -(-lower // shared)
        upper = None if upper is None else upper // shared
        factor = 2 if lower == NO_LOWER or upper == NO_UPPER else 1
        yield LinearRows(
            np.array([int(says.sum())]),
            cells[says],
            narrowed(summed[says] // shared * factor),
            whole_array([NO_LOWER if lower is None else lower * factor], (1,)),
            whole_array([NO_UPPER if upper is None else upper * factor], (1,)),
            np.array([0]),
        )

    def meaning(self, domain: Domain) -> dict[str, Any]:
        """What is said, however it was written."""
        coefficients, lower, upper = self.terms(domain)
        values = coefficients.tolist()
        if next(value for value in values if value) < 0:
            values = [-value for value in values]
            lower, upper = (None if end is None else -end for end in (upper, lower))
        return {
            "Linear": list(self.variables),
            "coefficients": values,
            "lower": lower,
            "upper": upper,
        }

    def to_dict(self) -> dict[str, Any]:
        """This statement as plain values; numbers as exact text."""
        coefficients: list[Any]
        if isinstance(self.coefficients, np.ndarray):
            coefficients = np.vectorize(str, otypes=[object])(self.coefficients).tolist()
        else:
            coefficients = sorted(
                (
                    [list(labels) if isinstance(labels, tuple) else [labels], str(number)]
                    for labels, number in self.coefficients.items()
                ),
                key=repr,
            )
        return {self.kind: self._plain(coefficients)}

    def _plain(self, coefficients: list[Any]) -> dict[str, Any]:
        return {
            "variables": list(self.variables),
            "coefficients": coefficients,
            "lower": None if self.lower is None else str(self.lower),
            "upper": None if self.upper is None else str(self.upper),
        }

    def to_plain(self, domain: Domain) -> dict[str, Any]:
        """With coefficients laid out flat."""
        return {self.kind: self._plain([str(number) for number in self.laid_out(domain)])}

    @classmethod
    def from_plain(cls, values: dict[str, Any], domain: Domain) -> Self:
        """From the plain values of a ledger."""
        names = values["variables"]
        laid = objects(values["coefficients"], domain.project(names).shape)
        return cls(names, laid, lower=values["lower"], upper=values["upper"])

    def to_entry(self, domain: Domain, figures: str) -> FileEntry:
        """Variables and limits; the coefficients other than 0 in a column."""
        entry: dict[str, Any] = {"variables": list(self.variables), "coefficients": figures}
        if self.lower == self.upper:
            entry["equals"] = str(self.lower)
        else:
            limits = (("lower", self.lower), ("upper", self.upper))
            entry |= {key: str(limit) for key, limit in limits if limit is not None}
        cells = zip(domain.project(self.variables).cells(), self.laid_out(domain), strict=True)
        rows = [[*labels, str(number)] for labels, number in cells if number]
        return entry, ("coefficient",), rows

    @classmethod
    def from_entry(cls, entry: Any, file: ReleaseFile) -> Self:
        """From ``[[linear]]``: variables, coefficients, and equals, lower or upper."""
        limits = ("equals", "lower", "upper")
        file.only(entry, {"variables", "coefficients", *limits}, "[[linear]]")
        names, coefficients = file.names(entry, "variables"), entry.get("coefficients")
        if file.is_name(coefficients):
            coefficients = file.column(coefficients, file.margin(names), "coefficient")
        elif not isinstance(coefficients, list | dict):
            raise InvalidInput(f"{file}: [[linear]] needs coefficients, a CSV file or nested lists")
        given = {key: file.plain(entry[key]) for key in limits if key in entry}
        return cls(names, file.plain(coefficients), **given)

    def __repr__(self) -> str:
        return f"Linear([{names_text(self.variables)}]: {self.rule})"
