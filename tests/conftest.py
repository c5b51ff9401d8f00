"""Profiles of the property tests: `default` for every run, `long` for `make test-long`; `run`.

``CELLBOUNDS_NEEDS="Chromium PostgreSQL"`` lets tests fail that would be skipped for want of these.
"""

from __future__ import annotations

import os
import signal
import sys
from functools import wraps

import pytest
from hypothesis import HealthCheck, settings

from cellbounds import cli

_CHECKS = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

settings.register_profile(
    "default", max_examples=40, deadline=None, suppress_health_check=_CHECKS, derandomize=True
)
settings.register_profile(
    "long", max_examples=12_000, deadline=None, suppress_health_check=_CHECKS, print_blob=True
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))

# Hundreds of commands are started: without bytecode on disk each compiles the package anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

_NEEDED = os.environ.get("CELLBOUNDS_NEEDS", "").split()


def pytest_collection_modifyitems(config, items):
    """Tests that belong to `make test-long` are left to it."""
    if os.environ.get("HYPOTHESIS_PROFILE") == "long":
        return
    long = [item for item in items if item.get_closest_marker("long")]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if item not in long]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.skipped and any(word in str(report.longrepr) for word in _NEEDED):
        report.outcome = "failed"
    return report


@pytest.fixture(scope="session", autouse=True)
def compiled_once(tmp_path_factory):
    """Of several workers one compiles a function; the others wait and read it from the disk."""
    if "PYTEST_XDIST_WORKER" not in os.environ or os.name != "posix":
        yield
        return
    import fcntl

    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.dispatcher import Dispatcher

    locks = tmp_path_factory.getbasetemp().parent / "compiling"
    locks.mkdir(exist_ok=True)
    compile_here = Dispatcher.compile

    @wraps(compile_here)
    def compile_alone(self, signature):
        name = f"{self.py_func.__module__}.{self.py_func.__qualname__}"
        if not name.startswith("cellbounds."):
            return compile_here(self, signature)
        # numba's own lock first: threads of one worker would wait for each other otherwise.
        with global_compiler_lock, (locks / name).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            return compile_here(self, signature)

    Dispatcher.compile = compile_alone
    yield
    Dispatcher.compile = compile_here


@pytest.fixture(autouse=True)
def interruptible_again():
    """A command that is over ignores Ctrl-C, as its process is about to end; tests go on."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command in this process; returns exit status, standard output, standard error.

    What is said on standard error is broken to fit the terminal, and put together again here.
    """

    def runs(*arguments):
        monkeypatch.setattr(sys, "argv", ["cellbounds", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            cli.main()
        caught = capsys.readouterr()
        return left.value.code, caught.out, caught.err

    return runs
