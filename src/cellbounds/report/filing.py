"""Reports to be filed: one file for people, the same as data, whole or not at all."""

from __future__ import annotations

import copy
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from cellbounds.data.spreadsheets import write_excel
from cellbounds.disclosure.auditing import Audit
from cellbounds.disclosure.policies.scenarios import informed
from cellbounds.errors import InvalidInput
from cellbounds.model.effort import Effort
from cellbounds.report.pages.internal import internal_part
from cellbounds.report.pages.posteriors import chances_of
from cellbounds.report.pages.provenance import made_at, open_seed, provenance
from cellbounds.report.pages.public import open_cells, public_part
from cellbounds.report.pages.rendering import page
from cellbounds.report.pages.sheets import cells_csv, sheets_of
from cellbounds.results import Attainable
from cellbounds.runtime.files import write_whole
from cellbounds.version import __version__

__all__ = ["SUFFIXES", "Report", "build_report"]

FORMAT = "cellbounds-report/1"

SUFFIXES = (".html", ".json", ".csv", ".xlsx")
"""Endings of the files that a report can be written to."""


@dataclass(frozen=True, slots=True, eq=False)
class Report:
    """What a release gives away, to be read, filed and handed on.

    It has a public part, which rests on the release and the structural zeros alone, and an internal
    part for the owner of the table, unless it was built without it.
    """

    _content: Mapping[str, Any] = field(repr=False)

    @property
    def public(self) -> bool:
        """Whether the internal part was left out."""
        return "internal" not in self._content

    def to_dict(self) -> dict[str, Any]:
        """Plain values, versioned: ``public``, and ``internal`` if it is there."""
        return copy.deepcopy(dict(self._content))

    def to_html(self) -> str:
        """One page that needs no network, for screen and paper."""
        return page(self._content)

    def to_csv(self) -> str:
        """The cells, one a line."""
        return cells_csv(self._content)

    def write(self, path: str | Path) -> None:
        """Write the report, whole or not at all; the ending of the name says how.

        ``.html`` is the page, ``.json`` everything, ``.csv`` the cells, ``.xlsx`` a workbook. With
        the internal part, a new file is for its owner only.
        """
        target, private = Path(path), not self.public
        match target.suffix.lower():
            case ".html":
                write_whole(target, self.to_html(), private=private)
            case ".json":
                text = json.dumps(self._content, ensure_ascii=False, allow_nan=False) + "\n"
                write_whole(target, text, private=private)
            case ".csv":
                write_whole(target, self.to_csv(), private=private)
            case ".xlsx":
                write_excel(sheets_of(self._content), target, private=private)
            case _:
                raise InvalidInput(
                    f"{target.name} is no report file; end its name with "
                    f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
                )

    def __repr__(self) -> str:
        said = self._content["public"]["published"]["statements"]
        which = "public report" if self.public else "report for the owner"
        return f"<{which}: {', '.join(one['notation'] for one in said)}>"


def build_report(
    audit: Audit | Attainable,
    *,
    public: bool = False,
    key: bytes | None = None,
    seed: int | None = None,
    source: str | None = None,
    seconds: float | None = None,
    clock: bool = False,
) -> Report:
    """A report on what publishing a release would give away.

    Parameters
    ----------
    audit
        What :func:`cellbounds.audit` found. Or the attainable counts that anybody can work out
        (:func:`cellbounds.attainable`): then there is a public part only.
    public
        Leave the internal part out: counts, findings, blame, utility, the table's own digest, and
        a verdict that depends on the counts.
    key
        A secret of the owner: the public part then names the table by a digest under this key.
    seed
        For posteriors that have to be estimated; without one only exact ones are shown. The public
        part shows it, so it must not be one that a table was rounded with: whoever knows that seed
        can round every candidate again and see which of them gives the published figures. If the
        release itself has counts rounded at random, the seed stands in the internal part only,
        and estimates are made with one that is read off the release's digest.
    source
        The table's file, for the internal part; only its name is kept.
    seconds
        A budget for what the report works out beyond the audit. What it cuts short may differ
        from run to run.
    clock
        Say in the internal part when the report was made (``SOURCE_DATE_EPOCH`` if it is set) and
        how long the audit took. Without it the same audit gives the same bytes.

    Notes
    -----
    The public part does not lean on the counts: where the owner's search left something open, the
    attainable counts are worked out once more without them. Structural zeros are shown and made use
    of, as in the audit, because everybody is taken to know them.

    Examples
    --------
    >>> import cellbounds as cb
    >>> table = cb.example_table("delinquent")
    >>> audit = cb.audit(table, cb.publish(table, "[education|county]@2"))
    >>> report = build_report(audit)
    >>> report.to_dict()["internal"]["verdict"]["outcome"]
    'unsafe'
    >>> build_report(audit, public=True).to_dict()["public"]["verdict"]["outcome"] is None
    True
    """
    _check(audit, public, key, seed)
    effort = Effort.of(seconds)
    release, over = audit.release, (audit.answer if isinstance(audit, Audit) else audit).over
    verdict = audit.verdict if isinstance(audit, Audit) else None
    table = audit.table if isinstance(audit, Audit) else None
    known = informed(release, table, ())
    cells = open_cells(audit, known, effort)
    shown = open_seed(release, seed)
    chances = chances_of(known, over, seed=shown, seconds=effort.left)
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": __version__,
        "view": "public" if public or table is None else "owner",
        "public": public_part(release, over, cells, chances, verdict)
        | {"provenance": provenance(table, key=key, seed=shown)},
    }
    if isinstance(audit, Audit) and not public:
        content["internal"] = internal_part(
            audit,
            chances,
            seed=seed,
            source=None if source is None else PurePath(source).name,
            made=made_at() if clock else None,
            effort=effort,
        )
    return Report(content)


def _check(audit: object, public: object, key: object, seed: object) -> None:
    if not isinstance(audit, Audit | Attainable):
        raise InvalidInput(
            f"a report on {audit!r}; give what audit(table, release) or attainable(release) found"
        )
    if not isinstance(public, bool):
        raise InvalidInput(f"public={public!r}; give True or False")
    if key is not None and (not isinstance(key, bytes) or not key):
        raise InvalidInput("the key is no bytes, or empty; give secret bytes, such as 32 of them")
    if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
        raise InvalidInput(f"seed={seed!r}; give a whole number, 0 or more, or None")
