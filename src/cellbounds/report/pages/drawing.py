"""Small drawings of distributions, as SVG that stands in the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cellbounds.report.pages.plain import labels_text

__all__ = ["distribution_svg"]

WIDTH, HEIGHT, TOP, FOOT = 240, 96, 14, 16


def distribution_svg(plot: Mapping[str, Any], number: str) -> Any:
    """Bars of a cell's distribution; with the count if the plot has it.

    Colours come from the page's style sheet, so that they follow light and dark.
    """
    from markupsafe import Markup

    bars = plot["bars"]
    first, last = bars[0][0], bars[-1][1]
    highest = max(chance for _, _, chance in bars)
    floor = HEIGHT - FOOT
    scale = WIDTH / (last - first + 1)
    parts = []
    for low, high, chance in bars:
        tall = round((floor - TOP) * chance / highest, 2)
        left, wide = round((low - first) * scale, 2), (high - low + 1) * scale
        parts.append(
            f'<rect x="{left}" y="{round(floor - tall, 2)}" width="{round(max(wide - 1, 0.8), 2)}" '
            f'height="{tall}"/>'
        )
    marker = ""
    count = plot.get("count")
    if count is not None and first <= count <= last:
        at = round((count - first + 0.5) * scale, 2)
        marker = f'<line class="truth" x1="{at}" y1="{TOP - 4}" x2="{at}" y2="{floor + 4}"/>'
    said = Markup.escape(_said(plot, highest))
    return Markup(
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="{number}">'
        f'<title id="{number}">{said}</title><g class="bars">{"".join(parts)}</g>'
        f'<line class="axis" x1="0" y1="{floor}" x2="{WIDTH}" y2="{floor}"/>{marker}'
        f'<text x="0" y="{HEIGHT - 3}">{first}</text>'
        f'<text x="{WIDTH}" y="{HEIGHT - 3}" text-anchor="end">{last}</text>'
        f'<text x="{WIDTH}" y="9" text-anchor="end">highest {highest:.1%}</text></svg>'
    )


def _said(plot: Mapping[str, Any], highest: float) -> str:
    low, high = plot["interval95"]
    return (
        f"posterior of {labels_text(plot['labels'])}: mean {plot['mean']:.4g}, 95% from {low} to "
        f"{high}, highest bar {highest:.1%}"
    )
