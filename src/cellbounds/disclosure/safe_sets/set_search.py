"""The search for the largest safe sets, by few judgements.

Sets are taken from above: a largest one of which nothing is known yet is judged. If it is safe, it
is a largest safe set. If not, bisection finds a smallest unsafe set in it, which rules out all its
supersets. Why that is enough: ``docs/theory/safe-sets.md``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from cellbounds.data.table import Table
from cellbounds.disclosure.policies import Outcome, Policy
from cellbounds.disclosure.policies.judging import judged
from cellbounds.disclosure.policies.scenarios import Case, cases_of
from cellbounds.disclosure.safe_sets.candidates import Candidates, members
from cellbounds.disclosure.safe_sets.move_proofs import safe_by_moves
from cellbounds.errors import TooMuchWork
from cellbounds.runtime.budget import Budget
from cellbounds.runtime.interrupts import Late
from cellbounds.runtime.workers import Until, shared

Facts = list[tuple[int, Outcome]]
"""Sets and their outcomes."""


@dataclass(slots=True, eq=False)
class KnownSets:
    """The largest sets known to be safe, the smallest known to be unsafe, and what is open.

    For monotone rules a subset of a safe set is safe, a superset of an unsafe one unsafe.

    Attributes
    ----------
    safe, unsafe
        The largest and the smallest such sets.
    judged
        Every set that was judged, and its outcome.
    walls
        Sets that could not be decided, all of whose supersets are known: nothing beyond them is
        left to be searched.
    every
        For other rules: every set, to be judged by itself, where nothing follows from anything.
    finished
        Whether the budget was enough.
    """

    candidates: Candidates
    safe: list[int] = field(default_factory=list)
    unsafe: list[int] = field(default_factory=list)
    judged: dict[int, Outcome] = field(default_factory=dict)
    walls: list[int] = field(default_factory=list)
    every: list[int] | None = None
    finished: bool = False

    @classmethod
    def of_every(cls, candidates: Candidates, every: list[int], judged: Facts) -> KnownSets:
        """What is known once sets were judged by themselves."""
        known = cls(candidates, judged=dict(judged), every=every)
        known.finished = len(known.judged) == len(every)
        safe, unsafe = Outcome.SAFE, Outcome.UNSAFE
        for chosen, outcome in known.judged.items():
            if outcome is safe and safe not in map(known.outcome, known.larger(chosen)):
                known.safe.append(chosen)
            if outcome is unsafe and unsafe not in map(known.outcome, known.smaller(chosen)):
                known.unsafe.append(chosen)
        return known

    def copy(self) -> KnownSets:
        """The same, to be changed by somebody else."""
        return replace(self, judged=dict(self.judged))  # lists are replaced, not changed

    def add(self, chosen: int, outcome: Outcome) -> None:
        """Learn the outcome of a set."""
        self.judged[chosen] = outcome
        if outcome is Outcome.SAFE:
            if not any(chosen | known == known for known in self.safe):
                self.safe = [known for known in self.safe if known | chosen != chosen] + [chosen]
        elif outcome is Outcome.UNSAFE and not self.contains_unsafe(chosen):
            self.unsafe = [known for known in self.unsafe if known | chosen != known] + [chosen]

    def contains_unsafe(self, chosen: int) -> bool:
        """Whether a set contains one that is known to be unsafe."""
        return any(known | chosen == chosen for known in self.unsafe)

    def outcome(self, chosen: int) -> Outcome | None:
        """What is known of a set; None if it was not judged and nothing follows."""
        if self.every is None and any(chosen | known == known for known in self.safe):
            return Outcome.SAFE
        if self.every is None and self.contains_unsafe(chosen):
            return Outcome.UNSAFE
        return self.judged.get(chosen)

    @property
    def undecided(self) -> list[int]:
        """The sets that were judged, and could not be decided."""
        return [some for some in self.judged if self.outcome(some) is Outcome.UNDECIDED]

    def larger(self, chosen: int) -> Iterable[int]:
        """Larger sets: the smallest of them, if the others follow."""
        if self.every is None:
            return self.candidates.above(chosen)
        return (some for some in self.every if some != chosen and some | chosen == some)

    def smaller(self, chosen: int) -> Iterable[int]:
        """Smaller sets: the largest of them, if the others follow."""
        if self.every is None:
            return self.candidates.under(chosen)
        return (some for some in self.every if some != chosen and some | chosen == chosen)

    def maximal(self, chosen: int) -> bool:
        """Whether no larger set than a safe one is safe, for certain."""
        return all(self.outcome(larger) is Outcome.UNSAFE for larger in self.larger(chosen))

    def minimal(self, chosen: int) -> bool:
        """Whether no smaller set than an unsafe one is unsafe, for certain."""
        return all(self.outcome(smaller) is Outcome.SAFE for smaller in self.smaller(chosen))

    def open_set(self, also: Iterable[int] = ()) -> int | None:
        """A largest set of which nothing is known, and that is inside none of `also`.

        None if there is none: then only walls are open.
        """
        largest = self._outside([*self.safe, *also], self.candidates.ground, 0)
        if largest is None:
            return None
        for place in self.candidates.order:
            grown = largest | self.candidates.below[place]
            if not self._barred(grown):
                largest = grown
        return largest

    def _barred(self, chosen: int) -> bool:
        return any(wall | chosen == chosen for wall in (*self.unsafe, *self.walls))

    def _outside(self, floors: list[int], chosen: int, banned: int) -> int | None:
        """A set above `chosen`, without what is banned, that is inside none of the floors."""
        if chosen & banned or self._barred(chosen):
            return None
        floor = next((larger for larger in floors if larger | chosen == larger), None)
        if floor is None:
            return chosen
        below = self.candidates.below
        for place in members(self.candidates.everything & ~floor & ~banned):
            if below[place] & ~floor != 1 << place:
                continue  # whoever contains it contains a smaller one outside of the floor
            larger = self._outside(floors, chosen | below[place], banned)
            if larger is not None:
                return larger
            banned |= 1 << place
        return None


MOST_SETS = 4096
"""Sets that are judged one by one, where none may be skipped."""

SHARE = 0.2
"""The part of what is left of a budget that one judgement may take."""

LEAST, FIRST = 1e-3, 2.0
"""Seconds that a judgement has at least, and at first."""

AT_ONCE = 8
"""Sets that are looked into at the same time: as many for any number of workers, also for none, so
that what is judged depends on the question alone."""


@dataclass(frozen=True, slots=True, eq=False)
class SetJudge:
    """Judges sets of candidates by a policy; `quick` if tables near the owner's may prove it."""

    candidates: Candidates
    table: Table
    policy: Policy
    independent: bool
    quick: bool

    def __call__(self, chosen: int, effort: Budget) -> Outcome:
        """The outcome of a set, within its share of what is left.

        Most sets are decided in no time. Where that fails, moves may prove what would take long.
        """
        release = self.candidates.release(chosen)
        part = effort.share(SHARE, least=LEAST)
        cases = cases_of(release, self.table, self.policy, independent=self.independent)
        outcome = _outcome(cases, part.share(most=FIRST))
        if outcome is not Outcome.UNDECIDED or part.spent:
            return outcome
        # Moves prove it of the cells, and margins are judged by themselves.
        margins = part.share(SHARE, least=LEAST)
        quick = self.quick and _outcome(cases[1:], margins) is Outcome.SAFE
        if quick and safe_by_moves(release, self.table, self.policy, part):
            return Outcome.SAFE
        return outcome if part.spent else _outcome(cases, part.share(least=LEAST))


