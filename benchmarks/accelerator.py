"""Linear bounds by splitting on an accelerator: python benchmarks/accelerator.py cuda FOLDER.

FOLDER holds cps8.csv and nltcs16.csv. Needs numpy and torch alone, so that it runs where the rest
of the library is not installed; run it in the folder that holds `src`.
"""

from __future__ import annotations

import csv
import itertools
import sys
import time
import types
from pathlib import Path
from typing import Any

import numpy as np

SOURCES = Path(__file__).parents[1] / "src"
CASES = (("cps8", (2, 3, 4, 5)), ("nltcs16", (2,)))
SAMPLE = 300
"""Bounds that are worked out on the processor as well."""


def _bare_packages() -> None:
    """Packages without what they import by themselves."""
    for name in ("cellbounds", "cellbounds.runtime", "cellbounds.model"):
        package = types.ModuleType(name)
        package.__path__ = [str(SOURCES / name.replace(".", "/"))]
        sys.modules[name] = package


def read(path: Path) -> Any:
    """A tidy table, its levels in the order of their names."""
    with path.open(encoding="utf-8") as file:
        _, *body = csv.reader(file)
    levels = [sorted(set(column)) for column in list(zip(*body, strict=True))[:-1]]
    counts = np.zeros([len(names) for names in levels], dtype=np.int64)
    for *labels, count in body:
        spot = tuple(names.index(label) for names, label in zip(levels, labels, strict=True))
        counts[spot] += int(count)
    return counts


def solve(counts: Any, order: int, device: Any, many: int | None) -> dict[Any, Any]:
    """All bounds that the table itself does not attain, or some of them; prints what it took."""
    from cellbounds.model.splitting import Splitting, SumBound

    axes = range(counts.ndim)
    faces = list(itertools.combinations(axes, order))
    upper = np.full(counts.shape, counts.sum())
    for face in faces:
        others = tuple(axis for axis in axes if axis not in face)
        upper = np.minimum(upper, counts.sum(axis=others, keepdims=True))
    flat, high = counts.ravel(), upper.ravel()
    asked = [(c, 1) for c in np.flatnonzero(flat < high).tolist()]
    asked += [(c, 0) for c in np.flatnonzero(flat > 0).tolist()]
    if many is not None:
        chosen = np.random.default_rng(0).permutation(len(asked))[:many]
        asked = [asked[k] for k in chosen.tolist()]
    bounds = [SumBound(np.array([c]), side, (1 - 2 * side) * int(flat[c])) for c, side in asked]
    begun = time.perf_counter()
    splitting = Splitting(counts.shape, faces, np.zeros_like(flat), high, flat, device=device)
    answers = splitting.solve(bounds, tables=False)
    seconds = time.perf_counter() - begun
    done = [a.converged or a.proven == b.met for a, b in zip(answers, bounds, strict=True)]
    turns = np.array([answer.turns for answer in answers])
    print(
        f"{order}-way on {device.name}: {len(bounds)} bounds in {seconds:.2f} s, "
        f"{np.mean(done):.4f} at their optimum, {turns.mean():.0f} turns (at most {turns.max()})",
        flush=True,
    )
    return {key: a.proven for key, a, ok in zip(asked, answers, done, strict=True) if ok}


def main(name: str, folder: str) -> None:
    _bare_packages()
    import torch  # type: ignore[import-not-found,unused-ignore]

    from cellbounds.runtime.devices import CPU, TorchDevice

    device = TorchDevice(torch, name)
    print(torch.__version__, torch.cuda.get_device_name(0) if name == "cuda" else name)
    for table, orders in CASES:
        counts = read(Path(folder) / f"{table}.csv")
        print(table, counts.shape, flush=True)
        for order in orders:
            solve(counts, order, device, SAMPLE)  # the first call of a kernel is slow
            there = solve(counts, order, device, None)
            here = solve(counts, order, CPU, SAMPLE if counts.size < 10_000 else 5)
            both = here.keys() & there.keys()
            differ = sum(here[key] != there[key] for key in both)
            print(f"  {differ} of {len(both)} that are at their optimum on both differ", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
