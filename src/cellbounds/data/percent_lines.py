"""Columns and rows of crosstabs that hold no counts: percents beside them, means."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from cellbounds.data.marks import Legend
from cellbounds.data.percents import beside, figure_of, names_percents, without_percents
from cellbounds.errors import InvalidInput


def apart(body: list[list[str]], index: int) -> tuple[list[list[str]], dict[tuple[int, int], str]]:
    """Counts without the percents in brackets behind them, and these by row and column."""
    places = [
        (line, column, text)
        for line, row in enumerate(body)
        for column, text in enumerate(row)
        if column >= index
    ]
    brief = any(beside(text) is not None for _, _, text in places)
    pairs = {
        (line, column): pair
        for line, column, text in places
        if (pair := beside(text, brief=brief)) is not None
    }
    if not pairs:
        return body, {}
    alone = [
        [pairs[line, column][0] if (line, column) in pairs else text for column, text in row]
        for line, row in ((line, list(enumerate(row))) for line, row in enumerate(body))
    ]
    return alone, {place: pair[1] for place, pair in pairs.items()}


@dataclass(frozen=True, slots=True)
class OtherLines:
    """Columns (or rows) that hold no counts: what stands above each, and the counts it is of.

    Attributes
    ----------
    kinds
        What each is called without the label of its counts, and whether that says percents.
    partners
        The column of counts that each stands beside.
    """

    kinds: dict[int, tuple[str, bool]]
    partners: dict[int, int]

    @classmethod
    def told(
        cls,
        where: str,
        labels: Sequence[Sequence[str]],
        lines: Sequence[Sequence[str]],
        legend: Legend,
        *,
        rows: bool = False,
    ) -> OtherLines:
        """Tell them from counts, by their labels and by their figures.

        Raises
        ------
        InvalidInput
            If they may hold counts all the same, or there are no counts.
        """
        others = [
            place
            for place, texts in enumerate(lines)
            if any(seems_percents(label, texts, legend) for label in labels[place])
        ]
        what = "row" if rows else "column"
        counts = [place for place in range(len(labels)) if place not in others]
        for place in others:
            own, named = _named(labels[place], lines[place])
            decimals = filter(legend.is_other, lines[place])
            if not named and all(map(legend.may_be_grouped, decimals)):
                raise InvalidInput(
                    f"{where}: the {what} {own!r} has figures with a point and three digits behind "
                    "it; if it separates thousands, say so (--thousands .); if these are decimals, "
                    "they are no counts: leave them out of the file"
                )
        if not counts:
            raise InvalidInput(
                f"{where}: no {what} holds counts, as all have decimals or percentages; give a "
                "table of counts, or name the column of counts of a tidy one (--count NAME)"
            )
        kinds: dict[int, tuple[str, bool]] = {}
        partners: dict[int, int] = {}
        for place in others:
            own, named = _named(labels[place], lines[place])
            partners[place] = _partner(place, labels, counts)
            own = _difference(labels[place], labels[partners[place]]) or own
            kinds[place] = (own, named)
        return cls(kinds, partners)


def _named(labels: Sequence[str], texts: Sequence[str]) -> tuple[str, bool]:
    """What a line is called, and whether that or a sign says percents."""
    return " / ".join(filter(None, labels)), says_percents(labels, texts)


def seems_percents(label: str, texts: Sequence[str], legend: Legend) -> bool:
    """Whether figures are no counts: half of them have decimals, or the label says percents."""
    figures = [text for text in texts if legend.is_number(text)]
    if figures and 2 * sum(map(legend.is_other, figures)) >= len(figures):
        return True
    plain = [figure_of(text) for text in figures]
    return names_percents(label) and all(text and float(text) <= 100 for text in plain)


def says_percents(labels: Sequence[str], texts: Sequence[str]) -> bool:
    """Whether a label or a sign in a cell says percents."""
    return any(map(names_percents, labels)) or any("%" in text for text in texts)


def _partner(place: int, labels: Sequence[Sequence[str]], counts: Sequence[int]) -> int:
    """The counts that percents belong to: of the same labels but one, or else right before them."""
    own = labels[place]
    for level, label in enumerate(own):
        beside_it = [
            other
            for other in counts
            if all(
                one == two
                for k, (one, two) in enumerate(zip(own, labels[other], strict=True))
                if k != level
            )
        ]
        bare = without_percents(label).casefold()
        same = [other for other in beside_it if labels[other][level].casefold() == bare]
        if bare and len(same) == 1:
            return same[0]
        if len(own) > 1 and names_percents(label) and len(beside_it) == 1:
            return beside_it[0]
    before = [other for other in counts if other < place]
    return before[-1] if before else counts[0]


def _difference(own: Sequence[str], counts: Sequence[str]) -> str:
    """What labels of percents say beyond those of the counts."""
    parts = [
        re.sub(rf"(?<!\w){re.escape(two)}(?!\w)", "", one).strip(" \u00a0()[],:;-–/")
        if two
        else one
        for one, two in zip(own, counts, strict=True)
        if one != two
    ]
    return " / ".join(filter(None, parts))
