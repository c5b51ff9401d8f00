"""`explore`, `margins` and `suggest`: what could be published instead, or together."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cellbounds.cli import options
from cellbounds.cli.intruders import policy_given, read_knowledge
from cellbounds.cli.options import Given, option
from cellbounds.cli.outputs import check_outputs, check_suffix, save_chart, say, write_result
from cellbounds.errors import InvalidInput
from cellbounds.runtime.budget import Budget, stopped_late
from cellbounds.runtime.files import hidden_folder
from cellbounds.runtime.inputs import read_toml
from cellbounds.statements.numbers import MOST_DIGITS
from cellbounds.statements.release import combined_release

if TYPE_CHECKING:
    from cellbounds.disclosure.exploring import Frontier
    from cellbounds.disclosure.suggesting import Suggestions


@options.command
@options.table_argument
@option("--response Y", "The variable whose rates are wanted.", required=True)
@option(
    "--given A,B",
    'A set of predictors to try; again for more ("" for none). All subsets unless given.',
    "givens",
    multiple=True,
)
@option(
    "--digits D", 'Decimals to try: "1-4" (unless given), "2,4", "exact"; with --eps what it needs.'
)
@option(
    f"--rounding {options.RATE_ROUNDINGS}",
    "A rounding rule to try; again for more. Nearest unless given.",
    multiple=True,
)
@option("--eps EPS", "A tolerance to try; again for more.", multiple=True)
@options.strict_option
@option(
    "--merge-levels adjacent|FILE",
    "Try merged levels too: of every two neighbours, or those that FILE (.toml) lists.",
)
@options.no_total_option
@options.choice_options
@options.table_options
@options.effort_options("designs not reached by then are left out", None)
@option("--state FILE", "Keep what was found in this file, and go on from it. Confidential.")
@option("--plot FILE", "Draw to this .html, .svg or .png file.")
@option("--best FILE", "Write the best safe release (.toml).")
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
    from cellbounds.disclosure.exploring import explore as search
    from cellbounds.disclosure.policies import Outcome

    if given.plot is not None:
        check_suffix(given.plot, (".html", ".svg", ".png"))
    # A state is read as well as written; a file that is none is refused when it is read.
    check_outputs(
        [given.plot, given.best, given.output, given.state],
        [given.table, given.policy, given.merge_levels],
    )
    with options.working(given, "reading the table", "search") as (progress, budget):
        answering = options.answering(budget, given.plot)
        with stopped_late(answering):
            table = options.read_owned(given.table, given)
            designs = _designs(given)
            progress.say("judging designs")
            frontier = search(table, **designs, budget=answering)
        progress.say("writing")
        _write_explored(frontier, given, budget)
    if frontier.best is not None:
        return options.SAFE
    unsafe = all(design.outcome is Outcome.UNSAFE for design in frontier.designs)
    return options.UNSAFE if frontier.complete and unsafe else options.UNDECIDED


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
        "policy": policy_given(given),
        "independent": given.independent,
    }


def _digits(text: str | None, tolerances: bool) -> list[int | None] | range | None:
    if text is None:
        return None if tolerances else range(1, 5)
    digits: list[int | None] = []
    for part in text.split(","):
        span = options.span_of(part)
        if part.strip() == "exact":
            digits.append(None)
        elif span is None:
            raise InvalidInput(f'--digits {text!r}; write it like "1-4", "2,4" or "exact"')
        elif not span[0] <= span[1] <= MOST_DIGITS:
            raise InvalidInput(f"--digits {text!r}; give decimals from 0 to {MOST_DIGITS}")
        else:
            digits += range(span[0], span[1] + 1)
    return digits


def _merges(text: str | None) -> Any:
    """Ways to merge levels: a word, or a file with `[[variable]]` and `new = [old, old]`."""
    from cellbounds.disclosure.exploring.designs import ADJACENT

    if text is None or text == ADJACENT:
        return text
    try:
        return read_toml(text)
    except InvalidInput as problem:
        raise InvalidInput(
            f"--merge-levels {text}: neither {ADJACENT!r} nor a file of merges: {problem}"
        ) from None


def _write_explored(frontier: Frontier, given: Given, budget: Budget) -> None:
    if not frontier.designs and frontier.left_out:
        first = frontier.left_out[0]
        raise InvalidInput(f"no design can be published; {first.design.notation}: {first.why}")
    if given.plot is not None:
        save_chart(frontier, given.plot, budget, private=True)
    if given.best is not None and frontier.best is None:
        say(f"no design is safe: {given.best} was not written")
    elif given.best is not None:
        frontier.best_release().write(given.best)
    write_result(frontier, given, private=True)


@options.command
@options.table_argument
@options.table_options
@option("--way K", "All margins of K variables; else all margins.", type=options.WHOLE)
@option("--margin A,B", "A margin; repeat it.", "chosen", multiple=True)
@option(
    "--statement STATEMENT",
    'Any statement, such as "[A,B]~5" or "[Y|A]@2"; repeat it.',
    "statements",
    multiple=True,
)
@option(
    "--given RELEASE",
    "What is out already: a statement or a release file; repeat it.",
    "out",
    multiple=True,
)
@options.outside_option
@options.no_total_option
@options.policy_options
@options.effort_options()
@options.format_options
def margins(given: Given) -> int:
    """Find the largest sets of margins of TABLE that are safe together.

    Margins of one table are linked tables: safe one by one is not safe together. TABLE is a tidy
    CSV file. The candidates are all its margins, unless --way, --margin or
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

    with options.working(given, "reading the table") as (progress, budget), stopped_late(budget):
        table = options.read_owned(given.table, given)
        listed = [options.names_of(text, "--margin") or [] for text in given.chosen]
        out = None
        if given.out:
            outside = given.allow_outside
            out = combined_release(table, given.out, total=False, allow_outside=outside)
        progress.say("judging sets")
        safe_sets = safe_margins(
            table,
            margins=listed or given.way,
            given=out,
            statements=given.statements or None,
            policy=policy_given(given),
            total=not given.no_total,
            independent=given.independent,
            budget=budget,
        )
    write_result(safe_sets, given, private=True)
    if any(safe_set.statements for safe_set in safe_sets.safe):
        return options.SAFE
    return options.UNSAFE if safe_sets.complete else options.UNDECIDED


