"""Tables that look like the real ones, for everybody who does not have the data files.

Each has the shape and the total of the table it stands in for, and is about as skewed and as
sparse: a log-linear model with random main and pairwise effects, and one multinomial draw.
Nothing in them comes from the real tables but the shape, the total, and (to choose the spread
of the effects) the number of cells that are not zero.

Run ``python -m benchmarks.problems.lookalikes OUTDIR`` to write them as tidy CSV files.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from benchmarks.arrays import FloatArray, IntArray

SEED = 20160401
LISTED_IN_FULL = 1000  # larger tables list their non-zero cells only, like the real files


@dataclass(frozen=True, slots=True)
class Recipe:
    """The shape and the total of a table, and how far its log-linear effects spread.

    Parameters
    ----------
    shape : tuple of int
        Levels of each variable.
    total : int
        Number of people.
    main_spread, pair_spread : float
        Standard deviations of the main and the pairwise effects.
    """

    shape: tuple[int, ...]
    total: int
    main_spread: float
    pair_spread: float


RECIPES = {
    "haberman3": Recipe((3, 3, 3), 1055, main_spread=0.4, pair_spread=0.2),
    "czech6": Recipe((2,) * 6, 1841, main_spread=0.5, pair_spread=0.3),
    "cps8": Recipe((3, 4, 5, 2, 2, 2, 3, 2), 48842, main_spread=0.8, pair_spread=0.35),
    "nltcs16": Recipe((2,) * 16, 21574, main_spread=0.6, pair_spread=0.48),
}


def table(name: str, seed: int = SEED) -> IntArray:
    """Draw the look-alike of the table called `name`; the same seed gives the same table.

    Examples
    --------
    >>> counts = table("czech6")
    >>> counts.shape, int(counts.sum())
    ((2, 2, 2, 2, 2, 2), 1841)
    """
    rng = stream(name, seed)
    chances = weights_of(RECIPES[name], rng)
    counts = rng.multinomial(RECIPES[name].total, chances)
    return counts.reshape(RECIPES[name].shape)


def weights(name: str, seed: int = SEED) -> FloatArray:
    """Return the probabilities that the look-alike called `name` is drawn with, cell by cell."""
    return weights_of(RECIPES[name], stream(name, seed))


def stream(name: str, seed: int) -> np.random.Generator:
    """Return one stream per table, so that adding a table does not change the others."""
    return np.random.default_rng([seed, list(RECIPES).index(name)])


def weights_of(recipe: Recipe, rng: np.random.Generator) -> FloatArray:
    """Draw the effects of a log-linear model; returns the probabilities of its cells."""
    log_weights = np.zeros(recipe.shape)
    variables = range(len(recipe.shape))
    effects: list[tuple[tuple[int, ...], float]] = [((k,), recipe.main_spread) for k in variables]
    effects += [(pair, recipe.pair_spread) for pair in combinations(variables, 2)]
    for axes, spread in effects:
        size = [levels if k in axes else 1 for k, levels in enumerate(recipe.shape)]
        log_weights += rng.normal(scale=spread, size=size)
    chances: FloatArray = np.exp(log_weights - log_weights.max()).ravel()
    chances /= chances.sum()
    return chances


def write_csv(counts: IntArray, path: Path) -> None:
    """Write a table as a tidy CSV: one column per variable, then ``count``."""
    cells = list(np.ndindex(*counts.shape))
    if counts.size > LISTED_IN_FULL:
        cells = [cell for cell in cells if counts[cell] > 0]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([f"v{k}" for k in range(1, counts.ndim + 1)] + ["count"])
        writer.writerows([*(level + 1 for level in cell), int(counts[cell])] for cell in cells)


def main(arguments: Sequence[str] | None = None) -> None:
    """Write every look-alike into a folder."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.problems.lookalikes", description=__doc__
    )
    parser.add_argument("folder", metavar="OUTDIR", type=Path)
    parser.add_argument("--seed", type=int, default=SEED)
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in RECIPES:
        write_csv(table(name, options.seed), options.folder / f"{name}.csv")


if __name__ == "__main__":
    main()
