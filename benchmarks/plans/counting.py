"""How much is measured of counting, posteriors and draws."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CountingPlan:
    """The size of every section.

    Parameters
    ----------
    repeat_seconds : float
        Budget for repeating short calls.
    limit : float
        Seconds after which a process with one question is ended.
    documents_draws : int
        Draws of document 002's chain.
    documents : tuple of str or None
        Names of document 002's examples; None for all.
    reshapes : tuple of str
        The beginnings of the names of the tables of Table 9 that are counted.
    digits, long_digits : tuple of int
        Decimals of their rates; the second ones for tables of more than `LARGE` people.
    exact_draws : int
        Exact draws that are timed after counting.
    models : int
        Decomposable models of czech6.
    model_limit : float
        Seconds after which the process with one of them is ended.
    shapes : tuple of pairs
        Two-way tables that grow.
    doublings : int
        How often N is doubled, at most, when two-way tables grow.
    compared_draws : int
        Draws by each method, when methods are compared.
    estimate_draws : int
        Draws for each estimated count.
    compared, estimated : tuple of str or None
        Names of the releases on which draws and estimates are compared; None for all.
    patience : float
        Seconds that drawing and estimating may take; what was drawn by then counts.
    listed : tuple of str or None
        Names of the releases whose tables are listed by 4ti2 and counted by LattE; None for all.
    listing_limit : float
        Seconds after which these programs are ended.
    """

    repeat_seconds: float
    limit: float
    documents_draws: int
    documents: tuple[str, ...] | None
    reshapes: tuple[str, ...]
    digits: tuple[int, ...]
    long_digits: tuple[int, ...]
    exact_draws: int
    models: int
    model_limit: float
    shapes: tuple[tuple[int, int], ...]
    doublings: int
    compared_draws: int
    estimate_draws: int
    compared: tuple[str, ...] | None
    estimated: tuple[str, ...] | None
    patience: float
    listed: tuple[str, ...] | None
    listing_limit: float


LARGE = 10_000  # people

FULL = CountingPlan(
    repeat_seconds=0.5,
    limit=120.0,
    documents_draws=10_000,
    documents=None,
    reshapes=("haberman3", "koch4", "czech6", "cps8", "nltcs16"),
    digits=(1, 2, 3),
    long_digits=(3,),
    exact_draws=1000,
    models=6,
    model_limit=20.0,
    shapes=((3, 3), (3, 4), (4, 4), (5, 5)),
    doublings=14,
    compared_draws=10_000,
    estimate_draws=10_000,
    compared=None,
    estimated=None,
    patience=3.0,
    listed=None,
    listing_limit=5.0,
)
QUICK = CountingPlan(
    repeat_seconds=0.05,
    limit=20.0,
    documents_draws=10_000,
    documents=("2x2, 37 tables", "2x2 rounded rates"),
    reshapes=("haberman3",),
    digits=(2,),
    long_digits=(),
    exact_draws=1000,
    models=1,
    model_limit=5.0,
    shapes=((3, 3),),
    doublings=1,
    compared_draws=1000,
    estimate_draws=1000,
    compared=("2x2 margins", "census3 all 2-way"),
    estimated=("2x2 margins", "census3 all 2-way"),
    patience=2.0,
    listed=("2x2 margins", "2x2 rates of 7 people, 1 digit", "census3 two cliques"),
    listing_limit=1.0,
)
