"""Sheets that are damaged in many ways: read or refused with a clear error, never more."""

from __future__ import annotations

import random

import openpyxl
import pytest

import cellbounds as cb

SHEETS = 200

GOOD = (
    "Table 1. Patients,,,,\n,,Age,,\nRegion,Place,young,old,Total\nNorth,N1,x,7,11\n,N2,5,:,9\n"
    ",Total,9,11,20\nSouth,S1,<5,1-4,6\n,S2,-,3,3\n,Total,2,7,9\nTotal,,11,18,29\nx: hidden,,,,\n"
)
MARKS = "Total|x|:|-|*|<5|1-4|0|1|999999999999999999999|-3|1.5|1e9|NaN|\u00a0|\ufeff|\u2028|,|;|="
ODD = ('"', "\t", "\n", "\n\n", "\r", "", "=1+1", "'", "|", "<table>", "\x00", "\ud7ff")
PIECES = [*MARKS.split("|"), *ODD]
HTML = (
    "<table><thead><tr><th>a<th colspan=2>b</tr></thead><tr><td>x<td>1<td>2</tr>"
    "<tr><td>Total<td>1<td>2</tr></table>"
)


def damaged_text(drawn: random.Random, text: str) -> str:
    """A text with some of its parts gone, doubled, moved or replaced."""
    lines = text.split("\n")
    for _ in range(drawn.randint(1, 6)):
        place = drawn.randrange(len(lines))
        fields = lines[place].split(",")
        match drawn.randrange(6):
            case 0:
                fields[drawn.randrange(len(fields))] = drawn.choice(PIECES)
                lines[place] = ",".join(fields)
            case 1:
                lines.insert(place, drawn.choice(lines))
            case 2:
                del lines[place]
                lines = lines or [""]
            case 3:
                lines[place] = lines[place][: drawn.randrange(len(lines[place]) + 1)]
            case 4:
                fields.insert(drawn.randrange(len(fields) + 1), drawn.choice(PIECES))
                lines[place] = ",".join(fields)
            case 5:
                drawn.shuffle(lines)
    return "\n".join(lines)


def damaged_bytes(drawn: random.Random, raw: bytes) -> bytes:
    changed = bytearray(raw)
    for _ in range(drawn.randint(1, 20)):
        changed[drawn.randrange(len(changed))] = drawn.randrange(256)
    return bytes(changed[: drawn.randrange(len(changed))] if drawn.random() < 0.3 else changed)


def made(drawn: random.Random, folder, number):
    """A damaged file."""
    kind = number % 4
    if kind == 3:
        book = openpyxl.Workbook()
        for line in damaged_text(drawn, GOOD).replace("\x00", "").split("\n"):
            book.active.append([text.strip("\r\ud7ff") or None for text in line.split(",")])
        path = folder / f"{number}.xlsx"
        book.save(path)
        if drawn.random() < 0.5:
            path.write_bytes(damaged_bytes(drawn, path.read_bytes()))
        return path
    if kind == 2:
        path = folder / f"{number}.html"
        path.write_bytes(damaged_bytes(drawn, HTML.encode()))
        return path
    path = folder / f"{number}.csv"
    path.write_bytes(damaged_text(drawn, GOOD).encode("utf-8", "surrogatepass"))
    return path


@pytest.mark.parametrize("part", range(4))
def test_damaged_sheets_are_read_or_refused(tmp_path, part):
    drawn = random.Random(f"sheets {part}")
    refused = 0
    for number in range(SHEETS // 4):
        path = made(drawn, tmp_path, number)
        try:
            published = cb.read_published(path)
            assert published.tables
            assert str(published)
        except cb.CellboundsError as problem:
            refused += 1
            assert len(str(problem)) > 20, problem
            assert ";" in str(problem) or ":" in str(problem), problem
    assert refused > SHEETS // 20  # else nothing was damaged


def test_the_commands_say_so_in_one_line(tmp_path, run):
    drawn = random.Random("commands")
    for number in range(24):
        path = made(drawn, tmp_path, number)
        code, _, err = run("attack", str(path), "--seconds", "20")
        assert code in (0, 1, 2, 3), (path, err)
        assert "Traceback" not in err
        assert "internal error" not in err, (path.read_bytes(), err)
