"""Two profiles of the same run: in full, and a little of everything."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.plans import counting as counting_plans
from benchmarks.plans import margins as margins_plans
from benchmarks.plans import rates as rates_plans
from benchmarks.plans import scale as scale_plans

SEED = 4
FULL, QUICK = "full", "quick"


@dataclass(frozen=True, slots=True)
class Profile:
    """What a run measures and how hard it tries.

    Parameters
    ----------
    name : str
        ``"full"`` or ``"quick"``.
    data : Path
        Folder of the real tables; look-alikes stand in for those that are not there.
    seed : int
        For random tables, models, samples and draws.
    rates, growth, margins, cells, counting, microdata, parallel, start, sparse, hour
        How much each section measures.
    """

    name: str
    data: Path
    seed: int
    rates: rates_plans.RatesPlan
    growth: rates_plans.GrowthPlan
    margins: margins_plans.MarginsPlan
    cells: margins_plans.CellsPlan
    counting: counting_plans.CountingPlan
    microdata: scale_plans.MicrodataPlan
    parallel: scale_plans.ParallelPlan
    start: scale_plans.StartPlan
    sparse: scale_plans.SparsePlan
    hour: margins_plans.HourPlan


def full_profile(data: Path, seed: int = SEED) -> Profile:
    """Everything; all but the section ``hour`` within about 25 minutes on two cores."""
    return Profile(
        FULL,
        data,
        seed,
        rates_plans.FULL,
        rates_plans.GROWTH_FULL,
        margins_plans.FULL,
        margins_plans.CELLS_FULL,
        counting_plans.FULL,
        scale_plans.MICRODATA_FULL,
        scale_plans.PARALLEL_FULL,
        scale_plans.START_FULL,
        scale_plans.SPARSE_FULL,
        margins_plans.HOUR_FULL,
    )


def quick_profile(data: Path, seed: int = SEED) -> Profile:
    """A little of everything: under two minutes."""
    return Profile(
        QUICK,
        data,
        seed,
        rates_plans.QUICK,
        rates_plans.GROWTH_QUICK,
        margins_plans.QUICK,
        margins_plans.CELLS_QUICK,
        counting_plans.QUICK,
        scale_plans.MICRODATA_QUICK,
        scale_plans.PARALLEL_QUICK,
        scale_plans.START_QUICK,
        scale_plans.SPARSE_QUICK,
        margins_plans.HOUR_QUICK,
    )
