"""Certificates of every method stand up to the verifier, and nothing else does."""

from __future__ import annotations

import contextlib
import copy
import inspect
import json
import sys

import numpy as np
import pytest
from hypothesis import given

import cellbounds as cb
from cellbounds.certificates.making import repaired
from cellbounds.model.constraints import compile_release
from cellbounds.model.problem import raw_problem
from mixtures import cases, margin_cases
from strategies import few, releases

TWO = ["0", "1"]
CUBE = cb.Domain(dict.fromkeys("abc", TWO))
COUNTS = np.array([[[3, 1], [4, 1]], [[5, 9], [2, 6]]])
TABLE = cb.Table(CUBE, COUNTS)


def certified(release, **options):
    """A certificate as a file would hold it, checked in full."""
    answer = cb.bounds(release, **options)
    made = json.loads(json.dumps(answer.certificate(), ensure_ascii=False))
    found = cb.verify_certificate(made)
    assert found.ok, found
    assert found.settled, found
    assert found.cells == answer.domain.size
    return answer, made


def check(release, over):
    try:
        answer, made = certified(release, over=over)
    except cb.InconsistentRelease:
        return
    assert made["over"] == list(over)
    assert made["release"]["digest"] == release.digest
    assert (made["evidence"], made["method"]) == (answer.evidence.value, answer.method)
    assert made["public"] is True
    for labels, cell in zip(answer.domain.cells(), made["cells"], strict=True):
        low, high = answer[labels]
        assert cell["labels"] == list(labels)
        assert cell["lower"]["proven"] == low
        assert cell["upper"]["proven"] == (None if high is cb.UNBOUNDED else high)
    stored = [json.dumps(one) for one in made["witnesses"]]
    assert len(set(stored)) == len(stored)
    used = {cell[side]["witness"] for cell in made["cells"] for side in ("lower", "upper")}
    assert used - {None} == set(range(len(stored)))


@few(4)
@given(cases())
def test_mixtures(case):
    check(case.release, case.over)


@few(6)
@given(cases(closed=False, spoil=False))
def test_mixtures_without_limits(case):
    check(case.release, case.over)


@few(6)
@given(margin_cases())
def test_margins(case):
    check(case.release, case.over)


@few(6)
@given(releases())
def test_rates(release):
    check(release, release.domain.names)


METHODS = {
    "2x2x2 with all two-way margins": ["[a,b]", "[b,c]", "[a,c]"],
    "parts glued at exact margins": ["[a,b]", "[b,c]"],
    "integer search": ["[a,b]~3", "[b,c]", "[a,c]"],
    "sharp bounds of rates": ["[c|a,b]"],
}


@pytest.mark.parametrize("name", METHODS)
def test_each_method_by_name(name):
    answer, made = certified(cb.publish(TABLE, *METHODS[name]))
    if name in ("sharp bounds of rates",):
        assert "rates" in answer.method or "conditional" in answer.method
    else:
        assert answer.method == name
    assert made["kind"] == "sharp"


def test_multipliers_are_preferred():
    """Every bound of these has a dual proof, whatever method found it."""
    for said in (["[a,b]", "[b,c]"], ["[a,b]", "[b,c]", "[a,c]"]):
        _, made = certified(cb.publish(TABLE, *said))
        kinds = {
            cell[side]["proof"]["kind"] for cell in made["cells"] for side in ("lower", "upper")
        }
        assert kinds <= {"dual", "nonnegative"}
        assert "dual" in kinds


def test_what_whole_numbers_prove_is_told():
    """Of 2 x + 2 y + 2 z = 4 and x + y <= 1, z is at least 1; of 3 x + 5 y = 7 + 1 only (1, 1)."""
    domain = cb.Domain({"a": TWO})
    release = cb.Release(domain, [cb.Linear(["a"], [3, 5], equals=8)])
    _, made = certified(release)
    proofs = [made["cells"][0][side]["proof"] for side in ("lower", "upper")]
    assert {one["kind"] for one in proofs} <= {"solver", "method", "closed form", "dual"}
    assert any(one["kind"] != "dual" for one in proofs)
    assert all(one["text"] for one in proofs if one["kind"] != "dual")


