"""A policy: named rules and how they are applied, read from a profile or a TOML or YAML file."""

from __future__ import annotations

import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass, fields, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from cellbounds.data.domain import Domain
from cellbounds.disclosure.policies.exact_disclosure import ExactDisclosure
from cellbounds.disclosure.policies.group_disclosure import GroupDisclosure
from cellbounds.disclosure.policies.intruder import USUAL, Intruder
from cellbounds.disclosure.policies.minimum_count import MinimumCount
from cellbounds.disclosure.policies.posterior_chance import PosteriorChance
from cellbounds.disclosure.policies.rule import Rule
from cellbounds.disclosure.policies.small_counts import SmallCounts
from cellbounds.errors import InvalidInput
from cellbounds.runtime.inputs import (
    YAML_SHARE,
    limit,
    read_bytes,
    read_toml,
    utf8_text,
)

FORMAT = "cellbounds-policy/1"

DEFAULT = "small-counts"
"""The profile that judges when none is named."""

FEW = 3
"""The largest count of a cell in which a respondent is tried, if no rule has a threshold."""

RULES: dict[str, type[Rule]] = {
    rule.name: rule
    for rule in (SmallCounts, ExactDisclosure, GroupDisclosure, PosteriorChance, MinimumCount)
}
"""Every kind of rule by its name."""

_UNREADABLE = (ValueError, TypeError, AttributeError, ArithmeticError, LookupError, RecursionError)
"""What the YAML library raises on values such as ``2020-99-99`` or ``!!int foo``."""

_PROFILES = resources.files("cellbounds.disclosure.policies") / "profiles"


