"""Work on disk: stopped at any moment it goes on, and nothing that does not belong is believed."""

from __future__ import annotations

import errno
import gc
import json
import os
import signal
import stat
import subprocess
import sys
import time
import zlib
from pathlib import Path

import numpy as np
import pytest

import cellbounds as cb
from cellbounds.runtime import checkpoints
from cellbounds.runtime.checkpoints import Checkpoint, header_of
from cellbounds.solvers.general import solutions
from cellbounds.solvers.general.cp_sat import IntegerProgram
from cellbounds.solvers.general.hypercubes import Walker
from cellbounds.solvers.general.single_questions import Solvers

DOMAIN = cb.Domain({"a": ["a0", "a1"], "b": ["b0", "b1", "b2"], "c": ["c0", "c1", "c2"]})
TABLE = cb.Table(DOMAIN, np.random.default_rng(5).poisson(3, size=DOMAIN.shape))
RELEASE = cb.publish(TABLE, "[c|a,b]@1", "[a,c]", "[b]~5")
TRUTH = cb.bounds(RELEASE)

HARD = """
import sys
import numpy as np
import cellbounds as cb
from cellbounds.solvers.general import solutions
solutions.EVERY = 0.0
domain = cb.Domain({"a": ["a0", "a1"], "b": ["b0", "b1", "b2"], "c": ["c0", "c1", "c2"]})
table = cb.Table(domain, np.random.default_rng(5).poisson(3, size=domain.shape))
release = cb.publish(table, "[c|a,b]@1", "[a,c]", "[b]~5")
answer = cb.attainable(release, budget=cb.Budget(checkpoint=sys.argv[1]))
for labels, values in answer.items():
    print(*labels, values)
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "question.state"


@pytest.fixture
def busy(monkeypatch):
    """Whether anybody searches: fails if so."""

    def never(*_, **__):
        raise AssertionError("work was done that was done already")

    def forbid():
        for room, name in (
            (Solvers, "program"),
            (IntegerProgram, "_ask"),
            (Walker, "push"),
        ):
            monkeypatch.setattr(room, name, never)

    return forbid


def lines(path):
    return path.read_bytes().splitlines(keepends=True)


def line(part, entry):
    body = json.dumps([part, entry], separators=(",", ":"))[1:].encode()
    return b'["%08x",%s\n' % (zlib.crc32(body), body)


def same(answer):
    assert np.array_equal(answer.lower, TRUTH.lower)
    assert np.array_equal(answer.upper, TRUTH.upper)
    assert answer.evidence is TRUTH.evidence


def stopped(progress_at, path, ask=cb.bounds, **options):
    """Work that is interrupted after so many steps."""
    heard = []

    def listen(*step):
        heard.append(step)
        if len(heard) == progress_at:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ask(RELEASE, budget=cb.Budget(checkpoint=path, progress=listen), **options)


# Going on ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [1, 4, 8])
def test_interrupted_work_goes_on(path, at):
    stopped(at, path)
    known = len(lines(path))
    assert known > 1
    answer = cb.bounds(RELEASE, budget=cb.Budget(checkpoint=path))
    same(answer)
    for labels in DOMAIN.cells():
        for end in ("lower", "upper"):
            assert not cb.violations(answer.witness(*labels, at=end), RELEASE)
        assert answer._source.proof(DOMAIN.index(labels), 0) in ("propagation", "dual", "solver")


def test_a_complete_state_means_no_work(path, busy):
    first = cb.bounds(RELEASE, budget=cb.Budget(checkpoint=path))
    whole = path.read_bytes()
    proofs = first._source.search.proofs.tolist()
    busy_now = cb.bounds(RELEASE, budget=cb.Budget(checkpoint=path))
    busy()
    again = cb.bounds(RELEASE, budget=cb.Budget(checkpoint=path))
    same(again)
    same(busy_now)
    assert again._source.search.proofs.tolist() == proofs
    assert path.read_bytes() == whole


def test_values_are_kept(path, busy):
    first = dict(cb.attainable(RELEASE, budget=cb.Budget(checkpoint=path)).items())
    busy()
    again = dict(cb.attainable(RELEASE, budget=cb.Budget(checkpoint=path)).items())
    assert again == first


def test_gathered_values_are_kept(path, busy):
    answer = cb.attainable(RELEASE, budget=cb.Budget(checkpoint=path))
    answer._source.gather(np.ndindex(DOMAIN.shape))
    first = dict(answer.items())
    busy()
    assert dict(cb.attainable(RELEASE, budget=cb.Budget(checkpoint=path)).items()) == first


def test_tables_for_values_that_were_read(path):
    dict(cb.attainable(RELEASE, budget=cb.Budget(checkpoint=path)).items())
    again = cb.attainable(RELEASE, budget=cb.Budget(checkpoint=path))
    for labels, values in again.items():
        for value in values:
            witness = again.witness(*labels, value=value)
            assert witness[labels] == value
            assert not cb.violations(witness, RELEASE)


def test_bounds_and_values_share_a_state(path, busy):
    cb.bounds(RELEASE, budget=cb.Budget(checkpoint=path))
    assert cb.attainable(RELEASE, budget=cb.Budget(checkpoint=path)).evidence is TRUTH.evidence
    busy()
    same(cb.bounds(RELEASE, budget=cb.Budget(checkpoint=path)))


def test_linear_bounds_go_on(path, monkeypatch):
    from cellbounds.solvers.general.exact_linear import ExactProgram

    truth = cb.bounds(RELEASE, kind="linear")
    stopped(7, path, kind="linear")
    asked = []
    original = ExactProgram.least
    monkeypatch.setattr(ExactProgram, "least", lambda *a: asked.append(1) or original(*a))
    again = cb.bounds(RELEASE, kind="linear", budget=cb.Budget(checkpoint=path))
    assert (again.lower == truth.lower).all()
    assert (again.upper == truth.upper).all()
    # One more sees that there is a table of real numbers at all.
    assert len(asked) == 2 * (DOMAIN.size - 7) + 1


def test_sums_without_end_are_kept(path, busy):
    release = cb.Release(
        cb.Domain({"a": ["p", "q"]}), [cb.Linear(["a"], {"p": 1, "q": -1}, lower=-2)]
    )
    first = cb.bounds(release, budget=cb.Budget(checkpoint=path))
    assert first.upper[0] is cb.UNBOUNDED
    busy()
    again = cb.bounds(release, budget=cb.Budget(checkpoint=path))
    assert again.upper[0] is cb.UNBOUNDED
    assert again.lower.tolist() == first.lower.tolist()


def test_glued_parts_are_kept_each(path, busy):
    domain = cb.Domain({**{n: DOMAIN.levels(n) for n in "abc"}, "d": ["d0", "d1"]})
    table = cb.Table(domain, np.stack([TABLE.counts, TABLE.counts + 1], axis=-1))
    release = cb.publish(table, "[a,b]", "[b,c]", "[a,c]", "[c,d]")
    first = cb.bounds(release, budget=cb.Budget(checkpoint=path))
    assert first.method == "parts glued at exact margins"
    assert len(lines(path)) > 1
    busy()
    again = cb.bounds(release, budget=cb.Budget(checkpoint=path))
    assert np.array_equal(again.lower, first.lower)
    assert np.array_equal(again.upper, first.upper)


def test_a_budget_may_be_given_when_going_on(path):
    cb.bounds(RELEASE, budget=cb.Budget(seconds=1e-6, checkpoint=path))
    same(cb.bounds(RELEASE, budget=cb.Budget(seconds=1000, checkpoint=path)))


def children_of(path):
    return subprocess.Popen(
        [sys.executable, "-c", HARD, str(path)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
    )


def wait_for_lines(path, count, child):
    while child.poll() is None:
        if path.exists() and path.read_bytes().count(b"\n") >= count:
            return
        time.sleep(0.002)


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX systems")
def test_killed_at_any_moment_it_goes_on(path):
    """Killed outright, again and again; in the end the answer is that of work without a break."""
    killed = 0
    for count, how in ((1, signal.SIGKILL), (4, signal.SIGKILL), (9, signal.SIGINT)):
        with children_of(path) as child:
            wait_for_lines(path, count, child)
            if child.poll() is None:
                child.send_signal(how)
                killed += 1
            child.communicate()
    assert killed >= 2
    with children_of(path) as child:
        out, err = child.communicate()
    assert child.returncode == 0, err
    told = [
        " ".join([*map(str, labels), str(values)])
        for labels, values in cb.attainable(RELEASE).items()
    ]
    assert out.splitlines() == told


# What is refused ---------------------------------------------------------------------------------


def test_another_question_is_refused(path):
    cb.bounds(RELEASE, budget=cb.Budget(checkpoint=path))
    kept = path.read_bytes()
    other = cb.publish(TABLE, "[a,c]")
    for ask, words in (
        (lambda: cb.bounds(other, budget=cb.Budget(checkpoint=path)), "another release"),
        (
            lambda: cb.bounds(RELEASE, over=["a"], budget=cb.Budget(checkpoint=path)),
            "other cells, or of another kind",
        ),
        (
            lambda: cb.bounds(RELEASE, kind="linear", budget=cb.Budget(checkpoint=path)),
            "of another kind",
        ),
        (
            lambda: cb.bounds(
                RELEASE, cells=[("a0", "b0", "c0")], budget=cb.Budget(checkpoint=path)
            ),
            "other cells",
        ),
        (
            lambda: cb.bounds(RELEASE, start=TABLE, budget=cb.Budget(checkpoint=path)),
            "owner's table",
        ),
    ):
        with pytest.raises(cb.InvalidInput, match=words) as caught:
            ask()
        assert "name a new file" in str(caught.value)
    assert path.read_bytes() == kept


def test_another_version_is_refused(path, monkeypatch):
    cb.bounds(RELEASE, budget=cb.Budget(checkpoint=path))
    monkeypatch.setattr(checkpoints, "__version__", "99.0")
    with pytest.raises(cb.InvalidInput, match="another version"):
        cb.bounds(RELEASE, budget=cb.Budget(checkpoint=path))


def test_other_files_are_refused_and_left_alone(path):
    for content in (b"a,b,count\n1,2,3\n", b"[1, 2]\n", b'{"format": "else"}\n'):
        path.write_bytes(content)
        with pytest.raises(cb.InvalidInput, match="is no state of a question"):
            cb.bounds(RELEASE, budget=cb.Budget(checkpoint=path))
        assert path.read_bytes() == content


def test_names_that_cannot_be_used(tmp_path):
    with pytest.raises(cb.InvalidInput, match="cannot be written"):
        cb.bounds(RELEASE, budget=cb.Budget(checkpoint=tmp_path / "nowhere" / "x"))
    with pytest.raises(cb.InvalidInput, match="cannot be written"):
        cb.bounds(RELEASE, budget=cb.Budget(checkpoint=tmp_path))
    for wrong in (3, b"x", True):
        with pytest.raises(cb.InvalidInput, match="checkpoint="):
            cb.attainable(RELEASE, budget=cb.Budget(checkpoint=wrong))


def test_a_torn_last_line_is_dropped(path):
    stopped(9, path)
    whole = path.read_bytes()
    last = lines(path)[-1]
    for torn in (
        whole[:-1],
        whole[: -len(last) // 2],
        whole + b'["00000000","x",{',
        whole + b"\x00\n",
    ):
        path.write_bytes(torn)
        same(cb.bounds(RELEASE, budget=cb.Budget(checkpoint=path)))
        gc.collect()
        content = path.read_bytes()
        assert content.endswith(b"\n")
        assert b"\x00" not in content
        same(cb.bounds(RELEASE, budget=cb.Budget(checkpoint=path)))


def test_a_torn_first_line_begins_anew(path):
    cb.bounds(RELEASE, budget=cb.Budget(checkpoint=path))
    first = lines(path)[0]
    for length in (0, 1, len(first) - 1):
        path.write_bytes(first[:length])
        same(cb.bounds(RELEASE, budget=cb.Budget(checkpoint=path)))
        assert lines(path)[0] == first


def test_damage_in_the_middle_is_refused(path):
    stopped(9, path)
    said = lines(path)
    for wrong in (b"garbage\n", b"\n", said[1][:-2] + b"\n", said[1].replace(b"0", b"1")):
        path.write_bytes(b"".join([said[0], wrong, *said[1:]]))
        with pytest.raises(cb.InvalidInput, match=r"line 2 of .* is damaged; delete the file"):
            cb.bounds(RELEASE, budget=cb.Budget(checkpoint=path))


def rewritten(path, change):
    """The same state with one thing changed, and checksums that are right."""
    head, *rest = lines(path)
    out = [head]
    for one in rest:
        _, part, entry = json.loads(one)
        change(entry)
        out.append(line(part, entry))
    path.write_bytes(b"".join(out))


def test_tables_that_do_not_fit_are_refused(path):
    cb.bounds(RELEASE, budget=cb.Budget(checkpoint=path))
    kept = path.read_bytes()

    def spoil(entry):
        for table in entry["tables"]:
            table[1][0] += 1

    rewritten(path, spoil)
    assert path.read_bytes() != kept
    with pytest.raises(cb.InvalidInput, match="damaged"):
        cb.bounds(RELEASE, budget=cb.Budget(checkpoint=path))


@pytest.mark.parametrize(
    "wrong",
    [
        [10**6, 0, 1, 1],
        [-1, 0, 1, 1],
        [0, 2, 1, 1],
        [0, 0, 1, 9],
        [0, 0, 10**6, 1],
        [0, 1, -1, 1],
        [0, 0, "x", 1],
        [0, 0],
        [0, 0, 10**30, 1],
    ],
)
def test_bounds_that_cannot_be_are_refused(path, wrong):
    cb.bounds(RELEASE, budget=cb.Budget(checkpoint=path))
    rewritten(path, lambda entry: entry["bounds"].append(wrong))
    with pytest.raises(cb.InvalidInput, match="damaged"):
        cb.bounds(RELEASE, budget=cb.Budget(checkpoint=path))


def test_a_full_disk_is_said_and_nothing_is_lost(path, monkeypatch):
    stopped(9, path)
    kept = path.read_bytes()
    original = os.write

    def half(file, content):
        return original(file, content[: len(content) // 2])

    def none(file, content):
        raise OSError(errno.ENOSPC, "No space left on device")

    for full, words in ((half, "the disk is full"), (none, "No space left")):
        with monkeypatch.context() as patched:
            patched.setattr(checkpoints.os, "write", full)
            with pytest.raises(cb.InvalidInput, match=f"{words}.*; what it holds so far is kept"):
                cb.bounds(RELEASE, budget=cb.Budget(checkpoint=path))
        assert path.read_bytes() == kept
    same(cb.bounds(RELEASE, budget=cb.Budget(checkpoint=path)))


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX systems")
def test_a_state_is_for_its_owner_only(path):
    cb.bounds(RELEASE, start=TABLE, budget=cb.Budget(checkpoint=path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(cb.InvalidInput, match="owner's table"):
        cb.bounds(RELEASE, budget=cb.Budget(checkpoint=path))


@pytest.mark.skipif(os.name != "posix", reason="locks of POSIX systems")
def test_two_processes_do_not_share_a_file(path):
    header = header_of("ab", "sharp", ["a"], None, start=False)
    here = Checkpoint(path, header)
    here.add("x", {"n": 1})
    code = (
        "import sys; from cellbounds.runtime.checkpoints import Checkpoint; import json;"
        "Checkpoint(sys.argv[1], json.loads(sys.argv[2]))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, str(path), json.dumps(header)], stderr=subprocess.PIPE
    ) as child:
        _, err = child.communicate()
    assert child.returncode != 0
    assert b"is being written by another process" in err
    here.close()
    assert list(Checkpoint(path, header).entries("x")) == [{"n": 1}]


def open_files():
    return {entry.name for entry in Path("/dev/fd").iterdir()}


@pytest.mark.skipif(os.name != "posix", reason="locks of POSIX systems")
@pytest.mark.parametrize("ask", [cb.bounds, cb.attainable])
def test_who_lets_go_of_an_answer_lets_go_of_the_file(path, ask):
    """At once, not when the garbage collector finds a circle: others may wait for the lock."""
    before = open_files()
    gc.disable()
    try:
        answer = ask(RELEASE, budget=cb.Budget(checkpoint=path))
        assert len(open_files() - before) == 1
        del answer
        assert open_files() <= before
    finally:
        gc.enable()


def test_open_states_are_not_mixed(path):
    """What leans on the owner's table does not get into answers without it."""
    kept = Checkpoint(path, header_of(RELEASE.digest, "sharp", DOMAIN.names, None, start=True))
    cb.bounds(RELEASE, start=TABLE, budget=cb.Budget(checkpoint=kept))
    whole = path.read_bytes()
    assert len(whole.splitlines()) > 1
    answer = cb.bounds(RELEASE, budget=cb.Budget(checkpoint=kept))
    same(answer)
    assert answer._source.search.write is None
    assert path.read_bytes() == whole


