"""Which statements may be released together."""

from __future__ import annotations

import csv
import io
import itertools
import json
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from importlib import resources
from multiprocessing import get_context

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cellbounds import (
    Domain,
    InvalidInput,
    Known,
    Release,
    Table,
    TooMuchWork,
    datasets,
    judge,
    publish,
)
from cellbounds.disclosure.policies import (
    GroupDisclosure,
    Outcome,
    Policy,
    PosteriorChance,
    SmallCounts,
)
from cellbounds.disclosure.safe_sets import safe_margins
from cellbounds.disclosure.safe_sets.candidates import Candidates, spoken_candidates
from cellbounds.disclosure.safe_sets.move_proofs import safe_by_moves
from cellbounds.disclosure.safe_sets.set_search import closed_sets, search
from cellbounds.runtime.budget import Budget
from cellbounds.utility import fit_loglinear

ZEROS = Policy("zeros", rules=[SmallCounts(at_most=3, values=2)])
"""Zeros are small too."""

WIDE = Policy("wide", rules=[SmallCounts(at_most=3, width=5)])


@pytest.fixture
def koch():
    return datasets.read("koch4")


@pytest.fixture
def cube():
    domain = Domain({"a": [0, 1], "b": [0, 1], "c": [0, 1]})
    return Table(domain, [[[3, 1], [2, 0]], [[5, 4], [0, 7]]])


@pytest.fixture
def twisted():
    """All two-way margins give it away, any two of them do not."""
    domain = Domain({"a": [0, 1], "b": [0, 1], "c": [0, 1]})
    return Table(domain, [[[0, 5], [6, 9]], [[7, 8], [11, 0]]])


# The largest safe sets.


def test_of_margins_that_are_safe_in_pairs(twisted):
    found = safe_margins(twisted, margins=2, policy=ZEROS)
    assert found.maximal == (("[a,b]", "[a,c]"), ("[a,b]", "[b,c]"), ("[a,c]", "[b,c]"))
    assert found.minimal_unsafe == (("[a,b]", "[a,c]", "[b,c]"),)
    assert found.never == ()


def test_of_all_margins(koch):
    found = safe_margins(koch)
    assert found.complete
    assert found.maximal == (
        (
            "[center,status,treatment]",
            "[center,status,recovery]",
            "[status,treatment,recovery]",
        ),
    )
    assert found.minimal_unsafe == (("[center,treatment,recovery]",),)
    assert found.never == ("[center,treatment,recovery]", "[center,status,treatment,recovery]")
    assert len(found.candidates) == 15
    assert found.judgements < 15


def test_every_listed_set_is_judged_again(koch):
    for policy in ("small-counts", "acro", "ons-ls", WIDE):
        found = safe_margins(koch, policy=policy)
        assert found.complete
        for one in found.safe:
            assert judge(koch, publish(koch, *one.statements), policy).safe
        for one in found.unsafe:
            again = judge(koch, publish(koch, *one.statements), policy)
            assert again.outcome is Outcome.UNSAFE


def test_a_table_without_small_counts_may_be_released_whole():
    found = safe_margins(datasets.read("mp3"))
    assert found.maximal == (("[gender,mp3]",),)
    assert found.judgements == 1
    assert not found.unsafe
    assert found.best.utility == 1


def test_of_margins_of_some_variables(koch):
    found = safe_margins(koch, margins=3)
    assert len(found.candidates) == 4
    assert found.never == ("[center,treatment,recovery]",)


def test_of_listed_margins(koch):
    found = safe_margins(koch, margins=[["recovery"], ("status", "center"), ["center", "status"]])
    assert found.candidates == ("[recovery]", "[status,center]")
    assert found.maximal == (("[recovery]", "[status,center]"),)


def test_what_is_out_already_counts(koch):
    out = publish(koch, "[center,status,treatment]", "[center,treatment,recovery]")
    found = safe_margins(koch, given=out, policy=WIDE)
    assert found.minimal_unsafe == ((),)  # unsafe whatever is added
    assert found.maximal == ()
    assert found.best is None
    out = publish(koch, "[center,status,treatment]")
    found = safe_margins(koch, given=out, margins=2, policy=WIDE)
    # What follows from what is out is not named again.
    assert found.maximal == (("[center,recovery]", "[status,recovery]", "[treatment,recovery]"),)
    assert found.given == ("[center,status,treatment]", "N=193")


