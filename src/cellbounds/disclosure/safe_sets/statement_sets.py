"""What was found: the largest safe sets, the smallest unsafe ones, and what is open."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from cellbounds.disclosure.policies import Policy
from cellbounds.utility.display import Listing, columns_of, more_lines, picked
from cellbounds.version import __version__

FORMAT = "cellbounds-safe-sets/1"

DEPENDS = (
    "which sets are safe depends on the confidential counts, and so does their utility: keep this "
    "to yourself (independent=True or --independent judges without them)"
)

WITHOUT_COUNTS = "judged without the true counts: safe means that every consistent table passes"


@dataclass(frozen=True, slots=True)
class StatementSet:
    """Statements that are released together.

    Attributes
    ----------
    statements
        In the notation, without what follows from the others.
    proven
        Of a safe set: that no larger one is safe. Of an unsafe set: that no smaller one is unsafe.
    size
        How many candidates are told, those that follow from others included.
    utility
        The share of the association in the table that exact margins tell, what is out already
        included; None where that does not apply, or was not asked for.
    """

    statements: tuple[str, ...]
    proven: bool
    size: int
    utility: float | None = None

    def __str__(self) -> str:
        return _text(self.statements)

    def to_dict(self, proven: str) -> dict[str, Any]:
        """Plain values; `proven` is what was proven."""
        return {"statements": list(self.statements), proven: self.proven, "size": self.size}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SafeSets(Listing):
    """Which of some candidates may be released together.

    Everything that is listed is true: "safe" is safe and "unsafe" unsafe, also if the budget ended
    before all was known.

    Attributes
    ----------
    policy
        The policy that judged.
    given, candidates
        What is out already, and what may be released beside it, in the notation.
    safe
        Safe sets that are in no larger set that is known to be safe. The empty set is among them
        if nothing may be released but what is out is safe.
    unsafe
        Unsafe sets that contain no smaller set that is known to be unsafe.
    undecided
        Sets that were judged, and could not be decided.
    judgements
        How many sets were judged.
    complete
        Whether every set is known to be safe or unsafe.
    independent
        Whether they were judged without the true counts.
    never
        Candidates that are unsafe by themselves, beside what is out already.
    notes
        What to know about the search.
    """

    most_lines: ClassVar[tuple[int, int]] = (60, 40)
    numbers: ClassVar[frozenset[str]] = frozenset({"utility"})

    policy: Policy
    given: tuple[str, ...]
    candidates: tuple[str, ...]
    safe: tuple[StatementSet, ...]
    unsafe: tuple[StatementSet, ...]
    undecided: tuple[tuple[str, ...], ...]
    never: tuple[str, ...]
    judgements: int
    complete: bool
    independent: bool
    notes: tuple[str, ...] = ()
    seconds: float = 0.0

    @property
    def maximal(self) -> tuple[tuple[str, ...], ...]:
        """The safe sets that are in no larger safe set, proven."""
        return tuple(chosen.statements for chosen in self.safe if chosen.proven)

    @property
    def minimal_unsafe(self) -> tuple[tuple[str, ...], ...]:
        """The unsafe sets that contain no smaller unsafe set, proven."""
        return tuple(chosen.statements for chosen in self.unsafe if chosen.proven)

    @property
    def best(self) -> StatementSet | None:
        """The safe set of the highest utility; without one, the set that tells most candidates.

        None if no set is safe.
        """
        return max(self.safe, key=_rank, default=None)

    @property
    def warning(self) -> str:
        """Whether the list itself gives something away."""
        return "" if self.independent else DEPENDS

    def columns(self) -> dict[str, list[Any]]:
        """The sets column by column: the safe ones, the unsafe ones, and the undecided ones."""
        best = self.best
        rows: list[tuple[Any, ...]] = [
            (outcome, str(listed), listed.proven, listed.size, listed.utility, listed is best)
            for outcome, sets in (("safe", self.safe), ("unsafe", self.unsafe))
            for listed in sets
        ]
        rows += [("undecided", _text(texts), False, None, None, False) for texts in self.undecided]
        return columns_of(("outcome", "statements", "proven", "size", "utility", "best"), rows)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, versioned; for the owner, unless judged without the true counts."""
        best = self.best
        return {
            "format": FORMAT,
            "version": __version__,
            "policy": self.policy.to_dict(),
            **picked(
                self, "independent", "warning", "given", "candidates", "complete", "judgements"
            ),
            "safe": [
                chosen.to_dict("maximal") | {"utility": chosen.utility} for chosen in self.safe
            ],
            "best": None if best is None else list(best.statements),
            "unsafe": [chosen.to_dict("minimal") for chosen in self.unsafe],
            "undecided": [list(texts) for texts in self.undecided],
            **picked(self, "never", "notes"),
            "seconds": round(self.seconds, 6),
        }

    def _title(self) -> str:
        many = len(self.safe)
        largest = "largest safe set" if many == 1 else "largest safe sets"
        known = "" if self.complete else " known so far"
        return (
            f"{many or 'no'} {largest}{known} of {len(self.candidates)} candidates under the "
            f"policy {self.policy.name}"
        )

    def _table(self, most: int) -> tuple[list[str], list[list[str]], str]:
        header, best, rows = ["", "utility", "released together"], self.best, []
        for chosen in sorted(self.safe, key=_rank, reverse=True):
            word = "best" if chosen is best else "safe"
            worth = "" if chosen.utility is None else f"{chosen.utility:.3f}"
            rows.append([word if chosen.proven else f"{word}, perhaps more", worth, str(chosen)])
        words = {True: "unsafe", False: "unsafe, perhaps less"}
        rows += [[words[chosen.proven], "", str(chosen)] for chosen in self.unsafe]
        rows += [["undecided", "", _text(texts)] for texts in self.undecided]
        return header, rows[:most], more_lines(len(rows) - most)

    def _remarks(self) -> list[str]:
        remarks = [f"out already: {', '.join(self.given) or 'nothing'}"]
        if self.never:
            remarks.append(f"unsafe by themselves: {', '.join(self.never)}")
        sets = "1 set was" if self.judgements == 1 else f"{self.judgements} sets were"
        remarks.append(f"{sets} judged in {self.seconds:.1f} s")
        if not self.complete:
            remarks.append(
                "not everything is known: sets that are not listed may be safe or unsafe"
            )
        return [*remarks, *([WITHOUT_COUNTS] if self.independent else []), *self.notes]


def _text(statements: tuple[str, ...]) -> str:
    return " ".join(statements) or "(nothing more)"


def _rank(one: StatementSet) -> tuple[float, int]:
    return (-1.0 if one.utility is None else one.utility, one.size)
