"""Malformed inputs: a slice of `make fuzz`, and that the machinery sees what it is to see."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from reliability.fuzz.case import SECRET, Case, File
from reliability.fuzz.invocations import COMMANDS
from reliability.fuzz.judging import violations
from reliability.fuzz.making import make
from reliability.fuzz.mutations import is_harmless
from reliability.fuzz.running import Outcome
from reliability.fuzz.vocabulary import command_names

from strategies import LONG

REPOSITORY = Path(__file__).parents[2]
INPUTS = 1000 if LONG else 50


def fuzz(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "reliability.fuzz", *words],
        cwd=REPOSITORY,
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
    )


def test_malformed_inputs_keep_the_contract():
    # Time is judged by `make fuzz` alone. It is not kept everywhere yet: `posterior --seconds 1`
    # of input 127 was seen to take 2.5 s, where 2.1 s are allowed.
    found = fuzz("--inputs", str(INPUTS), "--seed", "3", "--untimed")
    assert found.stdout.startswith(f"{INPUTS} inputs with seed 3"), found.stderr
    assert found.returncode == 0, found.stdout


def test_every_command_is_tried():
    # A server does not end by itself.
    assert set(command_names()) - {"serve"} <= set(COMMANDS)


def cases_without_corpus(numbers: range) -> list[Case]:
    cases = []
    for number in numbers:
        try:
            cases.append(make(1, number, ()))
        except AssertionError:  # a command about what only the program can make
            continue
    return cases


def test_a_case_follows_from_its_number():
    assert cases_without_corpus(range(100)) == cases_without_corpus(range(100))


def test_cases_name_no_place_of_others():
    cases = cases_without_corpus(range(500))
    assert len(cases) > 200
    assert all(is_harmless(word) for case in cases for word in case.words)
    for word in ("/etc/passwd", "--output=/root/x", "../../x", "~/x", "-o/x", "a\x00b"):
        assert not is_harmless(word)


def refusal(message: str, **changes: object) -> Outcome:
    outcome = Outcome(status=2, stderr=message.encode("utf-8", "surrogatepass"))
    for name, value in changes.items():
        setattr(outcome, name, value)
    return outcome


def kinds(case: Case, outcome: Outcome) -> set[str]:
    return {violation.kind for violation in violations(case, outcome)}


CASE = Case(
    1,
    1,
    "audit",
    ["audit", "table.csv", "[a]", "--seconds", "2", "-o", "out.txt", "--write", "best.toml"],
    [File("table.csv", b"a,count\nx,1\n")],
    confidential=True,
)


def test_what_keeps_the_contract_passes():
    assert kinds(CASE, refusal("error: table.csv is empty; add lines\n")) == set()
    usage = "Usage: cellbounds audit\nTry 'cellbounds audit --help' for help.\n\nError: No such\n"
    assert kinds(CASE, refusal(usage)) == set()
    made = {"work/out.txt": 5, "work/best.toml": 5, "work/best.1-a.csv": 9}
    fine = Outcome(status=1, stdout=b"UNSAFE\n", made=made, seconds=3.1)
    assert kinds(CASE, fine) == set()


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        (refusal("internal error\n", status=70), "status 70"),
        (refusal("", status=120), "status 120"),
        (refusal("", status=-11), "ended by signal 11"),
        (refusal("", status=130), "status 130 though nobody interrupted"),
        (refusal("error: x\nTraceback (most recent call last):\n"), "traceback"),
        (refusal("error: x\n", memory=3 << 30), "memory"),
        (refusal("error: x\n", seconds=3.3), "time"),
        (refusal(f"error: the count is {SECRET}\n"), "confidential count in a message"),
        (refusal("error: \x1b[2J\n"), "control characters in a message"),
        (refusal("error: \u202ecsv.x\n"), "control characters in a message"),
        (refusal(f"error: {'x' * 5000}\n"), "long message"),
        (refusal("error: a\nb\n"), "several lines with status 2"),
        (refusal("something is wrong\n"), "a message that does not begin with error"),
        (refusal(""), "no message with status 2"),
        (refusal("error: x\n", status=1), "an error with status 1"),
        (refusal("error: x\n", made={"work/.out.txt.abc": 3}), "left behind"),
        (refusal("error: x\n", made={"tmp/openpyxl.1": 3}), "left behind"),
        (refusal("error: x\n", made={"home/.cache/cellbounds/x": 3}), "left behind"),
        (
            refusal("error: x\n", made={"work/out.txt": 0}),
            "an empty file left by a run that failed",
        ),
        (refusal("error: x\n", changed=["work/other.csv"]), "an input was changed"),
        (Outcome(status=0, stdout="a \u202e b".encode()), "control characters in a table"),
    ],
)
def test_what_breaks_the_contract_is_seen(outcome: Outcome, kind: str):
    assert kind in kinds(CASE, outcome)


STAND_INS = """
import os, sys, tempfile, time
from pathlib import Path

import cellbounds.cli
from reliability.fuzz.case import Case, File
from reliability.fuzz.judging import violations
from reliability.fuzz.running import run


def eat():
    eaten = []
    while True:
        eaten.append(b"x" * (64 << 20))


def hang():
    time.sleep(600)


def litter():
    tempfile.mkstemp()
    Path("forgotten").write_text("x")
    sys.exit(0)


def spoil():
    Path("table.csv").write_text("x")
    sys.exit(0)


def refuse():
    sys.stderr.write("error: no\\n")
    sys.exit(2)


for program in (eat, hang, os.abort, litter, spoil, refuse):
    cellbounds.cli.main = program
    words = ["audit", "--seconds", "0"] if program is hang else ["audit"]
    case = Case(1, 1, "audit", words, [File("table.csv", b"a")])
    for case, outcome in run([case], 1):
        found = sorted({violation.kind for violation in violations(case, outcome)})
        print(program.__name__, ", ".join(found))
print(len(list(Path(tempfile.gettempdir()).glob("cellbounds-fuzz-*"))), "folders left")
"""


def test_the_limits_and_the_folders_are_watched(tmp_path: Path):
    found = subprocess.run(
        [sys.executable, "-c", STAND_INS],
        cwd=REPOSITORY,
        env={**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.splitlines() == [
        "eat memory",
        "hang time",
        "abort ended by signal 6",
        "litter left behind",
        "spoil an input was changed",
        "refuse ",
        "0 folders left",
    ]
