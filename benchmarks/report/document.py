"""The report: targets first, then the machine, then section by section."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from benchmarks.peers.listing import ZSOLVE_SETTINGS
from benchmarks.peers.solvers import SOLVERS
from benchmarks.profiles import QUICK, Profile
from benchmarks.report import counting, draws, margins, rates, scale, searches
from benchmarks.report import targets_of_bounds as of_bounds
from benchmarks.report import targets_of_scale as of_scale
from benchmarks.report.judging import Judgement, Target
from benchmarks.report.plots import Plots
from benchmarks.report.text import duration, head, markdown
from benchmarks.results import Results, Stamp
from benchmarks.running import Section

Writer: TypeAlias = Callable[[Results, Plots], list[str]]

FILE = "benchmarks.md"
FIGURES_OF_ANOTHER_VERSION = (KeyError, TypeError)
"""What reading them raises; they must not keep the rest from being written."""

TARGETS = (*of_bounds.TARGETS, *of_scale.TARGETS)
WRITERS: Mapping[str, Writer] = {
    "start": scale.start,
    "rates": rates.rates,
    "growth": rates.growth,
    "margins": margins.margins,
    "cells": scale.cells,
    "posterior": counting.posterior,
    "counting": counting.counting,
    "sampling": draws.sampling,
    "microdata": scale.microdata,
    "parallel": scale.parallel,
    "sparse": scale.sparse,
    "hour": searches.hour,
}


def write_report(
    profile: Profile, results: Results, sections: Iterable[Section], folder: Path, plots: str
) -> Path:
    """Write the report and its plots from whatever has been measured; returns its path.

    Parameters
    ----------
    profile : Profile
        What was to be measured.
    results : Results
        What was.
    sections : iterable of Section
        In the order of the report.
    folder : Path
        Where the report goes.
    plots : str
        The folder of the plots within that folder.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILE
    text = document(profile, results, list(sections), Plots(folder / plots, plots))
    path.write_text(text, encoding="utf-8")
    return path


def document(profile: Profile, results: Results, sections: Sequence[Section], plots: Plots) -> str:
    """Return the whole report."""
    usual = usual_stamp(results, sections)
    quick = profile.name == QUICK
    paragraphs = [
        "# Benchmarks",
        "This library beside its peers, on the same tables and in one run; written by "
        f"`python -m benchmarks{' --quick' if quick else ''}`. Answers are compared before times "
        "are: a ratio stands here only where the answers are equal, or where it is said what was "
        "wrong.",
        "Beside it: [printed times](printed-times.md), the papers' own tables row by row, and "
        "attacks on published tables as they grow.",
    ]
    if quick:
        paragraphs.append(
            "**The quick profile**: a little of everything, fewer and smaller instances, short "
            "samples. It shows that all parts work; figures that count come from the full one."
        )
    failed = {one.title: results.failed(one.name) for one in sections if results.failed(one.name)}
    if failed:
        lines = [
            f"- {title}, {name}: {said}"
            for title, each in failed.items()
            for name, said in each.items()
        ]
        paragraphs.append("\n".join(["**Failed in this run:**", "", *lines]))
    paragraphs += ["## Targets", *target_table(results, TARGETS)]
    paragraphs += ["## Machine, versions and settings", *setting(usual)]
    for section in sections:
        paragraphs += [f"## {section.title}", *section_text(results, section, usual, plots)]
    return "\n\n".join(one for one in paragraphs if one) + "\n"


def target_table(results: Results, targets: Sequence[Target]) -> list[str]:
    """Write each target with what was measured, then why some are not met or not judged."""
    lines = [["work", "against", "target", "measured", ""], ["---"] * 5]
    met, why = [], []
    for target in targets:
        try:
            found = target.judge(results)
        except FIGURES_OF_ANOTHER_VERSION as problem:
            found = Judgement("-", None, unreadable(problem).rstrip("."))
        met.append(found.met)
        lines.append([target.work, target.against, target.aim, found.measured, found.verdict])
        if found.why:
            word = {True: "met, but", False: "not met", None: "not judged"}[found.met]
            why.append(f"- {target.work} ({word}): {found.why}.")
    summary = (
        f"{met.count(True)} of {len(met)} targets are met, {met.count(False)} are not, "
        f"{met.count(None)} are not judged here."
    )
    explained = ["\n".join(["What was measured about these:", "", *why])] if why else []
    return [summary, markdown(lines), *explained]


