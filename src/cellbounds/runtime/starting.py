"""Ctrl-C while the command line loads. Imported first, so it imports next to nothing itself."""

import os
import sys
from _signal import (  # type: ignore[import-not-found]  # it has no stubs
    SIGINT,
    default_int_handler,
    getsignal,
    signal,
)

INTERRUPTED = 130
"""The exit status of a command that somebody interrupted."""


def _end(_number: int, _frame: object) -> None:
    """End at once: there is nothing yet that would have to be put in order."""
    try:
        os.write(2, b"interrupted\n")
    finally:
        os._exit(INTERRUPTED)


def _is_command() -> bool:
    """Whether this process was started to run the command line."""
    name = os.path.basename(sys.argv[0]).partition(".")[0]  # noqa: PTH119 - pathlib takes a while
    return name == "cellbounds" or (name == "-m" and "cellbounds.cli" in sys.orig_argv)


# The rest of the package takes a while to load, all of which could be interrupted halfway.
if sys.argv and _is_command() and getsignal(SIGINT) is default_int_handler:
    signal(SIGINT, _end)
