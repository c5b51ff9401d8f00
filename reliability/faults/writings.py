"""Reports, answers, certificates, synthetic tables and states: old or new, never a part."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from cellbounds.methods.general import keeping
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


@dataclass(slots=True)
class Reference:
    """What a writing gives when nothing goes wrong: before, afterwards, said, and how fast."""

    old: dict[str, bytes]
    new: dict[str, bytes]
    said: str
    seconds: float
    changes: int
    """System calls that change files."""
    needs: int
    """Those of them that need room."""


@dataclass(slots=True)
class FileTrials:
    """Writings under faults, each in a folder of its own."""

    shop: Workshop
    writings: tuple[Writing, ...] = WRITINGS
    references: dict[str, Reference] = field(default_factory=dict)

    def prepare(self) -> None:
        """Run everything once here, so that it is loaded, and see what it writes."""
        keeping.EVERY = 0.0  # a state is written at every step, so that there is much to kill
        for writing in self.writings:
            with self.shop.folder() as folder:
                run_here(writing.arguments, folder)
            self.references[writing.name] = self._reference(writing)

    def _reference(self, writing: Writing) -> Reference:
        control = self.shop.control
        with self.shop.folder(old=True) as folder:
            run(writing.arguments, folder, control)
            old = _contents(folder, writing)
        with self.shop.folder() as folder:
            ending = run(writing.arguments, folder, control, Fault(Calls.FILES))
            changes = len(control.calls)
            new = _contents(folder, writing)
        with self.shop.folder() as folder:
            run(writing.arguments, folder, control, Fault(Calls.SPACE))
            needs = len(control.calls)
        if ending.status not in (0, 1) or not new or not needs:
            raise RuntimeError(f"{writing.name} ended with {ending.status}: {ending.err}")
        return Reference(old, new, ending.out, ending.seconds, changes, needs)

    def kills(self, count: int) -> Iterator[Tally]:
        """Kill each of them before, in the middle of and after every change, and at random."""
        for writing, share in self._shares(count):
            tally = Tally("killed", writing.name)
            reference = self.references[writing.name]
            chosen = self.shop.points(KILLS, reference.changes, (share + 1) // 2)
            for action, at in chosen:
                self._try(writing, tally, Fault(Calls.FILES, action, at))
            for _ in range(share - len(chosen)):
                self._try(writing, tally, None)
            yield tally

    def full_disks(self, count: int) -> Iterator[Tally]:
        """Fill the disk at every call that needs room."""
        for writing, share in self._shares(count):
            tally = Tally("disk full", writing.name)
            needs = self.references[writing.name].needs
            for action, at in self.shop.points(FULL, needs, share):
                self._try(writing, tally, Fault(Calls.SPACE, action, at))
            yield tally

    def _shares(self, count: int) -> Iterator[tuple[Writing, int]]:
        whole, rest = divmod(count, len(self.writings))
        for place, writing in enumerate(self.writings):
            yield writing, whole + (place < rest)

    def _try(self, writing: Writing, tally: Tally, fault: Fault | None) -> None:
        """One trial; without a fault at a chosen call it is killed at a random moment."""
        reference, shop = self.references[writing.name], self.shop
        before = shop.chance.random() < 0.5 and not writing.resumed
        with shop.folder() as folder:
            if before:
                for name, content in reference.old.items():
                    (folder / name).parent.mkdir(exist_ok=True)
                    (folder / name).write_bytes(content)
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
            self._look(writing, folder, before, ending, tally, words)

    def _look(
        self,
        writing: Writing,
        folder: Path,
        before: bool,
        ending: Ending,
        tally: Tally,
        words: str,
    ) -> None:
        reference, acknowledged = self.references[writing.name], ending.status in (0, 1)
        tally.acknowledged += acknowledged
        if not ending.killed and not ending.well_said:
            tally.blame("wrong", f"{words}: status {ending.status}, said {ending.err[-300:]!r}")
        if writing.resumed:
            inside = acknowledged
            again = run(writing.arguments, folder, self.shop.control)
            if (again.status in (0, 1), again.out) != (True, reference.said):
                tally.blame("half", f"{words}: resumed to {again.status}, {again.err[-300:]!r}")
        else:
            content = _contents(folder, writing)
            old: dict[str, bytes] = reference.old if before else {}
            for name in sorted({*content, *old, *reference.new}):
                if content.get(name) not in (old.get(name), reference.new.get(name)):
                    tally.blame("half", f"{words}: {name} is neither the old nor the new one")
            inside = content == reference.new
        tally.inside += inside
        tally.outside += not inside
        if acknowledged and not inside:
            tally.blame("lost", f"{words}: ended with {ending.status}, and it is not there")
        self._look_for_leftovers(writing, folder, ending, tally, words)

    def _look_for_leftovers(
        self, writing: Writing, folder: Path, ending: Ending, tally: Tally, words: str
    ) -> None:
        shop = self.shop
        for path in shop.strays(shop.temporary):
            tally.blame("leftovers", f"{words}: {path.name} in the temporary folder")
            path.unlink()
        beside = list(shop.strays(folder, *writing.targets))
        for path in beside:
            mode = stat.S_IMODE(path.stat().st_mode)
            if not ending.killed or mode & 0o077:
                tally.blame("leftovers", f"{words}: {path.name} with mode {mode:o}")
        if beside:
            run(writing.arguments, folder, shop.control)
            for path in shop.strays(folder, *writing.targets):
                tally.blame("leftovers", f"{words}: {path.name} is there after the next run")


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
