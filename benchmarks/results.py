"""What was measured: one JSON file for each section, written as soon as a figure is there.

A file holds the records of a section by name, each with the machine and the versions it was
measured with, what could not be measured on this machine, and what failed.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

Record: TypeAlias = dict[str, Any]
Stamp: TypeAlias = dict[str, Any]

FORMAT = 1


class Results:
    """The figures of one profile.

    Parameters
    ----------
    folder : Path
        Where the files are.
    earlier : Path, optional
        A folder of files that stand in for sections that have no file here: what takes long is
        kept beside the report.
    """

    def __init__(self, folder: Path, earlier: Path | None = None) -> None:
        self._folder = folder
        self._earlier = earlier
        self._sections: dict[str, Record] = {}

    def begin(self, section: str, names: Sequence[str], stamp: Stamp) -> None:
        """Make a section ready: these records in this order; what fails is about this run."""
        held = self._section(section)
        known = held["records"]
        held |= {
            "records": {name: known[name] for name in names if name in known},
            "order": list(names),
            "skipped": {},
            "failed": {},
            "stamp": stamp,
        }
        self._write(section)

    def put(
        self,
        section: str,
        name: str,
        record: Record,
        seconds: float,
        stamp: Stamp,
        load: float | None = None,
    ) -> None:
        """Keep a record, and write the file.

        Parameters
        ----------
        section, name : str
            Where it belongs.
        record : dict
            The figures.
        seconds : float
            How long measuring took.
        stamp : dict
            The machine and the versions.
        load : float, optional
            The load average of the machine afterwards.
        """
        held = self._section(section)
        new = {"seconds": seconds, "load": load, "stamp": stamp, "record": record}
        kept = held["records"] | {name: new}
        held["records"] = {known: kept[known] for known in held["order"] if known in kept}
        self._write(section)

    def skip(self, section: str, name: str, remark: str) -> None:
        """Note that something cannot be measured here, and why."""
        self._note(section, "skipped", name, remark)

    def fail(self, section: str, name: str, problem: str) -> None:
        """Note that a measurement failed; an older record of it is no longer true."""
        self._section(section)["records"].pop(name, None)
        self._note(section, "failed", name, problem)

    def is_fresh(self, section: str, name: str, stamp: Stamp) -> bool:
        """Whether there is a record that was measured on this machine with these versions."""
        kept = self._section(section)["records"].get(name)
        return kept is not None and kept["stamp"] == stamp

    def get(self, section: str, name: str) -> Record | None:
        """Return one record, if it is there."""
        kept = self._section(section)["records"].get(name)
        return None if kept is None else kept["record"]

    def of(self, section: str) -> dict[str, Record]:
        """Return the records of a section by name, in the order of the run."""
        records = self._section(section)["records"]
        return {name: kept["record"] for name, kept in records.items()}

    def by_part(self, section: str) -> dict[str, list[Record]]:
        """Return the records of a section by its parts."""
        found: dict[str, list[Record]] = {}
        for record in self.of(section).values():
            found.setdefault(record["part"], []).append(record)
        return found

    def seconds(self, section: str) -> float:
        """Return how long the records of a section took to measure."""
        return sum(float(kept["seconds"]) for kept in self._section(section)["records"].values())

    def loads(self, section: str) -> list[float]:
        """Return the load averages of the machine while a section was measured."""
        found = [kept.get("load") for kept in self._section(section)["records"].values()]
        return [float(load) for load in found if load is not None]

    def stamps(self, sections: Iterable[str]) -> dict[str, list[Stamp]]:
        """Return, by section, the different machines and versions its records come from."""
        found: dict[str, list[Stamp]] = {}
        for section in sections:
            kept = self._section(section)["records"].values()
            different: list[Stamp] = []
            for one in kept:
                if one["stamp"] not in different:
                    different.append(one["stamp"])
            found[section] = different
        return found

    def skipped(self, section: str) -> dict[str, str]:
        """Return what could not be measured here, and why."""
        return dict(self._section(section)["skipped"])

    def failed(self, section: str) -> dict[str, str]:
        """Return what failed, and how."""
        return dict(self._section(section)["failed"])

    def keep(self, section: str, folder: Path) -> None:
        """Write the records of a section into a folder too, for later reports."""
        self._write(section, folder)

    def _note(self, section: str, kind: str, name: str, text: str) -> None:
        self._section(section)[kind][name] = text
        self._write(section)

    def _section(self, section: str) -> Record:
        if section not in self._sections:
            self._sections[section] = self._read(section)
        return self._sections[section]

    def _read(self, section: str) -> Record:
        for folder in (self._folder, self._earlier):
            path = None if folder is None else folder / f"{section}.json"
            if path is not None and path.exists():
                found: Record = json.loads(path.read_text(encoding="utf-8"))
                if found.get("format") == FORMAT:
                    return found
        return {"format": FORMAT, "order": [], "records": {}, "skipped": {}, "failed": {}}

    def _write(self, section: str, folder: Path | None = None) -> None:
        target = folder or self._folder
        target.mkdir(parents=True, exist_ok=True)
        # Written beside and moved, so that an interrupted run leaves a whole file.
        path = target / f"{section}.json"
        beside = path.with_suffix(".new")
        text = json.dumps(self._sections[section], indent=1, allow_nan=True)
        beside.write_text(text + "\n", encoding="utf-8")
        beside.replace(path)
