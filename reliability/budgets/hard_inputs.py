"""Tables and releases that no method answers soon, and the functions that are asked about them."""

from __future__ import annotations

import atexit
import itertools
import json
import math
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import cellbounds as cb
from cellbounds.disclosure.auditing import Audit
from cellbounds.disclosure.policies import Policy, PosteriorChance
from cellbounds.disclosure.policies.policy import policy_of
from cellbounds.disclosure.protecting.protection import METHODS
from cellbounds.disclosure.published_cells import work_out
from cellbounds.ledger import Requests
from cellbounds.statements.published import Published

Question = Callable[[cb.Table, cb.Release, float], Callable[[], object]]


def _domain(*sizes: int) -> cb.Domain:
    names = (chr(ord("a") + k) for k in range(len(sizes)))
    return cb.Domain(
        {name: [f"{name}{k}" for k in range(size)] for name, size in zip(names, sizes, strict=True)}
    )


def _skewed(*sizes: int, mean: float) -> cb.Table:
    """Counts of very different sizes, many of them zero."""
    rng = np.random.default_rng(1)
    domain = _domain(*sizes)
    if domain.size <= 1_000_000:
        return cb.Table(domain, rng.poisson(rng.gamma(0.4, mean / 0.4, domain.shape)))
    people = int(mean * 20_000)
    drawn = np.stack([rng.integers(0, k, people) * rng.integers(0, 2, people) for k in sizes], 1)
    cells, counts = np.unique(drawn, axis=0, return_counts=True)
    return cb.Table.from_cells(domain, cells, counts)


def _pairs(table: cb.Table) -> Iterator[str]:
    return (f"[{a},{b}]" for a, b in itertools.combinations(table.domain.names, 2))


HARD: dict[str, tuple[Callable[[], cb.Table], Callable[[cb.Table], Sequence[str]], float]] = {
    "4^12, all two-way": (lambda: _skewed(*[4] * 12, mean=1), lambda t: list(_pairs(t)), 5.0),
    "2^16, forty two-way": (
        lambda: _skewed(*[2] * 16, mean=0.3),
        lambda t: list(itertools.islice(_pairs(t), 40)),
        5.0,
    ),
    "20^3, two-way": (lambda: _skewed(20, 20, 20, mean=1), lambda t: list(_pairs(t)), 3.0),
    "10x10x4, rates": (
        lambda: _skewed(10, 10, 4, mean=10),
        lambda _: ["[c|a,b]@2", "[a|c]@2", "[b,c]"],
        1.0,
    ),
    "100,000 rows of rates": (lambda: _skewed(100_000, 2, mean=10), lambda _: ["[b|a]@2"], 2.0),
    "6^4, two-way": (lambda: _skewed(6, 6, 6, 6, mean=1), lambda t: list(_pairs(t)), 1.0),
}
"""What is published of which table, and a budget in seconds."""

CHANCE = Policy("chance", rules=(PosteriorChance(at_most=2, probability=Fraction(9, 10)),))


def _ledger(table: cb.Table) -> cb.Ledger:
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder)
    return cb.Ledger.create(folder / "hard.ledger", table, who="nobody")


def _certificate(table: cb.Table, release: cb.Release) -> dict[str, Any]:
    """What little was found in a while, most of it without a proof."""
    certificate = cb.bounds(release, start=table, seconds=2).certificate(seconds=2)
    for cell in certificate.get("cells", ()):  # of thousands there is another kind
        for side in ("lower", "upper"):
            if cell[side] is not None:
                cell[side]["proof"] = {"kind": "closed form", "text": "by hand"}
    return certificate


MOST_FIGURES = 20_000
"""Figures of a table to protect, totals included, where two variables have not more."""


def _wide(table: cb.Table) -> str:
    """A table to protect: as many variables as there is room for, with all totals."""
    domain = table.domain
    names = list(domain.names[:2])
    for name in domain.names[2:]:
        if math.prod(len(domain.levels(one)) + 1 for one in [*names, name]) > MOST_FIGURES:
            break
        names.append(name)
    return f"[{','.join(f'{name}+' for name in names)}]"


