"""Work in the background: who waits for whom, what is kept, and workers that do not come back."""

from __future__ import annotations

import asyncio

import psutil
import pytest
import worked

from cellbounds.web import work
from cellbounds.web.work import KEPT, REMEMBERED, TooMuchAsked, Workers


def unstarted(number=2, per_person=4):
    return Workers(number, per_person=per_person)


def test_results_are_forgotten_the_oldest_first():
    async def many(size, count):
        workers, jobs = unstarted(), []
        for turn in range(count):
            jobs.append(await workers.submit("ann", worked.nap, turn, seconds=1))
            jobs[-1].end("done", size=size)
        await workers.submit("ann", worked.nap, -1, seconds=1)
        return [workers.get(job.key, "ann") is not None for job in jobs]

    there = asyncio.run(many(KEPT // 4, 10))
    assert there == [False] * 6 + [True] * 4
    there = asyncio.run(many(0, REMEMBERED + 3))
    assert there == [False] * 3 + [True] * REMEMBERED


def test_the_same_work_is_one_job_and_one_person_has_few():
    async def several():
        workers = unstarted()
        first = await workers.submit("ann", worked.nap, 1, seconds=1)
        assert await workers.submit("ann", worked.nap, 1, seconds=1) is first
        assert await workers.submit("bob", worked.nap, 1, seconds=1) is not first
        for turn in range(2, 5):
            await workers.submit("ann", worked.nap, turn, seconds=1)
        with pytest.raises(TooMuchAsked, match="4 pieces of work are under way for you"):
            await workers.submit("ann", worked.nap, 5, seconds=1)
        workers.cancel(first)
        await workers.submit("ann", worked.nap, 5, seconds=1)
        assert workers.get(first.key, "bob") is None

    asyncio.run(several())


def test_a_worker_is_left_for_short_work_and_the_least_busy_come_first():
    async def several():
        workers = unstarted()
        long, longer = [
            await workers.submit("ann", worked.nap, turn, seconds=30, long=True) for turn in (1, 2)
        ]
        short = await workers.submit("ann", worked.nap, 3, seconds=1)
        other = await workers.submit("bob", worked.nap, 4, seconds=1)
        begun = [await workers._next() for _ in range(3)]
        assert begun == [long, other, short]
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(workers._next(), 0.05)
        workers._begun.remove(long)
        assert await workers._next() is longer
        alone = unstarted(1)
        job = await alone.submit("ann", worked.nap, 1, seconds=30, long=True)
        assert await alone._next() is job

    asyncio.run(several())


def test_what_somebody_looks_at_comes_before_what_waits():
    async def several():
        workers = unstarted()
        for turn in range(3):
            await workers.submit("ann", worked.nap, turn, seconds=1, long=True)
        asked = await workers.submit("ann", worked.nap, 3, seconds=1, long=True)
        workers.hurry(asked)
        assert await workers._next() is asked
        workers.hurry(asked)  # it is under way: nothing changes
        assert asked not in workers._waiting

    asyncio.run(several())


def test_workers_that_are_late_cancelled_too_large_or_gone(monkeypatch):
    """One process after the other; whoever comes next gets one that works."""
    monkeypatch.setattr(work, "GRACE", 0.2)

    async def several():
        workers = Workers(1, per_person=9, memory="1GiB")
        await workers.start()
        try:
            submit = workers.submit
            first = await submit("ann", worked.nap, 0.4, seconds=60)
            late = await submit("ann", worked.nap, 60, seconds=0.1)
            gone = await submit("ann", worked.vanish, seconds=60)
            large = await submit("ann", worked.grow, seconds=60)
            endless = await submit("ann", worked.nap, 61, seconds=60)
            last = await submit("ann", worked.nap, 0, seconds=60)
            assert await first.wait(60)
            assert (first.state, first.done, first.total) == ("done", 3, 7)
            assert await late.wait(60)
            assert (late.state, late.error) == (
                "failed",
                "it took longer than it may; ask for less",
            )
            assert await gone.wait(60)
            assert "ended; try again" in gone.error
            assert await large.wait(60)
            assert "more than the 1 GiB of memory allowed" in large.error
            while endless.state == "waiting":
                await asyncio.sleep(0.02)
            workers.cancel(endless)
            assert await last.wait(60)
            assert last.state == "done"
            assert last.result != first.result
            assert not psutil.pid_exists(first.result)
        finally:
            await workers.stop()

    asyncio.run(several())
