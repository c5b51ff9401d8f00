"""How long the commands may work, and who works for them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager

import click

from cellbounds.cli.options import Decorated, decorated
from cellbounds.errors import InvalidInput

__all__ = ["effort_options", "workers"]


def effort_options(function: Decorated) -> Decorated:
    """Budget, processes and certificate."""
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
    return decorated(function, options)


@contextmanager
def workers(jobs: int) -> Iterator[Executor | None]:
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