def test_other_statements_are_candidates_too(cube):
    texts = ["[a,b]~3", "[c|a]@1", "[b]<4", "[a,b,c]", " [a]"]
    found = safe_margins(cube, statements=texts, policy=WIDE)
    assert found.candidates == ("[a,b]~3", "[c|a]@1", "[b]<4", "[a,b,c]", "[a]")
    assert "[a,b,c]" in found.never
    assert found.complete
    assert all(one.utility is None for one in found.safe if "[c|a]@1" in one.statements)


def test_a_margin_without_hidden_counts_keeps_its_name(cube):
    found = safe_margins(cube, statements=["[a]<2", "[a]"])
    assert found.candidates == ("[a]<2", "[a]")
    assert found.maximal == (("[a]<2", "[a]"),)


def test_the_statements_of_a_release_are_candidates(koch):
    made = publish(koch, "[recovery|center]@1", "[status]", rounding="consistent")
    found = safe_margins(koch, statements=made)
    assert found.candidates == ("[recovery|center]@1", "[status]")


def test_the_total_may_be_a_candidate_and_follows_from_margins(cube):
    found = safe_margins(cube, statements=["N", "[a]"], total=False)
    assert found.given == ()
    assert found.maximal == (("[a]",),)
    assert found.safe[0].size == 2
    assert safe_margins(cube, statements=["N", "[a]"]).safe[0].size == 1


def test_derived_variables_may_be_named():
    children = datasets.read("delinquent").grouped(
        "region", of="county", levels={"west": ["Alpha", "Beta"], "east": ["Gamma", "Delta"]}
    )
    found = safe_margins(children, statements=["[region,education]", "[county,education]"])
    assert found.maximal == (("[region,education]",),)
    assert found.safe[0].utility is None
    plain = datasets.read("delinquent")
    out = publish(children, "[region]")
    assert safe_margins(plain, given=out, statements=["[region,education]"]).safe[0].proven


def test_structural_zeros_are_known_to_all(cube):
    empty = Table(cube.domain, cube.counts, structural=cube.counts == 0)
    assert safe_margins(empty, margins=2).complete
    assert safe_margins(empty, margins=2, given=publish(empty, "[a]")).complete


def test_nothing_is_safe_but_nothing(cube):
    strict = Policy("p", rules=[SmallCounts(at_most=3, width=20)])
    found = safe_margins(cube, policy=strict, margins=2)
    assert found.maximal == ((),)
    assert found.never == found.candidates
    assert str(found.best) == "(nothing more)"


# Utility.


def test_utility_is_the_association_that_is_told(koch):
    singles = [(name,) for name in koch.domain.names]
    base = fit_loglinear(koch, singles).g
    found = safe_margins(koch, policy=WIDE)
    told = [name[1:-1].split(",") for name in found.best.statements]
    assert found.best.utility == pytest.approx(1 - fit_loglinear(koch, told).g / base)
    assert safe_margins(koch, margins=1).best.utility == pytest.approx(0, abs=1e-12)


def test_the_best_set_has_the_highest_utility(twisted):
    found = safe_margins(twisted, policy=ZEROS)
    assert len({one.utility for one in found.safe}) == 3
    assert found.best.utility == max(one.utility for one in found.safe)
    assert str(found).count("best") == 1


def test_without_the_true_counts_nothing_depends_on_them(koch):
    found = safe_margins(koch, margins=2, independent=True)
    assert found.warning == ""
    assert found.best.utility is None
    assert "every consistent table passes" in str(found)
    assert safe_margins(koch, margins=2).warning


def test_no_association_has_no_utility():
    domain = Domain({"a": [0, 1], "b": [0, 1]})
    assert safe_margins(Table(domain, [[5, 5], [5, 5]])).best.utility is None
    assert safe_margins(Table(domain, [[0, 0], [0, 0]])).complete
    assert safe_margins(Table(Domain({"a": [0, 1]}), [5, 6])).best.utility is None


# The search.


@dataclass(frozen=True)
class Oracle:
    """Outcomes by a table, in the place of judging."""

    candidates: Candidates
    outcomes: dict[int, Outcome]

    def __call__(self, chosen, _):
        return self.outcomes[chosen]


LATTICE = Table(Domain({name: [0, 1] for name in "abcd"}), [[[[1] * 2] * 2] * 2] * 2)
MARGINS = spoken_candidates(
    LATTICE,
    [f"[{','.join(some)}]" for size in (1, 2, 3) for some in itertools.combinations("abcd", size)],
)


@st.composite
def oracles(draw):
    chosen = draw(st.lists(st.sampled_from(MARGINS), min_size=1, max_size=6, unique=True))
    candidates = Candidates.of(LATTICE.domain, [], chosen)
    sets = closed_sets(candidates)
    unsafe = draw(st.lists(st.sampled_from(sets), max_size=3))
    vague = draw(st.sets(st.sampled_from(sets), max_size=3))
    outcomes = {}
    for one in sets:
        broken = any(wrong | one == one for wrong in unsafe)
        known = Outcome.UNSAFE if broken else Outcome.SAFE
        outcomes[one] = Outcome.UNDECIDED if one in vague else known
    return Oracle(candidates, outcomes)


