"""Where a release falls apart, and where it must not."""

from __future__ import annotations

import numpy as np
import pytest

import cellbounds as cb
from cellbounds.model.structure import Leaf, Split, split_release

TWO = ["0", "1"]


def margin(names, counts=None):
    counts = np.full([2] * len(names), 4) if counts is None else counts
    return cb.Margin(list(names), counts)


def loose(names):
    entries = np.full([2] * len(names), 4, dtype=object)
    entries.flat[0] = "3-5"
    return cb.Margin(list(names), entries.tolist())


def rates(response, given):
    return cb.Conditional([response], list(given), rates=np.full([2] * (len(given) + 1), "1/2"))


def tree_of(*statements, variables=None, groupings=None):
    used = variables or sorted(
        {name for one in statements if not isinstance(one, cb.Total) for name in one.variables}
    )
    domain = cb.Domain(dict.fromkeys(used, TWO), groupings=groupings or {})
    return split_release(cb.Release(domain, statements))


def leaves(tree):
    if isinstance(tree, Leaf):
        return [tree]
    return leaves(tree.left) + leaves(tree.right)


def borders(tree):
    if isinstance(tree, Leaf):
        return []
    return [tree.border, *borders(tree.left), *borders(tree.right)]


def parts(tree):
    """The parts that lie in no other part."""
    found = {leaf.variables for leaf in leaves(tree)}
    largest = [one for one in found if not any(one < other for other in found)]
    return sorted("".join(sorted(one)) for one in largest)


def cuts(tree):
    return sorted("".join(sorted(border.variables)) for border in borders(tree))


def check(tree, statements):
    """What holds of every tree: running intersection, no statement lost, known borders."""
    for split in all_splits(tree):
        assert split.left.variables & split.right.variables == split.border.variables
        assert split.left.variables < split.variables
        assert split.right.variables < split.variables
    for border in [*borders(tree), *(b for leaf in leaves(tree) for b in leaf.borders)]:
        said = statements[border.place]
        if isinstance(said, cb.Total):
            assert said.exact is not None
            assert not border.variables
        else:
            assert said.exact
            assert border.variables <= set(said.variables)
    seen = {place for leaf in leaves(tree) for place in leaf.statements}
    assert seen == {k for k, one in enumerate(statements) if not isinstance(one, cb.Total)}


def all_splits(tree):
    if isinstance(tree, Split):
        yield tree
        yield from all_splits(tree.left)
        yield from all_splits(tree.right)


SHAPES = {
    "Fréchet": (["ab", "bc"], ["ab", "bc"], ["b"]),
    "independent": (["a", "b"], ["a", "b"], [""]),
    "chain": (["ab", "bc", "cd", "de"], ["ab", "bc", "cd", "de"], ["b", "c", "d"]),
    "star": (["ab", "ac", "ad", "ae"], ["ab", "ac", "ad", "ae"], ["a", "a", "a"]),
    "triangle": (["ab", "bc", "ac"], ["abc"], []),
    "covered triangle": (["ab", "bc", "ac", "abc"], ["abc"], []),
    "4-cycle": (["ab", "bc", "cd", "ad"], ["abcd"], []),
    "4-cycle and a pendant clique": (["ab", "bc", "cd", "ad", "aef"], ["abcd", "aef"], ["a"]),
    "triangle and a pendant edge": (["ab", "bc", "ac", "cd"], ["abc", "cd"], ["c"]),
    "two triangles at one vertex": (
        ["ab", "bc", "ac", "cd", "de", "ce"],
        ["abc", "cde"],
        ["c"],
    ),
    "two triangles at an edge": (["ab", "bc", "ac", "bd", "cd"], ["abc", "bcd"], ["bc"]),
    "separator inside larger margins": (["abc", "bcd"], ["abc", "bcd"], ["bc"]),
    "one margin inside another": (["ab", "b", "bc"], ["ab", "bc"], ["b"]),
}


@pytest.mark.parametrize("name", SHAPES)
def test_shapes(name):
    said, expected, separators = SHAPES[name]
    statements = [margin(one) for one in said]
    for order in (statements, statements[::-1]):
        tree = tree_of(*order)
        check(tree, order)
        assert parts(tree) == sorted(expected)
        if len(leaves(tree)) == len(expected):
            assert cuts(tree) == sorted(separators)
        else:
            assert set(separators) < set(cuts(tree))


def test_published_parts_are_known_and_others_are_not():
    tree = tree_of(*map(margin, ["ab", "bc", "cd", "ad", "aef"]))
    by_name = {"".join(sorted(leaf.variables)): leaf for leaf in leaves(tree)}
    assert by_name["abcd"].known is None
    assert by_name["aef"].known.place == 4
    assert by_name["abcd"].statements == (0, 1, 2, 3)


def test_statements_within_a_part_go_to_every_part_that_holds_them():
    tree = tree_of(margin("ab"), margin("b"), margin("bc"))
    assert sorted(leaf.statements for leaf in leaves(tree)) == [(0, 1), (1, 2)]


def test_loose_margins_do_not_separate():
    assert parts(tree_of(loose("ab"), loose("bc"))) == ["abc"]
    # An exact margin over the border does, whoever publishes it.
    tree = tree_of(loose("ab"), loose("bc"), margin("b"))
    assert parts(tree) == ["ab", "bc"]
    # ... and one exact side is enough, as it holds the border.
    tree = tree_of(margin("ab"), loose("bc"))
    assert parts(tree) == ["ab", "bc"]
    assert cuts(tree) == ["b"]
    (part,) = [leaf for leaf in leaves(tree) if leaf.known is None]
    assert part.variables == {"b", "c"}
    assert [(set(one.variables), one.place) for one in part.borders] == [({"b"}, 0)]


