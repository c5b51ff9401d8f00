"""Cases run in children of one process that has everything imported, under limits.

A child costs some tens of milliseconds where a new interpreter costs a second. Nothing of the
program runs in the parent: threads and locks of solvers and databases would not survive the fork.
"""

from __future__ import annotations

import atexit
import gc
import hashlib
import importlib
import io
import os
import pkgutil
import resource
import shutil
import signal
import stat
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reliability.fuzz.case import Case, File
from reliability.waiting import Watch

__all__ = ["MEMORY", "PATIENCE", "Outcome", "run", "run_once", "scratch", "warm"]

MEMORY = 2 << 30
"""Bytes that a run may take; it is stopped beyond."""

PATIENCE = 60.0
"""Seconds that a run without a budget of its own may take."""

GRACE = 5
"""A run with a budget is stopped after so many times what it may take: the machine may be busy."""

LARGEST_FILE = 512 << 20

KEPT = 1 << 20
"""Bytes of each output that are looked at."""

PAUSE = 0.004

HEAVY = (
    "scipy.sparse", "scipy.optimize", "scipy.special", "ortools.sat.python.cp_model", "highspy",
    "numba", "flint", "duckdb", "pyarrow.parquet", "openpyxl", "yaml", "altair", "vl_convert",
    "sqlalchemy", "alembic.command", "jinja2", "arviz_stats", "psutil", "narwhals", "tomli_w",
)  # fmt: skip

Place = dict[str, tuple[int, str]]


@dataclass(slots=True)
class Outcome:
    """What became of a run.

    Attributes
    ----------
    status
        The exit status; the negative number of a signal that ended it.
    elapsed, seconds
        How long it took, and the same less what it waited for a processor after its budget was
        spent (see `reliability.waiting`).
    memory
        The bytes that it and its children held at most.
    stopped
        ``time`` or ``memory``, if the run had to be stopped.
    made, changed
        Files that were not there before, with their sizes; files that were, and are not as before.
    cause
        Kind and place of an error that the program had not foreseen.
    """

    status: int = 0
    elapsed: float = 0.0
    seconds: float = 0.0
    memory: int = 0
    stopped: str = ""
    stdout: bytes = b""
    stderr: bytes = b""
    made: dict[str, int] = field(default_factory=dict)
    changed: list[str] = field(default_factory=list)
    cause: str = ""