def unreadable(problem: Exception) -> str:
    """Say that figures are not what this version writes."""
    said = f"{type(problem).__name__}: {problem}"
    return f"the figures were kept by another version of the benchmarks ({said}); measure again."


def usual_stamp(results: Results, sections: Sequence[Section]) -> Stamp | None:
    """Return the machine and versions that most sections were measured with."""
    stamps = results.stamps(one.name for one in sections)
    flat = [stamp for found in stamps.values() for stamp in found]
    if not flat:
        return None
    counted = Counter(repr(stamp) for stamp in flat)
    most = counted.most_common(1)[0][0]
    return next(stamp for stamp in flat if repr(stamp) == most)


def setting(stamp: Stamp | None) -> list[str]:
    """Write the machine, every version, and how each peer is asked."""
    if stamp is None:
        return ["Nothing was measured."]
    versions: dict[str, str] = stamp["versions"]
    lines = [*stamp["machine"], ", ".join(f"{name} {text}" for name, text in versions.items())]
    lines.append(f"seed {stamp['seed']} for random tables, samples and draws")
    peers = head(["peer", "how it is asked"], left=2)
    for solver in SOLVERS:
        version = versions.get(solver.package, "not installed")
        missing = "; not installed, left out" if version == "not installed" else ""
        called = f"{solver.name} ({solver.package} {version})"
        peers.append([called, solver.described() + missing])
    peers.append(["document 004", "numpy and scipy.fft on one core, from the same integer rates"])
    peers.append(["document 002", "its Markov chain, as this library runs it, with its settings"])
    zsolve = f"zsolve {' '.join(ZSOLVE_SETTINGS)}, a process of its own, ended at its limit"
    peers.append([f"4ti2 {versions.get('4ti2', 'not installed')}", zsolve])
    counts = f"count, a process of its own, ended at its limit; {versions.get('LattE')}"
    peers.append(["LattE", counts])
    peers.append([f"DuckDB {versions.get('duckdb')}", "all its threads, otherwise defaults"])
    return ["\n".join(f"- {line}" for line in lines), markdown(peers)]


def section_text(
    results: Results, section: Section, usual: Stamp | None, plots: Plots
) -> list[str]:
    """Write one section: remarks on how it was measured, then its tables and plots."""
    remarks = []
    stamps = results.stamps([section.name])[section.name]
    remarks += [earlier(stamp, usual) for stamp in stamps if stamp != usual]
    remarks += [
        f"Left out, {name}: {text}." for name, text in results.skipped(section.name).items()
    ]
    remarks += [
        f"**Failed**, {name}: {text}" for name, text in results.failed(section.name).items()
    ]
    if not results.of(section.name):
        return [*remarks, "Nothing was measured here."]
    remarks.append(
        f"Measured in {duration(results.seconds(section.name))}{load(results, section)}."
    )
    try:
        written = WRITERS[section.name](results, plots)
    except FIGURES_OF_ANOTHER_VERSION as problem:
        written = [unreadable(problem)]
    return [" ".join(remarks), *written]


def load(results: Results, section: Section) -> str:
    """Say how busy the machine was meanwhile, with this and with other work."""
    found = results.loads(section.name)
    if not found:
        return ""
    return f", at a load average of {min(found):.1f} to {max(found):.1f}"


def earlier(stamp: Stamp, usual: Stamp | None) -> str:
    """Say with what else a part was measured than the rest."""
    others: dict[str, str] = {} if usual is None else usual["versions"]
    versions: dict[str, str] = stamp["versions"]
    different = [f"{name} {text}" for name, text in versions.items() if others.get(name) != text]
    if usual is not None and stamp["machine"] != usual["machine"]:
        different += stamp["machine"]
    said = ", ".join(different) or f"profile {stamp['profile']}, seed {stamp['seed']}"
    return f"*Measured earlier, with {said}.*"
