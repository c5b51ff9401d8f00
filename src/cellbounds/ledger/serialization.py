"""Domains, releases, policies and tables as plain values that JSON holds, and back."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from cellbounds.data.domain import Domain, Grouping, Label
from cellbounds.data.table import Table
from cellbounds.disclosure.policies import Policy
from cellbounds.disclosure.policies.policy import rule_of
from cellbounds.errors import InvalidInput
from cellbounds.runtime.arrays import BoolArray
from cellbounds.statements import KINDS, Release, Statement
from cellbounds.statements.statement import objects


def plain_domain(domain: Domain) -> dict[str, Any]:
    """Variables in order, and the derived ones."""
    for name in domain.names:
        for label in domain.levels(name):
            _check_label(name, label)
    return {
        "variables": [[name, list(domain.levels(name))] for name in domain.names],
        "groupings": [
            [name, grouping.of, [[label, list(parts)] for label, parts in grouping.groups]]
            for name, grouping in domain.groupings.items()
        ],
    }


def _check_label(name: str, label: Label) -> None:
    if isinstance(label, bool) or not isinstance(label, str | int):
        raise InvalidInput(
            f"the level {label!r} of {name!r} is of type {type(label).__name__}; a ledger holds "
            "labels that are texts or whole numbers: rename the level"
        )


def read_plain_domain(values: dict[str, Any]) -> Domain:
    """The domain of :func:`plain_domain`."""
    groupings = {name: Grouping(of, dict(levels)) for name, of, levels in values["groupings"]}
    return Domain(dict(values["variables"]), groupings=groupings)


def plain_release(release: Release) -> dict[str, Any]:
    """A release with its figures, so that reading gives one of the same meaning.

    Examples
    --------
    >>> import cellbounds as cb
    >>> release = cb.publish(cb.datasets.read("mp3"), "[mp3|gender]@2", "[gender]~5")
    >>> read_plain_release(plain_release(release)).digest == release.digest
    True
    """
    domain = release.domain
    values = {
        "domain": plain_domain(domain),
        "statements": [statement.to_plain(domain) for statement in release.statements],
    }
    if read_plain_release(json.loads(json.dumps(values))).digest != release.digest:
        raise InvalidInput(
            f"the release {release!r} cannot be recorded without loss; write it with "
            "its write(), read it again, and commit what was read"
        )
    return values


def read_plain_release(values: dict[str, Any]) -> Release:
    """The release of :func:`plain_release`."""
    domain = read_plain_domain(values["domain"])
    return Release(
        domain, [read_statement(statement, domain) for statement in values["statements"]]
    )


def read_statement(values: dict[str, Any], domain: Domain) -> Statement:
    """A statement from its plain values, over a domain that has its variables."""
    ((name, given),) = values.items()
    return {kind.kind: kind for kind in KINDS}[name].from_plain(given, domain)


def read_plain_policy(values: dict[str, Any]) -> Policy:
    """The policy of its ``to_dict``.

    Examples
    --------
    >>> from cellbounds import policies
    >>> strict = policies.read("strict")
    >>> read_plain_policy(strict.to_dict()) == strict
    True
    """
    return Policy(
        name=values["name"],
        title=values["title"],
        description=values["description"],
        rules=tuple(map(rule_of, values["rule"])),
        modelled_on=values["modelled_on"],
        respondent=values["respondent"],
        respondent_at_most=values.get("respondent_at_most"),
        intruder=values.get("intruder", {}),
    )


def plain_layout(table: Table) -> dict[str, Any]:
    """Variables and structural zeros of a table, which everybody is taken to know."""
    places = [int(place) for place in np.flatnonzero(table.structural)]
    return {"domain": plain_domain(table.domain), "structural": places}


def read_layout(values: dict[str, Any]) -> tuple[Domain, BoolArray]:
    """The variables and structural zeros of :func:`plain_layout`."""
    domain = read_plain_domain(values["domain"])
    structural = np.zeros(domain.size, dtype=bool)
    structural[list(values["structural"])] = True
    return domain, structural.reshape(domain.shape)


def plain_table(table: Table) -> dict[str, Any]:
    """A table with its counts: confidential."""
    return {**plain_layout(table), "counts": [int(count) for count in table.counts.flat]}


def read_plain_table(values: dict[str, Any]) -> Table:
    """The table of :func:`plain_table`."""
    domain, structural = read_layout(values)
    counts = objects(values["counts"], domain.shape).tolist()
    return Table(domain, counts, structural=structural)
