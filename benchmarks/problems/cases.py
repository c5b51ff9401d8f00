"""The releases whose tables are counted, weighed and drawn, with priors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import cellbounds as cb
from benchmarks.arrays import IntArray
from benchmarks.problems import instances, publications
from benchmarks.problems.owned import Owned, all_margins, chain_of_threes, owned, publish
from cellbounds.model.priors import Belief
from cellbounds.papers.document002 import reached

PAIR = ("treatment", "response")
HAIR_EYE = "hair_eye_color"
HAIR_EYE_SHAPE, HAIR_EYE_TOTAL = (4, 4), 592


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A release and a prior over its tables.

    Parameters
    ----------
    name : str
        What the report calls it.
    release : cb.Release
        What was published.
    prior : Belief or str
        Of the tables.
    table : cb.Table
        The table that it was published from.
    known : int or None
        How many tables fit, by a source of its own.
    """

    name: str
    release: cb.Release
    prior: Belief | str
    table: cb.Table
    known: int | None = None


def document002() -> list[Case]:
    """Its examples: two margins, its 37 tables, rounded rates, and these of a 2x2x2 table."""
    trial = cb.datasets.read("analgesic")
    small = trial.margin(PAIR)
    two, three = cb.priors.GammaPoisson(193, "1/4"), cb.priors.GammaPoisson(193, "1/8")
    rates = "[response|treatment]@1"
    return [
        Case("2x2 margins", publish(small, [[name] for name in PAIR]), two, small, 56),
        Case("2x2, 37 tables", reached(small), two, small, 37),
        Case(
            "2x2 rounded rates",
            cb.publish(small, rates, eps="0.05", rule="interval"),
            two,
            small,
            12_331,
        ),
        Case(
            "2x2x2 rounded rates",
            cb.publish(trial, rates, eps="0.05", rule="interval"),
            three,
            trial,
            31_529_550_048,
        ),
    ]


def reshapes(data: Path, digits: Sequence[int], prior: Belief | str = "uniform") -> list[Case]:
    """The two-way reshapes of Table 9, given rounded rates of each row."""
    return [reshaped(one, prior) for one in instances.table9(data, digits)]


def reshaped(instance: instances.Instance, prior: Belief | str = "uniform") -> Case:
    """One reshape of Table 9."""
    release = publications.build_release(publications.publish(instance))
    plural = "s" if instance.digits > 1 else ""
    name = f"{instance.name}, {instance.digits} digit{plural}"
    return Case(name, release, prior, cb.Table(release.domain, instance.counts))


def margins(data: Path, seed: int) -> list[Case]:
    """Margins of census3, and of hair and eye colour."""
    census = cb.datasets.read("census3")
    cliques = [("gender", "race"), ("race", "income")]
    colours = hair_and_eyes(data, seed)
    real = colours.label == HAIR_EYE
    return [
        Case("census3 all 2-way", all_margins(census, 2), "uniform", census, 441),
        Case("census3 two cliques", publish(census, cliques), "uniform", census, 16_788_429),
        Case(
            f"{colours.label} 4x4",
            all_margins(colours.table, 1),
            "uniform",
            colours.table,
            1_225_914_276_768_514 if real else None,
        ),
    ]


def hair_and_eyes(data: Path, seed: int) -> Owned:
    """The table of hair and eye colour, or one of the same shape and size."""
    path = data / f"{HAIR_EYE}.csv"
    if path.exists():
        return Owned(HAIR_EYE, cb.read_table(path).margin(["Hair", "Eye"]))
    counts = random_table(HAIR_EYE_SHAPE, HAIR_EYE_TOTAL, seed)
    return Owned(f"{HAIR_EYE} look-alike", cb.read_table(counts))


def random_table(shape: tuple[int, ...], total: int, seed: int) -> IntArray:
    """One multinomial draw with cell probabilities that are drawn too."""
    rng = np.random.default_rng([seed, total, *shape])
    weights = rng.dirichlet(np.ones(int(np.prod(shape))))
    return np.asarray(rng.multinomial(total, weights)).reshape(shape)


def czech6_chain(data: Path) -> Case:
    """A chain of three-way margins of czech6, with the hypergeometric law."""
    source = owned("czech6", data)
    names = source.table.domain.names
    cliques = [[names[axis] for axis in clique] for clique in chain_of_threes(len(names))]
    release = publish(source.table, cliques)
    return Case(f"{source.label} chain of 3-way", release, "hypergeometric", source.table)


def czech6_all(data: Path, ways: int) -> Case:
    """All margins of one size of czech6."""
    source = owned("czech6", data)
    release = all_margins(source.table, ways)
    return Case(f"{source.label} all {ways}-way", release, "uniform", source.table)


def delinquent() -> Case:
    """The table of delinquent children given rates to two decimals."""
    table = cb.datasets.read("delinquent")
    release = cb.publish(table, "[education|county]@2", rounding="consistent", rule="interval")
    return Case("delinquent rates, 2 digits", release, "uniform", table, 403)
