"""Whom a verdict holds against: what an intruder knows besides what is published."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, ClassVar, Self

from cellbounds.errors import InvalidInput

_RANGE = re.compile(r"([0-9]{1,18})\s*-\s*([0-9]{1,18})?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Intruder:
    """What somebody knows who tries to work out counts, besides what is published.

    Parameters
    ----------
    zeros
        What he knows of hidden counts and zeros. ``"shown"``: where a margin prints a zero, zeros
        are shown, so that its hidden counts are at least 1. ``"always"``: hidden counts are at
        least 1 in every margin. ``"never"``: he concludes nothing from zeros.
    marks
        What he knows of marks such as ``"<5"``. ``"shown"``: where a margin marks small counts, one
        that is hidden without the mark is not small. ``"never"``: he concludes nothing from marks.
    total
        What he knows of N: ``"published"`` (what is published of it), ``"known"`` (N itself), or a
        range such as ``"100-120"`` or ``"100-"``.
    respondents
        How many people he is: nobody in the table (0), somebody in a small cell (1), or also two
        together (2), in one small cell or in two that differ in one variable.

    Examples
    --------
    >>> Intruder.of({"zeros": "always", "total": "100-120"}).sentences
    ('N is at least 100 and at most 120',)
    """

    choices: ClassVar[dict[str, tuple[Any, ...]]] = {
        "zeros": ("shown", "always", "never"),
        "marks": ("shown", "never"),
        "respondents": (0, 1, 2),
    }

    zeros: str = "shown"
    marks: str = "shown"
    total: str = "published"
    respondents: int = 0

    def __post_init__(self) -> None:
        for key, allowed in self.choices.items():
            value = getattr(self, key)
            if isinstance(value, bool) or value not in allowed:
                known = " or ".join(map(str, allowed))
                raise InvalidInput(f"{key} of the intruder is {value!r}; choose {known}")
        if self.total in ("published", "known"):
            return
        text = self.total if isinstance(self.total, str) else ""
        spelled = _RANGE.fullmatch(text.strip())
        if spelled is None or (spelled[2] and int(spelled[2]) < int(spelled[1])):
            raise InvalidInput(
                f"total of the intruder is {self.total!r}; choose published or known, or give a "
                "range of N such as 100-120 or 100-"
            )

    @classmethod
    def of(cls, given: Mapping[str, Any] | Self) -> Self:
        """An intruder, from the keys of a policy file."""
        if isinstance(given, cls):
            return given
        if not isinstance(given, Mapping):
            raise InvalidInput(
                f"the intruder is {given!r}; give what he knows, one of "
                f"{', '.join(field.name for field in fields(cls))}"
            )
        _check_keys(given)
        return cls(**given)

    @classmethod
    def read(cls, texts: Iterable[str]) -> dict[str, Any]:
        """The keys and values of texts such as ``zeros=always``.

        Examples
        --------
        >>> Intruder.read(["respondents=2", "total=50-60"])
        {'respondents': 2, 'total': '50-60'}
        """
        read: dict[str, Any] = {}
        for text in texts:
            key, equals, value = (part.strip() for part in text.partition("="))
            if not equals or key in read:
                raise InvalidInput(
                    f"--intruder {text!r}; give KEY=VALUE, each key once, such as zeros=always"
                )
            _check_keys([key])
            read[key] = int(value) if value.isdecimal() and len(value) < 3 else value
        return read

    @property
    def range_of_total(self) -> tuple[int, int | None] | None:
        """Between which numbers he knows N to be, if he knows a range."""
        spelled = _RANGE.fullmatch(self.total.strip())
        if spelled is None:
            return None
        return int(spelled[1]), int(spelled[2]) if spelled[2] else None

    @property
    def zeros_shown(self) -> bool | None:
        """Whether he knows that zeros are shown; None: where a margin prints one."""
        return {"shown": None, "always": True, "never": False}[self.zeros]

    @property
    def sentences(self) -> tuple[str, ...]:
        """What he knows of N besides what is published, in words."""
        words = []
        if self.total == "known":
            words.append("N")
        ends = self.range_of_total
        if ends is not None:
            most = "" if ends[1] is None else f" and at most {ends[1]}"
            words.append(f"N is at least {ends[0]}{most}")
        return tuple(words)

    def to_dict(self) -> dict[str, Any]:
        """What is not as usual, as plain values."""
        usual = {field.name: field.default for field in fields(self)}
        return {key: value for key, value in asdict(self).items() if value != usual[key]}


def _check_keys(keys: Iterable[str]) -> None:
    known = [field.name for field in fields(Intruder)]
    for key in keys:
        if key not in known:
            raise InvalidInput(
                f"the intruder has the unknown key {key!r}; it knows {', '.join(known)}"
            )


USUAL = Intruder()
"""Somebody who sees what the release itself shows."""
