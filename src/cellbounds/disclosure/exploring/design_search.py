"""The search over designs: every one is judged, measured, compared, and kept to go on from."""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from cellbounds.data.domain import Domain
from cellbounds.data.table import Table
from cellbounds.disclosure.exploring.design_measures import Measures, Utility, measured
from cellbounds.disclosure.exploring.designs import Design, designs_of, merges_of, ways_of
from cellbounds.disclosure.exploring.frontier import Frontier, JudgedDesign, LeftOut
from cellbounds.disclosure.policies import DEFAULT, Policy, policy_of
from cellbounds.errors import InvalidInput
from cellbounds.runtime.budget import Budget, running
from cellbounds.runtime.checkpoints import Checkpoint, Purpose, damaged
from cellbounds.runtime.workers import Until, shared
from cellbounds.statements.notation import names_text
from cellbounds.version import __version__

__all__ = ["SearchState", "explore"]

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

Progress = Callable[[int, int], None]
Chunk = list[tuple[int, Design]]


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
    independent: bool = False,
    budget: Budget | None = None,
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
        Tolerances to try, announced instead of what the rounding rule implies (None: that).
    merges
        For each variable, a list of ways to merge its levels ``{new: [old, ...]}``, tried besides
        the levels as they are; or ``"adjacent"`` for every pair of neighbours of each variable
        with more than two levels.
    total
        Whether N is published too.
    policy, independent
        As for :func:`judge`.
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
    >>> found = explore(cb.example_table("delinquent"), response="education", digits=range(1, 4))
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
    measures = Measures(
        policy_of(policy),
        _checked(independent, "independent"),
        _use(responses, table.domain, designs),
        _function(utility),
    )
    for rule in measures.policy.rules:
        table.domain.axes(rule.variables)  # of the table itself, whatever is published of it
    begun = time.perf_counter()
    with running(budget, seconds, resumes=True) as budget:
        found = _search(table, designs, measures, budget)
    judged = {k: one for k, one in found.items() if isinstance(one, JudgedDesign)}
    return Frontier(
        tuple(replace(judged[k], table=table) for k in sorted(judged)),
        tuple(LeftOut(designs[k], one) for k, one in sorted(found.items()) if isinstance(one, str)),
        len(designs),
        measures.policy,
        measures.independent,
        measures.use,
        time.perf_counter() - begun,
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
    found = []
    for one in givens:
        if isinstance(one, str):
            raise InvalidInput(f"givens has the text {one!r}; each set is a list, [{one!r}]")
        names = _names(domain, one, "a set of givens")
        both = [name for name in names if name in responses]
        if both:
            raise InvalidInput(f"{both[0]!r} is a response and a given; name it in one of the two")
        found.append(names)
    if not found:
        raise InvalidInput("givens is empty; give sets of variables ([()] for none), or None")
    return list(dict.fromkeys(found))


def _checked(given: object, what: str) -> bool:
    if not isinstance(given, bool):
        raise InvalidInput(f"{what}={given!r}; give True or False")
    return given


def _function(utility: str | Utility) -> Utility | None:
    if utility == KEPT:
        return None
    if not callable(utility):
        raise InvalidInput(
            f"utility={utility!r}; give {KEPT!r}, or a function of the table and a release"
        )
    return utility


def _use(responses: tuple[str, ...], domain: Domain, designs: Sequence[Design]) -> str:
    """The finest rates that a reader could want: given everything that is tried."""
    tried = {name for one in designs for name in one.given}
    given = [name for name in domain.names if name in tried]
    return f"[{names_text(responses)}|{names_text(given)}]"


def _search(
    table: Table,
    designs: Sequence[Design],
    measures: Measures,
    effort: Budget,
) -> dict[int, JudgedDesign | str]:
    """Everything that could be found within the budget, by the place of the design."""
    found: dict[int, JudgedDesign | str] = {}
    with ExitStack() as stack:
        state, path = None, effort.checkpoint
        if path is not None and not isinstance(path, Checkpoint):
            state = stack.enter_context(
                SearchState(path, header_of(table, designs, measures), designs)
            )
            found |= state.found
        chunks = _chunks(designs, found)
        work = stack.enter_context(closing(_worked(table, chunks, measures, effort)))
        effort.say(len(found), len(designs))
        for place, one in work:
            found[place] = one
            if state is not None and isinstance(one, JudgedDesign) and one.settled:
                state.add(place, one)
            effort.say(len(found), len(designs))
    return found


def _chunks(designs: Sequence[Design], found: Mapping[int, object]) -> list[Chunk]:
    """What is left to do; designs that publish the same variables and levels share their work."""
    left = [(k, one) for k, one in enumerate(designs) if k not in found]
    grouped = itertools.groupby(left, key=lambda item: (item[1].given, item[1].merges))
    return [list(chunk) for _, chunk in grouped]


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
            yield from _work(table, *piece)
        return
    sent = [(table, *piece) for piece in pieces]
    for _, judged in shared(effort.executor, _finished, sent, ordered=False):
        yield from judged


def _work(
    table: Table, chunk: Chunk, measures: Measures, left: int, until: Until
) -> Iterator[tuple[int, JudgedDesign | str]]:
    if until.left is not None:
        measures = replace(measures, end=time.time() + until.left)
    for place, one in measured(table, [design for _, design in chunk], measures, left):
        yield chunk[place][0], one


def _finished(*piece: Any) -> list[tuple[int, JudgedDesign | str]]:
    """Run by a worker."""
    return list(_work(*piece))


# --- a search on disk ------------------------------------------------------------------------


def header_of(table: Table, designs: Sequence[Design], measures: Measures) -> dict[str, str]:
    """What tells one search from another: table, designs and all that they are judged by."""
    options = {
        "designs": [one.to_dict() for one in designs],
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


class SearchState:
    """What was found so far, in a file that is created if it is not there.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "search.jsonl"
    >>> header = {"format": SEARCH.format, "version": "1", "table": "ab", "options": "cd"}
    >>> with SearchState(path, header, []) as state:
    ...     state.found
    {}
    """

    def __init__(self, path: str | Path, header: dict[str, str], designs: Sequence[Design]) -> None:
        self._checkpoint = Checkpoint(path, header, SEARCH)
        self.found: dict[int, JudgedDesign] = {}
        try:
            for said in self._checkpoint.entries(DESIGN):
                place = said["place"]
                self.found[place] = JudgedDesign.of(designs[place], said)
        except (ValueError, KeyError, IndexError, TypeError):
            self._checkpoint.close()
            raise damaged(self._checkpoint.path, "an entry") from None
        except InvalidInput:
            self._checkpoint.close()
            raise

    def add(self, place: int, judged: JudgedDesign) -> None:
        """Keep what was found about the design at a place."""
        self._checkpoint.add(DESIGN, {"place": place, **judged.found()})

    def __enter__(self) -> SearchState:
        return self

    def __exit__(self, *_: object) -> None:
        self._checkpoint.close()
