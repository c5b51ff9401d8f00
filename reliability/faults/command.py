"""Kill commands, fill their disks, turn their clocks and let them race; count what it does.

Exit status 1 if anything was lost, half done, left behind or otherwise against the contract.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from reliability.faults.interposing import Control, build_library
from reliability.faults.workshop import PREFIX, Workshop

if TYPE_CHECKING:  # what needs the library itself is imported where everything is in place
    from reliability.faults.ledgers import Storage
    from reliability.faults.servers import Server
    from reliability.faults.tally import Tally

ROOT = "FAULTS_ROOT"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run from the command line; returns the exit code."""
    options = parsed(arguments)
    root = os.environ.get(ROOT)
    if root is None:
        _start_again(sys.argv[1:] if arguments is None else arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        return _run(options, Path(root))
    finally:
        shutil.rmtree(root)


def parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m reliability.faults", description=__doc__)
    parser.add_argument("--kills", type=int, default=1000, help="on files and on each database")
    parser.add_argument("--full", type=int, default=200, help="full disks, the same")
    parser.add_argument("--races", type=int, default=100, help="on each database")
    parser.add_argument("--servers", type=int, default=50, help="killed, on each database")
    parser.add_argument("--jumps", type=int, default=50, help="of the clock, on each database")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--database", choices=["none", "sqlite", "postgres", "both"], default="both"
    )
    parser.add_argument("--no-files", action="store_true", help="ledgers only")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the counts here as well")
    return parser.parse_args(arguments)


def _start_again(arguments: Sequence[str]) -> NoReturn:
    """Become a process with the library that meets system calls before the C library does."""
    root = Path(tempfile.mkdtemp(prefix=PREFIX))
    root.chmod(0o755)
    control, library = Control(root / "control"), build_library(root)
    for shared in ("shared", "cache"):
        (root / shared).mkdir()
    environment = {
        **os.environ,
        **control.environment(library),
        ROOT: str(root),
        "TMPDIR": str(root / "shared"),
        "XDG_CACHE_HOME": str(root / "cache"),
        # Threads do not survive a fork, and files of Python itself would be counted.
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "SOURCE_DATE_EPOCH": "1800000000",
    }
    command = [sys.executable, "-m", "reliability.faults", *arguments]
    os.execve(sys.executable, command, environment)


def _run(options: argparse.Namespace, root: Path) -> int:
    from reliability.faults.tally import Tally

    begun, since, tallies = time.monotonic(), time.time(), []
    shop = Workshop.made(root, Control(root / "control"), options.seed)
    try:
        for tally in _trials(options, shop):
            tallies.append(tally)
            done = f"{tally.kind}, {tally.storage}"
            print(f"{time.monotonic() - begun:6.0f} s  {done}", file=sys.stderr, flush=True)
        elsewhere = Tally("all of these", "elsewhere")
        for path in shop.strays_elsewhere(since):
            elsewhere.blame("leftovers", str(path))
        tallies.append(elsewhere)
    finally:  # what was found until then, too, if it is ended
        if tallies:
            _show(tallies, options.json)
    return 0 if all(tally.sound for tally in tallies) else 1


def _show(tallies: Sequence[Tally], kept: Path | None) -> None:
    from reliability.faults.tally import table_of

    print(table_of(tallies))
    faults = [words for tally in tallies for words in tally.faults]
    for words in faults[:50]:
        print(words)
    if len(faults) > 50:
        print(f"and {len(faults) - 50} more")
    if kept is not None:
        kept.write_text(json.dumps([asdict(one) for one in tallies]), "utf-8")


def _trials(options: argparse.Namespace, shop: Workshop) -> Iterator[Tally]:
    from reliability.faults.ledgers import ACTS, CommitTrials, RequestTrials
    from reliability.faults.races import races
    from reliability.faults.web_kills import web_kills
    from reliability.faults.writings import FileTrials

    if not options.no_files:
        files = FileTrials(shop)
        files.prepare()
        yield from files.kills(options.kills)
        yield from files.full_disks(options.full)
    for storage in _storages(options.database, shop):
        commits = CommitTrials(shop, storage)
        commits.prepare()
        yield from commits.kills(options.kills)
        yield from commits.full_disks(options.full)
        yield from commits.clock_jumps(options.jumps)
        for name in ACTS:
            asked = RequestTrials(shop, storage, name)
            asked.prepare()
            yield from asked.kills(options.kills // 10)
            yield from asked.full_disks(options.full // 10)
        yield races(shop, storage, options.races)
        if options.servers:
            yield web_kills(shop, storage, options.servers)


def _storages(database: str, shop: Workshop) -> Iterator[Storage]:
    from reliability.faults.ledgers import OnPostgres, OnSqlite

    if database in ("sqlite", "both"):
        yield OnSqlite(shop)
    if database in ("postgres", "both"):
        with _server(shop.root) as (server, control):
            yield OnPostgres(shop, server, control)


@contextlib.contextmanager
def _server(root: Path) -> Iterator[tuple[Server, Control]]:
    """A private server that waits for the disk, and whose processes can be killed at a call."""
    from reliability.faults.servers import Server, binaries

    folder = binaries()
    if folder is None:
        raise SystemExit("no PostgreSQL here; install pgserver, or choose --database sqlite")
    home = root / "server"
    home.mkdir()
    control = Control(home / "control")
    control.path.chmod(0o666)  # the server may have to run as another user
    environment = {**os.environ, **control.environment(Path(os.environ["LD_PRELOAD"]))}
    server = Server(folder, fsync=True, environment=environment, home=home)
    try:
        yield server, control
    finally:
        server.revive()
        server.remove()
