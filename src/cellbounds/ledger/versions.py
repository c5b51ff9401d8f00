"""The versions of the confidential table, and statements about them, as one table and one release.

Tables are kept in the ledger, or supplied again and checked by their digests. Several versions are
one table with one more variable: in which version a record came in, and after which it was gone. A
statement about version 2 is about the records that were there then: those of all levels that take
in version 2. What two versions give away by their difference is then what an ordinary release gives
away about the records that were added or removed. A record that was corrected is one that was
removed from its cell and one that was added to another; where records are only added, none is ever
gone. Statements about fewer variables are what they are over more of them: margins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

import numpy as np

from cellbounds.data.domain import Domain, Grouping
from cellbounds.data.table import Table
from cellbounds.disclosure.policies import Policy
from cellbounds.disclosure.policies.scenarios import spoken_margins
from cellbounds.errors import InvalidInput
from cellbounds.ledger.chain import Entry, body_of, kept_table
from cellbounds.ledger.errors import LedgerError
from cellbounds.ledger.journal import LedgerState
from cellbounds.ledger.serialization import (
    plain_release,
    plain_table,
    read_plain_domain,
    read_statement,
)
from cellbounds.statements import Known, Release, Statement, Total
from cellbounds.statements.notation import names_text
from cellbounds.text import counted

Tables = Table | Sequence[Table] | None
"""One table, one for each version, or none."""


def listed(tables: Tables) -> list[Table]:
    """Tables as a list."""
    several = [] if tables is None else [tables] if isinstance(tables, Table) else list(tables)
    for table in several:
        if not isinstance(table, Table):
            raise InvalidInput(
                f"table={table!r}; give a Table, or a list with one for each version"
            )
    return several


def kept_text(table: Table) -> str:
    """A table as the text that is kept."""
    return body_of(plain_table(table))


def supplied(
    state: LedgerState, tables: Tables, kept: Callable[[str], str | None]
) -> list[Table] | None:
    """Every version of the table over the ledger's variables, in order.

    None if none is at hand and the ledger judges without the counts.

    Raises
    ------
    InvalidInput
        If a table is missing, or is not one of the ledger's.
    """
    laid_out = [_laid_out(state, table) for table in listed(tables)]
    given = {table.digest: table for table in laid_out}
    if not given.keys() <= set(state.digests):
        raise InvalidInput(
            "the table that was supplied is not the ledger's: its digest differs; supply the same "
            "table (same variables, levels in the same order, structural zeros and counts), or "
            "refine, grow or revise the ledger if the table has changed"
        )
    versions: list[Table] = []
    for number, digest in enumerate(state.digests, 1):
        table = given.get(digest) or _kept(digest, kept)
        if table is not None:
            versions.append(table)
        elif state.independent and not given:
            return None
        else:
            which = "" if state.versions == 1 else f" (version {number} of {state.versions})"
            raise InvalidInput(
                f"the ledger keeps the digest of its table, not the table{which}; supply it again "
                "(table=, --table)"
            )
    return versions


def _kept(digest: str, kept: Callable[[str], str | None]) -> Table | None:
    text = kept(digest)
    if text is None:
        return None
    table = kept_table(text)
    if table is None or table.digest != digest:
        raise LedgerError(
            "the table that is kept in the ledger was changed after it was written: its digest "
            "differs; restore the ledger from a copy, or supply the table (table=, --table)"
        )
    return table


def _laid_out(state: LedgerState, table: Table) -> Table:
    """A supplied table over the ledger's variables, its derived variables kept."""
    missing = [name for name in state.domain.names if name not in table.domain.names]
    if missing:
        raise InvalidInput(
            f"the table that was supplied has no variable {missing[0]!r}; supply the ledger's "
            f"table, over {', '.join(state.domain.names)}"
        )
    margin = table.margin(state.domain.names)
    domain = margin.domain
    if domain != state.domain and _labels(domain) == _labels(state.domain):
        domain = state.domain  # labels that read the same: files have texts for numbers
    else:
        derived = table.domain.groupings.items()
        own = {name: grouping for name, grouping in derived if grouping.of in domain.names}
        domain = domain.with_groupings(own)
    return Table(domain, margin.counts, structural=margin.structural)


