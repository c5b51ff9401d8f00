"""Drawing synthetic tables."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import numpy as np

from cellbounds.data.table import Table
from cellbounds.errors import CellboundsError, InconsistentRelease, InvalidInput, Unsettled
from cellbounds.inference.posterior import sample
from cellbounds.model.constraints import compile_release, violations
from cellbounds.model.priors import Belief, Multinomial, Poisson, Uniform
from cellbounds.results.draws import Draws
from cellbounds.runtime.arguments import checked_generator, checked_whole
from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.budget import UNLIMITED, Budget, budgeted
from cellbounds.solvers.solve import bounds
from cellbounds.statements import Margin, Release
from cellbounds.synthetic.rounded import TOTALS, Rounded, rounded_rates
from cellbounds.synthetic.synthetic_tables import Synthetic

SPARE = 4
"""Tables that are drawn at least: if all are the same, perhaps there is no other."""

SECONDS = 10.0
"""How long to find out whether there is another at most."""


@budgeted
def synthesize(
    source: Release | Table,
    statement: str | Iterable[str] | None = None,
    *,
    digits: int | None = None,
    copies: int = 1,
    total: str = "same",
    prior: Belief | str | None = None,
    rng: int | np.random.Generator = 0,
    effort: float | None = None,
    budget: Budget = UNLIMITED,
    seconds: float | None = None,
) -> Synthetic:
    """Draw tables to release instead of the true one.

    From a release: tables that keep every one of its statements. From a table and a statement of
    rates: what Slavković and Lee (2010) propose (document 004, section 1): the rates are rounded
    so that rows add to one, the decimals are taken as exact fractions, and tables are drawn among
    those that have exactly these rates.

    Parameters
    ----------
    source
        A release, or the confidential table.
    statement
        With a table: rates in the notation, such as ``"[education|county]"``, or ``"[a,b|]"`` for
        shares of the whole table. A list may name margins to keep beside them.
    digits
        With a table: to how many decimals the rates are rounded (or written: ``"[Y|A]@2"``).
    copies
        How many tables.
    total
        With a table: ``"same"`` keeps N and fails if no table with the rounded rates has it;
        ``"nearest"`` then takes the nearest N that one has (the smaller of two).
    prior
        How likely each table is, as for :func:`sample`. By default hypergeometric if the release
        is of counts, and uniform over tables if it has rates; see the notes.
    rng
        A seed, or a numpy generator (which the result cannot name).
    effort, budget, seconds
        As for :func:`sample`.

    Raises
    ------
    InconsistentRelease
        If there is no such table.

    Notes
    -----
    Tables are drawn from what the release says and nothing else: the true table is not even where
    a Markov chain begins. So whoever sees the tables and knows how they were made learns what the
    release says, and no more. If only one table fits a release, the copies are the confidential
    table itself; the notes say so, and :meth:`Synthetic.write` refuses.

    Given margins, the hypergeometric law (a multinomial with equal probabilities) is what records
    matched at random would give, and its tables look like data; uniform over tables gives the few
    extreme tables as much weight as the many ordinary ones. Given rates, the sums of the rows are
    left open; a multinomial with equal probabilities would settle them by how even the rates of
    each row happen to be, with hardly any spread, while uniform leaves them open, and is what
    "randomly select a table" means in the document.

    Examples
    --------
    >>> import cellbounds as cb
    >>> from cellbounds.synthetic import synthesize
    >>> table = cb.datasets.read("mp3")
    >>> made = synthesize(cb.publish(table, "[gender]", "[mp3]"), copies=3, rng=7)
    >>> [one.margin(["mp3"]).counts.tolist() for one in made]
    [[20, 30], [20, 30], [20, 30]]
    >>> made = synthesize(table, "[mp3|gender]", digits=1, rng=3)
    >>> made.kept
    ['[mp3|gender] rounded to 1 decimal, then exact', 'N=50']
    >>> rates = made[0].conditional(["mp3"], given=["gender"])
    >>> [[str(rate) for rate in row] for row in rates]
    [['3/5', '2/5'], ['1/5', '4/5']]
    """
    _check(source, statement, digits, total)
    copies, generator = checked_whole("copies", copies), checked_generator(rng)
    seed = None if isinstance(rng, np.random.Generator) else int(rng)
    rounded: Rounded | None = None
    if isinstance(source, Table):
        release, rounded = rounded_rates(source, statement or (), digits, total)
    else:
        release = source
    try:
        draws = sample(
            release,
            max(copies, SPARE),
            prior=usual_prior(release) if prior is None else prior,
            rng=generator,
            effort=effort,
            budget=budget,
        )
    except InconsistentRelease as problem:
        if rounded is None:
            raise
        raise InconsistentRelease(
            f"{problem}; the rates of {', '.join(rounded.statements)} were taken as exact: "
            "leave the other statements out, or give another number of digits"
        ) from None
    _check_draws(draws)
    counts = _first(draws, copies)
    only = _only_table(draws, budget)
    original = only and not (isinstance(source, Table) and bool((counts[0] != source.counts).any()))
    notes = _notes(draws, counts, copies, rounded, only, original)
    about = release, draws.over, draws.method, draws.evidence, draws.seconds, None
    return Synthetic(*about, counts, draws, seed, rounded, original, notes)


def _first(draws: Draws, copies: int) -> IntArray:
    """So many of the drawn tables: from different chains first, whose draws are independent."""
    if not draws.chains:
        return draws.counts[:copies]
    # Chains stand one after the other, the first ones with one draw more if they are not equal.
    chains = np.array_split(np.arange(len(draws)), draws.chains)
    turns = itertools.zip_longest(*chains)
    places = [place for turn in turns for place in turn if place is not None]
    return np.asarray(draws.counts[places[:copies]])


def _only_table(draws: Draws, budget: Budget) -> bool:
    """Whether it is certain that no other table fits."""
    if not _all_same(draws):
        return False
    answer = bounds(draws.release, start=draws[0], budget=budget.share(most=SECONDS).quiet())
    return bool((answer.lower == answer.upper).all())


def usual_prior(release: Release) -> Belief:
    """The prior for synthetic tables, unless another is asked for: see :func:`synthesize`."""
    if any(statement.responses for statement in release.statements):
        return Uniform()
    if release.total.exact is not None:
        return Multinomial()
    # An exact margin fixes N, and then Poisson counts of equal means have the same law.
    if any(isinstance(statement, Margin) and statement.exact for statement in release.statements):
        return Poisson(1)
    return Uniform()


def _all_same(draws: Draws) -> bool:
    return bool((draws.counts == draws.counts[0]).all())


def _check(source: object, statement: object, digits: object, total: object) -> None:
    if total not in TOTALS:
        raise InvalidInput(f"total={total!r}; choose one of {', '.join(map(repr, TOTALS))}")
    if isinstance(source, Release):
        given = {"a statement": statement, "digits": digits}
        extra = [f"{name} ({value!r})" for name, value in given.items() if value is not None]
        if total != "same":
            extra.append(f"total={total!r}")
        if extra:
            raise InvalidInput(
                f"a release with {' and '.join(extra)}; these go with a table: the release says "
                "what the tables keep"
            )
    elif not isinstance(source, Table):
        raise InvalidInput(
            f"{source!r} is neither a Release nor a Table; give publish(table, ...), or a table "
            "and a statement of rates"
        )
    elif statement is None:
        raise InvalidInput(
            "a table without a statement; give the rates that the tables shall keep, such as "
            "'[Y|A,B]' with digits=2, or a release"
        )


def _check_draws(draws: Draws) -> None:
    """Every table is checked against every statement before anybody sees it."""
    if not len(draws):
        raise Unsettled("the budget was spent before a table was drawn; give more seconds")
    system = compile_release(draws.release)
    for table in draws:
        broken = violations(table, draws.release, system)
        if broken:
            raise CellboundsError(
                f"a drawn table failed its check ({', '.join(broken)}); please report this with "
                "the release"
            )


def _notes(
    draws: Draws, counts: IntArray, copies: int, rounded: Rounded | None, only: bool, original: bool
) -> tuple[str, ...]:
    notes = []
    if rounded is not None:
        notes.append(
            f"the rates were rounded to {rounded.places} (by largest remainder) and taken as exact"
        )
        if rounded.total == "nearest":
            notes.append(
                "N is the nearest total that these rates allow, which need not be that of the "
                "true table"
            )
    if only:
        itself = "the confidential one itself" if original else "the same in every copy"
        notes.append(f"only one table keeps all this: it is {itself}")
    elif _all_same(draws):
        notes.append("all tables that were drawn are the same, though there may be others")
    if len(counts) < copies:
        notes.append(f"stopped early: {len(counts)} of {copies} tables")
    return (*notes, *draws.notes)
