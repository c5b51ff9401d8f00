"""How useful a released or synthetic table is, compared with the true one."""

from cellbounds.risk.utility.comparison import UtilityComparison, compare_utility
from cellbounds.risk.utility.distances import hellinger, total_variation
from cellbounds.risk.utility.keeping import Kept, KeptUse, kept
from cellbounds.risk.utility.loglinear import LoglinearFit, fit_loglinear
from cellbounds.risk.utility.loglinear_comparison import LoglinearComparison, compare_loglinear
from cellbounds.risk.utility.odds import OddsRatios, odds_ratios
from cellbounds.risk.utility.tests_of_independence import Independence, independence

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
