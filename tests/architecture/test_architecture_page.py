"""ARCHITECTURE.md is true: its picture is the imports, and the places it names are there."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

import grimp
import pytest

REPOSITORY = Path(__file__).parents[2]
PAGE = REPOSITORY / "ARCHITECTURE.md"
PICTURE = re.compile(r"(?<=```mermaid\n).*?(?=```)", re.DOTALL)


def forward_imports() -> list[list[str]]:
    """The imports that the contract of the rooms leaves out, each with its reason there."""
    settings = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))
    (contract, *_) = settings["tool"]["importlinter"]["contracts"]
    return [arrow.split(" -> ") for arrow in contract["ignore_imports"]]


def rooms_imported() -> dict[str, set[str]]:
    """For each room the rooms that its modules import."""
    graph = grimp.build_graph("cellbounds")
    for importer, imported in forward_imports():
        graph.remove_import(importer=importer, imported=imported)
    names = {name for name in graph.modules if name.count(".") == 1}
    return {
        importer.removeprefix("cellbounds."): {
            imported.removeprefix("cellbounds.")
            for imported in names - {importer}
            if graph.direct_import_exists(importer=importer, imported=imported, as_packages=True)
        }
        for importer in names
    }


def without_detours(imported: dict[str, set[str]]) -> dict[str, set[str]]:
    """The same arrows, less those that a longer way makes needless."""

    def behind(room: str) -> set[str]:
        return imported[room].union(*(behind(one) for one in imported[room]))

    return {
        room: {one for one in ones if not any(one in behind(other) for other in ones - {one})}
        for room, ones in imported.items()
    }


def picture() -> str:
    arrows = without_detours(rooms_imported())
    lines = [f"    {later} --> {room}" for room, ones in arrows.items() for later in ones]
    return "\n".join(["flowchart LR", *sorted(lines), ""])


def test_the_picture_is_drawn_from_the_imports():
    page = PAGE.read_text("utf-8")
    if os.environ.get("UPDATE_SNAPSHOTS"):
        page = PICTURE.sub(picture(), page)
        PAGE.write_text(page, "utf-8")
    assert PICTURE.findall(page) == [picture()]


@pytest.mark.parametrize(
    "page", [PAGE, *sorted((REPOSITORY / "docs" / "theory").glob("*.md"))], ids=lambda one: one.name
)
def test_every_place_that_a_page_names_is_there(page):
    named = re.findall(r"`([\w./-]+(?:\.py|\.md|/))`", page.read_text("utf-8"))
    assert page != PAGE or len(named) > 20
    missing = [
        name
        for name in named
        if not (REPOSITORY / name).exists()
        and not (REPOSITORY / "src" / "cellbounds" / name).exists()
    ]
    assert not missing


def test_the_page_names_every_room():
    text = PAGE.read_text("utf-8")
    modules = (REPOSITORY / "src" / "cellbounds").glob("*/**/*.py")
    rooms = {path.relative_to(REPOSITORY / "src" / "cellbounds").parts[0] for path in modules}
    assert len(rooms) > 10
    assert not {room for room in rooms if f"`{room}/`" not in text}
