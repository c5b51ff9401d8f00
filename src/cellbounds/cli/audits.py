"""`audit` and `attack`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cellbounds.cli.cells import cell_option, cells_of
from cellbounds.cli.options import (
    EPILOG,
    SAFE,
    UNDECIDED,
    UNSAFE,
    combine,
    knows_option,
    names_of,
    output_options,
    outside_option,
    policy_options,
    publishing_options,
    read_knowledge,
)
from cellbounds.cli.outputs import check_outputs, check_suffix, write_text
from cellbounds.cli.reading import read_owned, table_options
from cellbounds.cli.working import (
    certificate_option,
    effort_options,
    resumable,
    state_option,
    workers,
)
from cellbounds.errors import InvalidInput
from cellbounds.runtime.inputs import read_bytes

if TYPE_CHECKING:
    from cellbounds.results import Attainable, Bounds

__all__ = ["attack", "audit"]


@click.command(epilog=EPILOG)
@click.argument("table", type=click.Path())
@click.argument("release", nargs=-1, required=True)
@table_options
@publishing_options
@policy_options
@knows_option
@click.option(
    "--report",
    "reports",
    multiple=True,
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Write a report to file: .html, .json, .csv or .xlsx; may be repeated.",
)
@click.option(
    "--key",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Name TABLE in reports by a digest under this secret: the bytes of FILE.",
)
@click.option(
    "--public",
    is_flag=True,
    help="Leave everything confidential out of reports and certificate, to hand them on.",
)
@effort_options()
@state_option
@certificate_option
@output_options
def audit(
    table: str,
    release: tuple[str, ...],
    policy: str,
    independent: bool,
    knows: tuple[str, ...],
    reports: tuple[str, ...],
    key: str | None,
    public: bool,
    seconds: float,
    state: str | None,
    certificate: str | None,
    style: str,
    output: str | None,
    everything: bool,
    over: str | None,
    **options: Any,
) -> int:
    """Show what publishing RELEASE would reveal about TABLE, and whether a policy allows it.

    TABLE is a tidy CSV file. RELEASE is a statement such as "[education|county]@2" (rates to two
    decimals), "[Y|A,B]" (exact rates), "[A]" (a margin), "[A,B]~5" (rounded to base 5), "[A,B]<5"
    (counts below 5 hidden), or a release file (.toml); several are published together, with N
    unless --no-total.
    """
    from cellbounds.disclosure.auditing import audit as audit_table
    from cellbounds.disclosure.policies import read_policy
    from cellbounds.report.audits import render
    from cellbounds.runtime.progress import Progress
    from cellbounds.solvers.solve import bounds

    asked = names_of(over, "--over")
    check_outputs([*reports, certificate, output, state], [table, *release, *knows, key, policy])
    secret = _checked_secret(reports, key, public, certificate, style)
    rules = read_policy(policy)
    with Progress("reading the table") as progress:
        owned = read_owned(table, options)
        made = combine(owned, release, options)
        known = read_knowledge(knows, owned.domain, allow_outside=options["allow_outside"])
        progress.say("working out what is attainable", seconds=seconds)
        with resumable(state, "work"), workers(options) as executor:
            found = audit_table(
                owned,
                made,
                rules,
                over=asked,
                independent=independent,
                knows=known,
                seconds=seconds,
                executor=executor,
                progress=progress.step,
                state=state,
            )
            if certificate is not None:
                progress.say("certifying")
                leaning = not (public or independent)
                answer: Attainable | Bounds = found.answer
                if answer.digest != made.digest or found.start_used != leaning:
                    # It says what follows from the release alone, and tables that were found with
                    # the help of the owner's lean towards it: such a question was not asked yet.
                    answer = bounds(
                        made,
                        over=asked,
                        seconds=seconds,
                        executor=executor,
                        start=owned if leaning else None,
                        progress=progress.step,
                    )
                _write_certificate(answer, certificate, seconds, private=leaning)
        if reports or style == "html":
            from cellbounds.report.filing import build_report

            progress.say("writing the report")
            report = build_report(
                found,
                public=public,
                key=secret,
                seed=options["seed"],
                source=Path(table).name,
                seconds=seconds,
            )
            for path in reports:
                report.write(path)
        text = report.to_html() if style == "html" else render(found, style, everything=everything)
    write_text(text, output, style, private=not (public and style == "html"))
    outcome = found.verdict.verdict.value
    return {"safe": SAFE, "unsafe": UNSAFE, "undecided": UNDECIDED}[outcome]


def _checked_secret(
    reports: tuple[str, ...],
    key: str | None,
    public: bool,
    certificate: str | None,
    style: str,
) -> bytes | None:
    """Check what goes with reports, before any work; the secret of the key file."""
    reported = bool(reports) or style == "html"
    if public and certificate is None and not reported:
        raise InvalidInput("--public goes with --report FILE, --format html or --certificate FILE")
    if key is not None and not reported:
        raise InvalidInput("--key goes with --report FILE or --format html")
    for path in reports:
        check_suffix(path, (".html", ".json", ".csv", ".xlsx"))
    if key is None:
        return None
    secret = read_bytes(key)
    if not secret:
        raise InvalidInput(f"{key} is empty; put a secret into it, such as 32 random bytes")
    return secret


def _write_certificate(
    answer: Attainable | Bounds, path: str, seconds: float, *, private: bool
) -> None:
    import json

    text = json.dumps(answer.certificate(seconds=seconds), ensure_ascii=False) + "\n"
    write_text(text, path, "json", private=private)


@click.command(epilog=EPILOG)
@click.argument("release", type=click.Path())
@cell_option
@outside_option
@effort_options()
@state_option
@certificate_option
@output_options
def attack(
    release: str,
    cells: tuple[str, ...],
    seconds: float,
    state: str | None,
    certificate: str | None,
    style: str,
    output: str | None,
    everything: bool,
    over: str | None,
    **options: Any,
) -> int:
    """Show what anybody can work out from the release file RELEASE (.toml), without the table."""
    from cellbounds.report.audits import render
    from cellbounds.runtime.progress import Progress
    from cellbounds.solvers.solve import attainable
    from cellbounds.statements.files import read_release

    names = names_of(over, "--over")
    if cells and style == "html":
        raise InvalidInput("--cell goes with --format table, json or csv; pages show whole margins")
    check_outputs([certificate, output, state], [release])
    with (
        Progress("working out what is attainable", seconds=seconds) as progress,
        resumable(state, "work"),
        workers(options) as executor,
    ):
        said = read_release(release, allow_outside=options["allow_outside"])
        names, chosen = cells_of(cells, names, said.domain)
        answer = attainable(
            said,
            over=names,
            cells=chosen,
            seconds=seconds,
            executor=executor,
            progress=progress.step,
            state=state,
        )
        if style == "html":
            from cellbounds.report.filing import build_report

            text = build_report(answer, seconds=seconds).to_html()
        else:
            text = render(answer, style, everything=everything)
        if certificate is not None:
            progress.say("certifying")
            _write_certificate(answer, certificate, seconds, private=False)
    write_text(text, output, style)
    return SAFE
