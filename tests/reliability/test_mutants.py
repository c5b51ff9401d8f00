"""Mutation testing on a small module: what a test can see is noticed, what none can see is not."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from reliability.mutants.areas import AREAS, REPOSITORY
from reliability.mutants.command import sampled
from reliability.mutants.operators import mutants_of, mutated_tree

TOY = '''
"""A module to be broken."""
LIMIT = 3
BLOCK, CHUNK = 1 << 6, 100
WORDS = ("large",)


class Judge:
    """Decides."""

    @property
    def limit(self) -> int:
        return LIMIT + 0

    def is_small(self, count: int) -> bool:
        if count < 0:
            raise ValueError(f"a count of {count} is below {0}")
        return count < self.limit

    def __repr__(self) -> str:
        return "Judge" * 1


def halvings(count: int) -> int:
    steps = 0
    while count > 1:
        count //= 2
        steps += 1
    return steps


def unused() -> int:
    return 1 + 1
'''

TESTS = """
import pytest
from toy import Judge, halvings

@pytest.mark.parametrize("count, small", [(0, True), (2, True), (3, False), (4, False)])
def test_small(count, small):
    assert Judge().is_small(count) is small

def test_refused():
    with pytest.raises(ValueError):
        Judge().is_small(-1)

def test_halvings():
    assert (halvings(1), halvings(9)) == (0, 3)
"""

RUN = """
import json, sys
from pathlib import Path
from reliability.mutants.operators import mutants_of
from reliability.mutants.running import Plan, run

root = Path.cwd()
toy = root / "src" / "toy.py"
mutants = tuple(mutants_of("toy.py", toy.read_text()))
plan = Plan(root, root / "src", (toy,), (root / "tests" / "test_toy.py", toy), mutants, grace=0.3)
fates = run(plan, lambda line: print(line, file=sys.stderr))
Path("fates.json").write_text(json.dumps([[f.mutant.key, f.outcome, f.by] for f in fates]))
"""


def fates_of(folder: Path, tests: str = TESTS) -> subprocess.CompletedProcess:
    (folder / "src").mkdir()
    (folder / "tests").mkdir()
    (folder / "src" / "toy.py").write_text(TOY)
    (folder / "tests" / "test_toy.py").write_text(tests)
    # A limit for each test is none for all of them with all mutants.
    limit = "faulthandler_timeout = 0.1\nfaulthandler_exit_on_timeout = true\n"
    (folder / "pytest.ini").write_text(f"[pytest]\n{limit}")
    path = os.pathsep.join([str(REPOSITORY), str(REPOSITORY / "src")])
    return subprocess.run(
        [sys.executable, "-c", RUN],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_mutants_of_a_small_module(tmp_path):
    done = fates_of(tmp_path)
    assert done.returncode == 0, done.stderr
    fates = {
        key: (outcome, by)
        for key, outcome, by in json.loads(Path(tmp_path / "fates.json").read_text())
    }
    small = "toy.py:Judge.is_small: "
    assert fates[small + "return count {< => <=} self.limit"] == (
        "killed",
        "tests/test_toy.py::test_small[3-False]",
    )
    # What runs on import, and what a property returns.
    assert fates["toy.py:(module): LIMIT = {3 => 4}"][0] == "killed"
    assert fates["toy.py:Judge.limit: return LIMIT + {0 => 1}"][0] == "killed"
    # Large numbers that a module names are settings.
    assert not [key for key in fates if "BLOCK" in key or "CHUNK" in key]
    # Adding nothing or taking nothing away is the same.
    assert fates["toy.py:Judge.limit: return LIMIT {+ => -} 0"][0] == "survived"
    # What never ends is ended.
    assert fates["toy.py:halvings: {count //= 2 => pass}"][0] == "timeout"
    assert fates["toy.py:unused: return {1 + 1 => None}"] == ("survived", "no test touches it")
    # Neither messages nor repr, nor documentation, are changed.
    assert not [key for key in fates if "__repr__" in key or ("{0 =>" in key and "below" in key)]


def test_tests_that_fail_by_themselves_are_an_error(tmp_path):
    done = fates_of(tmp_path, TESTS + "\ndef test_wrong():\n    assert halvings(1) == 7\n")
    assert done.returncode != 0
    assert "without any mutant: tests/test_toy.py::test_wrong" in done.stderr


def test_each_mutant_differs_and_can_be_compiled():
    plain = ast.dump(ast.parse(TOY))
    seen = set()
    for mutant in mutants_of("toy.py", TOY):
        tree = mutated_tree(TOY, mutant.number)
        compile(tree, "toy.py", "exec")
        seen.add(ast.dump(tree))
    assert plain not in seen
    assert len(seen) == len(mutants_of("toy.py", TOY))


@pytest.mark.parametrize("name", AREAS)
def test_areas_are_there(name):
    area = AREAS[name]
    assert area.modules
    assert all(path.is_file() for path in (*area.modules, *area.tests))
    for path in area.modules:
        # Compiled functions are kept on disk by the text of their file: a mutant would not be run.
        assert "cellbounds.runtime.compilation" not in path.read_text()
    drawn, among = sampled(area, 300, 1)
    assert len(drawn) == 300 <= among
    every, _ = sampled(area, among, 1)
    assert len({mutant.key for mutant in every}) == among


def test_a_sample_follows_from_its_seed():
    area = next(iter(AREAS.values()))
    drawn = [sampled(area, 300, seed)[0] for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
