"""`audit` and `attack`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from cellbounds.cli import options
from cellbounds.cli.intruders import policy_given, read_knowledge
from cellbounds.cli.options import Given, option
from cellbounds.cli.outputs import (
    check_outputs,
    check_suffix,
    unwritten,
    write_certificate,
    write_text,
)
from cellbounds.cli.sheet_options import check_release_file, is_release_file, sheet_options
from cellbounds.errors import InvalidInput
from cellbounds.results import Attainable, Bounds
from cellbounds.runtime.budget import Budget, stopped_late
from cellbounds.runtime.inputs import read_bytes
from cellbounds.solvers.solve import attainable, bounds
from cellbounds.statements import Release, Statement

if TYPE_CHECKING:
    from cellbounds.data.domain import Label
    from cellbounds.disclosure.auditing import Audit
    from cellbounds.disclosure.policies import Policy


@options.command
@options.table_argument
@click.argument("release", nargs=-1, required=True)
@options.table_options
@options.publishing_options
@options.policy_options
@options.knows_option
@option(
    "--report FILE",
    "Write a report to file: .html, .json, .csv or .xlsx; may be repeated.",
    "reports",
    multiple=True,
)
@option("--key FILE", "Name TABLE in reports by a digest under this secret: the bytes of FILE.")
@option(
    "--public", "Leave everything confidential out of reports and certificate, to hand them on."
)
@options.effort_options()
@options.state_option
@options.certificate_option
@options.output_options
@option("--over A,B", "Judge the cells of this margin alone; may be repeated.", multiple=True)
def audit(given: Given) -> int:
    """Show what publishing RELEASE would reveal about TABLE, and whether a policy allows it.

    TABLE is CSV, Excel or Parquet: a column for each variable and one of counts, or a crosstab.
    RELEASE is a statement such as "[education|county]@2" (rates to two decimals), "[Y|A,B]" (exact
    rates), "[A]" (a margin), "[A,B]~5" (rounded to base 5), "[A,B]<5" (counts below 5 hidden), or a
    release file (.toml); several are published together, with N unless --no-total.
    """
    from cellbounds.disclosure.auditing import audit as audit_table
    from cellbounds.report.audit_text import render

    margins = [options.names_of(names, "--over") or [] for names in given.over] or None
    over = margins and margins[0]
    check_outputs(
        [*given.reports, given.certificate, given.output, given.state],
        [given.table, *given.release, *given.knows, given.key, given.policy],
    )
    secret = _checked_secret(given)
    policy = policy_given(given)
    with options.working(given, "reading the table", "work") as (progress, budget):
        beside = given.certificate, given.reports, given.style == "html"
        with stopped_late(budget):
            table = options.read_owned(given.table, given)
            release = options.combine(table, given.release, given)
            knows = read_knowledge(given, table.domain)
        progress.say("working out what is attainable", seconds=given.seconds)
        answering = options.answering(budget, *beside, cells=_size(release, over))
        with stopped_late(answering):
            audited = audit_table(
                table,
                release,
                policy,
                over=margins,
                independent=given.independent,
                knows=knows,
                budget=answering,
            )
        if given.certificate is not None:
            progress.say("certifying")
            leaning = not (given.public or given.independent)
            answer: Attainable | Bounds = audited.answer
            part = budget.share(0.5 if any(beside[1:]) else 1.0).resumed(None)
            with unwritten(given.certificate):
                if answer.digest != release.digest or audited.start_used != leaning:
                    # It says what follows from the release alone, and tables that were found with
                    # the help of the owner's lean towards it: such a question was not asked yet.
                    start, again = table if leaning else None, part.share(0.5)
                    with stopped_late(again):
                        answer = bounds(release, over=over, start=start, budget=again)
                write_certificate(answer, given.certificate, part, private=leaning)
        if given.reports or given.style == "html":
            progress.say("writing the report")
            report = audited.report(
                public=given.public,
                key=secret,
                rng=given.seed,
                source=Path(given.table).name,
                budget=budget.resumed(None),
            )
            for path in given.reports:
                report.write(path)
        if given.style == "html":
            text = report.to_html()
        else:
            text = render(audited, given.style, everything=given.everything)
    handed_on = given.public and given.style == "html"
    write_text(text, given.output, given.style, private=not handed_on)
    return options.STATUSES[audited.verdict.outcome.value]


def _size(release: Release, over: list[str] | None) -> int:
    """How many cells are asked about."""
    return release.domain.size if over is None else release.domain.project(over).size


def _checked_secret(given: Given) -> bytes | None:
    """Check what goes with reports, before any work; the secret of the key file."""
    reported = bool(given.reports) or given.style == "html"
    if given.public and given.certificate is None and not reported:
        raise InvalidInput("--public goes with --report FILE, --format html or --certificate FILE")
    if given.key is not None and not reported:
        raise InvalidInput("--key goes with --report FILE or --format html")
    for path in given.reports:
        check_suffix(path, (".html", ".json", ".csv", ".xlsx"))
    if given.key is None:
        return None
    secret = read_bytes(given.key)
    if not secret:
        raise InvalidInput(f"{given.key} is empty; put a secret into it, such as 32 random bytes")
    return secret


@options.command
@click.argument("release", nargs=-1, required=True, type=click.Path(), metavar="RELEASE...")
@sheet_options
@options.cell_option
@options.outside_option
@options.policy_option
@options.intruder_option
@options.knows_option
@options.effort_options()
@options.state_option
@options.certificate_option
@options.output_options
@options.over_option
def attack(given: Given) -> int:
    """Show what anybody can work out from RELEASE, without the table.

    RELEASE is a release file (.toml): the status is 1 if a rule of the policy is broken whatever
    table is behind it, 0 if it is broken in none that fits, 3 if that depends on the table, or
    could not be settled. With --cell nothing is judged. Or it is a table as it is published, with
    its totals and marks: CSV, Excel, OpenDocument, HTML, Parquet (`cellbounds show` says how it is
    understood). Several linked tables are taken together; the status is 1 if a hidden count is
    known exactly, or with --policy if a rule is broken.
    """
    if not all(map(is_release_file, given.release)):
        from cellbounds.cli.published import attack_tables

        return attack_tables(given)
    from cellbounds.report.audit_text import render
    from cellbounds.report.filing import build_report
    from cellbounds.statements.release_files import read_release

    check_release_file(given)
    if len(given.release) > 1:
        raise InvalidInput(f"{len(given.release)} release files; give one")
    (given.release,) = given.release
    names = options.names_of(given.over, "--over")
    if given.cells and given.style == "html":
        raise InvalidInput("--cell goes with --format table, json or csv; pages show whole margins")
    check_outputs(
        [given.certificate, given.output, given.state],
        [given.release, *given.knows, given.policy],
    )
    policy = policy_given(given)
    what = "working out what is attainable"
    with options.working(given, what, "work", seconds=given.seconds) as (progress, budget):
        with stopped_late(budget):
            release = read_release(given.release, allow_outside=given.allow_outside)
            over, cells = options.cells_of(given.cells, names, release.domain)
            knows = read_knowledge(given, release.domain)
        size = _size(release, over) if cells is None else len(cells)
        beside = given.certificate, given.style == "html"
        answering = options.answering(budget, *beside, cells=size)
        answer_or_audit = _worked_out(release, policy, over, cells, knows, answering)
        if given.style == "html":
            text = build_report(answer_or_audit, budget=budget.resumed(None)).to_html()
        else:
            text = render(answer_or_audit, given.style, everything=given.everything)
        if given.certificate is not None:
            progress.say("certifying")
            with unwritten(given.certificate):
                answer = (
                    answer_or_audit
                    if isinstance(answer_or_audit, Attainable)
                    else answer_or_audit.answer
                )
                part = budget.resumed(None)
                if answer.digest != release.digest:
                    # It says what follows from the release alone.
                    again = part.share(0.5)
                    with stopped_late(again):
                        answer = attainable(release, over=over, cells=cells, budget=again)
                write_certificate(answer, given.certificate, part, private=False)
    write_text(text, given.output, given.style)
    if isinstance(answer_or_audit, Attainable):
        return options.SAFE
    return options.STATUSES[answer_or_audit.verdict.outcome.value]


def _worked_out(
    release: Release,
    policy: Policy,
    over: list[str] | None,
    cells: list[tuple[Label, ...]] | None,
    knows: Sequence[Statement],
    budget: Budget,
) -> Audit | Attainable:
    """What an outsider finds, and the verdict unless he asks about some cells alone."""
    from cellbounds.disclosure.auditing import audit as audit_table
    from cellbounds.disclosure.policies.knowledge import informed

    with stopped_late(budget):
        if cells is None:
            return audit_table(None, release, policy, over=over, knows=knows, budget=budget)
        known = informed(release, None, knows, policy.against, effort=budget)
        return attainable(known.release, over=over, cells=cells, budget=budget)
