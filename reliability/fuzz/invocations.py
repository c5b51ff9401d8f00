"""Valid invocations of every command: its arguments, its options, its files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

from reliability.fuzz import documents
from reliability.fuzz.case import Case, File
from reliability.fuzz.corpus import Document
from reliability.fuzz.scenes import Scene, random_scene, table_file
from reliability.fuzz.vocabulary import command_names

__all__ = ["COMMANDS", "invocation"]


class Draft:
    """A case in the making."""

    def __init__(self, rng: Random, case: Case, corpus: Sequence[Document]) -> None:
        self.rng, self.case = rng, case
        chosen = rng.choice(corpus) if corpus else None
        # What only the program can make is there for the tables of the corpus alone.
        self.document = chosen if rng.random() < 0.6 or case.command in LASTING else None
        self.scene: Scene = self.document.scene if self.document else random_scene(rng)
        self.case.confidential = self.scene.confidential
        self.how: list[str] = []
        self.asked = True  # whether a state is about the question
        self.needed = False  # whether a ledger keeps no table, so that it has to be given

    def maybe(self, chance: float = 0.15) -> bool:
        """True now and then."""
        return self.rng.random() < chance

    def say(self, *words: str) -> None:
        """Add words to the command line."""
        self.case.words += words

    def some(self, *options: tuple[str, ...], chance: float = 0.15) -> None:
        """Add each of these options now and then."""
        for option in options:
            if self.maybe(chance):
                self.say(*option)

    def name(self) -> str:
        """A variable, quoted where the notation needs it."""
        name = self.rng.choice(self.scene.names)
        return f'"{name}"' if "," in name else name

    def add(self, file: File) -> str:
        """Put a file into the working folder; its name."""
        if all(file.name != other.name for other in self.case.files):
            self.case.files.append(file)
        return file.name

    def table(self, name: str = "table") -> str:
        """A file that holds the table; how it is read is said by :meth:`reading`."""
        parquet = self.document.parquet if self.document else None
        file, self.how = table_file(self.rng, self.scene, name, parquet)
        return self.add(file)

    def reading(self, *, merged: bool = True) -> None:
        """How the table is read; with merged levels it is another one."""
        self.say(*self.how)
        name = self.rng.choice(self.scene.names)
        levels = self.scene.levels[name]
        self.some(
            ("--missing", self.rng.choice(["error", "level"])),
            ("--structural",),
            chance=0.07,
        )
        if merged:
            self.some(("--merge", f"{name}={levels[0]},{levels[1]}"), chance=0.1)

    def release(self) -> str:
        """A release file, with the files that it names."""
        self.asked = self.document is not None and self.maybe(0.5)
        if self.document and self.asked:
            tree, beside = self.document.asked
        else:
            tree, beside = documents.release(self.rng, self.scene)
        for file in beside:
            self.add(File(file.name, file.content))
        return self.add(File("published.toml", tree=tree, style="toml"))

    def statements(self) -> None:
        """What is published of the table."""
        for _ in range(self.rng.choice([1, 1, 2, 3])):
            if self.maybe(0.07):
                self.say(self.release())
            else:
                self.say(documents.statement(self.rng, self.scene))

    def publishing(self) -> None:
        """How statements are published."""
        rules = ["nearest", "half-even", "down", "up", "consistent"]
        self.some(
            ("--rounding", self.rng.choice(rules)),
            ("--no-total",),
            ("--seed", str(self.rng.randrange(99))),
            ("--eps", self.rng.choice(["0.01", "0.005", "1/100"])),
            chance=0.08,
        )
        if any("]~" in word for word in self.case.words):
            self.some(("--count-rounding", self.rng.choice(rules[:-1])), chance=0.3)
            self.some(("--count-rounding", "random", "--seed", "3"), chance=0.1)

    def policy(self) -> None:
        """By which rules it is judged."""
        if self.maybe(0.2):
            profiles = ["acro", "ons-ls", "opensafely", "sdctable", "small-counts", "strict"]
            self.say("--policy", self.rng.choice(profiles))
        elif self.maybe(0.3):
            style = self.rng.choice(["toml", "yaml"])
            tree = documents.policy(self.rng, self.scene)
            self.say("--policy", self.add(File(f"house.{style}", tree=tree, style=style)))
        self.some(("--independent",))

    def knows(self) -> None:
        """What an intruder knows besides."""
        if self.maybe(0.2):
            tree = documents.knowledge(self.rng, self.scene)
            self.say("--knows", self.add(File("known.toml", tree=tree, style="toml")))

    def effort(self) -> None:
        """How long the work may take, and who shares it."""
        self.say("--seconds", self.rng.choice(["0.5", "1", "2", "2"]))
        if not self.maybe(0.02):
            self.say("--jobs", "1")
        self.some(("--memory", self.rng.choice(["1500MiB", "2GiB", "1GiB"])), chance=0.05)

    def state(self, kind: str) -> None:
        """A state to go on from, or a new one."""
        if self.document and self.asked and self.maybe(0.4):
            content = self.document.files[kind]
            self.say("--state", self.add(File("kept.state", content, lasting=True)))
        else:
            self.some(("--state", "new.state"), chance=0.1)

    def output(self, *styles: str, file: str = "out.txt") -> None:
        """How the answer is written, and where."""
        self.some(("--format", self.rng.choice(styles)), chance=0.6)
        self.some(("-o", file), chance=0.3)

    def ledger(self) -> str:
        """A ledger about the table; whether it keeps the table is up to chance."""
        assert self.document is not None
        kind = self.rng.choice(["ledger", "kept", "kept"])
        self.needed = kind == "ledger"
        return self.add(File("book.ledger", self.document.files[kind], lasting=True))

    def owned(self, *, always: bool = False) -> None:
        """The confidential table beside a ledger."""
        if always or self.needed or self.maybe(0.5):
            self.say("--table", self.table())
            self.reading(merged=False)

    def signed(self) -> None:
        """Who does it, and why."""
        self.say("--why", "request 17")
        self.some(("--who", "somebody"), chance=0.4)


def _published(draft: Draft) -> None:
    """A table, and what would be published of it."""
    draft.say(draft.table())
    draft.statements()
    draft.reading()
    draft.publishing()


def _judged(draft: Draft) -> None:
    """The same under a policy."""
    _published(draft)
    draft.policy()
    if "--merge" not in draft.case.words:
        draft.knows()
    draft.effort()


def _audit(draft: Draft) -> None:
    _judged(draft)
    draft.some(("--state", "new.state"), ("--certificate", "certificate.json"), ("--all",))
    draft.some(("--over", draft.name()))
    kind = draft.rng.choice(["html", "json", "csv", "xlsx"])
    if draft.maybe(0.3):
        draft.say("--report", f"report.{kind}")
        draft.some(("--public",), ("--key", draft.add(File("secret.key", b"0123456789abcdef"))))
    draft.output("table", "json", "csv", "html")


def _attack(draft: Draft) -> None:
    draft.say(draft.release())
    draft.effort()
    draft.state("question")
    name = draft.rng.choice(draft.scene.names)
    if "," not in name:
        draft.some(("--cell", f"{name}={draft.scene.levels[name][0]}"))
    else:
        draft.some(("--over", draft.name()))
    draft.some(("--certificate", "certificate.json"), ("--all",))
    draft.output("table", "json", "csv")


def _show(draft: Draft) -> None:
    draft.say(draft.table())
    name = draft.rng.choice(draft.scene.names)
    draft.some(
        ("--marks", draft.rng.choice(["c=hidden", ":=<5, blank=hidden", "x=1-4"])),
        ("--no-totals",),
        ("--totals", f"{name}={draft.scene.levels[name][-1]}"),
        ("--hierarchy", f"{name}=prefix"),
        ("--absent", "zero"),
        ("--base", "5"),
        ("--index", draft.rng.choice(["1", "2"])),
        ("--header", "1"),
        ("--release", "understood.toml"),
    )


def _about_tables(draft: Draft) -> None:
    """The beginning of all commands about the tables that fit."""
    if draft.maybe(0.5):
        draft.say(draft.release())
    else:
        _published(draft)


def _prior(draft: Draft) -> None:
    priors = ["uniform", "multinomial", "hypergeometric", "poisson:3", "gamma-poisson:2,4"]
    draft.some(("--prior", draft.rng.choice(priors)), chance=0.3)


def _count(draft: Draft) -> None:
    _about_tables(draft)
    draft.say("--effort", draft.rng.choice(["1e5", "1e6"]))
    draft.output("table", "json", "csv")


def _posterior(draft: Draft) -> None:
    _about_tables(draft)
    draft.say("--effort", draft.rng.choice(["1e5", "1e6"]), "--draws", "200")
    _prior(draft)
    draft.effort()
    draft.some(("--plot", draft.rng.choice(["plot.svg", "plot.png", "plot.html"])), chance=0.1)
    draft.output("table", "json", "csv")


def _sample(draft: Draft) -> None:
    _about_tables(draft)
    draft.say("--effort", draft.rng.choice(["1e5", "1e6"]), "--size", draft.rng.choice(["5", "50"]))
    _prior(draft)
    draft.effort()
    draft.some(
        ("--method", draft.rng.choice(["auto", "exact", "chain", "importance"])),
        ("--chains", "2"),
        ("--burn-in", "10"),
        ("--thin", "2"),
        ("--proposal", draft.rng.choice(["ordinary", "two-step"])),
        ("--moves", draft.rng.choice(["basic", "conditional", "lattice", "4ti2"])),
    )
    draft.output("table", "json", "csv")


def _synthesize(draft: Draft) -> None:
    _about_tables(draft)
    draft.say("-o", "made", "--effort", "1e6")
    _prior(draft)
    draft.effort()
    draft.some(("--copies", "2"), ("--compare",), ("--overwrite",), ("--digits", "1"))


def _suggest(draft: Draft) -> None:
    _judged(draft)
    draft.some(("--most", "3"), ("--changes", "1"), ("--save", "saved"), ("--over", draft.name()))
    draft.some(("--with-counts",))
    draft.output("table", "json", "csv")


def _protect(draft: Draft) -> None:
    draft.say(draft.table())
    names = draft.rng.sample(draft.scene.names, min(2, len(draft.scene.names)))
    plus = draft.rng.choice(["", "+"])
    draft.say(f"[{','.join(one + plus for one in names if ',' not in one) or draft.name()}]")
    draft.reading(merged=False)
    draft.policy()
    draft.effort()
    draft.some(
        ("--cost", "cells"),
        ("--keep", f"[{draft.name()}]"),
        ("--work", "2"),
        ("--no-total",),
        ("--public", "finished.csv"),
        ("--internal", "internal.csv"),
        ("--method", draft.rng.choice(["round", "intervals", "recode"])),
        ("--base", draft.rng.choice(["1", "3", "5", "1000"])),
        ("--widths", draft.rng.choice(["4", "5,10", "10,5", "x"])),
    )


def _compare(draft: Draft) -> None:
    draft.say(draft.table(), f"[{draft.name()}{draft.rng.choice(['', '+'])}]")
    draft.reading(merged=False)
    draft.policy()
    draft.effort()
    draft.some(("--method", "round"), ("--no-total",), ("--base", "3"), ("--widths", "5,10"))
    draft.output("table", "json", "csv")


def _explore(draft: Draft) -> None:
    draft.say(draft.table(), "--response", draft.name())
    draft.reading(merged=False)
    draft.policy()
    draft.effort()
    draft.state("search")
    draft.some(
        ("--given", draft.name()),
        ("--digits", draft.rng.choice(["1-2", "1", "2,3", "exact"])),
        ("--rounding", "down"),
        ("--eps", "0.01"),
        ("--no-total",),
        ("--with-counts",),
        ("--plot", draft.rng.choice(["plot.svg", "plot.html"])),
        ("--best", "best.toml"),
    )
    if draft.maybe():
        tree = documents.merging(draft.rng, draft.scene)
        file = draft.add(File("merges.toml", tree=tree, style="toml"))
        draft.say("--merge-levels", draft.rng.choice(["adjacent", file]))
    draft.output("table", "json", "csv")


def _margins(draft: Draft) -> None:
    draft.say(draft.table())
    draft.reading()
    draft.policy()
    draft.effort()
    if draft.maybe(0.3):
        draft.say("--way", draft.rng.choice(["1", "2"]))
    elif draft.maybe(0.3):
        draft.say("--margin", draft.name())
    elif draft.maybe(0.3):
        draft.say("--statement", documents.statement(draft.rng, draft.scene))
    draft.some(("--given", f"[{draft.name()}]"), ("--no-total",))
    draft.output("table", "json", "csv")


def _verify(draft: Draft) -> None:
    assert draft.document is not None
    content = draft.document.files["certificate"]
    draft.say(draft.add(File("certificate.json", content, style="json")), "--seconds", "1")
    draft.output("table", "json")


def _reproduce(draft: Draft) -> None:
    draft.output("table", "json", "csv")
    # The whole of it takes long: something that ends it early stands in almost every case.
    if not draft.maybe(0.05):
        draft.say(*draft.rng.choice([("-o", "missing/out.txt"), ("--figures",), ("--format", "x")]))
        draft.case.mutations.append("ended early")


def _init(draft: Draft) -> None:
    draft.say("new.ledger")
    draft.owned(always=True)
    draft.policy()
    draft.some(("--protect", draft.name()), ("--keep-table",), ("--who", "me"), ("--why", "trial"))
    draft.some(("--with-counts",))
    draft.say("--wait", "1")


def _question(draft: Draft, *, signed: bool) -> None:
    draft.say(draft.ledger())
    draft.say(documents.statement(draft.rng, draft.scene))
    draft.owned()
    draft.publishing()
    draft.effort()
    draft.say("--wait", "1")
    draft.some(("--version", "1"))
    if signed:
        draft.signed()


def _ask(draft: Draft) -> None:
    _question(draft, signed=False)
    draft.some(("--record",))
    draft.output("table", "json")


def _commit(draft: Draft) -> None:
    _question(draft, signed=True)
    draft.some(("--record",), ("--already-out",), ("--write", "out.toml"), chance=0.25)


def _refuse(draft: Draft) -> None:
    _question(draft, signed=True)


def _policy(draft: Draft) -> None:
    draft.say(draft.ledger())
    draft.policy()
    draft.some(("--protect", draft.name()), chance=0.3)
    draft.signed()
    draft.owned()
    draft.effort()
    draft.say("--wait", "1")
    draft.output("table", "json")


def _refine(draft: Draft) -> None:
    draft.say(draft.ledger())
    draft.signed()
    if draft.maybe(0.9):
        draft.scene, draft.document = draft.scene.refined("when"), None
    draft.owned(always=True)
    draft.effort()
    draft.say("--wait", "1")


def _grow(draft: Draft) -> None:
    draft.say(draft.ledger())
    if draft.maybe(0.9):
        draft.scene, draft.document = draft.scene.grown(), None
    draft.say(draft.table("later"))
    draft.reading(merged=False)
    draft.signed()
    draft.effort()
    draft.say("--wait", "1")


def _revise(draft: Draft) -> None:
    _grow(draft)
    draft.some(("--removed", draft.rng.choice(["0", "1-3"])), ("--added", "2"), chance=0.4)


def _history(draft: Draft) -> None:
    draft.say(draft.ledger(), "--wait", "1", "--seconds", "1")
    if draft.maybe(0.4):
        draft.say("--format", "html")
        draft.some(("--public",))
        draft.owned()
    else:
        draft.output("table", "json", "csv")


def _export(draft: Draft) -> None:
    draft.say(draft.ledger(), "--wait", "1")
    draft.some(("--internal",), ("-o", "out.json"), chance=0.4)


def _frontier(draft: Draft) -> None:
    draft.say(draft.ledger())
    if draft.maybe(0.5):
        draft.say(documents.statement(draft.rng, draft.scene))
    draft.owned()
    draft.some(("--way", "1"), ("--digits", "1"), ("--no-total",), ("--sets",), chance=0.2)
    draft.effort()
    draft.say("--wait", "1")
    draft.output("table", "json")


def _check(draft: Draft) -> None:
    draft.say(draft.ledger(), "--wait", "1")
    draft.some(("--head", "0" * 64), ("--entries", "2"), ("--format", "json"), chance=0.3)


def _example(draft: Draft) -> None:
    draft.say(*draft.rng.sample(["koch4", "published", "sparse5", "survey", "nothing"], 2))
    draft.some(("-o", "folder/below"), ("-o", "table.csv"), ("--overwrite",), chance=0.4)


def _nothing(draft: Draft) -> None:
    draft.some(("--version",), ("--help",), ("audit", "--help"), ("ledger",), chance=0.3)


COMMANDS: dict[str, tuple[int, Callable[[Draft], None]]] = {
    "audit": (20, _audit),
    "attack": (16, _attack),
    "show": (6, _show),
    "count": (6, _count),
    "posterior": (6, _posterior),
    "sample": (6, _sample),
    "synthesize": (6, _synthesize),
    "suggest": (5, _suggest),
    "protect": (5, _protect),
    "compare": (2, _compare),
    "explore": (6, _explore),
    "margins": (5, _margins),
    "verify": (7, _verify),
    "reproduce": (1, _reproduce),
    "ledger init": (3, _init),
    "ledger ask": (3, _ask),
    "ledger commit": (3, _commit),
    "ledger refuse": (2, _refuse),
    "ledger policy": (2, _policy),
    "ledger refine": (2, _refine),
    "ledger grow": (2, _grow),
    "ledger revise": (2, _revise),
    "ledger history": (2, _history),
    "ledger export": (2, _export),
    "ledger frontier": (2, _frontier),
    "ledger verify": (2, _check),
    "example": (2, _example),
    "": (1, _nothing),
}
"""How often each command is tried, and how a valid invocation of it is made."""

LASTING = {"verify", *(name for name in COMMANDS if name.startswith("ledger"))}
"""Commands about what only the program can make."""


def invocation(rng: Random, case: Case, corpus: Sequence[Document]) -> Scene:
    """Make a valid invocation of some command; the table that it is about."""
    names = [name for name in COMMANDS if name in {*command_names(), ""}]
    case.command = rng.choices(names, [COMMANDS[name][0] for name in names])[0]
    case.words = case.command.split()
    draft = Draft(rng, case, corpus)
    COMMANDS[case.command][1](draft)
    return draft.scene
