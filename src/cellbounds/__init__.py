"""What published margins and rates reveal about a confidential table of counts."""

from cellbounds.beliefs import GammaPoisson, Multinomial, Poisson, Uniform
from cellbounds.constraints import violations
from cellbounds.domain import Domain, Grouping
from cellbounds.errors import (
    CellboundsError,
    InconsistentRelease,
    InvalidInput,
    TooMuchWork,
    Unsettled,
    UnsupportedRelease,
)
from cellbounds.fibre.asking import posterior, sample
from cellbounds.fibre.combined import combine_sets
from cellbounds.fibre.counting import TooManyTables, count_tables, estimate_tables, tables
from cellbounds.ledger import Ledger, LedgerError
from cellbounds.papers import example_path, example_table
from cellbounds.releases import Conditional, Linear, Margin, Prior, Release, Total, publish
from cellbounds.releases.files import read_release
from cellbounds.releases.writing import write_release
from cellbounds.report.filing import Report, build_report
from cellbounds.results import (
    UNBOUNDED,
    Attainable,
    Bounds,
    Distribution,
    Draws,
    Evidence,
    Explanation,
    MonteCarlo,
    Posterior,
    Rate,
    ValueSet,
)
from cellbounds.results.charts import save_chart
from cellbounds.risk.auditing import Audit, audit
from cellbounds.risk.exploring import Frontier, explore
from cellbounds.risk.policies import Outcome, Policy, Verdict, judge, profile_names, read_policy
from cellbounds.risk.suggesting import Suggestion, Suggestions, suggest
from cellbounds.risk.together import SafeSets, safe_margins
from cellbounds.risk.utility import (
    Kept,
    compare_loglinear,
    compare_utility,
    fit_loglinear,
    hellinger,
    independence,
    kept,
    odds_ratios,
    total_variation,
)
from cellbounds.solve import attainable, bounds
from cellbounds.synthetic import Synthetic, synthesize
from cellbounds.table import Table
from cellbounds.table_reading import read_table
from cellbounds.verification import verify_certificate
from cellbounds.version import __version__

__all__ = [
    "UNBOUNDED",
    "Attainable",
    "Audit",
    "Bounds",
    "CellboundsError",
    "Conditional",
    "Distribution",
    "Domain",
    "Draws",
    "Evidence",
    "Explanation",
    "Frontier",
    "GammaPoisson",
    "Grouping",
    "InconsistentRelease",
    "InvalidInput",
    "Kept",
    "Ledger",
    "LedgerError",
    "Linear",
    "Margin",
    "MonteCarlo",
    "Multinomial",
    "Outcome",
    "Poisson",
    "Policy",
    "Posterior",
    "Prior",
    "Rate",
    "Release",
    "Report",
    "SafeSets",
    "Suggestion",
    "Suggestions",
    "Synthetic",
    "Table",
    "TooManyTables",
    "TooMuchWork",
    "Total",
    "Uniform",
    "Unsettled",
    "UnsupportedRelease",
    "ValueSet",
    "Verdict",
    "__version__",
    "attainable",
    "audit",
    "bounds",
    "build_report",
    "combine_sets",
    "compare_loglinear",
    "compare_utility",
    "count_tables",
    "estimate_tables",
    "example_path",
    "example_table",
    "explore",
    "fit_loglinear",
    "hellinger",
    "independence",
    "judge",
    "kept",
    "odds_ratios",
    "posterior",
    "profile_names",
    "publish",
    "read_policy",
    "read_release",
    "read_table",
    "safe_margins",
    "sample",
    "save_chart",
    "suggest",
    "synthesize",
    "tables",
    "total_variation",
    "verify_certificate",
    "violations",
    "write_release",
]