def check_refined(state: LedgerState, tables: Sequence[Table]) -> list[Table]:
    """Check that tables with more variables have the ledger's tables as margins; in order.

    Raises
    ------
    InvalidInput
        If one has no variable more, or another margin.
    """
    if len(tables) != state.versions:
        raise InvalidInput(
            f"{counted(len(tables), 'table')} for a ledger with "
            f"{counted(state.versions, 'version')}; supply one with the additional variables for "
            "each version"
        )
    matching: dict[str, Table] = {}
    for table in tables:
        digest = _laid_out(state, table).digest
        if digest not in state.digests or digest in matching:
            raise InvalidInput(
                "a table with additional variables does not match the ledger: its margin over "
                f"{', '.join(state.domain.names)} is not the ledger's table; correct the table"
            )
        matching[digest] = table
    ordered = [matching[digest] for digest in state.digests]
    first = ordered[0]
    if any(table.domain != first.domain for table in ordered):
        raise InvalidInput(
            "the versions of the table have different variables or levels; they need the same"
        )
    if any(not np.array_equal(table.structural, first.structural) for table in ordered):
        raise InvalidInput("the versions of the table have different structural zeros; correct one")
    if set(first.domain.names) == set(state.domain.names):
        raise InvalidInput(
            "the table has the ledger's variables and no other; refining brings more variables"
        )
    return ordered


def check_version(state: LedgerState, table: Table) -> Table:
    """Check that another version of the table has the ledger's variables and levels.

    Raises
    ------
    InvalidInput
        If they differ, or the structural zeros do.
    """
    if set(table.domain.names) != set(state.domain.names):
        raise InvalidInput(
            f"the later version is over {', '.join(table.domain.names)}, the ledger over "
            f"{', '.join(state.domain.names)}; they need the same variables (refine the ledger "
            "for more of them)"
        )
    later = _laid_out(state, table)
    if _labels(later.domain) != _labels(state.domain):
        raise InvalidInput(
            "the later version has other levels than the ledger's table; a ledger's levels are "
            "fixed, so open a new ledger with all of them, and commit there what is out"
        )
    if not np.array_equal(later.structural, state.structural):
        raise InvalidInput("the later version has other structural zeros; correct the table")
    return later


def check_change(newest: Table, later: Table, *, only_added: bool) -> None:
    """Check that a later version differs from the newest one, perhaps by added records only.

    Raises
    ------
    InvalidInput
        If it does not, or a cell holds fewer than before and may not.
    """
    fewer = np.argwhere(later.counts < newest.counts)
    if only_added and len(fewer):
        raise InvalidInput(
            f"the cell {later.domain.labels(fewer[0])} of the later version holds fewer than "
            "before, and growing only adds records; revise the ledger if records were removed or "
            "corrected (revise, `ledger revise`)"
        )
    if np.array_equal(later.counts, newest.counts):
        what = "nothing was added" if only_added else "nothing was changed"
        raise InvalidInput(f"the later version is the ledger's table; {what}")


def _labels(domain: Domain) -> list[tuple[str, ...]]:
    return [tuple(map(str, domain.levels(name))) for name in domain.names]


@dataclass(frozen=True, slots=True)
class PublishedRelease:
    """A release as plain values, and the version of the table that it is about.

    `knowledge` is what an intruder knows besides, as plain values too.
    """

    values: dict[str, Any]
    version: int
    knowledge: dict[str, Any] | None = None

    @classmethod
    def of(
        cls, release: Release, version: int, knowledge: Release | None = None
    ) -> PublishedRelease:
        """A piece from a release."""
        known = None if knowledge is None else plain_release(knowledge)
        return cls(plain_release(release), version, known)

    @classmethod
    def recorded(cls, entry: Entry) -> PublishedRelease:
        """A piece from an entry of something released."""
        content = entry.content
        return cls(content["release"], content["version"], content.get("knowledge"))


@dataclass(frozen=True, slots=True)
class ProtectedCells:
    """Cells that must be safe: of a margin, counting everybody or those of some versions.

    Attributes
    ----------
    over
        The variables whose cells are judged; None for every cell of the table.
    policy
        The policy, as far as it speaks of them.
    said
        The target in words.
    part
        The derived variable of the records that are counted, the first of `over`, if not all are.
    spoken
        Whether the margins that releases speak of must be safe too.
    """

    over: tuple[str, ...] | None
    policy: Policy
    said: str
    part: str | None = None
    spoken: bool = False

    def margins(self, release: Release) -> list[tuple[str, ...]] | None:
        """What is judged of it: with `spoken`, also the margins that a release speaks of.

        None is for all of these that a table without versions has.
        """
        if self.over is None or not self.spoken:
            return None if self.over is None else [self.over]
        names = self.over if self.part is None else self.over[1:]
        part = () if self.part is None else (self.part,)
        known = (*release.domain.names, *release.domain.groupings)
        inside = [name for name in known if release.domain.base(name) in names]
        spoken = [
            tuple(name for name in inside if name in margin) for margin in spoken_margins(release)
        ]
        return [self.over, *((*part, *some) for some in dict.fromkeys(spoken) if some)]


