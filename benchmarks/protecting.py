"""Suppression beside the patterns of other tools: ``python -m benchmarks.protecting``.

Tables and the patterns that tau-ARGUS and GaussSuppression chose for them are read from ``--data``
(a folder with ``tables`` and ``protected``); without it one look-alike is protected. Written is a
Markdown table for each attacker: secondary figures / sum of their counts, a proven bound, seconds.
"""

from __future__ import annotations

import argparse
import itertools
import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import cellbounds as cb
from cellbounds.disclosure.protecting import Protected
from cellbounds.disclosure.protecting.branch_and_cut import best_pattern
from cellbounds.disclosure.protecting.protection import WORK
from cellbounds.disclosure.protecting.suppressing import Suppressing
from cellbounds.policies import Policy, SmallCounts

DATA = Path("../shared/instances/suppression")

TOOLS = ("TA-OPT", "TA-MOD", "GS")

ATTACKERS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "zeros are shown; no small count is known": ({"values": 2}, {}),
    "hidden counts are at least 0; one unit above and below": (
        {"protect_above": 1, "protect_below": 1},
        {"zeros": "never"},
    ),
    "zeros are shown; no count is known to be small": ({"above_threshold": True}, {}),
}


def look_alike(places: tuple[int, int] = (3, 4), ages: int = 4) -> dict[str, Any]:
    """Places in counties by age and sex, most counts small."""
    rng, counties = np.random.default_rng(5), range(places[0])
    inside = {f"C{county}": [f"P{county}.{one}" for one in range(places[1])] for county in counties}
    codes = [place for several in inside.values() for place in several]
    sizes = rng.lognormal(0.5, 1.2, len(codes))
    cells = [
        [place, f"a{age}", sex, int(rng.poisson(size))]
        for place, size in zip(codes, sizes, strict=True)
        for age in range(ages)
        for sex in "fm"
    ]
    dims = [
        {"name": "place", "leaves": codes, "tree": inside},
        {"name": "age", "leaves": [f"a{age}" for age in range(ages)]},
        {"name": "sex", "leaves": ["f", "m"]},
    ]
    tables = [["place", "age", "sex"]]
    return {"name": "look-alike", "threshold": 3, "dims": dims, "tables": tables, "cells": cells}


def published_alone(table: cb.Table, margins: list[str], policy: Policy) -> str:
    """What hiding costs if only published figures must stay uncertain, as tau-ARGUS has it.

    Cells behind linked tables, which nobody publishes, are judged too otherwise.
    """
    chosen = Suppressing(tuple(margins), policy, work=WORK).asked(table)
    shown = tuple(one for one in chosen.problem.levels if chosen.cells.published[one.cell])
    best = best_pattern(replace(chosen.problem, levels=shown), steps=WORK * 1_000_000)
    return f"{best.cost} {'proven' if best.optimal else f'at least {best.bound}'}"


def table_of(instance: dict[str, Any]) -> tuple[cb.Table, list[str]]:
    """The table, and the margins that are published: all levels of each table, crossed."""
    levels = {dim["name"]: dim["leaves"] for dim in instance["dims"]}
    place = {name: {leaf: k for k, leaf in enumerate(given)} for name, given in levels.items()}
    counts = np.zeros([len(given) for given in levels.values()], dtype=np.int64)
    for *labels, count in instance["cells"]:
        counts[tuple(place[n][label] for n, label in zip(levels, labels, strict=True))] = count
    table = cb.Table(cb.Domain(levels), counts)
    choices: dict[str, list[str | None]] = {}
    for dim in instance["dims"]:
        table, above = grouped(table, dim)
        choices[dim["name"]] = [dim["name"], *above, None]
    margins = [
        f"[{','.join(name for name in chosen if name)}]"
        for names in instance["tables"]
        for chosen in itertools.product(*(choices[name] for name in names))
        if any(chosen)
    ]
    return table, list(dict.fromkeys(margins))


