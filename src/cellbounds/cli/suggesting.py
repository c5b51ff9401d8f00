"""`suggest`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from cellbounds.cli.options import (
    EPILOG,
    SAFE,
    UNSAFE,
    WHOLE,
    combine,
    format_options,
    knows_option,
    names_of,
    policy_options,
    publishing_options,
    read_knowledge,
)
from cellbounds.cli.outputs import check_outputs, write_text
from cellbounds.cli.reading import read_owned, table_options
from cellbounds.cli.working import effort_options, workers
from cellbounds.errors import InvalidInput
from cellbounds.runtime.files import hidden_folder

if TYPE_CHECKING:
    from cellbounds.disclosure.suggesting import Suggestions

__all__ = ["suggest"]


@click.command(epilog=EPILOG)
@click.argument("table", type=click.Path())
@click.argument("release", nargs=-1, required=True)
@table_options
@publishing_options
@policy_options
@knows_option
@click.option("--over", metavar="A,B", help="Judge the cells of this margin.")
@click.option("--most", type=WHOLE, default=10, show_default=True, help="Suggestions at most.")
@click.option(
    "--changes", type=WHOLE, default=2, show_default=True, help="Changes at once at most."
)
@effort_options("what was not tried by then is said")
@click.option(
    "--save",
    type=click.Path(file_okay=False),
    metavar="FOLDER",
    help="Write each suggestion there as a release file: suggestion-1.toml and so on.",
)
@format_options
def suggest(
    table: str,
    release: tuple[str, ...],
    policy: str,
    independent: bool,
    knows: tuple[str, ...],
    over: str | None,
    most: int,
    changes: int,
    seconds: float,
    save: str | None,
    style: str,
    output: str | None,
    **options: Any,
) -> int:
    """Find safe releases near RELEASE, if publishing that about TABLE is not safe.

    Fewer decimals, coarser counts, merged levels, variables dropped, statements or figures
    withheld: every suggestion is judged before it is shown, and they are ranked by what they keep.
    Leaves with 0 if RELEASE is safe or a safe release was found, with 1 if none was found.
    """
    from cellbounds.disclosure.suggesting import suggest as suggest_releases
    from cellbounds.report.listings import render_listing
    from cellbounds.runtime.progress import Progress

    asked = names_of(over, "--over")
    if save is not None:
        _check_folder(Path(save))
    check_outputs([output], [table, *release, *knows, policy, save])
    with Progress("reading the table") as progress:
        owned = read_owned(table, options)
        made = combine(owned, release, options)
        progress.say("judging releases")
        with workers(options) as executor:
            found = suggest_releases(
                made,
                owned,
                policy,
                over=asked,
                most=most,
                changes=changes,
                seconds=seconds,
                knows=read_knowledge(knows, owned.domain, allow_outside=options["allow_outside"]),
                independent=independent,
                executor=executor,
                progress=progress.step,
            )
    if save is not None:
        _save(found, Path(save))
    write_text(render_listing(found, style), output, style, private=True)
    return SAFE if found.safe_already or len(found) else UNSAFE


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


def _save(found: Suggestions, folder: Path) -> None:
    """Write all suggestions or none: first where nobody looks, then they are moved into place."""
    from cellbounds.statements.files import write_release

    there = folder.is_dir()
    try:
        # Inside, if it is there: the place around it may be closed to us.
        with hidden_folder(folder / "suggestions" if there else folder) as hidden:
            for rank, suggestion in enumerate(found, 1):
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
