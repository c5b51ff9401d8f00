"""Facts about a release: whether it holds one statement of rates, and what beside it."""

from __future__ import annotations

from dataclasses import dataclass

from cellbounds.data.cell_groups import group_of_levels
from cellbounds.data.domain import Domain
from cellbounds.model.structure.separators import Tree, split_release
from cellbounds.statements import Conditional, Release, Statement, Total

__all__ = ["ConditionalFacts", "Facts", "gather"]


@dataclass(frozen=True, slots=True)
class ConditionalFacts:
    """One conditional, what is known of N, and priors that speak of its rows or cells.

    Derived variables may be among its variables if their groups share out the levels.

    Attributes
    ----------
    on_rows, on_cells, on_parts
        Priors (and margins) over the givens, over givens and responses, and, if the conditional
        leaves variables out or merges levels, over all variables of the table.
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
    found = _conditional_facts(release)
    if isinstance(found, str):
        return Facts(release, None, found)
    return Facts(release, found, "")


def _conditional_facts(release: Release) -> ConditionalFacts | str:
    """The facts, or which statement does not fit."""
    conditionals = [s for s in release.statements if isinstance(s, Conditional)]
    if len(conditionals) != 1:
        return (
            f"the release has {len(conditionals)} statements of rates; this method answers "
            "releases with exactly one, with or without N, priors and margins over its givens or "
            "over all its variables"
        )
    conditional = conditionals[0]
    for name in conditional.given:
        if group_of_levels(release.domain, name) is None:
            return (
                f"the groups of {name!r} overlap or leave levels out, so that the rows of "
                f"{conditional.notation} do not share out everybody"
            )
    named, given = set(conditional.variables), set(conditional.given)
    on_rows: list[Statement] = []
    on_cells: list[Statement] = []
    on_parts: list[Statement] = []
    for statement in release.statements:
        if statement is conditional or not statement.variables:
            continue
        if not statement.bounds_counts:
            return f"{statement.notation} speaks of several rows at once"
        about = set(statement.variables)
        if about == given:
            on_rows.append(statement)
        elif about == named:
            on_cells.append(statement)
        elif about == set(release.domain.names):
            on_parts.append(statement)
        else:
            return (
                f"{statement.notation} crosses the rows of {conditional.notation}; beside one "
                "statement of rates, margins and priors may be over its givens "
                f"({', '.join(conditional.given) or 'none'}), over its own variables or over all"
            )
    return ConditionalFacts(
        release.domain,
        conditional,
        release.total,
        tuple(on_rows),
        tuple(on_cells),
        tuple(on_parts),
    )
