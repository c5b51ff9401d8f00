"""Compiling functions when they are first called, and random numbers for them.

numba is loaded with the first of them: that takes a while.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property, update_wrapper
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from cellbounds.runtime.arrays import IntArray
from cellbounds.runtime.interrupts import uninterrupted, watched
from cellbounds.runtime.isolation import Ended, Isolated

PATIENCE = 1.0
"""Seconds of small work in plain Python, after which functions are compiled for it too."""

_COMPILED: list[Compiled] = []


class _Interpreting(threading.local):
    """Whether a thread is inside a function that runs as plain Python."""

    now = False


_INTERPRETING = _Interpreting()


class Compiled:
    """A compiled function, for Python and for other compiled functions.

    Signals that came while it was working raise when it has returned: numba does not expect them
    before. While it works, other threads can: that of a progress line, for one.

    Compiling takes seconds, so that small work would mostly be waiting: called with no more than
    `few` numbers in arrays it runs as plain Python, unless it was compiled before, now or on
    another run, or such calls have taken long enough together.
    """

    spent = 0.0  # seconds of all of them together

    def __init__(self, function: Callable[..., Any], few: int = 0) -> None:
        update_wrapper(self, function)
        self._function, self._few = function, few
        _COMPILED.append(self)

    @cached_property
    def _dispatcher(self) -> Any:
        from numba import njit

        try:
            return njit(cache=True, nogil=True)(self._function)
        except RuntimeError:  # neither the package's folder nor the user's cache can be written
            return njit(nogil=True)(self._function)

    def __call__(self, *given: Any) -> Any:
        """Compile when first called, and keep the result on disk if there is a place for it."""
        if _INTERPRETING.now:
            return self._function(*given)
        small = self._few and Compiled.spent < PATIENCE and _numbers(given) <= self._few
        if small and not (self._kept or self._dispatcher.signatures):
            return self._interpreted(*given)
        if watched() and not self._dispatcher.overloads:
            self._compile_apart(given)
        try:
            return uninterrupted(self._dispatcher, *given)
        except (ImportError, AttributeError):
            # Kept by another version: its types lie in modules that are no longer there, and
            # numba reads them before it sees that the source has changed.
            for function in _COMPILED:
                function._dispatcher._cache.flush()
            return uninterrupted(self._dispatcher, *given)

    def _compile_apart(self, given: tuple[Any, ...]) -> None:
        """Have another process compile it and keep it on disk.

        Where work is stopped that is late, compiling is not part of it: it takes seconds, once, and
        cannot be interrupted here. That process can be ended.
        """
        files = getattr(self._dispatcher._cache, "_cache_file", None)
        if files is None:  # there is no place to keep it
            return
        types = tuple(map(self._dispatcher.typeof_pyval, given))
        target = self._dispatcher.targetctx
        target.refresh()
        if self._dispatcher._cache._index_key(types, target.codegen()) not in files._load_index():
            with suppress(Ended):  # then it is compiled here
                own = self._function
                Isolated(_Compiler).ask("compile", own.__module__, own.__name__, types)

    @cached_property
    def _kept(self) -> bool:
        """Whether an earlier run has left it on disk."""
        files = getattr(self._dispatcher._cache, "_cache_file", None)
        return files is not None and Path(files._index_path).exists()

    @property
    def pays(self) -> bool:
        """Whether to call it for small work that is done without it otherwise.

        Loading numba takes longer than such work, and compiling takes seconds: only where both was
        done before, or such work has taken long enough together.
        """
        if Compiled.spent >= PATIENCE:
            return True
        return "numba" in sys.modules and (self._kept or bool(self._dispatcher.signatures))

    def _interpreted(self, *given: Any) -> Any:
        _INTERPRETING.now = True
        try:
            with uncompiled(), np.errstate(over="ignore"):  # integers wrap, as compiled ones do
                return self._function(*map(_promoted, given))
        finally:
            _INTERPRETING.now = False

    @property
    def _numba_type_(self) -> Any:
        """What numba looks at where other compiled functions call this one."""
        return self._dispatcher._numba_type_


@contextmanager
def uncompiled() -> Iterator[None]:
    """Small work done without compiled functions: what it takes is counted."""
    begun = time.thread_time()
    try:
        yield
    finally:
        Compiled.spent += time.thread_time() - begun


class _Compiler:
    """Compiles functions of this package."""

    def compile(self, module: str, name: str, types: tuple[Any, ...]) -> None:
        """Compile a function for arguments of some types, and keep the result on disk."""
        getattr(import_module(module), name)._dispatcher.compile(types)


class _Promoting(np.ndarray):
    """Narrow integers that are read as wide ones: numba computes with 64 bits, numpy with fewer."""

    def __getitem__(self, index: Any) -> Any:
        value = super().__getitem__(index)
        return np.int64(value) if isinstance(value, np.integer) else value


def _promoted(given: Any) -> Any:
    """Arguments whose narrow integers are promoted when they are read; they share their memory."""
    if isinstance(given, tuple):
        parts = map(_promoted, given)
        return type(given)(*parts) if hasattr(given, "_fields") else tuple(parts)
    narrow = isinstance(given, np.ndarray) and given.dtype.kind in "iu" and given.dtype.itemsize < 8
    return given.view(_Promoting) if narrow else given


def _numbers(given: Any) -> int:
    """How many numbers arguments hold in arrays."""
    if isinstance(given, tuple):
        return sum(map(_numbers, given))
    return given.size if isinstance(given, np.ndarray) else 0


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a function when it is first called."""
    return Compiled(function)


def compiled_above(few: int) -> Callable[[Callable[..., Any]], Any]:
    """Compile a function only when its arrays hold more numbers than a few, or for repeated work.

    For functions whose work is small if their arrays are.
    """
    return lambda function: Compiled(function, few)


@compiled
def _mixed(z: Any) -> Any:
    """Splitmix64's mixing function: every bit of the result depends on every bit of the counter."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@compiled
def _random_bits(state: IntArray) -> Any:
    """64 random bits (splitmix64: a counter and a mixing function).

    The state changes in place, so that what is drawn depends on nothing else. numba's own
    generator is three times slower.
    """
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    return _mixed(state[0])


@compiled
def random_state(seed: Any, number: Any) -> Any:
    """The state from which the draw with this number starts, never zero."""
    counter = np.uint64(seed) + np.uint64(number + 1) * np.uint64(0x9E3779B97F4A7C15)
    return _mixed(counter) | np.uint64(1)


@compiled
def random_unit(state: IntArray) -> Any:
    """A number in [0, 1) with 53 random bits."""
    return np.float64(_random_bits(state) >> np.uint64(11)) * 2.0**-53


@compiled
def random_below(state: IntArray, limit: Any) -> Any:
    """A whole number from 0 to below `limit`, a little uneven if the limit is above 2**31."""
    if limit <= 1 << 31:
        # The high bits of a product: no division, which would take longer than all the rest.
        return (np.int64(_random_bits(state) >> np.uint64(33)) * limit) >> 31
    return min(np.int64(random_unit(state) * limit), limit - 1)
