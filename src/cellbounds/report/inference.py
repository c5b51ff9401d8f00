"""Counts of tables, posteriors and draws as text, JSON and CSV."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from cellbounds.data.spreadsheets import csv_text
from cellbounds.results.answers import notations
from cellbounds.results.draws import Draws
from cellbounds.results.posterior import Posterior
from cellbounds.statements import Release
from cellbounds.version import __version__

__all__ = ["render_count", "render_draws", "render_posterior"]


def render_count(release: Release, count: int, style: str) -> str:
    """How many tables fit."""
    statements = notations(release)
    # Python writes no integer of more than 4,300 digits, but any decimal number.
    exact = Decimal(count)
    if style == "json":
        return _json(
            {
                "format": "cellbounds-count/1",
                "release": {"digest": release.digest, "statements": statements},
                # As text: readers of JSON may round integers beyond 2**53.
                "tables": str(exact),
            }
        )
    if style == "csv":
        return _csv({"tables": [str(exact)]})
    noun = "table fits" if count == 1 else "tables fit"
    return f"{exact:,} {noun} {', '.join(statements)}\n"


def render_posterior(found: Posterior, style: str) -> str:
    """The posterior of every cell."""
    if style == "json":
        return _json(found.to_dict())
    return _csv(found.columns()) if style == "csv" else f"{found}\n"


def render_draws(found: Draws, style: str) -> str:
    """Tables that were drawn, or a summary for people."""
    if style == "json":
        return _json(found.to_dict())
    return _csv(found.columns()) if style == "csv" else f"{found}\n"


def _json(values: dict[str, Any]) -> str:
    said = {**values, "version": __version__}
    return json.dumps(said, ensure_ascii=False, allow_nan=False, indent=1) + "\n"


def _csv(columns: dict[str, list[Any]]) -> str:
    return csv_text(list(columns), zip(*columns.values(), strict=True))