def warm() -> None:
    """Import the program and what it uses, so that no run waits for it."""
    import cellbounds

    for module in pkgutil.walk_packages(cellbounds.__path__, "cellbounds."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for name in HEAVY:
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # what is here stays: children need not look at it, which would copy it


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder that is removed; by the parent alone, not by its children when they end."""
    folder = Path(tempfile.mkdtemp(prefix="cellbounds-fuzz-"))
    try:
        yield folder
    finally:
        shutil.rmtree(os.fsencode(folder), ignore_errors=True)


def run(cases: Iterable[Case], jobs: int, memory: int = MEMORY) -> Iterator[tuple[Case, Outcome]]:
    """Run cases, some at a time; they come back as they end."""
    waiting = iter(cases)
    running: list[_Run] = []
    with scratch() as folder:
        try:
            while True:
                while len(running) < jobs and (case := next(waiting, None)) is not None:
                    running.append(_Run(case, folder / str(case.number), memory))
                if not running:
                    return
                for one in [one for one in running if one.ended()]:
                    running.remove(one)
                    yield one.case, one.outcome()
                    one.remove()
                time.sleep(PAUSE)
        finally:
            for one in running:
                one.stop()


def run_once(case: Case, folder: Path) -> Outcome:
    """Run one case in a folder that stays."""
    one = _Run(case, folder)
    while not one.ended():
        time.sleep(PAUSE)
    return one.outcome()


class _Run:
    """A case under way."""

    def __init__(self, case: Case, root: Path, memory: int = MEMORY) -> None:
        self.case, self.root, self.memory = case, root, memory
        self.work, self.apart = root / "work", root / "apart"
        for folder in (self.work, root / "tmp", root / "home", self.apart):
            folder.mkdir(parents=True)
        _lay_out(case.files, self.work)
        self.before = _listed(root)
        self.result = Outcome()
        self.interrupted = case.interrupt is None
        self.started = time.monotonic()
        self.limit = PATIENCE if case.budget is None else GRACE * (1.1 * case.budget + 1)
        # Ctrl-C waits until the program has begun: before, it would meet the harness.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        self.process = os.fork()
        if self.process == 0:
            _be_the_program(case, root)
        self.watch = Watch(self.process, self.started + (case.budget or 0))
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})

    def ended(self) -> bool:
        """Look after the run; whether it has ended."""
        process, status, used = os.wait4(self.process, os.WNOHANG)
        result = self.result
        result.elapsed = time.monotonic() - self.started
        if process:
            result.memory = max(result.memory, used.ru_maxrss * 1024)
            result.seconds = result.elapsed - self.watch.waited
            result.status = os.waitstatus_to_exitcode(status)
            self._end_group()
            return True
        result.memory = max(result.memory, _resident(self.process))
        self.watch.look()
        if not self.interrupted and result.elapsed >= (self.case.interrupt or 0):
            self.interrupted = True
            os.kill(self.process, signal.SIGINT)
        if result.memory > self.memory:
            result.stopped = "memory"
        elif result.elapsed > self.limit:
            result.stopped = "time"
        if result.stopped:
            self._end_group()
        return False

    def stop(self) -> None:
        """End it now."""
        self._end_group()
        with suppress(ChildProcessError):
            os.waitpid(self.process, 0)

    def _end_group(self) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process, signal.SIGKILL)

    def outcome(self) -> Outcome:
        """What became of it."""
        result = self.result
        result.stdout = _beginning(self.apart / "stdout")
        result.stderr = _beginning(self.apart / "stderr")
        result.cause = _beginning(self.apart / "cause").decode("utf-8", "replace")
        after = _listed(self.root)
        result.made = {name: size for name, (size, _) in after.items() if name not in self.before}
        lasting = {f"work/{file.name}" for file in self.case.files if file.lasting}
        result.changed = [
            name
            for name, before in self.before.items()
            if name not in lasting and after.get(name) != before
        ]
        return result

    def remove(self) -> None:
        """Remove everything of it."""
        shutil.rmtree(os.fsencode(self.root), ignore_errors=True)


def _lay_out(files: Iterable[File], work: Path) -> None:
    for file in files:
        path = work / file.name
        with suppress(OSError, ValueError):  # names that no folder can hold: the file is missing
            if file.kind == "folder":
                path.mkdir()
            elif file.kind in ("pipe", "endless"):
                os.mkfifo(path)
            elif file.kind == "link":
                path.symlink_to(file.target)
            elif file.kind == "sparse":
                path.write_bytes(file.content)
                os.truncate(path, file.length)
            else:
                path.write_bytes(file.content)
                path.chmod(file.mode)


def _listed(root: Path) -> Place:
    """Everything below a folder, with sizes and digests; what is captured apart."""
    found: Place = {}
    for folder, inner, names in os.walk(root):
        if folder == str(root):
            inner.remove("apart")
        for name in [*names, *inner]:
            path = Path(folder, name)
            status = path.lstat()
            small = stat.S_ISREG(status.st_mode) and status.st_size < KEPT * 4
            digest = hashlib.sha256(path.read_bytes()).hexdigest() if small else ""
            size = 0 if stat.S_ISDIR(status.st_mode) else status.st_size
            kind = str(stat.S_IFMT(status.st_mode))
            found[str(path.relative_to(root))] = (size, digest or kind)
    return found


def _beginning(path: Path) -> bytes:
    if not path.exists():
        return b""
    with path.open("rb") as stream:
        return stream.read(KEPT)


def _resident(process: int) -> int:
    """Bytes that a process and its children hold."""
    total = 0
    try:
        total = int(Path(f"/proc/{process}/statm").read_text().split()[1]) * resource.getpagesize()
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except (OSError, IndexError):  # it has just ended, or this is not Linux
        return total
    return total + sum(_resident(int(child)) for child in children)


# The child


def _be_the_program(case: Case, root: Path) -> None:
    """Become a process that has just been started with these words; never returns."""
    apart = root / "apart"
    status = 99
    try:
        os.setsid()
        for signum in (signal.SIGTERM, signal.SIGHUP, signal.SIGALRM):
            signal.signal(signum, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))
        os.chdir(root / "work")
        for file in case.files:
            if file.kind in ("pipe", "endless"):
                _feed(file)
        os.environ.update({"TMPDIR": str(root / "tmp"), "HOME": str(root / "home")})
        os.environ.update(case.environment)
        tempfile.tempdir = None
        _redirect(case, apart)
        sys.argv = ["cellbounds", *case.words]
        sys.modules["__main__"].__package__ = ""  # messages name the program by it
        status = _main(apart)
    except BaseException:
        (apart / "cause").write_text(f"in the harness: {traceback.format_exc()}")
    finally:
        os._exit(status)


def _main(apart: Path) -> int:
    """Run the program as an interpreter does: its main function, then the shutdown."""
    import cellbounds.cli

    _note_causes(cellbounds.cli.commands, apart)
    status = 0
    try:
        cellbounds.cli.main()
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else int(left.code is not None)
    except BaseException:
        status = 1
        with suppress(Exception):
            traceback.print_exc()
    with suppress(BaseException):
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            status = 120
    return status


def _note_causes(commands: Any, apart: Path) -> None:
    """Keep where an unforeseen error came from, which the program itself does not show."""
    from click import Abort, ClickException
    from click.exceptions import Exit

    from cellbounds.errors import CellboundsError

    original = commands.main

    def main(*arguments: Any, **options: Any) -> Any:
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
            return original(*arguments, **options)
        except (CellboundsError, ClickException, Abort, Exit, KeyboardInterrupt, SystemExit):
            raise
        except Exception as problem:
            frames = traceback.extract_tb(problem.__traceback__)
            ours = [frame for frame in frames if "cellbounds" in frame.filename]
            last = (ours or frames)[-1]
            where = last.filename.rpartition("cellbounds/")[2]
            said = f"{type(problem).__name__} at {where}:{last.lineno}\n{traceback.format_exc()}"
            (apart / "cause").write_text(said, "utf-8", "backslashreplace")
            raise

    commands.main = main


def _feed(file: File) -> None:
    """A process that writes into a pipe as soon as somebody reads it."""
    if os.fork():
        return
    try:
        with Path(file.name).open("wb") as pipe:
            pipe.write(file.content)
            lines = file.content.splitlines(keepends=True)[-1:] or [b"\n"]
            while file.kind == "endless":
                pipe.write(lines[0] * 1000)
    except BaseException:
        os._exit(1)
    os._exit(0)


def _redirect(case: Case, apart: Path) -> None:
    inside = os.open(os.devnull, os.O_RDONLY)
    if case.stdin is not None:
        inside, end = os.pipe()
        os.write(end, case.stdin[:4096])
        os.close(end)
    os.dup2(inside, 0)
    for number, name, how in ((1, "stdout", case.stdout), (2, "stderr", case.stderr)):
        made: int | None = None
        if how == "file":
            made = os.open(apart / name, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        elif how == "full":
            made = os.open("/dev/full", os.O_WRONLY)
        elif how == "broken":
            reader, made = os.pipe()
            os.close(reader)
        if made is None:
            os.close(number)
        else:
            os.dup2(made, number)
            if made > 2:
                os.close(made)
    if inside > 2:
        os.close(inside)
    encoding, _, errors = case.environment.get("PYTHONIOENCODING", "utf-8").partition(":")
    sys.stdin = io.TextIOWrapper(io.FileIO(0), encoding)
    sys.stdout = _stream(1, case.stdout, encoding, errors or "strict", False)
    sys.stderr = _stream(2, case.stderr, encoding, "backslashreplace", True)
    sys.__stdout__, sys.__stderr__ = sys.stdout, sys.stderr  # type: ignore[misc]


def _stream(number: int, how: str, encoding: str, errors: str, lines: bool) -> Any:
    """A standard stream as the interpreter makes it; None where the descriptor is closed."""
    if how == "closed":
        return None
    raw = io.BufferedWriter(io.FileIO(number, "w", closefd=False))
    return io.TextIOWrapper(raw, encoding, errors, line_buffering=lines, write_through=False)
