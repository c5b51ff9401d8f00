"""Linear statements: a weighted sum of the counts of a margin, and its limits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from cellbounds.data.domain import Domain, Label
from cellbounds.errors import InvalidInput
from cellbounds.runtime.arrays import IntArray, whole_array
from cellbounds.statements.numbers import exact_number
from cellbounds.statements.statements import flat_index, names_text, shaped_entries, variable_names

__all__ = ["Linear"]


class Linear:
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
            numbers = [exact_number(one, f"{what}: a coefficient") for one in entries.flat]
            read = np.empty(len(numbers), dtype=object)
            read[:] = numbers
            read = read.reshape(entries.shape)
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
        if self.upper is None:
            return f"sum >= {self.lower}"
        return (
            f"sum <= {self.upper}" if self.lower is None else f"{self.lower} <= sum <= {self.upper}"
        )

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
        numbers = self.laid_out(domain)
        scale = math.lcm(*(one.denominator for one in numbers))
        whole = [int(one * scale) for one in numbers]
        shared = math.gcd(*whole)
        lower = None if self.lower is None else math.ceil(self.lower * scale / shared)
        upper = None if self.upper is None else math.floor(self.upper * scale / shared)
        return whole_array([one // shared for one in whole], (len(whole),)), lower, upper

    def meaning(self, domain: Domain) -> dict[str, Any]:
        """What is said, however it was written."""
        coefficients, lower, upper = self.terms(domain)
        values = coefficients.tolist()
        if next(one for one in values if one) < 0:
            values = [-one for one in values]
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
        return {
            "linear": {
                "variables": list(self.variables),
                "coefficients": coefficients,
                "lower": None if self.lower is None else str(self.lower),
                "upper": None if self.upper is None else str(self.upper),
            }
        }

    def __repr__(self) -> str:
        return f"Linear([{names_text(self.variables)}]: {self.rule})"
