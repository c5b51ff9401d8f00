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
from cellbounds.results import UNBOUNDED, Evidence, ValueSet
from cellbounds.runtime.budget import Budget
from cellbounds.solvers.solve import attainable, bounds
from cellbounds.statements import Conditional, Known, Linear, Margin, Release, Total, publish
from cellbounds.version import __version__

if TYPE_CHECKING:
    # What loads when it is first used, for type checkers and editors; `_LATER` says the same.
    from cellbounds import datasets, policies, priors, utility
    from cellbounds.certificates.verifying import verify_certificate
    from cellbounds.data.reading import read_table
    from cellbounds.disclosure.auditing import audit
    from cellbounds.disclosure.exploring import explore
    from cellbounds.disclosure.policies import Outcome, judge
    from cellbounds.disclosure.protecting import compare, protect
    from cellbounds.disclosure.safe_sets import safe_margins
    from cellbounds.disclosure.suggesting import suggest
    from cellbounds.inference.counting import count_tables, estimate_tables, tables
    from cellbounds.inference.posterior import posterior, sample
    from cellbounds.ledger import Ledger
    from cellbounds.statements.published import read_published
    from cellbounds.statements.release_files import read_release
    from cellbounds.synthetic import synthesize

__all__ = [
    "UNBOUNDED",
    "Budget",
    "CellboundsError",
    "Conditional",
    "Domain",
    "Evidence",
    "Grouping",
    "InconsistentRelease",
    "InvalidInput",
    "Known",
    "Ledger",
    "Linear",
    "Margin",
    "Outcome",
    "Release",
    "Table",
    "TooMuchWork",
    "Total",
    "Unsettled",
    "UnsupportedRelease",
    "ValueSet",
    "__version__",
    "attainable",
    "audit",
    "bounds",
    "compare",
    "count_tables",
    "datasets",
    "estimate_tables",
    "explore",
    "judge",
    "policies",
    "posterior",
    "priors",
    "protect",
    "publish",
    "read_published",
    "read_release",
    "read_table",
    "safe_margins",
    "sample",
    "suggest",
    "synthesize",
    "tables",
    "utility",
    "verify_certificate",
    "violations",
]

_LATER = {
    name: f"{__name__}.{room}"
    for room, names in {
        "inference.posterior": "posterior sample",
        "inference.counting": "count_tables estimate_tables tables",
        "ledger": "Ledger",
        "statements.published": "read_published",
        "statements.release_files": "read_release",
        "disclosure.auditing": "audit",
        "disclosure.exploring": "explore",
        "disclosure.policies": "Outcome judge",
        "disclosure.suggesting": "suggest",
        "disclosure.protecting": "compare protect",
        "disclosure.safe_sets": "safe_margins",
        "synthetic": "synthesize",
        "data.reading": "read_table",
        "certificates.verifying": "verify_certificate",
    }.items()
    for name in names.split()
}
"""Where to find what is not needed to ask a question: these rooms load when they are first used.

So do the namespaces (``datasets``, ``policies``, ``priors``, ``utility``), which are rooms.
"""

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
