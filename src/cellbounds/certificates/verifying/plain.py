"""Plain values out of JSON, each checked as it is read.

Messages name the place and the rule. They show texts and kinds of values, never a count.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from cellbounds.errors import InvalidInput
from cellbounds.runtime.inputs import parse_json, read_bytes

IntArray = npt.NDArray[Any]

SAFE = 2**62
"""Sums below this stay in int64; others are of Python integers."""

LONGEST = 1000
"""Characters of a number written as text at most."""

_NUMBER = re.compile(r"(-?[0-9]+)(?:\.([0-9]+)|/([0-9]+))?")


def load(source: Mapping[str, Any] | str | Path) -> Any:
    """The JSON of a certificate, from a file or from values that could be one."""
    what = "the certificate" if isinstance(source, Mapping) else str(source)
    try:
        raw = json.dumps(source).encode() if isinstance(source, Mapping) else read_bytes(source)
        return parse_json(raw, what, object_pairs_hook=_once, parse_constant=_no_constant)
    except InvalidInput:
        raise
    except (ValueError, TypeError, RecursionError) as problem:
        kind = type(problem).__name__
        place = f" at line {problem.lineno}" if isinstance(problem, json.JSONDecodeError) else ""
        raise InvalidInput(
            f"{what} is not JSON ({kind}{place}); a certificate is one JSON object in UTF-8"
        ) from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object; a key that stands there twice could be read in two ways."""
    values = dict(pairs)
    if len(values) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise InvalidInput(f"the certificate has the key {twice!r} twice in one object; keep one")
    return values


def _no_constant(name: str) -> Any:
    raise InvalidInput(f"the certificate contains {name}, which is not JSON; give a number")


_KINDS: dict[type, str] = {dict: "an object", list: "a list", str: "a text", type(None): "null"}
_KINDS |= {bool: "true or false", int: "a whole number", float: "a number with a point"}
"""What JSON has, in words."""

Kind = TypeVar("Kind")


def typed(value: object, where: str, kind: type[Kind]) -> Kind:
    """A value of one kind: true is no whole number."""
    if type(value) is not kind:
        given = _KINDS.get(type(value), type(value).__name__)
        raise InvalidInput(f"{where} is {given}; it must be {_KINDS[kind]}")
    return value


def object_with(
    value: object, where: str, required: Collection[str], *, only: Collection[str] | None = None
) -> dict[str, Any]:
    """An object that has some keys and, if `only` is given, none but those and these."""
    content: dict[str, Any] = typed(value, where, dict)
    for key in required:
        if key not in content:
            raise InvalidInput(f"{where} has no {key!r}; it needs {', '.join(required)}")
    for key in () if only is None else content:
        if key not in {*required, *(only or ())}:
            raise InvalidInput(
                f"{where} has the key {key!r}, which this verifier does not know and which "
                "could change the meaning; use the version that wrote the certificate"
            )
    return content


def entries(value: object, where: str, length: int | None = None) -> list[Any]:
    """A list, perhaps of a known length."""
    listed: list[Any] = typed(value, where, list)
    if length is not None and len(listed) != length:
        raise InvalidInput(f"{where} has {len(listed)} entries; it needs {length}")
    return listed


def nested(value: object, shape: Sequence[int], where: str) -> list[Any]:
    """Lists in lists of a given shape, laid out flat."""
    if not shape:
        return [value]
    return [
        leaf
        for entry in entries(value, where, shape[0])
        for leaf in nested(entry, shape[1:], f"an entry of {where}")
    ]


def whole(value: object, where: str, least: int | None = 0) -> int:
    """A whole number."""
    number = typed(value, where, int)
    if least is not None and number < least:
        raise InvalidInput(f"{where} is too small; it must be {least} or more")
    return number


def choice(value: object, where: str, choices: Collection[str]) -> str:
    """One of some texts."""
    chosen = typed(value, where, str)
    if chosen not in choices:
        raise InvalidInput(f"{where} is {value!r}; it must be one of {', '.join(choices)}")
    return chosen


def number(value: object, where: str) -> Fraction:
    """A number written as text: a decimal, a fraction or a whole number."""
    written = typed(value, where, str)
    match = _NUMBER.fullmatch(written) if len(written) <= LONGEST else None
    if match is None or (match[3] is not None and not int(match[3])):
        raise InvalidInput(
            f"{where} is not an exact number; write '0.37', '3/8' or '12', {LONGEST} characters "
            "at most"
        )
    decimals = match[2] or ""
    return Fraction(int(match[1] + decimals), 10 ** len(decimals) * int(match[3] or 1))


def label_key(label: object) -> str:
    """A text that tells labels apart as JSON does: 1, '1' and true are three labels."""
    return json.dumps(label, sort_keys=True)


def packed(values: Sequence[int]) -> IntArray:
    """Whole numbers as int64 if they fit well, as Python integers otherwise."""
    small = all(-SAFE < value < SAFE for value in values)
    array: IntArray = np.empty(len(values), dtype=np.int64 if small else object)
    array[:] = values
    return array
