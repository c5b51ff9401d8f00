"""Models of a few variables: all decomposable graphs, and other sets of margins at random."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import TypeAlias

import numpy as np

Margins: TypeAlias = list[tuple[int, ...]]
Neighbours: TypeAlias = list[set[int]]

FEWEST, MOST = 2, 9  # margins drawn for a model at random
SIZES = (2, 2, 3, 3, 4)  # of their margins; large ones swallow the others


def decomposable_models(variables: int) -> Iterator[tuple[Margins, Margins]]:
    """Yield cliques and separators of every decomposable graph on labelled vertices.

    Separators come as often as they separate; there is one less than there are cliques.

    Examples
    --------
    >>> len(list(decomposable_models(4)))
    61
    """
    edges = list(combinations(range(variables), 2))
    for chosen in range(2 ** len(edges)):
        graph: Neighbours = [set() for _ in range(variables)]
        for place, (a, b) in enumerate(edges):
            if chosen >> place & 1:
                graph[a].add(b)
                graph[b].add(a)
        found = taken_apart(graph)
        if found is not None:
            yield found


def taken_apart(graph: Neighbours) -> tuple[Margins, Margins] | None:
    """Take simplicial vertices away one by one: cliques and separators; None if that gets stuck."""
    left = set(range(len(graph)))
    families: list[frozenset[int]] = []
    borders: list[frozenset[int]] = []
    while left:
        simplicial = (v for v in sorted(left) if is_complete(graph, graph[v] & left))
        vertex = next(simplicial, None)
        if vertex is None:
            return None
        left.remove(vertex)
        border = frozenset(graph[vertex] & left)
        families.append(border | {vertex})
        borders.append(border)
    # A family within another is also the border of a vertex: both leave, each once.
    cliques = [one for one in families if not any(one < other for other in families)]
    separators = borders[:-1]
    for family in families:
        if family not in cliques:
            separators.remove(family)
    return [tuple(sorted(c)) for c in cliques], [tuple(sorted(s)) for s in separators]


def is_complete(graph: Neighbours, vertices: set[int]) -> bool:
    """Whether every two of the vertices are joined."""
    return all(b in graph[a] for a, b in combinations(vertices, 2))


def is_decomposable(margins: Margins, variables: int) -> bool:
    """Whether the margins are the cliques of a decomposable graph."""
    graph: Neighbours = [set() for _ in range(variables)]
    for names in margins:
        for a, b in combinations(names, 2):
            graph[a].add(b)
            graph[b].add(a)
    found = taken_apart(graph)
    covered = {name for names in margins for name in names}
    within = {clique for clique in found[0] if set(clique) <= covered} if found else None
    return within == set(margins)


def other_models(variables: int, count: int, seed: int) -> list[Margins]:
    """Draw different hierarchical models that are not decomposable."""
    rng = np.random.default_rng(seed)
    models: dict[tuple[tuple[int, ...], ...], None] = {}
    while len(models) < count:
        drawn = {
            frozenset(rng.choice(variables, size=rng.choice(SIZES), replace=False).tolist())
            for _ in range(rng.integers(FEWEST, MOST + 1))
        }
        largest = [one for one in drawn if not any(one < other for other in drawn)]
        margins = sorted(tuple(sorted(one)) for one in largest)
        if not is_decomposable(margins, variables):
            models[tuple(margins)] = None
    return [list(model) for model in models]
