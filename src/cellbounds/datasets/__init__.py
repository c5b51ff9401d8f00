"""Small tables printed in the papers, shipped as CSV files.

Examples
--------
>>> import cellbounds as cb
>>> cb.datasets.read("koch4").domain
Domain(center[2] x status[2] x treatment[2] x recovery[3])
>>> list(cb.datasets.NAMES)
['analgesic', 'census3', 'delinquent', 'koch4', 'mp3']
"""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from cellbounds.data.reading import read_table
from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput

NAMES = {
    "analgesic": "pain relief by status and treatment (document 002), N = 193",
    "census3": "a 1990 census tract: gender, race, income (document 001), N = 742",
    "delinquent": "delinquent children by county and education (documents 003, 004), N = 135",
    "koch4": "recovery by center, status and treatment (documents 000, 004), N = 193",
    "mp3": "a made-up survey of downloads by gender (documents 000, 003), N = 50",
}
"""The name of each table, and what is in it."""

__all__ = ["NAMES", "path", "read"]


def path(name: str) -> Path:
    """The CSV file of a shipped table.

    Examples
    --------
    >>> path("delinquent").name
    'delinquent.csv'
    """
    if name not in NAMES:
        raise InvalidInput(f"no dataset {name!r}; the datasets are {', '.join(NAMES)}")
    return Path(str(resources.files(__name__))) / f"{name}.csv"


def read(name: str) -> Table:
    """A shipped table.

    Examples
    --------
    >>> read("mp3").total
    50
    """
    return read_table(path(name))