def test_multipliers_are_repaired_with_a_row_that_covers_the_cell():
    """x <= 5 by 2 x + y <= 11 needs half of the row; rounded to 1/1 a coefficient is left over."""
    domain = cb.Domain({"a": TWO})
    release = cb.Release(domain, [cb.Linear(["a"], [2, 1], upper=11), cb.Total(upper=50)])
    problem = raw_problem(compile_release(release), 2)
    weights = np.array([-1, 0])
    fixed = repaired(problem, weights, np.array([0, 0]))
    assert fixed is not None
    terms = np.zeros(2, dtype=np.int64)
    np.add.at(terms, problem.cells, problem.coefficients * fixed[problem.rows])
    assert (weights - terms >= 0).all()
    assert (fixed <= 0).all()
    open_end = cb.Release(domain, [cb.Linear(["a"], [1, 1], lower=3)])
    problem = raw_problem(compile_release(open_end), 2)
    assert repaired(problem, weights, np.array([0])) is None


# Sums without end, large counts, odd labels ------------------------------------------------------


def test_sums_without_end_have_a_ray():
    domain = cb.Domain({"a": TWO, "b": TWO})
    release = cb.Release(domain, [cb.Margin(["a"], [5, ">2"]), cb.Known(["a", "b"], lower=1)])
    _, made = certified(release)
    upper = made["cells"][2]["upper"]
    assert upper["proven"] is None
    assert upper["attained"] is None
    assert upper["witness"] is None
    assert upper["proof"]["kind"] == "unbounded"
    assert upper["proof"]["ray"] == [[2, 1]]


def test_rays_of_rates_are_whole():
    release = cb.Release(
        cb.Domain({"a": TWO, "b": TWO}),
        [
            cb.Conditional(["a"], ["b"], rates=[["1/3", "2/3"], ["1/5", "4/5"]]),
            cb.Conditional(["b"], ["a"], rates=[["5/8", "3/8"], ["5/11", "6/11"]]),
        ],
    )
    _, made = certified(release)
    ray = dict(map(tuple, made["cells"][0]["upper"]["proof"]["ray"]))
    assert [ray[k] for k in range(4)] in ([5, 3, 10, 12], [10, 6, 20, 24], [15, 9, 30, 36])


def test_counts_beyond_64_bits():
    n = 10**20
    table = cb.Table(cb.Domain({"a": TWO, "b": TWO, "c": TWO}), (COUNTS.astype(object) * n))
    for said in (["[a,b]", "[b,c]"], ["[a,b]", "[b,c]", "[a,c]"]):
        answer = cb.bounds(cb.publish(table, *said))
        made = json.loads(json.dumps(answer.certificate()))
        found = cb.verify_certificate(made)
        assert found.ok, found
        assert found.attained == 16
        stored = [json.dumps(one) for one in made["witnesses"]]
        assert len(set(stored)) == len(stored)
        assert any(count >= n for one in made["witnesses"] for _, count in one)


def test_labels_of_all_kinds():
    domain = cb.Domain(
        {
            "größe, cm": ["1,5", "é|è", '"quoted"'],
            "n": [0, 1],
            "year": np.array([2001, 2002]),
        },
        groupings={"small, or not": cb.Grouping("größe, cm", {"klein": ["1,5"], "egal": ["é|è"]})},
    )
    table = cb.Table(domain, np.arange(12).reshape(3, 2, 2))
    release = cb.Release(
        domain,
        [
            cb.Margin(["small, or not", "n"], [[1, 5], [9, 13]]),
            cb.Margin(["n", "year"], table.margin(["n", "year"]).counts),
            cb.Known(["größe, cm"], upper={'"quoted"': 40}),
        ],
    )
    for over in (domain.names, ("small, or not", "year"), ("n", "größe, cm")):
        answer, made = certified(release, over=over)
        for labels, cell in zip(answer.domain.cells(), made["cells"], strict=True):
            assert cell["labels"] == list(labels)


# Who may see it ----------------------------------------------------------------------------------

RELEASE = cb.publish(TABLE, "[a,b]~3", "[b,c]", "[a,c]")


def test_certificates_are_public_unless_they_lean_on_a_table():
    alone, helped = cb.bounds(RELEASE), cb.bounds(RELEASE, start=TABLE)
    assert alone.certificate()["public"] is True
    assert alone.certificate(public=True)["public"] is True
    assert alone.certificate(public=False)["public"] is False
    assert helped.certificate()["public"] is False
    assert helped.certificate(public=False)["public"] is False
    with pytest.raises(cb.InvalidInput, match="without start="):
        helped.certificate(public=True)


@pytest.mark.parametrize("kind", ["linear"])
def test_other_kinds_have_no_certificate(kind):
    with pytest.raises(cb.InvalidInput, match="no certificate"):
        cb.bounds(RELEASE, kind=kind).certificate()
    rates = cb.publish(TABLE, "[c|a,b]")
    with pytest.raises(cb.InvalidInput, match="'improved' have no certificate"):
        cb.bounds(rates, kind="improved").certificate()


