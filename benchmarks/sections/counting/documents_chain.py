"""Document 002's examples: the exact posterior beside its own chain, and beside our chains."""

from __future__ import annotations

from typing import Any

import numpy as np

import cellbounds as cb
from benchmarks.problems.cases import Case
from benchmarks.results import Record
from benchmarks.sections.counting.questions import agreement, summed_up, timed
from cellbounds.inference.chains.chain_sampling import MOVES, batch_errors
from cellbounds.inference.chains.metropolis import ChainDraws, choose_moves, run_chain
from cellbounds.inference.chains.moves import KEEPS, VARIES
from cellbounds.model.priors import Belief, belief_of
from cellbounds.results import Draws, Posterior

OWN = {"chains": 1, "thin": 1, "burn_in": 0}
"""As the document has it: one chain, every step counts, from the true table."""

QUANTILES = (0.025, 0.5, 0.975)

KINDS = {"2x2 margins": "basic", "2x2, 37 tables": "lattice"}
"""Its moves; those for conditionals otherwise."""


def measure(case: Case, draws: int, seed: int, budget: float) -> Record:
    """Measure the exact posterior of all cells, and each chain."""
    (exact, _), times = timed(lambda: summed_up(case.release, case.prior), budget)
    if not exact.exact:
        return {"case": case.name, "refused": exact.notes[0]}
    found = {
        "case": case.name,
        "tables": case.known,
        "cells": case.table.domain.size,
        "draws": draws,
        "seed": seed,
        "method": exact.method,
        "relative_error": exact.error,
        "means": exact.mean.ravel().tolist(),
        **times,
    }
    found["runs"] = [
        {"run": name, **one_run(case, draws, seed, budget, exact, options)}
        for name, options in chains(case).items()
    ]
    return found


def chains(case: Case) -> dict[str, dict[str, Any]]:
    """Options of each chain by its name; two steps at once only if there are two families."""
    kind = KINDS.get(case.name, "conditional")
    own = {**OWN, "moves": kind}
    two_steps = {KEEPS, VARIES} <= set(MOVES[kind](case.release).families.tolist())
    runs: dict[str, dict[str, Any]] = {}
    for name, latent in (("document's own", True), ("means integrated out", False)):
        runs[name] = {**own, "latent": latent}
        if two_steps:
            runs[f"{name}, two-step"] = {**runs[name], "proposal": "two-step"}
    return {**runs, "this library's usual chains": {}}


def one_run(
    case: Case, draws: int, seed: int, budget: float, exact: Posterior, options: dict[str, Any]
) -> Record:
    """Time a chain: alone, with the figures that the document gives, with diagnostics.

    And compare its means with the exact ones.
    """
    start = case.table if "thin" in options else None

    def whole() -> Draws:
        return cb.sample(
            case.release,
            draws,
            prior=case.prior,
            method="chain",
            rng=seed,
            start=start,
            **options,
        )

    drawn, times = timed(whole, budget)
    belief: Belief = belief_of(case.prior)
    weights = belief.weights(case.release.domain)
    alone = {**options, "chains": drawn.chains, "draws": len(drawn) // drawn.chains}

    def without_diagnostics() -> ChainDraws:
        make = MOVES.get(options.get("moves", ""), choose_moves)
        moves = make(case.release)
        return run_chain(case.release, weights, rng=seed, start=start, **{**alone, "moves": moves})

    def with_documents_figures() -> None:
        counts = without_diagnostics().counts
        np.quantile(counts, QUANTILES, axis=(0, 1))
        counts.mean(axis=(0, 1))
        batch_errors(counts)

    _, alone_times = timed(without_diagnostics, budget)
    _, figures_times = timed(with_documents_figures, budget)
    return {
        **times,
        "alone": alone_times["seconds"],
        "figures": figures_times["seconds"],
        **agreement(drawn, exact.mean),
        "connected": drawn.connected,
        "notes": list(drawn.notes),
    }
