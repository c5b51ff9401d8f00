"""Runs in a process of its own: commits that are killed, and commits that race.

    python crashing.py dying PLACE TRIALS SEED    one child at a time, killed while it commits
    python crashing.py racing PLACE CHILDREN PAIR children that ask for, and commit, a harmful pair
    python crashing.py filling FILE               a commit that may not make the file larger

Children are forked from a process without threads, so that a trial costs milliseconds. The result
is printed as JSON.
"""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sys
import time
from collections import Counter
from pathlib import Path

from sqlalchemy import Engine, event

import cellbounds as cb
from cellbounds.ledger import Ledger, LedgerError, NotSafe

TABLE = cb.Table(
    cb.Domain({"county": ["Alpha", "Beta"], "education": ["Low", "High"]}), [[1, 9], [20, 30]]
)
RATES, ROWS = "[education|county]@1", "[county]"
"""Each is safe alone, not both together."""

PAIRS = ((RATES,), (ROWS,)), (("[county]~5", "[education]~5"), (RATES,))
"""Harmful pairs: one that is judged at once, and one of which the first takes its time."""

MARKS = ("before_cursor_execute", "after_cursor_execute", "begin", "commit")
"""Moments of a transaction, before or after each of its statements."""


def forked(work) -> int:
    child = os.fork()
    if child:
        return child
    code = 70
    try:
        code = work()
    finally:
        os._exit(code)


def ended(child: int) -> int:
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)


def numbered(number: int) -> cb.Release:
    """The rates with a total that is not known exactly: another release for each number."""
    rates = cb.publish(TABLE, RATES, total=False).statements
    return cb.Release(TABLE.domain, [*rates, cb.Total(lower=0, upper=60 + number)])


def next_commit(ledger: Ledger, who: str) -> None:
    """Commit the rates with the next number."""
    number = len(ledger.history())
    ledger.commit(numbered(number), table=TABLE, who=who, why=str(number))


def commit(place: str, statements: tuple[str, ...]) -> int:
    try:
        Ledger.open(place).commit(statements, table=TABLE, who="child", why="x")
    except NotSafe:
        return 1
    except LedgerError:
        return 2
    return 0


def dying_at(place: str, moment: int) -> int:
    """Commit, and die at the moment-th mark."""
    seen = 0

    def passed(*_):
        nonlocal seen
        seen += 1
        if seen == moment:
            os.kill(os.getpid(), signal.SIGKILL)

    ledger = Ledger.open(place)
    for mark in MARKS:
        event.listen(Engine, mark, passed)
    next_commit(ledger, "child")
    return 0


def dying_sometime(place: str) -> int:
    ledger = Ledger.open(place)
    while True:
        next_commit(ledger, "child")


def dying(place: str, trials: int, seed: int) -> dict:
    """Kill children at every mark in turn, then `trials` at random moments; look after each."""
    ledger = Ledger.create(place, TABLE, who="parent")
    next_commit(ledger, "parent")  # everything is loaded before the fork
    begun = time.monotonic()
    next_commit(ledger, "parent")
    usual = time.monotonic() - begun
    chance, counts, problems = random.Random(seed), Counter(), []
    moment, by_time = 1, 0
    while not counts["rounds"] or by_time < trials:
        before = ledger.history()
        at_mark = not counts["rounds"] or (trials > 100 and counts["killed"] < trials)
        if at_mark:
            code = ended(forked(lambda at=moment: dying_at(place, at)))
            moment += 1
            if code == 0:  # every mark was passed: from the first one again
                counts["rounds"] += 1
                moment = 1
        else:
            child = forked(lambda: dying_sometime(place))
            time.sleep(chance.uniform(0.0, 2.5 * usual))
            os.kill(child, signal.SIGKILL)
            code = ended(child)
            by_time += 1
        found = settled(ledger)
        more = len(found) - len(before)
        counts["killed" if code == -signal.SIGKILL else "ended"] += 1
        counts["whole" if more else "none"] += 1
        if found[: len(before)] != before:
            problems.append("the past was changed")
        if not ledger.verify().intact:
            problems.append("the chain is broken")
        if any(one.release.digest != numbered(int(one.why)).digest for one in found[1:]):
            problems.append("an entry is not whole")
        if (at_mark and more > 1) or (code == 0 and more != 1):
            problems.append(f"{more} entries from one commit that ended with {code}")
    return {"counts": dict(counts), "problems": problems}


def settled(ledger: Ledger):
    """The history once a server has noticed that its client is gone."""
    last = ledger.history()
    if ledger.book.place.file is not None:
        return last
    with ledger.book.writing():  # waits for the lock that the dead client may still hold
        return ledger.history()


def racing(place: str, children: int, pair: int) -> dict:
    Ledger.create(place, TABLE, who="parent")
    ready, go = os.pipe()
    started = []
    for number in range(children):
        statements = PAIRS[pair][number % 2]

        def work(said=statements):
            os.close(go)
            os.read(ready, 1)  # ends when the parent closes its end
            Ledger.open(place).ask(said, table=TABLE)
            return commit(place, said)

        started.append((statements, forked(work)))
    os.close(go)
    codes = [(statements[0], ended(child)) for statements, child in started]
    ledger = Ledger.open(place)
    released = sorted({one.statements[0] for one in ledger.state().released})
    return {
        "codes": codes,
        "released": released,
        "entries": len(ledger.history()),
        "intact": ledger.verify().intact,
        "verdict": cb.judge(ledger.together(), TABLE).verdict.value,
    }


def filling(place: str) -> dict:
    ledger = Ledger.create(place, TABLE, who="parent")
    head = ledger.verify().head
    size = Path(place).stat().st_size
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))
    said = ""
    try:
        ledger.commit(RATES, table=TABLE, who="parent", why="long " * 20_000)
    except LedgerError as problem:
        said = str(problem)
    during = ledger.verify().head
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    again = ledger.commit(RATES, table=TABLE, who="parent", why="long " * 20_000).number
    return {"said": said, "same": during == head, "again": again, "intact": ledger.verify().intact}


if __name__ == "__main__":
    what, where, *rest = sys.argv[1:]
    found = {"dying": dying, "racing": racing, "filling": filling}[what](where, *map(int, rest))
    sys.stdout.write(json.dumps(found))
