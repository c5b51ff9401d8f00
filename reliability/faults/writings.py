"""Reports, answers, certificates, synthetic tables and states: old or new, never a part."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from cellbounds.solvers.general import solutions
from reliability.faults.children import Ending, killed_sometime, run, run_here
from reliability.faults.interposing import Calls, Fault
from reliability.faults.tally import Tally
from reliability.faults.workshop import FULL, KILLS, SAFE, Workshop

__all__ = ["WRITINGS", "FileTrials", "Writing"]

SEARCHED = ("[c|a,b]@1", "[a,c]", "[b]~5")
"""A release that takes a search, of which a state can be kept."""


@dataclass(frozen=True, slots=True)
class Writing:
    """A command that writes files.

    Attributes
    ----------
    name
        What it writes.
    arguments
        The command line, in a folder with ``table.csv`` and ``small.csv``.
    targets
        What it writes; a folder stands for all files in it.
    resumed
        Whether the target is a state: there is no old or new of it, but the command goes on from
        there, and has to give the same answer.
    """

    name: str
    arguments: tuple[str, ...]
    targets: tuple[str, ...]
    resumed: bool = False


def _report(suffix: str) -> Writing:
    name = f"report.{suffix}"
    return Writing(name, ("audit", "table.csv", SAFE, "--report", name, "--jobs", "1"), (name,))


WRITINGS = (
    *map(_report, ("html", "json", "csv", "xlsx")),
    Writing(
        "answer.csv",
        ("audit", "table.csv", SAFE, "--format", "csv", "-o", "answer.csv", "--jobs", "1"),
        ("answer.csv",),
    ),
    Writing(
        "certificate",
        ("audit", "table.csv", SAFE, "--certificate", "certificate.json", "--jobs", "1"),
        ("certificate.json",),
    ),
    Writing(
        "protected",
        (
            "protect",
            "table.csv",
            "[county,sex]",
            "--public",
            "finished.csv",
            "--internal",
            "internal.xlsx",
            "--release",
            "said.toml",
            "--jobs",
            "1",
        ),
        ("finished.csv", "internal.xlsx", "said.toml", "said.1-county-sex.csv"),
    ),
    Writing(
        "synthetic",
        (
            "synthesize",
            "table.csv",
            SAFE,
            "-o",
            "made",
            "--overwrite",
            "--seed",
            "7",
            "--jobs",
            "1",
        ),
        ("made",),
    ),
    Writing(
        "state",
        (
            "audit",
            "small.csv",
            *SEARCHED,
            "--state",
            "work.state",
            "--format",
            "csv",
            "--jobs",
            "1",
        ),
        ("work.state",),
        resumed=True,
    ),
)


@dataclass(frozen=True, slots=True)
class Reference:
    """What a writing gives when nothing goes wrong.

    Attributes
    ----------
    old, new
        What it finds, and what it leaves.
    said
        On standard output.
    seconds
        How long it takes.
    changes, needs
        How many system calls change files, and how many of them need room.
    """

    old: dict[str, bytes]
    new: dict[str, bytes]
    said: str
    seconds: float
    changes: int
    needs: int


@dataclass(slots=True)
class FileTrials:
    """Writings under faults, each in a folder of its own."""

    shop: Workshop
    writings: tuple[Writing, ...] = WRITINGS
    _references: dict[str, list[Reference]] = field(default_factory=dict)
    """Two of each: where nothing was before, and where old files are replaced."""

    def prepare(self) -> None:
        """Run everything once here, so that it is loaded, and see what it writes."""
        solutions.EVERY = 0.0  # a state is written at every step, so that there is much to kill
        for writing in self.writings:
            with self.shop.folder() as folder:
                run_here(writing.arguments, folder)
            with self.shop.folder(old=True) as folder:
                run(writing.arguments, folder, self.shop.control)
                old = {} if writing.resumed else _contents(folder, writing)
            self._references[writing.name] = [self._reference(writing, one) for one in ({}, old)]

    def _reference(self, writing: Writing, old: dict[str, bytes]) -> Reference:
        counts = []
        for calls in (Calls.FILES, Calls.SPACE):
            with self._found(old) as folder:
                ending = run(writing.arguments, folder, self.shop.control, Fault(calls))
                counts.append(len(self.shop.control.calls))
                new = _contents(folder, writing)
        if ending.status not in (0, 1) or not new or not all(counts):
            raise RuntimeError(f"{writing.name} ended with {ending.status}: {ending.err}")
        return Reference(old, new, ending.out, ending.seconds, *counts)

    @contextlib.contextmanager
    def _found(self, old: dict[str, bytes]) -> Iterator[Path]:
        """A folder in which a writing finds old files."""
        with self.shop.folder() as folder:
            for name, content in old.items():
                (folder / name).parent.mkdir(exist_ok=True)
                (folder / name).write_bytes(content)
            yield folder

    def kills(self, count: int) -> Iterator[Tally]:
        """Kill each of them before, in the middle of and after every change, and at random."""
        for writing, shares in self._shares(count):
            tally = Tally("killed", writing.name)
            for share, reference in zip(shares, self._references[writing.name], strict=True):
                chosen = self.shop.points(KILLS, reference.changes, (share + 1) // 2)
                for action, at in chosen:
                    self._try(writing, reference, tally, Fault(Calls.FILES, action, at))
                for _ in range(share - len(chosen)):
                    self._try(writing, reference, tally, None)
            yield tally

    def full_disks(self, count: int) -> Iterator[Tally]:
        """Fill the disk at every call that needs room."""
        for writing, shares in self._shares(count):
            tally = Tally("disk full", writing.name)
            for share, reference in zip(shares, self._references[writing.name], strict=True):
                for action, at in self.shop.points(FULL, reference.needs, share):
                    self._try(writing, reference, tally, Fault(Calls.SPACE, action, at))
            yield tally

    def _shares(self, count: int) -> Iterator[tuple[Writing, tuple[int, int]]]:
        """How many trials each writing gets: where nothing was before, and where old files are."""
        whole, rest = divmod(count, len(self.writings))
        for place, writing in enumerate(self.writings):
            share = whole + (place < rest)
            yield writing, (share // 2, share - share // 2)

    def _try(
        self, writing: Writing, reference: Reference, tally: Tally, fault: Fault | None
    ) -> None:
        """One trial; without a fault at a chosen call it is killed at a random moment."""
        shop = self.shop
        with self._found(reference.old) as folder:
            if fault is None:
                ending = killed_sometime(
                    writing.arguments, folder, shop.control, shop.chance, reference.seconds
                )
                happened, words = ending.killed, "killed at random"
            else:
                ending = run(writing.arguments, folder, shop.control, fault)
                happened, words = shop.control.happened, str(fault)
                shop.control.disarm()
            tally.tried += 1
            tally.happened += happened
            self._look(writing, reference, folder, ending, tally, words)

    def _look(
        self,
        writing: Writing,
        reference: Reference,
        folder: Path,
        ending: Ending,
        tally: Tally,
        words: str,
    ) -> None:
        acknowledged = ending.status in (0, 1)
        tally.acknowledged += acknowledged
        if not ending.killed and not ending.well_said:
            tally.blame("wrong", f"{words}: status {ending.status}, said {ending.err[-300:]!r}")
        if writing.resumed:
            inside = acknowledged
            again = run(writing.arguments, folder, self.shop.control)
            if (again.status in (0, 1), again.out) != (True, reference.said):
                tally.blame("half", f"{words}: resumed to {again.status}, {again.err[-300:]!r}")
        else:
            content, old = _contents(folder, writing), reference.old
            for name in sorted({*content, *old, *reference.new}):
                if content.get(name) not in (old.get(name), reference.new.get(name)):
                    tally.blame("half", f"{words}: {name} is neither the old nor the new one")
            inside = content == reference.new
        tally.inside += inside
        tally.outside += not inside
        if acknowledged and not inside:
            tally.blame("lost", f"{words}: ended with {ending.status}, and it is not there")
        self.shop.check_leftovers(
            folder,
            writing.targets,
            ending,
            lambda: run(writing.arguments, folder, self.shop.control),
            lambda file: tally.blame("leftovers", f"{words}: {file}"),
        )


def _contents(folder: Path, writing: Writing) -> dict[str, bytes]:
    """What stands in the targets, by file."""
    found: dict[str, bytes] = {}
    for target in writing.targets:
        path = folder / target
        files = sorted(path.iterdir()) if path.is_dir() else [path] if path.exists() else []
        # What is hidden is no result, and looked for as a leftover.
        shown = [file for file in files if not file.name.startswith(".")]
        found |= {str(file.relative_to(folder)): file.read_bytes() for file in shown}
    return found
