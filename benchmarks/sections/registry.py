"""Every section, in the order of a run and of the report: what has targets comes first."""

from __future__ import annotations

from benchmarks.running import Section
from benchmarks.sections.counting import tasks as counting
from benchmarks.sections.margins import tasks as margins
from benchmarks.sections.rates import tasks as rates
from benchmarks.sections.scale import cells, microdata, parallel, sparse, starting

HOUR = margins.HOUR

SECTIONS = (
    Section("start", "Starting", starting.start),
    Section("rates", "Rounded rates beside the peers", rates.comparisons),
    Section("growth", "How rates grow", rates.series),
    Section("margins", "Margins", margins.margins),
    Section("cells", "How margins grow", cells.cells),
    Section("posterior", "Document 002: exact posterior and chains", counting.posterior),
    Section("microdata", "Records", microdata.microdata),
    Section("parallel", "Several processes", parallel.parallel),
    Section("sparse", "Sparse tables", sparse.sparse),
    Section("counting", "Counting tables", counting.counting),
    Section("sampling", "Draws and estimates", counting.sampling),
    Section(HOUR, "Long runs on large tables", margins.hour),
)
