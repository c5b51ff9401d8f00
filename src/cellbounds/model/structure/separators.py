"""Where a release falls apart: components that meet in a margin which is published exactly.

The hypergraph of a release has the variables as vertices and the variables of each statement as
edges. Let M be an exact margin, K a connected component of what is left without the variables of
M, and S the variables of M that share a statement with K. No statement speaks of K and of
anything outside K and S together, and the counts over S are known. So the tables over K and S and
the tables over the rest can be chosen independently, and any two of them can be glued together
(docs/theory/margins.md). Every split whose separator lies inside an exact margin is found so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from cellbounds.statements import Release

__all__ = ["Leaf", "Separator", "Split", "Tree", "split_release"]


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
    known = tuple(one for one in known if one.variables <= variables)
    borders = tuple(one for one in borders if one.variables <= variables)
    for one in known:
        if one.variables == variables:
            return Leaf(variables, tuple(about), one, borders)
    edges = [*about.values(), *(one.variables for one in borders)]
    for one in known:
        for component in _connected(variables - one.variables, edges):
            near = [edge for edge in edges if edge & component]
            separator = one.variables & frozenset().union(*near)
            if component | separator == variables:
                continue
            border = Separator(separator, one.place)
            return Split(
                _split(variables - component, about, known, borders),
                _split(component | separator, about, (border, *known), (border, *borders)),
                border,
            )
    return Leaf(variables, tuple(about), None, borders)


def _connected(vertices: frozenset[str], edges: Iterable[frozenset[str]]) -> list[frozenset[str]]:
    """Connected components of some vertices, in the order of their smallest name."""
    left = set(vertices)
    near = [edge & vertices for edge in edges]
    found = []
    while left:
        component = {min(left)}
        grown = True
        while grown:
            grown = False
            for edge in near:
                if edge & component and not edge <= component:
                    component |= edge
                    grown = True
        found.append(frozenset(component))
        left -= component
    return found
