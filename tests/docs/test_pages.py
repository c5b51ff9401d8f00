"""Every command and snippet of README.md and docs/ runs, and what is shown is what comes out.

The blocks of a page run in order in an empty folder; those of Python share their names.

- ``console``: lines after ``$`` are commands; what follows them is compared with what they write.
  A line ``...`` stands for any lines, ``...`` within a line for any text. A command that shows
  nothing has to end with status 0, one that shows an error with 2.
- ``sh``: commands without their output.
- ``python``: statements. ``pycon``: a session, compared as a doctest.
- ``toml``: a file, named by a comment in its first line.
- ``text``, ``mermaid``, ``ini``: nothing to run.

``<!-- not run: REASON -->`` above a block leaves it out. After a change that is meant, write the
shown outputs anew with ``UPDATE_SNAPSHOTS=1 pytest tests/docs`` and read the difference.
"""

from __future__ import annotations

import difflib
import doctest
import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
CUT = "..."
COMMANDS = re.compile(r" *(\$|>>>|cellbounds|pip|make|python3?|import|from) ")
MOST_LEFT_OUT = 9

every_page = pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))


@dataclass(frozen=True)
class Block:
    """A block of a page: its language, lines, the place of the first, and why it does not run."""

    page: Path
    language: str
    lines: list[str]
    first: int
    left_out: str

    @property
    def text(self) -> str:
        return "".join(f"{line}\n" for line in self.lines)

    @property
    def where(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.first}"


def blocks_of(page: Path) -> list[Block]:
    blocks, before, opened = [], "", None
    lines = page.read_text("utf-8").splitlines()
    for number, line in enumerate(lines):
        if opened is None and line.startswith("```"):
            opened = number
        elif opened is not None and line == "```":
            marker = re.fullmatch(r"<!-- not run: (.+) -->", before)
            language = lines[opened].removeprefix("```")
            reason = marker[1] if marker else ""
            blocks.append(Block(page, language, lines[opened + 1 : number], opened + 2, reason))
            opened, before = None, ""
        elif opened is None:
            indented = line.startswith("    ") and COMMANDS.match(line)
            assert not indented, f"{page}:{number + 1} is code: fence it and say what it is"
            before = line if line.strip() else before
    assert opened is None, f"{page}:{opened} opens a block that does not end"
    return blocks


def commands_of(block: Block) -> list[tuple[str, list[str]]]:
    """The commands of a console, each with the lines that are shown after it."""
    commands: list[tuple[str, list[str]]] = []
    continued = False
    for line in block.lines:
        if line.startswith("$ "):
            commands.append((line[2:], []))
        elif continued:
            command, _ = commands.pop()
            commands.append((f"{command}\n{line}", []))
        else:
            assert commands, f"{block.where} shows something before any command"
            commands[-1][1].append(line)
        continued = line.endswith("\\") and not commands[-1][1]
    return commands


def fits(shown: list[str], lines: list[str]) -> bool:
    """Whether these are the lines that are shown, but for what was cut."""
    pattern = "".join(
        r"(?:.*\n)*" if line == CUT else ".*".join(map(re.escape, line.split(CUT))) + r"\n"
        for line in shown
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in lines)) is not None


def cut_alike(shown: list[str], lines: list[str]) -> list[str]:
    """New lines, cut as the old ones were: as many at both ends, the most similar in between."""
    if CUT not in shown:
        return lines
    first, last = shown.index(CUT), shown[::-1].index(CUT)
    inner = [
        line if line == CUT else (difflib.get_close_matches(line, lines, 1, 0) or [line])[0]
        for line in shown[first : len(shown) - last]
    ]
    return [*lines[:first], *inner, *lines[len(lines) - last :]]


