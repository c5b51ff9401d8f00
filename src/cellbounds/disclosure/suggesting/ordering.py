"""What plans are worth, whatever the counts are: measured on a table that everybody can make."""

from __future__ import annotations

from cellbounds.data.table import Table
from cellbounds.disclosure.policies.rerunning import republished
from cellbounds.disclosure.suggesting.plans import Drafts, Plan
from cellbounds.disclosure.typical_tables import typical_table
from cellbounds.statements import Release
from cellbounds.statements.notation import Request
from cellbounds.utility.retained_utility import retained


def uses_of(drafts: Drafts) -> list[str]:
    """What a reader wants: the statements that were asked for, exact, and N if it was."""
    requests = [one for one in drafts.first.statements if one is not None]
    exact = (Request(one.responses, one.given).notation for one in requests)
    told = ["N"] if drafts.release.total.exact is not None else []
    return [*dict.fromkeys(exact), *told]


class PublicOrder:
    """The share of what was asked for that plans keep of a typical table.

    Whoever knows the request can work it out: variables, levels and N are all that it depends on.
    """

    def __init__(self, drafts: Drafts) -> None:
        self._drafts, self._use = drafts, uses_of(drafts)
        self._worths: dict[Plan, float] = {}

    @classmethod
    def of(cls, release: Release, table: Table) -> PublicOrder | None:
        """The order for what was asked for; None if that could not be made of another table."""
        domain = release.domain
        typical = typical_table(domain, table.structural, release.total.exact)
        again = republished(release, typical)
        return None if again is None else cls(Drafts(again, typical))

    def worth(self, plan: Plan) -> float:
        """The share that a plan keeps."""
        if plan not in self._worths:
            made = self._drafts.made(plan)
            share = 0.0
            if made is not None:
                share = retained(self._drafts.table, made[0], self._use or None).share
            self._worths[plan] = share
        return self._worths[plan]
