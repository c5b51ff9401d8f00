"""What published margins and rates reveal about a confidential table of counts."""

# First: where this is the command line, it sees to Ctrl-C while everything else loads.
import cellbounds.runtime.starting  # noqa: F401 - imported for what it does

# isort: split

from importlib import import_module
from typing import TYPE_CHECKING

from cellbounds.data.domain import Domain, Grouping
from cellbounds.data.table import Table
from cellbounds.errors import (
    CellboundsError,
    InconsistentRelease,
    InvalidInput,
    TooMuchWork,
    Unsettled,
    UnsupportedRelease,
)
from cellbounds.model.constraints import violations
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
from cellbounds.runtime.budget import Budget
from cellbounds.solvers.solve import attainable, bounds
from cellbounds.statements import Conditional, Linear, Margin, Known, Release, Total, publish
from cellbounds.version import __version__

if TYPE_CHECKING:
    # What loads when it is first used, for type checkers and editors; `_LATER` says the same.
    from cellbounds.certificates.verifying import verify_certificate
    from cellbounds.data.reading import read_table
    from cellbounds.disclosure.auditing import Audit, audit
    from cellbounds.disclosure.exploring import Frontier, explore
    from cellbounds.disclosure.policies import (
        Outcome,
        Policy,
        Verdict,
        judge,
        profile_names,
        read_policy,
    )
    from cellbounds.disclosure.safe_sets import SafeSets, safe_margins
    from cellbounds.disclosure.suggesting import Suggestion, Suggestions, suggest
    from cellbounds.inference.combined_sets import combine_sets
    from cellbounds.inference.counting import TooManyTables, count_tables, estimate_tables, tables
    from cellbounds.inference.posterior import posterior, sample
    from cellbounds.ledger import Ledger, LedgerError
    from cellbounds.model.priors import GammaPoisson, Multinomial, Poisson, Uniform
    from cellbounds.papers import example_path, example_table
    from cellbounds.report.filing import Report, build_report
    from cellbounds.results.charts import save_chart
    from cellbounds.statements.release_files import read_release, write_release
    from cellbounds.synthetic import Synthetic, synthesize
    from cellbounds.utility import (
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

__all__ = [
    "UNBOUNDED",
    "Attainable",
    "Audit",
    "Bounds",
    "Budget",
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
    "Known",
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

_LATER = {
    name: f"{__name__}.{room}"
    for room, names in {
        "model.priors": "GammaPoisson Multinomial Poisson Uniform",
        "inference.posterior": "posterior sample",
        "inference.combined_sets": "combine_sets",
        "inference.counting": "TooManyTables count_tables estimate_tables tables",
        "ledger": "Ledger LedgerError",
        "papers": "example_path example_table",
        "statements.release_files": "read_release write_release",
        "report.filing": "Report build_report",
        "results.charts": "save_chart",
        "disclosure.auditing": "Audit audit",
        "disclosure.exploring": "Frontier explore",
        "disclosure.policies": "Outcome Policy Verdict judge profile_names read_policy",
        "disclosure.suggesting": "Suggestion Suggestions suggest",
        "disclosure.safe_sets": "SafeSets safe_margins",
        "utility": "Kept compare_loglinear compare_utility fit_loglinear hellinger "
        "independence kept odds_ratios total_variation",
        "synthetic": "Synthetic synthesize",
        "data.reading": "read_table",
        "certificates.verifying": "verify_certificate",
    }.items()
    for name in names.split()
}
"""Where to find what is not needed to ask a question: these rooms load when they are first used."""

if not TYPE_CHECKING:  # a type checker would take every name for granted

    def __getattr__(name: str) -> object:
        """Load what is asked for first: a public name, or a room (``cellbounds.disclosure``)."""
        if name in _LATER:
            value = getattr(import_module(_LATER[name]), name)
            globals()[name] = value
            return value
        if not name.startswith("_"):
            room = f"{__name__}.{name}"
            try:
                return import_module(room)
            except ModuleNotFoundError as problem:
                if problem.name != room:
                    raise
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
