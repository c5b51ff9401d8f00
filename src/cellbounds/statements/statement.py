"""What a statement says of itself. A kind of statement is one class here below, in one module.

To add a kind: subclass :class:`Statement`, :class:`BoundedCounts` or :class:`Tabulated` in a module
of its own, and name the class in ``kinds.KINDS``. Solvers, judging, suggesting and reports ask a
statement through this protocol and never which class it is of, unless a method is for one kind.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from cellbounds.data.cell_groups import cells_behind
from cellbounds.data.domain import Domain, Label
from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput
from cellbounds.runtime.arrays import BoolArray, IntArray
from cellbounds.statements.inequalities import LinearRows, MarginBounds, ValueList, bounded_sums

if TYPE_CHECKING:
    from numpy.random import Generator

    from cellbounds.statements.hiding import HidingRule
    from cellbounds.statements.mechanisms import Mechanism
    from cellbounds.statements.notation import Request
    from cellbounds.statements.release_files import FileEntry, ReleaseFile


class Statement(ABC):
    """Something that was said about a table, or is known of it besides."""

    __slots__ = ()

    kind: ClassVar[str]
    """Its key as plain values: in ledgers and certificates, so that it never changes."""

    section: ClassVar[str]
    """Its section in release files: the kind, unless it is said."""

    published: ClassVar[bool] = True
    """Whether a release says it; otherwise it is known besides."""

    several: ClassVar[bool] = True
    """Whether a release may have more than one."""

    bounds_counts: ClassVar[bool] = False
    """Whether all it says are limits and lists of the counts of its margin, each by itself."""

    def __init_subclass__(cls) -> None:
        if "kind" in vars(cls) and "section" not in vars(cls):
            cls.section = cls.kind

    @property
    @abstractmethod
    def variables(self) -> tuple[str, ...]:
        """The variables of the margin that it is about; none for the total."""

    @property
    @abstractmethod
    def notation(self) -> str:
        """This statement in the notation of releases, or a short text."""

    @property
    def subject(self) -> str:
        """What it speaks of, without a figure."""
        return self.notation

    @property
    def summary(self) -> str:
        """One line for a list of statements."""
        return self.notation

    @property
    def responses(self) -> tuple[str, ...]:
        """The variables that it gives rates of; none if it speaks of counts."""
        return ()

    @property
    def by_chance(self) -> bool:
        """Whether chance had a part in its figures."""
        return False

    @property
    def lists_values(self) -> bool:
        """Whether it lists the values that some counts may have."""
        return False

    @property
    def tabulated(self) -> Tabulated | None:
        """This statement if it shows figures cell by cell, each of which can be withheld."""
        return None

    @property
    def request(self) -> Request | None:
        """What would publish it again, less precisely perhaps; None if it is said or not."""
        return None

    def figures_by_chance(self) -> list[tuple[int, Mechanism, int]]:
        """The figures that a mechanism made by chance: flat place, mechanism and figure."""
        return []

    def as_intervals(self) -> Statement | None:
        """The same figures read as intervals, whatever rounded them; None if that is the same."""
        return None

    def base_variables(self, domain: Domain) -> frozenset[str]:
        """The variables that it is about, derived ones through their base."""
        return frozenset(map(domain.base, self.variables))

    @abstractmethod
    def description(self, domain: Domain) -> str:
        """What it means, in words for a reader of the report."""

    @abstractmethod
    def check(self, domain: Domain) -> None:
        """Check that it speaks of variables of the domain, in their shape."""

    @abstractmethod
    def inequalities(
        self, domain: Domain, *, closed: bool = False
    ) -> Iterator[LinearRows | ValueList]:
        """What it says of the cells, in integers; `closed` takes open ends for closed ones."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """This statement as plain values, under its kind."""

    def holds(self, domain: Domain, table: Table) -> bool:
        """Whether a table satisfies it; the domain knows the derived variables that it names.

        It is asked on the margin that it is about, as it says nothing of other variables.
        """
        part = domain.part(self.base_variables(domain))
        whole = part.names == table.domain.names
        counts = (table if whole else table.margin(part.names)).counts.ravel()
        return all(part_said.holds(counts) for part_said in self.inequalities(part))

    def meaning(self, domain: Domain) -> dict[str, Any]:
        """What it says, however it was written: the same for statements that say the same."""
        return self.to_dict()

    def fixed_counts(self, domain: Domain) -> IntArray | None:
        """The counts over its variables if it gives every one of them and none is derived."""
        return None

    def shown_counts(self) -> npt.NDArray[np.object_] | None:
        """The counts that it prints, rounded ones too, in its shape; None where it prints none."""
        return None

    def hiding_rules(
        self,
        closed: BoolArray,
        *,
        zeros_shown: bool | None,
        marks: bool,
        most: int | None,
    ) -> Iterable[list[HidingRule]]:
        """What hiding some of its counts gives away; see ``hiding.hiding_rules``."""
        return ()

    def known(self, domain: Domain) -> MarginBounds:
        """Limits and lists of the counts of its margin, where it `bounds_counts`."""
        raise NotImplementedError(f"{self.notation} over {domain!r} bounds no counts")

    # As plain values in a ledger, where labels are laid out over the margin.

    def to_plain(self, domain: Domain) -> dict[str, Any]:
        """The plain values that a ledger holds, under the kind."""
        return self.to_dict()

    @classmethod
    @abstractmethod
    def from_plain(cls, values: dict[str, Any], domain: Domain) -> Self:
        """The statement whose `to_plain` holds these values under its kind."""

    # In files: an entry of the TOML file, and lines of a CSV file beside it.

    @abstractmethod
    def to_entry(self, domain: Domain, figures: str) -> FileEntry:
        """The entry of a release file, with its figures in the CSV file of that name."""

    @classmethod
    @abstractmethod
    def from_entry(cls, entry: Any, file: ReleaseFile) -> Self:
        """The statement of an entry of a release file."""

    # By the owner, from the notation.

    @classmethod
    def requested(cls, request: Request) -> bool:
        """Whether what the notation asks for is of this kind."""
        return False

    @classmethod
    def publish(cls, table: Table, request: Request, rng: Generator | None = None) -> Self:
        """What the owner of a table would publish when this kind is requested."""
        raise NotImplementedError(f"{cls.__name__} is not published from {table!r} by {request!r}")


class BoundedCounts(Statement):
    """A statement that limits counts of a margin, each by itself."""

    __slots__ = ()

    bounds_counts: ClassVar[bool] = True

    @abstractmethod
    def known(self, domain: Domain) -> MarginBounds:
        """Lay its limits and lists out over the margin, checked against the domain."""

    def check(self, domain: Domain) -> None:
        """Check variables and shape by laying it out."""
        self.known(domain)

    def inequalities(
        self, domain: Domain, *, closed: bool = False
    ) -> Iterator[LinearRows | ValueList]:
        """Sums of the cells behind each count; the ends of a list, and the list unless closed."""
        known = self.known(domain)
        groups = cells_behind(domain, self.variables)
        lower, upper = known.limits()
        yield from bounded_sums(groups, lower, upper)
        for flat, values in known.values.items() if not closed else ():
            yield ValueList(groups.cells_of(flat), frozenset(values), flat)

    def meaning(self, domain: Domain) -> dict[str, Any]:
        """Limits and lists as they are laid out."""
        known = self.known(domain)
        return {
            self.kind.capitalize(): list(self.variables),
            "lower": known.lower.tolist(),
            "upper": known.upper.tolist(),
            "values": sorted(known.values.items()),
        }


class Tabulated(Statement):
    """A statement with a figure for each cell of its margin, which can be withheld one by one.

    Masks and arrays of figures have the shape of the margin.
    """

    __slots__ = ()

    @property
    def tabulated(self) -> Self:
        """This statement."""
        return self

    @property
    @abstractmethod
    def hidden(self) -> BoolArray:
        """Which figures are not shown."""

    @property
    @abstractmethod
    def withholdable(self) -> BoolArray:
        """Which figures say something and can be withheld one by one."""

    @property
    @abstractmethod
    def idle(self) -> BoolArray:
        """Which figures say nothing, so that withholding them changes nothing."""

    @property
    @abstractmethod
    def magnitudes(self) -> npt.NDArray[np.float64]:
        """About how much each figure tells: what is lost with it."""

    @abstractmethod
    def figure_at(self, place: int) -> str | None:
        """A figure as text, by its flat index; None if nothing is shown there."""

    @abstractmethod
    def withheld(self, hidden: BoolArray) -> Self:
        """The same statement with some more figures unknown."""

    @abstractmethod
    def suppressed(self, hidden: BoolArray) -> Self | None:
        """The statement as it would be published with these figures suppressed too.

        None if there is no way to publish it.
        """

    @abstractmethod
    def lines(self) -> Iterator[tuple[int | slice, ...]]:
        """Indices of figures whose sum everybody knows or may know: one gap is no gap."""

    @property
    @abstractmethod
    def request(self) -> Request:
        """What would publish it again; random rounding, which cannot be repeated, becomes nearest.

        Noise cannot be drawn again without a seed: publishing then refuses.
        """


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
    ragged = any(isinstance(entry, list | tuple | np.ndarray) for entry in entries.ravel())
    if entries.ndim != axes or not entries.size or ragged:
        raise InvalidInput(
            f"{what}: {kind} of shape {entries.shape}; it names {axes} "
            f"{'variable' if axes == 1 else 'variables'}, so they need {axes} "
            f"{'axis' if axes == 1 else 'axes'}, and lists of the same length"
        )
    return entries


def flat_index(margin: Domain, labels: Label | tuple[Label, ...]) -> int:
    """The place of a cell in a margin laid out flat; a single label may stand by itself."""
    whole = labels if isinstance(labels, tuple) else (labels,)
    if len(margin.shape) == 1 and labels in margin.levels(margin.names[0]):
        whole = (labels,)  # a level that is itself a tuple
    return int(np.ravel_multi_index(margin.index(whole), margin.shape))


def objects(values: Sequence[Any], shape: tuple[int, ...]) -> npt.NDArray[np.object_]:
    """An array of objects in a shape; values that are lists stay lists."""
    return np.fromiter(values, dtype=object, count=len(values)).reshape(shape)
