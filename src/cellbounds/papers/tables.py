"""Small tables printed in the papers, shipped as CSV files."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from cellbounds.data.reading import read_table
from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput

EXAMPLES = {
    "analgesic": "pain relief by status and treatment (document 002), N = 193",
    "census3": "a 1990 census tract: gender, race, income (document 001), N = 742",
    "delinquent": "delinquent children by county and education (documents 003, 004), N = 135",
    "koch4": "recovery by center, status and treatment (documents 000, 004), N = 193",
    "mp3": "a made-up survey of downloads by gender (documents 000, 003), N = 50",
}


def example_path(name: str) -> Path:
    """The CSV file of a shipped example.

    Examples
    --------
    >>> example_path("delinquent").name
    'delinquent.csv'
    """
    if name not in EXAMPLES:
        raise InvalidInput(f"no example {name!r}; the examples are {', '.join(EXAMPLES)}")
    return Path(str(resources.files("cellbounds.papers"))) / "data" / f"{name}.csv"


def example_table(name: str) -> Table:
    """A shipped example as a table."""
    return read_table(example_path(name))
