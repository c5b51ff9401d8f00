"""Reports to be filed: one file for people, the same as data, whole or not at all."""

from __future__ import annotations

import copy
import datetime
import os
import platform
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib import metadata
from pathlib import Path, PurePath
from typing import Any

from cellbounds.data.spreadsheets import csv_text, write_excel
from cellbounds.data.table import Table
from cellbounds.disclosure.auditing import Audit
from cellbounds.disclosure.policies.intruder import USUAL
from cellbounds.disclosure.policies.knowledge import informed
from cellbounds.errors import InvalidInput
from cellbounds.report.formats import json_text
from cellbounds.report.pages.content import (
    USUAL_LIMITS,
    ReportLimits,
    chances_of,
    internal_part,
    labels_text,
    public_cells,
    public_part,
    read_values,
)
from cellbounds.report.pages.page import page
from cellbounds.results import Attainable
from cellbounds.runtime.arguments import checked_whole
from cellbounds.runtime.budget import UNLIMITED, Budget, budgeted
from cellbounds.runtime.files import write_whole
from cellbounds.statements import Release
from cellbounds.text import label_keys
from cellbounds.utility.display import columns_of
from cellbounds.version import __version__

LIBRARIES = ("numpy", "scipy", "highspy", "ortools", "python-flint", "numba", "jinja2")
"""What may have a hand in an answer, or in the page."""


def provenance(table: Table | None, *, key: bytes | None, seed: int | None) -> dict[str, Any]:
    """Versions, seed, and the table's digest under a key that only its owner has.

    A plain digest would single the table out among the few that are consistent; it stands in the
    internal part only.
    """
    versions = {"cellbounds": __version__, "python": platform.python_version()}
    for name in LIBRARIES:
        # An optional library that is not here had no hand in it.
        with suppress(metadata.PackageNotFoundError):
            versions[name] = metadata.version(name)
    keyed = None if table is None or key is None else table.keyed_digest(key)
    return {"versions": versions, "seed": seed, "keyed_digest": keyed}


def open_seed(release: Release, seed: int | None) -> int | None:
    """The seed that everybody may see, and that estimates for everybody are made with.

    If counts were rounded at random, perhaps with this very seed, whoever knows it can round every
    consistent table again and keep those that give the published figures. Then another seed takes
    its place: the first 32 bits of the release's digest, which everybody has already.

    Examples
    --------
    >>> import cellbounds as cb
    >>> table = cb.datasets.read("delinquent")
    >>> open_seed(cb.publish(table, "[county]~5"), 7)
    7
    >>> release = cb.publish(table, "[county]~5", count_rounding="random", rng=7)
    >>> open_seed(release, 7) == int(release.digest[:8], 16)
    True
    """
    at_random = any(statement.by_chance for statement in release.statements)
    return seed if seed is None or not at_random else int(release.digest[:8], 16)


def made_at() -> str:
    """Now, or what SOURCE_DATE_EPOCH says, in UTC to the second."""
    epoch = os.environ.get("SOURCE_DATE_EPOCH")
    if epoch is None:
        moment = datetime.datetime.now(datetime.UTC)
    else:
        try:
            moment = datetime.datetime.fromtimestamp(int(epoch), datetime.UTC)
        except (ValueError, OverflowError, OSError):
            raise InvalidInput(
                f"SOURCE_DATE_EPOCH is {epoch!r}; it has to be whole seconds since 1970, or unset"
            ) from None
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")


RUNS = 500
"""Runs of attainable counts that a spreadsheet names for a cell."""

FINDING = {
    "outcome": "outcome",
    "rule": "rule",
    "place": "where",
    "respondent in": "respondent",
    "evidence": "evidence",
    "what would change it": "change",
}
"""What a list of findings has: titles of columns, and what of a finding stands there."""

FIXED = ("count", "lower", "upper", "size", "values", "mark", "outcome")

Columns = dict[str, list[Any]]

Part = Mapping[str, Any]
"""The public or the internal part of a report."""


def _cells(content: Mapping[str, Any]) -> Columns:
    """The cells, one a line: labels, the count for its owner, and what is attainable."""
    owner = "internal" in content
    cells = content["internal" if owner else "public"]["cells"]
    names = ["count"] if owner else []
    names += ["lower", "upper", "size", "values", "mark"]
    if owner or (cells and "outcome" in cells[0]):
        names.append("outcome")
    columns: Columns = {
        key: [cell["labels"][place] for cell in cells]
        for place, key in enumerate(label_keys(content["public"]["over"], FIXED).values())
    }
    columns |= {name: [cell.get(name) for cell in cells] for name in names}
    columns["values"] = [read_values(cell).text(RUNS) for cell in cells]
    return columns