def check_effort(oracle, known, alone):
    """Few sets are judged if all are decided."""
    candidates = oracle.candidates
    widest = max((len(candidates.least(one)) for one in known.unsafe), default=0)
    log = (len(candidates) - 1).bit_length()
    most = len(known.safe) + 1 + len(known.unsafe) * (1 + widest * (1 + log))
    assert len(known.judged) <= len(oracle.outcomes)
    if alone and Outcome.UNDECIDED not in oracle.outcomes.values():
        assert len(known.judged) <= most


@given(oracles(), st.booleans())
def test_the_search_knows_all_that_can_be_known(oracle, threads):
    if threads:
        with ThreadPoolExecutor(2) as executor:
            known = search(oracle, Budget(workers=executor))
    else:
        known = search(oracle, Budget())
    assert known.finished
    check_effort(oracle, known, alone=not threads)
    said = oracle.outcomes
    for one, outcome in said.items():
        safe = any(one | o == o for o in said if said[o] is Outcome.SAFE)
        unsafe = any(one | o == one for o in said if said[o] is Outcome.UNSAFE)
        if outcome is not Outcome.UNDECIDED:
            assert known.outcome(one) is outcome
        elif safe or unsafe:
            assert known.outcome(one) in (Outcome.UNDECIDED, Outcome.SAFE, Outcome.UNSAFE)
            assert safe or known.outcome(one) is not Outcome.SAFE
            assert unsafe or known.outcome(one) is not Outcome.UNSAFE
        else:
            assert known.outcome(one) is Outcome.UNDECIDED


class Threads(ThreadPoolExecutor):
    """Workers that count what they are given."""

    given = 0

    def submit(self, *arguments, **options):
        self.given += 1
        return super().submit(*arguments, **options)


def test_workers_find_the_same():
    table = Table(Domain({"a": ["x", "y", "z"]}), [1, 3, 9])
    options = {"statements": [f"[a]~{base}" for base in range(2, 8)]}
    alone = safe_margins(table, **options).to_dict()
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        shared = safe_margins(table, **options, budget=Budget(workers=processes)).to_dict()
    with Threads(2) as workers:
        threads = safe_margins(table, **options, budget=Budget(workers=workers)).to_dict()
    assert workers.given
    for found in (alone, shared, threads):
        del found["seconds"]
    assert alone == shared == threads
    assert len(alone["safe"]) > 1


def test_every_set_is_judged_under_other_rules(cube):
    policy = Policy("p", rules=[PosteriorChance(at_most=1, probability="0.6")])
    calls = []
    found = safe_margins(
        cube, margins=2, policy=policy, budget=Budget(progress=lambda *step: calls.append(step))
    )
    assert found.judgements == 8
    assert "posterior" in found.notes[0]
    assert calls[0] == (0, 8)
    with ThreadPoolExecutor(2) as executor:
        shared = safe_margins(cube, margins=2, policy=policy, budget=Budget(workers=executor))
    assert shared.safe == found.safe


def test_too_many_sets_are_refused(koch):
    policy = Policy("p", rules=[PosteriorChance(at_most=1, probability="0.6")])
    texts = [f"[center,status]~{base}" for base in range(2, 15)]
    with pytest.raises(TooMuchWork, match="13 candidates make more than 4096 sets"):
        safe_margins(koch, statements=texts, policy=policy)


def test_a_spent_budget_claims_nothing(koch):
    found = safe_margins(koch, seconds=1e-9)
    assert not found.complete
    assert found.maximal == ()
    assert found.judgements == 0
    assert "not everything is known" in str(found)
    policy = Policy("p", rules=[PosteriorChance(at_most=1, probability="0.6")])
    assert not safe_margins(koch, margins=3, policy=policy, seconds=1e-9).complete


def test_what_could_not_be_decided_is_said(koch, monkeypatch):
    from cellbounds.disclosure.safe_sets import set_search

    whole = safe_margins(koch, margins=2)
    monkeypatch.setattr(set_search.SetJudge, "__call__", lambda *_: Outcome.UNDECIDED)
    found = safe_margins(koch, margins=2)
    assert not found.complete
    assert found.undecided[0] == whole.maximal[0]
    assert not found.safe
    assert not found.unsafe


