"""A mutant put into a running process.

Nearly always the code of one function is replaced where it stands, so that nothing has to be
imported again and every name that somebody imported sees it. What runs on import (constants,
defaults) needs the package anew: every module of the repository is forgotten, and the changed one
is served from its changed tree.
"""

from __future__ import annotations

import ast
import gc
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, FunctionType, ModuleType

from reliability.mutants.operators import Mutant, mutated_tree

__all__ = ["Functions", "forget", "functions_of", "replace", "serve"]

Functions = dict[tuple[str, str], list[FunctionType]]
"""Functions of this process by file and qualified name."""


def functions_of(files: frozenset[str]) -> Functions:
    """Every function of some files that is alive, however it is decorated."""
    found: Functions = defaultdict(list)
    for one in gc.get_objects():
        if isinstance(one, FunctionType) and one.__code__.co_filename in files:
            found[one.__code__.co_filename, one.__code__.co_qualname].append(one)
    return found


def replace(mutant: Mutant, path: Path, functions: Functions) -> bool:
    """Give a function the mutant's code; False if only a new import can."""
    if mutant.function is None:
        return False
    changed = {
        (code.co_qualname, code.co_firstlineno): code
        for code in _codes(_compiled(mutated_tree(path.read_text(), mutant.number), path))
    }
    done = False
    for function in functions.get((str(path), mutant.function), ()):
        old = function.__code__
        if not old.co_firstlineno <= mutant.first:
            continue
        new = changed.get((old.co_qualname, old.co_firstlineno))
        if new is None or new.co_freevars != old.co_freevars:
            return False
        if new.co_code != old.co_code or new.co_consts != old.co_consts:
            function.__code__ = new
            done = True
    return done


def _compiled(tree: ast.Module, path: Path) -> CodeType:
    return compile(tree, str(path), "exec", dont_inherit=True)


def _codes(code: CodeType) -> Iterator[CodeType]:
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield one
            yield from _codes(one)


def forget(folders: Sequence[Path]) -> None:
    """Let every module that lies in some folders be imported anew."""
    for name, module in list(sys.modules.items()):
        file = getattr(module, "__file__", None)
        if file and any(Path(file).is_relative_to(folder) for folder in folders):
            del sys.modules[name]


class _Served(MetaPathFinder, Loader):
    """Imports one module from a changed tree."""

    def __init__(self, name: str, path: Path, tree: ast.Module) -> None:
        self._name = name
        self._path = path
        self._tree = tree

    def find_spec(self, fullname: str, *_: object) -> ModuleSpec | None:
        if fullname != self._name:
            return None
        return spec_from_file_location(fullname, self._path, loader=self)

    def exec_module(self, module: ModuleType) -> None:
        exec(_compiled(self._tree, self._path), module.__dict__)


def serve(name: str, path: Path, tree: ast.Module) -> MetaPathFinder:
    """From now on, import a module from this tree; returns what does it."""
    served = _Served(name, path, tree)
    sys.meta_path.insert(0, served)
    return served
