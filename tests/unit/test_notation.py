"""The notation of statements."""

from __future__ import annotations

import pytest

import cellbounds as cb
from cellbounds.statements.notation import Request, names_text, parse


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("[A]", Request(("A",), None, None)),
        ("[A,B]", Request(("A", "B"), None, None)),
        (" [ A , B ] ", Request(("A", "B"), None, None)),
        ("[Y|A]", Request(("Y",), ("A",), None)),
        ("[Y,Z|A,B]@3", Request(("Y", "Z"), ("A", "B"), 3)),
        ("[Y|A]@0", Request(("Y",), ("A",), 0)),
        ("[Y|A] @ 2", Request(("Y",), ("A",), 2)),
        ("[Y|]@2", Request(("Y",), (), 2)),
        ("[marital status|age group]", Request(("marital status",), ("age group",), None)),
        ("[Año|Größe]@1", Request(("Año",), ("Größe",), 1)),
        ('["age, years"]', Request(("age, years",), None, None)),
        ('["a|b"|"c]"]@2', Request(("a|b",), ("c]",), 2)),
        ('["say ""hi"""]', Request(('say "hi"',), None, None)),
        ('[" padded "]', Request((" padded ",), None, None)),
        ("N", Request((), None, None)),
        (" N ", Request((), None, None)),
        ("[N]", Request(("N",), None, None)),
        ("[A,B|]@2", Request(("A", "B"), (), 2)),
        ("[A,B|]", Request(("A", "B"), (), None)),
        ("[A,B]~5", Request(("A", "B"), None, None, base=5)),
        (" [ A , B ] ~ 5 ", Request(("A", "B"), None, None, base=5)),
        ("[A]~1000000000000000000000", Request(("A",), None, None, base=10**21)),
        ("[A,B]<5", Request(("A", "B"), None, None, below=5)),
        ("[A] < 2", Request(("A",), None, None, below=2)),
        ('["<55","a~b"]<5', Request(("<55", "a~b"), None, None, below=5)),
        ("[a>b]", Request(("a>b",), None, None)),
    ],
)
def test_statements(text, meant):
    assert parse(text) == meant


def test_kinds():
    assert parse("N").is_total
    assert parse("[A]").is_margin
    assert not parse("[Y|A]").is_margin
    assert not parse("[Y|]").is_margin
    assert parse("[A]~5").is_margin
    assert parse("[A]<5").is_margin


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "begin with '\\['"),
        ("education|county", "begin with '\\['"),
        ("n", "begin with '\\['"),
        ("[]", "names no variable"),
        ("[|A]", "names no variable"),
        ("[Y|A", "'\\]' is missing"),
        ("[Y", "'\\]' is missing"),
        ("[", "'\\]' is missing"),
        ("[Y|A|B]", "'\\]' is missing"),
        ("[A,]", "name is missing"),
        ("[,A]", "name is missing"),
        ("[Y|A]2", "only '@'"),
        ("[Y|A]@", "only '@'"),
        ("[Y|A]@x", "only '@'"),
        ("[Y|A]@-1", "only '@'"),
        ("[Y|A]@1.5", "only '@'"),
        ("[Y|A]@2@3", "only '@'"),
        ("[Y|A][B]", "only '@'"),
        ('["Y|A]', "quote is not closed"),
        ('["Y" Z]', "comma is missing"),
        ("[A]@2", "margins are published as counts"),
        ("[Y|A]~5", "'~' belongs to margins"),
        ("[Y|]<5", "'<' belongs to margins"),
        ("[A]~1", "base of 2 or more"),
        ("[A]~0", "base of 2 or more"),
        ("[A]<1", "'<1' hides nothing"),
        ("[A]<0", "'<0' hides nothing"),
        ("[A]~", "only '@'"),
        ("[A]<", "only '@'"),
        ("[A]<=5", "only '@'"),
        ("[A]~-5", "only '@'"),
        ("[A]~2.5", "only '@'"),
        ("[A]~٣", "only '@'"),
        ("[A]~5<3", "only '@'"),
        ("[A]~5@2", "only '@'"),
        ("[A]5", "only '@'"),
        ("[A]" + "~" + "9" * 1001, "too long"),
        ("[<55]", "double quotes"),
        ("[age<55]", "double quotes"),
        ("[Y|a~b]", "double quotes"),
        ("[a@b]", "double quotes"),
    ],
)
def test_what_cannot_be_read_says_what_to_write(text, said):
    with pytest.raises(cb.InvalidInput, match=said) as caught:
        parse(text)
    shown = repr(text) if len(text) <= 80 else repr(text)[:40]  # longer values are cut
    assert shown in str(caught.value)


@pytest.mark.parametrize(
    "name",
    [
        "A",
        "age, years",
        "a|b",
        'say "hi"',
        " padded ",
        "a@b",
        "[x]",
        "back\\slash",
        "é",
        "<55",
        "a~b",
        ">5",
        "x<5",
    ],
)
def test_notation_round_trips(name):
    assert parse(f"[{names_text([name])}|{names_text([name, 'B'])}]@2") == Request(
        (name,), (name, "B"), 2
    )


def test_notation_of_statements_can_be_parsed():
    statement = cb.Conditional(["a,b", "c"], ["d e"], rates=[[["0.25", "0.75"]]])
    assert parse(statement.notation) == Request(("a,b", "c"), ("d e",), 2)


@pytest.mark.parametrize("name", ["A", "<55", "a~5", "x]<5"])
def test_notation_of_margins_can_be_parsed(name):
    rounded = cb.Margin([name, "B"], [[5, 10]], base=5)
    assert parse(rounded.notation) == Request((name, "B"), None, None, base=5)
    hidden = cb.Margin([name, "B"], [["<5", 10]])
    assert parse(hidden.notation) == Request((name, "B"), None, None, below=5)
