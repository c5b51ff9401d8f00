"""What the site is made of besides pages: nothing is missing, nothing comes from elsewhere."""

from __future__ import annotations

import hashlib
import re
import tomllib
from pathlib import Path

import click
import pytest
from click.testing import CliRunner
from website import commands, flowchart, notebooks, schemas
from website.pictures import __main__ as pictures
from website.pictures import cost, history, peers

import cellbounds as cb

ROOT = Path(__file__).parents[2]
API = ROOT / "docs/reference/api"


def test_every_public_name_is_described_once():
    text = "".join(path.read_text("utf-8") for path in sorted(API.glob("*.md")))
    described = re.findall(r"^::: cellbounds\.(\w+)$", text, re.MULTILINE)
    assert sorted(described) == sorted(set(cb.__all__) - {"__version__"})


def test_every_option_of_every_command_is_described():
    pages = commands.pages()

    def options(command):
        command = command.load() if isinstance(command, commands.Later) else command
        below = command.commands.values() if isinstance(command, click.Group) else ()
        own = [
            name for one in command.params if one.param_type_name == "option" for name in one.opts
        ]
        return [*own, *(name for each in below for name in options(each))]

    for name, command in commands.commands.commands.items():
        page = pages[f"{commands.FOLDER}/{name}.md"]
        assert [one for one in options(command) if f"`{one}" not in page] == []


@pytest.mark.parametrize("path", [[], ["ledger"]])
def test_lists_of_commands_are_whole_and_in_the_order_of_their_use(path):
    shown = CliRunner().invoke(commands.commands, [*path, "--help"]).output
    listed = shown.partition("\nCommands:\n")[2].splitlines()
    assert listed[0].split()[0] == ("init" if path else "example")
    assert not [line for line in listed if line.endswith("...")]
    assert max(map(len, listed)) <= 80


def test_help_with_marks_of_markdown_stays_as_it_is():
    page = commands.pages()[f"{commands.FOLDER}/audit.md"]
    assert "\\[" in page
    assert commands.plain("a [A|B] *x* <y>\n  z_") == r"a \[A\|B\] \*x\* &lt;y> z\_"


def test_every_schema_has_its_keys():
    page = schemas.page()
    for path in schemas.FOLDER.glob("*.json"):
        assert f"## `{path.name.removesuffix('.schema.json')}`" in page
    assert re.search(r"^\| `\w+` \| .+ \| yes \|", page, re.MULTILINE)


def test_what_is_vendored_is_as_it_was_published():
    folder = ROOT / "website/theme/javascripts"
    found = hashlib.sha256((folder / "iframe-worker.js").read_bytes()).hexdigest()
    assert found == "e8e412dbcfea9b7e31b5ffa288d7b6035915e714c542f4176a0cdbe262fc9609"
    assert "Permission is hereby granted" in (folder / "iframe-worker.LICENSE").read_text("utf-8")


def test_a_flowchart_has_its_boxes_and_arrows():
    drawn = flowchart.svg("flowchart LR\n    a --> b\n    a --> c\n    b --> c\n")
    assert drawn.count("<rect") == 3
    assert drawn.count('class="arrow"') == 3
    places = [float(left) for left in re.findall(r'<rect x="([\d.]+)"', drawn)]
    assert places == sorted(set(places))  # each stands behind all that lead to it
    assert "\n\n" not in drawn  # Markdown would end it there


@pytest.mark.parametrize("text", ["graph TD\n    a --> b\n", "flowchart LR\n    a -.-> b\n"])
def test_what_is_no_such_flowchart_is_refused(text):
    with pytest.raises(ValueError, match="is not drawn"):
        flowchart.svg(text)


def test_the_notebook_is_stored_with_what_came_out():
    ((_, page),) = notebooks.pages().items()
    assert "```text\nUNSAFE" in page
    assert page.count("<svg") == 2


def test_every_picture_is_there_on_both_papers_and_shown():
    page = (ROOT / "docs/pictures.md").read_text("utf-8")
    for name in pictures.PICTURES:
        for paper in ("light", "dark"):
            assert (pictures.FOLDER / f"{name}-{paper}.svg").is_file()
            assert f"pictures/{name}-{paper}.svg#gh-{paper}-mode-only" in page


def test_pictures_show_what_the_pages_record():
    known = peers.known()
    assert known["tau-ARGUS, optimal"] > known["tau-ARGUS, modular"] > known["cellbounds"] == 0
    found = peers.points()
    assert len({one["table"] for one in found}) == 12
    assert all(one["share"] <= 1 for one in found if one["tool"] == "cellbounds")
    ours = [one["seconds"] for one in cost.points() if one["method"] == "cellbounds"]
    assert len(ours) == 9
    assert max(ours) < 2 * min(ours)


def test_the_count_of_the_picture_narrows_until_it_is_known():
    found = history.points()
    left = [one["upper"] - one["lower"] for one in found]
    assert left == sorted(left, reverse=True)
    assert left[-1] == 0
    assert [one["verdict"] for one in found] == [*[history.OUTCOMES[0]] * 3, history.OUTCOMES[1]]
    assert all(one["lower"] <= one["true"] <= one["upper"] for one in found)


def test_the_version_is_the_same_everywhere():
    changes = (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert re.search(r"^## (\S+)", changes, re.MULTILINE)[1] == cb.__version__
    citation = (ROOT / "CITATION.cff").read_text("utf-8")
    assert f"\nversion: {cb.__version__}\n" in citation


def test_what_a_container_copies_is_there():
    lines = (ROOT / "Containerfile").read_text("utf-8").splitlines()
    copied = [
        name for line in lines if re.match("COPY (?!--)", line) for name in line.split()[1:-1]
    ]
    assert copied
    assert all((ROOT / name).exists() for name in copied)
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    extras = re.search(r"'\.\[(.*)\]'", "".join(lines))[1].split(",")
    assert set(extras) <= set(settings["project"]["optional-dependencies"])
