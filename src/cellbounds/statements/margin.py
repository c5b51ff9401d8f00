"""Published margins: exact counts, rounded ones, ranges, suppressed cells."""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from cellbounds.data.domain import Domain
from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput
from cellbounds.runtime.arrays import BoolArray, IntArray, whole_array
from cellbounds.statements.hiding import HidingRule, hiding_rules
from cellbounds.statements.inequalities import MarginBounds
from cellbounds.statements.mechanisms import Mechanism, RandomRounding, mechanism_of
from cellbounds.statements.notation import Request, names_text, parse, summed_over
from cellbounds.statements.numbers import LONGEST, whole_number
from cellbounds.statements.rounding import (
    CONTROLLED,
    INTERVAL,
    LAST_DIGIT,
    RULE,
    check_count_rounding,
    count_ends,
    count_rounding_ends,
    is_interval,
    round_counts,
)
from cellbounds.statements.statement import (
    BoundedCounts,
    Tabulated,
    objects,
    shaped_entries,
    variable_names,
)

if TYPE_CHECKING:
    from numpy.random import Generator

    from cellbounds.statements.release_files import FileEntry, ReleaseFile

SUPPRESSED_MARKS = frozenset({"", "x", "..", "suppressed"})
"""What stands for a suppressed count in text, in small letters."""

_RULE = ("base", "rounding", "below", "noise", "rule")
"""How numbers differ from counts, in files and ledgers."""

_ONE_SIDED = re.compile(r"(<=|<|>=|>)\s*([0-9]+)")
_RANGE = re.compile(r"([0-9]+)\s*-\s*([0-9]+)")
_ASCII = str.maketrans({"–": "-", "≤": "<=", "≥": ">="})