def sheets_of(content: Mapping[str, Any]) -> dict[str, Columns]:
    """The sheets of a workbook: verdict, cells, findings, statements, policy, method."""
    public, internal = content["public"], content.get("internal")
    findings = (internal or public)["verdict"].get("findings")
    statements, policy = public["published"]["statements"], public["policy"]
    sheets = {
        "verdict": columns_of(PAIR, _verdict_lines(public, internal)),
        "cells": _cells(content),
        "findings": None if findings is None else _findings(findings, internal),
        "statements": {
            "statement": [statement["notation"] for statement in statements],
            "meaning": [statement["meaning"] for statement in statements],
        },
        "policy": None if policy is None else columns_of(PAIR, _policy_lines(policy)),
        "method": columns_of(PAIR, _method_lines(public, internal)),
    }
    return {name: columns for name, columns in sheets.items() if columns is not None}


PAIR = ("what", "value")


def _verdict_lines(public: Part, internal: Part | None) -> list[tuple[str, Any]]:
    verdict = (internal or public)["verdict"]
    lines = [
        ("view", "public" if internal is None else "owner: confidential"),
        ("verdict", verdict["outcome"] or "not told"),
        ("reason", verdict["said"]),
    ]
    if public["policy"] is not None:
        lines.append(("policy", public["policy"]["name"]))
    lines += [(f"{what} findings", many) for what, many in verdict.get("summary", {}).items()]
    lines += [("the intruder knows", known) for known in verdict.get("intruder", ())]
    lines += [("note", note) for note in verdict.get("notes", ())]
    lines += public["summary"].items()
    if internal is not None:
        if "figures" in internal["utility"]:
            lines.append(("share kept", internal["utility"]["figures"]["share"]))
        lines.append(("warning", internal["warning"]))
    return lines


def _findings(findings: Sequence[Mapping[str, Any]], internal: Any) -> Columns:
    columns = {title: [finding[key] for finding in findings] for title, key in FINDING.items()}
    columns["respondent in"] = [
        None if labels is None else labels_text(labels) for labels in columns["respondent in"]
    ]
    if internal is not None:
        blamed = internal["blame"]["findings"]
        forced = {finding["finding"]: ", ".join(finding["statements"]) for finding in blamed}
        columns["count"] = [finding.get("count") for finding in findings]
        columns["revealed by"] = [forced.get(place) for place in range(len(findings))]
    return columns


def _policy_lines(policy: Mapping[str, Any]) -> list[tuple[str, Any]]:
    lines = [(what, policy[what]) for what in ("name", "title", "description", "modelled_on")]
    return lines + [("rule", sentence) for sentence in policy["sentences"]]


def _method_lines(public: Part, internal: Part | None) -> list[tuple[str, Any]]:
    method, origin = public["method"], public["provenance"]
    lines = [
        ("method", method["name"]),
        ("evidence", method["evidence"]),
        ("settled", method["said"]),
        ("posteriors", public["posteriors"]["said"]),
        ("release digest (SHA-256)", public["published"]["digest"]),
        ("table digest under a key (HMAC-SHA-256)", origin["keyed_digest"]),
        ("seed", origin["seed"]),
        *origin["versions"].items(),
    ]
    if internal is not None:
        lines += [
            ("table digest (SHA-256)", internal["input"]["digest"]),
            ("source", internal["input"]["source"]),
            ("seed given", internal["input"]["seed"]),
            *internal.get("clock", {}).items(),
        ]
    return lines


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
    _limits: ReportLimits = field(repr=False)

    @property
    def public(self) -> bool:
        """Whether the internal part was left out."""
        return "internal" not in self._content

    def to_dict(self) -> dict[str, Any]:
        """Plain values, versioned: ``public``, and ``internal`` if it is there."""
        return copy.deepcopy(dict(self._content))

    def to_html(self) -> str:
        """One page that needs no network, for screen and paper."""
        return page(self._content, self._limits)

    def to_csv(self) -> str:
        """The cells, one a line."""
        columns = _cells(self._content)
        return csv_text(list(columns), zip(*columns.values(), strict=True))

    def write(self, path: str | Path) -> None:
        """Write the report, whole or not at all; the ending of the name says how.

        ``.html`` is the page, ``.json`` everything, ``.csv`` the cells, ``.xlsx`` a workbook. With
        the internal part, a new file is for its owner only.
        """
        target, private = Path(path), not self.public
        ending = target.suffix.lower()
        if ending == ".xlsx":
            write_excel(sheets_of(self._content), target, private=private)
        elif ending == ".json":
            write_whole(target, json_text(self._content, indent=None), private=private)
        elif ending in (".html", ".csv"):
            text = self.to_html() if ending == ".html" else self.to_csv()
            write_whole(target, text, private=private)
        else:
            raise InvalidInput(
                f"{target.name} is no report file; end its name with "
                f"{', '.join(SUFFIXES[:-1])} or {SUFFIXES[-1]}"
            )

    def __repr__(self) -> str:
        statements = self._content["public"]["published"]["statements"]
        which = "public report" if self.public else "report for the owner"
        return f"<{which}: {', '.join(statement['notation'] for statement in statements)}>"