def test_what_was_not_settled_is_certified_as_far_as_it_goes(monkeypatch):
    from cellbounds.runtime.budget import Budget
    from cellbounds.solvers.general.search import Search

    def nothing(*_, **__):
        return 0

    def spent(_):
        return True

    with monkeypatch.context() as patched:
        patched.setattr(Budget, "spent", property(spent))
        patched.setattr(Search, "by_pushing", nothing)
        answer = cb.bounds(RELEASE, seconds=5)
        made = json.loads(json.dumps(answer.certificate()))
    assert made["evidence"] == "outer"
    assert cb.verify_certificate(made).settled
    gaps = [one for one in made["cells"] if one["upper"]["attained"] < one["upper"]["proven"]]
    assert gaps


# Tampering ---------------------------------------------------------------------------------------


def believed(made):
    try:
        return cb.verify_certificate(made).ok
    except cb.InvalidInput:
        return False


@pytest.mark.parametrize("said", [["[a,b]", "[b,c]"], ["[a,b]~3", "[b,c]", "[a,c]"], ["[c|a,b]@1"]])
def test_tampering_is_found(said):
    made = cb.bounds(cb.publish(TABLE, *said)).certificate()
    assert believed(made)
    for place, cell in enumerate(made["cells"]):
        for side, inwards in (("lower", 1), ("upper", -1)):
            for step in (inwards, -inwards):
                if cell[side]["proven"] + step < 0:
                    continue
                wrong = copy.deepcopy(made)
                wrong["cells"][place][side]["proven"] += step
                assert not believed(wrong)
                wrong["cells"][place][side]["attained"] += step
                assert not believed(wrong)
    for place, witness in enumerate(made["witnesses"]):
        wrong = copy.deepcopy(made)
        wrong["witnesses"][place][0][1] += 1
        assert not believed(wrong), witness


def test_a_changed_release_is_found():
    made = cb.bounds(cb.publish(TABLE, "[a,b]", "[b,c]")).certificate()
    for place in (0, 1):
        wrong = json.loads(json.dumps(made))
        wrong["release"]["statements"][place]["margin"]["counts"][0][0] += 1
        assert not believed(wrong)


def test_changed_multipliers_are_found():
    made = cb.bounds(cb.publish(TABLE, "[a,b]", "[b,c]")).certificate()
    tried = 0
    for place, cell in enumerate(made["cells"]):
        for side in ("lower", "upper"):
            if cell[side]["proof"]["kind"] != "dual":
                continue
            for k in range(len(cell[side]["proof"]["multipliers"])):
                wrong = copy.deepcopy(made)
                del wrong["cells"][place][side]["proof"]["multipliers"][k]
                assert not believed(wrong)
                wrong = copy.deepcopy(made)
                wrong["cells"][place][side]["proof"]["multipliers"][k][1] ^= 1
                assert not believed(wrong)
                tried += 1
    assert tried > 8


# The command line --------------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path):
    lines = [",".join([*labels, str(int(TABLE[labels]))]) for labels in CUBE.cells()]
    path = tmp_path / "table.csv"
    path.write_text("a,b,c,count\n" + "\n".join(lines) + "\n", "utf-8")
    return path


SAID = ("[a,b]~3", "[b,c]", "[a,c]")


def test_audits_write_certificates(run, table, tmp_path):
    path = tmp_path / "certificate.json"
    code, out, _ = run("audit", table, *SAID, "--certificate", path)
    assert code in (0, 1)
    assert "rule" in out
    made = json.loads(path.read_text("utf-8"))
    assert made["public"] is False
    assert made["release"]["digest"] == RELEASE.digest
    assert made["over"] == ["a", "b", "c"]
    code, out, _ = run("verify", path)
    assert (code, out.splitlines()[0]) == (0, "verified")


@contextlib.contextmanager
def solves():
    """The questions that solvers are asked meanwhile, seen by Python's own profiler."""
    asked = []
    codes = {inspect.unwrap(one).__code__: one.__name__ for one in (cb.bounds, cb.attainable)}

    def see(frame, event, _):
        if event == "call" and frame.f_code in codes:
            asked.append(codes[frame.f_code])

    sys.setprofile(see)
    try:
        yield asked
    finally:
        sys.setprofile(None)


