"""The command line: thin, every decision is made in the library."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from cellbounds.errors import (
    CellboundsError,
    InvalidInput,
    TooMuchWork,
    Unsettled,
    UnsupportedRelease,
)
from cellbounds.verification.command import verify

__all__ = ["main"]

SAFE, UNSAFE, BAD_INPUT, UNDECIDED, INTERNAL, INTERRUPTED = 0, 1, 2, 3, 70, 130

_CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

EPILOG = (
    "Exit status: 0 safe, 1 unsafe or a mismatch, 2 bad input, 3 undecided, 70 internal error, "
    "130 interrupted."
)


def main() -> None:
    """Run the command line and leave with its exit status."""
    try:
        code = commands.main(standalone_mode=False)
    except click.exceptions.Exit as left:
        code = left.exit_code
    except click.Abort:
        code = INTERRUPTED
    except click.ClickException as problem:
        problem.show()
        code = BAD_INPUT
    except (UnsupportedRelease, TooMuchWork, Unsettled) as problem:
        click.echo(f"undecided: {problem}", err=True)
        code = UNDECIDED
    except CellboundsError as problem:
        click.echo(f"error: {problem}", err=True)
        code = BAD_INPUT
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has left; say nothing, not even at shutdown.
        sys.stderr.close()
        code = SAFE
    except Exception as problem:
        # The last resort, wide on purpose: the text and the traceback of an unforeseen error may
        # hold confidential counts, so only its kind is shown. Foreseen errors were caught above.
        click.echo(
            f"internal error ({type(problem).__name__}); please report it with the command and, "
            "if it is not confidential, the input",
            err=True,
        )
        code = INTERNAL
    sys.exit(code)


def _effort_options(function: Callable[..., Any]) -> Callable[..., Any]:
    options = [
        click.option(
            "--seconds",
            type=float,
            default=600.0,
            show_default=True,
            help="Budget; what is not settled by then is reported as such.",
        ),
        click.option(
            "--jobs", type=int, default=1, show_default=True, help="Processes for long work."
        ),
        click.option(
            "--certificate",
            type=click.Path(dir_okay=False),
            help="Write bounds, witnesses and proofs to this file, for `cellbounds verify`.",
        ),
    ]
    for option in reversed(options):
        function = option(function)
    return function


@contextmanager
def _workers(jobs: int) -> Iterator[Executor | None]:
    """Processes for long work, or none."""
    if jobs < 1:
        raise InvalidInput(f"--jobs {jobs}; give 1 or more")
    if jobs == 1:
        yield None
        return
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as executor:
        yield executor


def _output_options(function: Callable[..., Any]) -> Callable[..., Any]:
    options = [
        click.option(
            "--format",
            "style",
            type=click.Choice(["table", "json", "csv"]),
            default="table",
            help="How to write the answer.",
        ),
        click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write to this file."),
        click.option("--all", "everything", is_flag=True, help="Show every cell in a table."),
        click.option(
            "--over",
            metavar="A,B",
            help="Ask about this margin instead of the cells; names separated by commas.",
        ),
    ]
    for option in reversed(options):
        function = option(function)
    return function


@click.group(context_settings=_CONTEXT, epilog=EPILOG)
@click.version_option(package_name="cellbounds", prog_name="cellbounds")
def commands() -> None:
    """What published rates and margins reveal about a confidential table of counts."""


@commands.command(epilog=EPILOG)
@click.argument("table", type=click.Path())
@click.argument("release", nargs=-1, required=True)
@click.option("--count", default="count", show_default=True, help="Name of the column of counts.")
@click.option("--records", is_flag=True, help="Each line of TABLE is one record; tabulate them.")
@click.option("--variables", metavar="A,B", help="Use these columns only, summing over the others.")
@click.option("--structural", is_flag=True, help="Cells missing from TABLE are structural zeros.")
@click.option("--encoding", default="utf-8", show_default=True, help="Encoding of TABLE.")
@click.option("--delimiter", default=",", show_default=True, help="Delimiter of TABLE.")
@click.option(
    "--rounding",
    type=click.Choice(["nearest", "half-even", "down", "up", "consistent"]),
    help="How rates with @ are rounded; nearest unless given.",
)
@click.option("--eps", metavar="EPS", help="Tolerance announced with the rates, such as 0.01.")
@click.option("--strict", is_flag=True, help="True rates are closer than EPS, not just within.")
@click.option("--no-total", is_flag=True, help="N is not published.")
@click.option(
    "--count-rounding",
    type=click.Choice(["nearest", "half-even", "down", "up", "random"]),
    help="How margins with ~ are rounded; nearest unless given.",
)
@click.option("--seed", type=int, help="Seed for random rounding.")
@click.option(
    "--public", is_flag=True, help="Make the certificate without the help of TABLE, to hand on."
)
@_effort_options
@_output_options
def audit(
    table: str,
    release: tuple[str, ...],
    count: str,
    records: bool,
    variables: str | None,
    structural: bool,
    encoding: str,
    delimiter: str,
    rounding: str | None,
    eps: str | None,
    strict: bool,
    no_total: bool,
    count_rounding: str | None,
    seed: int | None,
    public: bool,
    seconds: float,
    jobs: int,
    certificate: str | None,
    style: str,
    output: str | None,
    everything: bool,
    over: str | None,
) -> int:
    """Show what publishing RELEASE would reveal about TABLE.

    TABLE is a tidy CSV file. RELEASE is a statement such as "[education|county]@2" (rates to two
    decimals), "[Y|A,B]" (exact rates), "[A]" (a margin), "[A,B]~5" (rounded to base 5), "[A,B]<5"
    (counts below 5 hidden), or a release file (.toml); several are published together, with N
    unless --no-total.
    """
    if public and certificate is None:
        raise InvalidInput("--public goes with --certificate FILE")
    from cellbounds.releases.combining import combined_release
    from cellbounds.report.audits import render
    from cellbounds.report.progress import Progress
    from cellbounds.risk import audit as audit_table
    from cellbounds.table_reading import read_table

    with Progress("reading the table") as progress:
        owned = read_table(
            table,
            count=None if records else count,
            variables=_names(variables),
            structural="missing" if structural else None,
            encoding=encoding,
            delimiter=delimiter.replace("\\t", "\t"),
        )
        made = combined_release(
            owned,
            release,
            total=not no_total,
            rounding=rounding,
            count_rounding=count_rounding,
            eps=eps,
            strict=strict,
            rng=seed,
        )
        progress.say("working out what is attainable")
        names = _names(over)
        asked = None if names is None else tuple(names)
        with _workers(jobs) as executor:
            found = audit_table(
                owned, made, over=asked, seconds=seconds, executor=executor, progress=progress.step
            )
            text = render(found, style, everything=everything)
            if certificate is not None:
                progress.say("certifying")
                start = None if public else owned
                _certify(made, names, certificate, seconds, executor, start, progress.step)
    _write(text, output)
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
    _write(json.dumps(answer.certificate(seconds=seconds), ensure_ascii=False) + "\n", path)


@commands.command(epilog=EPILOG)
@click.argument("release", type=click.Path())
@_effort_options
@_output_options
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

    with Progress("working out what is attainable") as progress, _workers(jobs) as executor:
        said, names = read_release(release), _names(over)
        answer = attainable(
            said, over=names, seconds=seconds, executor=executor, progress=progress.step
        )
        text = render(answer, style, everything=everything)
        if certificate is not None:
            progress.say("certifying")
            _certify(said, names, certificate, seconds, executor, None, progress.step)
    _write(text, output)
    return SAFE


@commands.command(epilog=EPILOG)
@click.option("--figures", type=click.Path(file_okay=False), help="Draw the figures as SVG here.")
@click.option(
    "--format",
    "style",
    type=click.Choice(["table", "json", "csv"]),
    default="table",
    help="How to write the comparison.",
)
@click.option("-o", "--output", type=click.Path(dir_okay=False), help="Write to this file.")
def reproduce(figures: str | None, style: str, output: str | None) -> int:
    """Put every table of documents 000, 001, 003 and 004 beside our figures.

    Where a paper is wrong, its error is pointed out. Status 1 if anything else differs.
    """
    from cellbounds.papers.reproduction import render_comparisons, reproduce_papers
    from cellbounds.report.progress import Progress

    with Progress("recomputing the papers' tables"):
        compared = reproduce_papers()
        text = render_comparisons(compared, style)
        if figures is not None:
            from cellbounds.papers.figures import draw_figures

            drawn = draw_figures(Path(figures))
    _write(text, output)
    if figures is not None:
        click.echo("\n".join(f"drawn: {path}" for path in drawn), err=True)
    return SAFE if all(one.as_expected for one in compared) else UNSAFE


commands.add_command(verify)


def _names(text: str | None) -> list[str] | None:
    """Names separated by commas; the notation's quotes work here too."""
    if text is None:
        return None
    from cellbounds.releases.notation import parse

    return list(parse(f"[{text}]").responses)


def _write(text: str, output: str | None) -> None:
    if output is None:
        click.echo(text, nl=False)
        return
    from cellbounds.releases.writing import write_whole

    write_whole(Path(output), text)


if __name__ == "__main__":
    main()
