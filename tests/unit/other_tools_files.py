"""Small files as other tools write them, made by hand: one table in all formats."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cellbounds.data.hierarchy import Hierarchy

Cell = tuple[str, str]

REGIONS = {"Total": ["N", "S"], "N": ["N1", "N2"], "S": ["S1", "S2"]}
INNER = {("N1", "f"): 12, ("N1", "m"): 2, ("N2", "f"): 9, ("N2", "m"): 6}
INNER |= {("S1", "f"): 1, ("S1", "m"): 11, ("S2", "f"): 0, ("S2", "m"): 7}
PRIMARY = {("N1", "m"), ("S1", "f"), ("S", "f")}
SECONDARY = {("N", "f"), ("N", "m"), ("S", "m"), ("N1", "f"), ("S1", "m")}
HRC = "N\n@N1\n@N2\nS\n@S1\n@S2\n"
TREE = Hierarchy.from_hrc(HRC, total="Total")

# By hand: N1f + S1f = 13, N1f + N1m = 14, S1f + S1m = 12, and the rest follows.
BOUNDS = {
    **{("N1", "f"): (1, 13), ("N1", "m"): (1, 13), ("S1", "f"): (0, 12), ("S1", "m"): (0, 12)},
    **{("N", "f"): (10, 22), ("N", "m"): (7, 19), ("S", "f"): (0, 12), ("S", "m"): (7, 19)},
}


def count(region: str, sex: str) -> int:
    if region in REGIONS:
        return sum(count(below, sex) for below in REGIONS[region])
    return sum(INNER[region, one] for one in ("f", "m") if sex in (one, "Total"))


CELLS = {
    (region, sex): count(region, sex)
    for region in ("Total", "N", "N1", "N2", "S", "S1", "S2")
    for sex in ("Total", "f", "m")
}


def status(cell: Cell, letters: str = "SUME") -> str:
    safe, primary, secondary, empty = letters
    if cell in PRIMARY | SECONDARY:
        return primary if cell in PRIMARY else secondary
    return safe if CELLS[cell] else empty


def tab(
    fields: Callable[[Cell, int], list[Any]],
    separator: str = ";",
    cells: Mapping[Cell, int] = CELLS,
) -> str:
    return "".join(
        separator.join([*(f'"{code}"' for code in cell), *map(str, fields(cell, n))]) + "\n"
        for cell, n in cells.items()
    )


def shown(cell: Cell, n: int) -> str:
    return "x" if cell in PRIMARY | SECONDARY else f"{n}.00" if n else "-"


NUMBERS = {"S": 1, "U": 5, "M": 11, "E": 14}

RDA = """<SEPARATOR> ";"
<SAFE> S
<UNSAFE> U
<PROTECT> P
region "99"
 <RECODABLE>
 <TOTCODE> "Total"
 <HIERARCHICAL>
 <HIERCODELIST> "REGION.hrc"
 <HIERLEADSTRING> "@"
sex
 <RECODABLE>
 <TOTCODE> "Total"
turnover
 <NUMERIC>
 <DECIMALS> 2
units
 <FREQUENCY>
st
 <STATUS>
