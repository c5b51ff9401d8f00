"""How the pictures look, on light and on dark paper."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

FONT = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


@dataclass(frozen=True, slots=True)
class Paper:
    """Colours that can be told apart on a paper, also by people who see few of them."""

    name: str
    ground: str
    ink: str
    faint: str
    line: str
    known: str
    nearly: str
    on_nearly: str
    open: str
    ours: str
    others: tuple[str, ...]

    def config(self) -> dict[str, Any]:
        """What every chart is drawn with."""
        text = {"labelColor": self.ink, "titleColor": self.ink, "labelFontSize": 12}
        axis = {"gridColor": self.line, "domainColor": self.faint, "tickColor": self.faint}
        return {
            "background": self.ground,
            "font": FONT,
            "padding": 14,
            "view": {"stroke": None},
            "title": {
                "color": self.ink,
                "subtitleColor": self.faint,
                "fontSize": 17,
                "subtitleFontSize": 13,
                "anchor": "start",
                "offset": 14,
            },
            "axis": {**text, **axis, "titleFontSize": 12, "titleFontWeight": "normal"},
            "header": {**text, "titleFontSize": 12, "labelFontSize": 13, "labelFontWeight": "bold"},
            "legend": {**text, "orient": "bottom", "titleFontSize": 12, "labelLimit": 400},
            "text": {"color": self.ink, "fontSize": 12},
        }


LIGHT = Paper(
    "light", "#ffffff", "#1c2529", "#5b6970", "#e3e8ea", "#b5341f", "#e8a33d", "#1c2529", "#8fb8c6",
    "#0b6e86", ("#7a5aa6", "#c2571a", "#6b7a3a"),
)  # fmt: skip
DARK = Paper(
    "dark", "#1b2327", "#e7edef", "#a3b1b7", "#36434a", "#f0725c", "#f2bd64", "#1b2327", "#3f6b7b",
    "#5cc4dc", ("#b79ce0", "#f0965c", "#b3c46f"),
)  # fmt: skip


def left_open(size: int) -> str:
    """What is left of a cell, in words."""
    if size == 1:
        return "known exactly"
    return "2 or 3 counts left" if size <= 3 else "more left"


LEFT = ("known exactly", "2 or 3 counts left", "more left")
"""These words, the worst first."""


def scale(paper: Paper) -> Any:
    """Their colours."""
    import altair as alt

    return alt.Scale(domain=list(LEFT), range=[paper.known, paper.nearly, paper.open])