def test_where_every_set_is_judged_an_undecided_one_proves_nothing(cube, monkeypatch):
    from cellbounds.disclosure.safe_sets import set_search

    policy = Policy("p", rules=[PosteriorChance(at_most=1, probability="0.6")])
    outcomes = {0b11: Outcome.UNDECIDED, 0b01: Outcome.SAFE, 0b10: Outcome.UNSAFE}
    monkeypatch.setattr(
        set_search.SetJudge, "__call__", lambda _, one, __: outcomes.get(one, Outcome.UNDECIDED)
    )
    found = safe_margins(cube, margins=[["a"], ["b"]], policy=policy)
    assert found.undecided == (("[a]", "[b]"), ())
    assert [one.statements for one in found.safe] == [("[a]",)]
    assert [one.statements for one in found.unsafe] == [("[b]",)]
    assert found.maximal == found.minimal_unsafe == ()
    assert not found.complete


def test_progress_is_told(koch):
    calls = []
    found = safe_margins(
        koch, policy="acro", budget=Budget(progress=lambda *step: calls.append(step))
    )
    assert calls == [(done, done + 1) for done in range(found.judgements)]


# Moves as proofs.


def test_moves_prove_what_they_can(koch):
    release = publish(koch, "[center,status]", "[recovery]")
    assert safe_by_moves(release, koch, WIDE, Budget())
    assert not safe_by_moves(publish(koch, "[center,status,recovery]"), koch, WIDE, Budget())
    everything = publish(koch, f"[{','.join(koch.domain.names)}]")
    assert not safe_by_moves(everything, koch, WIDE, Budget())


def test_moves_prove_nothing_where_cells_are_bounded_or_somebody_is_inside(koch):
    release = publish(koch, "[recovery]")
    bounded = Release(koch.domain, [*release.statements, Known(koch.domain.names, lower=0)])
    assert safe_by_moves(bounded, koch, WIDE, Budget())
    limit = Known(koch.domain.names, upper=int(koch.counts.max()))
    bounded = Release(koch.domain, [*release.statements, limit])
    assert not safe_by_moves(bounded, koch, WIDE, Budget())
    inside = Policy("p", rules=WIDE.rules, respondent=True)
    assert not safe_by_moves(release, koch, inside, Budget())
    assert not safe_by_moves(
        release, koch, Policy("p", rules=[PosteriorChance(at_most=1, probability="0.9")]), Budget()
    )


def test_moves_tell_groups_apart():
    table = Table(Domain({"a": [0, 1], "b": [0, 1, 2]}), [[3, 4, 0], [5, 6, 0]])
    release = publish(table, "[b]")
    policy = Policy("p", rules=[GroupDisclosure()])
    assert safe_by_moves(release, table, policy, Budget())
    policy = Policy("p", rules=[GroupDisclosure(not_in=True)])
    assert not safe_by_moves(release, table, policy, Budget())
    assert safe_by_moves(publish(table, "[a]"), table, policy, Budget())


# What a person sees.


def schema():
    file = resources.files("cellbounds.report") / "schemas" / "safe-sets-1.schema.json"
    return json.loads(file.read_text("utf-8"))


def test_plain_values_fit_the_schema(koch):
    validator = jsonschema.Draft202012Validator(schema())
    validator.check_schema(schema())
    for found in (
        safe_margins(koch),
        safe_margins(koch, seconds=1e-9),
        safe_margins(koch, margins=1, independent=True),
    ):
        said = found.to_dict()
        validator.validate(json.loads(json.dumps(said)))
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(said | {"counts": [1]})


def test_frames(koch):
    frame = safe_margins(koch).to_frame("pandas")
    assert frame["outcome"].tolist() == ["safe", "unsafe"]
    assert frame["statements"][1] == "[center,treatment,recovery]"
    assert frame["best"].tolist() == [True, False]


def test_text(koch):
    found = safe_margins(koch)
    said = str(found).splitlines()
    assert said[0] == "1 largest safe set of 15 candidates under the policy small-counts"
    assert "out already: N=193" in said[1]
    assert said[-1].startswith("which sets are safe depends on the confidential counts")
    assert repr(found) == f"<{said[0]}>"
    assert "0.8" not in repr(found)


def test_names_are_escaped():
    domain = Domain({"<script>": [0, 1], "b, c": [0, 1]})
    found = safe_margins(Table(domain, [[9, 8], [7, 1]]))
    assert "<script>" not in found._repr_html_()
    assert "&lt;script&gt;" in found._repr_html_()
    assert found.candidates[2] == '["<script>","b, c"]'


