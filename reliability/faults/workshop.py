"""What all trials share: folders, a confidential table with a secret in it, chance."""

from __future__ import annotations

import contextlib
import csv
import itertools
import os
import random
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from reliability.faults.children import Ending
from reliability.faults.interposing import Action, Control
from reliability.faults.leftovers import Secret

__all__ = ["FULL", "KILLS", "PREFIX", "SAFE", "SMALL", "Workshop", "write_table"]

KILLS = (Action.KILL_BEFORE, Action.KILL_HALFWAY, Action.KILL_AFTER)
FULL = (Action.FULL, Action.FULL_HALFWAY)

SAFE = "[county]~5"
"""A release of the confidential table that is safe."""

LEVELS = {"county": ("Alpha", "Beta", "Gamma"), "sex": ("f", "m"), "education": ("Low", "High")}
COUNTS = (40, 9, 8, 31, 4, 7, 5, 6, 7, 1, 2)
"""Those of the other cells."""

SMALL = dict.fromkeys("abc", ("0", "1"))
SMALL_COUNTS = (3, 12, 7, 5, 9, 2, 6, 11)

PREFIX = "faults-"
"""Of the folders that everything is in, here and where the same is run at the same time."""

INPUTS = ("table.csv", "small.csv")


@dataclass(frozen=True, slots=True)
class Workshop:
    """Where trials are made.

    Attributes
    ----------
    root
        Everything is below it.
    control
        What is done to commands.
    chance
        Where everything random comes from.
    """

    root: Path
    control: Control
    chance: random.Random
    secret: Secret

    @classmethod
    def made(cls, root: Path, control: Control, seed: int) -> Workshop:
        """A workshop whose secret depends on the seed."""
        chance = random.Random(seed)
        secret = Secret(chance.randrange(40_001, 100_000, 2))
        for name, content in (
            ("new", (secret.count, *COUNTS)),
            ("old", (secret.count, *COUNTS[::-1])),
        ):
            (root / name).mkdir()
            write_table(root / name / "table.csv", LEVELS, content)
            write_table(root / name / "small.csv", SMALL, SMALL_COUNTS)
        (root / "trials").mkdir()
        return cls(root, control, chance, secret)

    @property
    def temporary(self) -> Path:
        """The temporary folder that the commands are given, which everybody could read."""
        return Path(tempfile.gettempdir())

    @contextlib.contextmanager
    def folder(self, *, old: bool = False) -> Iterator[Path]:
        """A folder for one trial, with the confidential table in it."""
        folder = Path(tempfile.mkdtemp(dir=self.root / "trials"))
        for name in INPUTS:
            shutil.copy(self.root / ("old" if old else "new") / name, folder)
        try:
            yield folder
        finally:
            shutil.rmtree(folder)

    def beside(self, folder: Path, *meant: str) -> list[Path]:
        """Files below a folder that nobody asked for; those in a folder that was are no strays."""
        allowed = [folder / name for name in (*INPUTS, *meant)]
        return [
            path
            for path in sorted(folder.rglob("*"))
            if path.is_file()
            and path not in allowed
            and (path.name.startswith(".") or path.parent not in allowed)
        ]

    def check_leftovers(
        self,
        folder: Path,
        meant: Sequence[str],
        ending: Ending,
        again: Callable[[], object],
        blame: Callable[[str], None],
    ) -> None:
        """Look for the secret in the temporary folder, beside the results and in the cache.

        What was killed may leave files for their owner only, which the next run removes.
        """
        cache = Path(os.environ["XDG_CACHE_HOME"])
        for path in self.secret.files(self.temporary):
            blame(f"{path.name} in the temporary folder")
            path.unlink()
        beside = [*self.beside(folder, *meant), *self.beside(cache)]
        for path in filter(self.secret.is_in_file, beside):
            if not ending.killed or not self._is_private(path):
                blame(f"{path.name} with mode {stat.S_IMODE(path.stat().st_mode):o}")
        if beside:
            again()
            for path in (*self.beside(folder, *meant), *self.beside(cache)):
                blame(f"{path.name} is there after the next run")

    def _is_private(self, path: Path) -> bool:
        """Whether nobody else can read a file, because of its mode or that of a folder."""
        inside = path.relative_to(self.root).parents
        every = [path, *(self.root / folder for folder in inside if folder != Path())]
        # The folder of a trial is private only because it was made as a temporary one.
        shown = [one for one in every if one.parent != self.root / "trials"]
        return any(not stat.S_IMODE(one.stat().st_mode) & 0o077 for one in shown)

    def strays_elsewhere(self, since: float) -> Iterator[Path]:
        """Files that hold the secret and were made since then where nobody was told to."""
        for place in map(Path, ("/tmp", "/var/tmp", "/dev/shm")):
            for path in place.iterdir() if place.is_dir() else ():
                with contextlib.suppress(FileNotFoundError):  # other programs' files come and go
                    if path.is_file() and path.stat().st_ctime >= since:
                        yield from self.secret.files(path)

    def points(self, actions: Sequence[Action], calls: int, count: int) -> list[tuple[Action, int]]:
        """So many chosen points: all of them in turn, in random order."""
        every = [(action, at) for action in actions for at in range(1, calls + 1)]
        chosen: list[tuple[Action, int]] = []
        while len(chosen) < count:
            self.chance.shuffle(every)
            chosen += every[: count - len(chosen)]
        return chosen


def write_table(path: Path, levels: Mapping[str, Sequence[str]], counts: Sequence[int]) -> None:
    """Write a confidential table as a CSV file."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*levels, "count"])
        cells = itertools.product(*levels.values())
        writer.writerows([*cell, count] for cell, count in zip(cells, counts, strict=True))
