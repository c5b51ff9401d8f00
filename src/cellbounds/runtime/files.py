"""Files written whole or not at all, and the optional libraries that some of them need.

What is not finished lies beside what it is for, under a name of its own: never in a folder for
temporary files, which others share. Whoever writes it holds a lock on it. If it has no owner any
more, because that was killed, the next to write to the same place removes it.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import secrets
import shutil
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from cellbounds.errors import InvalidInput
from cellbounds.runtime.interrupts import BEFORE_END

PRIVATE = 0o600
"""The mode of a new file that is for its owner only."""

USUAL = 0o666
"""The mode of other new files, of which the user's mask takes away."""

MARK = ".cellbounds"
"""How the names of what is not finished end."""

_UNFINISHED: set[Path] = set()
"""What this process has to remove before it ends."""


def library(name: str, *, needed_for: str, extra: str) -> Any:
    """Import an optional library, or say how to install it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        needed = name.partition(".")[0]
        raise InvalidInput(
            f"{needed_for} need {needed}; install it with pip install 'cellbounds[{extra}]'"
        ) from None


def is_stream(path: Path) -> bool:
    """Whether a path is written to as it is: a terminal, a pipe, a device, an open stream.

    Examples
    --------
    >>> is_stream(Path("/dev/null")), is_stream(Path("table.csv"))
    (True, False)
    """
    # An open stream may lead to an ordinary file that already holds what others wrote to it.
    opened = str(path.absolute()).startswith(("/dev/std", "/dev/fd/", "/proc/self/fd/"))
    return path.exists() and (opened or not (path.is_file() or path.is_dir()))


def write_whole(path: Path, content: str | bytes, *, private: bool = False) -> None:
    """Write a file at once: readers see the old content or the new, never a part.

    What is not an ordinary file (a terminal, a pipe, /dev/null) is written to as it is; a link
    keeps pointing where it does. A file that is replaced keeps its mode; a new one is for its owner
    only if `private`, from the beginning.
    """
    target = Path(os.path.realpath(path))
    # Bytes as they are: newlines are not translated.
    raw = content.encode("utf-8") if isinstance(content, str) else content
    try:
        if is_stream(path):
            # By its own name: what a pipe's link leads to is no path.
            with path.open("ab") as stream:
                stream.write(raw)
            return
        remove_abandoned(target)
        before = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
        mode = USUAL if before is None and not private else PRIVATE
        with _unfinished(target) as temporary:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            file = _locked_at(temporary, lambda: os.open(temporary, flags, mode))
            with os.fdopen(file, "wb") as stream:
                stream.write(raw)
                stream.flush()
                temporary.replace(target)
                # Not before: what is unfinished is for its owner only, whatever becomes of it.
                if before is not None:
                    target.chmod(before)
    except OSError as problem:
        raise InvalidInput(f"{path} cannot be written: {problem.strerror}") from None


@contextlib.contextmanager
def hidden_folder(target: Path) -> Iterator[Path]:
    """A folder beside a place, for its owner only, that is removed in the end."""
    remove_abandoned(target)
    with _unfinished(target) as folder:
        if os.name != "posix":
            folder.mkdir()
            yield folder
            return
        file = _locked_at(folder, lambda: _made_folder(folder))
        try:
            yield folder
        finally:
            os.close(file)


def _made_folder(folder: Path) -> int:
    folder.mkdir(mode=0o700)
    return os.open(folder, os.O_RDONLY)


@contextlib.contextmanager
def private_folder() -> Iterator[Path]:
    """A folder for confidential work that does not fit into memory: in the user's own cache.

    Or in the current folder, where there is no such place.
    """
    for place in (_cache(), Path.cwd()):
        try:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(place, os.W_OK):
            with hidden_folder(place / "work") as folder:
                yield folder
            return
    raise InvalidInput(
        f"neither {_cache()} nor the current folder can be written to, and the work may need a "
        "place on disk; set XDG_CACHE_HOME to a folder of your own"
    )


def _cache() -> Path:
    """Where programs may keep things of this user."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "cellbounds"
    # As the specification of such folders has it: a relative path counts as none.
    named = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(named) if Path(named).is_absolute() else Path.home() / ".cache") / "cellbounds"


@contextlib.contextmanager
def _unfinished(target: Path) -> Iterator[Path]:
    """The path of something to be made beside a target; removed if it is still there after."""
    # "/" has no name.
    temporary = target.absolute().parent / f".{target.name}.{secrets.token_hex(4)}{MARK}"
    _UNFINISHED.add(temporary)
    try:
        yield temporary
    finally:
        _remove(temporary)
        _UNFINISHED.discard(temporary)


def _locked_at(path: Path, make: Callable[[], int]) -> int:
    """Make and lock something that lies at a path; it stays locked until it is closed."""
    while True:
        file = make()
        # Until it is locked it seems to have no owner, so that somebody may remove it.
        if not _locked(file, wait=True) or _is_at(file, path):
            return file
        os.close(file)


def remove_abandoned(target: Path) -> None:
    """Remove what writers of a file or folder that were killed have left beside it."""
    for path in unfinished_beside(target):
        if os.name != "posix":
            if path.is_file():  # what others have open cannot be removed there; folders stay
                _remove(path)
            continue
        with contextlib.suppress(OSError):
            file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                if _locked(file, wait=False) and _is_at(file, path):
                    _remove(path)
            finally:
                os.close(file)


def unfinished_beside(target: Path) -> list[Path]:
    """What lies beside a file or folder and will become it."""
    place = Path(os.path.realpath(target))
    pattern = re.compile(re.escape(f".{place.name}.") + "[0-9a-f]{8}" + re.escape(MARK))
    try:
        with os.scandir(place.parent) as entries:
            return [Path(entry.path) for entry in entries if pattern.fullmatch(entry.name)]
    except OSError:
        return []


def _locked(file: int, *, wait: bool) -> bool:
    """Lock an open file or folder until it is closed, unless somebody has or the drive cannot."""
    if sys.platform == "win32":
        return False
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        return False
    return True


def _is_at(file: int, path: Path) -> bool:
    """Whether an open file is the one that lies at a path."""
    try:
        return os.path.samestat(os.fstat(file), os.lstat(path))
    except FileNotFoundError:
        return False


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)


def _remove_unfinished() -> None:
    for path in list(_UNFINISHED):
        _remove(path)


BEFORE_END.append(_remove_unfinished)
