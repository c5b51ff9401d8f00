"""The contract: what every run must keep, whatever it is given."""

from __future__ import annotations

import json
import os
import re
import unicodedata
from dataclasses import dataclass
from pathlib import PurePosixPath

from reliability.fuzz.case import SECRET, Case
from reliability.fuzz.running import KEPT, MEMORY, Outcome

__all__ = ["Violation", "lateness", "over_budget", "violations"]

STATUSES = (0, 1, 2, 3, 130)
LONGEST_MESSAGE = 1500
"""Characters of a message: a value and its name may be long, the sentence around them not."""

CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
PROGRESS = re.compile(r"^cellbounds: .*\(\d+ s.*\)$|^.* was not written(: .*)?$")
"""Lines that say what a long run is busy with, and what there was no time or reason to write."""

CACHE = ("home/.cache", "home/.cache/cellbounds")
"""The user's folder for work that memory cannot hold may be made; nothing in it may stay."""

TRACES = ("Traceback (most recent call last)", "Exception ignored in")


@dataclass(frozen=True, slots=True)
class Violation:
    """Something that a run did not keep: its kind, and what tells causes apart."""

    kind: str
    detail: str


def violations(case: Case, outcome: Outcome) -> list[Violation]:
    """Everything in which a run broke the contract."""
    found = [
        *_of_status(case, outcome),
        *_of_limits(case, outcome),
        *_of_message(case, outcome),
        *_of_files(case, outcome),
        *_of_output(case, outcome),
    ]
    return [Violation(kind, detail) for kind, detail in found]


Found = list[tuple[str, str]]


def _of_status(case: Case, outcome: Outcome) -> Found:
    if outcome.stopped:
        return []
    cause = outcome.cause.partition("\n")[0] or case.command
    if outcome.status == 70:
        return [("status 70", cause)]
    if outcome.status < 0:
        return [(f"ended by signal {-outcome.status}", case.command)]
    if outcome.status not in STATUSES:
        return [(f"status {outcome.status}", cause)]
    if outcome.status == 130 and case.interrupt is None:
        return [("status 130 though nobody interrupted", case.command)]
    return []


def over_budget(case: Case, outcome: Outcome) -> bool:
    """Whether a run took longer than its budget allows."""
    return case.budget is not None and outcome.seconds > 1.1 * case.budget + 1


def lateness(case: Case, outcome: Outcome) -> Violation:
    """How late a run was."""
    done = "; ".join(case.mutations) or "nothing done to it"
    took = f"{outcome.seconds:.1f} s of {case.budget} s"
    return Violation("time", f"{case.command}, {took}, {done}")


def _of_limits(case: Case, outcome: Outcome) -> Found:
    found: Found = []
    if outcome.memory > MEMORY:
        found.append(("memory", f"{case.command}: {'; '.join(case.mutations)}"))
    if over_budget(case, outcome) and outcome.stopped != "memory":
        found.append(("time", lateness(case, outcome).detail))
    return found


def _of_message(case: Case, outcome: Outcome) -> Found:
    if outcome.stopped or case.stderr != "file":
        return []
    text = outcome.stderr.decode(_encoding(case), "replace")
    found: Found = [("traceback", _last_line(text)) for mark in TRACES if mark in text]
    if any("/dev/stderr" in word for word in case.words):  # what was asked for stands there too
        return found
    if case.confidential and str(SECRET) in text and outcome.status not in (0, 1):
        found.append(("confidential count in a message", _first_words(text)))
    if CONTROLS.search(text):
        found.append(("control characters in a message", _first_words(text)))
    lines = [line for line in text.split("\n") if line and not PROGRESS.match(line)]
    if sum(map(len, lines)) > LONGEST_MESSAGE:
        found.append(("long message", _first_words(lines[-1])))
    if outcome.status == 2:
        found += _of_refusal(lines)
    elif any(line.lower().startswith("error:") for line in lines):
        found.append((f"an error with status {outcome.status}", _first_words(text)))
    elif outcome.status in (3, 130) and len(lines) > 1:
        found.append((f"several lines with status {outcome.status}", _first_words(text)))
    return found


def _of_refusal(lines: list[str]) -> Found:
    """Bad input is refused with one line; what is wrong with the words, after the usage."""
    if "Commands:" in lines:  # a group without a command shows its help
        return []
    if lines and lines[0].startswith("Usage: "):
        lines = [line for line in lines if not line.startswith(("Usage: ", "Try ", "  "))]
    if not lines:
        return [("no message with status 2", "")]
    if len(lines) > 1:
        return [("several lines with status 2", _first_words(lines[0]))]
    if not lines[0].startswith(("error: ", "Error: ")):
        return [("a message that does not begin with error", _first_words(lines[0]))]
    return []


def _of_files(case: Case, outcome: Outcome) -> Found:
    if outcome.stopped:  # whoever is killed cannot tidy up
        return []
    found: Found = []
    for name, size in outcome.made.items():
        where = PurePosixPath(os.path.relpath(name, "work"))
        if name in CACHE:
            continue
        if not _is_asked_for(case, where):
            found.append(("left behind", f"{case.command}: {_without_digits(name)}"))
        elif size == 0 and outcome.status == 2 and where.suffix and not _is_folder(name, outcome):
            found.append(("an empty file left by a run that failed", f"{case.command}: {name}"))
    named = set(case.words)
    for name in outcome.changed:
        # An existing file that an option for outputs names may be replaced.
        if name.removeprefix("work/") not in named:
            found.append(("an input was changed", f"{case.command}: {name}"))
    return found


def _is_folder(name: str, outcome: Outcome) -> bool:
    return any(other.startswith(f"{name}/") for other in outcome.made)


def _is_asked_for(case: Case, path: PurePosixPath) -> bool:
    """Whether words name a file, a folder around or within it, or the release it belongs to."""
    named = [PurePosixPath(word.partition("=")[2] or word) for word in case.words]
    if path.name.startswith(".") and path not in named:
        return False
    # Beside a release file the figures of its statements: best.toml, best.1-statement.csv.
    belongs = (one for one in named if one.stem and path.name.startswith(f"{one.stem}."))
    around = any(parent in named for parent in path.parents)
    within = any(path in one.parents for one in named)  # folders made for what was named
    return path in named or around or within or any(belongs)


def _of_output(case: Case, outcome: Outcome) -> Found:
    if case.stdout != "file" or outcome.stopped or outcome.status not in (0, 1, 3):
        return []
    style = case.value_of("--format") or "table"
    written = {"-o", "--output"} & set(case.words)
    text = outcome.stdout.decode(_encoding(case), "replace")
    whole = len(outcome.stdout) < KEPT
    if (
        style == "json"
        and whole
        and not written
        and text
        and case.command not in ("synthesize", "")
    ):
        try:
            json.loads(text)
        except ValueError:
            return [("JSON that cannot be read", case.command)]
    if style == "table" and CONTROLS.search(text) and whole:
        mark = CONTROLS.search(text)
        assert mark is not None
        name = unicodedata.name(mark.group(), f"U+{ord(mark.group()):04X}")
        return [("control characters in a table", f"{case.command}: {name}")]
    return []


def _encoding(case: Case) -> str:
    return case.environment.get("PYTHONIOENCODING", "utf-8").partition(":")[0]


def _without_digits(text: str) -> str:
    return re.sub(r"[a-z0-9_]{8}$", "********", re.sub(r"\d+", "#", text))


def _first_words(text: str) -> str:
    return _without_digits(" ".join(text.split())[:90])


def _last_line(text: str) -> str:
    return (text.strip().split("\n") or [""])[-1][:120]
