"""Raw figures in one JSON file: a record for each measured thing, by section and name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks import machine

Record: TypeAlias = dict[str, Any]


class Records:
    """The records of a file; each is written as soon as it is there."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._sections: dict[str, dict[str, Record]] = {}
        self._read()

    def _read(self) -> None:
        if self._path.exists():
            self._sections = json.loads(self._path.read_text(encoding="utf-8"))

    def put(self, section: str, name: str, record: Record) -> None:
        """Keep a record, with the machine it was measured on, and write the file."""
        self._read()  # another run may have written other parts meanwhile
        self._sections.setdefault(section, {})[name] = {**record, "machine": machine.describe()}
        self._path.parent.mkdir(parents=True, exist_ok=True)
        # Written beside and moved, so that an interrupted run leaves a whole file.
        beside = self._path.with_suffix(".new")
        beside.write_text(json.dumps(self._sections, indent=1) + "\n", encoding="utf-8")
        beside.replace(self._path)

    def get(self, section: str, name: str) -> Record | None:
        """Return one record, if it is there."""
        return self._sections.get(section, {}).get(name)

    def of(self, section: str) -> list[Record]:
        """Return the records of a section by the order of their names."""
        found = self._sections.get(section, {})
        return [found[name] for name in sorted(found)]

    def machines(self) -> list[str]:
        """Return the lines that describe the machines, each once."""
        records = [record for section in self._sections.values() for record in section.values()]
        return list(dict.fromkeys(line for record in records for line in record["machine"]))
