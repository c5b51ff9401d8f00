"""`example`: files to try the commands on."""

from __future__ import annotations

import random
import re
import shlex
from importlib import resources
from pathlib import Path

import click

from cellbounds import datasets
from cellbounds.cli import options
from cellbounds.cli.options import Given, option
from cellbounds.cli.outputs import write_text
from cellbounds.errors import InvalidInput
from cellbounds.runtime.files import write_whole
from cellbounds.text import aligned

YEARS, RECORDS = ("2023", "2024"), 600
"""Files of the survey, and the records of each."""

_PUBLISHED = ("published.toml", "published.1-education-county-2.csv")

EXAMPLES = {
    **{name: re.sub(r" \(document.*?\)", "", about) for name, about in datasets.NAMES.items()},
    "published": "a release file: rates of delinquent, without the table",
    "printed": "made up: a table as it is printed, with totals and hidden counts",
    "sparse5": "made up: 93 people by five variables, mostly empty cells",
    "survey": f"made up: a folder with {len(YEARS) * RECORDS:,} records of region, age and vote",
}
"""Every example, and what it is."""

_NEXT = {
    "analgesic": 'audit {}analgesic.csv "[response|treatment]@2" "[status]"',
    "census3": 'suggest {}census3.csv "[income|gender,race]@3"',
    "delinquent": 'audit {}delinquent.csv "[education|county]@3"',
    "koch4": "margins {}koch4.csv --way 2",
    "mp3": 'audit {}mp3.csv "[mp3|gender]@2"',
    "published": "attack {}published.toml",
    "printed": "attack {}printed.csv",
    "sparse5": 'audit {}sparse5.csv "[housing,work,illness]" "[age,travel,illness]"',
    "survey": 'audit {}survey "[vote|age]@2" --records --variables vote,age',
}
"""A command to try on each; the folder stands before the name of its file."""


@options.command
@click.argument("names", nargs=-1, metavar="[NAME...]")
@option("-o, --output FOLDER", "Put them there; into the current folder unless given.")
@option("--overwrite", "Replace files of the same names.")
def example(given: Given) -> int:
    """Put example files here, to try the commands on; without NAME, list what there is.

    Example: cellbounds example delinquent
    """
    if not given.names:
        listed = aligned(["name", "what it is"], list(EXAMPLES.items()))
        write_text(f"{listed}\n\nPut one here with: cellbounds example NAME\n", None)
        return options.SAFE
    folder = Path(given.output or "")
    files = {folder / name: text for chosen in given.names for name, text in _files(chosen).items()}
    changed = [
        path
        for path, text in files.items()
        if path.exists() and not (path.is_file() and path.read_bytes() == text.encode())
    ]
    if changed and not given.overwrite:
        raise InvalidInput(
            f"{changed[0]} is there already, and is another file; choose another folder with -o, "
            "or replace it with --overwrite"
        )
    for path, text in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text)
    before = shlex.quote(f"{folder}/") if given.output else ""
    written = "".join(f"written: {path}\n" for path in files)
    if not before.isprintable():  # a terminal would not show what is to be copied
        write_text(written, None)
        return options.SAFE
    tries = "".join(f"  cellbounds {_NEXT[name].format(before)}\n" for name in given.names)
    write_text(f"{written}\nTry next:\n", None)
    write_text(tries, None, "sh")  # to be copied as they are: no line is broken
    return options.SAFE


def _files(name: str) -> dict[str, str]:
    """The files of an example: names below its folder, and contents."""
    if name not in EXAMPLES:
        raise InvalidInput(f"no example {name!r}; the examples are {', '.join(EXAMPLES)}")
    if name == "survey":
        return {f"survey/{year}.csv": _records(year) for year in YEARS}
    shipped = resources.files(datasets)
    names = _PUBLISHED if name == "published" else (f"{name}.csv",)
    return {file: (shipped / file).read_text("utf-8") for file in names}


def _records(year: str) -> str:
    """Records made up at random, the same every time; `w` is how many persons each stands for."""
    drawn = random.Random(year)
    lines = ["region,age,vote,w"]
    for _ in range(RECORDS):
        region = drawn.choices(["north", "south", "islands"], [9, 8, 1])[0]
        age = drawn.choices(["18-29", "30-64", "65+"], [3, 6, 4])[0]
        vote = drawn.choices(["yes", "no", "abstain"], [5, 4, 1])[0]
        lines.append(f"{region},{age},{vote},{drawn.randint(1, 3)}")
    return "\n".join([*lines, ""])
