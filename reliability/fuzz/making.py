"""Cases from a seed and a number."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from reliability.fuzz.case import Case
from reliability.fuzz.corpus import Document
from reliability.fuzz.invocations import invocation
from reliability.fuzz.mutations import mutate, settle

__all__ = ["make"]


def make(seed: int, number: int, corpus: Sequence[Document]) -> Case:
    """The case of a number: a valid invocation, to which up to three things were done."""
    rng = Random(f"{seed} {number}")
    case = Case(seed, number)
    invocation(rng, case, corpus)
    for _ in range(rng.choices([0, 1, 2, 3], [1, 6, 2, 1])[0]):
        mutate(rng, case)
    settle(case)
    return case
