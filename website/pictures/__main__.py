"""Write the pictures, all or those named: ``python -m website.pictures [NAME...]``."""

from __future__ import annotations

import sys
from pathlib import Path

from website.pictures import attackers, cost, decimals, frontier, history, peers
from website.pictures.style import DARK, LIGHT

FOLDER = Path(__file__).parents[2] / "docs/pictures"
PICTURES = {
    module.__name__.rpartition(".")[2]: module.chart
    for module in (decimals, attackers, peers, history, cost, frontier)
}


def main(names: list[str]) -> None:
    """Draw each on both papers."""
    import vl_convert as vlc

    FOLDER.mkdir(exist_ok=True)
    for name in names or PICTURES:
        for paper in (LIGHT, DARK):
            chart = PICTURES[name](paper).to_dict()
            chart["config"] = paper.config()
            (FOLDER / f"{name}-{paper.name}.svg").write_text(vlc.vegalite_to_svg(chart), "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
