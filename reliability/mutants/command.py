"""Put faults into what decides and count how many the tests notice.

For each area a seeded sample of mutants is tried; survivors are printed with what
reliability/mutants/survivors.md says of them. The exit status is 1 where fewer than --least percent
were noticed of those that do not behave the same as the code, or a survivor is not explained, and 0
otherwise.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from reliability.mutants.areas import AREAS, PACKAGE, REPOSITORY, Area
from reliability.mutants.operators import Mutant, mutants_of
from reliability.mutants.running import KILLED, SURVIVED, TIMEOUT, Fate, Plan, run

__all__ = ["main", "sampled"]

SAME = "same"
SURVIVORS = Path(__file__).with_name("survivors.md")
BUILD = REPOSITORY / "build" / "mutants"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run it from the command line; returns the exit status."""
    options = _parsed(arguments)
    os.chdir(REPOSITORY)
    good = True
    for name in options.area or AREAS:
        area = AREAS[name]
        mutants, among = sampled(area, options.sample, options.seed)
        if options.only:
            wanted = set(Path(options.only).read_text().splitlines())
            mutants = [one for one in mutants if one.key in wanted]
        print(f"{name}: {len(mutants)} of {among} mutants, seed {options.seed}", flush=True)
        plan = Plan(
            root=REPOSITORY,
            source=PACKAGE.parent,
            modules=area.modules,
            tests=(*area.tests, *area.modules),  # and what is written in the modules themselves
            mutants=tuple(mutants),
            without=area.without,
            last=area.last,
            workers=options.workers,
            seconds=options.seconds,
            kept=BUILD / f"{name}-lines.json",
        )
        fates = run(plan, lambda line: print(line, file=sys.__stdout__, flush=True))
        _keep(name, fates, options.seed, among)
        good &= _report(name, fates, options.least)
    return 0 if good else 1


def sampled(area: Area, size: int, seed: int) -> tuple[list[Mutant], int]:
    """Mutants of an area drawn without looking, and among how many."""
    source = PACKAGE.parent
    found = [
        mutant
        for path in area.modules
        for mutant in mutants_of(str(path.relative_to(source)), path.read_text())
    ]
    return random.Random(seed).sample(found, min(size, len(found))), len(found)


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m reliability.mutants", description=__doc__)
    parser.add_argument("--area", action="append", choices=AREAS, help="an area; all if none")
    parser.add_argument("--sample", type=int, default=300, help="mutants of each area")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    parser.add_argument(
        "--seconds", type=float, default=8.0, help="processor time of clean tests for a mutant"
    )
    parser.add_argument("--least", type=float, default=90.0, help="percent to be noticed")
    parser.add_argument("--only", help="a file with the keys of those of the sample to try")
    return parser.parse_args(arguments)


def _keep(name: str, fates: Sequence[Fate], seed: int, among: int) -> None:
    BUILD.mkdir(parents=True, exist_ok=True)
    kept = [{**asdict(one), "key": one.mutant.key} for one in fates]
    whole = {"area": name, "seed": seed, "among": among, "fates": kept}
    (BUILD / f"{name}.json").write_text(json.dumps(whole, indent=1))


def _report(name: str, fates: Sequence[Fate], least: float) -> bool:
    """Print what came of them; whether enough were noticed and the others are explained."""
    known = _explained(SURVIVORS.read_text("utf-8"))
    counts = Counter(one.outcome for one in fates)
    survivors = [one for one in fates if one.outcome == SURVIVED]
    same = sum(known.get(one.mutant.key) == SAME for one in survivors)
    noticed = counts[KILLED] + counts[TIMEOUT]
    visible = max(1, len(fates) - same)
    print(
        f"\n{name}: {noticed} of {len(fates)} noticed ({100 * noticed / len(fates):.1f}%): "
        f"{counts[KILLED]} by a test, {counts[TIMEOUT]} by taking too long; {len(survivors)} "
        f"survived, {same} of them behave the same: {100 * noticed / visible:.1f}% of the rest"
    )
    for one in sorted(survivors, key=lambda fate: (fate.mutant.module, fate.mutant.first)):
        said = known.get(one.mutant.key, "not explained")
        print(f"  {said}: {one.mutant.first} `{one.mutant.key}` {one.by}")
    return 100 * noticed >= least * visible and all(one.mutant.key in known for one in survivors)


def _explained(text: str) -> dict[str, str]:
    """Keys of survivors that are explained, with the word before each."""
    return {key: word for word, key in re.findall(r"^- (\w+): `(.*?)`$", text, re.MULTILINE)}