class Margin(BoundedCounts, Tabulated):
    """The published counts of a margin.

    Parameters
    ----------
    variables
        The variables of the margin, in the order of the axes of `counts`.
    counts
        One entry for each cell, in that margin's shape: a whole number; a range as text, ``"<5"``,
        ``"<=4"``, ``">10"``, ``">=11"`` or ``"3-7"`` (both ends included); or None, ``""``,
        ``"x"``, ``".."``, ``"suppressed"`` where the count was not shown: anything from 0 up.
        ``"<5"`` stands for 0 to 4; if zeros are shown, write ``"1-4"``.
    base
        The numbers are rounded to multiples of this whole number, 2 or more. Ranges and suppressed
        entries may stand beside them and mean what they say.
    rounding
        How they were rounded: ``"nearest"`` (default, halves up), ``"half-even"``, ``"down"``,
        ``"up"``, ``"random"`` (to either of the multiples next to the count, up with
        probability rest / base), or ``"controlled"`` (to either of them, so that totals add up;
        ``"controlled-2"``, ``"controlled-3"``: less than so many bases from the count).
    below
        Counts below this whole number were hidden before the others were rounded ("redact, then
        round"), so that a number stands for counts of at least it. Goes with a base.
    rule
        ``"rounding"`` (default): a rounded number stands for the counts of which the rule makes it.
        ``"interval"``: halves belong to both their neighbours under ``"half-even"``.
    noise
        The law of the noise by which the numbers differ from the counts:
        ``{"laplace": "1/2"}`` (a difference d has a probability proportional to the ratio to the
        power of abs(d)), ``{"differences": {"-1": "1/4", "0": "1/2", "1": "1/4"}}``, or
        ``{"chances": {"0": {"0": "1"}, "1": {"0": "2/3", "3": "1/3"}}}`` (the probability of each
        number, for each count). Noisy numbers may be negative.

    Attributes
    ----------
    entries
        What was published: whole numbers, ranges as text, None where suppressed.
    lower, upper
        What each entry stands for; `upper` is -1 where it has no end.

    Examples
    --------
    >>> from cellbounds import Margin
    >>> margin = Margin(["county"], [15, "<5", None], base=5)
    >>> margin
    Margin([county]~5)
    >>> margin.lower.tolist(), margin.upper.tolist()
    ([13, 0, 0], [17, 4, -1])
    >>> redacted = Margin(["county"], [10, "<8"], base=5, below=8)
    >>> redacted, redacted.lower.tolist(), redacted.upper.tolist()
    (Margin([county]<8~5), [8, 0], [12, 7])
    >>> Margin(["sex"], [-1, 7], noise={"differences": {"-2": "1/2", "1": "1/2"}}).upper.tolist()
    [1, 9]
    """

    __slots__ = (
        *("base", "below", "entries", "interval", "lower", "noise", "rounding", "upper"),
        "variables",
    )

    kind: ClassVar[str] = "margin"

    base: int | None
    below: int | None
    entries: npt.NDArray[np.object_]
    lower: IntArray
    noise: Mechanism | None
    rounding: str | None
    upper: IntArray
    variables: tuple[str, ...]

    def __init__(
        self,
        variables: Iterable[str],
        counts: object,
        *,
        base: object = None,
        rounding: str | None = None,
        below: object = None,
        rule: str = RULE,
        noise: object = None,
    ) -> None:
        self.variables = variable_names(variables, "a margin")
        name = f"[{names_text(self.variables)}]"
        self.base = self.rounding = None
        self.interval = is_interval(rule)
        if base is None and rounding is not None:
            raise InvalidInput(
                f"the margin {name}: rounding={rounding!r} without a base; give base= too, or "
                "leave rounding out"
            )
        if base is not None:
            self.base = whole_number(base, f"the margin {name}: the base")
            if self.base < 2:
                raise InvalidInput(
                    f"the margin {name}: the base is {self.base}; give a whole number, 2 or more "
                    "(leave it out if the counts are exact)"
                )
            self.rounding = check_count_rounding("nearest" if rounding is None else rounding)
        self.below = _threshold(below, self.base, f"the margin {name}")
        self.noise = None if noise is None else mechanism_of(noise, f"the margin {name}")
        if base is not None and noise is not None:
            raise InvalidInput(
                f"the margin {name} has both a base and noise; give one of them (rounding after "
                "noise is a table of probabilities)"
            )
        given = shaped_entries(counts, len(self.variables), f"the margin {name}", "counts")
        what = f"the margin {name}: the count at"
        signed = self.noise is not None
        flat = [
            _read_entry(value, what, place, given, signed=signed)
            for place, value in enumerate(given.flat)
        ]
        for place, entry in enumerate(flat):
            if self.base is not None and isinstance(entry, int) and entry % self.base:
                # Not the figure itself: a table that was not rounded has true counts.
                raise InvalidInput(
                    f"{what} {_where(place, given)} is no multiple of the base {self.base}; "
                    "correct the figure or the base"
                )
            if (
                self.below is not None
                and isinstance(entry, int)
                and self._ends(entry)[1] < self.below
            ):
                raise InvalidInput(
                    f"{what} {_where(place, given)} is a figure that no count of at least "
                    f"{self.below} is rounded to; correct the figure or below=, or write a zero "
                    "that is shown as '0-0'"
                )
            if self.noise is not None and isinstance(entry, int):
                support = self.noise.support(entry)
                if support is not None and not len(support):
                    raise InvalidInput(
                        f"{what} {_where(place, given)} is {entry}, which no count leads to by the "
                        "noise that is stated; correct the figure or the noise"
                    )
        ends = [self._ends(entry) for entry in flat]
        self.entries = objects(flat, given.shape)
        self.lower, self.upper = (
            whole_array(side, given.shape) for side in zip(*ends, strict=True)
        )
        for array in (self.entries, self.lower, self.upper):
            array.flags.writeable = False

    def _ends(self, entry: int | str | None) -> tuple[int, int]:
        """The smallest and the largest count that an entry stands for; -1: no largest."""
        how = self.base, self.rounding, self.noise
        low, high = _ends(entry, *how, interval=self.interval)
        redacted = self.below is not None and isinstance(entry, int)
        return (max(low, self.below or 0), high) if redacted else (low, high)

    @property
    def exact(self) -> bool:
        """Whether every entry stands for one count."""
        return bool((self.lower == self.upper).all())

    @property
    def counts(self) -> IntArray:
        """The counts of an exact margin."""
        if not self.exact:
            raise InvalidInput(
                f"the margin {self.notation} has entries that stand for several counts; use "
                "`lower` and `upper`"
            )
        return self.lower

    @property
    def notation(self) -> str:
        """This statement in the notation of releases."""
        name = f"[{names_text(self.variables)}]"
        if self.base is not None:
            return (
                f"{name}~{self.base}" if self.below is None else f"{name}<{self.below}~{self.base}"
            )
        if self.noise is not None:
            return f"{name}~noise"
        flat = self.entries.ravel().tolist()
        others = {entry for entry in flat if not isinstance(entry, int)}
        shared = others.pop() if len(others) == 1 else None
        below = re.fullmatch("<([0-9]+)", shared) if isinstance(shared, str) else None
        if below is None or int(below[1]) < 2:
            return name
        shown = (entry for entry in flat if isinstance(entry, int))
        return f"{name}{shared}" if all(count >= int(below[1]) for count in shown) else name

    @property
    def rule(self) -> str:
        """How the figures are to be read, in words."""
        parts = []
        if self.below is not None:
            parts.append(f"counts below {self.below} hidden, then the others")
        if self.base is not None:
            parts.append(f"rounded to multiples of {self.base}, {self.rounding}")
        if self.noise is not None:
            parts.append(self.noise.words)
        words: dict[Any, str] = {">=0": "not stated", None: "suppressed"}
        words[">=1"] = "suppressed, each at least 1"
        hidden = [entry for entry in self.entries.flat if not isinstance(entry, int)]
        what = [words.get(entry, "as ranges") for entry in hidden]
        size = self.entries.size
        parts += [f"{many} of {size} {word}" for word, many in sorted(Counter(what).items())]
        return "; ".join(parts) or "exact"

    @property
    def summary(self) -> str:
        """The variables and the rule, unless the counts are exact."""
        return self.notation if self.exact else f"[{names_text(self.variables)}] {self.rule}"

    def description(self, domain: Domain) -> str:
        """What the counts are of, and what a rounded one stands for."""
        meaning = f"counts of {', '.join(self.variables)}; {self.rule}"
        if self.base is not None and self.rounding is not None:
            ends = count_rounding_ends(self.rounding)
            meaning += f": {ends.words(Fraction(self.base), 'count')}"
            meaning += "" if self.below is None else f" and count >= {self.below}"
            if self.rounding == LAST_DIGIT and not self.interval:
                meaning += f" if p is an even multiple of {self.base}, without the ends if odd"
        return meaning + summed_over(self.variables, domain)

    def known(self, domain: Domain) -> MarginBounds:
        """A lower and an upper bound for each count."""
        shape = domain.project(self.variables).shape
        if self.entries.shape != shape:
            raise InvalidInput(
                f"the margin {self.notation} has counts of shape {self.entries.shape}; its "
                f"variables need {shape}"
            )
        return MarginBounds(self.lower, self.upper, self._lists())

    def _lists(self) -> dict[int, tuple[int, ...]]:
        """The counts that figures leave possible, where these are not all between two ends."""
        lists: dict[int, tuple[int, ...]] = {}
        for place, mechanism, shown in self.figures_by_chance() if self.noise is not None else ():
            support = mechanism.support(shown)
            if support is not None and support[-1] - support[0] >= len(support):
                lists[place] = tuple(support)
        return lists

    @property
    def lists_values(self) -> bool:
        """Whether the noise leaves counts out between others."""
        return bool(self._lists())

    def meaning(self, domain: Domain) -> dict[str, Any]:
        """Limits and lists as they are laid out; the law and the figures of noise."""
        meaning = super().meaning(domain)
        if self.noise is None:
            return meaning
        return meaning | {"noise": self.noise.plain, "counts": self.entries.tolist()}

    def fixed_counts(self, domain: Domain) -> IntArray | None:
        """The counts, if they are exact and no variable is derived."""
        derived = any(name in domain.groupings for name in self.variables)
        return None if derived or not self.exact else self.lower

    def figure_text(self, place: int) -> str:
        """One published entry as text, by its flat index."""
        entry = self.entries.flat[place]
        if entry is None:
            return "suppressed"
        if isinstance(entry, int) and self.base is not None:
            return f"about {entry} (base {self.base}, {self.rounding})"
        if isinstance(entry, int) and self.noise is not None:
            return f"about {entry} ({self.noise.words})"
        return str(entry)

    def shown_counts(self) -> npt.NDArray[np.object_]:
        """Entries that are numbers, or ranges of one count, which show it."""
        whole = np.where(self.lower == self.upper, self.lower, np.array(None, dtype=object))
        shown = [
            entry if isinstance(entry, int) else single if single is None else int(single)
            for entry, single in zip(self.entries.flat, whole.flat, strict=True)
        ]
        return objects(shown, self.entries.shape)

    def figure_at(self, place: int) -> str | None:
        """One published entry as text, by its flat index; None if it was suppressed."""
        return None if self.entries.flat[place] is None else self.figure_text(place)

    @property
    def by_chance(self) -> bool:
        """Whether counts were rounded at random, or have noise."""
        return self._mechanism is not None

    @property
    def _mechanism(self) -> Mechanism | None:
        if self.base is not None and self.rounding == "random":
            return RandomRounding(self.base)
        return self.noise

    def figures_by_chance(self) -> list[tuple[int, Mechanism, int]]:
        """The numbers that were rounded at random, or have noise."""
        mechanism, flat = self._mechanism, self.entries.ravel().tolist()
        if mechanism is None:
            return []
        return [(k, mechanism, entry) for k, entry in enumerate(flat) if isinstance(entry, int)]

    @property
    def hidden(self) -> BoolArray:
        """Which entries show no count: ranges too."""
        shown = [isinstance(entry, int) for entry in self.entries.flat]
        return ~np.array(shown, dtype=bool).reshape(self.entries.shape)

    def hiding_rules(
        self,
        closed: BoolArray,
        *,
        zeros_shown: bool | None,
        marks: bool,
        most: int | None,
    ) -> Iterator[list[HidingRule]]:
        """What hiding some of its counts gives away of them."""
        return hiding_rules(self, closed, zeros_shown=zeros_shown, marks=marks, most=most)

    @property
    def withholdable(self) -> BoolArray:
        """Which entries say anything at all: with noise, every number does."""
        noisy = ~self.hidden & (self.noise is not None)
        return np.asarray((self.lower > 0) | (self.upper >= 0) | noisy, dtype=bool)

    @property
    def idle(self) -> BoolArray:
        """Which entries say nothing."""
        return ~self.withholdable

    @property
    def magnitudes(self) -> npt.NDArray[np.float64]:
        """The smallest counts that entries stand for."""
        return np.asarray(self.lower, dtype=np.float64)

    def withheld(self, hidden: BoolArray) -> Self:
        """The same statement with some entries (an array in the margin's shape) suppressed."""
        mask = np.asarray(hidden, dtype=bool)
        if mask.shape != self.entries.shape:
            raise InvalidInput(
                f"the margin {self.notation} has counts of shape {self.entries.shape}; what is "
                f"withheld has the shape {mask.shape}"
            )
        weaker = copy.copy(self)
        weaker.entries = np.where(mask, np.array(None, dtype=object), self.entries)
        weaker.lower = np.where(mask, 0, self.lower)
        weaker.upper = np.where(mask, -1, self.upper)
        for array in (weaker.entries, weaker.lower, weaker.upper):
            array.flags.writeable = False
        return weaker

    def suppressed(self, hidden: BoolArray) -> Self:
        """The same as withheld: a suppressed entry is published as such."""
        return self.withheld(hidden) if hidden.any() else self

    def as_intervals(self) -> Self | None:
        """The same counts, halves belonging to both their neighbours."""
        if self.rounding != LAST_DIGIT or self.interval:
            return None
        read = type(self)
        return read(
            self.variables, self.entries, base=self.base, rounding=self.rounding, rule=INTERVAL
        )

    def lines(self) -> Iterator[tuple[int | slice, ...]]:
        """Every line of entries along an axis."""
        shape = self.entries.shape
        for axis in range(len(shape)):
            for index in np.ndindex(*shape[:axis], *shape[axis + 1 :]):
                yield (*index[:axis], slice(None), *index[axis:])

    @property
    def request(self) -> Request:
        """The notation, with the rule of rounding or the law of the noise."""
        made_together = ("random", *CONTROLLED)
        rounding = "nearest" if self.rounding in made_together else self.rounding
        request = parse(self.notation).ruled(rounding)
        return replace(request, noise=self.noise, interval=self.interval)

    @classmethod
    def requested(cls, request: Request) -> bool:
        """Whether counts are asked for."""
        return request.is_margin

    @classmethod
    def publish(cls, table: Table, request: Request, rng: Generator | None = None) -> Self:
        """The counts of a table: exact, rounded, with noise, or small ones hidden."""
        names, counts = request.responses, table.margin(request.responses).counts
        if request.base is not None:
            rule = request.rounding or "nearest"
            figures = round_counts(counts, request.base, rule, rng)
            if request.below is not None:
                figures = np.where(
                    counts < request.below, f"<{request.below}", figures.astype(object)
                )
            how: dict[str, Any] = {"rounding": rule, "below": request.below}
            how["rule"] = INTERVAL if request.interval else RULE
            return cls(names, figures, base=request.base, **how)
        if request.noise is not None:
            if rng is None:
                raise InvalidInput("noise needs rng=; give a seed or a numpy Generator")
            noise = mechanism_of(request.noise, request.notation)
            noisy = [noise.draw(count, rng) for count in counts.ravel().tolist()]
            return cls(names, objects(noisy, counts.shape), noise=noise)
        if request.below is not None:
            shown = counts.astype(object)
            shown[counts < request.below] = f"<{request.below}"
            return cls(names, shown)
        return cls(names, counts)

    def to_dict(self) -> dict[str, Any]:
        """This statement as plain values."""
        plain = self._entry(self.entries.tolist())
        if self.rounding == LAST_DIGIT and not self.interval:
            plain["rule"] = RULE
        return {self.kind: plain}

    def _entry(self, counts: object) -> dict[str, Any]:
        entry = {"variables": list(self.variables), "counts": counts}
        if self.noise is not None:
            return entry | {"noise": self.noise.plain}
        if self.base is None:
            return entry
        rule = {"base": self.base, "rounding": self.rounding}
        return entry | rule | ({} if self.below is None else {"below": self.below})

    @classmethod
    def from_plain(cls, values: dict[str, Any], domain: Domain) -> Self:
        """From the plain values of a ledger."""
        how = {"rule": INTERVAL} | {key: values[key] for key in _RULE if key in values}
        return cls(values["variables"], values["counts"], **how)

    def to_entry(self, domain: Domain, figures: str) -> FileEntry:
        """Variables and rule; the counts in a column."""
        entries = ["" if entry is None else entry for entry in self.entries.flat]
        lines = zip(domain.project(self.variables).cells(), entries, strict=True)
        rows = [[*labels, entry] for labels, entry in lines]
        entry = self._entry(figures)
        if self.rounding == LAST_DIGIT and self.interval:
            entry["rule"] = INTERVAL
        return entry, ("count",), rows

    @classmethod
    def from_entry(cls, entry: Any, file: ReleaseFile) -> Self:
        """From ``[[margin]]``: variables, counts, base, rounding and below, or noise."""
        file.only(entry, {"variables", "counts", *_RULE}, "[[margin]]")
        names, counts = file.names(entry, "variables"), entry.get("counts")
        if file.is_name(counts):
            margin = file.margin(names)
            laid = file.column(counts, margin, "count")
            if len(laid) < margin.size:
                raise InvalidInput(
                    f"{file.beside(counts)}: list every cell of the margin, with an empty field "
                    "where the count was suppressed"
                )
            counts = objects([laid[labels] for labels in margin.cells()], margin.shape)
        elif not isinstance(counts, list):
            raise InvalidInput(f"{file}: [[margin]] needs counts, a CSV file or nested lists")
        rule = {key: file.plain(entry[key]) for key in _RULE if key in entry}
        return cls(names, file.plain(counts), **rule)

    def __repr__(self) -> str:
        return f"Margin({self.notation})"


