"""Tests run against mutants: one warm process that collects them once and forks for each mutant."""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from importlib.abc import MetaPathFinder
from pathlib import Path
from types import FrameType
from typing import Any

import psutil
import pytest
from hypothesis import HealthCheck, Phase, settings

from reliability.mutants.operators import Mutant, mutated_tree
from reliability.mutants.patching import Functions, forget, functions_of, replace, serve

__all__ = ["Court", "Fate", "Plan", "run"]

KILLED, TIMEOUT, SURVIVED = "killed", "timeout", "survived"

EXAMPLES = 30
"""Examples of each property test: enough to notice a fault that shows in one of ten."""

QUICK = 0.2
"""Tests that take less may be run first because they noticed much."""

SLOWER = 3.0
"""A test may take this many times its clean processor time, and some seconds more."""

WALL = 1800.0
"""Seconds by the clock after which a mutant is ended that neither works nor ends: others use the
machine too. The clock is this process's: the tests set the system's alarm themselves."""

LOOK = 0.02
"""Seconds between two looks at who has ended."""

MEMORY = 8 * 2**30
"""Address space that a mutant may take beyond what there is."""


@dataclass(frozen=True)
class Plan:
    """What is to be run: sources under `source`, tests, the mutants, and how many at once."""

    root: Path
    source: Path
    modules: tuple[Path, ...]
    tests: tuple[Path, ...]
    mutants: tuple[Mutant, ...]
    without: str = ""
    last: str = ""
    """What the names of tests have in common that are run after the others."""
    workers: int = 1
    seconds: float = 8.0
    """Clean processor time of the tests that one mutant has to pass, at most."""
    grace: float = 3.0
    """Seconds that a test may take beyond a multiple of its clean time."""
    kept: Path | None = None
    """Where it is kept which lines each test touches, until a module or a test changes."""

    def digest(self) -> str:
        """What the lines that tests touch depend on."""
        found = hashlib.sha256(repr((self.tests, self.without)).encode())
        for path in (*sorted(self.source.rglob("*.py")), *self.tests):
            found.update(path.read_bytes())
        return found.hexdigest()


@dataclass(frozen=True)
class Fate:
    """What became of a mutant, and which test noticed it."""

    mutant: Mutant
    outcome: str
    by: str
    tests: int
    seconds: float


@dataclass
class Clean:
    """What the tests do without any mutant: seconds of each, and the lines that each touches."""

    seconds: dict[str, float] = field(default_factory=dict)
    lines: dict[str, set[tuple[str, int]]] = field(default_factory=dict)
    noticed: Counter[str] = field(default_factory=Counter)
    last: str = ""

    def touching(self, file: str, first: int, last: int, most: float) -> list[str]:
        """Tests that touch some line, fastest first, as many as there is time for."""
        wanted = {(file, line) for line in range(first, last + 1)}
        return self.in_time((name for name, seen in self.lines.items() if seen & wanted), most)

    def importing(self, file: str, most: float) -> list[str]:
        """Tests that touch any line of a file."""
        names = (n for n, seen in self.lines.items() if any(one == file for one, _ in seen))
        return self.in_time(names, most)

    def in_time(self, names: Iterable[str], most: float = float("inf")) -> list[str]:
        """Tests in the order in which they are run: those that noticed most, then the fastest.

        Those that are run last come after them, as many again as there is time for.
        """
        early: list[str] = []
        late: list[str] = []
        for name in names:
            (late if self.last and self.last in name else early).append(name)
        return [*self._fastest(early, most), *self._fastest(late, most)]

    def _fastest(self, names: Iterable[str], most: float) -> list[str]:
        def rank(name: str) -> tuple[int, float]:
            quick = self.seconds[name] < QUICK
            return (-self.noticed[name] if quick else 0, self.seconds[name])

        chosen: list[str] = []
        spent = 0.0
        for name in sorted(names, key=rank):
            spent += self.seconds[name]
            if chosen and spent > most:
                break
            chosen.append(name)
        return chosen


def run(plan: Plan, tell: Callable[[str], None] = print) -> list[Fate]:
    """The fate of every mutant; an error if the tests do not pass without any."""
    os.environ["HYPOTHESIS_PROFILE"] = "mutants"
    settings.register_profile(
        "mutants",
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.explicit, Phase.generate),
    )
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    sys.path.insert(0, str(plan.source))  # and not what may be installed
    ways = [str(plan.source), str(plan.root), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, ways))
    court = Court(plan, tell)
    status = pytest.main([*_options(plan), *map(str, plan.tests)], plugins=[court])
    if court.problem or len(court.fates) < len(plan.mutants):
        raise RuntimeError(court.problem or f"pytest ended with {status!r}")
    return court.fates


