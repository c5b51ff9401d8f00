"""`explore`, `margins` and `suggest`: what could be published instead, or together."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cellbounds.cli import options
from cellbounds.cli.options import Given
from cellbounds.cli.outputs import check_outputs, check_suffix, say, write_text
from cellbounds.errors import InvalidInput
from cellbounds.runtime.files import hidden_folder

if TYPE_CHECKING:
    from cellbounds.disclosure.exploring import Frontier
    from cellbounds.disclosure.suggesting import Suggestions

__all__ = ["explore", "margins", "suggest"]


@options.command
@options.table_argument
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
@options.no_total_option
@options.policy_options
@options.table_options
@options.effort_options("designs not reached by then are left out", None)
@click.option(
    "--state",
    type=options.FILE,
    help="Keep what was found in this file, and go on from it. Confidential.",
)
@click.option("--plot", type=options.FILE, help="Draw to this .html, .svg or .png file.")
@click.option("--best", type=options.FILE, help="Write the best safe release (.toml).")
@options.format_options
def explore(given: Given) -> int:
    """Judge every design of published rates of TABLE, and find the best safe one.

    A design publishes the rates of the response among those who share some other variables, to
    some decimals, perhaps with merged levels. Shown are those that no other beats in risk (the
    chance to guess a small count) and utility (how close a reader comes to the finest rates).
    The status is 0 if a design is safe, 1 if none is, 3 if none is known to be.

    The search can be stopped and resumed with --state. For sets of margins that can be released
    together see `cellbounds margins`.
    """
    from cellbounds.runtime.progress import Progress

    if given.plot is not None:
        check_suffix(given.plot, (".html", ".svg", ".png"))
    # A state is read as well as written; a file that is none is refused when it is read.
    check_outputs(
        [given.plot, given.best, given.output, given.state],
        [given.table, given.policy, given.merge_levels],
    )
    with Progress("reading the table") as progress:
        table = options.read_owned(given.table, given)
        designs = _designs(given)
        progress.say("judging designs")
        with options.budgeted(given, progress, "search") as budget:
            from cellbounds.disclosure.exploring import explore as search

            frontier = search(table, **designs, budget=budget)
        progress.say("writing")
        _write_explored(frontier, given)
    if frontier.best is not None:
        return options.SAFE
    from cellbounds.disclosure.policies import Outcome

    settled = frontier.complete and all(one.outcome is Outcome.UNSAFE for one in frontier.designs)
    return options.UNSAFE if settled else options.UNDECIDED


def _designs(given: Given) -> dict[str, Any]:
    """The arguments of the search that say which designs are judged, and how."""
    givens = [
        tuple(options.names_of(text, "--given") or ()) if text.strip() else ()
        for text in given.givens
    ]
    return {
        "response": options.names_of(given.response, "--response"),
        "givens": givens or None,
        "digits": _digits(given.digits, bool(given.eps)),
        "rounding": given.rounding or ("nearest",),
        "eps": given.eps or None,
        "strict": given.strict,
        "merges": _merges(given.merge_levels),
        "total": not given.no_total,
        "policy": given.policy,
        "independent": given.independent,
    }


def _digits(text: str | None, tolerances: bool) -> list[int | None] | range | None:
    from cellbounds.statements.numbers import MOST_DIGITS

    if text is None:
        return None if tolerances else range(1, 5)
    digits: list[int | None] = []
    for part in text.split(","):
        first, dash, last = (end.strip() for end in part.partition("-"))
        if part.strip() == "exact":
            digits.append(None)
        elif not _is_short_number(first) or (dash and not _is_short_number(last)):
            raise InvalidInput(f'--digits {text!r}; write it like "1-4", "2,4" or "exact"')
        else:
            top = int(last) if dash else int(first)
            if not int(first) <= top <= MOST_DIGITS:
                raise InvalidInput(f"--digits {text!r}; give decimals from 0 to {MOST_DIGITS}")
            digits += range(int(first), top + 1)
    return digits


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


def _write_explored(frontier: Frontier, given: Given) -> None:
    from cellbounds.report.formats import render

    if not frontier.designs and frontier.left_out:
        first = frontier.left_out[0]
        raise InvalidInput(f"no design can be published; {first.design.notation}: {first.why}")
    if given.plot is not None:
        from cellbounds.results.charts import save_chart

        save_chart(frontier.plot(), given.plot)
    if given.best is not None and frontier.best is None:
        say(f"no design is safe: {given.best} was not written")
    elif given.best is not None:
        from cellbounds.statements.release_files import write_release

        write_release(frontier.best_release(), given.best)
    write_text(render(frontier, given.style), given.output, given.style, private=True)


@options.command
@options.table_argument
@options.table_options
@click.option(
    "--way", type=options.WHOLE, metavar="K", help="All margins of K variables; else all margins."
)
@click.option("--margin", "chosen", multiple=True, metavar="A,B", help="A margin; repeat it.")
@click.option(
    "--statement",
    "statements",
    multiple=True,
    metavar="STATEMENT",
    help='Any statement, such as "[A,B]~5" or "[Y|A]@2"; repeat it.',
)
@click.option(
    "--given",
    "out",
    multiple=True,
    metavar="RELEASE",
    help="What is out already: a statement or a release file; repeat it.",
)
@options.outside_option
@options.no_total_option
@options.policy_options
@options.effort_options()
@options.format_options
def margins(given: Given) -> int:
    """Find the largest sets of margins of TABLE that are safe together.

    TABLE is a tidy CSV file. The candidates are all its margins, unless --way, --margin or
    --statement names others. Exit status 0 if some of them may be released, 1 if none, 3 if that
    is not known.
    """
    if sum(map(bool, (given.way is not None, given.chosen, given.statements))) > 1:
        raise InvalidInput(
            "--way, --margin and --statement name the candidates; use one of them (--statement "
            "takes margins too)"
        )
    check_outputs([given.output], [given.table, *given.out, given.policy])
    from cellbounds.disclosure.safe_sets import safe_margins
    from cellbounds.report.formats import render
    from cellbounds.runtime.progress import Progress
    from cellbounds.statements.publishing import combined_release

    with Progress("reading the table") as progress:
        table = options.read_owned(given.table, given)
        listed = [options.names_of(text, "--margin") or [] for text in given.chosen]
        out = None
        if given.out:
            outside = given.allow_outside
            out = combined_release(table, given.out, total=False, allow_outside=outside)
        progress.say("judging sets")
        with options.budgeted(given, progress) as budget:
            safe_sets = safe_margins(
                table,
                margins=listed or given.way,
                given=out,
                statements=given.statements or None,
                policy=given.policy,
                total=not given.no_total,
                independent=given.independent,
                budget=budget,
            )
    write_text(render(safe_sets, given.style), given.output, given.style, private=True)
    if any(one.statements for one in safe_sets.safe):
        return options.SAFE
    return options.UNSAFE if safe_sets.complete else options.UNDECIDED


@options.command
@options.table_argument
@click.argument("release", nargs=-1, required=True)
@options.table_options
@options.publishing_options
@options.policy_options
@options.knows_option
@click.option("--over", metavar="A,B", help="Judge the cells of this margin.")
@click.option(
    "--most", type=options.WHOLE, default=10, show_default=True, help="Suggestions at most."
)
@click.option(
    "--changes", type=options.WHOLE, default=2, show_default=True, help="Changes at once at most."
)
@options.effort_options("what was not tried by then is said")
@click.option(
    "--save",
    type=options.FOLDER,
    metavar="FOLDER",
    help="Write each suggestion there as a release file: suggestion-1.toml and so on.",
)
@options.format_options
def suggest(given: Given) -> int:
    """Find safe releases near RELEASE, if publishing that about TABLE is not safe.

    Fewer decimals, coarser counts, merged levels, variables dropped, statements or figures
    withheld: every suggestion is judged before it is shown, and they are ranked by what they keep.
    Leaves with 0 if RELEASE is safe or a safe release was found, with 1 if none was found.
    """
    from cellbounds.disclosure.suggesting import suggest as suggest_releases
    from cellbounds.report.formats import render
    from cellbounds.runtime.progress import Progress

    over = options.names_of(given.over, "--over")
    if given.save is not None:
        _check_folder(Path(given.save))
    inputs = [given.table, *given.release, *given.knows, given.policy, given.save]
    check_outputs([given.output], inputs)
    with Progress("reading the table") as progress:
        table = options.read_owned(given.table, given)
        release = options.combine(table, given.release, given)
        progress.say("judging releases")
        with options.budgeted(given, progress) as budget:
            suggestions = suggest_releases(
                release,
                table,
                given.policy,
                over=over,
                most=given.most,
                changes=given.changes,
                knows=options.read_knowledge(
                    given.knows, table.domain, allow_outside=given.allow_outside
                ),
                independent=given.independent,
                budget=budget,
            )
    if given.save is not None:
        _save(suggestions, Path(given.save))
    write_text(render(suggestions, given.style), given.output, given.style, private=True)
    return options.SAFE if suggestions.safe_already or len(suggestions) else options.UNSAFE


def _check_folder(folder: Path) -> None:
    """Check the folder to write to before long work; it is made when there is something for it."""
    parent = folder.absolute().parent
    if not folder.exists() and not parent.is_dir():
        raise InvalidInput(f"--save {folder} cannot be made: there is no folder {parent}")
    if not os.access(folder if folder.exists() else parent, os.W_OK):
        raise InvalidInput(f"--save {folder} cannot be written to; choose another folder")
    if any(folder.glob("suggestion-*")):
        raise InvalidInput(
            f"--save {folder} holds suggestions already, which may be about something else; choose "
            "another folder or empty it"
        )


def _save(suggestions: Suggestions, folder: Path) -> None:
    """Write all suggestions or none: first where nobody looks, then they are moved into place."""
    from cellbounds.statements.release_files import write_release

    there = folder.is_dir()
    try:
        # Inside, if it is there: the place around it may be closed to us.
        with hidden_folder(folder / "suggestions" if there else folder) as hidden:
            for rank, suggestion in enumerate(suggestions, 1):
                write_release(suggestion.release, hidden / f"suggestion-{rank}.toml")
            folder.mkdir(exist_ok=True)
            for file in sorted(hidden.iterdir()):
                file.replace(folder / file.name)
    except OSError as problem:
        for file in folder.glob("suggestion-*"):  # ours: there were none before
            file.unlink()
        if not there and folder.is_dir():
            folder.rmdir()
        raise InvalidInput(
            f"--save {folder} cannot be written: {problem.strerror}; nothing was saved"
        ) from None
