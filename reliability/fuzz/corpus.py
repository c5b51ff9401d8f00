"""Documents that only the program can make: certificates, states, ledgers, Parquet files."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from reliability.fuzz.case import Case, File
from reliability.fuzz.documents import release, rendered
from reliability.fuzz.scenes import Scene, counted, random_scene, tidy

__all__ = ["Document", "build", "scenes"]

SCENES = 4


@dataclass(slots=True)
class Document:
    """What the program wrote about one table.

    Attributes
    ----------
    files
        What it wrote, by kind: certificate, question (a state), search (a state), ledger, kept (a
        ledger that keeps its table).
    asked
        The release file, and what stands beside it, of which the certificate and the state are.
    """

    scene: Scene
    files: dict[str, bytes] = field(default_factory=dict)
    parquet: bytes = b""
    asked: tuple[Any, list[File]] = (None, [])


def scenes() -> list[Scene]:
    """The tables of the corpus: every second one holds the secret count."""
    return [random_scene(Random(f"corpus {i}"), secret=bool(i % 2)) for i in range(SCENES)]


def build(run: Callable[[Case], tuple[int, Path]]) -> list[Document]:
    """Make every document by valid invocations.

    Parameters
    ----------
    run
        Runs a case and says its status and its working folder.
    """
    made = []
    for number, scene in enumerate(scenes()):
        document = Document(scene, asked=release(Random(f"asked {number}"), scene))
        document.parquet = _parquet(scene)
        for kind, words, written in _recipes(scene):
            case = Case(0, -1, words[0], words)
            tree, beside = document.asked
            case.files = [
                File("table.csv", tidy(counted(scene)).encode()),
                File("asked.toml", rendered(tree, "toml")),
                *(File(one.name, one.content) for one in beside),
            ]
            if "keep.ledger" in words and words[1] != "init":
                case.files.append(File("keep.ledger", document.files["kept"], lasting=True))
            status, folder = run(case)
            path = folder / written
            if not path.exists():
                raise RuntimeError(f"the corpus is not whole: {words} ended with {status}")
            document.files[kind] = path.read_bytes()
        made.append(document)
    return made


def _recipes(scene: Scene) -> list[tuple[str, list[str], str]]:
    margin, *_ = (f'["{name}"]' for name in scene.names)
    response = scene.names[-1]
    effort = ["--seconds", "20", "--jobs", "1"]
    signed = ["--who", "somebody", "--why", "corpus"]
    init = ["ledger", "init", "keep.ledger", "--table", "table.csv", *signed]
    commit = ["ledger", "commit", "keep.ledger", margin, *signed, *effort]
    return [
        (
            "certificate",
            ["attack", "asked.toml", "--certificate", "made.json", *effort],
            "made.json",
        ),
        ("question", ["attack", "asked.toml", "--state", "made.state", *effort], "made.state"),
        (
            "search",
            [
                "explore",
                "table.csv",
                "--response",
                f'"{response}"',
                "--state",
                "made.state",
                *effort,
            ],
            "made.state",
        ),
        ("ledger", init, "keep.ledger"),
        ("kept", [*init, "--keep-table"], "keep.ledger"),
        ("kept", commit, "keep.ledger"),
    ]


def _parquet(scene: Scene) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: dict[str, Any] = {
        name: [cell[i] for cell in scene.counts] for i, name in enumerate(scene.names)
    }
    stream = io.BytesIO()
    pq.write_table(pa.table({**columns, "count": list(scene.counts.values())}), stream)
    return stream.getvalue()
