"""What shape a release has: facts gathered once, for reductions and solvers to decide on.

A release may hold one statement of rates and what fits beside it. And it may fall apart: the
hypergraph of a release has the variables as vertices and the variables of each statement as edges.
Let M be an exact margin, K a connected component of what is left without the variables of M, and S
the variables of M that share a statement with K. No statement speaks of K and of anything outside K
and S together, and the counts over S are known. So the tables over K and S and the tables over the
rest can be chosen independently, and any two of them can be glued together
(docs/theory/margins.md). Every split whose separator lies inside an exact margin is found so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cellbounds.data.cell_groups import group_of_levels
from cellbounds.data.domain import Domain
from cellbounds.statements import Conditional, Release, Statement, Total


@dataclass(frozen=True, slots=True)
class Separator:
    """Variables whose counts are known: they lie inside the exact margin (or total) at `place`."""

    variables: frozenset[str]
    place: int


@dataclass(frozen=True, slots=True)
class Leaf:
    """Variables that are not split further, and the places of the statements about them.

    `known` is given if one exact margin holds the counts of all the variables. `borders` are
    separators over these variables whose counts are known from statements of other leaves.
    """

    variables: frozenset[str]
    statements: tuple[int, ...]
    known: Separator | None
    borders: tuple[Separator, ...] = ()


@dataclass(frozen=True, slots=True)
class Split:
    """Two parts that share the variables of `border`, whose counts are known."""

    left: Tree
    right: Tree
    border: Separator

    @property
    def variables(self) -> frozenset[str]:
        """The variables of both parts."""
        return self.left.variables | self.right.variables


Tree = Leaf | Split


def split_release(release: Release) -> Tree:
    """Split a release as far as exact margins allow."""
    about = {
        place: statement.base_variables(release.domain)
        for place, statement in enumerate(release.statements)
        if statement.variables
    }
    known: list[Separator] = []
    for place, statement in enumerate(release.statements):
        if statement.fixed_counts(release.domain) is not None:
            known.append(Separator(about.get(place, frozenset()), place))
    # Larger margins first: they leave the smallest components.
    known.sort(key=lambda one: (-len(one.variables), one.place))
    variables: frozenset[str] = frozenset().union(*about.values())
    return _split(variables, about, tuple(known), ())


def _split(
    variables: frozenset[str],
    about: dict[int, frozenset[str]],
    known: tuple[Separator, ...],
    borders: tuple[Separator, ...],
) -> Tree:
    about = {place: edge for place, edge in about.items() if edge <= variables}
    known = tuple(separator for separator in known if separator.variables <= variables)
    borders = tuple(separator for separator in borders if separator.variables <= variables)
    for separator in known:
        if separator.variables == variables:
            return Leaf(variables, tuple(about), separator, borders)
    edges = [*about.values(), *(separator.variables for separator in borders)]
    for separator in known:
        for component in _connected(variables - separator.variables, edges):
            near = [edge for edge in edges if edge & component]
            shared = separator.variables & frozenset().union(*near)
            if component | shared == variables:
                continue
            border = Separator(shared, separator.place)
            return Split(
                _split(variables - component, about, known, borders),
                _split(component | shared, about, (border, *known), (border, *borders)),
                border,
            )
    return Leaf(variables, tuple(about), None, borders)


def _connected(vertices: frozenset[str], edges: Iterable[frozenset[str]]) -> list[frozenset[str]]:
    """Connected components of some vertices, in the order of their smallest name."""
    left = set(vertices)
    near = [edge & vertices for edge in edges]
    components = []
    while left:
        component = {min(left)}
        grown = True
        while grown:
            grown = False
            for edge in near:
                if edge & component and not edge <= component:
                    component |= edge
                    grown = True
        components.append(frozenset(component))
        left -= component
    return components


@dataclass(frozen=True, slots=True)
class ConditionalFacts:
    """One conditional, what is known of N, and side information that speaks of its rows or cells.

    Derived variables may be among its variables if their groups share out the levels.

    Attributes
    ----------
    on_rows, on_cells, on_parts
        Known counts (and margins) over the givens, over givens and responses, and, if the
        conditional leaves variables out or merges levels, over all variables of the table.
    """

    domain: Domain
    conditional: Conditional
    total: Total
    on_rows: tuple[Statement, ...]
    on_cells: tuple[Statement, ...]
    on_parts: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """A release and what is known of its shape.

    Attributes
    ----------
    conditional
        The facts if the release is one conditional and what fits its rows, else None.
    not_conditional
        Why it is not.
    """

    release: Release
    conditional: ConditionalFacts | None
    not_conditional: str

    @property
    def tree(self) -> Tree:
        """Where the release falls apart at exact margins."""
        return split_release(self.release)


def gather(release: Release) -> Facts:
    """Gather the facts about a release, once for all methods."""
    domain = release.domain
    conditionals = [s for s in release.statements if isinstance(s, Conditional)]
    if len(conditionals) != 1:
        return Facts(
            release,
            None,
            f"the release has {len(conditionals)} statements of rates; this method answers "
            "releases with exactly one, with or without N, known counts and margins over its "
            "givens or over all its variables",
        )
    conditional = conditionals[0]
    for name in conditional.given:
        if name not in domain and group_of_levels(domain, name) is None:
            why = (
                f"the groups of {name!r} overlap or leave levels out, so that the rows of "
                f"{conditional.notation} do not share out everybody"
            )
            return Facts(release, None, why)
    on_rows, on_cells, on_parts = list[Statement](), list[Statement](), list[Statement]()
    sides = {frozenset(domain.names): on_parts, frozenset(conditional.variables): on_cells}
    sides[frozenset(conditional.given)] = on_rows
    for statement in release.statements:
        if statement is conditional or not statement.variables:
            continue
        if not statement.bounds_counts:
            return Facts(release, None, f"{statement.notation} speaks of several rows at once")
        side = sides.get(frozenset(statement.variables))
        if side is None:
            why = (
                f"{statement.notation} crosses the rows of {conditional.notation}; beside one "
                "statement of rates, margins and known counts may be over its givens "
                f"({', '.join(conditional.given) or 'none'}), over its own variables or over all"
            )
            return Facts(release, None, why)
        side.append(statement)
    if conditional.intervals.remainders is not None and (on_cells or on_parts):
        why = (
            f"the rows of {conditional.notation} were rounded so that they add to one, and "
            f"{(on_cells or on_parts)[0].notation} speaks of single cells of them"
        )
        return Facts(release, None, why)
    known = tuple(on_rows), tuple(on_cells), tuple(on_parts)
    return Facts(release, ConditionalFacts(domain, conditional, release.total, *known), "")