@dataclass(frozen=True, slots=True)
class Policy:
    """What makes a release safe, under a name that every output repeats.

    Parameters
    ----------
    name, title, description
        A short name, one line, and some sentences.
    rules
        Each kind of rule at most once. A release is safe if none is broken.
    modelled_on
        Whose practice it follows, and where it is only our reading of it.
    respondent
        Also judge what somebody would learn who is himself in a small cell, for each such cell.
    respondent_at_most
        Which cells are small for that: by default the largest threshold among the rules, or 3.
    intruder
        What he knows besides what is published: an :class:`Intruder`, or a mapping of what is not
        as usual. With ``respondents=1`` or more, `respondent` is true.

    Examples
    --------
    >>> policy = Policy("house", rules=[SmallCounts(at_most=3, values=2)], respondent=True)
    >>> print(policy)
    policy house
      small-counts: a true count of at most 3 (<= 3; zeros included) must keep at least 2
      attainable counts (>= 2)
      respondent: the rules also hold for what somebody knows who is in a cell of 1 to 3 (<= 3)
    """

    name: str
    title: str = ""
    description: str = ""
    rules: tuple[Rule, ...] = ()
    modelled_on: str = ""
    respondent: bool = False
    respondent_at_most: int | None = None
    intruder: Intruder | Mapping[str, Any] = USUAL

    def __post_init__(self) -> None:
        for what in ("name", "title", "description", "modelled_on"):
            if not isinstance(getattr(self, what), str):
                raise InvalidInput(f"{what} of a policy is {getattr(self, what)!r}; give a text")
        if not self.name.strip():
            raise InvalidInput("the policy has no name; every output names its policy: give name=")
        what = f"the policy {self.name!r}"
        object.__setattr__(self, "rules", tuple(self.rules))
        for rule in self.rules:
            if not isinstance(rule, Rule):
                raise InvalidInput(
                    f"{what} has {rule!r} among its rules; give rules such as SmallCounts(...)"
                )
        if not self.rules:
            raise InvalidInput(f"{what} has no rule, so that everything is safe; add one")
        (name, times), *_ = Counter(rule.name for rule in self.rules).most_common()
        if times > 1:
            raise InvalidInput(
                f"{what} has the rule {name} twice; keep one of them (the stricter one), or make "
                "two policies and judge by each"
            )
        if not isinstance(self.respondent, bool):
            raise InvalidInput(f"{what}: respondent is {self.respondent!r}; give true or false")
        object.__setattr__(self, "intruder", Intruder.of(self.intruder))
        object.__setattr__(self, "respondent", self.respondent or self.against.respondents > 0)
        most = self.respondent_at_most
        if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):
            raise InvalidInput(
                f"{what}: respondent_at_most is {most!r}; give a whole number, 1 or more"
            )
        if most is not None and not self.respondent:
            raise InvalidInput(
                f"{what}: respondent_at_most is given without respondent = true; add it, or leave "
                "respondent_at_most out"
            )
        if self.respondent and all(rule.about_figures for rule in self.rules):
            raise InvalidInput(
                f"{what}: respondent is true, but no rule asks what can be worked out; add one, "
                "such as small-counts"
            )

    @property
    def against(self) -> Intruder:
        """What the intruder knows besides what is published."""
        assert isinstance(self.intruder, Intruder)  # made one of the keys when this was made
        return self.intruder

    def facing(self, **known: Any) -> Policy:
        """The same rules against an intruder who knows something else, by the keys of `Intruder`.

        Examples
        --------
        >>> read("strict").facing(respondents=0).respondent
        False
        """
        intruder = Intruder.of({**asdict(self.against), **known})
        if "respondents" not in known:
            return replace(self, intruder=intruder)
        most = self.respondent_at_most if intruder.respondents else None
        return replace(self, intruder=intruder, respondent=False, respondent_at_most=most)

    @property
    def small(self) -> int:
        """The largest count of a cell in which a respondent is tried."""
        if self.respondent_at_most is not None:
            return self.respondent_at_most
        return max((rule.small for rule in self.rules if rule.small), default=FEW)

    @property
    def smallest(self) -> int:
        """The smallest count that a rule with a threshold speaks of."""
        return min((rule.smallest for rule in self.rules if rule.small is not None), default=0)

    @property
    def many_values(self) -> bool:
        """Whether a rule asks for more attainable counts than the two ends of an interval."""
        return any(rule.many_values for rule in self.rules)

    def carries_over(self) -> bool:
        """Whether the whole table is safe if the published one is; see ``Rule.carries_over``.

        Examples
        --------
        >>> read("small-counts").carries_over()
        True
        """
        return not self.respondent and all(rule.carries_over() for rule in self.rules)

    def tells(self) -> bool:
        """Whether that a table passes tells it from others that fit; see ``Rule.tells``.

        Examples
        --------
        >>> read("small-counts").tells(), read("opensafely").tells()
        (False, True)
        """
        # A respondent is tried in the small cells of the table that is judged.
        return self.respondent or any(rule.tells() for rule in self.rules)

    @property
    def monotone(self) -> bool:
        """Whether more tables that an intruder takes for possible never break a rule."""
        return not any(rule.why_not_monotone(independent=False) for rule in self.rules)

    @property
    def sentences(self) -> tuple[str, ...]:
        """Every rule in plain words, with its name."""
        lines = [f"{rule.name}: {rule.sentence}" for rule in self.rules]
        if self.respondent:
            lines.append(
                "respondent: the rules also hold for what somebody knows who is in a cell of 1 to "
                f"{self.small} (<= {self.small})"
            )
        if self.against.respondents > 1:
            lines.append(
                "pair: the rules also hold for what two people know together who are in one such "
                "cell, or in two that differ in one variable"
            )
        return tuple(lines)

    def within(
        self, domain: Domain, over: Sequence[str], *, shown: bool = False, sums: bool = False
    ) -> Policy | None:
        """The rules that can be asked about a margin; None if none looks further than the figures.

        Figures that are shown are the same, whatever margin is asked about. A rule about rows of
        variables that the margin does not have, or that leaves no response among them, is left to
        the whole table. With `shown` every count of the margin is shown, with `sums` those of a
        larger one are.
        """
        names = {domain.base(name): name for name in over} | {name: name for name in over}
        narrowed = (rule.within(names) for rule in self.rules if not rule.about_figures)
        rules = [
            rule
            for rule in narrowed
            if rule is not None
            and rule.fits(domain, over)
            and not (shown and rule.about_hidden)
            and not (sums and rule.kept_by_sums)
        ]
        if not rules:
            return None
        return self if tuple(rules) == self.rules else replace(self, rules=tuple(rules))

    def to_dict(self) -> dict[str, Any]:
        """Plain values, versioned, as they stand in a policy file; and each rule in words."""
        plain = {name: getattr(self, name) for name in OPTIONS}
        plain["intruder"] = self.against.to_dict()
        for name in ("respondent_at_most", "intruder"):
            if not plain[name]:
                del plain[name]
        rules = [rule.to_dict() for rule in self.rules]
        return {"format": FORMAT, **plain, "rule": rules, "sentences": list(self.sentences)}

    def __str__(self) -> str:
        title = f"policy {self.name}" + (f": {self.title}" if self.title else "")
        return "\n".join([title, *(f"  {sentence}" for sentence in self.sentences)])


