"""The areas: what decides, and the tests that should notice when it is changed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["AREAS", "REPOSITORY", "Area"]

REPOSITORY = Path(__file__).resolve().parents[2]
PACKAGE = REPOSITORY / "src" / "cellbounds"
TESTS = REPOSITORY / "tests"


@dataclass(frozen=True)
class Area:
    """Modules of one kind of decision, and test files that run them in this process."""

    name: str
    modules: tuple[Path, ...]
    tests: tuple[Path, ...]
    without: str = ""
    """An expression of tests that are left out (`-k`): those that need a server, or that run
    another process, where no mutant is."""
    last: str = ""
    """What the names of tests have in common that are run after the others, if those pass."""


def _within(folder: str, names: str = "", without: str = "") -> tuple[Path, ...]:
    """The named modules of a folder, or all of them."""
    if names:
        return tuple(PACKAGE / folder / f"{name}.py" for name in names.split())
    found = sorted((PACKAGE / folder).glob("*.py"))
    return tuple(path for path in found if path.stem not in ("__init__", without))


def _tests(**folders: str) -> tuple[Path, ...]:
    return tuple(
        TESTS / folder / f"test_{name}.py"
        for folder, names in folders.items()
        for name in names.split()
    )


AREAS = {
    area.name: area
    for area in [
        Area(
            "constraints",
            (
                *_within("model", "constraints"),
                *_within("statements", "inequalities intervals linear total"),
            ),
            _tests(
                unit="constraints linear_statements margins inconsistent shortcuts nested_sums "
                "groupings conditional rounding contradictions bounds_answers",
                agreement="constraints_against_meaning linear_mixtures mixtures_against_bruteforce",
                sparse="huge_domains",
            ),
            without="not many_people and not large_counts_give",
        ),
        Area(
            "rates",
            (
                *_within("model/rates"),
                *_within(
                    "solvers/conditional",
                    "admissible feasible cells parts",
                ),
            ),
            _tests(
                unit="offsets_and_sums shortcuts grouped_rates_of_one_conditional conditional "
                "bounds_answers inconsistent values rows_of_rates lists_of_values",
                agreement="conditional_against_bruteforce conditional_against_threephase "
                "linear_against_linprog listed_rates",
            ),
            without="not cost_free_growth and not knowledge_about_parts_leaves "
            "and not large_counts_give",
        ),
        Area(
            "judging",
            _within("disclosure/policies"),
            _tests(
                unit="choices_rerun intruders judging judging_closely judging_in_detail policies "
                "risk",
                agreement="ranges_against_bruteforce the_game_of_every_rule "
                "verdicts_against_bruteforce",
            ),
            without="not safe_hides and not also_under_policies",  # games take too long
        ),
        Area(
            "ledger",
            _within("ledger"),
            _tests(
                ledger="ledger_chain ledger_command ledger_contents ledger_decisions "
                "ledger_details ledger_faults ledger_guards ledger_knowledge ledger_meanwhile "
                "ledger_repeats ledger_stories ledger_use ledger_versions people requests",
            ),
            without="not (server and not slashes) and not that_are_not_there "
            "and not cut_in_the_middle and not ordinary_trigger and not (postgres and "
            "(ledger_command or ledger_faults or ledger_knowledge or ledger_repeats or "
            "ledger_versions or test_people or test_requests)) and not full_disk "
            "and not as_it_is_documented and not is_recorded_once and not output_is_lost "
            "and not lost_warning and not what_cannot_be_opened and not nobody_is_told "
            "and not loads_no_database",
            last="postgres",  # a server has to be started for each mutant
        ),
        Area(
            "verification",
            _within("certificates/verifying"),
            _tests(
                unit="verification verifying_known_cells verifying_rows_that_add_up certificates "
                "row_proofs mechanisms",
                agreement="forged_certificates known_cells proofs_by_rows rounding_as_done",
            ),
            # The first needs a quiet machine, the other takes too long.
            without="not time_and_solver and not audits_write_certificates",
        ),
    ]
}