def _printed(table: cb.Table, file: Path, most: int = 200_000) -> Path:
    """A margin as it is published: counts of 1 and 2 hidden, with the totals of each variable."""
    domain = table.domain
    names = [
        name
        for k, name in enumerate(domain.names)
        if math.prod(domain.shape[: k + 1]) <= most or k == 0
    ]
    margin = table.margin(names)
    codes = itertools.product(*map(margin.domain.levels, names))
    lines: list[tuple[Any, ...]] = [
        (*labels, "x" if count in (1, 2) else count)
        for labels, count in zip(codes, margin.counts.ravel().tolist(), strict=True)
    ]
    for k, name in enumerate(names):
        before, after = ["Total"] * k, ["Total"] * (len(names) - k - 1)
        totals = margin.margin([name]).counts.tolist()
        levels = margin.domain.levels(name)
        lines += [(*before, label, *after, n) for label, n in zip(levels, totals, strict=True)]
    lines.append((*["Total"] * len(names), margin.total))
    _write_table(str(file), ",".join(names), [(",".join(map(str, w)), n) for *w, n in lines])
    return file


def _attacked(table: cb.Table) -> Published:
    with tempfile.TemporaryDirectory() as folder:
        return cb.read_published(_printed(table, Path(folder) / "printed.csv"))


def _asked_for(table: cb.Table, release: cb.Release) -> Requests:
    """A ledger in which somebody asked for a release, as request 2."""
    requests = _ledger(table).requests
    requests.submit(release, why="tried", who="somebody")
    return requests


def _few(table: cb.Table) -> list[list[str]]:
    """Sets of at most two variables to explore: few enough to be listed."""
    names = table.domain.names[:-1]
    return [list(few) for size in (1, 2) for few in itertools.combinations(names, size)]


def _protected_by(method: str) -> Question:
    return lambda t, _r, s: partial(cb.protect, t, _wide(t), method=method, seconds=s)


