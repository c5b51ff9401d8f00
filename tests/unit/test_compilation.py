"""Compiled code that is kept on disk, and what another version has left there."""

from __future__ import annotations

import subprocess
import sys

import pytest

TYPES = "from typing import NamedTuple\nclass Pair(NamedTuple):\n    a: int\n    b: int\n"
KERNEL = """from cellbounds.runtime.compilation import compiled
@compiled
def inner(pair):
    return pair.a
@compiled
def outer(pair):
    return inner(pair) + pair.b
"""


@pytest.mark.parametrize("called", ["outer", "inner"])
def test_what_another_version_kept_is_compiled_anew(tmp_path, called):
    """Its types lie in a module that was renamed since."""
    (tmp_path / "kernel.py").write_text(KERNEL)
    results = []
    for types in ("before", "after"):
        (tmp_path / f"{types}.py").write_text(TYPES)
        code = f"from {types} import Pair; import kernel; print(kernel.outer(Pair(2, 3)))"
        if types == "after":
            (tmp_path / "before.py").unlink()
            code = code.replace("outer(", f"{called}(")
        found = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        results.append((found.stdout.strip(), found.stderr))
    assert results == [("5", ""), ("5" if called == "outer" else "2", "")]
