"""The search over designs: every one is judged, measured, compared, and kept to go on from."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, replace
from functools import partial
from numbers import Real
from pathlib import Path
from typing import Any

import numpy as np

from cellbounds.data.domain import Domain
from cellbounds.data.storage import DENSE_LIMIT
from cellbounds.data.table import Table
from cellbounds.disclosure.exploring.designs import Design, designs_of, merges_of, ways_of
from cellbounds.disclosure.exploring.frontier import Frontier, JudgedDesign, LeftOut
from cellbounds.disclosure.policies import DEFAULT, Outcome, Policy, Verdict, policy_of
from cellbounds.disclosure.policies.judging import judged
from cellbounds.disclosure.policies.knowledge import hides_figures
from cellbounds.disclosure.policies.rerunning import MOST_CELLS
from cellbounds.disclosure.policies.scenarios import (
    Case,
    cases_of,
    empty_rows,
    spoken_margins,
    with_counts,
)
from cellbounds.disclosure.policies.verdict import CANNOT_RERUN
from cellbounds.errors import InvalidInput, TooMuchWork, Unsettled, UnsupportedRelease
from cellbounds.results import Attainable, Evidence, Unbounded
from cellbounds.runtime.arrays import BoolArray
from cellbounds.runtime.budget import UNLIMITED, Budget, budgeted
from cellbounds.runtime.checkpoints import Checkpoint, Purpose, damaged
from cellbounds.runtime.interrupts import Late
from cellbounds.runtime.workers import Until, shared
from cellbounds.solvers.solve import attainable
from cellbounds.statements import Release
from cellbounds.statements.notation import names_text
from cellbounds.utility.retained_utility import retained
from cellbounds.version import __version__

Utility = Callable[[Table, Release], float]
"""What a release about a table is good for."""

LEAST_SECONDS = 1e-3
"""A budget for what has been begun already."""

SEARCH = Purpose(
    "a search",
    "cellbounds-explore-state/2",
    (
        ("table", "the state of a search about another table"),
        ("options", "the state of a search with other designs, policy or options"),
    ),
)

DESIGN = "design"
"""The part of a state that every entry belongs to."""

KEPT = "kept"

Chunk = list[tuple[int, Design]]


@budgeted(resumes=True)
def explore(
    table: Table,
    *,
    response: str | Iterable[str],
    givens: Iterable[Iterable[str]] | None = None,
    digits: int | Iterable[int | None] | None = range(1, 5),
    rounding: str | Iterable[str] = ("nearest",),
    eps: object = None,
    strict: bool = False,
    merges: str | Mapping[str, Iterable[Mapping[object, Iterable[object]]]] | None = None,
    total: bool = True,
    policy: Policy | str | Path = DEFAULT,
    utility: str | Utility = KEPT,
    independent: bool | None = None,
    budget: Budget = UNLIMITED,
    seconds: float | None = None,
) -> Frontier:
    """Judge every design of published rates, and find the best safe one.

    A design publishes ``[response|givens]@digits``. It is judged twice: the table that is
    published, and all cells of the whole table if variables are omitted or levels merged; the
    worse counts. Somebody who is alone in a cell of the published table is given away even if
    nobody can tell in which cell of the whole table he is.

    Parameters
    ----------
    table
        The confidential table.
    response
        The variable whose rates are wanted, or several for their joint rates.
    givens
        The sets of variables to try as predictors; all subsets of the others (the empty one
        included) if not said.
    digits
        Decimals to try; None among them: exact rates or, with `eps`, as few as `eps` needs.
    rounding
        Rounding rules to try; see :func:`publish`.
    eps, strict
        Tolerances to try, announced beside the rounding rule (None: none).
    merges
        For each variable, a list of ways to merge its levels ``{new: [old, ...]}``, tried besides
        the levels as they are; or ``"adjacent"`` for every pair of neighbours of each variable
        with more than two levels.
    total
        Whether N is published too.
    policy
        As for :func:`judge`.
    independent
        Unless said, and up to 1,024 cells, the best design holds against an intruder who reruns the
        search on every table that fits what it publishes; among safe designs it is then chosen by a
        utility that does not depend on the counts. What the budget does not settle says "SAFE if
        the intruder cannot rerun the choice". True: larger tables are judged without the counts.
        False: the best design is chosen by the counts, and safe if he cannot rerun it.
    utility
        ``"kept"``: the share of the finest rates (of the response given all givens that are tried)
        that a reader of the release recovers. Or a function of table and release; workers in other
        processes must be able to import it.
    budget, seconds
        What the whole search may cost: a :class:`Budget`, or seconds alone, shared out among the
        designs. What it does not settle is undecided, and designs that it does not reach are left
        out. A search that was stopped goes on from its checkpoint, which is as confidential as the
        table.

    Raises
    ------
    InvalidInput
        If a variable is unknown, there are more than 100,000 designs, or the state belongs to
        another search.

    Examples
    --------
    >>> import cellbounds as cb
    >>> from cellbounds.disclosure.exploring import explore
    >>> found = explore(cb.datasets.read("delinquent"), response="education", digits=range(1, 4))
    >>> [(one.notation, one.outcome) for one in found.designs]
    [('[education|]@1', SAFE), ('[education|]@2', SAFE), ('[education|]@3', SAFE),
    ('[education|county]@1', SAFE), ('[education|county]@2', UNSAFE),
    ('[education|county]@3', UNSAFE)]
    >>> found.best.notation
    '[education|county]@1'
    """
    if not isinstance(table, Table):
        raise InvalidInput(f"table={table!r}; give a Table, such as read_table(...)")
    responses = _names(table.domain, response, "response")
    chosen = None if givens is None else _givens(table.domain, givens, responses)
    ways = ways_of(digits, rounding, eps, strict)
    merged = merges_of(table.domain, merges)
    designs = designs_of(table.domain, responses, chosen, ways, merged, _checked(total, "total"))
    if utility != KEPT and not callable(utility):
        raise InvalidInput(
            f"utility={utility!r}; give {KEPT!r}, or a function of the table and a release"
        )
    # The finest rates that a reader could want: given everything that is tried.
    tried = {name for design in designs for name in design.given}
    given = [name for name in table.domain.names if name in tried]
    measures = Measures(
        policy_of(policy),
        _strong(table, independent),
        f"[{names_text(responses)}|{names_text(given)}]",
        utility if callable(utility) else None,
    )
    for rule in measures.policy.rules:
        table.domain.axes(rule.variables)  # of the table itself, whatever is published of it
    begun = time.perf_counter()
    results = _search(table, designs, measures, budget)
    judged = {k: result for k, result in results.items() if isinstance(result, JudgedDesign)}
    places = [k for k in sorted(judged) if judged[k].outcome is Outcome.SAFE]
    best, signal = None, CANNOT_RERUN if places else ""
    if places and independent is None and not measures.independent:
        signal = f"{CANNOT_RERUN}: tables of so many cells are not rerun"
    if measures.independent:
        from cellbounds.disclosure.exploring.best_design import best_design

        choice = best_design(table, designs, places, measures, budget)
        signal = choice.sentence
        best = None if choice.place is None else sorted(judged).index(choice.place)
    return Frontier(
        designs=tuple(replace(judged[k], table=table) for k in sorted(judged)),
        left_out=tuple(
            LeftOut(designs[k], result)
            for k, result in sorted(results.items())
            if isinstance(result, str)
        ),
        planned=len(designs),
        policy=measures.policy,
        independent=measures.independent,
        use=measures.use,
        seconds=time.perf_counter() - begun,
        chosen=best,
        signal=signal,
    )


def _names(domain: Domain, given: str | Iterable[str], what: str) -> tuple[str, ...]:
    """Variables of the table, in its order."""
    if not isinstance(given, str) and not isinstance(given, Iterable):
        raise InvalidInput(f"{what} is {given!r}; name a variable, or several")
    names = domain.distinct((given,) if isinstance(given, str) else given)
    if not names and what == "response":
        raise InvalidInput("response names no variable; name at least one")
    axes = domain.axes(names)
    return tuple(domain.names[axis] for axis in sorted(axes))


def _givens(
    domain: Domain, givens: Iterable[Iterable[str]], responses: tuple[str, ...]
) -> list[tuple[str, ...]]:
    if isinstance(givens, str) or not isinstance(givens, Iterable):
        raise InvalidInput(
            f"givens={givens!r}; give a list of sets of variables, such as [['A'], ['A', 'B']]"
        )
    listed = []
    for variables in givens:
        if isinstance(variables, str):
            raise InvalidInput(
                f"givens has the text {variables!r}; each set is a list, [{variables!r}]"
            )
        names = _names(domain, variables, "a set of givens")
        both = [name for name in names if name in responses]
        if both:
            raise InvalidInput(f"{both[0]!r} is a response and a given; name it in one of the two")
        listed.append(names)
    if not listed:
        raise InvalidInput("givens is empty; give sets of variables ([()] for none), or None")
    return list(dict.fromkeys(listed))


def _strong(table: Table, independent: object) -> bool:
    """Whether the choice must hold against whoever reruns it."""
    if independent is None:
        return table.domain.size <= MOST_CELLS
    return _checked(independent, "independent")


def _checked(given: object, what: str) -> bool:
    if not isinstance(given, bool):
        raise InvalidInput(f"{what}={given!r}; give True or False")
    return given


def _search(
    table: Table, designs: Sequence[Design], measures: Measures, effort: Budget
) -> dict[int, JudgedDesign | str]:
    """Everything that could be found within the budget, by the place of the design."""
    results: dict[int, JudgedDesign | str] = {}
    with ExitStack() as stack:
        state, path = None, effort.checkpoint
        if path is not None and not isinstance(path, Checkpoint):
            header = header_of(table, designs, measures)
            state = stack.enter_context(DesignSearchState(path, header, designs))
            results |= state.found
        # Designs that publish the same variables and levels share their work.
        left = [(k, design) for k, design in enumerate(designs) if k not in results]
        grouped = itertools.groupby(left, key=lambda item: (item[1].given, item[1].merges))
        chunks = [list(chunk) for _, chunk in grouped]
        work = stack.enter_context(closing(_worked(table, chunks, measures, effort)))
        with suppress(Late):  # what was judged so far is there
            effort.say(len(results), len(designs))
            for place, design in work:
                results[place] = design
                if state is not None and isinstance(design, JudgedDesign) and design.settled:
                    state.add(place, design)
                effort.say(len(results), len(designs))
    return results


def _worked(
    table: Table, chunks: list[Chunk], measures: Measures, effort: Budget
) -> Generator[tuple[int, JudgedDesign | str], None, None]:
    """The designs of all chunks; from workers, those of each chunk when it is done."""
    until = Until.of(effort.left)
    if effort.executor is not None and until.span is None:
        # What takes longest comes first, so that all workers end at about the same time. A budget
        # goes further if what is quick comes first.
        def size(chunk: Chunk) -> int:
            """About how long it takes: the cells that its designs speak of."""
            variables = chunk[0][1].variables
            return len(chunk) * math.prod(len(table.domain.levels(name)) for name in variables)

        chunks = sorted(chunks, key=size, reverse=True)
    sizes = [len(chunk) for chunk in chunks]
    # How many designs share the time that is left when a chunk is begun, itself included.
    lefts = list(itertools.accumulate(reversed(sizes)))[::-1]
    pieces = [(chunk, measures, left, until) for chunk, left in zip(chunks, lefts, strict=True)]
    if effort.executor is None:
        for piece in pieces:
            yield from measured(table, *piece)
        return
    sent = [(table, *piece) for piece in pieces]
    for _, designs in shared(effort.executor, _finished, sent, ordered=False):
        yield from designs


def _finished(*piece: Any) -> list[tuple[int, JudgedDesign | str]]:
    """Run by a worker."""
    return list(measured(*piece))


# --- one design: whether it is safe, how well small counts can be guessed, what it is good for --


@dataclass(frozen=True, slots=True)
class Measures:
    """By what all designs are measured.

    Attributes
    ----------
    use
        The rates that a reader wants, in the notation.
    utility
        What a release is good for; None: how much of the wanted rates it keeps.
    """

    policy: Policy
    independent: bool
    use: str
    utility: Utility | None = None


@dataclass(frozen=True, slots=True)
class GuessingRisk:
    """What the attainable counts of the cells leave to guess.

    Attributes
    ----------
    small
        How many cells are small: all of them without the true counts.
    exact
        Cells, small or not, with a single attainable count.
    tightest
        The fewest attainable counts of a small cell; None if none of them has a limit.
    risk
        The average of 1 / (number of attainable counts) over the small cells, 0 if there are none.
    settled
        Whether all attainable counts are known. Otherwise those that are known count, so that the
        risk is not understated.
    """

    small: int
    exact: int
    tightest: int | None
    risk: float
    settled: bool


def measured(
    table: Table,
    numbered: Sequence[tuple[int, Design]],
    measures: Measures,
    left: int,
    until: Until,
) -> Iterator[tuple[int, JudgedDesign | str]]:
    """Measure designs that publish the same variables and levels.

    `left` says how many designs share the time that is left, these included: a hard one may not
    take the others' time. Yields the number of each design and what was found, or why it cannot be
    published. Stops when the time is spent.
    """
    budget = Budget.until(until.deadline)
    whole = numbered[0][1].prepared(table)
    for place, (number, design) in enumerate(numbered):
        if budget.spent:
            return
        try:
            release = design.published(whole)
        except InvalidInput as problem:
            yield number, str(problem)
            continue
        share = budget.share(1 / (left - place))
        yield number, _judged(design, release, whole, measures, share)


def _judged(
    design: Design, release: Release, table: Table, measures: Measures, budget: Budget
) -> JudgedDesign:
    begun = time.perf_counter()
    cases = design_cases(design, release, table, measures)
    verdict, answer = judged(cases, budget.share(least=LEAST_SECONDS), decisive=True)
    if answer is not None and (
        cases[0].known is not release or set(answer.over) != set(design.names)
    ):
        answer = None  # it knows more than the release says, or is about other cells
    margin = table.margin(design.names if answer is None else answer.over)
    guessed = guessing_risk(
        release,
        margin,
        measures.policy,
        independent=cases[0].independent,
        seconds=budget.share(least=LEAST_SECONDS).left,
        answer=answer,
    )
    settled = guessed.settled and verdict.outcome is not Outcome.UNDECIDED
    return JudgedDesign(
        design=design,
        outcome=verdict.outcome,
        broken=len(verdict.broken),
        open=len(verdict.open),
        exact=guessed.exact,
        tightest=guessed.tightest,
        risk=guessed.risk,
        utility=utility_of(release, table, measures),
        figures=margin.domain.size,
        reason=_reason(verdict, guessed),
        settled=settled or budget.deadline is None,
        seconds=time.perf_counter() - begun,
    )


def design_cases(
    design: Design,
    release: Release,
    table: Table,
    measures: Measures,
    *,
    unseen: bool | None = None,
) -> list[Case]:
    """What is judged of a design; of more cells than can be listed, the margins it speaks of.

    Without the true counts (`unseen`), unless said, where nothing is rerun; else whether the best
    design tells too much is asked afterwards.
    """
    policy, over = measures.policy, None
    if unseen is None:
        unseen = measures.independent and table.domain.size > MOST_CELLS
    narrowed = policy.within(release.domain, design.names)
    # Cells behind a margin that keeps these rules keep them too.
    if table.domain.size > DENSE_LIMIT and narrowed is not None and policy.carries_over():
        spoken = [names for names, _ in spoken_margins(release).values()]
        policy, over = narrowed, [design.names, *spoken]
    cases = partial(cases_of, release, table, policy, over=over)
    if measures.independent and not policy.tells() and hides_figures(release) and not unseen:
        return with_counts(cases(independent=True), table)
    return cases(independent=unseen)


def utility_of(release: Release, table: Table, measures: Measures) -> float:
    """What a release about a table is good for."""
    if measures.utility is None:
        return retained(table, release, use=[measures.use]).share
    value = measures.utility(table, release)
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise InvalidInput(f"the utility of {release!r} is {value!r}; it must be a finite number")
    return float(value)


def _reason(verdict: Verdict, guessed: GuessingRisk) -> str:
    """Why the outcome is what it is, in one line."""
    worst = verdict.broken or verdict.open
    if worst:
        first = worst[0]
        more = f"; and {len(worst) - 1} more" if len(worst) > 1 else ""
        whom = "" if first.respondent is None else f", to a respondent in {first.respondent}"
        return f"{first.rule} at {first.where}{whom}: {first.evidence}{more}"
    if not guessed.small:
        return "no count is small"
    if guessed.tightest is None:
        return "nothing limits the small counts"
    return f"every small count keeps at least {guessed.tightest} attainable"


def guessing_risk(
    release: Release,
    margin: Table,
    policy: Policy,
    *,
    independent: bool,
    seconds: float | None,
    answer: Attainable | None = None,
) -> GuessingRisk:
    """Look at the attainable counts of a margin; structural zeros and empty rows are left out.

    `answer` is what a verdict on the same question rests on, if it asked for the counts. They are
    asked for again only if something was left open: the verdict had a budget of its own, and the
    true table to begin with.
    """
    over = margin.domain.names
    spoken = ~(margin.structural | empty_rows(release, over))
    small, counts = spoken, margin.counts
    if not independent:
        small = spoken & np.asarray((counts >= policy.smallest) & (counts <= policy.small))
    if answer is not None and answer.evidence is Evidence.EXACT:
        risk = _guessed(answer, spoken, small)
        if risk.settled:
            return risk
    try:
        return _guessed(attainable(release, over=over, seconds=seconds), spoken, small)
    except (TooMuchWork, Unsettled, UnsupportedRelease):
        number = int(small.sum())
        return GuessingRisk(number, 0, 1 if number else None, 1.0 if number else 0.0, False)


def _guessed(answer: Attainable, spoken: BoolArray, small: BoolArray) -> GuessingRisk:
    number = int(small.sum())
    (lower, upper), _ = answer.ends()
    sets = [answer.at(tuple(index)) for index in np.argwhere(small).tolist()]
    known = (values.known.size for values in sets)
    # Counts without end cannot be guessed.
    limited = [max(1, size) for size in known if not isinstance(size, Unbounded)]
    return GuessingRisk(
        number,
        int(((lower == upper) & spoken).sum()),
        min(limited, default=None),
        math.fsum(1 / size for size in limited) / number if number else 0.0,
        all(values.settled for values in sets),
    )


# --- a search on disk ------------------------------------------------------------------------


def header_of(table: Table, designs: Sequence[Design], measures: Measures) -> dict[str, str]:
    """What tells one search from another: table, designs and all that they are judged by."""
    options = {
        "designs": [design.to_dict() for design in designs],
        "policy": measures.policy.to_dict(),
        "independent": measures.independent,
        "use": measures.use,
        "utility": _name_of(measures.utility),
    }
    canonical = json.dumps(options, sort_keys=True, default=str)
    return {
        "format": SEARCH.format,
        "version": __version__,
        "table": table.digest,
        "options": hashlib.sha256(canonical.encode()).hexdigest(),
    }


def _name_of(utility: Callable[..., float] | None) -> str | None:
    """A function's name: the only thing about it that can be compared."""
    if utility is None:
        return None
    named = utility if hasattr(utility, "__qualname__") else type(utility)
    return f"{named.__module__}.{named.__qualname__}"


class DesignSearchState:
    """What was found so far, in a file that is created if it is not there.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "search.jsonl"
    >>> header = {"format": SEARCH.format, "version": "1", "table": "ab", "options": "cd"}
    >>> with DesignSearchState(path, header, []) as state:
    ...     state.found
    {}
    """

    def __init__(self, path: str | Path, header: dict[str, str], designs: Sequence[Design]) -> None:
        self._checkpoint = Checkpoint(path, header, SEARCH)
        self.found: dict[int, JudgedDesign] = {}
        try:
            for entry in self._checkpoint.entries(DESIGN):
                place = entry["place"]
                self.found[place] = JudgedDesign.of(designs[place], entry)
        except (ValueError, KeyError, IndexError, TypeError):
            self._checkpoint.close()
            raise damaged(self._checkpoint.path, "an entry") from None
        except InvalidInput:
            self._checkpoint.close()
            raise

    def add(self, place: int, judged: JudgedDesign) -> None:
        """Keep what was found about the design at a place."""
        self._checkpoint.add(DESIGN, {"place": place, **judged.found()})

    def __enter__(self) -> DesignSearchState:
        return self

    def __exit__(self, *_: object) -> None:
        self._checkpoint.close()