def _options(plan: Plan) -> list[str]:
    chosen = ["-k", plan.without] if plan.without else []
    quiet = ["-qq", "--no-header", "--no-summary", "--capture=sys"]
    # Hypothesis is there before pytest could rewrite its assertions, and has none to rewrite.
    calm = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
    alone = ["-p", "no:cacheprovider", "-p", "no:xdist", f"--rootdir={plan.root}"]
    # Everything happens within what pytest takes for one test, which would be ended as hanging.
    patient = ["-o", "faulthandler_timeout=0"]
    return [*quiet, *calm, *alone, *patient, *chosen]


class Court:
    """A plugin of pytest: where the tests would be run, the mutants are."""

    def __init__(self, plan: Plan, tell: Callable[[str], None]) -> None:
        self.plan = plan
        self.fates: list[Fate] = []
        self.problem = ""
        self._tell = tell
        self._clean = Clean(last=plan.last)
        self._functions: Functions = {}
        self._files = frozenset(map(str, plan.modules))

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Learn what the tests do, then try every mutant."""
        if session.testsfailed:
            self.problem = "tests could not be collected"
            return True
        items = {item.nodeid: item for item in session.items}
        self._learn(items)
        if not self.problem:
            self._functions = functions_of(self._files)
            self._check_imports()
        if not self.problem:
            self._try_all(items)
        return True

    def _learn(self, items: dict[str, pytest.Item]) -> None:
        """Run the tests once to see what they touch, once more in the order of a mutant."""
        begun = time.monotonic()
        key = self.plan.digest()
        kept = self.plan.kept
        found = json.loads(kept.read_text()) if kept is not None and kept.exists() else {}
        known = found.get("key") == key
        seen = found["seen"] if known else self._shared_out([*items.values()], self._files)
        if self.problem:
            return
        for name in dict.fromkeys(name for told in seen for name in told["modules"]):
            with suppress(ImportError):  # some are made by their packages, in no file
                importlib.import_module(name)  # so that no mutant has to wait for it
        for told in seen:
            self._clean.seconds |= told["seconds"]
            for name, lines in told["lines"].items():
                if lines:
                    self._clean.lines[name] = {(file, line) for file, line in lines}
        order = self._clean.in_time(self._clean.lines)
        if known:
            again = found["again"]
        else:
            # Under the limits of a mutant, which a test may not notice by itself.
            again = self._shared_out([items[name] for name in order], limits=self._limits())
        for told in again:
            self._clean.seconds |= told["seconds"]
        if kept is not None and not known and not self.problem:
            kept.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(json.dumps({"key": key, "seen": seen, "again": again}))
        spent = sum(self._clean.seconds[name] for name in order)
        self._tell(
            f"{len(order)} of {len(items)} tests touch it and pass in {spent:.0f} s of processor "
            f"time; learned in {time.monotonic() - begun:.0f} s"
        )

    def _shared_out(
        self,
        items: list[pytest.Item],
        files: frozenset[str] = frozenset(),
        limits: dict[str, float] | None = None,
    ) -> list[dict[str, Any]]:
        """Run clean tests, shared out among several processes; what they told."""
        shares = [items[k :: self.plan.workers] for k in range(self.plan.workers)]
        children = [_Child(lambda own=own: _examined(own, files, limits)) for own in shares]  # type: ignore[misc]
        for child in children:
            os.waitpid(child.pid, 0)
        found = [child.told()[0] for child in children]
        return [told for told in found if not self._failed(told)]

    def _failed(self, told: dict[str, Any]) -> bool:
        if told.get("failed", "the process died"):
            self.problem = f"without any mutant: {told.get('failed', 'the process died')}"
        return bool(self.problem)

    def _check_imports(self) -> None:
        """Where mutants need a new import: the tests must pass after one of the same code."""
        needed = [one for one in self.plan.mutants if one.function is None]
        names = {name for one in needed for name in self._tests_for(one)}
        if not names:
            return
        path = self._path(needed[0])
        tree = mutated_tree(path.read_text(), None)
        order = self._clean.in_time(names)
        self._failed(_told(lambda: self._imported(path, tree, order)))

    def _path(self, mutant: Mutant) -> Path:
        return self.plan.source / mutant.module

    def _tests_for(self, mutant: Mutant) -> list[str]:
        file = str(self._path(mutant))
        if mutant.function is None:
            return self._clean.importing(file, self.plan.seconds)
        return self._clean.touching(file, mutant.first, mutant.last, self.plan.seconds)

    def _try_all(self, items: dict[str, pytest.Item]) -> None:
        waiting = list(reversed(self.plan.mutants))
        running: dict[int, tuple[Mutant, _Child, list[str]]] = {}
        try:
            while waiting or running:
                while waiting and len(running) < self.plan.workers:
                    mutant = waiting.pop()
                    names = self._tests_for(mutant)
                    if not names:
                        self._note(Fate(mutant, SURVIVED, "no test touches it", 0, 0.0))
                        continue
                    child = _Child(lambda m=mutant, n=names: self._tried(m, n, items))  # type: ignore[misc]
                    running[child.pid] = mutant, child, names
                pid, status = os.waitpid(-1, os.WNOHANG) if running else (0, 0)
                if pid in running:
                    mutant, child, names = running.pop(pid)
                    self._note(_fate(mutant, child, status, names))
                elif running and not pid:
                    for _, child, _ in running.values():
                        child.end_if_stuck()
                    time.sleep(LOOK)
        finally:
            for _, child, _ in running.values():
                child.end()

    def _note(self, fate: Fate) -> None:
        self.fates.append(fate)
        if fate.outcome == KILLED:
            self._clean.noticed[fate.by] += 1
        done = f"{len(self.fates)}/{len(self.plan.mutants)}"
        at = f"{fate.mutant.module}:{fate.mutant.first}"
        self._tell(f"{done} {fate.outcome} {fate.seconds:.1f} s {at} {fate.mutant.change}")

    def _tried(self, mutant: Mutant, names: list[str], items: dict[str, pytest.Item]) -> Any:
        """In a child: with the mutant in place, the first test that fails."""
        path = self._path(mutant)
        if replace(mutant, path, self._functions):
            return _examined([items[name] for name in names], limits=self._limits())
        return self._imported(path, mutated_tree(path.read_text(), mutant.number), names)

    def _limits(self) -> dict[str, float]:
        """Processor time that each test may take."""
        seconds = self._clean.seconds
        return {name: SLOWER * spent + self.plan.grace for name, spent in seconds.items()}

    def _imported(self, path: Path, tree: Any, names: list[str]) -> Any:
        """In a child: the same after a new import."""
        root = self.plan.root
        forget([self.plan.source, root / "tests", *{test.parent for test in self.plan.tests}])
        module = ".".join(path.relative_to(self.plan.source).with_suffix("").parts)
        inner = _Again(names, self._limits(), serve(module, path, tree))
        arguments = [f"{root}/{name}" for name in names]  # as they are: some have // in them
        pytest.main([*_options(self.plan), *arguments], plugins=[inner])
        return inner.told


class _Again:
    """A plugin that runs collected tests in a given order, within their limits."""

    def __init__(self, names: list[str], limits: dict[str, float], served: MetaPathFinder) -> None:
        self.told: dict[str, Any] = {"failed": "the import"}
        self._names = names
        self._limits = limits
        self._served = served

    def pytest_collection(self) -> None:
        """Come before pytest, which imports the files that it was given by itself."""
        sys.meta_path.remove(self._served)
        sys.meta_path.insert(0, self._served)

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if not session.testsfailed:
            items = {item.nodeid: item for item in session.items}
            order = [items[name] for name in self._names]
            self.told = _examined(order, limits=self._limits)
        return True


def _examined(
    items: Sequence[pytest.Item],
    files: frozenset[str] = frozenset(),
    limits: dict[str, float] | None = None,
) -> dict[str, Any]:
    """Run tests in this process until one fails: who failed, seconds, and the lines of files."""
    told: dict[str, Any] = {"failed": "", "seconds": {}, "lines": {}, "modules": []}
    if not items:
        return told
    reports = _Reports()
    items[0].config.pluginmanager.register(reports)
    with _traced(files) as seen:
        for item, following in zip(items, [*items[1:], None], strict=True):
            if limits is not None:
                signal.setitimer(signal.ITIMER_PROF, limits[item.nodeid])
            begun = _spent()
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if reports.failed:
                told["failed"] = item.nodeid + reports.why
                break
            told["seconds"][item.nodeid] = _spent() - begun
            told["lines"][item.nodeid] = list(seen)
            seen.clear()
    signal.setitimer(signal.ITIMER_PROF, 0)
    told["modules"] = list(sys.modules)
    return told


def _spent() -> float:
    """Processor time of this process and of those that it has waited for."""
    return sum(os.times()[:4])


class _Reports:
    """A plugin that remembers whether a test failed."""

    def __init__(self) -> None:
        self.failed = False
        self.why = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.failed:
            self.failed = True
            self.why = f"\n{report.longreprtext}"


@contextmanager
def _traced(files: frozenset[str]) -> Iterator[set[tuple[str, int]]]:
    """Lines of some files that are run, as a set that grows."""
    seen: set[tuple[str, int]] = set()

    def passed(frame: FrameType, event: str, _argument: object) -> Any:
        if event == "line":
            seen.add((frame.f_code.co_filename, frame.f_lineno))
        return passed

    def entered(frame: FrameType, _event: str, _argument: object) -> Any:
        return passed if frame.f_code.co_filename in files else None

    if files:
        threading.settrace(entered)
        sys.settrace(entered)
    try:
        yield seen
    finally:
        if files:
            sys.settrace(None)
            threading.settrace(None)


class _Child:
    """A forked process that runs something and tells what came of it in a file."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="mutant-"))
        self._folder.chmod(0o755)  # some tests look at files as another user
        self._begun = time.monotonic()
        self.stuck = False
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            self._work(work)

    def _work(self, work: Callable[[], Any]) -> None:
        try:
            os.setsid()
            _stay_nice()
            nothing = os.open(os.devnull, os.O_RDWR)
            for descriptor in (0, 1, 2):
                os.dup2(nothing, descriptor)
            used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
            resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            os.environ["PYTEST_DEBUG_TEMPROOT"] = str(self._folder)
            os.environ["TMPDIR"] = tempfile.tempdir = str(self._folder)
            told = work()
        except BaseException as problem:
            told = {"failed": repr(problem)}
        try:
            (self._folder / "told.json").write_text(json.dumps(told))
        finally:
            os._exit(0)

    def told(self) -> tuple[dict[str, Any], float]:
        """What it told and how long it took, once it has ended; nothing of it is left."""
        file = self._folder / "told.json"
        found = json.loads(file.read_text()) if file.exists() else {}
        self._clear()
        return found, time.monotonic() - self._begun

    def end_if_stuck(self) -> None:
        """End it if it has taken far too long by the clock; its fate says so."""
        if not self.stuck and time.monotonic() - self._begun > WALL:
            self.stuck = True
            os.kill(self.pid, signal.SIGKILL)

    def end(self) -> None:
        """End it at once."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        self._clear()

    def _clear(self) -> None:
        """End what it may have started, such as a server in its folder, and remove the folder."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        for process in psutil.process_iter(["cmdline"]):
            if any(str(self._folder) in given for given in process.info["cmdline"] or ()):
                with suppress(psutil.Error):  # it has ended meanwhile
                    process.kill()
        shutil.rmtree(self._folder, ignore_errors=True)


def _stay_nice() -> None:
    """Let the niceness of this process count, though it has a session of its own."""
    with suppress(OSError):  # not every system schedules by sessions
        Path("/proc/self/autogroup").write_text(str(os.nice(0)))


def _told(work: Callable[[], Any]) -> dict[str, Any]:
    child = _Child(work)
    os.waitpid(child.pid, 0)
    return child.told()[0]


def _fate(mutant: Mutant, child: _Child, status: int, names: list[str]) -> Fate:
    told, seconds = child.told()
    if os.WIFSIGNALED(status):
        late = os.WTERMSIG(status) == signal.SIGPROF or child.stuck
        by = f"no end after {WALL:.0f} s" if child.stuck else f"signal {os.WTERMSIG(status)}"
        return Fate(mutant, TIMEOUT if late else KILLED, by, len(names), seconds)
    failed = told.get("failed", "no answer")
    outcome = KILLED if failed else SURVIVED
    return Fate(mutant, outcome, failed.split("\n", 1)[0], len(names), seconds)