def joined(state: LedgerState, pieces: Iterable[PublishedRelease]) -> Release:
    """One release that says what all pieces say.

    Raises
    ------
    InvalidInput
        If a piece speaks of other variables or levels than the ledger, or if two pieces give a
        derived variable different meanings.
    """
    chosen = list(pieces)
    domain = _spoken(state, [piece.values for piece in chosen])
    totals: list[Total] = []
    statements: dict[str, Statement] = {}
    for piece in chosen:
        for text, statement in _lifted_statements(state, piece.values, piece.version, domain):
            if isinstance(statement, Total):
                totals.append(statement)
            else:
                statements[text] = statement  # said twice is said once
    together = list(statements.values())
    if totals:
        together.append(_one_total(totals))
    if state.structural.any():
        blocked = np.full(state.domain.shape, None, dtype=object)
        blocked[state.structural] = 0
        together.append(Known(state.domain.names, upper=blocked))
    return Release(domain, together)


def informing(
    state: LedgerState, pieces: Iterable[PublishedRelease]
) -> tuple[Domain, tuple[Statement, ...]]:
    """What an intruder knows besides, with all that was recorded, and the variables it is about.

    That is the knowledge of the pieces, and how many records were removed and added between two
    versions, where the owner said that it is known.
    """
    values = [(piece.knowledge, piece.version) for piece in pieces if piece.knowledge is not None]
    domain = _spoken(state, [known for known, _ in values])
    recorded: dict[str, Statement] = {}
    for known, version in values:
        recorded |= _lifted_statements(state, known, version, domain)
    counted = [
        Known([_part_name(state, *between)], lower=[low], upper=[high])
        for revision in state.revisions
        for between, (low, high) in (
            ((revision.version, revision.version - 1), revision.removed),
            ((revision.version - 1, revision.version), revision.added),
        )
        if (low, high) != (0, None) and _members(state, *between)
    ]
    return domain, (*recorded.values(), *counted)


def _spoken(state: LedgerState, releases: Iterable[dict[str, Any]]) -> Domain:
    """The variables there are, with those that releases derive from them."""
    domain = _whole(state)
    for values in releases:
        spoken = read_plain_domain(values["domain"])
        _check_variables(state.domain, spoken)
        domain = domain.with_groupings(spoken.groupings)
    return domain


def _lifted_statements(
    state: LedgerState, release: dict[str, Any], version: int, domain: Domain
) -> Iterator[tuple[str, Statement]]:
    for values in release["statements"]:
        lifted = _lifted(values, version, state)
        yield body_of(lifted), read_statement(lifted, domain)


def stacked(state: LedgerState, tables: Sequence[Table]) -> Table:
    """The versions of a table as one, over the variables and when a record was there.

    Of the ways in which one version may have become the next, this is the one with the fewest
    changes: what a cell has more was added, what it has less was removed, and who came last left
    first.
    """
    if len(tables) == 1:
        return tables[0]
    stays = _stays(state)
    layers = {stay: np.zeros_like(tables[0].counts) for stay in stays}
    present = {1: tables[0].counts}
    for version in range(2, state.versions + 1):
        change = tables[version - 1].counts - tables[version - 2].counts
        gone = np.maximum(-change, 0)
        for came in reversed(present):
            if (came, version - 1) in layers:
                leaves = np.minimum(present[came], gone)
                layers[came, version - 1] = leaves
                present[came], gone = present[came] - leaves, gone - leaves
        present[version] = np.maximum(change, 0)
    for came, counts in present.items():
        if (came, state.versions) in layers:
            layers[came, state.versions] = counts
    structural = np.stack([state.structural] * len(stays))
    return Table(_whole(state), np.stack(list(layers.values())), structural=structural)


def targets_of(state: LedgerState) -> list[ProtectedCells]:
    """Everything that must be safe, the cells of the table first.

    With several versions: the cells of each version, and those of the records that were added
    between any two, or removed, because who holds two versions can take their difference.
    """
    margins = dict.fromkeys(state.protected)
    targets = (_target(state, *choice) for choice in product(margins, _betweens(state)))
    return [target for target in targets if target is not None]


def _target(
    state: LedgerState, names: tuple[str, ...], between: tuple[int, int]
) -> ProtectedCells | None:
    without, version = between
    everything = names == state.domain.names
    everybody = len(_members(state, without, version)) == len(_stays(state))
    part = None if everybody else _part_name(state, without, version)
    # Rules about other variables are kept by the whole table, where all of them are.
    policy = state.policy if everything else state.policy.within(state.domain, names)
    if policy is None:
        return None
    if part is not None:
        policy = replace(policy, rules=tuple(rule.among(part, names) for rule in policy.rules))
    over: tuple[str, ...] | None = names if part is None else (part, *names)
    if state.versions == 1 and everything:
        over = None
    words = "the cells of the table" if everything else f"[{names_text(names)}]"
    if state.versions > 1 and not without:
        words += f" in version {version}"
    elif without:
        how, earlier, later = _change(without, version)
        words += f" in the records {how} from version {earlier} to version {later}"
    return ProtectedCells(over, policy, words, part, everything)