def _outcome(cases: Sequence[Case], budget: Budget) -> Outcome:
    return judged(cases, budget.quiet(), decisive=True)[0].outcome if cases else Outcome.SAFE


def search(judged: SetJudge, effort: Budget) -> KnownSets:
    """All that can be known within the budget, for monotone rules."""
    known = KnownSets(judged.candidates)
    with suppress(Late):  # what was judged so far is known
        _search(judged, known, effort)
    return known


def _search(judged: SetJudge, known: KnownSets, effort: Budget) -> None:
    while not effort.spent:
        sets = _to_look_into(known)
        if not sets:
            known.finished = True
            break
        if len(sets) == 1:
            _look_into(judged, known, sets[0], effort)
        else:
            until = Until.of(effort.left)
            pieces = [(judged, known.copy(), chosen, until) for chosen in sets]
            for _, facts in shared(effort.executor, _looked_into, pieces):
                for chosen, outcome in facts:
                    known.add(chosen, outcome)
                effort.say(len(known.judged), len(known.judged) + 1)
        open_sets = (some for some in sets if known.outcome(some) is Outcome.UNDECIDED)
        known.walls = [*known.walls, *open_sets]


def _to_look_into(known: KnownSets) -> list[int]:
    sets: list[int] = []
    while len(sets) < AT_ONCE:
        chosen = known.open_set(also=sets)
        if chosen is None:
            break
        sets.append(chosen)
    return sets


