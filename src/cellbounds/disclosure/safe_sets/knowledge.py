"""What is known of sets: those judged, and what follows from them."""

from __future__ import annotations

from collections.abc import Iterable

from cellbounds.disclosure.policies import Outcome
from cellbounds.disclosure.safe_sets.candidates import Candidates, members

__all__ = ["Knowledge"]


class Knowledge:
    """The largest sets known to be safe, the smallest known to be unsafe, and what is open.

    For monotone rules only: a subset of a safe set is safe, a superset of an unsafe one unsafe.

    Attributes
    ----------
    safe, unsafe
        The largest and the smallest such sets.
    judged
        Every set that was judged, and its outcome.
    walls
        Sets that could not be decided, all of whose supersets are known: nothing beyond them is
        left to be searched.
    """

    def __init__(self, candidates: Candidates) -> None:
        self.candidates = candidates
        self.safe: list[int] = []
        self.unsafe: list[int] = []
        self.judged: dict[int, Outcome] = {}
        self.walls: list[int] = []

    def copy(self) -> Knowledge:
        """The same, to be changed by somebody else."""
        twin = Knowledge(self.candidates)
        twin.safe, twin.unsafe = list(self.safe), list(self.unsafe)
        twin.judged, twin.walls = dict(self.judged), list(self.walls)
        return twin

    def add(self, chosen: int, outcome: Outcome) -> None:
        """Learn the outcome of a set."""
        self.judged[chosen] = outcome
        if outcome is Outcome.SAFE:
            if not any(chosen | one == one for one in self.safe):
                self.safe = [one for one in self.safe if one | chosen != chosen] + [chosen]
        elif outcome is Outcome.UNSAFE and not self.contains_unsafe(chosen):
            self.unsafe = [one for one in self.unsafe if one | chosen != one] + [chosen]

    def contains_unsafe(self, chosen: int) -> bool:
        """Whether a set contains one that is known to be unsafe."""
        return any(one | chosen == chosen for one in self.unsafe)

    def outcome(self, chosen: int) -> Outcome | None:
        """What is known of a set; None if it was not judged and nothing follows."""
        if any(chosen | one == one for one in self.safe):
            return Outcome.SAFE
        if self.contains_unsafe(chosen):
            return Outcome.UNSAFE
        return self.judged.get(chosen)

    def open_set(self, also: Iterable[int] = ()) -> int | None:
        """A largest set of which nothing is known, and that is inside none of `also`.

        None if there is none: then only walls are open.
        """
        found = self._outside([*self.safe, *also], self.candidates.ground, 0)
        if found is None:
            return None
        for place in self.candidates.order:
            grown = found | self.candidates.below[place]
            if not self._barred(grown):
                found = grown
        return found

    def _barred(self, chosen: int) -> bool:
        return any(one | chosen == chosen for one in (*self.unsafe, *self.walls))

    def _outside(self, floors: list[int], chosen: int, banned: int) -> int | None:
        """A set above `chosen`, without what is banned, that is inside none of the floors."""
        if chosen & banned or self._barred(chosen):
            return None
        floor = next((one for one in floors if one | chosen == one), None)
        if floor is None:
            return chosen
        below = self.candidates.below
        for place in members(self.candidates.everything & ~floor & ~banned):
            if below[place] & ~floor != 1 << place:
                continue  # whoever contains it contains a smaller one outside of the floor
            found = self._outside(floors, chosen | below[place], banned)
            if found is not None:
                return found
            banned |= 1 << place
        return None
