"""The public surface: exactly these names, each of them documented."""

from __future__ import annotations

import inspect
from types import ModuleType

import pytest

import cellbounds as cb

DATA = "Domain Grouping Table read_table"
STATEMENTS = (
    "Release Margin Conditional Linear Known Total publish read_published read_release violations"
)
QUESTIONS = "bounds attainable posterior sample tables count_tables estimate_tables"
ANSWERS = "ValueSet Evidence UNBOUNDED"
DISCLOSURE = "audit compare judge Outcome explore protect safe_margins suggest"
WORK = "Budget Ledger synthesize verify_certificate"
ERRORS = "CellboundsError InvalidInput InconsistentRelease UnsupportedRelease Unsettled TooMuchWork"
NAMESPACES = "datasets policies priors utility"
SURFACE = " ".join(
    [DATA, STATEMENTS, QUESTIONS, ANSWERS, DISCLOSURE, WORK, ERRORS, NAMESPACES]
).split()


def test_the_top_level_has_exactly_these_names():
    assert len(SURFACE) == 46
    assert sorted(cb.__all__) == sorted([*SURFACE, "__version__"])


def documented() -> dict[str, object]:
    """Every public name with what it stands for, those of the namespaces too."""
    values = {name: getattr(cb, name) for name in SURFACE}
    for space in NAMESPACES.split():
        module = values[space]
        assert isinstance(module, ModuleType)
        values |= {f"{space}.{name}": getattr(module, name) for name in module.__all__}
    return values


@pytest.mark.parametrize("name", documented())
def test_every_name_is_documented(name):
    value = documented()[name]
    text = (inspect.getdoc(value) or "").strip()
    assert len(text) > 20, f"{name} has no docstring"
    assert not text.startswith(f"{name}("), f"{name} has only its generated signature"