@options.command
@options.table_argument
@click.argument("release", nargs=-1, required=True)
@options.table_options
@options.publishing_options
@options.choice_options
@options.knows_option
@option("--over A,B", "Judge the cells of this margin.")
@option("--most INTEGER", "Suggestions at most.", default=10)
@option("--changes INTEGER", "Changes at once at most.", default=2)
@options.effort_options("what was not tried by then is said")
@option(
    "--save FOLDER", "Write each suggestion there as a release file: suggestion-1.toml and so on."
)
@options.format_options
def suggest(given: Given) -> int:
    """Find safe releases near RELEASE, if publishing that about TABLE is not safe.

    Fewer decimals, coarser counts, merged levels, variables dropped, statements withheld, figures
    suppressed with the secondary (complementary) suppression that protects them: every suggestion
    is judged before it is shown, and they are ranked by what they keep. Leaves with 0 if RELEASE
    is safe or a safe release was found, with 1 if none was found.
    """
    from cellbounds.disclosure.suggesting import suggest as suggest_releases

    over = options.names_of(given.over, "--over")
    if given.save is not None:
        _check_folder(Path(given.save))
    inputs = [given.table, *given.release, *given.knows, given.policy, given.save]
    check_outputs([given.output], inputs)
    with options.working(given, "reading the table") as (progress, budget), stopped_late(budget):
        table = options.read_owned(given.table, given)
        release = options.combine(table, given.release, given)
        progress.say("judging releases")
        suggestions = suggest_releases(
            table,
            release,
            policy_given(given),
            over=over,
            most=given.most,
            changes=given.changes,
            knows=read_knowledge(given, table.domain),
            independent=given.independent,
            budget=budget,
        )
    if given.save is not None:
        _save(suggestions, Path(given.save))
    write_result(suggestions, given, private=True)
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
    there = folder.is_dir()
    try:
        # Inside, if it is there: the place around it may be closed to us.
        with hidden_folder(folder / "suggestions" if there else folder) as hidden:
            for rank, suggestion in enumerate(suggestions, 1):
                suggestion.release.write(hidden / f"suggestion-{rank}.toml")
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