def _looked_into(judged: SetJudge, known: KnownSets, chosen: int, until: Until) -> Facts:
    """Run by a worker."""
    before = set(known.judged)
    _look_into(judged, known, chosen, Budget.until(until.deadline))
    return [(some, outcome) for some, outcome in known.judged.items() if some not in before]


def _look_into(judged: SetJudge, known: KnownSets, chosen: int, effort: Budget) -> None:
    """Judge a set. If it is unsafe, find a smallest unsafe one in it; if undecided, a safe one."""

    def ask(one: int) -> Outcome:
        outcome = known.outcome(one)
        if outcome is None and not effort.spent:
            # How many sets will have to be judged is not known: at least one more.
            effort.say(len(known.judged), len(known.judged) + 1)
            outcome = judged(one, effort)
            known.add(one, outcome)
        return outcome or Outcome.UNDECIDED

    outcome = ask(chosen)
    if outcome is Outcome.UNSAFE:
        _smallest_unsafe(judged.candidates, chosen, ask)
    elif outcome is Outcome.UNDECIDED:
        # The sets just below are likely to be as hard; something that is safe is better than none.
        steps = _steps(judged.candidates, judged.candidates.ground, chosen)
        _bisected(steps, lambda one: ask(one) is not Outcome.SAFE)


def _smallest_unsafe(candidates: Candidates, chosen: int, ask: Callable[[int], Outcome]) -> None:
    """Ask until a smallest unsafe set in an unsafe one is known.

    Each round adds the statements of the set one by one to those that are needed, and finds by
    bisection the first one that makes the sum unsafe: it is needed too. What could not be decided
    is taken to be not unsafe, so that what is found is unsafe, but perhaps not smallest.
    """
    needed = candidates.ground
    while ask(needed) is not Outcome.UNSAFE:
        steps = _steps(candidates, needed, chosen)
        place = _bisected(steps, lambda one: ask(one) is Outcome.UNSAFE)
        chosen = steps[place]
        needed |= candidates.below[(chosen & ~steps[place - 1]).bit_length() - 1]


def _bisected(steps: list[int], holds: Callable[[int], bool]) -> int:
    """A place where something holds that does not one step before; it does at the end."""
    low, high = 0, len(steps) - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(steps[middle]) else (middle, high)
    return high


def _steps(candidates: Candidates, first: int, last: int) -> list[int]:
    """Closed sets from one to another, each with one more member."""
    steps = [first]
    for place in candidates.order:
        if last >> place & 1 and not first >> place & 1:
            steps.append(steps[-1] | 1 << place)
    return steps


def judge_all(judged: SetJudge, effort: Budget) -> KnownSets:
    """Every set by itself, the largest first, as far as the budget goes."""
    sets = closed_sets(judged.candidates)
    effort.say(0, len(sets))
    until = Until.of(effort.left)
    pieces = [(judged, chosen, until) for chosen in sets]
    outcomes = shared(effort.executor, _judged, pieces, progress=effort.say)
    facts = []
    with suppress(Late):
        for place, outcome in outcomes:
            if outcome is not None:
                facts.append((sets[place], outcome))
    return KnownSets.of_every(judged.candidates, sets, facts)


def _judged(judged: SetJudge, chosen: int, until: Until) -> Outcome | None:
    """Run by a worker; None if there was no time to begin."""
    effort = Budget.until(until.deadline)
    return None if effort.spent else judged(chosen, effort)


def closed_sets(candidates: Candidates) -> list[int]:
    """Every closed set, the largest first; refused if there are too many."""
    closed = [candidates.ground]
    for place in candidates.order:
        if candidates.ground >> place & 1:
            continue
        inside = candidates.below[place] & ~(1 << place)
        closed += [some | 1 << place for some in closed if inside & ~some == 0]
        if len(closed) > MOST_SETS:
            free = sum(1 for _ in members(candidates.everything & ~candidates.ground))
            raise TooMuchWork(
                f"{free} candidates make more than {MOST_SETS} sets, and under this policy each "
                "would have to be judged by itself; give fewer candidates, or a policy whose "
                "rules are monotone"
            )
    return sorted(closed, key=lambda one: (-one.bit_count(), one))