def test_lines_are_written_now_and_then(path, monkeypatch):
    monkeypatch.setattr(solutions, "EVERY", 1e9)
    cb.bounds(RELEASE, budget=cb.Budget(checkpoint=path))
    few = len(lines(path))
    assert few == 2
    path.unlink()
    monkeypatch.setattr(solutions, "EVERY", 0.0)
    cb.bounds(RELEASE, budget=cb.Budget(checkpoint=path))
    assert len(lines(path)) > few


# The command line --------------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path):
    rows = [",".join([*map(str, labels), str(int(TABLE[labels]))]) for labels in DOMAIN.cells()]
    path = tmp_path / "table.csv"
    path.write_text("a,b,c,count\n" + "\n".join(rows) + "\n", "utf-8")
    return path


SAID = ("[c|a,b]@1", "[a,c]", "[b]~5")


def test_audits_go_on(run, table, path, busy):
    # What a state keeps is what is worked out about the cells; margins are judged anew.
    asked = ["audit", table, *SAID, "--over", "a,b,c", "--format", "csv", "--jobs", "1"]
    plain = run(*asked)
    first = run(*asked, "--state", path)
    assert first == plain
    assert len(lines(path)) > 1
    busy()
    assert run(*asked, "--state", path) == plain
    code, out, err = run("audit", table, "[a,c]", "--state", path)
    assert (code, out) == (2, "")
    assert "another release" in err
    code, _, err = run("audit", table, *SAID, "--state", path, "--independent")
    assert code == 2
    assert "owner's table" in err


def test_attacks_go_on(run, tmp_path, path, busy):
    release, certificate = tmp_path / "release.toml", tmp_path / "certificate.json"
    RELEASE.write(release)
    # What a state keeps is what is worked out about the cells; margins are judged anew.
    asked = ("attack", release, "--over", "a,b,c", "--format", "csv", "--jobs", "1")
    plain = run(*asked)
    assert run(*asked, "--state", path, "--certificate", certificate) == plain
    busy()
    assert run(*asked, "--state", path) == plain


def test_a_state_replaces_nothing_that_is_needed(run, table, path):
    code, _, err = run("audit", table, *SAID, "--state", table)
    assert code == 2
    assert "it is an input" in err
    code, _, err = run("audit", table, *SAID, "--state", path, "-o", path)
    assert code == 2
    assert "another output" in err
