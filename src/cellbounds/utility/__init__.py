"""How useful a released or synthetic table is, compared with the true one."""

from cellbounds.utility.comparison import UtilityComparison, compare_utility
from cellbounds.utility.distances import hellinger, total_variation
from cellbounds.utility.loglinear import LoglinearFit, fit_loglinear
from cellbounds.utility.loglinear_comparison import LoglinearComparison, compare_loglinear
from cellbounds.utility.odds import OddsRatios, odds_ratios
from cellbounds.utility.retained import Kept, KeptUse, kept
from cellbounds.utility.tests_of_independence import Independence, independence

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
