"""Policies from TOML and YAML files, and the profiles that are shipped."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import fields
from importlib import resources
from pathlib import Path
from typing import Any

from cellbounds.disclosure.policies.policy import FORMAT, Policy
from cellbounds.disclosure.policies.rules import RULES, Rule
from cellbounds.errors import InvalidInput
from cellbounds.runtime.inputs import (
    YAML_SHARE,
    limit,
    parse_toml,
    read_bytes,
    read_toml,
    utf8_text,
)

__all__ = ["policy_of", "profile_names", "read_policy"]

KEYS = (
    "format",
    "name",
    "title",
    "description",
    "modelled_on",
    "respondent",
    "respondent_at_most",
    "rule",
)

_UNREADABLE = (ValueError, TypeError, AttributeError, ArithmeticError, LookupError, RecursionError)
"""What the YAML library raises on values such as ``2020-99-99`` or ``!!int foo``."""

_PROFILES = resources.files("cellbounds.disclosure.policies") / "profiles"


def profile_names() -> tuple[str, ...]:
    """The names of the shipped profiles."""
    names = (file.name for file in _PROFILES.iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


def policy_of(policy: Policy | str | Path) -> Policy:
    """A policy, or the one of a name or file."""
    return policy if isinstance(policy, Policy) else read_policy(policy)


def read_policy(source: str | Path) -> Policy:
    """Read a shipped profile by its name, or a policy from a TOML or YAML file.

    A file names the policy and its rules; whatever is not known is refused::

        name = "house"
        title = "Our house rules"
        respondent = true                  # also somebody who is in a small cell himself

        [[rule]]
        rule = "small-counts"
        at_most = 3                        # counts <= 3; or below = 4, counts < 4
        zeros = true
        values = 3                         # at least 3 attainable counts; width, relative

        [[rule]]
        rule = "group-disclosure"
        responses = ["income"]

    YAML files say the same with `rule` as a list; they need PyYAML.

    Examples
    --------
    >>> read_policy("small-counts").rules
    (SmallCounts(at_most=3, below=None, zeros=True, values=2, width=None, relative=None,
    need='all'),)
    """
    if not isinstance(source, str | Path):
        raise InvalidInput(
            f"policy {source!r}; give the name of a profile, a file, or a Policy "
            f"(profiles: {', '.join(profile_names())})"
        )
    named = isinstance(source, str) and source in profile_names()
    if named:
        shipped = (_PROFILES / f"{source}.toml").read_bytes()
        return _made(parse_toml(shipped, source), str(source))
    file = Path(source)
    kind = file.suffix.lower()
    if kind not in (".toml", ".yaml", ".yml"):
        raise InvalidInput(
            f"policy {str(source)!r} is neither a profile nor a .toml or .yaml file; the profiles "
            f"are {', '.join(profile_names())}"
        )
    return _made(read_toml(file) if kind == ".toml" else _yaml(file), str(file))


def _yaml(where: Path) -> object:
    text = utf8_text(read_bytes(where, share=YAML_SHARE), where)
    try:
        yaml: Any = importlib.import_module("yaml")
    except ModuleNotFoundError:
        raise InvalidInput(
            f"{where} is a YAML file, and no YAML library is installed; `pip install pyyaml`, or "
            "write the policy as TOML"
        ) from None

    def exact(_: Any, node: Any) -> str:
        return str(node.value)

    def once(loader: Any, node: Any) -> dict[Any, Any]:
        read: dict[Any, Any] = {}
        for key_node, value_node in node.value:
            key = loader.construct_object(key_node, deep=True)
            if not isinstance(key, str) or key in read:
                raise InvalidInput(
                    f"{where}: the key {key!r} (line {key_node.start_mark.line + 1}) stands twice "
                    "or is no text; correct it"
                )
            read[key] = loader.construct_object(value_node, deep=True)
        return read

    # A loader of its own, so that the library's stays as it is for others.
    Loader: Any = type("Loader", (yaml.SafeLoader,), {})
    Loader.add_constructor("tag:yaml.org,2002:float", exact)
    Loader.add_constructor("tag:yaml.org,2002:map", once)
    try:
        _check_plain(yaml, text, where)
        return yaml.load(text, Loader=Loader)  # a SafeLoader: plain values only
    except InvalidInput:
        raise
    except (yaml.YAMLError, *_UNREADABLE) as problem:
        raise InvalidInput(f"{where} is not a YAML file: {problem}") from None


def _check_plain(yaml: Any, text: str, where: Path) -> None:
    """Refuse, before values are made, what could be far more than is written."""
    depth, most = 0, limit("nesting")
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if isinstance(event, yaml.AliasEvent):
            raise InvalidInput(
                f"{where}, line {event.start_mark.line + 1}: the alias *{event.anchor}; write out "
                "what it stands for"
            )
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > most:
            raise InvalidInput(
                f"{where}, line {event.start_mark.line + 1} is nested more than {most} deep, which "
                "no policy is; correct it"
            )


def _made(content: object, where: str) -> Policy:
    if not isinstance(content, Mapping):
        raise InvalidInput(f"{where} is not a policy; give name = and at least one [[rule]]")
    said = dict(content)
    _only(said, KEYS, f"{where}: the policy")
    if said.pop("format", FORMAT) != FORMAT:
        raise InvalidInput(f"{where}: format {content['format']!r}; this version reads {FORMAT!r}")
    if "name" not in said:
        raise InvalidInput(f"{where}: the policy has no name; add name =")
    entries = said.pop("rule", [])
    if not isinstance(entries, list) or not all(isinstance(one, Mapping) for one in entries):
        raise InvalidInput(f"{where}: rules are written as [[rule]] sections; correct them")
    try:
        return Policy(rules=tuple(_rule(entry) for entry in entries), **said)
    except InvalidInput as problem:
        raise InvalidInput(f"{where}: {problem}") from None


def _rule(entry: Mapping[str, Any]) -> Rule:
    name = entry.get("rule")
    if not isinstance(name, str) or name not in RULES:
        raise InvalidInput(f"unknown rule {name!r}; the rules are {', '.join(RULES)}")
    kind = RULES[name]
    given = {key: value for key, value in entry.items() if key != "rule"}
    _only(given, [field.name for field in fields(kind)], f"the rule {name}")
    if kind is RULES["minimum-count"] and "at_least" not in given:
        raise InvalidInput(f"the rule {name} needs at_least =, the smallest count that is shown")
    return kind(**given)


def _only(given: Mapping[str, Any], known: Any, what: str) -> None:
    for key in given:
        if key not in known:
            raise InvalidInput(f"{what} has the unknown key {key!r}; it knows {', '.join(known)}")
