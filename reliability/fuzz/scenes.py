"""Small confidential tables, and the files that hold them."""

from __future__ import annotations

import csv
import gzip
import io
import itertools
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from reliability.fuzz.case import SECRET, File

__all__ = [
    "Scene",
    "counted",
    "packed",
    "random_scene",
    "sheet_xml",
    "table_file",
    "tidy",
    "workbook",
]

NAMES = (
    ("county", ("Alpha", "Beta", "Gamma")),
    ("education", ("Low", "Medium", "High")),
    ("sex", ("m", "f")),
    ("age, years", ("0-17", "18-64", "65+")),
    ("Größe", ("klein", "groß")),
    ("income", ("<10", ">=10")),
)

Cell = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Scene:
    """A table: its variables with their levels, and the count of each cell."""

    levels: Mapping[str, tuple[str, ...]]
    counts: Mapping[Cell, int]

    @property
    def names(self) -> list[str]:
        """The variables, in order."""
        return list(self.levels)

    @property
    def confidential(self) -> bool:
        """Whether it holds the count that no message may show."""
        return SECRET in self.counts.values()

    @property
    def total(self) -> int:
        """How many persons there are."""
        return sum(self.counts.values())

    def refined(self, name: str) -> Scene:
        """The same persons, split by one more variable."""
        split: dict[Cell, int] = {}
        for cell, count in self.counts.items():
            split[*cell, "early"] = count // 2
            split[*cell, "late"] = count - count // 2
        return Scene({**self.levels, name: ("early", "late")}, split)

    def grown(self) -> Scene:
        """The same with two more persons in some cell."""
        cell = min(self.counts, key=self.counts.__getitem__)
        return Scene(self.levels, {**self.counts, cell: self.counts[cell] + 2})

    def margin(self, names: Sequence[str]) -> dict[Cell, int]:
        """The counts over some variables, in the order of their levels."""
        where = [self.names.index(name) for name in names]
        made = dict.fromkeys(itertools.product(*(self.levels[name] for name in names)), 0)
        for cell, count in self.counts.items():
            made[tuple(cell[i] for i in where)] += count
        return made


def random_scene(rng: Random, *, secret: bool | None = None) -> Scene:
    """Two or three variables, few persons; the secret count in every second table."""
    chosen = sorted(rng.sample(range(len(NAMES)), rng.choice([2, 2, 2, 3])))
    levels = {NAMES[i][0]: NAMES[i][1] for i in chosen}
    cells = list(itertools.product(*levels.values()))
    counts = {cell: rng.choice([1, 1, 2, 3, 5, 8, 13, 21]) for cell in cells}
    if rng.random() < 0.5 if secret is None else secret:
        counts[rng.choice(cells)] = SECRET
    return Scene(levels, counts)


def tidy(rows: Sequence[Sequence[object]], delimiter: str = ",") -> str:
    """Rows as CSV text."""
    stream = io.StringIO()
    csv.writer(stream, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return stream.getvalue()


def counted(scene: Scene, column: str = "count") -> list[list[object]]:
    """A header, and a line for each cell with its count."""
    header: list[object] = [*scene.names, column]
    return [header, *([*cell, count] for cell, count in scene.counts.items())]


def sheet_xml(rows: Sequence[Sequence[object]]) -> str:
    """A sheet of an Excel workbook."""

    def cell(value: object) -> str:
        if isinstance(value, int):
            return f"<c><v>{value}</v></c>"
        safe = str(value).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        return f'<c t="inlineStr"><is><t>{safe}</t></is></c>'

    lines = "".join(f"<row>{''.join(map(cell, row))}</row>" for row in rows)
    return (
        '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">'
        f"<sheetData>{lines}</sheetData></worksheet>"
    )


_PARTS = {
    "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/'
    'content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.'
    'relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="application/vnd.'
    'openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/><Override PartName="/xl/'
    'worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.'
    'spreadsheetml.worksheet+xml"/></Types>',
    "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/'
    'relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/'
    '2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>',
    "xl/workbook.xml": '<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    ' xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet '
    'name="table" sheetId="1" r:id="r1"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/'
    '2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/'
    'officeDocument/2006/relationships/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
}


def workbook(sheet: str, changed: Callable[[str, str], str] = lambda _, text: text) -> bytes:
    """A workbook of one sheet; `changed` may alter each part before it is packed."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in {**_PARTS, "xl/worksheets/sheet1.xml": sheet}.items():
            entry = zipfile.ZipInfo(name)  # without the time, so that it is the same every time
            entry.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(entry, changed(name, part).encode("utf-8", "surrogatepass"))
    return stream.getvalue()


def packed(content: bytes) -> bytes:
    """The same, as gzip packs it."""
    return gzip.compress(content, 6, mtime=0)


def table_file(
    rng: Random, scene: Scene, name: str, parquet: bytes | None
) -> tuple[File, list[str]]:
    """The table as a file of some kind, and the options with which it is read."""
    kind = rng.choice(["csv", "csv", "csv", "semicolon", "tab", "gzip", "latin", "records", "xlsx"])
    if parquet is not None and rng.random() < 0.15:
        return File(f"{name}.parquet", parquet), []
    plain = tidy(counted(scene))
    if kind == "semicolon":
        return File(f"{name}.csv", tidy(counted(scene), ";").encode()), ["--delimiter", ";"]
    if kind == "tab":
        return File(f"{name}.tsv", tidy(counted(scene), "\t").encode()), ["--delimiter", "\\t"]
    if kind == "gzip":
        return File(f"{name}.csv.gz", packed(plain.encode())), []
    if kind == "latin":
        return File(f"{name}.csv", plain.encode("latin-1")), ["--encoding", "latin-1"]
    if kind == "xlsx":
        return File(f"{name}.xlsx", workbook(sheet_xml(counted(scene)))), []
    if kind == "records":
        options = ["--records", "--weight", "weight"]
        if rng.random() < 0.3:
            options.append("--round-weight")
        return File(f"{name}.csv", tidy(counted(scene, "weight")).encode()), options
    return File(f"{name}.csv", plain.encode()), []
