"""A search on disk: what was found about each design so far, so that it can be resumed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

from cellbounds.data.table import Table
from cellbounds.disclosure.exploring.designs import Design
from cellbounds.disclosure.exploring.judged_design import Judged
from cellbounds.disclosure.exploring.measuring import Settings
from cellbounds.errors import InvalidInput
from cellbounds.runtime.checkpoints import Checkpoint, Purpose, damaged
from cellbounds.version import __version__

__all__ = ["State", "header_of"]

SEARCH = Purpose(
    "a search",
    "cellbounds-explore-state/2",
    (
        ("table", "the state of a search about another table"),
        ("options", "the state of a search with other designs, policy or options"),
    ),
)

DESIGN = "design"
"""The part of a state that every entry belongs to."""


def header_of(table: Table, designs: Sequence[Design], settings: Settings) -> dict[str, str]:
    """What tells one search from another: table, designs and all that they are judged by."""
    options = {
        "designs": [one.to_dict() for one in designs],
        "policy": settings.policy.to_dict(),
        "independent": settings.independent,
        "use": settings.use,
        "utility": _name_of(settings.utility),
    }
    canonical = json.dumps(options, sort_keys=True, default=str)
    return {
        "format": SEARCH.format,
        "version": __version__,
        "table": table.digest,
        "options": hashlib.sha256(canonical.encode()).hexdigest(),
    }


def _name_of(utility: Callable[..., float] | None) -> str | None:
    """A function's name: the only thing about it that can be compared."""
    if utility is None:
        return None
    named = utility if hasattr(utility, "__qualname__") else type(utility)
    return f"{named.__module__}.{named.__qualname__}"


class State:
    """What was found so far, in a file that is created if it is not there.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "search.jsonl"
    >>> header = {"format": SEARCH.format, "version": "1", "table": "ab", "options": "cd"}
    >>> with State(path, header, []) as state:
    ...     state.found
    {}
    """

    def __init__(self, path: str | Path, header: dict[str, str], designs: Sequence[Design]) -> None:
        self._kept = Checkpoint(path, header, SEARCH)
        self.found: dict[int, Judged] = {}
        try:
            for said in self._kept.entries(DESIGN):
                place = said["place"]
                self.found[place] = Judged.of(designs[place], said)
        except (ValueError, KeyError, IndexError, TypeError):
            self._kept.close()
            raise damaged(self._kept.path, "an entry") from None
        except InvalidInput:
            self._kept.close()
            raise

    def add(self, place: int, judged: Judged) -> None:
        """Keep what was found about the design at a place."""
        self._kept.add(DESIGN, {"place": place, **judged.found()})

    def __enter__(self) -> State:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._kept.close()
