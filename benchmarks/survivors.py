"""What was safe by the counts alone, and what of it holds against whoever reruns the choice.

Prints the tables of docs/intruder.md.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import cellbounds as cb
from cellbounds.disclosure.exploring import explore
from cellbounds.disclosure.suggesting import suggest

ASKED = {
    "analgesic": ("[response|status,treatment]", "response"),
    "census3": ("[income|gender,race]@4", "income"),
    "delinquent": ("[education|county]@3", "education"),
    "koch4": ("[recovery|center,status,treatment]@3", "recovery"),
    "mp3": ("[mp3,gender]", "mp3"),
}
"""For each shipped table a release to change, and a response."""


def main() -> None:
    """One line for each table."""
    print("| table | asked for | suggestions | of these hold | best design | holds |")
    print("|---|---|---|---|---|---|")
    for name, (text, response) in ASKED.items():
        table = cb.datasets.read(name)
        release = cb.publish(table, text)
        before, after = (
            suggest(table, release, changes=1, independent=strong) for strong in (False, True)
        )
        found = ["safe", ""] if before.safe_already else [str(len(before)), str(len(after))]
        plain, strong = (
            explore(table, response=response, independent=strong) for strong in (False, True)
        )
        designs = [_shown(one.best.notation) if one.best else "" for one in (plain, strong)]
        if not strong.signal.startswith("holds"):
            designs[-1] += f" ({strong.signal.split(':')[0]})"
        print("|", " | ".join([name, _shown(text), *found, *designs]), "|", flush=True)
        print(f"  {after.seconds:.0f} s and {strong.seconds:.0f} s", file=sys.stderr, flush=True)


def commits() -> None:
    """Requests one after another: how many a ledger takes by the counts alone, and by default."""
    print("| table | requests | policy | committed by the counts | by default |")
    print("|---|---|---|---|---|")
    for name, (_, response) in ASKED.items():
        table = cb.datasets.read(name)
        requests = list(_requests(table, response))
        for policy in ("small-counts", "opensafely"):
            plain, strong = (_committed(table, requests, policy, how) for how in (False, None))
            print("|", f"{name} | {len(requests)} | `{policy}` | {plain} | {strong} |", flush=True)


def _requests(table: cb.Table, response: str) -> Iterator[str]:
    """Margins of one and two variables, rounded, and the rates of the response."""
    names = table.domain.names
    pairs = itertools.combinations(names, 2)
    yield from (f"[{','.join(some)}]~5" for some in (*((one,) for one in names), *pairs))
    yield from (f"[{response}|{name}]@1" for name in names if name != response)


def _committed(table: cb.Table, requests: list[str], policy: str, independent: bool | None) -> int:
    with tempfile.TemporaryDirectory() as folder:
        ledger = cb.Ledger.create(Path(folder) / "l", table, policy, independent=independent)
        taken = 0
        for text in requests:
            try:
                ledger.commit(text, table=table, why="a request")
            except cb.CellboundsError:
                continue
            taken += 1
        return taken


def _shown(notation: str) -> str:
    return "`" + notation.replace("|", "\\|") + "`"


if __name__ == "__main__":
    main()
    commits()
