"""Commits, requests and decisions under faults: there whole or not at all; if said, there."""

from __future__ import annotations

import contextlib
import itertools
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Protocol

import cellbounds as cb
from cellbounds.ledger import Entry, Ledger, LedgerError
from reliability.faults.children import Child, Ending, killed_sometime, run, run_here
from reliability.faults.interposing import EVERYBODY, Calls, Control, Fault
from reliability.faults.servers import Server
from reliability.faults.tally import Tally
from reliability.faults.workshop import FULL, KILLS, SAFE, Workshop

__all__ = ["ACTS", "CommitTrials", "OnPostgres", "OnSqlite", "RequestTrials", "Storage"]

WRITTEN = "out.toml"
"""The release file that a commit is asked to write besides."""

DAY = 86_400
JUMPS = (-3650 * DAY, -DAY, -3600, -2, 2, 3600, DAY, 3650 * DAY)
"""By how many seconds a clock is moved."""

RETRIED = 0.3
"""The share of commits not acknowledged that are tried again."""

REASON = 10_000
"""Bytes of the reason that is given with each commit."""


class Storage(Protocol):
    """Where ledgers are kept."""

    name: str

    def place(self, folder: Path) -> str:
        """A ledger for a trial in this folder, in which nothing was released."""
        ...


@dataclass(slots=True)
class OnSqlite:
    """Each trial has a copy of one file."""

    shop: Workshop
    name: str = "sqlite"
    _template: Path | None = None

    def place(self, folder: Path) -> str:
        """A copy of one ledger."""
        if self._template is None:
            self._template = self.shop.root / "template.ledger"
            run_here(_init(str(self._template)), self.shop.root / "new")
        shutil.copy(self._template, folder / "trial.ledger")
        return str(folder / "trial.ledger")


@dataclass(slots=True)
class OnPostgres:
    """Ledgers in one database of a private server."""

    shop: Workshop
    server: Server
    control: Control
    """What is done to the server's processes."""
    name: str = "postgres"
    _place: str = ""

    def place(self, folder: Path) -> str:  # noqa: ARG002
        """The ledger of the last trial, if nothing came into it."""
        if not self._place or len(Ledger.open(self._place).history()) > 1:
            self._place = self.server.shared()
            run_here(_init(self._place), self.shop.root / "new")
        return self._place


def _init(place: str) -> tuple[str, ...]:
    return ("ledger", "init", place, "--table", "table.csv", "--keep-table", "--who", "owner")


def _commit(place: str, why: str) -> tuple[str, ...]:
    asked = ("ledger", "commit", place, SAFE, "--who", "child", "--why", why, "--jobs", "1")
    return (*asked, "--write", WRITTEN)


@dataclass(slots=True)
class Case:
    """One commit to be tried."""

    folder: Path
    ledger: Ledger
    before: tuple[Entry, ...]
    why: str
    arguments: tuple[str, ...]