"""

NUMBERS = {"S": 1, "U": 5, "M": 11, "E": 14}


def matrix(cells: Mapping[Cell, int]) -> str:
    lines = [',"Total","f","m"']
    for region in ("Total", "N", "N1", "N2", "S", "S1", "S2"):
        figures = [shown((region, sex), cells[region, sex]) for sex in ("Total", "f", "m")]
        lines.append(",".join([f'"{region}"', *figures]))
    return "\n".join(lines) + "\n"


def sbs(cells: Mapping[Cell, int]) -> str:
    lines = tab(lambda c, n: [f"{n}.00", n, status(c, "VAD-")], ",", cells).splitlines(True)
    return "".join(line for line in lines if not line.endswith("-\n"))


def gauss_csv(cells: Mapping[Cell, int]) -> str:
    lines = ['"V1","V2","freq","rlim_freq","primary","suppressed"\n']
    for (region, sex), n in cells.items():
        first = str((region, sex) in PRIMARY).upper()
        hidden = str((region, sex) in PRIMARY | SECONDARY).upper()
        lines.append(f'"{region}","{sex}",{n},NA,{first},{hidden}\n')
    return "".join(lines)


def status_csv(
    name: str,
    letters: str,
    counts: str = "Freq",
    separator: str = ",",
    cells: Mapping[Cell, int] = CELLS,
) -> str:
    rows = [["V1", "V2", counts, "turnover", name]]
    rows += [[*cell, str(n), f"{n}.25", status(cell, letters)] for cell, n in cells.items()]
    return "".join(separator.join(row) + "\n" for row in rows)


def masked_files(cells: Mapping[Cell, int] = CELLS) -> dict[str, str]:
    """Types 1 to 3 without statuses: hidden counts are not in the file."""
    return {
        "matrix.csv": matrix(cells),
        "pivot.csv": '"V1","V2","units"\n' + tab(lambda c, n: [shown(c, n)], ",", cells),
        "values.txt": tab(lambda c, n: [shown(c, n)], ",", cells),
    }


def telling_files(cells: Mapping[Cell, int] = CELLS) -> dict[str, str]:
    """Files that hold true counts of hidden cells, with a status; V1 and V2 are the variables."""

    def numbered(c: Cell, n: int) -> list[Any]:
        return [f"{n}.00" if n else "-", NUMBERS[status(c)]]

    return {
        "pivot_status.csv": '"V1","V2","units","Status"\n' + tab(numbered, ",", cells),
        "values_status.txt": tab(numbered, ",", cells),
        "table.sbs": sbs(cells),
        "intermediate.tab": tab(
            lambda c, n: [f"{n}.5", n, f"{n}.5", n, status(c), "0.01", "0.01"], cells=cells
        ),
        "simple.tab": tab(lambda c, n: [n, n, n, status(c), "0.30", "0.30"], cells=cells),
        "frequency.tab": tab(lambda c, n: [n, n, status(c), 0, 0], cells=cells),
        "audited.tab": tab(
            lambda c, n: [n, n, n, n, status(c), 0, 0, "-0.00", "7.00", 7, 0, 0, 0], cells=cells
        ),
        "plain.tab": tab(lambda c, n: [n, n, status(c)], cells=cells),
        "gauss.csv": gauss_csv(cells),
        "sdctable.csv": status_csv("sdcStatus", "suxs", cells=cells),
        "rtauargus.csv": status_csv("Status", "VADV", "N_OBS", ";", cells),
        "pytauargus.csv": status_csv("status", "SUME", "freq", cells=cells),
    }


def write_tau_argus_with_metadata(folder: Path) -> Path:
    """``.tab`` with a magnitude before the counts, ``.rda``, ``.hrc``; an empty cell left out."""
    (folder / "Region.hrc").write_text(HRC)
    (folder / "with.rda").write_text(RDA)
    lines = tab(lambda c, n: [f"{n},75", n, status(c)]).splitlines(True)
    (folder / "with.tab").write_text("".join(line for line in lines if not line.endswith("E\n")))
    return folder / "with.tab"


ACRO_RESULTS: dict[str, Any] = {
    "version": "1.0.2",
    "tool": {"name": "ACRO"},
    "results": {
        "output_0": {
            "type": "table",
            "properties": {"method": "crosstab", "mitigation": "suppress"},
            "files": [{"name": "output_0_0.csv", "sdc": {}}],
            "fair": {"independent": ["class", "sex", "saved"]},
        },
        "output_1": {
            "type": "table",
            "properties": {"method": "crosstab", "mitigation": "round", "round_base": 5},
            "files": [{"name": "output_1_0.csv", "sdc": {}}],
            "fair": {"independent": ["class", "saved"]},
        },
        "output_2": {
            "type": "table",
            "properties": {"method": "pivot_table", "mitigation": "suppress"},
            "files": [{"name": "output_2_0.csv", "sdc": {}}],
            "fair": {"independent": ["class", "sex", "saved"]},
        },
        "output_3": {
            "type": "table",
            "properties": {"method": "crosstab", "mitigation": "none"},
            "files": [{"name": "output_3_0.csv", "sdc": {}}],
            "fair": {"independent": ["class", "saved"]},
        },
        "output_4": {"type": "regression", "properties": {}, "files": []},
    },
}

ACRO_FILES = {
    "output_0_0.csv": "sex,f,f,m,m,All\nsaved,no,yes,no,yes,\nclass,,,,,\n"
    "1st,,20,30,40,90\n2nd,15.0,25,35,45,120\nAll,15.0,45,65,85,210\n",
    "output_1_0.csv": "class,no,yes\n1st,35.0,60.0\n2nd,50.0,70.0\n",
    "output_2_0.csv": ",,mean,mean,count,count\n,,fare,fare,fare,fare\nsaved,,no,yes,no,yes\n"
    "class,sex,,,,\n1st,f,1.5,2.5,,20\n1st,m,1.5,2.5,30,40\n"
    "2nd,f,1.5,2.5,15.0,25\n2nd,m,1.5,2.5,35.0,45\n",
    "output_3_0.csv": "class,no,yes\n1st,5.25,10.5\n2nd,0.5,15.5\n",
    "config.json": json.dumps({"safe_threshold": 10, "zeros_are_disclosive": True}),
}


def write_acro(folder: Path) -> Path:
    (folder / "results.json").write_text(json.dumps(ACRO_RESULTS))
    for name, text in ACRO_FILES.items():
        (folder / name).write_text(text)
    return folder


PTABLE = (
    '"i";"j";"p";"v";"p_int_ub"\n0;0;1;0;1\n1;0;0.6;-1;0.6\n1;3;0.4;2;1\n'
    "2;0;0.25;-2;0.25\n2;3;0.74999999;1;1\n3;2;0.2;-1;0.2\n3;3;0.5;0;0.7\n3;5;0.3;2;1\n"
)
"""Probabilities of figures j for counts i; those of 2 do not quite add up to 1, as printed ones."""
