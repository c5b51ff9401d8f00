"""Pages of the site that are no files of docs/, and links that lead to them.

README.md and its neighbours stay where readers of the repository look for them; commands and
schemas are written from the code. So nothing is said twice, and nothing can be out of date.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from website import commands, flowchart, notebooks, schemas

ROOT = Path(__file__).parents[1]

OUTSIDE = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "reliability/mutants/survivors.md": "survivors.md",
}
"""Pages of the repository outside docs/, and where they are on the site."""

SCHEMAS, DECISIONS = "reference/schemas.md", "decisions/index.md"

_LINK = re.compile(r"\]\(([^)\s:]+?)(#[^)\s]*)?\)")
_CODE = re.compile(r"`[^`]+`")
_MARGINS = re.compile(r"`[^`]+`|\] ?(?=\[[^\]]*\](?!\())")  # [A][B] is two margins, no link
_EMPTY_HEAD = re.compile(r"<th( [^>]*)?></th>")
_MERMAID = re.compile(r"^```mermaid\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Replace ``folder/*`` in the navigation by the pages there."""
    config.nav = [_expanded(item) for item in config.nav or []]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are not below docs/."""
    written = {page: (ROOT / source).read_text("utf-8") for source, page in OUTSIDE.items()}
    written |= (
        commands.pages() | notebooks.pages() | {SCHEMAS: schemas.page(), DECISIONS: _decisions()}
    )
    for page, text in written.items():
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - mkdocs names them
    """Turn what the repository's viewers understand into what mkdocs does."""
    here = page.file.src_uri
    source = next((ours for ours, shown in OUTSIDE.items() if shown == here), f"docs/{here}")
    markdown = _MERMAID.sub(lambda found: flowchart.svg(found[1]), markdown)
    lines, fenced = [], False
    for line in markdown.splitlines():
        fenced ^= line.startswith("```")
        lines.append(line if fenced else _line(line, source, here))
    return "\n".join(lines) + "\n"


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:  # noqa: ARG001 - mkdocs names them
    """Name what the theme leaves without a name for those who do not see the page."""
    named = output.replace('role="dialog"', 'role="dialog" aria-label="Search"')
    return _EMPTY_HEAD.sub(r"<td\1></td>", named)


def _line(line: str, source: str, here: str) -> str:
    """A line of prose: links to where pages are on the site, bars in cells of tables."""
    if line.startswith("|"):
        line = _CODE.sub(lambda found: found[0].replace("\\|", "|"), line)
    line = _MARGINS.sub(lambda found: found[0] if found[0][0] == "`" else found[0] + "\\", line)
    return _LINK.sub(lambda found: f"]({_target(found[1], source, here)}{found[2] or ''})", line)


def _target(link: str, source: str, here: str) -> str:
    """Where a link of a file of the repository leads on the site."""
    led = os.path.normpath(Path(source).parent / link)
    if led.startswith("src/cellbounds/report/schemas/"):
        page = SCHEMAS
    elif led == "docs/decisions":
        page = DECISIONS
    elif led in OUTSIDE:
        page = OUTSIDE[led]
    elif led.endswith(".ipynb") and led != source.replace(".md", ".ipynb"):
        page = led.removeprefix("docs/").replace(".ipynb", ".md")
    elif led.startswith("docs/"):
        page = led.removeprefix("docs/")
    else:
        return link
    return os.path.relpath(page, Path(here).parent)


def _expanded(item: Any) -> Any:
    """An item of the navigation, with the pages that ``folder/*`` stands for."""
    if isinstance(item, dict):
        return {title: _expanded(inner) for title, inner in item.items()}
    if isinstance(item, list):
        return [each for inner in item for each in _spread(inner)]
    return _pages(item) if item.endswith("/*") else item


def _spread(item: Any) -> list[Any]:
    return _pages(item) if isinstance(item, str) and item.endswith("/*") else [_expanded(item)]


def _pages(folder: str) -> list[str]:
    """The pages of a folder, the one about it first."""
    place = folder.removesuffix("/*")
    made: dict[str, Callable[[], list[str]]] = {
        "reference/commands": lambda: list(commands.pages()),
        "decisions": lambda: [DECISIONS],
    }
    files = [f"{place}/{path.name}" for path in sorted((ROOT / "docs" / place).glob("*.md"))]
    files.sort(key=lambda file: not file.endswith("README.md"))
    return [*made.get(place, list)(), *files]


def _decisions() -> str:
    """The list of decisions, by their titles."""
    found = sorted((ROOT / "docs/decisions").glob("*.md"))
    titles = [(path.read_text("utf-8").splitlines()[0].lstrip("# "), path.name) for path in found]
    listed = "\n".join(f"- [{title}]({name})" for title, name in titles)
    return f"# Decisions\n\nChoices that somebody may question, half a page each.\n\n{listed}\n"