@dataclass(slots=True)
class CommitTrials:
    """Commits on one kind of storage."""

    shop: Workshop
    storage: Storage
    name: str = "commit"
    _numbers: Iterator[int] = field(default_factory=itertools.count)
    _digest: str = ""
    _old: str = ""
    _seconds: float = 0.0

    def prepare(self) -> None:
        """Commit here, so that everything is loaded, and see how long it takes."""
        old = self.shop.root / "old"
        self._old = cb.publish(cb.read_table(old / "table.csv"), SAFE).digest
        cb.publish(cb.read_table(old / "table.csv"), SAFE).write(old / WRITTEN)
        with self._case() as case:
            run_here(case.arguments, case.folder)
            (entry,) = case.ledger.history()[len(case.before) :]
            assert entry.release is not None  # a released one
            self._digest = entry.release.digest
        with self._case() as case:
            self._seconds = run(case.arguments, case.folder, self.shop.control).seconds

    @contextlib.contextmanager
    def _case(self) -> Iterator[Case]:
        with self.shop.folder() as folder:
            place, shop = self.storage.place(folder), self.shop
            # Long and without pattern, so that the database has to grow for it.
            why = f"trial {next(self._numbers)} {shop.chance.randbytes(REASON).hex()}"
            if self.shop.chance.random() < 0.5:  # something of the same name is to be replaced
                for file in self._old_files():
                    shutil.copy(file, folder)
            ledger = Ledger.open(place)
            arguments = self._arguments(ledger, place, why)
            yield Case(folder, ledger, ledger.history(), why, arguments)

    def _arguments(self, ledger: Ledger, place: str, why: str) -> tuple[str, ...]:  # noqa: ARG002
        """The command that is tried; what it needs to find is put into the ledger."""
        return _commit(place, why)

    def _old_files(self) -> list[Path]:
        """What an earlier release file consists of."""
        return sorted((self.shop.root / "old").glob(f"{Path(WRITTEN).stem}.*"))

    def _calls(self, calls: Calls, control: Control, whose: int | None = None) -> int:
        """How many calls a commit makes."""
        with self._case() as case:
            if whose is None:
                run(case.arguments, case.folder, control, Fault(calls))
            else:
                control.arm(Fault(calls), whose)
                run(case.arguments, case.folder, self.shop.control)
                control.disarm()
        return len(control.calls)

    # Kills ----------------------------------------------------------------------------------------

    def kills(self, count: int) -> Iterator[Tally]:
        """Kill commits at every call in turn and at random; on a server, the server too."""
        served = isinstance(self.storage, OnPostgres)
        chosen = count * 4 // 10 if served else count // 2
        crashed = count // 10 if served else 0
        outright = count // 50 if served else 0
        yield self._killed_at_calls(chosen)
        yield self._killed_at_random(count - chosen - crashed - outright)
        if isinstance(self.storage, OnPostgres):
            yield self._crashed(self.storage, crashed)
            yield self._killed_outright(self.storage, outright)

    def _killed_at_calls(self, count: int) -> Tally:
        tally, calls = Tally(f"{self.name} killed at a call", self.storage.name), Calls.FILES
        if isinstance(self.storage, OnPostgres):
            calls |= Calls.SOCKETS
        for action, at in self.shop.points(KILLS, self._calls(calls, self.shop.control), count):
            fault = Fault(calls, action, at)
            with self._case() as case:
                ending = run(case.arguments, case.folder, self.shop.control, fault)
                tally.happened += self.shop.control.happened
                self._look(case, ending, tally, str(fault))
        return tally

    def _killed_at_random(self, count: int) -> Tally:
        tally = Tally(f"{self.name} killed at random", self.storage.name)
        shop = self.shop
        for _ in range(count):
            with self._case() as case:
                ending = killed_sometime(
                    case.arguments, case.folder, shop.control, shop.chance, self._seconds
                )
                tally.happened += ending.killed
                self._look(case, ending, tally, "killed at random")
        return tally

    def _crashed(self, storage: OnPostgres, count: int) -> Tally:
        """One of the server's processes is killed at a call, and the server recovers."""
        tally = Tally("process of server killed", storage.name)
        calls = self._calls(Calls.FILES, storage.control, EVERYBODY)
        for action, at in self.shop.points(KILLS, calls, count):
            self._with_server(storage, Fault(Calls.FILES, action, at), tally)
        return tally

    def _killed_outright(self, storage: OnPostgres, count: int) -> Tally:
        """All processes of the server are killed at a random moment."""
        tally, shop = Tally("server killed", storage.name), self.shop

        def kill(_: Child) -> None:
            storage.server.kill()

        for _ in range(count):
            with self._case() as case:
                ending = killed_sometime(
                    case.arguments, case.folder, shop.control, shop.chance, self._seconds, kill
                )
                tally.happened += 1
                storage.server.revive()
                self._look(case, ending, tally, "server killed")
        return tally

    def _with_server(self, storage: OnPostgres, fault: Fault, tally: Tally) -> None:
        with self._case() as case:
            storage.control.arm(fault, EVERYBODY)
            ending = run(case.arguments, case.folder, self.shop.control)
            happened = storage.control.happened
            storage.control.disarm()
            tally.happened += happened
            if happened:
                storage.server.revive()
            self._look(case, ending, tally, f"server: {fault}")

    # Full disks -----------------------------------------------------------------------------------

    def full_disks(self, count: int) -> Iterator[Tally]:
        """Fill the disk at every call that needs room: of the commit and, if any, of its server."""
        served = count * 3 // 4 if isinstance(self.storage, OnPostgres) else 0
        begun = "" if self.name == "commit" else f"{self.name}, "
        tally = Tally(f"{begun}disk full", self.storage.name)
        calls = self._calls(Calls.SPACE, self.shop.control)
        for action, at in self.shop.points(FULL, calls, count - served):
            fault = Fault(Calls.SPACE, action, at)
            with self._case() as case:
                ending = run(case.arguments, case.folder, self.shop.control, fault)
                tally.happened += self.shop.control.happened
                self._look(case, ending, tally, str(fault))
            if ending.status == 2 and not any(word in ending.err for word in ("room", "space")):
                tally.blame("wrong", f"{fault}: no word of the disk in {ending.err!r}")
        yield tally
        if isinstance(self.storage, OnPostgres):
            yield self._full_servers(self.storage, served)

    def _full_servers(self, storage: OnPostgres, count: int) -> Tally:
        """The server's disk: mostly tables that cannot grow, sometimes its log, when it crashes."""
        tally = Tally("disk of server full", storage.name)
        for calls, share in ((Calls.GROWTH, count - count // 8), (Calls.SPACE, count // 8)):
            made = self._calls(calls, storage.control, EVERYBODY)
            for action, at in self.shop.points(FULL, made, share):
                self._with_server(storage, Fault(calls, action, at), tally)
        return tally

    # Clocks ---------------------------------------------------------------------------------------

    def clock_jumps(self, count: int) -> Iterator[Tally]:
        """Move the clock between commits: no time before the last one, unless it is confirmed."""
        tally, shop = Tally("clock moved", self.storage.name), self.shop
        for number in range(count):
            moved = JUMPS[number % len(JUMPS)]
            confirmed = shop.chance.random() < 0.3
            words = f"moved by {moved} s{', confirmed' if confirmed else ''}"
            with self._case() as case:
                more = ("--confirm-time",) if confirmed else ()
                now = datetime.now(UTC)
                shop.control.turn_clock(moved)
                ending = run((*case.arguments, *more), case.folder, shop.control)
                shop.control.turn_clock(0)
                tally.happened += 1
                self._look(case, ending, tally, words)
                last = datetime.fromisoformat(case.before[-1].at)
                behind = now + timedelta(seconds=moved) < last
                if behind and not confirmed and ending.status != 2:
                    tally.blame("wrong", f"{words}: a time before the last entry was taken")
                if not (behind and not confirmed) and ending.status != 0:
                    tally.blame("wrong", f"{words}: refused with {ending.err[-300:]!r}")
        yield tally

    # What there is afterwards ---------------------------------------------------------------------

    def _look(self, case: Case, ending: Ending, tally: Tally, words: str) -> None:
        self.shop.control.disarm()
        tally.tried += 1
        acknowledged = ending.status == 0 or self._said_done(ending)
        tally.acknowledged += acknowledged
        try:
            with case.ledger.book.writing():  # waits for a lock that a dead client may still hold
                found = case.ledger.history()
        except LedgerError as problem:
            tally.blame("half", f"{words}: {problem}")
            return
        more = found[len(case.before) :]
        inside = len(more) > 0
        tally.inside += inside
        tally.outside += not inside
        if found[: len(case.before)] != case.before:
            tally.blame("half", f"{words}: the past was changed")
        if not case.ledger.verify().intact:
            tally.blame("half", f"{words}: the chain is broken")
        if any(one.why != case.why or not self._whole(one) for one in more) or len(more) > 1:
            tally.blame("half", f"{words}: {len(more)} entries, or one that is not whole")
        if acknowledged and not inside:
            tally.blame("lost", f"{words}: said {ending.out!r}")
        self._check_said(ending, inside, tally, words)
        self._check_beside(case, ending, inside, tally, words)
        self.shop.check_leftovers(
            case.folder,
            ("trial.ledger", *(file.name for file in self._old_files())),
            ending,
            lambda: run(case.arguments, case.folder, self.shop.control),
            lambda file: tally.blame("leftovers", f"{words}: {file}"),
        )
        if ending.status != 0 and self.shop.chance.random() < RETRIED:
            self._check_retry(case, tally, words)

    def _said_done(self, ending: Ending) -> bool:
        return "released" in ending.out

    def _whole(self, entry: Entry) -> bool:
        return entry.release is not None and entry.release.digest == self._digest

    def _check_said(self, ending: Ending, inside: bool, tally: Tally, words: str) -> None:
        if ending.killed:
            return
        if not ending.well_said:
            tally.blame("wrong", f"{words}: status {ending.status}, said {ending.err[-300:]!r}")
        elif inside and ending.status != 0 and "look at the history" not in ending.err:
            tally.blame("wrong", f"{words}: it is there, but said {ending.err[-300:]!r}")

    def _check_beside(
        self, case: Case, ending: Ending, inside: bool, tally: Tally, words: str
    ) -> None:
        """The release file that was to be written."""
        written = case.folder / WRITTEN
        try:
            digest = cb.read_release(written).digest if written.exists() else ""
        except cb.CellboundsError as problem:
            digest = str(problem)
        if digest not in ("", self._old, self._digest):
            tally.blame("half", f"{words}: {WRITTEN} is neither the old release nor the new one")
        if digest == self._digest and not inside:
            tally.blame("wrong", f"{words}: {WRITTEN} was written, but not committed")
        if ending.status == 0 and digest != self._digest and "warning" not in ending.err:
            tally.blame("lost", f"{words}: no new {WRITTEN}, and nothing said of it")

    def _check_retry(self, case: Case, tally: Tally, words: str) -> None:
        """Somebody who was not told that it is done tries again."""
        again = run(case.arguments, case.folder, self.shop.control)
        entries = [one for one in case.ledger.history() if one.why == case.why]
        if again.status != 0 or len(entries) != 1:
            tally.blame("wrong", f"{words}: tried again, {len(entries)} entries; {again.err!r}")


ACTS = {"request": "requested", "approve": "released", "refuse": "refused"}
"""What is done about requests, and the kind of the entry that comes of it."""


@dataclass(slots=True)
class RequestTrials(CommitTrials):
    """Requests and decisions on one kind of storage; `name` is one of `ACTS`."""

    def prepare(self) -> None:
        """The same once here."""
        with self._case() as case:
            run_here(case.arguments, case.folder)
            (entry,) = case.ledger.history()[len(case.before) :]
            self._digest = "" if entry.release is None else entry.release.digest
        with self._case() as case:
            self._seconds = run(case.arguments, case.folder, self.shop.control).seconds

    def _arguments(self, ledger: Ledger, place: str, why: str) -> tuple[str, ...]:
        if self.name == "request":
            return ("ledger", "request", place, SAFE, "--who", "child", "--why", why)
        asked = ledger.requests.submit(SAFE, who="somebody", why="it is needed")
        said = ("--who", "child", "--why", why, "--jobs", "1")
        return ("ledger", "decide", place, str(asked.number), f"--{self.name}", *said)

    def kills(self, count: int) -> Iterator[Tally]:
        """Kill them at every call in turn and at random."""
        yield self._killed_at_calls(count // 2)
        yield self._killed_at_random(count - count // 2)

    def full_disks(self, count: int) -> Iterator[Tally]:
        """Fill the disk at every call that needs room; on a server they need none here."""
        if not isinstance(self.storage, OnPostgres):
            yield from CommitTrials.full_disks(self, count)

    def _said_done(self, ending: Ending) -> bool:
        return ("waiting" if self.name == "request" else "recorded as entry") in ending.out

    def _whole(self, entry: Entry) -> bool:
        digest = "" if entry.release is None else entry.release.digest
        return (entry.kind, digest) == (ACTS[self.name], self._digest)

    def _check_beside(
        self, case: Case, ending: Ending, inside: bool, tally: Tally, words: str
    ) -> None:
        """What waits beside the chain is what the chain says; `ending` is looked at elsewhere."""
        del ending
        requests = case.ledger.requests.all()
        there = inside if self.name == "request" else True
        waiting = inside if self.name == "request" else not inside
        if (len(requests), any(one.waiting for one in requests)) != (there, waiting):
            tally.blame("half", f"{words}: {requests} beside {len(case.before)} entries or more")
