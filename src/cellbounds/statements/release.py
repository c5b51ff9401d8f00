"""A release: everything that was said about one table."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cellbounds.data.domain import Domain
from cellbounds.errors import InvalidInput
from cellbounds.statements.statement import Statement
from cellbounds.statements.total import Total


class Release:
    """What was said about a table, without the table.

    Parameters
    ----------
    domain
        The variables and levels of the table that the statements speak of.
    statements
        :class:`Total`, :class:`Margin`, :class:`Conditional`, :class:`Linear` and
        :class:`Known`, in any order.

    Attributes
    ----------
    total, stated_total
        What is said of N: nothing, unless there is a statement of it; and that statement, or None.

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

    __slots__ = ("_digest", "domain", "stated_total", "statements", "total")

    def __init__(self, domain: Domain, statements: Iterable[Statement]) -> None:
        self.domain = domain
        self.statements: tuple[Statement, ...] = tuple(statements)
        self._digest: str | None = None
        for statement in self.statements:
            if not isinstance(statement, Statement):
                raise InvalidInput(
                    f"{statement!r} is not a statement; give Total, Margin, Conditional, "
                    "Linear or Known (publish() understands the notation)"
                )
            statement.check(domain)
        totals = [statement for statement in self.statements if isinstance(statement, Total)]
        if len(totals) > 1:
            raise InvalidInput("the release has two totals; give N once (Total(lower=, upper=))")
        self.stated_total = totals[0] if totals else None
        self.total = self.stated_total or Total()

    @property
    def named_variables(self) -> tuple[str, ...]:
        """The variables that some statement is about, in the order of the domain."""
        about: frozenset[str] = frozenset().union(
            *(statement.base_variables(self.domain) for statement in self.statements)
        )
        return tuple(name for name in self.domain.names if name in about)

    def restricted(self, variables: Iterable[str]) -> Release:
        """The same statements over some variables: at least those that they are about.

        Examples
        --------
        >>> from cellbounds import Domain, Margin, Release
        >>> domain = Domain({"a": ["x", "y"], "b": ["x", "y"], "c": ["x", "y"]})
        >>> Release(domain, [Margin(["b"], [3, 4])]).restricted(["b"]).domain
        Domain(b[2])
        """
        return Release(self.domain.part(variables), self.statements)

    def write(self, path: str | Path) -> None:
        """Write the release as a TOML file, with a CSV file of figures for each statement beside.

        :func:`cellbounds.read_release` reads it again, with labels as text.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import cellbounds as cb
        >>> release = cb.publish(cb.datasets.read("mp3"), "[mp3|gender]@1")
        >>> file = Path(tempfile.mkdtemp()) / "published.toml"
        >>> release.write(file)
        >>> cb.read_release(file).digest == release.digest
        True
        """
        # Files are read and written where one is asked for: that takes long to load.
        from cellbounds.statements.release_files import write_release

        write_release(self, path)

    @property
    def digest(self) -> str:
        """SHA-256 of what the statements mean, in whatever order and form they were written."""
        if self._digest is None:
            levels = {
                name: [str(level) for level in self.domain.levels(name)]
                for name in self.domain.names
            }
            meanings = sorted(
                json.dumps(statement.meaning(self.domain)) for statement in self.statements
            )
            groupings = self._groupings_named()
            content = [list(levels.items()), meanings, groupings]
            canonical = json.dumps(content if groupings else content[:2])
            self._digest = hashlib.sha256(canonical.encode()).hexdigest()
        return self._digest

    def _groupings_named(self) -> list[Any]:
        """The definitions of the derived variables that statements name."""
        named = {name for statement in self.statements for name in statement.variables}
        definitions: list[Any] = []
        for name in sorted(named):
            found = self.domain.grouping(name)
            if found is not None:
                levels = [str(level) for level in self.domain.levels(name)]
                groups = [sorted(members) for members in found[1]]
                definitions.append([name, found[0], levels, groups])
        return definitions

    def to_dict(self) -> dict[str, Any]:
        """Domain, groupings if there are any, and statements as plain values."""
        values: dict[str, Any] = {"domain": self.domain.to_dict()}
        if self.domain.groupings:
            values["groupings"] = {
                name: {
                    "of": grouping.of,
                    "levels": [[level, list(parts)] for level, parts in grouping.groups],
                }
                for name, grouping in self.domain.groupings.items()
            }
        return values | {"statements": [statement.to_dict() for statement in self.statements]}

    def __repr__(self) -> str:
        inside = ", ".join(statement.notation for statement in self.statements)
        return f"Release({inside})"

    def __str__(self) -> str:
        lines = [f"  {statement.summary}" for statement in self.statements]
        return "\n".join([f"release over {repr(self.domain)[7:-1]}", *lines])
