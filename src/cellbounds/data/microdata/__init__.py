"""Records and cells in files of any size, folders, frames and engines, counted cell by cell."""

from cellbounds.data.microdata.asking import MISSING, Asked, asked_of
from cellbounds.data.microdata.levels import with_levels
from cellbounds.data.microdata.reading import Source, source_of
from cellbounds.data.microdata.sources import is_paths
from cellbounds.data.microdata.tally import Tally

__all__ = [
    "MISSING",
    "Asked",
    "Source",
    "Tally",
    "asked_of",
    "is_paths",
    "source_of",
    "with_levels",
]
