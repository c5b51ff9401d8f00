"""`audit` and `attack`."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from typing import Any

import click

from cellbounds.cli.options import (
    EPILOG,
    SAFE,
    UNDECIDED,
    UNSAFE,
    combine,
    effort_options,
    names_of,
    output_options,
    publishing_options,
    read_owned,
    table_options,
    workers,
    write_text,
)
from cellbounds.errors import InvalidInput

__all__ = ["attack", "audit"]


@click.command(epilog=EPILOG)
@click.argument("table", type=click.Path())
@click.argument("release", nargs=-1, required=True)
@table_options
@publishing_options
@click.option(
    "--public", is_flag=True, help="Make the certificate without the help of TABLE, to hand on."
)
@effort_options
@output_options
def audit(
    table: str,
    release: tuple[str, ...],
    public: bool,
    seconds: float,
    jobs: int,
    certificate: str | None,
    style: str,
    output: str | None,
    everything: bool,
    over: str | None,
    **options: Any,
) -> int:
    """Show what publishing RELEASE would reveal about TABLE.

    TABLE is a tidy CSV file. RELEASE is a statement such as "[education|county]@2" (rates to two
    decimals), "[Y|A,B]" (exact rates), "[A]" (a margin), "[A,B]~5" (rounded to base 5), "[A,B]<5"
    (counts below 5 hidden), or a release file (.toml); several are published together, with N
    unless --no-total.
    """
    if public and certificate is None:
        raise InvalidInput("--public goes with --certificate FILE")
    from cellbounds.report.audits import render
    from cellbounds.report.progress import Progress
    from cellbounds.risk import audit as audit_table

    with Progress("reading the table") as progress:
        owned = read_owned(table, options)
        made = combine(owned, release, options)
        progress.say("working out what is attainable")
        names = names_of(over)
        asked = None if names is None else tuple(names)
        with workers(jobs) as executor:
            found = audit_table(
                owned, made, over=asked, seconds=seconds, executor=executor, progress=progress.step
            )
            text = render(found, style, everything=everything)
            if certificate is not None:
                progress.say("certifying")
                start = None if public else owned
                _certify(made, names, certificate, seconds, executor, start, progress.step)
    write_text(text, output)
    return {"safe": SAFE, "unsafe": UNSAFE, "undecided": UNDECIDED}[found.verdict]


def _certify(
    release: Any,
    over: list[str] | None,
    path: str,
    seconds: float,
    executor: Executor | None,
    start: Any,
    progress: Callable[[int, int], None],
) -> None:
    import json

    from cellbounds.solve import bounds

    answer = bounds(
        release, over=over, seconds=seconds, executor=executor, start=start, progress=progress
    )
    write_text(json.dumps(answer.certificate(seconds=seconds), ensure_ascii=False) + "\n", path)


@click.command(epilog=EPILOG)
@click.argument("release", type=click.Path())
@effort_options
@output_options
def attack(
    release: str,
    seconds: float,
    jobs: int,
    certificate: str | None,
    style: str,
    output: str | None,
    everything: bool,
    over: str | None,
) -> int:
    """Show what anybody can work out from the release file RELEASE (.toml), without the table."""
    from cellbounds.releases.files import read_release
    from cellbounds.report.audits import render
    from cellbounds.report.progress import Progress
    from cellbounds.solve import attainable

    with Progress("working out what is attainable") as progress, workers(jobs) as executor:
        said, names = read_release(release), names_of(over)
        answer = attainable(
            said, over=names, seconds=seconds, executor=executor, progress=progress.step
        )
        text = render(answer, style, everything=everything)
        if certificate is not None:
            progress.say("certifying")
            _certify(said, names, certificate, seconds, executor, None, progress.step)
    write_text(text, output)
    return SAFE