def _threshold(below: object, base: int | None, what: str) -> int | None:
    """Check the count below which figures were hidden before the others were rounded."""
    if below is None:
        return None
    least = whole_number(below, f"{what}: below")
    if base is None or least < 2:
        raise InvalidInput(
            f"{what}: below={least}; give 2 or more, together with the base to which the other "
            "counts were rounded (without a base, write hidden counts as '<8')"
        )
    return least


def _where(place: int, entries: npt.NDArray[np.object_]) -> str:
    index = [int(i) + 1 for i in np.unravel_index(place, entries.shape)]
    return f"place {index[0]}" if len(index) == 1 else f"place ({', '.join(map(str, index))})"


def _read_entry(
    value: object, what: str, place: int, given: npt.NDArray[np.object_], *, signed: bool
) -> int | str | None:
    """A published entry: a whole number, a range in one spelling, or None.

    `signed`: numbers have noise, and may be negative.
    """
    if value is None:
        return None
    if isinstance(value, str) and len(value) <= LONGEST:
        text = value.strip().translate(_ASCII)
        if text.lower() in SUPPRESSED_MARKS:
            return None
        one_sided, both = _ONE_SIDED.fullmatch(text), _RANGE.fullmatch(text)
        if one_sided or both:
            tidy = re.sub("[0-9]+", lambda digits: str(int(digits[0])), "".join(text.split()))
            low, high = _ends(tidy, None, None, None)
            if 0 <= high < low or (one_sided and high == -1 and tidy[0] == "<"):
                raise InvalidInput(
                    f"{what} {_where(place, given)} is {value!r}, which no count fits; a range "
                    "runs from its smaller to its larger end, and counts are 0 or more"
                )
            return tidy
        if text.isascii() and (text.removeprefix("-") if signed else text).isdecimal():
            return int(text)
    whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if whole and (signed or int(str(value)) >= 0):
        return int(str(value))
    raise InvalidInput(
        f"{what} {_where(place, given)} is {value!r}; give a whole number, 0 or more, a range "
        "('<5', '<=4', '>10', '>=11', '3-7'), or None or 'suppressed' if it was not shown"
    )


def _ends(
    entry: int | str | None,
    base: int | None,
    rounding: str | None,
    noise: Mechanism | None,
    *,
    interval: bool = False,
) -> tuple[int, int]:
    """The smallest and the largest count that an entry stands for; -1: no largest."""
    if entry is None:
        return 0, -1
    if isinstance(entry, int) and noise is not None:
        support = noise.support(entry)
        return (0, -1) if support is None else (support[0], support[-1])
    if isinstance(entry, int):
        if base is None:
            return entry, entry
        return count_ends(entry, base, rounding or "nearest", interval=interval)
    one_sided = _ONE_SIDED.fullmatch(entry)
    if one_sided:
        sign, number = one_sided[1], int(one_sided[2])
        if sign[0] == "<":
            return 0, number - (sign == "<")
        return number + (sign == ">"), -1
    low, high = entry.split("-")
    return int(low), int(high)
