"""How useful a released or synthetic table is, compared with the true one."""

from cellbounds.utility.association import Independence, OddsRatios, independence, odds_ratios
from cellbounds.utility.comparison import UtilityComparison, compare_utility
from cellbounds.utility.distances import hellinger, total_variation
from cellbounds.utility.loglinear import (
    LoglinearComparison,
    LoglinearFit,
    compare_loglinear,
    fit_loglinear,
)
from cellbounds.utility.retained import Kept, KeptUse, kept

__all__ = [
    "Independence",
    "Kept",
    "KeptUse",
    "LoglinearComparison",
    "LoglinearFit",
    "OddsRatios",
    "UtilityComparison",
    "compare_loglinear",
    "compare_utility",
    "fit_loglinear",
    "hellinger",
    "independence",
    "kept",
    "odds_ratios",
    "total_variation",
]
