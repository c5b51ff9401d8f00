"""How long the commands may work, and who works for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Any, cast

import click

from cellbounds.cli.options import WHOLE, Decorated, decorated
from cellbounds.errors import InvalidInput
from cellbounds.runtime.files import is_stream

__all__ = [
    "certificate_option",
    "effort_options",
    "memory_option",
    "resumable",
    "state_option",
    "workers",
]

certificate_option = click.option(
    "--certificate",
    type=click.Path(dir_okay=False),
    help="Write bounds, witnesses and proofs to this file, for `cellbounds verify`.",
)


def effort_options(
    late: str = "what is not settled by then is reported as such", seconds: float | None = 600.0
) -> Callable[[Decorated], Decorated]:
    """Budget and workers; `late` says what becomes of what the budget does not reach."""
    options = [
        click.option(
            "--seconds",
            type=float,
            default=seconds,
            show_default=seconds is not None,
            help=f"Budget; {late}.",
        ),
        click.option(
            "--jobs",
            type=WHOLE,
            metavar="N",
            help="Processes that share long work; as many as there are cores unless given.",
        ),
        click.option(
            "--scheduler",
            metavar="ADDRESS",
            help="Share the work with the Dask cluster at tcp://HOST:PORT instead. What it works "
            "on is sent there, also the confidential table.",
        ),
    ]

    def decorate(function: Decorated) -> Decorated:
        return decorated(memory_option(function), options)

    return decorate


def memory_option(function: Decorated) -> Decorated:
    """Memory for the whole command, reading and writing included."""

    @click.option(
        "--memory",
        metavar="SIZE",
        help="Give up, with exit status 3, rather than take more memory than this, such as 2GiB.",
    )
    @wraps(function)
    def watched(*arguments: Any, memory: str | None, **options: Any) -> Any:
        from cellbounds.runtime.memory import limited

        with limited(memory):
            return function(*arguments, **options)

    return cast(Decorated, watched)


state_option = click.option(
    "--state",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Keep what was proven and found in FILE, and go on from there if it exists. As "
    "confidential as the table.",
)


@contextmanager
def resumable(state: str | None, work: str) -> Iterator[None]:
    """Say to whoever interrupts the work what is kept of it."""
    if state is not None and is_stream(Path(state)):
        raise InvalidInput(f"{state} is no ordinary file, which a state must be; name another file")
    try:
        yield
    except KeyboardInterrupt:
        if state is None:
            said = f"nothing was kept; with --state FILE the {work} can be resumed"
        else:
            said = f"{state} keeps what was found; give the same command again to go on"
        raise KeyboardInterrupt(said) from None


@contextmanager
def workers(options: Mapping[str, Any]) -> Iterator[Executor | None]:
    """Whoever shares the work, by the options of :func:`effort_options`; None if nobody does."""
    jobs, scheduler = options["jobs"], options["scheduler"]
    from cellbounds.runtime.workers.processes import MOST, Processes, cores

    if jobs is not None and not 1 <= jobs <= MOST:
        raise InvalidInput(f"--jobs {jobs}; give 1 to {MOST}")
    if scheduler is not None:
        if jobs is not None:
            raise InvalidInput(
                "--jobs and --scheduler: give one of them; the cluster knows its own workers"
            )
        from cellbounds.runtime.workers.cluster import cluster

        with cluster(scheduler) as executor:
            yield executor
        return
    number = min(cores(), MOST) if jobs is None else jobs
    if number == 1:
        yield None
        return
    with Processes(number) as executor:
        yield executor
