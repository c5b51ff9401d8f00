"""A release: everything that was said about one table; and what its owner would publish."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from cellbounds.data.domain import Domain
from cellbounds.data.storage import DENSE_LIMIT
from cellbounds.data.table import Table
from cellbounds.errors import InvalidInput, TooMuchWork
from cellbounds.statements.kinds import KINDS
from cellbounds.statements.known import Known
from cellbounds.statements.notation import Request, expanded, parse
from cellbounds.statements.rounding import (
    COUNT_ROUNDINGS,
    RULE,
    check_count_rounding,
    is_interval,
)
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

        :func:`cellbounds.read_release` reads it again, with labels as text. A release of margins
        can be written as one printed table, too, with totals and marks: as ``.tab`` (tau-ARGUS),
        ``.csv`` (a frame with a status for each cell) or ``.xlsx``.

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

        if Path(path).suffix.lower() in (".tab", ".csv", ".xlsx"):
            from cellbounds.statements.printing import printed_table

            printed_table(self).write(path)
            return
        write_release(self, path)

    @property
    def digest(self) -> str:
        """SHA-256 of what the statements mean, in whatever order and form they were written."""
        if self._digest is None:
            domain = self.domain
            levels = [
                [name, [str(level) for level in domain.levels(name)]] for name in domain.names
            ]
            meanings = sorted(
                json.dumps(statement.meaning(domain)) for statement in self.statements
            )
            # The definitions of the derived variables that statements name.
            definitions: list[Any] = []
            for name in sorted(
                {name for statement in self.statements for name in statement.variables}
            ):
                derived = domain.grouping(name)
                if derived is not None:
                    groups = [sorted(members) for members in derived[1]]
                    names = [str(level) for level in domain.levels(name)]
                    definitions.append([name, derived[0], names, groups])
            canonical = json.dumps([levels, meanings, *([definitions] if definitions else [])])
            self._digest = hashlib.sha256(canonical.encode()).hexdigest()
        return self._digest

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


def publish(
    table: Table,
    *statements: str,
    total: bool = True,
    rounding: str | None = None,
    count_rounding: str | None = None,
    noise: object = None,
    eps: object = None,
    strict: bool = False,
    rule: str = RULE,
    rng: int | np.random.Generator | None = None,
) -> Release:
    """Work out what the owner of a table would publish.

    Parameters
    ----------
    table
        The confidential table.
    *statements
        In the notation: ``"[education|county]@2"``, ``"[county]"``, ``"[county]~5"`` (rounded to
        multiples of 5), ``"[county]<5"`` (counts below 5 shown as "<5", zeros too), ``"N"``;
        ``"[county+,age+]"`` is the table as offices print it: all levels crossed, with all totals.
        Derived variables of the table's domain may be named.
    total
        Whether N is published too.
    rounding
        The rule for rates with ``@``: ``"nearest"`` (default), ``"half-even"``, ``"down"``,
        ``"up"``, ``"consistent"``; and for margins with ``~`` unless `count_rounding` is given or
        there are rates and the rule is none for counts.
    count_rounding
        The rule for margins with ``~``: ``"nearest"`` (default), ``"half-even"``, ``"down"``,
        ``"up"``, ``"random"``.
    noise
        The law of the noise for margins with ``~noise``, as for :class:`Margin`:
        ``{"laplace": "1/2"}``, ``{"differences": {...}}`` or ``{"chances": {...}}``.
    eps, strict
        The tolerance announced with the rates, beside what the rounding says (every published rate
        must be within it).
    rule
        ``"rounding"`` (default): a figure stands for the counts of which its rule makes it, as
        whoever reads it knows the rule. ``"interval"``: for all in an interval around it, as in the
        papers.
    rng
        A seed or a numpy Generator, needed for noise and for ``"random"``: a count goes up with
        probability rest / base, so that it is right on average. The same seed gives the same
        figures.

    Notes
    -----
    Rows that hold nobody are published as such. Structural zeros are taken to be known to all.

    Examples
    --------
    >>> from cellbounds import datasets, publish
    >>> publish(datasets.read("delinquent"), "[education|county]@2")
    Release([education|county]@2, N=135)
    >>> publish(datasets.read("delinquent"), "[county]~5", count_rounding="random", rng=1)
    Release([county]~5, N=135)
    """
    if not statements:
        raise InvalidInput("nothing to publish; give a statement such as '[Y|A,B]@2'")
    if strict and eps is None:
        raise InvalidInput("strict=True goes with eps=; rounding rules have ends of their own")
    interval = is_interval(rule)
    requests = [request for text in statements for request in expanded(parse(text), table.domain)]
    count_rule = _count_rule(requests, rounding, count_rounding)
    noisy = any(request.noisy for request in requests)
    if noisy != (noise is not None):
        raise InvalidInput(
            f"noise={noise!r}: give its law for statements such as [A,B]~noise, and only for them; "
            "{'laplace': '1/2'}, {'differences': {...}} or {'chances': {...}}"
        )
    if (noisy or count_rule == "random") and not isinstance(rng, np.random.Generator):
        if isinstance(rng, bool) or not isinstance(rng, int | np.integer) or rng < 0:
            raise InvalidInput(
                f"{'noise' if noisy else 'random rounding'} with rng={rng!r}; give a seed (a whole "
                "number, 0 or more) or a numpy Generator, so that the figures can be made again"
            )
        rng = np.random.default_rng(int(rng))
    generator = rng if isinstance(rng, np.random.Generator) else None
    statements_made: list[Statement] = []
    for request in requests:
        if request.responses:
            how = (count_rule,) if request.base is not None else (rounding, eps, strict)
            ruled = replace(request.ruled(*how), interval=interval)
            ruled = replace(ruled, noise=noise) if request.noisy else ruled
            statements_made.append(published_statement(table, ruled, generator))
    if total or not all(request.responses for request in requests):
        statements_made.append(Total(table.total))
    if table.has_structural:
        statements_made.append(_structural_zeros(table))
    return Release(table.domain, statements_made)


def published_statement(
    table: Table, request: Request, rng: np.random.Generator | None = None
) -> Statement:
    """What the owner of a table would publish for one request."""
    kind = next(kind for kind in KINDS if kind.requested(request))
    return kind.publish(table, request, rng)


def _structural_zeros(table: Table) -> Known:
    if table.domain.size > DENSE_LIMIT:
        raise TooMuchWork(
            f"structural zeros of a table of {table.domain.size} cells cannot be stated cell by "
            "cell; publish from the margin that the statements are about: "
            "publish(table.margin(...), ...)"
        )
    blocked = np.full(table.domain.shape, None, dtype=object)
    blocked[table.structural] = 0
    return Known(table.domain.names, upper=blocked)


def _count_rule(requests: list[Request], rounding: str | None, chosen: str | None) -> str:
    """The rule by which margins with a base are rounded."""
    rounded = any(request.base is not None for request in requests)
    if chosen is not None:
        if not rounded:
            raise InvalidInput(
                f"count_rounding={chosen!r}, but no margin is rounded; write [A,B]~5, or leave it "
                "out"
            )
        return check_count_rounding(chosen)
    if not rounded or rounding is None:
        return "nearest"
    rates = any(request.digits is not None for request in requests)
    if rates and rounding == "random":
        raise InvalidInput(
            "rounding='random' is no rule for rates; give count_rounding='random' for the margins"
        )
    fits = isinstance(rounding, str) and rounding in COUNT_ROUNDINGS
    return "nearest" if rates and not fits else check_count_rounding(rounding)


def combined_release(
    table: Table,
    sources: Sequence[str],
    *,
    total: bool = True,
    allow_outside: bool = False,
    **how: Any,
) -> Release:
    """Publish statements about a table, as `publish` does, together with what release files say.

    Statements may name the groupings that the files define. With `allow_outside`, files may name
    figures outside of their folders.
    """
    from cellbounds.statements.release_files import read_release  # not for those who only publish

    texts = [text for text in sources if text.strip() == "N" or text.lstrip().startswith("[")]
    files: list[Release] = []
    for text in (text for text in sources if text not in texts):
        if not Path(text).exists() and ("|" in text or "," in text or "@" in text):
            raise InvalidInput(
                f"{text!r} is neither a file nor a statement; statements stand in brackets, such "
                "as '[Y|A,B]@2'"
            )
        read = read_release(text, allow_outside=allow_outside)
        if read.domain != table.domain:
            raise InvalidInput(
                f"{text} speaks of {read.domain!r}, the table is over {table.domain!r}; they need "
                "the same variables and levels in the same order (labels in files are text)"
            )
        if read.domain.groupings:
            table = table.with_domain(table.domain.with_groupings(read.domain.groupings))
        files.append(read)
    if not texts and any(option is not None and option is not False for option in how.values()):
        raise InvalidInput("rounding and eps are for statements in the notation; files have theirs")
    if texts:
        files.append(publish(table, *texts, total=False, **how))
    statements = [
        statement for read in files for statement in read.statements if statement.variables
    ]
    if not texts and table.has_structural:
        statements.append(_structural_zeros(table))
    totals = [read.stated_total for read in files if read.stated_total is not None]
    if total and texts and not totals:
        totals.append(Total(table.total))
    if len(set(totals)) > 1:
        listed = ", ".join(stated.notation for stated in totals)
        raise InvalidInput(f"the sources give different totals ({listed}); give N once")
    return Release(table.domain, [*statements, *totals[:1]])
