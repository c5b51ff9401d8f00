"""How useful a released or synthetic table is, compared with the true one."""

from cellbounds.utility.association import Independence, OddsRatios, independence, odds_ratios
from cellbounds.utility.comparison import UtilityComparison, compare
from cellbounds.utility.distances import hellinger, total_variation
from cellbounds.utility.exact_tests import ExactTest, exact_test
from cellbounds.utility.loglinear import (
    LoglinearComparison,
    LoglinearFit,
    compare_loglinear,
    fit_loglinear,
)
from cellbounds.utility.retained_utility import Retained, RetainedUse, retained

__all__ = [
    "ExactTest",
    "Independence",
    "LoglinearComparison",
    "LoglinearFit",
    "OddsRatios",
    "Retained",
    "RetainedUse",
    "UtilityComparison",
    "compare",
    "compare_loglinear",
    "exact_test",
    "fit_loglinear",
    "hellinger",
    "independence",
    "odds_ratios",
    "retained",
    "total_variation",
]
