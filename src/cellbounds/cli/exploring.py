"""`explore`: which rates could be published."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from cellbounds.cli.options import (
    EPILOG,
    SAFE,
    UNDECIDED,
    UNSAFE,
    format_options,
    names_of,
    policy_options,
)
from cellbounds.cli.outputs import check_outputs, check_suffix, say, write_text
from cellbounds.cli.reading import read_owned, table_options
from cellbounds.cli.working import effort_options, resumable, workers
from cellbounds.errors import InvalidInput

if TYPE_CHECKING:
    from cellbounds.disclosure.exploring import Frontier

__all__ = ["explore"]


@click.command(epilog=EPILOG)
@click.argument("table", type=click.Path())
@click.option("--response", required=True, metavar="Y", help="The variable whose rates are wanted.")
@click.option(
    "--given",
    "givens",
    multiple=True,
    metavar="A,B",
    help='A set of predictors to try; again for more ("" for none). All subsets unless given.',
)
@click.option(
    "--digits",
    metavar="D",
    help='Decimals to try: "1-4" (unless given), "2,4", "exact"; with --eps what it needs.',
)
@click.option(
    "--rounding",
    multiple=True,
    type=click.Choice(["nearest", "half-even", "down", "up", "consistent"]),
    help="A rounding rule to try; again for more. Nearest unless given.",
)
@click.option("--eps", multiple=True, metavar="EPS", help="A tolerance to try; again for more.")
@click.option("--strict", is_flag=True, help="True rates are closer than EPS, not just within.")
@click.option(
    "--merge-levels",
    metavar="adjacent|FILE",
    help="Try merged levels too: of every two neighbours, or those that FILE (.toml) lists.",
)
@click.option("--no-total", is_flag=True, help="N is not published.")
@policy_options
@table_options
@effort_options("designs not reached by then are left out", None)
@click.option(
    "--state",
    type=click.Path(dir_okay=False),
    help="Keep what was found in this file, and go on from it. Confidential.",
)
@click.option(
    "--plot", type=click.Path(dir_okay=False), help="Draw to this .html, .svg or .png file."
)
@click.option(
    "--best", type=click.Path(dir_okay=False), help="Write the best safe release (.toml)."
)
@format_options
def explore(
    table: str,
    state: str | None,
    plot: str | None,
    best: str | None,
    style: str,
    output: str | None,
    **options: Any,
) -> int:
    """Judge every design of published rates of TABLE, and find the best safe one.

    A design publishes the rates of the response among those who share some other variables, to
    some decimals, perhaps with merged levels. Shown are those that no other beats in risk (the
    chance to guess a small count) and utility (how close a reader comes to the finest rates).
    The status is 0 if a design is safe, 1 if none is, 3 if none is known to be.

    The search can be stopped and resumed with --state. For sets of margins that can be released
    together see `cellbounds margins`.
    """
    from cellbounds.runtime.progress import Progress

    if plot is not None:
        check_suffix(plot, (".html", ".svg", ".png"))
    # A state is read as well as written; a file that is none is refused when it is read.
    check_outputs([plot, best, output, state], [table, options["policy"], options["merge_levels"]])
    with Progress("reading the table") as progress:
        owned = read_owned(table, options)
        asked = _asked(options)
        progress.say("judging designs")
        with resumable(state, "search"), workers(options) as executor:
            found = _search(owned, asked, executor, state, progress.step)
        progress.say("writing")
        _write(found, style, output, plot, best)
    return _status(found)


def _asked(options: dict[str, Any]) -> dict[str, Any]:
    """The arguments of the search, from the options."""
    givens = [
        tuple(names_of(text, "--given") or ()) if text.strip() else () for text in options["givens"]
    ]
    return {
        "response": names_of(options["response"], "--response"),
        "givens": givens or None,
        "digits": _digits(options["digits"], bool(options["eps"])),
        "rounding": options["rounding"] or ("nearest",),
        "eps": options["eps"] or None,
        "strict": options["strict"],
        "merges": _merges(options["merge_levels"]),
        "total": not options["no_total"],
        "policy": options["policy"],
        "independent": options["independent"],
        "seconds": options["seconds"],
    }


def _digits(text: str | None, tolerances: bool) -> list[int | None] | range | None:
    from cellbounds.statements.numbers import MOST_DIGITS

    if text is None:
        return None if tolerances else range(1, 5)
    found: list[int | None] = []
    for part in text.split(","):
        first, dash, last = (one.strip() for one in part.partition("-"))
        if part.strip() == "exact":
            found.append(None)
        elif not _is_short_number(first) or (dash and not _is_short_number(last)):
            raise InvalidInput(f'--digits {text!r}; write it like "1-4", "2,4" or "exact"')
        else:
            top = int(last) if dash else int(first)
            if not int(first) <= top <= MOST_DIGITS:
                raise InvalidInput(f"--digits {text!r}; give decimals from 0 to {MOST_DIGITS}")
            found += range(int(first), top + 1)
    return found


def _is_short_number(text: str) -> bool:
    return text.isdecimal() and len(text) <= 9  # Python refuses to read very long ones


def _merges(text: str | None) -> Any:
    """Ways to merge levels: a word, or a file with `[[variable]]` and `new = [old, old]`."""
    from cellbounds.disclosure.exploring.designs import ADJACENT
    from cellbounds.runtime.inputs import read_toml

    if text is None or text == ADJACENT:
        return text
    try:
        return read_toml(text)
    except InvalidInput as problem:
        raise InvalidInput(
            f"--merge-levels {text}: neither {ADJACENT!r} nor a file of merges: {problem}"
        ) from None


def _search(owned: Any, asked: dict[str, Any], executor: Any, state: Any, step: Any) -> Frontier:
    from cellbounds.disclosure.exploring import explore as search

    return search(owned, **asked, executor=executor, progress=step, state=state)


def _write(
    found: Frontier, style: str, output: str | None, plot: str | None, best: str | None
) -> None:
    from cellbounds.report.listings import render_listing

    if not found.designs and found.left_out:
        first = found.left_out[0]
        raise InvalidInput(f"no design can be published; {first.design.notation}: {first.why}")
    if plot is not None:
        from cellbounds.results.charts import save_chart

        save_chart(found.plot(), plot)
    if best is not None:
        _write_best(found, best)
    write_text(render_listing(found, style), output, style, private=True)


def _write_best(found: Frontier, path: str) -> None:
    if found.best is None:
        say(f"no design is safe: {path} was not written")
        return
    from cellbounds.statements.files import write_release

    write_release(found.best_release(), path)


def _status(found: Frontier) -> int:
    from cellbounds.disclosure.policies import Outcome

    if found.best is not None:
        return SAFE
    settled = found.complete and all(one.outcome is Outcome.UNSAFE for one in found.designs)
    return UNSAFE if settled else UNDECIDED