# Bad input.


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"margins": 5}, "margins=5; the table has 4 variables"),
        ({"margins": True}, "margins=True; give a number"),
        ({"margins": "ab"}, "margins='ab'; give a number"),
        ({"margins": ["center"]}, "margins has the text 'center'"),
        ({"margins": [[]]}, "one without names"),
        ({"margins": []}, "no candidates"),
        ({"margins": [["nobody"]]}, "nobody"),
        ({"margins": 2, "statements": ["[center]"]}, "both given"),
        ({"statements": "[center]"}, "give a list of statements"),
        ({"statements": ["[center"]}, "missing"),
        ({"given": "[center]"}, "give a Release"),
        ({"total": 1}, "total=1; give True or False"),
        ({"independent": "no"}, "independent='no'; give True or False"),
        ({"policy": "nobody's"}, "nobody's"),
        ({"seconds": 0}, "seconds=0"),
    ],
)
def test_bad_input(koch, options, message):
    with pytest.raises(InvalidInput, match=message):
        safe_margins(koch, **options)


def test_what_is_not_of_this_table_is_refused(koch, cube):
    with pytest.raises(InvalidInput, match="give a Table"):
        safe_margins("koch4")
    with pytest.raises(InvalidInput, match="given speaks of"):
        safe_margins(koch, given=publish(cube, "[a]"))
    with pytest.raises(InvalidInput, match="statements speak of"):
        safe_margins(koch, statements=publish(cube, "[a]"))
    other = Table(cube.domain, cube.counts + 1)
    with pytest.raises(InvalidInput, match="given: the table contradicts"):
        safe_margins(cube, given=publish(other, "[a]", total=False))
    with pytest.raises(InvalidInput, match="statements: the table contradicts"):
        safe_margins(cube, statements=publish(other, "[a]"))


def test_too_many_candidates_are_refused():
    domain = Domain({f"v{k}": [0, 1] for k in range(9)})
    table = Table(domain, [[[[[[[[[1] * 2] * 2] * 2] * 2] * 2] * 2] * 2] * 2] * 2)
    with pytest.raises(InvalidInput, match="511 margins; at most 300"):
        safe_margins(table)
    texts = [f"[v0]~{base}" for base in range(2, 303)]
    with pytest.raises(InvalidInput, match="301 candidates; at most 300"):
        safe_margins(table, statements=texts)


def test_two_meanings_of_one_text_are_refused(koch):
    one = publish(koch, "[center]~3").statements[0]
    other = publish(koch, "[center]~3", rounding="down").statements[0]
    with pytest.raises(InvalidInput, match="two candidates are written"):
        safe_margins(koch, statements=Release(koch.domain, [one, other]))


# The command.


@pytest.fixture
def margins(run):
    return lambda *arguments: run("margins", *arguments)


def test_command(margins):
    code, out, err = margins(datasets.path("koch4"))
    assert code == 0
    assert out.startswith("1 largest safe set of 15 candidates")
    assert err == ""


def test_command_writes_json_and_csv(margins, tmp_path):
    target = tmp_path / "sets.json"
    code, out, _ = margins(
        datasets.path("koch4"), "--way", "3", "--format", "json", "-o", target, "--policy", "acro"
    )
    assert (code, out) == (0, "")
    said = json.loads(target.read_text("utf-8"))
    jsonschema.Draft202012Validator(schema()).validate(said)
    assert said["policy"]["name"] == "acro"
    code, out, _ = margins(
        datasets.path("koch4"), "--margin", "center,status", "--margin", "recovery",
        "--format", "csv",
    )  # fmt: skip
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0
    assert rows[0]["statements"] == "[center,status] [recovery]"


def test_command_with_statements_and_what_is_out(margins):
    code, out, _ = margins(
        datasets.path("koch4"), "--statement", "[status|center]@1", "--statement", "[recovery]~5",
        "--given", "[center]", "--no-total", "--independent",
    )  # fmt: skip
    assert code == 0
    assert "out already: [center]\n" in out


def test_command_that_finds_nothing(margins):
    code, _, _ = margins(datasets.path("koch4"), "--margin", "center,treatment,recovery")
    assert code == 1
    code, _, _ = margins(datasets.path("koch4"), "--seconds", "1e-9")
    assert code == 3


def test_command_refuses_bad_input(margins, tmp_path):
    for arguments in (
        ["--way", "2", "--margin", "center"],
        ["--way", "9"],
        ["--policy", "nobody"],
        ["--statement", "[center"],
        ["--given", "nowhere.toml"],
        ["-o", tmp_path / "no" / "such" / "folder.txt"],
    ):
        code, out, err = margins(datasets.path("koch4"), *arguments)
        assert (code, out) == (2, ""), arguments
        assert err.startswith(("error: ", "Usage")), err