OPTIONS = tuple(field.name for field in fields(Policy) if field.name != "rules")
"""What a policy says besides its rules."""


@cache
def profiles() -> tuple[str, ...]:
    """The names of the shipped profiles.

    Examples
    --------
    >>> "small-counts" in profiles()
    True
    """
    names = (file.name for file in _PROFILES.iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in names if name.endswith(".toml")))


def policy_of(policy: Policy | str | Path) -> Policy:
    """A policy, or the one of a name or file."""
    return policy if isinstance(policy, Policy) else read(policy)


def read(source: str | Path) -> Policy:
    """Read a shipped profile by its name, or a policy from a TOML or YAML file.

    A file names the policy and its rules; whatever is not known is refused::

        name = "house"
        title = "Our house rules"
        respondent = true                  # also somebody who is in a small cell himself

        [intruder]
        zeros = "always"                   # he knows that hidden counts are at least 1

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
    >>> read("small-counts").rules
    (SmallCounts(at_most=3, below=None, zeros=False, values=2, width=None, relative=None,
    protect_above=None, protect_below=None, above_threshold=None, need='all'),)
    """
    if not isinstance(source, str | Path):
        raise InvalidInput(
            f"policy {source!r}; give the name of a profile, a file, or a Policy "
            f"(profiles: {', '.join(profiles())})"
        )
    if isinstance(source, str) and source in profiles():
        return _shipped(source)
    file = Path(source)
    kind = file.suffix.lower()
    if kind not in (".toml", ".yaml", ".yml"):
        raise InvalidInput(
            f"policy {str(source)!r} is neither a profile nor a .toml or .yaml file; the profiles "
            f"are {', '.join(profiles())}"
        )
    return _made(read_toml(file) if kind == ".toml" else _yaml(file), str(file))


def _yaml(where: Path) -> object:
    import yaml

    text = utf8_text(read_bytes(where, share=YAML_SHARE), where)

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


@cache
def _shipped(name: str) -> Policy:
    """A profile, read once: it comes with the package, and judging may ask for it often."""
    text = (_PROFILES / f"{name}.toml").read_text("utf-8")
    return _made(tomllib.loads(text, parse_float=str), name)


def _made(content: object, where: str) -> Policy:
    if not isinstance(content, Mapping):
        raise InvalidInput(f"{where} is not a policy; give name = and at least one [[rule]]")
    options = dict(content)
    _only(options, ("format", *OPTIONS, "rule"), f"{where}: the policy")
    if options.pop("format", FORMAT) != FORMAT:
        raise InvalidInput(f"{where}: format {content['format']!r}; this version reads {FORMAT!r}")
    if "name" not in options:
        raise InvalidInput(f"{where}: the policy has no name; add name =")
    entries = options.pop("rule", [])
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        raise InvalidInput(f"{where}: rules are written as [[rule]] sections; correct them")
    try:
        return Policy(rules=tuple(rule_of(entry) for entry in entries), **options)
    except InvalidInput as problem:
        raise InvalidInput(f"{where}: {problem}") from None


def rule_of(entry: Mapping[str, Any]) -> Rule:
    """A rule from its plain values, as they stand in a policy file."""
    name = entry.get("rule")
    if name is None:
        raise InvalidInput(f"a rule without its name; give rule = one of {', '.join(RULES)}")
    if not isinstance(name, str) or name not in RULES:
        raise InvalidInput(f"unknown rule {name!r}; the rules are {', '.join(RULES)}")
    kind: Any = RULES[name]
    given = {key: value for key, value in entry.items() if key != "rule"}
    _only(given, [field.name for field in fields(kind)], f"the rule {name}")
    for field in fields(kind):
        if field.default is MISSING and field.name not in given:
            means = field.metadata.get("means", "which has no default")
            raise InvalidInput(f"the rule {name} needs {field.name} =, {means}")
    rule: Rule = kind(**given)
    return rule


def _only(given: Mapping[str, Any], known: Iterable[str], what: str) -> None:
    for key in given:
        if key not in known:
            raise InvalidInput(f"{what} has the unknown key {key!r}; it knows {', '.join(known)}")
