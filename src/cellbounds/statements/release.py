"""A release: everything that was said about one table."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import Any

from cellbounds.data.domain import Domain
from cellbounds.errors import InvalidInput
from cellbounds.statements.conditional import Conditional
from cellbounds.statements.linear import Linear
from cellbounds.statements.margins import Margin
from cellbounds.statements.statements import Prior, Total, names_text

__all__ = ["Release", "Statement"]

Statement = Total | Margin | Conditional | Prior | Linear


class Release:
    """What was said about a table, without the table.

    Parameters
    ----------
    domain
        The variables and levels of the table that the statements speak of.
    statements
        :class:`Total`, :class:`Margin`, :class:`Conditional`, :class:`Linear` and
        :class:`Prior`, in any order.

    Examples
    --------
    >>> from cellbounds import Conditional, Domain, Release, Total
    >>> release = Release(
    ...     Domain({"row": ["a", "b"], "col": ["x", "y"]}),
    ...     [Total(50), Conditional(["col"], ["row"], rates=[["3/5", "2/5"], ["1/5", "4/5"]])],
    ... )
    >>> print(release)
    release over row[2] x col[2]
      N=50
      [col|row] exact
    """

    __slots__ = ("_digest", "domain", "statements")

    def __init__(self, domain: Domain, statements: Iterable[Statement]) -> None:
        self.domain = domain
        self.statements: tuple[Statement, ...] = tuple(statements)
        self._digest: str | None = None
        totals = 0
        for statement in self.statements:
            match statement:
                case Total():
                    totals += 1
                case Conditional():
                    statement.check_domain(domain)
                case Margin() | Prior():
                    statement.known(domain)
                case Linear():
                    statement.laid_out(domain)
                case _:
                    raise InvalidInput(
                        f"{statement!r} is not a statement; give Total, Margin, Conditional, "
                        "Linear or Prior (publish() understands the notation)"
                    )
        if totals > 1:
            raise InvalidInput("the release has two totals; give N once (Total(lower=, upper=))")

    @property
    def total(self) -> Total:
        """What is said of N: nothing, unless there is a statement of it."""
        return next((s for s in self.statements if isinstance(s, Total)), Total())

    @property
    def digest(self) -> str:
        """SHA-256 of what the statements mean, in whatever order and form they were written."""
        if self._digest is None:
            levels = {
                name: [str(level) for level in self.domain.levels(name)]
                for name in self.domain.names
            }
            said = sorted(json.dumps(self._meaning(one)) for one in self.statements)
            groupings = self._groupings_named()
            content = [list(levels.items()), said, groupings]
            canonical = json.dumps(content if groupings else content[:2])
            self._digest = hashlib.sha256(canonical.encode()).hexdigest()
        return self._digest

    def _groupings_named(self) -> list[Any]:
        """The definitions of the derived variables that statements name."""
        named = {
            name
            for statement in self.statements
            if not isinstance(statement, Total)
            for name in statement.variables
        }
        definitions: list[Any] = []
        for name in sorted(named):
            found = self.domain.grouping(name)
            if found is not None:
                levels = [str(level) for level in self.domain.levels(name)]
                groups = [sorted(members) for members in found[1]]
                definitions.append([name, found[0], levels, groups])
        return definitions

    def _meaning(self, statement: Statement) -> dict[str, Any]:
        match statement:
            case Total():
                return statement.to_dict()
            case Conditional():
                return statement.meaning()
            case Linear():
                return statement.meaning(self.domain)
        known = statement.known(self.domain)
        return {
            type(statement).__name__: list(statement.variables),
            "lower": known.lower.tolist(),
            "upper": known.upper.tolist(),
            "values": sorted(known.values.items()),
        }

    def to_dict(self) -> dict[str, Any]:
        """Domain, groupings if there are any, and statements as plain values."""
        said: dict[str, Any] = {"domain": self.domain.to_dict()}
        if self.domain.groupings:
            said["groupings"] = {
                name: {
                    "of": grouping.of,
                    "levels": [[level, list(parts)] for level, parts in grouping.groups],
                }
                for name, grouping in self.domain.groupings.items()
            }
        return said | {"statements": [statement.to_dict() for statement in self.statements]}

    def __repr__(self) -> str:
        inside = ", ".join(statement.notation for statement in self.statements)
        return f"Release({inside})"

    def __str__(self) -> str:
        lines = [f"  {_in_words(statement)}" for statement in self.statements]
        return "\n".join([f"release over {repr(self.domain)[7:-1]}", *lines])


def _in_words(statement: Statement) -> str:
    match statement:
        case Conditional():
            names = f"{names_text(statement.responses)}|{names_text(statement.given)}"
            return f"[{names}] {statement.rule}"
        case Margin() if not statement.exact:
            return f"[{names_text(statement.variables)}] {statement.rule}"
        case Linear():
            return f"{statement.notation}: {statement.rule}"
    return statement.notation
