"""The tables at hand: a file, the files of a folder, what people sent here, a ledger's table."""

from __future__ import annotations

import os
import re
import secrets
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from shutil import rmtree
from typing import Any

from starlette.datastructures import UploadFile

from cellbounds.errors import InvalidInput
from cellbounds.ledger import Ledger
from cellbounds.runtime.memory import size_text

ENDINGS = (".csv", ".tsv", ".txt", ".xlsx", ".parquet", ".gz", ".tab", ".json")
"""Files of a folder that are offered."""

CHUNK = 2**16
"""Bytes of an upload that are in memory at a time."""

LONGEST_NAME = 200
"""Bytes of the name that a file has here."""

DAY = 86_400.0
"""Seconds after which what was sent here is deleted."""

LEDGER = "ledger:"
"""What the source of a table that a ledger keeps begins with."""


@dataclass(frozen=True, slots=True)
class Item:
    """A table that can be asked about.

    Attributes
    ----------
    key
        Its part of addresses.
    name
        What people call it: a file's name without its folder.
    source
        Where it is, for a worker.
    owner
        Who may see it, if it was sent here; empty: everybody who may explore.
    published
        Whether it is a table protected elsewhere, to be attacked and not explored.
    about
        Its variables and size, when it was read.
    """

    key: str
    name: str
    source: str
    owner: str = ""
    published: bool = False
    about: dict[str, Any] = field(default_factory=dict, compare=False)
    since: float = 0.0

    @property
    def stamp(self) -> str:
        """What told a changed table from this one, when it was read."""
        return str(self.about["stamp"])


def stamp_of(source: str) -> str:
    """What tells a changed table from the one that was read: time and size, or a digest."""
    if source.startswith(LEDGER):
        return Ledger.open(source.removeprefix(LEDGER)).state().digests[-1]
    try:
        status = Path(source).stat()
    except OSError:
        raise InvalidInput("this table is not there any more; send it again") from None
    return f"{status.st_mtime_ns}-{status.st_size}"


class Shelf:
    """Everything that can be asked about, by its key."""

    def __init__(self, folder: Path, sources: Iterable[Item] = ()) -> None:
        self.folder = folder
        self._items = {item.key: item for item in sources}

    @staticmethod
    def of_path(path: Path) -> list[Item]:
        """A file, or the files of a folder."""
        if path.is_dir():
            files = sorted(one for one in path.iterdir() if one.suffix.lower() in ENDINGS)
            if not files:
                raise InvalidInput(
                    f"{path} holds no table; put CSV or Excel files there, or name one"
                )
            return [Item(one.name, one.name, str(one)) for one in files if one.is_file()]
        return [Item(path.name, path.name, str(path))]

    def visible(self, person: str) -> list[Item]:
        """What somebody may see, what he sent last first."""
        self.forget(older=DAY)
        seen = [item for item in self._items.values() if item.owner in ("", person)]
        return sorted(seen, key=lambda item: -item.since)

    def get(self, key: str, person: str) -> Item | None:
        """A table that somebody may see."""
        item = self._items.get(key)
        return item if item is not None and item.owner in ("", person) else None

    def learn(self, item: Item, about: dict[str, Any]) -> Item:
        """Note what was found out about a table."""
        known = replace(item, about=about)
        self._items[item.key] = known
        return known

    async def add(self, file: UploadFile, person: str, *, most: int, many: int) -> Item:
        """Keep what somebody sends, readable by this server alone.

        Raises
        ------
        InvalidInput
            If it is larger than `most` bytes, or he has `many` files here.
        """
        own = [item for item in self._items.values() if item.owner == person]
        if len(own) >= many:
            raise InvalidInput(f"you have {len(own)} files here; remove one before you send more")
        key = f"u{secrets.token_urlsafe(9)}"
        folder = self.folder / key
        folder.mkdir(0o700)
        try:
            target = await _keep(file, folder, most)
        except BaseException:
            folder.rmdir()
            raise
        item = Item(key, target.name, str(target), owner=person, since=time.time())
        self._items[key] = item
        return item

    @asynccontextmanager
    async def held(self, files: Sequence[UploadFile], *, most: int) -> AsyncIterator[list[str]]:
        """Files that are here for a moment only: their paths, all in one private folder.

        Raises
        ------
        InvalidInput
            If one is larger than `most` bytes, or two have the same name.
        """
        folder = self.folder / f"h{secrets.token_urlsafe(9)}"
        folder.mkdir(0o700)
        try:
            names = [plain_name(file.filename or "") for file in files]
            if len(set(names)) < len(names):
                raise InvalidInput("two of the files have the same name; send them apart")
            yield [str(await _keep(file, folder, most)) for file in files]
        finally:
            rmtree(folder)

    def remove(self, item: Item) -> None:
        """Forget what was sent here, and delete it."""
        if item.owner:
            with suppress(FileNotFoundError):
                rmtree(Path(item.source).parent)
            self._items.pop(item.key, None)

    def forget(self, *, older: float = 0.0, person: str | None = None) -> None:
        """Delete what was sent here long ago, or by somebody who leaves."""
        limit = time.time() - older
        for item in [*self._items.values()]:
            if item.owner and item.since <= limit and person in (None, item.owner):
                with suppress(OSError):
                    self.remove(item)


async def _keep(file: UploadFile, folder: Path, most: int) -> Path:
    """Write what somebody sends to a new file that this server alone can read."""
    size, name = 0, plain_name(file.filename or "")
    target = folder / name
    try:
        with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as out:
            while chunk := await file.read(CHUNK):
                size += len(chunk)
                if size > most:
                    raise InvalidInput(f"{name} is larger than {size_text(most)}")
                out.write(chunk)
        if not size:
            raise InvalidInput(f"{name} is empty; send a file with a table")
    except BaseException:
        target.unlink(missing_ok=True)
        raise
    return target


def plain_name(name: str) -> str:
    r"""The last part of a file's name, without anything that a path or a screen could mistake.

    Examples
    --------
    >>> plain_name("../../etc/pass\x00wd.csv"), plain_name("C:\\data\\a b.csv")
    ('passwd.csv', 'a b.csv')
    """
    last = re.split(r"[/\\]", name)[-1]
    kept = "".join(sign for sign in last if sign.isprintable())[-80:]
    # Names of files have bytes, of which there may be 255.
    return kept.encode()[-LONGEST_NAME:].decode(errors="ignore").strip(". ") or "table"
