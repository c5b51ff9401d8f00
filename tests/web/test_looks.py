"""What a click gives: figures as they were printed, in less than a second."""

from __future__ import annotations

import time
from urllib.parse import parse_qs, urlencode

import pytest
from servers import CPS8, cps

from cellbounds.papers.printed_figures import printed_figures
from cellbounds.papers.wright_smucker_2014 import LINES, disclosed
from cellbounds.web import tasks
from cellbounds.web.choices import Choice
from cellbounds.web.shelf import stamp_of

FACTS = ("rows", "columns", "empty", "single", "whole", "zeros", "small")


class Address:
    """The fields of a query string."""

    def __init__(self, text):
        self.fields = parse_qs(text)

    def get(self, key, default=""):
        return self.fields.get(key, [default])[-1]

    def getlist(self, key):
        return self.fields.get(key, [])


def address_of(table, given, responses, merging):
    names = table.domain.names
    rows, columns = (",".join(names[int(k) - 1] for k in part) for part in (given, responses))
    pairs = [("s", f"[{columns}|{rows}]")]
    for number, groups in merging.items():
        levels = table.domain.levels(names[number - 1])
        first = {
            label: min(map(levels.index, parts)) for parts in groups.values() for label in parts
        }
        leaders = [first.get(label, place) for place, label in enumerate(levels)]
        pairs.append(("m", f"{names[number - 1]}:{','.join(map(str, leaders))}"))
    return urlencode(pairs)


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("looked") / "cps.csv"
    cps().write(path)
    return str(path)


def test_the_designs_of_table_10(file):
    stamp = stamp_of(file)
    table, found = tasks.table_at(file, stamp), []
    for line in LINES:
        choice = Choice.of(Address(address_of(table, *line)), table.domain)
        begun = time.process_time()
        looked = tasks.look(file, stamp, choice, 4.0, lambda *_: None)
        assert time.process_time() - begun < 1
        found += [looked["rows"][key] for key in FACTS]
        assert found[-7:] == disclosed(table, *line)
    if CPS8.exists():
        printed = [one.printed for one in printed_figures("WS14") if one.place == "Table 10"]
        assert [*map(str, found)] == printed