QUESTIONS: dict[str, Question] = {
    "bounds": lambda _t, r, s: partial(cb.bounds, r, seconds=s),
    "bounds, owner": lambda t, r, s: partial(cb.bounds, r, start=t, seconds=s),
    "linear bounds": lambda _t, r, s: partial(cb.bounds, r, kind="linear", seconds=s),
    "attainable": lambda _t, r, s: partial(cb.attainable, r, seconds=s),
    "judge": lambda t, r, s: partial(cb.judge, t, r, seconds=s),
    "judge, strict": lambda t, r, s: partial(cb.judge, t, r, "strict", seconds=s),
    "judge, chance": lambda t, r, s: partial(cb.judge, t, r, CHANCE, seconds=s),
    "audit": lambda t, r, s: partial(cb.audit, t, r, seconds=s),
    "explore": lambda t, _r, s: partial(
        cb.explore, t, response=t.domain.names[-1], givens=_few(t), seconds=s
    ),
    "safe_margins": lambda t, _r, s: partial(cb.safe_margins, t, margins=2, seconds=s),
    "safe_margins, independent": lambda t, _r, s: partial(
        cb.safe_margins, t, margins=2, independent=True, seconds=s
    ),
    "suggest": lambda t, r, s: partial(cb.suggest, t, r, seconds=s),
    "suggest, independent": lambda t, r, s: partial(cb.suggest, t, r, independent=True, seconds=s),
    "judge, independent": lambda t, r, s: partial(cb.judge, t, r, independent=True, seconds=s),
    "explore, independent": lambda t, _r, s: partial(
        cb.explore,
        t,
        response=t.domain.names[-1],
        givens=_few(t),
        independent=True,
        seconds=s,
    ),
    **{f"protect, {method}": _protected_by(method) for method in METHODS},
    "compare": lambda t, _r, s: partial(cb.compare, t, _wide(t), seconds=s),
    "attack": lambda t, _r, s: partial(work_out, _attacked(t), seconds=s),
    "attack, judged": lambda t, _r, s: partial(
        work_out, _attacked(t), policy=policy_of("small-counts"), every_count=True, seconds=s
    ),
    "utility.exact_test": lambda t, _r, s: partial(
        cb.utility.exact_test, t, "".join(_pairs(t)), seconds=s
    ),
    "utility.exact_test, release": lambda t, r, s: partial(cb.utility.exact_test, t, r, seconds=s),
    "posterior": lambda _t, r, s: partial(cb.posterior, r, seconds=s),
    "sample": lambda _t, r, s: partial(cb.sample, r, 1000, seconds=s),
    "sample, many chains": lambda _t, r, s: partial(
        cb.sample, r, 10_000, method="chain", chains=1000, seconds=s
    ),
    "sample, importance": lambda _t, r, s: partial(
        cb.sample, r, 1000, method="importance", seconds=s
    ),
    "estimate_tables": lambda _t, r, s: partial(cb.estimate_tables, r, seconds=s),
    "count_tables": lambda _t, r, s: partial(cb.count_tables, r, seconds=s),
    "tables": lambda _t, r, s: partial(lambda: next(cb.tables(r, seconds=s), None)),
    "synthesize": lambda _t, r, s: partial(cb.synthesize, r, seconds=s),
    "verify_certificate": lambda t, r, s: partial(
        cb.verify_certificate, _certificate(t, r), seconds=s
    ),
    "ledger ask": lambda t, r, s: partial(_ledger(t).ask, r, table=t, seconds=s),
    "ledger commit": lambda t, r, s: partial(_ledger(t).commit, r, table=t, why="tried", seconds=s),
    "request judge": lambda t, r, s: partial(_asked_for(t, r).judge, 2, table=t, seconds=s),
    "request approve": lambda t, r, s: partial(
        _asked_for(t, r).approve, 2, table=t, why="tried", who="nobody", seconds=s
    ),
    "request refuse": lambda t, r, s: partial(
        _asked_for(t, r).refuse, 2, table=t, why="tried", who="nobody", seconds=s
    ),
    "ledger frontier": lambda t, _r, s: partial(_ledger(t).frontier, table=t, way=2, seconds=s),
}
"""Everything that takes a budget and can take long: prepared, and then to be called."""

COMMANDS: dict[str, str] = {
    "attack": "attack {release}",
    "attack, printed": "attack {printed}",
    "attack, certificate": "attack {release} --certificate {folder}/attacked.json",
    "attack, html": (
        "attack {printed} --policy small-counts --format html -o {folder}/attacked.html"
    ),
    "audit": "audit {table} {release}",
    "audit, report": "audit {table} {release} --report {folder}/report.html",
    "audit, certificate": "audit {table} {release} --certificate {folder}/certificate.json",
    "count": "count {release}",
    "explore": "explore {table} --response {last} --given {first}",
    "margins": "margins {table}",
    "posterior": "posterior {release}",
    "sample": "sample {release} -o {folder}/sample.csv",
    "suggest": "suggest {table} {release}",
    "protect": "protect {table} {wide}",
    "protect, round": "protect {table} {wide} --method round",
    "protect, intervals": "protect {table} {wide} --method intervals",
    "protect, recode": "protect {table} {wide} --method recode",
    "protect, files": (
        "protect {table} {wide} --public {folder}/public.csv --internal {folder}/internal.csv"
        " --release {folder}/protected.toml"
    ),
    "compare": "compare {table} {wide}",
    "synthesize": "synthesize {release} -o {folder}/synthetic.csv",
    "ledger ask": "ledger ask {ledger} {release} --table {table}",
    "ledger commit": "ledger commit {ledger} {release} --table {table} --why tried",
    "ledger frontier": "ledger frontier {ledger} --table {table}",
    "ledger refuse": "ledger refuse {ledger} {release} --table {table} --why tried",
    "ledger policy": "ledger policy {ledger} --policy strict --table {table} --why tried",
    "ledger grow": "ledger grow {grow} {later} --table {table} --why tried",
    "ledger revise": "ledger revise {revise} {later} --table {table} --why tried",
    "ledger decide": ("ledger decide {asked} 2 --approve --who nobody --table {table} --why tried"),
    "ledger refine": "ledger refine {refine} --table {finer} --why tried",
    "ledger history": "ledger history {out} --table {table} --format html -o {folder}/page.html",
    "verify": "verify {certificate}",
}
"""Every command that takes --seconds, and the files of an input in it."""


