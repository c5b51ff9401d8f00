"""What stands in the cells of published tables: numbers, marks for what is hidden, ranges."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from cellbounds.data.percents import beside
from cellbounds.data.published import HIDDEN, UNKNOWN, ZERO, Entry
from cellbounds.errors import InvalidInput

LONGEST = 40
"""Characters of a figure; longer texts are labels or notes."""

MOST_KNOWN = 100_000
"""Texts whose meaning is remembered."""

_MEANINGS: dict[str, Entry] = {"hidden": HIDDEN, "unknown": UNKNOWN, "zero": ZERO}

_DEFAULTS = {
    "hidden": "x c s * ** (x) (c) (s) (d) [c] :c np n.p. suppressed confidential redacted "
    "[redacted]",
    "unknown": ": .. ... … na n/a n.a. nan none null [x] [z] <na>",
    "zero": "- – —",
}
"""Marks that are understood unless a legend says otherwise, in small letters."""

BLANK = "blank"
"""What a legend calls an empty cell; without a word about it, it is unknown."""

_SPACES = dict.fromkeys(map(ord, "\u00a0\u2007\u2009\u202f"), " ")
_GROUPED = {
    ",": re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+"),
    " ": re.compile(r"[0-9]{1,3}(?: [0-9]{3})+"),
    "'": re.compile(r"[0-9]{1,3}(?:['’][0-9]{3})+"),
    ".": re.compile(r"[0-9]{1,3}(?:\.[0-9]{3})+"),
}
_WHOLE = re.compile(r"([0-9]+)(?:[.,]0+)?")
_DECIMAL = re.compile(r"[-+]?[0-9]+[.,][0-9]+\s?%?|[-+]?[0-9]+\s?%|-[0-9]+")
_POINTED = re.compile(r"[0-9]{1,3}(?:\.[0-9]{3})+")
_FOOTNOTE = re.compile(
    r"([0-9].*?)\s*(?:\*+|[†‡§¹²³⁴⁵⁶⁷⁸⁹⁰]+|\(?[a-z]\)|\([0-9]\)|\[[a-z0-9, ]{1,6}\])", re.IGNORECASE
)
_RANGE = re.compile(r"([0-9]+)\s*(?:-|–|to|\.\.)\s*([0-9]+)", re.IGNORECASE)
_LESS = re.compile(r"(?:n\s*)?(<=|<|≤|>=|>|≥)\s*([0-9]+)", re.IGNORECASE)
_FEWER = re.compile(r"(?:fewer|less) than ([0-9]+)", re.IGNORECASE)
_MORE = re.compile(r"([0-9]+)\s*(?:\+|or more)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Legend:
    """What marks mean.

    Examples
    --------
    >>> from cellbounds.data.marks import legend_of
    >>> legend = legend_of("k=hidden, :=<5")
    >>> [legend.entry(text) for text in ("12", "1,234", "k", ":", "-", "1-4", "n<10")]
    [12, 1234, None, '<5', '0-0', '1-4', '<10']
    """

    marks: Mapping[str, Entry] = field(default_factory=dict)
    thousands: str = ", '"
    _known: dict[str, object] = field(init=False, default_factory=dict, compare=False, repr=False)
    """What texts were found to say: a table prints the same ones again and again."""
    _figures: dict[str, bool] = field(init=False, default_factory=dict, compare=False, repr=False)
    """Which of them can stand in a cell of a table."""

    def is_figure(self, text: str) -> bool:
        """Whether a text can stand in a cell of a table: a number, a mark, a range.

        A percent in brackets may stand behind it.
        """
        figure = self._figures.get(text)
        if figure is None:
            if len(self._figures) >= MOST_KNOWN:
                self._figures.clear()
            figure = self._figures[text] = self._stands_in_cells(text)
        return figure

    def _stands_in_cells(self, text: str) -> bool:
        pair = beside(text)
        alone = text if pair is None else pair[0]
        return bool(alone.strip()) and (self._read(alone) is not _NOTHING or self.is_other(alone))

    def has_footnote(self, text: str) -> bool:
        """Whether a text is a number with the mark of a footnote behind it: ``12*``, ``12 (1)``."""
        footnote = _FOOTNOTE.fullmatch(text.strip().translate(_SPACES))
        return footnote is not None and self._number(footnote[1].strip()) is not None

    def is_other(self, text: str) -> bool:
        """Whether a text is a number that is no count: a decimal, a percentage, below zero."""
        if self._read(text) is not _NOTHING:
            return False
        return _DECIMAL.fullmatch(text.strip().translate(_SPACES)) is not None

    def may_be_grouped(self, text: str) -> bool:
        """Whether a decimal may as well be a count whose thousands a point separates."""
        return self.is_other(text) and _POINTED.fullmatch(text.strip()) is not None

    def is_number(self, text: str) -> bool:
        """Whether a text is a plain number."""
        return isinstance(self._read(text), int) or self.is_other(text)

    def entry(self, text: str) -> Entry:
        """What a text says of its cell."""
        entry = self._read(text)
        if entry is _NOTHING:
            raise ValueError(text)
        assert entry is None or isinstance(entry, int | str)
        return entry

    def _read(self, text: str) -> object:
        if text not in self._known:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[text] = self._understood(text)
        return self._known[text]

    def _understood(self, text: str) -> object:
        plain = text.strip().translate(_SPACES)
        if len(plain) > LONGEST:
            return _NOTHING
        if plain.lower() in self.marks:
            return self.marks[plain.lower()]
        if not plain:
            return self.marks.get(BLANK, UNKNOWN)
        if plain.lower() in _STANDARD:
            return _STANDARD[plain.lower()]
        number = self._number(plain)
        if number is None and (footnote := _FOOTNOTE.fullmatch(plain)):
            number = self._number(footnote[1].strip())
        return _range(plain) if number is None else number

    def _number(self, text: str) -> int | None:
        if not text.isascii() and "’" not in text:
            return None
        for mark in self.thousands:
            grouped = _GROUPED.get(mark)
            if grouped is not None and grouped.fullmatch(text):
                return int(re.sub("[^0-9]", "", text))
        whole = _WHOLE.fullmatch(text)
        return int(whole[1]) if whole else None


_NOTHING = object()
"""What is no figure."""

_STANDARD = {
    mark: _MEANINGS[meaning] for meaning, marks in _DEFAULTS.items() for mark in marks.split()
}


def _range(text: str) -> object:
    """A range in the spelling of margins: both ends, or the end that there is."""
    less, both = _LESS.fullmatch(text), _RANGE.fullmatch(text)
    fewer, more = _FEWER.fullmatch(text), _MORE.fullmatch(text)
    if both and int(both[1]) <= int(both[2]):
        return f"{int(both[1])}-{int(both[2])}"
    if less and (less[1] != "<" or int(less[2])):
        return less[1].replace("≤", "<=").replace("≥", ">=") + str(int(less[2]))
    if fewer and int(fewer[1]):
        return f"<{int(fewer[1])}"
    return f">={int(more[1])}" if more else _NOTHING


def legend_of(text: str | Mapping[str, str] | None, thousands: str | None = None) -> Legend:
    """Read a legend: ``"c=hidden, :=<5, k=unknown, blank=zero"``, or a mapping.

    Examples
    --------
    >>> from cellbounds.data.marks import legend_of
    >>> legend_of({"blank": "hidden"}).entry("") is None
    True
    """
    pairs: list[tuple[str, str]]
    if text is None:
        pairs = []
    elif isinstance(text, Mapping):
        pairs = [(str(mark), str(meaning)) for mark, meaning in text.items()]
    else:
        # The mark may be "=" or hold one: the meaning never does, but for "<=" and ">=".
        matches = [re.fullmatch(r"(.+?)=(?!$)(.+)", part.strip()) for part in text.split(",")]
        if not all(matches):
            raise InvalidInput(
                f"marks {text!r}; write them like 'c=hidden, :=<5, blank=unknown' (hidden, "
                "unknown, zero or a range)"
            )
        pairs = [(pair[1].strip(), pair[2].strip()) for pair in matches if pair]
    marks: dict[str, Entry] = {}
    for mark, meaning in pairs:
        entry = _MEANINGS.get(meaning.lower(), _NOTHING)
        if entry is _NOTHING:
            entry = _range(meaning)
        if entry is _NOTHING:
            raise InvalidInput(
                f"the mark {mark!r} means {meaning!r}; give hidden, unknown, zero, or a range such "
                "as '<5' or '1-4'"
            )
        assert entry is None or isinstance(entry, str)
        marks[mark.lower()] = entry
    if thousands is not None and thousands not in _GROUPED:
        raise InvalidInput(f"thousands={thousands!r}; give one of {', '.join(map(repr, _GROUPED))}")
    return Legend(marks, ", '" if thousands is None else thousands)
