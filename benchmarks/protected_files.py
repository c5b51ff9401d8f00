"""Files of other tools, read and attacked: `python -m benchmarks.protected_files FOLDER`.

FOLDER holds files of tau-ARGUS, rtauargus, GaussSuppression and ACRO, such as those that these
projects publish. For each of them one line: what was understood, what is hidden, what is known
exactly, in which time. Hierarchies are found beside the files by the names of their variables.
The status is 1 if a file is refused.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cellbounds as cb
from cellbounds.disclosure.published_cells import work_out

SECONDS = 60.0

HIERARCHIES = {
    "mun": "mun.hrc",
    "V1": "mun.hrc",
    "ACTIVITY": "activity_corr_table.csv",
    "NUTS": "nuts23_fr_corr_table.csv",
}
"""The file with the codes of a variable, by the name that tables give it."""

PATTERNS = ("*.tab", "*.sbs", "type*", "rnd*.csv", "turnover*.csv", "d53.csv", "results.*")
FRAMES = "formats/gausssuppression/*.csv"


def files(folder: Path) -> Iterator[Path]:
    """The tables in a folder."""
    found = {path for pattern in PATTERNS for path in folder.rglob(pattern)}
    found |= set(folder.glob(FRAMES))
    yield from sorted(path for path in found if path.parent.name != "checksums")


def read(path: Path, folder: Path) -> Any:
    """Read a table, with the hierarchies that it needs: none, then one, then the others."""
    beside = {
        name: next(iter(sorted(folder.rglob(file))), None) for name, file in HIERARCHIES.items()
    }
    known = {name: str(file) for name, file in beside.items() if file is not None}
    text = path.read_bytes()[:200].decode("utf-8", "replace")
    wanted = {name: file for name, file in known.items() if name in text}
    attempts: list[dict[str, Any]] = [{}, {"hierarchies": wanted}]
    if "V1" in known:
        attempts.append({"hierarchies": {"V1": known["V1"]}, "totals": {"V2": "Total"}})
        attempts.append(
            {"hierarchies": {"V1": known["V1"]}, "totals": {"V1": "Total", "V2": "Total"}}
        )
    if "NUTS" in wanted:
        attempts.append({"hierarchies": {"NUTS": wanted["NUTS"]}, "totals": {"NUTS": "Total_EAST"}})
    problem: Exception | None = None
    for how in attempts:
        try:
            return cb.read_published(path, **how)
        except cb.InvalidInput as refused:
            problem = problem or refused
    assert problem is not None
    raise problem


def line(path: Path, folder: Path) -> tuple[str, bool]:
    """What came of one file, and whether it was read."""
    begun = time.perf_counter()
    try:
        published = read(path, folder)
    except cb.InvalidInput as problem:
        return f"| {path.relative_to(folder)} | refused: {problem} | | | |", False
    risk = work_out(published, seconds=SECONDS)
    cells = sum(len(table.entries) for table in published.tables)
    codes = "; ".join(
        f"{name} {len(tree.leaves)}" + (f" in {tree.depth} levels" if tree.depth > 1 else "")
        for table in published.tables[:1]
        for name, tree in table.hierarchies.items()
    )
    hidden = sum(len(one.hidden) for one in risk.tables)
    seconds = time.perf_counter() - begun
    row = f"| {path.relative_to(folder)} | {cells:,} cells: {codes} | {hidden} | {risk.disclosed} |"
    return f"{row} {seconds:.1f} |", True


def main() -> int:
    """Print a line for each file."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    print("| file | understood | hidden | known exactly | seconds |\n|---|---|---|---|---|")
    all_read = True
    for path in files(folder):
        text, was_read = line(path, folder)
        all_read = all_read and was_read
        print(text, flush=True)
    return 0 if all_read else 1


if __name__ == "__main__":
    sys.exit(main())
