"""The statements that an explanation blames, looked up in the release."""

from __future__ import annotations

from cellbounds import Release
from cellbounds.results import Blame


def statements_of(release: Release, blame: Blame) -> list:
    left = list(blame.statements)
    chosen = []
    for statement in release.statements:
        if statement.notation in left:
            left.remove(statement.notation)
            chosen.append(statement)
    assert not left
    return chosen