def written(table: cb.Table, statements: Sequence[str], folder: Path) -> dict[str, str]:
    """The files of a table and of what is published of it, for commands."""
    names = table.domain.names
    positions, counts = table.cells()
    lines = [
        (",".join(map(str, table.domain.labels(cell))), count)
        for cell, count in zip(positions.tolist(), counts.tolist(), strict=True)
    ]
    files = {
        name: str(folder / f"{name}.{kind}")
        for kind, names_of in _KINDS.items()
        for name in names_of
    }
    header = ",".join(names)
    _write_table(files["table"], header, lines)
    _write_table(files["later"], header, [(lines[0][0], lines[0][1] + 1), *lines[1:]])
    halves = [(f"{labels},{k % 2}", count) for k, (labels, count) in enumerate(lines)]
    _write_table(files["finer"], f"{header},half", halves)
    # Levels are those that occur, in the order of the file.
    read = cb.read_table(files["table"])
    release = cb.publish(read, *statements)
    release.write(files["release"])
    for name in _KINDS["ledger"]:
        ledger = cb.Ledger.create(files[name], read, who="nobody")
        if name not in ("ledger", "asked"):
            with suppress(cb.CellboundsError):  # what takes too long to judge is not out
                ledger.commit(release, table=read, why="out", already_out=True, seconds=10)
    cb.Ledger.open(files["asked"]).requests.submit(release, why="tried", who="somebody")
    _printed(table, folder / "printed.csv")
    claims: dict[str, Any] = {}
    with suppress(cb.CellboundsError):  # there is nothing to verify of what cannot be answered
        claims = _certificate(read, release)
    Path(files["certificate"]).write_text(json.dumps(claims))
    files["printed"] = str(folder / "printed.csv")
    return {
        **files,
        "folder": str(folder),
        "wide": _wide(read),
        "first": names[0],
        "last": names[-1],
    }


_KINDS = {
    "csv": ("table", "later", "finer"),
    "toml": ("release",),
    "ledger": ("ledger", "asked", "out", "grow", "revise", "refine"),
    "json": ("certificate",),
}
"""The files of an input: a table, with one more person, with one more variable; what is published;
ledgers, in which that is out but for the first two; and a certificate."""


def _write_table(path: str, header: str, lines: Sequence[tuple[str, int]]) -> None:
    text = "\n".join([f"{header},count", *(f"{labels},{count}" for labels, count in lines)])
    Path(path).write_text(f"{text}\n")


def hard_input(name: str) -> tuple[cb.Table, cb.Release, float]:
    """A table, what is published of it, and the budget to ask about it with."""
    table_of, statements_of, seconds = HARD[name]
    table = table_of()
    return table, cb.publish(table, *statements_of(table)), seconds


def outcome(result: Any) -> str:
    """What came of a question, in a word or two."""
    if isinstance(result, cb.CellboundsError):
        return type(result).__name__
    if isinstance(result, Audit):
        return f"Audit: {result.verdict.outcome}"
    shown = next(
        (
            str(value)
            for name in ("outcome", "verdict", "evidence", "complete")
            if (value := getattr(result, name, None)) is not None
        ),
        None,
    )
    return type(result).__name__ + (f": {shown}" if shown is not None else "")


def allowed(seconds: float) -> float:
    """How long a call with a budget may take."""
    return math.fsum((1.1 * seconds, 1.0))