def test_the_certificate_comes_from_the_answer_that_there_is(run, table, tmp_path):
    release, path = tmp_path / "r.toml", tmp_path / "certificate.json"
    cb.publish(cb.read_table(table), *SAID).write(release)
    for command in (["audit", table, *SAID], ["attack", release, "--over", "c,a"]):
        with solves() as without:
            run(*command)
        with solves() as asked:
            run(*command, "--certificate", path)
        assert asked == without == ["attainable"]
        assert cb.verify_certificate(path).settled
    # What may be handed on cannot lean on the owner's table: that is another question.
    with solves() as asked:
        run("audit", table, *SAID, "--certificate", path, "--public")
    assert asked == ["attainable", "bounds"]
    with solves() as asked:
        cells = "--over", "a,b,c"  # without the counts, a margin that is shown rounded is asked too
        run("audit", table, *SAID, *cells, "--certificate", path, "--public", "--independent")
    assert asked == ["attainable"]
    assert json.loads(path.read_text())["public"] is True


def test_public_certificates_do_not_depend_on_the_table(run, table, tmp_path):
    public, attacked = tmp_path / "public.json", tmp_path / "attack.json"
    report = tmp_path / "report.txt"
    code, out, _ = run(
        "audit", table, *SAID, "--certificate", public, "--public", "--over", "c,a", "-o", report
    )
    assert out == ""
    assert "asked about: c x a" in report.read_text("utf-8")
    release = tmp_path / "release.toml"
    RELEASE.write(release)
    assert run("attack", release, "--certificate", attacked, "--over", "c,a")[0] in (0, 1)
    made = json.loads(public.read_text("utf-8"))
    assert made["public"] is True
    assert made["over"] == ["c", "a"]
    assert made == json.loads(attacked.read_text("utf-8"))
    assert code in (0, 1)


def test_public_goes_with_a_certificate(run, table):
    code, out, err = run("audit", table, *SAID, "--public")
    assert (code, out) == (2, "")
    assert "--certificate" in err


def test_statuses_of_verify(run, table, tmp_path):
    path, output = tmp_path / "certificate.json", tmp_path / "out.json"
    run("audit", table, *SAID, "--certificate", path)
    made = json.loads(path.read_text("utf-8"))
    code, out, _ = run("verify", path, "--format", "json", "-o", output)
    assert (code, out) == (0, "")
    assert json.loads(output.read_text("utf-8"))["ok"] is True
    made["cells"][0]["upper"]["proven"] -= 1
    path.write_text(json.dumps(made), "utf-8")
    code, out, _ = run("verify", path, "--format", "json")
    assert code == 1
    assert json.loads(out)["problems"]
    path.write_text("{}", "utf-8")
    assert run("verify", path)[0] == 2
    assert run("verify", tmp_path / "nowhere.json")[0] == 2


def test_a_certificate_that_cannot_be_written_is_2(run, table, tmp_path):
    code, _, err = run("audit", table, *SAID, "--certificate", tmp_path / "no" / "where.json")
    assert code == 2
    assert "where.json" in err


# Multipliers that were rounded -------------------------------------------------------------------


def test_rounded_multipliers_are_mended_by_the_cheapest_row():
    """x00 <= 3 from its row of 3 alone; without any multiplier the row is taken once, no more."""
    domain = cb.Domain({"a": ["0", "1"], "b": ["0", "1"]})
    release = cb.Release(domain, [cb.Margin(["a"], [3, 9]), cb.Margin(["b"], [5, 7])])
    problem = raw_problem(compile_release(release), 4)
    weights = np.array([-1, 0, 0, 0])
    mended = repaired(problem, weights, np.zeros(4, dtype=np.int64))
    assert mended.tolist() == [-1, 0, 0, 0]
    assert repaired(problem, weights * 6, np.array([-4, 0, 0, 0])).tolist() == [-6, 0, 0, 0]
    enough = np.array([0, 0, -1, 0])  # the column of 5 proves less, but needs no mending
    assert repaired(problem, weights, enough).tolist() == enough.tolist()


def test_multipliers_without_a_limit_are_dropped_and_cells_without_a_row_cannot_be_mended():
    domain = cb.Domain({"a": ["0", "1"]})
    release = cb.Release(domain, [cb.Margin(["a"], [">=2", "<4"])])
    problem = raw_problem(compile_release(release), 2)
    assert repaired(problem, np.array([0, -1]), np.array([-3, 0])).tolist() == [0, -1]
    assert repaired(problem, np.array([-1, 0]), np.array([0, 0])) is None


def test_a_ray_of_rates_in_sevenths():
    """Seven of eight: the direction in which the table grows is no multiple of a round number."""
    domain = cb.Domain({"a": ["a0"], "b": ["b0", "b1"], "c": ["x", "y", "z"]})
    table = cb.Table(domain, [[[7, 1, 0], [0, 0, 0]]])
    check(cb.publish(table, "[c|]", total=False), ("a",))