class Folder:
    """Runs the blocks of a page in a folder of its own."""

    def __init__(self, run) -> None:
        self.run = run
        self.names: dict[str, object] = {"__name__": "page"}

    def __call__(self, block: Block) -> list[str]:
        """Run a block; its lines as they should be."""
        return getattr(self, block.language)(block)

    def python(self, block: Block) -> list[str]:
        exec(compile("\n" * (block.first - 1) + block.text, str(block.page), "exec"), self.names)
        return block.lines

    def pycon(self, block: Block) -> list[str]:
        session = doctest.DocTestParser().get_doctest(
            block.text, self.names, block.where, str(block.page), block.first - 1
        )
        session.globs = self.names  # shared, not copied
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        said: list[str] = []
        result = doctest.DocTestRunner(optionflags=flags, verbose=False).run(
            session, out=said.append, clear_globs=False
        )
        assert result.attempted, f"{block.where} has no >>>"
        assert not result.failed, "".join(said)
        return block.lines

    def toml(self, block: Block) -> list[str]:
        named = re.fullmatch(r"# (\S+\.toml)", block.lines[0])
        assert named, f"{block.where}: the first line has to name the file, as in # known.toml"
        Path(named[1]).write_text(block.text, encoding="utf-8")
        return block.lines

    def sh(self, block: Block) -> list[str]:
        if all(line.startswith("cellbounds ") for line in block.lines):
            for line in block.lines:
                self.commanded(line, [], block)
        else:
            self.commanded(block.text, [], block)
        return block.lines

    def console(self, block: Block) -> list[str]:
        lines = []
        for command, shown in commands_of(block):
            lines += f"$ {command}".splitlines() + self.commanded(command, shown, block)
        return lines

    def commanded(self, command: str, shown: list[str], block: Block) -> list[str]:
        """Run a command, in this process if it is one of ours; what should be shown."""
        plain = command.replace("\\\n", " ")
        if re.fullmatch(r"cellbounds [^\n|&;<>$]*", re.sub(r"\"[^\"]*\"", "", plain)):
            code, out, err = self.run(*shlex.split(plain, comments=True)[1:])
        else:
            path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
            done = subprocess.run(
                ["sh", "-ec", command],
                capture_output=True,
                text=True,
                check=False,
                timeout=60,
                env={**os.environ, "PATH": path},
            )
            code, out, err = done.returncode, done.stdout, done.stderr
        progress = re.compile(r"cellbounds: ")
        said = [line for line in err.splitlines() if not progress.match(line)]
        lines = [line.rstrip() for line in (*out.splitlines(), *said)]
        about = f"{block.where}: {command}\nstatus {code}\n" + "\n".join(lines)
        refused = any(line.startswith("error:") for line in shown)
        assert (code == 2) == refused, about
        assert code in ((0, 1, 2, 3) if shown else (0,)), about
        if not shown or fits(shown, lines):
            return shown
        if os.environ.get("UPDATE_SNAPSHOTS") != "1":
            pytest.fail("\n".join((about, "--- but the page shows:", *shown)), pytrace=False)
        return cut_alike(shown, lines)


@pytest.fixture
def one_core():
    """No workers, which would take more time to start than these small tables take."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    yield
    os.sched_setaffinity(0, before)


@every_page
@pytest.mark.usefixtures("one_core")
def test_the_blocks_run_as_shown(page, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    folder = Folder(run)
    lines, written, done = page.read_text("utf-8").splitlines(), [], 0
    for block in blocks_of(page):
        ran = block.lines
        if block.language in ("text", "mermaid", "ini"):
            assert not any(map(COMMANDS.match, ran)), f"{block.where} holds commands"
        elif not block.left_out:
            assert hasattr(Folder, block.language), f"{block.where}: what is {block.language!r}?"
            ran = folder(block)
        written += [*lines[done : block.first - 1], *ran]
        done = block.first - 1 + len(block.lines)
    written += lines[done:]
    if written != lines:  # only where outputs are written anew
        page.write_text("".join(f"{line}\n" for line in written), encoding="utf-8")


def test_few_blocks_are_left_out():
    left_out = [block.where for page in PAGES for block in blocks_of(page) if block.left_out]
    assert len(left_out) <= MOST_LEFT_OUT, left_out


def anchors_of(page: Path) -> set[str]:
    """The headings of a page as links name them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text("utf-8"), re.MULTILINE)
    plain = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in headings)
    return {heading.replace(" ", "-") for heading in plain}


@every_page
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text("utf-8")):
        if "://" in target:
            continue
        file, _, anchor = target.partition("#")
        led = page if not file else page.parent / file
        assert led.exists(), f"{page.name} leads to {target}, which is not there"
        assert not anchor or led.suffix != ".md" or anchor in anchors_of(led), (
            f"{page.name}: no heading {target}"
        )
