"""The notebook: run from the beginning, compared with what is stored in it, shown as a page.

``python -m website.notebooks`` runs it in a kernel and compares; with ``--write`` it stores what
comes out.
"""

from __future__ import annotations

import argparse
import difflib
import json
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "docs"
NOTEBOOKS = [FOLDER / "tutorials/notebook.ipynb"]
SECONDS = 300

Cell = dict[str, Any]


def pages() -> dict[str, str]:
    """The page of each notebook, by its place on the site."""
    return {
        str(path.relative_to(FOLDER).with_suffix(".md")): "\n\n".join(map(_shown, _cells(path)))
        for path in NOTEBOOKS
    }


def main() -> int:
    """Run every notebook; the status is 1 if something else came out than is stored."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--write", action="store_true", help="store what comes out")
    write = given.parse_args().write
    status = 0
    for path in NOTEBOOKS:
        text, run = path.read_text("utf-8"), _run(path)
        if write:
            path.write_text(json.dumps(run, indent=1, ensure_ascii=False) + "\n", "utf-8")
        stored = _said(json.loads(text)["cells"])
        found = _said(run["cells"])
        if found != stored and not write:
            status = 1
            sys.stdout.writelines(difflib.unified_diff(stored, found, "stored", "found"))
    return status


def _cells(path: Path) -> list[Cell]:
    return list(json.loads(path.read_text("utf-8"))["cells"])


def _run(path: Path) -> Any:
    """A notebook with what its cells give now, in an empty folder."""
    from nbclient import NotebookClient

    nbformat: Any = import_module("nbformat")
    notebook = nbformat.read(path, 4)
    with tempfile.TemporaryDirectory() as folder:
        place = {"metadata": {"path": folder}}
        NotebookClient(notebook, timeout=SECONDS, resources=place, record_timing=False).execute()
    return json.loads(nbformat.writes(notebook))


def _said(cells: list[Cell]) -> list[str]:
    """What the cells say: texts, and that there is a picture; how it is drawn may change."""
    lines = []
    for cell in cells:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            said = "".join(output.get("text", data.get("text/plain", "")))
            lines += [*f"{said}\n".splitlines(True), *(f"{kind}\n" for kind in sorted(data))]
    return lines


def _shown(cell: Cell) -> str:
    """A cell as Markdown."""
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return source
    return "\n\n".join([f"```python\n{source}\n```", *map(_output, cell["outputs"])])


def _output(output: Cell) -> str:
    """What a cell gave: a picture or a table if it gave one, else its text."""
    data = output.get("data", {})
    for kind in ("image/svg+xml", "text/html"):
        if kind in data:
            markup = "".join(data[kind]).replace("\n\n", "\n")
            return f'<div class="output" tabindex="0">\n{markup}\n</div>'
    text = "".join(output.get("text", data.get("text/plain", ""))).rstrip("\n")
    return f"```text\n{text}\n```"


if __name__ == "__main__":
    sys.exit(main())