def test_every_statement_connects():
    for between in (
        cb.Known(["a", "c"], upper=3),
        rates("a", "c"),
        cb.Linear(["a", "c"], [[1, 0], [0, 1]], upper=3),
        loose("ac"),
    ):
        tree = tree_of(margin("ab"), margin("bc"), between)
        assert parts(tree) == ["abc"]


def test_priors_and_rates_inside_parts():
    statements = [margin("ab"), rates("d", "b"), cb.Known(["b", "d"], upper=5), margin("ce")]
    tree = tree_of(*statements)
    check(tree, statements)
    assert parts(tree) == ["ab", "bd", "ce"]
    (part,) = [leaf for leaf in leaves(tree) if leaf.variables == {"b", "d"}]
    assert part.known is None
    assert part.statements == (1, 2)
    assert frozenset("b") in {one.variables for one in part.borders}


def test_borders_connect_what_is_left():
    """A known border is handed to the parts below, so it may not be cut through there."""
    statements = [margin("abc"), loose("bd"), loose("cd"), loose("ae")]
    tree = tree_of(*statements)
    check(tree, statements)
    assert parts(tree) == ["abc", "ae", "bcd"]
    (part,) = [leaf for leaf in leaves(tree) if leaf.variables == set("bcd")]
    assert frozenset("bc") in {one.variables for one in part.borders}


def test_a_border_is_not_cut_through():
    """The sums over b and c together are known from [a,b,c]; a cut at d would lose them."""
    statements = [margin("abc"), loose("bd"), loose("ce"), loose("de"), margin("d")]
    tree = tree_of(*statements)
    check(tree, statements)
    assert parts(tree) == ["abc", "bcde"]
    assert parts(tree_of(*statements[1:], margin("b"), margin("c"))) == ["bd", "cde"]


def test_the_total_is_the_border_of_what_shares_nothing():
    tree = tree_of(loose("ab"), loose("cd"), cb.Total(16))
    assert parts(tree) == ["ab", "cd"]
    assert cuts(tree) == [""]
    assert borders(tree)[0].place == 2
    assert parts(tree_of(loose("ab"), loose("cd"))) == ["abcd"]
    assert parts(tree_of(loose("ab"), loose("cd"), cb.Total(lower=3, upper=16))) == ["abcd"]
    assert parts(tree_of(loose("ab"), loose("cd"), cb.Total(lower=16, upper=16))) == ["ab", "cd"]


def test_derived_variables_speak_of_their_base_and_do_not_separate():
    groupings = {"g": cb.Grouping("b", {"x": ["0"], "y": ["1"]})}
    domain = cb.Domain(dict.fromkeys("abc", TWO), groupings=groupings)
    assert margin("ga").base_variables(domain) == {"a", "b"}
    assert cb.Total(3).base_variables(domain) == frozenset()
    assert parts(tree_of(margin("ag"), margin("gc"), groupings=groupings, variables="abc")) == [
        "abc"
    ]
    tree = tree_of(margin("ag"), margin("bc"), groupings=groupings, variables="abc")
    assert parts(tree) == ["ab", "bc"]
    known = {"".join(sorted(leaf.variables)): leaf.known for leaf in leaves(tree)}
    assert known["ab"] is None
    assert known["bc"].place == 1


def test_variables_that_nothing_is_said_about_are_in_no_part():
    tree = tree_of(margin("ab"), variables="abxy")
    assert isinstance(tree, Leaf)
    assert tree.variables == {"a", "b"}
    assert tree.known is not None
    nothing = tree_of(cb.Total(5), variables="ab")
    assert isinstance(nothing, Leaf)
    assert nothing.variables == frozenset()
    assert nothing.known.place == 0
    silent = tree_of(variables="ab")
    assert silent == Leaf(frozenset(), (), None)


def test_random_sets_of_statements():
    rng = np.random.default_rng(5)
    for _ in range(200):
        said = []
        for _ in range(int(rng.integers(1, 6))):
            names = sorted(rng.choice(list("abcdef"), size=int(rng.integers(1, 4)), replace=False))
            said.append((margin if rng.random() < 0.7 else loose)("".join(names)))
        if rng.random() < 0.5:
            said.append(cb.Total(9))
        tree = tree_of(*said)
        check(tree, said)
        # Parts that are left cannot be cut at any exact margin inside them.
        for leaf in leaves(tree):
            assert leaf.known is not None or not cuttable(leaf, said)


def cuttable(leaf, said):
    """Whether some exact margin inside a part separates two of its variables."""
    edges = [set(said[k].variables) for k in leaf.statements]
    edges += [set(one.variables) for one in leaf.borders]
    exact = [edge for k, edge in zip(leaf.statements, edges, strict=False) if said[k].exact]
    exact += [set(one.variables) for one in leaf.borders]
    for inner in exact:
        left = set(leaf.variables) - inner
        if not left:
            continue
        grown = {min(left)}
        for _ in leaf.variables:
            for edge in edges:
                if edge & grown:
                    grown |= edge & left
        if grown != left:
            return True
        near = set().union(*(edge for edge in edges if edge & grown))
        if grown | (near & inner) != set(leaf.variables):
            return True
    return False
