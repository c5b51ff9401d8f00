"""The page of the JSON schemas, from their files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "src/cellbounds/report/schemas"

HEAD = """# JSON schemas

What `--format json` and `.to_dict()` give keeps to a schema (JSON Schema, draft 2020-12). Its
number is in the name and in the answer; it changes when something that was there is gone or means
something else. The files are installed with the package, in `cellbounds/report/schemas`.
"""


def page() -> str:
    """One section for each schema: what its keys are, and the whole of it."""
    return "\n".join([HEAD, *map(_section, sorted(FOLDER.glob("*.json")))])


def _section(path: Path) -> str:
    schema = json.loads(path.read_text("utf-8"))
    needed = set(schema.get("required", ()))
    rows = [
        f"| `{key}` | {_kind(what)} | {'yes' if key in needed else ''} | {_about(what)} |"
        for key, what in schema.get("properties", {}).items()
    ]
    whole = json.dumps(schema, indent=2, ensure_ascii=False)
    return "\n".join(
        [
            f"## `{path.name.removesuffix('.schema.json')}`",
            "",
            " ".join(filter(None, [schema.get("title"), schema.get("description")])),
            "",
            *(["| key | type | always | |", "|---|---|---|---|", *rows, ""] if rows else []),
            '<details markdown="1"><summary>the schema</summary>',
            "",
            "```json",
            whole,
            "```",
            "",
            "</details>",
            "",
        ]
    )


def _about(what: Any) -> str:
    said = what.get("description", "") if isinstance(what, dict) else ""
    return str(said).replace("|", "\\|").replace("\n", " ")


def _kind(what: Any) -> str:
    """The type of a value, in a word or two."""
    if not isinstance(what, dict):
        return ""
    if "const" in what:
        return f"`{json.dumps(what['const'])}`"
    if "enum" in what:
        return ", ".join(f"`{json.dumps(each)}`" for each in what["enum"])
    if "$ref" in what:
        return str(what["$ref"]).rpartition("/")[2]
    if choices := what.get("anyOf") or what.get("oneOf"):
        return " or ".join(filter(None, map(_kind, choices)))
    kinds = what.get("type", "")
    return " or ".join(kinds) if isinstance(kinds, list) else str(kinds)
