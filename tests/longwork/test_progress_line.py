"""Progress: estimates that mean something, do not jump, and make no nonsense of phases."""

from __future__ import annotations

import io
import re

import pytest

import cellbounds as cb
from cellbounds.runtime.progress import FEW, SOON, Progress, TimeEstimate, span


class Clock:
    """A clock that is turned by hand."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock():
    return Clock()


def run(estimate, clock, seconds, steps, total, first=1):
    """So many steps of so many seconds each; what is said after each of them."""
    said = []
    for done in range(first, first + steps):
        clock.now += seconds
        estimate.at(done, total)
        said.append(estimate.left())
    return said


def test_nothing_is_said_before_it_means_anything(clock):
    estimate = TimeEstimate(clock)
    assert estimate.left() is None
    estimate.at(0, 100)
    clock.now += 100
    assert estimate.left() is None
    estimate.at(FEW - 1, 100)
    assert estimate.left() is None
    estimate.at(FEW, 100)
    assert estimate.left() is not None
    early = TimeEstimate(clock)
    early.at(0, 100)
    clock.now += SOON / 2
    early.at(50, 100)
    assert early.left() is None


def test_an_even_pace_is_foretold(clock):
    estimate = TimeEstimate(clock)
    said = run(estimate, clock, 2.0, 90, 100)
    for done, left in enumerate(said, 1):
        if left is not None:
            assert left == pytest.approx(2.0 * (100 - done))


def test_a_change_of_pace_is_followed_without_jumps(clock):
    estimate = TimeEstimate(clock)
    run(estimate, clock, 1.0, 100, 1000)
    before = estimate.left()
    said = run(estimate, clock, 4.0, 200, 1000, first=101)
    truth = [4.0 * (1000 - done) for done in range(101, 301)]
    assert said[-1] == pytest.approx(truth[-1], rel=0.1)
    for one, other in zip([before, *said], said, strict=False):
        assert abs(other - one) < 0.25 * max(one, other)


def test_a_standstill_is_noticed(clock):
    """What is left grows at first; then nobody can tell."""
    estimate = TimeEstimate(clock)
    run(estimate, clock, 2.0, 20, 40)
    before = estimate.left()
    for _ in range(25):
        clock.now += 1
        estimate.left()
    assert estimate.left() > before
    clock.now += 10
    assert estimate.left() is None
    estimate.at(21, 40)
    assert estimate.left() is not None


def test_a_new_phase_begins_anew(clock):
    """Another total, or less done than before: what was fast before says nothing about it."""
    for first, total in ((1, 50), (3, 1000)):
        estimate = TimeEstimate(clock)
        run(estimate, clock, 0.1, 200, 1000)
        assert estimate.left() is not None
        clock.now += 10
        estimate.at(first, total)
        assert estimate.left() is None
        said = run(estimate, clock, 10.0, 5, total, first=first + 1)
        assert said[-1] == pytest.approx(10.0 * (total - first - 5), rel=0.01)


def test_many_steps_are_remembered_in_little_room(clock):
    estimate = TimeEstimate(clock)
    said = run(estimate, clock, 0.01, 50_000, 100_000)
    assert len(estimate._seen) <= 513
    assert said[-1] == pytest.approx(500, rel=0.02)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "a few s"),
        (7.9, "a few s"),
        (8, "10 s"),
        (57, "55 s"),
        (58, "1 min"),
        (89, "1 min"),
        (91, "2 min"),
        (3500, "58 min"),
        (3599, "1 h"),
        (7000, "1 h 55 min"),
        (90_000, "25 h"),
    ],
)
def test_lengths_of_time(seconds, words):
    assert span(seconds) == words


def test_the_line(clock):
    shown = Progress("bounds", io.StringIO(), seconds=600, clock=clock)
    clock.now += 3
    assert shown.line() == "cellbounds: bounds (3 s, at most 10 min left)"
    for done in range(1, 31):
        clock.now += 1
        shown.step(done, 100)
    assert shown.line() == (
        "cellbounds: bounds 30 of 100 (33 s, about 1 min left in this step, at most 9 min left)"
    )
    clock.now += 560
    assert shown.line() == "cellbounds: bounds 30 of 100 (593 s, at most a few s left)"
    shown.say("certifying")
    assert shown.line() == "cellbounds: certifying (593 s)"
    shown.step(1, 2)
    assert shown.line() == "cellbounds: certifying 1 of 2 (593 s)"
    plain = Progress("bounds", io.StringIO(), clock=clock)
    assert plain.line() == "cellbounds: bounds (0 s)"


def shown_on(stream, monkeypatch, ticks=3):
    """What a stream gets when the clock ticks so many times, and how long was waited."""
    shown = Progress("counting", stream)
    pauses = []

    def wait(pause):
        pauses.append(pause)
        return len(pauses) > ticks

    monkeypatch.setattr(shown._ended, "wait", wait)
    shown._show()
    return stream.getvalue(), pauses


def test_a_terminal_has_one_line_that_is_rewritten(monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    text, pauses = shown_on(Terminal(), monkeypatch)
    assert "\n" not in text
    lines = text.split("\r\x1b[K")[1:]
    assert lines == ["cellbounds: countin"] * 3
    assert pauses == [1.0, 0.5, 0.5, 0.5]


def test_elsewhere_a_line_is_added_every_ten_seconds(monkeypatch):
    text, pauses = shown_on(io.StringIO(), monkeypatch)
    assert len(text.splitlines()) == 3
    assert all(re.fullmatch(r"cellbounds: counting \(\d+ s\)", one) for one in text.splitlines())
    assert pauses == [1.0, 10.0, 10.0, 10.0]


def test_what_is_short_shows_nothing():
    for stream in (io.StringIO(), Terminal()):
        with Progress("counting", stream) as shown:
            shown.step(1, 2)
        assert stream.getvalue() == ""


def test_the_line_of_a_terminal_is_removed(clock):
    stream = Terminal()
    with Progress("counting", stream, clock=clock):
        clock.now += 5
    assert stream.getvalue() == "\r\x1b[K"


def test_anybody_may_use_it(clock):
    table = cb.datasets.read("delinquent")
    release = cb.publish(table, "[county]", "[education]")
    shown = Progress("bounds", io.StringIO(), clock=clock)
    cb.bounds(release, kind="linear", budget=cb.Budget(progress=shown.step))
    assert "16 of 16" in shown.line()
