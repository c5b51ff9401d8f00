"""What a small audit enters: named functions, modules, and how deep the solver sits.

``python benchmarks/call_path.py [--json]`` runs ``cellbounds audit`` of the shipped delinquent
table (16 cells) in this process, under ``sys.setprofile``, and counts

- the named functions of cellbounds that are entered: their module and qualified name, without
  lambdas, comprehensions, generator expressions and module bodies;
- the modules that these functions are defined in;
- the frames of cellbounds between the command and the solver.

The rule for the last must hold for older trees too, where folders and methods have other names.
The *command* is the function named ``audit`` in a module of ``cellbounds.cli``. The *solver* is the
first method of a class of the package ``solvers`` (before: ``methods``) that is named ``solve`` or
``work`` and takes the facts of a release: those are the only methods that a chooser calls. Every
frame of cellbounds between the two counts.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

RELEASE = "[education|county]@2"
OPTIONS = ("--rounding", "consistent", "--policy", "small-counts")
SOLVER_ROOMS = ("cellbounds.solvers", "cellbounds.methods")
SOLVER_METHODS = ("solve", "work")


class CallPath:
    """Listens to the calls of a program."""

    def __init__(self) -> None:
        self.functions: set[tuple[str, str]] = set()
        self.path: list[str] = []

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> None:
        """Note a call of a named function of cellbounds."""
        if event != "call":
            return
        name = _named(frame)
        if name is None:
            return
        self.functions.add(name)
        if not self.path and _is_solver(name, frame.f_code):
            self.path = [".".join(one) for one in reversed(list(_since_command(frame)))]

    def counts(self) -> dict[str, Any]:
        """What was entered."""
        return {
            "functions": len(self.functions),
            "modules": len({module for module, _ in self.functions}),
            "frames": len(self.path) - 2,
            "path": self.path,
        }


def _named(frame: FrameType) -> tuple[str, str] | None:
    """The module and the qualified name of a named function of cellbounds."""
    module = frame.f_globals.get("__name__", "")
    name = frame.f_code.co_qualname
    ours = module == "cellbounds" or module.startswith("cellbounds.")
    # Bodies of modules and of classes are code, but nobody calls them; nor did anybody write what
    # dataclasses make.
    called = bool(frame.f_code.co_flags & 0x2) and not frame.f_code.co_filename.startswith("<")
    return (module, name) if ours and called and "<" not in name.rsplit(".", 1)[-1] else None


def _is_solver(name: tuple[str, str], code: CodeType) -> bool:
    module, qualified = name
    given = code.co_varnames[: code.co_argcount]
    return (
        module.startswith(SOLVER_ROOMS)
        and qualified.split(".")[-1] in SOLVER_METHODS
        and given[:2] == ("self", "facts")
    )


def _since_command(frame: FrameType) -> Iterator[tuple[str, str]]:
    """The named frames of cellbounds from here back to the command."""
    current: FrameType | None = frame
    while current is not None:
        name = _named(current)
        if name is not None:
            yield name
            if name[0].startswith("cellbounds.cli") and name[1] == "audit":
                return
        current = current.f_back


def measure() -> dict[str, Any]:
    """Run the audit twice and listen to the second: the first one loads modules."""
    from cellbounds.cli import main

    _quietly(main, _table())
    listener = CallPath()
    sys.setprofile(listener)
    try:
        _quietly(main, _table())
    finally:
        sys.setprofile(None)
    return listener.counts()


def _table() -> Path:
    """The shipped table, wherever a tree keeps it."""
    import cellbounds

    return next(Path(cellbounds.__file__).parent.rglob("delinquent.csv"))


def _quietly(main: Any, path: Path) -> None:
    before, sys.argv = sys.argv, ["cellbounds", "audit", str(path), RELEASE, *OPTIONS]
    try:
        with (
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
            contextlib.suppress(SystemExit),
        ):
            main()
    finally:
        sys.argv = before


def main() -> None:
    """Print what was counted."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = parser.parse_args()
    counts = measure()
    if given.json:
        print(json.dumps(counts))
        return
    print(f"functions {counts['functions']}, modules {counts['modules']}")
    print(f"frames between the command and the solver {counts['frames']}:")
    for name in counts["path"]:
        print(f"  {name}")


if __name__ == "__main__":
    main()