def grouped(table: cb.Table, dim: dict[str, Any]) -> tuple[cb.Table, list[str]]:
    """The table with a derived variable for each level above the leaves, and their names."""
    tree = {code: parts for code, parts in (dim.get("tree") or {}).items() if code != "Total"}
    inner = {part for parts in tree.values() for part in parts}
    codes = [code for code in [*tree, *dim["leaves"]] if code not in inner]
    names: list[str] = []
    while any(code in tree for code in codes):
        names.append(f"{dim['name']}.{len(names) + 1}")
        groups = {code: leaves_below(tree, code) for code in codes}
        table = table.grouped(names[-1], of=dim["name"], levels=groups)
        codes = [part for code in codes for part in tree.get(code, [code])]
    return table, names


def leaves_below(tree: dict[str, list[str]], code: str) -> list[str]:
    """The leaves that a code stands for."""
    if code not in tree:
        return [code]
    return [leaf for part in tree[code] for leaf in leaves_below(tree, part)]


def recorded(folder: Path, instance: dict[str, Any]) -> list[str]:
    """Secondary figures / sum of their counts of each tool; those of two tables count once."""
    texts = []
    for tool in TOOLS:
        file = folder / "protected" / f"{instance['name']}__{tool}.json"
        if not file.exists():
            texts.append("")
            continue
        others: dict[frozenset[tuple[str, str]], int] = {}
        for one in json.loads(file.read_text())["suppressed"]:
            number, codes, status, count = _entry(one)
            if status == "M":
                names = instance["tables"][number]
                if len(codes) > len(names):  # of linked tables: codes of all variables
                    names = [dim["name"] for dim in instance["dims"]]
                pairs = zip(names, codes, strict=True)
                others[frozenset(pair for pair in pairs if pair[1] != "Total")] = count
        texts.append(f"{len(others)} / {sum(others.values())}")
    return texts


def _entry(one: Any) -> tuple[int, list[str], str, int]:
    """A suppressed figure, as either tool's file has it: table, codes, status, count."""
    if isinstance(one, dict):
        return one.get("table", 0), one["codes"], one["status"], int(one["count"])
    return one[0], one[1], one[2], int(one[3])


def main() -> None:
    """Protect every table against every attacker, and print what came out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument(
        "--published-alone",
        action="store_true",
        help="also the cost where only published figures must stay uncertain",
    )
    given = parser.parse_args()
    files = sorted((given.data / "tables").glob("*.json"))
    instances = [json.loads(file.read_text()) for file in files] or [look_alike()]
    for title, (asked, known) in ATTACKERS.items():
        print(f"\n**{title}**\n", flush=True)
        print("| table | published | primary | ours | bound | s | verdict | TA-OPT | TA-MOD | GS |")
        print("|---|---|---|---|---|---|---|---|---|---|", flush=True)
        for instance in instances:
            if given.only and instance["name"] not in given.only:
                continue
            table, margins = table_of(instance)
            rule = SmallCounts(below=instance["threshold"], zeros=False, **asked)
            begun = time.perf_counter()
            policy = Policy("bench", rules=(rule,), intruder=known)
            done = cb.protect(table, *margins, policy=policy, independent=False)
            assert isinstance(done, Protected)
            seconds = time.perf_counter() - begun
            bound = "proven" if done.optimal else f"{done.bound} ({done.gap:.1%})"
            lost = f", {len(done.unprotectable)} cannot" if done.unprotectable else ""
            columns = [
                instance["name"],
                int(done.cells.published.sum()),
                len(done.primaries),
                f"{len(done.secondaries)} / {done.cost}",
                bound,
                f"{seconds:.1f}",
                f"{done.outcome}{lost}",
                *recorded(given.data, instance),
            ]
            if given.published_alone:
                columns.append(
                    f"published figures alone: {published_alone(table, margins, policy)}"
                )
            print(f"| {' | '.join(map(str, columns))} |", flush=True)


if __name__ == "__main__":
    main()
