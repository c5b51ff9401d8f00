"""tau-ARGUS, as pytauargus in a Python of its own: records in, a protected, audited table out."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

MINUTES = 1
"""For each table; without a limit OPT stops at its first answer."""

PERCENT = 30
"""The protection interval of an unsafe cell, in percent of its count."""


def is_there(python: str) -> bool:
    """Whether this interpreter has pytauargus."""
    try:
        found = subprocess.run(
            [python, "-c", "import pytauargus"], capture_output=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return found.returncode == 0


def protect(
    python: str,
    folder: Path,
    levels: Mapping[str, Sequence[str]],
    counts: Mapping[tuple[str, ...], int],
    threshold: int,
) -> Path:
    """Protect a frequency table with OPT and audit it; the intermediate table (type 5, AR+).

    Parameters
    ----------
    levels
        The codes of each variable, all equally long.
    counts
        The innermost cells.
    threshold
        Cells with 1 up to below this many records are unsafe.
    """
    widths = [len(codes[0]) for codes in levels.values()]
    begins = [1 + sum(widths[:k]) + k for k in range(len(widths))]
    lines = [
        f'{name} {begin} {width}\n  <RECODEABLE>\n  <TOTCODE> "Total"\n'
        for name, begin, width in zip(levels, begins, widths, strict=True)
    ]
    response = 1 + sum(widths) + len(widths)
    (folder / "records.rda").write_text(
        "".join(lines) + f"one {response} 1\n  <NUMERIC>\n  <DECIMALS> 0\n"
    )
    (folder / "records.asc").write_text(
        "".join(f"{' '.join(cell)} 1\n" * count for cell, count in counts.items())
    )
    names = "".join(f'"{name}"' for name in levels)
    (folder / "protect.arb").write_text(
        '<OPENMICRODATA> "records.asc"\n<OPENMETADATA> "records.rda"\n'
        f'<SPECIFYTABLE> {names}|"one"|""|""\n<SAFETYRULE> FREQ({threshold},{PERCENT})\n'
        f"<READMICRODATA>\n<SUPPRESS> OPT(1,{MINUTES})\n"
        '<WRITETABLE> (1,5,AR+,"protected.tab")\n'
    )
    done = subprocess.run(
        [python, "-m", "pytauargus.cli", "run", "protect.arb"],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60 * MINUTES + 60,
        check=False,
    )
    if done.returncode or not (folder / "protected.tab").is_file():
        raise RuntimeError(f"tau-ARGUS failed: {(done.stderr or done.stdout)[-400:]}")
    return folder / "protected.tab"


def audited(path: Path, variables: int) -> dict[tuple[str, ...], tuple[float, float]]:
    """The interval that tau-ARGUS's own audit has for each hidden cell.

    An intermediate table with AR+ ends in the two ends, the width and three percentages. The ends
    are rounded to whole numbers; how far they are from the count in percent tells halves.
    """
    intervals = {}
    for line in path.read_text().splitlines():
        fields = line.split(";")
        if any(field.strip() in ("U", "M") for field in fields[variables:]):
            cell = tuple(field.strip().strip('"') for field in fields[:variables])
            count = float(fields[variables])
            below, above = (count * float(field) / 100 for field in fields[-3:-1])
            intervals[cell] = (
                _end(float(fields[-6]), count - below, count),
                _end(float(fields[-5]), count + above, count),
            )
    return intervals


def _end(printed: float, told: float, count: float) -> float:
    """An end as it is printed, unless the percentage says that it is no whole number."""
    return printed if abs(printed - told) <= count * 0.0001 + 1e-9 else told
