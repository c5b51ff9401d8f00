"""Files of other tools, wrong or half: a table that can be asked about, or an error in our words.

Each look-alike is changed 200 times: cut, columns dropped, separators swapped, other encodings,
fields and lines changed. Seeds are the names of files, so that a failure can be seen again.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit import other_tools_files as files

import cellbounds as cb
from cellbounds.data.other_tools.formats import read_protected
from cellbounds.data.other_tools.metadata import read_code_list
from cellbounds.data.other_tools.perturbation_tables import read_ptable
from cellbounds.data.other_tools.tau_argus import read_records
from cellbounds.data.published import PublishedTable
from cellbounds.errors import CellboundsError

TIMES = 200
ODD = [
    "",
    "x",
    "-",
    '"',
    ";",
    ",",
    "\t",
    "\0",
    "é",
    "nan",
    "inf",
    "-1",
    "1e999",
    "9" * 400,
    "٣",
    "\n",
    "<",
    "0.5",
]


def cut(text: str, draw: random.Random) -> bytes:
    return text.encode()[: draw.randrange(len(text) + 1)]


def dropped(text: str, draw: random.Random) -> bytes:
    separator = draw.choice(";,")
    place = draw.randrange(6)
    lines = [line.split(separator) for line in text.split("\n")]
    some = draw.random() < 0.5
    kept = [
        [field for k, field in enumerate(line) if k != place or (some and draw.random() < 0.5)]
        for line in lines
    ]
    return "\n".join(separator.join(line) for line in kept).encode()


def swapped(text: str, draw: random.Random) -> bytes:
    old, new = draw.sample(";,\t| ", 2)
    return (text.replace(old, new) if draw.random() < 0.6 else text.replace(old, new, 3)).encode()


def encoded(text: str, draw: random.Random) -> bytes:
    text = text.replace("N1", "Ñ1")
    codec = draw.choice(
        ["utf-16", "utf-16-le", "utf-32", "latin-1", "cp1252", "utf-8-sig", "cp037"]
    )
    return text.encode(codec, errors="replace")


def changed(text: str, draw: random.Random) -> bytes:
    for _ in range(draw.randrange(1, 4)):
        place = draw.randrange(len(text) + 1)
        text = text[:place] + draw.choice(ODD) + text[place + draw.randrange(4) :]
    return text.encode("utf-8", "surrogatepass")


def shuffled(text: str, draw: random.Random) -> bytes:
    lines = text.split("\n")
    first, second = draw.randrange(len(lines)), draw.randrange(len(lines))
    lines[first] = lines[second] if draw.random() < 0.5 else ""
    return "\n".join(lines).encode()


MUTATIONS: list[Callable[[str, random.Random], bytes]] = [
    cut,
    dropped,
    swapped,
    encoded,
    changed,
    shuffled,
]


def assert_answers(ask: Callable[[], object]) -> bool:
    """Whether it was read; an error is one of ours, on one line."""
    try:
        tables = ask()
    except CellboundsError as problem:
        assert str(problem).strip()
        assert "\n" not in str(problem)
        return False
    for table in tables if isinstance(tables, tuple) else ():
        assert isinstance(table, PublishedTable)
        assert table.understood()
    return True


def tried(folder: Path, target: Path, ask: Callable[[], object]) -> None:
    """Change a file again and again, and ask; it is put back each time."""
    whole = target.read_text()
    assert assert_answers(ask)
    draw = random.Random(target.name)
    read = 0
    for number in range(TIMES):
        target.write_bytes(MUTATIONS[number % len(MUTATIONS)](whole, draw))
        read += assert_answers(ask)
    target.write_text(whole)
    assert read < TIMES  # something was wrong with some of them


ALL = {**files.masked_files(), **files.telling_files()}


@pytest.mark.parametrize("name", ALL)
def test_tables(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(ALL[name])
    reading = {"hierarchies": {"V1": files.TREE}}
    frames = ("gauss.csv", "sdctable.csv", "rtauargus.csv", "pytauargus.csv")
    tool = "suppression-frame" if name in frames else "tau-argus"

    def ask() -> object:
        published = cb.read_published(path, tool=tool, **reading)
        return published.tables

    tried(tmp_path, path, ask)


@pytest.mark.parametrize("name", ["with.tab", "with.rda", "Region.hrc"])
def test_tables_with_metadata(name: str, tmp_path: Path) -> None:
    path = files.write_tau_argus_with_metadata(tmp_path)
    tried(tmp_path, tmp_path / name, lambda: cb.read_published(path, tool="tau-argus").tables)


@pytest.mark.parametrize(
    "name", ["results.json", "config.json", "output_0_0.csv", "output_2_0.csv"]
)
def test_acro(name: str, tmp_path: Path) -> None:
    files.write_acro(tmp_path)
    tried(tmp_path, tmp_path / name, lambda: read_protected(tmp_path, tool="acro"))


def test_perturbation_tables(tmp_path: Path) -> None:
    path = tmp_path / "ptable.txt"
    path.write_text(files.PTABLE)
    tried(tmp_path, path, lambda: read_ptable(path))


def test_code_lists_and_records(tmp_path: Path) -> None:
    path = tmp_path / "r.cdl"
    path.write_text(" 1,Groningen\nNr,North\n")
    tried(tmp_path, path, lambda: read_code_list(path))
    (tmp_path / "m.rda").write_text("mun 1 2\n <RECODEABLE>\nsex 4 1\n <RECODEABLE>\n")
    (tmp_path / "m.asc").write_text("N1 m\nN2 f\n")
    for name in ("m.rda", "m.asc"):
        tried(tmp_path, tmp_path / name, lambda: read_records(tmp_path / "m.asc"))
