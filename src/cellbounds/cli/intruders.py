"""What a command is told of the intruder: ``--policy``, ``--intruder`` and ``--knows``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from cellbounds.cli.options import Given
from cellbounds.errors import InvalidInput

if TYPE_CHECKING:
    from cellbounds.data.domain import Domain
    from cellbounds.disclosure.policies import Policy
    from cellbounds.statements import Statement


def policy_given(given: Given) -> Policy:
    """The policy of ``--policy``, against the intruder of ``--intruder``."""
    from cellbounds.disclosure.policies import Intruder, policy_of

    policy = policy_of(given.policy)
    return policy.facing(**Intruder.read(given.intruder)) if given.intruder else policy


def policy_was_given() -> bool:
    """Whether somebody gave ``--policy``, and it is not the default."""
    source = click.get_current_context().get_parameter_source("policy")
    return source is not click.core.ParameterSource.DEFAULT


def read_knowledge(given: Given, domain: Domain) -> tuple[Statement, ...]:
    """The statements of the files of ``--knows``, about a table over these variables."""
    from cellbounds.statements.release_files import read_release

    known: list[Statement] = []
    for path in given.knows:
        read = read_release(path, allow_outside=given.allow_outside)
        if read.domain != domain:
            raise InvalidInput(
                f"{path} speaks of another table: {_difference(read.domain, domain)}; they "
                "need the same variables and levels in the same order (labels in files are text)"
            )
        known += read.statements
    return tuple(known)


def _difference(read: Domain, owned: Domain) -> str:
    """The first thing in which two domains differ."""
    if read.names != owned.names:
        return f"it is over {', '.join(read.names)}, the table over {', '.join(owned.names)}"
    name = next(name for name in read.names if read.levels(name) != owned.levels(name))
    there, here = read.levels(name), owned.levels(name)
    if len(there) != len(here):
        return f"it has {len(there)} levels of {name!r}, the table {len(here)}"
    level, other = next(pair for pair in zip(there, here, strict=True) if pair[0] != pair[1])
    return f"it has the level {level!r} of {name!r} where the table has {other!r}"
