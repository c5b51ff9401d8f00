"""Compiled code that is kept on disk, and what another version has left there."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest

import cellbounds as cb
from cellbounds.runtime.compilation import Compiled, compiled_above

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


SUMS = """import sys
import numpy as np
from cellbounds.runtime.compilation import compiled, compiled_above
@compiled
def square(x):
    return x * x
@compiled_above(10)
def squares(numbers):
    total = 0.0
    for x in numbers:
        total += square(x)
    return total
print(*(squares(np.arange(float(size))) for size in map(int, sys.argv[1:])))
"""


@pytest.mark.parametrize(("sizes", "kept"), [(("3", "10"), False), (("3", "11", "10"), True)])
def test_small_work_is_done_without_compiling(tmp_path, sizes, kept):
    (tmp_path / "sums.py").write_text(SUMS)
    cache = tmp_path / "cache"
    for _ in range(2):  # the second time what was compiled is there already
        found = subprocess.run(
            [sys.executable, "sums.py", *sizes],
            cwd=tmp_path,
            env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
            capture_output=True,
            text=True,
            check=True,
        )
        expected = [float(sum(x * x for x in range(int(size)))) for size in sizes]
        assert [float(number) for number in found.stdout.split()] == expected
        assert any(cache.rglob("*squares*.nbi")) == kept


def test_the_first_posterior_of_a_small_table_compiles_nothing(tmp_path):
    code = (
        "import cellbounds as cb; "
        "release = cb.publish(cb.datasets.read('census3'), '[race,gender]', '[race,income]', "
        "'[gender,income]'); print(cb.posterior(release).joint_mode.total)"
    )
    found = subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == str(cb.datasets.read("census3").total)
    assert not any(tmp_path.rglob("*.nbi"))


def _products(pairs, out):
    for k in range(len(pairs.left)):
        out[k] = pairs.left[k] * pairs.right[k] + pairs.left[k]
    return pairs.left[0] + 10**12


class _Pairs(NamedTuple):
    left: np.ndarray
    right: np.ndarray


@pytest.mark.parametrize("kind", [np.int8, np.int32, np.uint16, np.int64])
def test_narrow_integers_are_wide_where_they_are_interpreted(monkeypatch, kind):
    """Numba computes with 64 bits whatever arrays hold; numpy would wrap around at fewer."""
    monkeypatch.setattr(Compiled, "spent", 0.0)
    most = np.iinfo(kind).max if np.iinfo(kind).bits < 64 else 2**30
    pairs = _Pairs(np.array([most, 3], kind), np.array([most, 5], kind))
    out = np.zeros(2, np.int64)
    assert compiled_above(100)(_products)(pairs, out) == int(most) + 10**12
    assert out.tolist() == [int(most) ** 2 + int(most), 18]


ANSWERS = """
import cellbounds as cb
def answers():
    for name, said in {
        "mp3": ["[mp3|gender]"],
        "delinquent": ["[education|county]@1"],
        "analgesic": ["[treatment,response]", "[status,response]"],
        "census3": ["[gender,race]", "[gender,income]", "[race,income]"],
    }.items():
        release = cb.publish(cb.datasets.read(name), *said)
        yield cb.count_tables(release)
        for prior in ("uniform", cb.priors.GammaPoisson(193, "1/4")):
            found = cb.posterior(release, prior)
            yield [round(mean, 9) for mean in found.mean.ravel().tolist()]
            yield cb.sample(release, 3, prior=prior, rng=5).counts.ravel().tolist()
"""


def test_interpreted_kernels_answer_the_same(tmp_path, monkeypatch):
    """With nothing compiled and all the patience there is, against compiled ones."""
    names = {}
    exec(ANSWERS, names)
    monkeypatch.setattr(Compiled, "spent", float("inf"))
    compiled = list(names["answers"]())
    code = f"from cellbounds.runtime.compilation import Compiled{ANSWERS}"
    code += "Compiled.spent = float('-inf')\nprint(list(answers()))\n"
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.stderr == ""
    assert found.stdout == f"{compiled}\n"
