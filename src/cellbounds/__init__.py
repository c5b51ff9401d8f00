"""What published margins and rates reveal about a confidential table of counts."""

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
from cellbounds.papers import example_path, example_table
from cellbounds.releases import Conditional, Linear, Margin, Prior, Release, Total, publish
from cellbounds.releases.files import read_release
from cellbounds.releases.writing import write_release
from cellbounds.results import (
    UNBOUNDED,
    Attainable,
    Bounds,
    Evidence,
    Explanation,
    ValueSet,
)
from cellbounds.solve import attainable, bounds
from cellbounds.table import Table
from cellbounds.table_reading import read_table
from cellbounds.verification import verify_certificate
from cellbounds.version import __version__

__all__ = [
    "UNBOUNDED",
    "Attainable",
    "Bounds",
    "CellboundsError",
    "Conditional",
    "Domain",
    "Evidence",
    "Explanation",
    "Grouping",
    "InconsistentRelease",
    "InvalidInput",
    "Linear",
    "Margin",
    "Prior",
    "Release",
    "Table",
    "TooMuchWork",
    "Total",
    "Unsettled",
    "UnsupportedRelease",
    "ValueSet",
    "__version__",
    "attainable",
    "bounds",
    "example_path",
    "example_table",
    "publish",
    "read_release",
    "read_table",
    "verify_certificate",
    "violations",
    "write_release",
]
