"""What plans are worth, whatever the counts are: measured on a table that everybody can make."""

from __future__ import annotations

from collections.abc import Sequence

from cellbounds.data.table import Table
from cellbounds.disclosure.policies.rerunning import republished
from cellbounds.disclosure.suggesting.plans import Drafts, Plan
from cellbounds.disclosure.typical_tables import typical_tables
from cellbounds.statements import Release
from cellbounds.statements.notation import Request
from cellbounds.utility.retained_utility import retained


def uses_of(drafts: Drafts) -> list[str]:
    """What a reader wants: the statements that were asked for, exact, and N if it was."""
    requests = [statement for statement in drafts.first.statements if statement is not None]
    exact = (Request(request.responses, request.given).notation for request in requests)
    told = ["N"] if drafts.release.total.exact is not None else []
    return [*dict.fromkeys(exact), *told]


class PublicOrder:
    """The share of what was asked for that plans keep of a typical table.

    Whoever knows the request can work it out: variables, levels and N are all that it depends on.
    """

    def __init__(self, drafts: Sequence[Drafts]) -> None:
        self._drafts, self._use = drafts, uses_of(drafts[0])
        self._worths: dict[Plan, float] = {}

    @classmethod
    def of(cls, release: Release, table: Table) -> PublicOrder | None:
        """The order for what was asked for; None if that could not be made of other tables."""
        typical = typical_tables(release.domain, table.structural, release.total.exact)
        again = [(republished(release, table), table) for table in typical]
        drafts = [Drafts(wanted, table) for wanted, table in again if wanted is not None]
        return cls(drafts) if drafts else None

    def worth(self, plan: Plan) -> float:
        """The share that a plan keeps, on average."""
        if plan not in self._worths:
            made = [(drafts.table, drafts.made(plan)) for drafts in self._drafts]
            use = self._use or None
            shares = [retained(table, draft[0], use).share for table, draft in made if draft]
            self._worths[plan] = sum(shares) / len(made)
        return self._worths[plan]
