"""Releases, policies and merged levels as plain values, and how these are written."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from random import Random
from typing import Any

from reliability.fuzz.case import File
from reliability.fuzz.scenes import Scene, tidy

__all__ = ["Raw", "knowledge", "merging", "policy", "release", "rendered", "statement"]


class Raw(str):
    """A value that is written as it is, whatever the format makes of it."""


def rendered(tree: Any, style: str) -> bytes:
    """Write plain values as ``toml``, ``json`` or ``yaml``."""
    if style == "toml" and isinstance(tree, dict):
        written = "".join(_section(key, value) for key, value in _simple_first(tree))
    elif style == "yaml" and isinstance(tree, dict):
        written = "".join(f"{key}: {_value(value, style)}\n" for key, value in tree.items())
    else:
        written = _value(tree, style) + "\n"
    return written.encode("utf-8", "surrogatepass")


def _simple_first(tree: dict[str, Any]) -> list[tuple[str, Any]]:
    """In TOML, what belongs to no section stands before all sections."""
    return sorted(tree.items(), key=lambda entry: _is_section(entry[1]))


def _is_section(value: Any) -> bool:
    listed = isinstance(value, list) and value and all(isinstance(one, dict) for one in value)
    return isinstance(value, dict) or bool(listed)


def _section(key: str, value: Any) -> str:
    name = _key(key, "toml")
    if not _is_section(value):
        return f"{name} = {_value(value, 'toml')}\n"
    heads = (
        [(f"[{name}]", value)] if isinstance(value, dict) else [(f"[[{name}]]", v) for v in value]
    )
    return "".join(
        f"\n{head}\n"
        + "".join(f"{_key(k, 'toml')} = {_value(v, 'toml')}\n" for k, v in body.items())
        for head, body in heads
    )


def _key(key: str, style: str) -> str:
    if isinstance(key, Raw):
        return str(key)
    plain = style != "json" and key.isascii() and key.replace("_", "").isalnum()
    return key if plain else json.dumps(key, ensure_ascii=style == "json")


def _value(value: Any, style: str) -> str:
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict):
        sign = " = " if style == "toml" else ": "
        inside = ", ".join(f"{_key(k, style)}{sign}{_value(v, style)}" for k, v in value.items())
        return f"{{{inside}}}"
    if isinstance(value, list):
        return f"[{', '.join(_value(one, style) for one in value)}]"
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return json.dumps(value, ensure_ascii=style == "json")


def _subset(rng: Random, scene: Scene, most: int = 3) -> list[str]:
    size = rng.randrange(1, min(most, len(scene.names)) + 1)
    chosen = set(rng.sample(scene.names, size))
    return [name for name in scene.names if name in chosen]


def statement(rng: Random, scene: Scene) -> str:
    """A statement in the notation."""

    def listed(names: Sequence[str]) -> str:
        return ",".join(f'"{name}"' if "," in name else name for name in names)

    kind = rng.choice(["margin", "rounded", "hidden", "rates", "rates", "rates", "shares", "N"])
    names = _subset(rng, scene)
    if kind == "N":
        return "N"
    if kind == "rounded":
        return f"[{listed(names)}]~{rng.choice([3, 5, 10])}"
    if kind == "hidden":
        return f"[{listed(names)}]<{rng.choice([3, 5])}"
    if kind == "rates" and len(scene.names) > 1:
        *given, response = rng.sample(scene.names, rng.randrange(2, len(scene.names) + 1))
        return f"[{listed([response])}|{listed(given)}]" + rng.choice(["", "@1", "@2", "@3"])
    if kind == "shares":
        return f"[{listed(names)}|]@{rng.choice([1, 2, 3])}"
    return f"[{listed(names)}]"


def release(rng: Random, scene: Scene) -> tuple[Any, list[File]]:
    """A release of the table as a file, and the files of figures that it names."""
    tree: dict[str, Any] = {"format": "cellbounds-release/1"}
    if rng.random() < 0.8:
        exact = rng.random() < 0.8
        tree["total"] = scene.total if exact else {"lower": 1, "upper": scene.total + 9}
    tree["domain"] = {name: list(levels) for name, levels in scene.levels.items()}
    beside: list[File] = []
    makers = {"conditional": _rates, "margin": _margin, "linear": _linear, "known": _known}
    for kind in rng.sample(sorted(makers), rng.choice([1, 1, 2, 3])):
        tree[kind] = [makers[kind](rng, scene, beside)]
    if rng.random() < 0.2:
        name = rng.choice(scene.names)
        first, *rest = scene.levels[name]
        tree["grouping"] = {"group": {"of": name, "levels": {"one": [first], "others": rest}}}
    return tree, beside


def _figures(
    rng: Random, names: Sequence[str], column: str, cells: dict[Any, Any], beside: list[File]
) -> Any:
    """Nested lists, or the name of a file with a line for each cell."""
    if rng.random() < 0.4:
        name = f"{column}{len(beside)}.csv"
        rows = [[*names, column], *([*cell, value] for cell, value in cells.items())]
        beside.append(File(name, tidy(rows).encode()))
        return name
    return _nested(list(cells.values()), [len(set(parts)) for parts in zip(*cells, strict=True)])


def _nested(flat: list[Any], shape: list[int]) -> list[Any]:
    if len(shape) == 1:
        return flat
    step = len(flat) // shape[0]
    return [_nested(flat[i : i + step], shape[1:]) for i in range(0, len(flat), step)]


def _rates(rng: Random, scene: Scene, beside: list[File]) -> dict[str, Any]:
    given = _subset(rng, scene, len(scene.names) - 1)
    response = rng.choice([name for name in scene.names if name not in given])
    rows, cells = scene.margin(given), scene.margin([*given, response])
    digits = rng.choice([1, 2, 3])
    rates: dict[Any, Any] = {}
    for cell, count in cells.items():
        exact = Decimal(count) / Decimal(rows[cell[:-1]])
        rates[cell] = str(exact.quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))
    figures = _figures(rng, [*given, response], "rate", rates, beside)
    made = {"responses": [response], "given": given, "rates": figures, "digits": digits}
    # Rows that were rounded one by one need not add to one.
    return {**made, "rounding": "consistent"} if rng.random() < 0.5 else made


def _margin(rng: Random, scene: Scene, beside: list[File]) -> dict[str, Any]:
    names = _subset(rng, scene)
    counts: dict[Any, Any] = dict(scene.margin(names))
    base = rng.choice([None, None, 5])
    for cell, count in counts.items():
        if base:
            counts[cell] = (count + base // 2) // base * base
        elif rng.random() < 0.2:
            counts[cell] = rng.choice(["", f"<{count + 2}", f"{count}-{count + 3}", f">={count}"])
    made = {"variables": names, "counts": _figures(rng, names, "count", counts, beside)}
    return {**made, "base": base} if base else made


def _linear(rng: Random, scene: Scene, _: list[File]) -> dict[str, Any]:
    name = rng.choice(scene.names)
    coefficients = [rng.choice([1, 1, 2, "1/2"]) for _ in scene.levels[name]]
    return {"variables": [name], "coefficients": coefficients, "lower": 0}


def _known(rng: Random, scene: Scene, _: list[File]) -> dict[str, Any]:
    names = _subset(rng, scene, 2)
    counts = scene.margin(names)
    shape = [len(scene.levels[name]) for name in names]
    made: dict[str, Any] = {"variables": names}
    made["lower"] = _nested([max(count - 2, 0) for count in counts.values()], shape)
    if rng.random() < 0.5:
        made["upper"] = _nested([count + 3 for count in counts.values()], shape)
    return made


def knowledge(rng: Random, scene: Scene) -> Any:
    """What an intruder knows besides: a release of side information."""
    domain = {name: list(levels) for name, levels in scene.levels.items()}
    return {"domain": domain, "known": [_known(rng, scene, [])]}


def policy(rng: Random, scene: Scene) -> Any:
    """A policy with one to three rules."""
    rules: list[dict[str, Any]] = [
        {"rule": "small-counts", "at_most": 3, "zeros": True, "values": 2},
        {"rule": "small-counts", "below": 5, "zeros": False, "width": 2, "need": "all"},
        {"rule": "small-counts", "at_most": 3, "relative": Raw("0.5")},
        {"rule": "exact-disclosure", "of": "any"},
        {"rule": "group-disclosure", "responses": [scene.names[-1]], "given": [scene.names[0]]},
        {"rule": "group-disclosure", "not_in": True},
        {"rule": "minimum-count", "at_least": 4, "zeros": False},
        {"rule": "posterior", "at_most": 3, "probability": Raw("0.9"), "prior": "uniform"},
    ]
    made: dict[str, Any] = {"format": "cellbounds-policy/1", "name": "house", "title": "Ours"}
    chosen = rng.sample(rules, rng.choice([1, 1, 2, 3]))
    if chosen[0]["rule"] == "small-counts" and rng.random() < 0.5:
        made["respondent"] = True
    # Of each kind one: a policy with two of them is refused.
    return {**made, "rule": list({rule["rule"]: rule for rule in chosen}.values())}


def merging(rng: Random, scene: Scene) -> Any:
    """Ways to merge levels: for each variable, lists of new levels."""
    name = rng.choice(scene.names)
    pairs = itertools.pairwise(scene.levels[name])
    return {name: [{f"{one}+{other}": [one, other]} for one, other in pairs]}