@budgeted(stops=False)
def build_report(
    audit: Audit | Attainable,
    *,
    public: bool = False,
    key: bytes | None = None,
    rng: int | None = None,
    source: str | None = None,
    budget: Budget = UNLIMITED,
    seconds: float | None = None,
    clock: bool = False,
    limits: ReportLimits = USUAL_LIMITS,
) -> Report:
    """A report on what publishing a release would give away.

    Parameters
    ----------
    audit
        What :func:`cellbounds.audit` found. Without a table, or of attainable counts alone
        (:func:`cellbounds.attainable`), there is a public part only.
    public
        Leave the internal part out: counts, findings, blame, utility, the table's own digest, and
        a verdict that depends on the counts.
    key
        A secret of the owner: the public part then names the table by a digest under this key.
    rng
        The seed of posteriors that have to be estimated; without one only exact ones are shown. The
        public part shows it, so it must not be one that a table was rounded with: whoever knows
        that seed can round every candidate again and see which of them gives the published
        figures. If the release itself has counts rounded at random, the seed stands in the internal
        part only, and estimates are made with one that is read off the release's digest.
    source
        The table's file, for the internal part; only its name is kept.
    budget, seconds
        What the work beyond the audit may cost: a :class:`Budget`, or seconds alone. What it cuts
        short may differ from run to run.
    clock
        Say in the internal part when the report was made (``SOURCE_DATE_EPOCH`` if it is set) and
        how long the audit took. Without it the same audit gives the same bytes.
    limits
        How much is worked out and shown.

    Notes
    -----
    The public part does not lean on the counts: where the owner's search left something open, the
    attainable counts are worked out once more without them. Structural zeros are shown and made use
    of, as in the audit, because everybody is taken to know them.

    Examples
    --------
    >>> import cellbounds as cb
    >>> table = cb.datasets.read("delinquent")
    >>> audit = cb.audit(table, cb.publish(table, "[education|county]@2"))
    >>> report = audit.report()
    >>> report.to_dict()["internal"]["verdict"]["outcome"]
    'unsafe'
    >>> audit.report(public=True).to_dict()["public"]["verdict"]["outcome"] is None
    True
    """
    if not isinstance(audit, Audit | Attainable):
        raise InvalidInput(
            f"a report on {audit!r}; give what audit(table, release) or attainable(release) found"
        )
    if not isinstance(public, bool):
        raise InvalidInput(f"public={public!r}; give True or False")
    if key is not None and (not isinstance(key, bytes) or not key):
        raise InvalidInput("the key is no bytes, or empty; give secret bytes, such as 32 of them")
    rng = None if rng is None else checked_whole("rng", rng, 0)
    owned = audit if isinstance(audit, Audit) else None
    answer = audit if isinstance(audit, Attainable) else audit.answer
    table, verdict = (None, None) if owned is None else (owned.table, owned.verdict)
    # What somebody knows of N is his own; what hiding gives away is there for all to see.
    intruder = USUAL if verdict is None else replace(verdict.policy.against, total="published")
    known = audit.release
    if owned is not None:
        unseen = owned.verdict.independent
        known = informed(audit.release, table, (), intruder, unseen=unseen, effort=budget).release
    budget = budget.before_writing(answer.size)
    cells, method = public_cells(audit, known, budget, limits)
    shown = open_seed(audit.release, rng)
    chances = chances_of(known, answer.over, shown, budget, limits)
    content: dict[str, Any] = {
        "format": FORMAT,
        "version": __version__,
        "view": "public" if public or table is None else "owner",
        "public": public_part(audit.release, answer.over, cells, chances, verdict, limits)
        | {"method": method, "provenance": provenance(table, key=key, seed=shown)},
    }
    if owned is not None and table is not None and not public:
        file = None if source is None else PurePath(source).name
        content["internal"] = internal_part(owned, table, chances, budget, limits) | {
            "input": {"digest": table.digest, "source": file, "seed": rng},
            "method": {"name": answer.method, "evidence": answer.evidence.value},
        }
        if clock:
            content["internal"]["clock"] = {
                "made": made_at(),
                "attainable_seconds": round(answer.seconds, 3),
                "judging_seconds": round(owned.verdict.seconds, 3),
            }
    return Report(content, limits)
