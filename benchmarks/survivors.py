"""What was safe by the counts alone, and what of it holds against whoever reruns the choice.

Prints the table of docs/intruder.md.
"""

from __future__ import annotations

import cellbounds as cb
from cellbounds.disclosure.exploring import explore
from cellbounds.disclosure.suggesting import suggest

ASKED = {
    "analgesic": ("[response|status,treatment]", "response"),
    "census3": ("[income|gender,race]@4", "income"),
    "delinquent": ("[education|county]@3", "education"),
    "koch4": ("[recovery|center,status,treatment]@3", "recovery"),
    "mp3": ("[mp3,gender]", "mp3"),
}
"""For each shipped table a release to change, and a response."""


def main() -> None:
    """One line for each table."""
    print("| table | asked for | suggestions | of these hold | best design | holds |")
    print("|---|---|---|---|---|---|")
    for name, (text, response) in ASKED.items():
        table = cb.datasets.read(name)
        release = cb.publish(table, text)
        before = suggest(table, release, independent=False)
        after = suggest(table, release)
        best = explore(table, response=response, independent=False).best
        strong = explore(table, response=response)
        asked = "safe" if before.safe_already else f"{len(before)} | {len(after)}"
        asked = asked if "|" in asked else f"{asked} | "
        designs = [one and one.notation for one in (best, strong.best)]
        sure = "" if strong.signal.startswith("holds") else f" ({strong.signal.split(':')[0]})"
        cells = " | ".join(f"`{one}`".replace("|", "\\|") for one in designs)
        print(
            f"| {name} | `{text}`".replace("[", "[") + f" | {asked} | {cells}{sure} |", flush=True
        )


if __name__ == "__main__":
    main()
