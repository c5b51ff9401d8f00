"""What is counted, and how it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

__all__ = ["Tally", "table_of"]

BAD = ("lost", "half", "leftovers", "wrong")


@dataclass(slots=True)
class Tally:
    """One kind of fault on one kind of storage.

    Attributes
    ----------
    tried, happened
        How often it was tried, and how often it met the command before its end.
    acknowledged
        How often the command said that it was done.
    inside, outside
        How often what it had to write was there afterwards, and how often what was there before.
    lost
        Acknowledged and not there.
    half
        Neither the old content nor the new; a past that was changed; a chain that is broken.
    leftovers
        Files with a confidential count in them that nobody asked for: in a shared folder, for
        others to read, or still there after the next run.
    wrong
        Anything else against the contract: a status, a message, a refusal, a time.
    faults
        Each of these in words.
    """

    kind: str
    storage: str
    tried: int = 0
    happened: int = 0
    acknowledged: int = 0
    inside: int = 0
    outside: int = 0
    lost: int = 0
    half: int = 0
    leftovers: int = 0
    wrong: int = 0
    faults: list[str] = field(default_factory=list)

    def blame(self, what: str, words: str) -> None:
        """Count a fault of the library, and keep what it was."""
        setattr(self, what, getattr(self, what) + 1)
        self.faults.append(f"{self.kind}, {self.storage}: {what}: {words}")

    @property
    def sound(self) -> bool:
        """Whether nothing bad was found."""
        return not any(getattr(self, what) for what in BAD)


def table_of(tallies: Sequence[Tally]) -> str:
    """The counts as a table, with a line of sums."""
    rows = [asdict(one) for one in tallies]
    names = [name for name in rows[0] if name != "faults"]
    sums = {name: sum(row[name] for row in rows) for name in names[2:]}
    shown = [names, *([str(row[name]) for name in names] for row in rows)]
    shown.append(["all", "", *(str(sums[name]) for name in names[2:])])
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return "\n".join(
        "  ".join(
            text.ljust(width) if column < 2 else text.rjust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in shown
    )
