"""What was safe by the counts alone, and what of it holds against whoever reruns the choice.

Prints the table of docs/intruder.md.
"""

from __future__ import annotations

import sys

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
        before, after = (
            suggest(table, release, changes=1, independent=strong) for strong in (False, True)
        )
        found = ["safe", ""] if before.safe_already else [str(len(before)), str(len(after))]
        plain, strong = (
            explore(table, response=response, independent=strong) for strong in (False, True)
        )
        designs = [_shown(one.best.notation) if one.best else "" for one in (plain, strong)]
        if not strong.signal.startswith("holds"):
            designs[-1] += f" ({strong.signal.split(':')[0]})"
        print("|", " | ".join([name, _shown(text), *found, *designs]), "|", flush=True)
        print(f"  {after.seconds:.0f} s and {strong.seconds:.0f} s", file=sys.stderr, flush=True)


def _shown(notation: str) -> str:
    return "`" + notation.replace("|", "\\|") + "`"


if __name__ == "__main__":
    main()