def _change(without: int, version: int) -> tuple[str, int, int]:
    """Which change the records of one version made that the other has not."""
    if without < version:
        return "added", without, version
    return "removed", version, without


def _stays(state: LedgerState) -> list[tuple[int, int]]:
    """When a record can have been there: the versions it came in with and was last in.

    Where it is known that nobody was removed, or added, there is nobody to be protected either.
    """
    nobody_came = {revision.version for revision in state.revisions if revision.added[1] == 0}
    ends = [revision.version - 1 for revision in state.revisions if revision.removed[1] != 0]
    return [
        (came, last)
        for came in range(1, state.versions + 1)
        for last in (*ends, state.versions)
        if last >= came and came not in nobody_came
    ]


def _members(state: LedgerState, without: int, version: int) -> list[str]:
    """The levels of the records that one version has, and not the other (0: whatever others)."""
    return [
        _level(state, stay)
        for stay in _stays(state)
        if stay[0] <= version <= stay[1] and not stay[0] <= without <= stay[1]
    ]


def _level(state: LedgerState, stay: tuple[int, int]) -> str:
    came, last = stay
    return str(came) if last == state.versions else f"{came} to {last}"


def _betweens(state: LedgerState) -> list[tuple[int, int]]:
    """Each version by itself, and pairs of versions of which the second has records of its own."""
    added = combinations(range(state.versions + 1), 2)
    removed = ((later, earlier) for earlier, later in combinations(range(1, state.versions + 1), 2))
    return [pair for pair in (*added, *removed) if _members(state, *pair)]


def _whole(state: LedgerState) -> Domain:
    """The variables, and the version if there are several."""
    if state.versions == 1:
        return state.domain
    axis = _free_name(state, "version")
    stays = [_level(state, stay) for stay in _stays(state)]
    levels = {axis: stays, **{name: state.domain.levels(name) for name in state.domain.names}}
    parts = {
        _part_name(state, *pair): Grouping(axis, {str(max(pair)): _members(state, *pair)})
        for pair in _betweens(state)
    }
    return Domain(levels, groupings=parts)


def _free_name(state: LedgerState, name: str) -> str:
    """A name that no variable of the table has."""
    while name in state.domain.names:
        name += "_"
    return name


def _part_name(state: LedgerState, without: int, version: int) -> str:
    """The derived variable of one level: the records of a version that another has not."""
    name = f"as_of_{version}"
    if without:
        how, earlier, later = _change(without, version)
        apart = later - earlier > 1
        name = f"{how}_{earlier + 1}_to_{later}" if apart else f"{how}_{later}"
    return _free_name(state, name)


def _lifted(values: dict[str, Any], version: int, state: LedgerState) -> dict[str, Any]:
    """A statement about a version as one about the part of the records that it had."""
    if len(_members(state, 0, version)) == len(_stays(state)):
        return values
    part = _part_name(state, 0, version)
    ((kind, content),) = values.items()
    if kind == "total":
        lower, upper = content["lower"], content["upper"]
        entry: Any = lower if lower == upper else f">={lower}"
        if upper is not None and upper != lower:
            entry = f"{lower}-{upper}"
        return {"margin": {"variables": [part], "counts": [entry]}}
    if kind == "conditional":
        return {kind: {**content, "given": [part, *content["given"]]}}
    lifted = {**content, "variables": [part, *content["variables"]]}
    if kind == "margin":
        lifted["counts"] = [content["counts"]]
    return {kind: lifted}


def _one_total(totals: Sequence[Total]) -> Total:
    lower = max(total.lower for total in totals)
    upper = min((total.upper for total in totals if total.upper is not None), default=None)
    if upper is not None and upper < lower:
        raise InvalidInput(
            "the release gives another total than what is out; correct it, or go on with another "
            "version if records were added (grow) or removed (revise)"
        )
    return Total(lower=lower, upper=upper)


def _check_variables(domain: Domain, spoken: Domain) -> None:
    for name in spoken.names:
        if name not in domain.names:
            raise InvalidInput(
                f"the release speaks of {name!r}, which the ledger's table does not have (it has "
                f"{', '.join(map(repr, domain.names))}); refine the ledger first"
            )
        if list(map(str, spoken.levels(name))) != list(map(str, domain.levels(name))):
            raise InvalidInput(
                f"the levels of {name!r} in the release are not those of the ledger's table; use "
                "the same levels in the same order (a grouping merges levels)"
            )
