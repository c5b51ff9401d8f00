"""Moves, proposals, diagnostics and combinations of chains, one by one."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest

from cellbounds import (
    Conditional,
    Domain,
    InconsistentRelease,
    InvalidInput,
    Known,
    Linear,
    Margin,
    Release,
    Table,
    TooMuchWork,
    Total,
    Unsettled,
    UnsupportedRelease,
    publish,
)
from cellbounds.inference.chains.basic_moves import basic_moves
from cellbounds.inference.chains.chain_sampling import batch_errors, diagnose
from cellbounds.inference.chains.conditional_moves import conditional_moves
from cellbounds.inference.chains.lattice_moves import (
    kernel_basis,
    lattice_moves,
    markov_basis,
    read_vectors,
)
from cellbounds.inference.chains.metropolis import choose_moves, run_chain, start_tables
from cellbounds.inference.chains.moves import Connection, Connectivity, Moves, connectivity
from cellbounds.inference.combined_sets import combine, summed_sets
from cellbounds.model.priors import GammaPoisson, Multinomial, Poisson, Uniform
from cellbounds.runtime.budget import Budget

SQUARE = Domain({"row": [1, 2], "col": [1, 2]})
CUBE = Domain({"s": [1, 2], "row": [1, 2], "col": [1, 2]})
GRID = Domain({"a": range(4), "b": range(5)})
GUESS = Connectivity(Connection.UNPROVEN, "made up")


def rates_of(*rows: list[str], **how: object) -> Conditional:
    return Conditional(["col"], ["row"], rates=list(rows), **how)


def grid_release() -> Release:
    counts = np.random.default_rng(1).integers(0, 6, size=(4, 5))
    return publish(Table(GRID, counts), "[a]", "[b]")


# moves


def test_basic_moves_of_a_two_way_table_are_all_its_squares():
    moves = basic_moves(grid_release())
    assert len(moves) == 6 * 10
    assert len(np.unique(moves.array, axis=0)) == 60
    shaped = moves.array.reshape(-1, 4, 5)
    assert not shaped.sum(axis=1).any()
    assert not shaped.sum(axis=2).any()
    assert (np.abs(moves.array).sum(axis=1) == 4).all()
    assert moves.families.tolist() == [0] * 60


def test_basic_moves_of_a_path_cut_it_at_each_separator():
    domain = Domain({"a": range(2), "b": range(3), "c": range(2), "d": range(2)})
    table = Table(domain, np.ones(domain.shape, dtype=int))
    release = publish(table, "[a,b]", "[b,c]", "[c,d]", "[b]")
    moves = basic_moves(release)
    # At b: settings of a and of (c, d); at c: settings of (a, b) and of d.
    assert len(moves) == 3 * 1 * 6 + 2 * 15 * 1
    shaped = moves.array.reshape(-1, 2, 3, 2, 2)
    for axes in ((3, 4), (1, 4), (1, 2)):
        assert not shaped.sum(axis=axes).any()
    assert moves.connected.kind is Connection.PROVEN
    assert "Dobra" in moves.connected.reason


@pytest.mark.parametrize(
    ("statements", "reason"),
    [
        ([Margin(["s", "row"], [[1, 1], [1, 1]])], "covers col"),
        ([Margin(["s"], [1, 1]), Margin(["row", "col"], [[1, 0], ["<2", 0]])], "not an exact"),
        ([Total(4), Known(["s", "row", "col"], upper=2)], "not an exact margin"),
        (
            [Margin(p, [[2, 2], [2, 2]]) for p in (("s", "row"), ("s", "col"), ("row", "col"))],
            "not decomposable",
        ),
    ],
)
def test_basic_moves_are_refused_where_their_theorem_does_not_apply(statements, reason):
    with pytest.raises(UnsupportedRelease, match=reason):
        basic_moves(Release(CUBE, statements))


def test_drawn_basic_moves_are_the_listed_ones_each_as_often():
    release = grid_release()
    listed = {tuple(row) for row in basic_moves(release).array.tolist()}
    moves = basic_moves(release, most=0)
    assert moves.sampler is not None
    with pytest.raises(InvalidInput, match="too many to list"):
        _ = moves.array
    numbers = np.random.default_rng(2).random((30_000, moves.sampler.numbers))
    cells, changes = moves.sampler.draw(numbers)
    dense = np.zeros((len(cells), GRID.size), dtype=int)
    np.add.at(dense, (np.arange(len(cells))[:, None], cells), changes)
    found, counts = np.unique(dense, axis=0, return_counts=True)
    assert {tuple(row) for row in found.tolist()} == listed | {
        tuple(-x for x in row) for row in listed
    }
    assert np.abs(counts - 250).max() < 6 * np.sqrt(250)


def test_the_moves_of_the_document_for_exact_rates():
    exact = rates_of(["21/97", "76/97"], ["17/48", "31/48"])
    moves = conditional_moves(Release(SQUARE, [Total(193), exact]))
    assert moves.array.tolist() == [[1008, 3648, -1649, -3007]]
    assert moves.families.tolist() == [1]
    assert moves.connected.kind is Connection.PROVEN


def test_the_moves_of_the_document_with_a_variable_summed_over():
    exact = rates_of(["1/5", "4/5"], ["2/5", "3/5"])
    moves = conditional_moves(Release(CUBE, [Total(195), exact]))
    kept = moves.array[moves.families == 0].reshape(-1, 2, 4)
    assert len(kept) == 4
    assert not kept.sum(axis=1).any()
    varied = moves.array[moves.families == 1].reshape(-1, 2, 4)
    assert (varied.sum(axis=1) == [1, 4, -2, -3]).all()
    # On either part, and shared out.
    assert varied.tolist() == [
        [[1, 4, -2, -3], [0, 0, 0, 0]],
        [[0, 0, 0, 0], [1, 4, -2, -3]],
        [[1, 2, -1, -1], [0, 2, -1, -2]],
    ]


def test_rates_that_leave_room_have_transfers_and_the_document_s_move():
    release = Release(SQUARE, [Total(193), rates_of(["0.2", "0.8"], ["0.4", "0.6"])])
    made = {tuple(row) for row in conditional_moves(release).array.tolist()}
    assert (1, 4, -2, -3) in made
    assert (1, -1, 0, 0) in made
    assert (0, 1, -1, 0) in made
    assert len(made) == 7


def test_exact_rows_with_several_steps_have_a_reduced_basis():
    domain = Domain({"row": range(3), "col": [1, 2]})
    rates = rates_of(["1/2", "1/2"], ["1/3", "2/3"], ["2/5", "3/5"])
    moves = conditional_moves(Release(domain, [Total(60), rates]))
    assert moves.connected.kind is Connection.UNPROVEN
    sums = moves.array.reshape(-1, 3, 2).sum(axis=2)
    assert not sums.sum(axis=1).any()
    assert not (sums % [2, 3, 5]).any()
    assert [2, 3, -5] in sums.tolist() or [-2, -3, 5] in sums.tolist()


def test_exact_and_loose_rows_exchange_what_the_exact_one_needs():
    rates = rates_of(["1/2", "1/2"], ["0.4", "0.6"], eps=[["0", "0"], ["0.1", "0.1"]])
    release = Release(SQUARE, [Total(20), rates])
    made = conditional_moves(release).array.reshape(-1, 2, 2)
    assert [[1, 1], [-1, -1]] in made.tolist()
    assert (made[:, 0, 0] == made[:, 0, 1]).all()


def test_moves_without_a_total_change_it():
    release = Release(SQUARE, [Total(upper=9), rates_of(["1/2", "1/2"], ["0.4", "0.6"], eps="0.1")])
    sums = conditional_moves(release).array.sum(axis=1)
    assert set(sums.tolist()) >= {0, 1}


def test_many_rows_and_parts_stay_listable():
    domain = Domain({"row": range(60), "col": range(40), "s": range(3)})
    counts = np.random.default_rng(1).integers(5, 50, size=domain.shape)
    release = publish(Table(domain, counts), "[col|row]@2")
    moves = conditional_moves(release)
    assert len(moves) < 1_500_000
    assert set(moves.families.tolist()) == {0, 1}
    with pytest.raises(InvalidInput, match="not listed"):
        connectivity(basic_moves(grid_release(), most=0), np.zeros((1, 20), dtype=int))


def test_equal_steps_are_proven_only_with_intervals_beside():
    domain = Domain({"row": range(3), "col": [1, 2]})
    rates = rates_of(["1/2", "1/2"], ["1/2", "1/2"], ["1/2", "1/2"])
    beside = {
        Connection.PROVEN: Known(["row"], upper={0: 8}),
        Connection.UNPROVEN: Known(["row"], values={0: [2, 8]}),
    }
    for kind, prior in beside.items():
        moves = conditional_moves(Release(domain, [Total(20), rates, prior]))
        assert moves.connected.kind is kind


def test_conditional_moves_need_one_conditional():
    with pytest.raises(UnsupportedRelease, match="0 statements of rates"):
        conditional_moves(grid_release())


def test_a_lattice_basis_is_one_of_the_whole_lattice():
    # 2x + 4y + 6z = 0: rational vectors such as (2, -1, 0) alone would miss (1, 1, -1).
    basis = kernel_basis(np.array([[2, 4, 6]]))
    assert not (basis @ [2, 4, 6]).any()
    assert abs(np.linalg.det(np.array([*basis, [1, 2, 3]]))) == pytest.approx(14)


def test_lattice_moves_without_equations_are_single_counts_and_transfers():
    release = Release(SQUARE, [Total(upper=5)])
    moves = lattice_moves(release)
    assert {tuple(np.sort(np.abs(row))) for row in moves.array.tolist()} == {
        (0, 0, 0, 1),
        (0, 0, 1, 1),
    }
    assert len(lattice_moves(release, paired=False)) == 4


def test_lattice_moves_keep_equations_and_fixed_cells():
    release = Release(
        CUBE, [Total(9), Known(["s", "row", "col"], upper={(1, 1, 1): 0}), Margin(["s"], [4, 5])]
    )
    array = lattice_moves(release).array
    assert not array[:, 0].any()
    assert not array.reshape(-1, 2, 4).sum(axis=2).any()


def test_lists_of_values_make_multiples_of_moves():
    release = Release(SQUARE, [Total(9), Known(["row"], values={1: [1, 4, 6]})])
    largest = np.abs(lattice_moves(release).array).max(axis=1)
    assert set(largest.tolist()) == {1, 2, 3, 4, 6}


def test_too_many_cells_for_a_lattice_basis_are_refused():
    domain = Domain({"a": range(30), "b": range(30)})
    with pytest.raises(TooMuchWork, match="900 cells"):
        lattice_moves(Release(domain, [Total(9)]))


# 4ti2


def test_reading_vectors():
    text = "2 4\n 1 -1 -1  1 \n 0  2 -2  0 \n"
    assert read_vectors(text, 4).tolist() == [[1, -1, -1, 1], [0, 2, -2, 0]]
    assert read_vectors("0 4\n", 4).shape == (0, 4)
    for wrong in ("1 4\n1 2 3\n", "1 3\n1 2 3\n", "hello", ""):
        with pytest.raises(InvalidInput, match="4ti2's file"):
            read_vectors(wrong, 4)


def test_a_missing_program_is_named_with_what_to_install(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(UnsupportedRelease, match="apt install 4ti2"):
        markov_basis(grid_release())
    cube = publish(Table(CUBE, np.ones((2, 2, 2), dtype=int)), "[s,row]", "[s,col]", "[row,col]")
    assert choose_moves(cube).name == "lattice moves"


needs_a_shell = pytest.mark.skipif(os.name != "posix", reason="the stand-in is a shell script")


def fake_program(tmp_path, script: str) -> str:
    program = tmp_path / "4ti2-markov"
    program.write_text(f"#!/bin/sh\n{script}\n", "ascii")
    program.chmod(0o755)
    return str(program)


@needs_a_shell
def test_a_program_that_takes_too_long_is_ended(tmp_path):
    program = fake_program(tmp_path, "exec sleep 30")
    with pytest.raises(TooMuchWork, match=r"within 0.1 seconds"):
        markov_basis(grid_release(), seconds=0.1, program=program)


@needs_a_shell
def test_a_program_that_fails_is_reported(tmp_path):
    program = fake_program(tmp_path, "echo no such option >&2; exit 3")
    with pytest.raises(UnsupportedRelease, match="code 3: no such option"):
        markov_basis(grid_release(), program=program)


@needs_a_shell
def test_what_the_program_is_given_and_what_is_read(tmp_path):
    """One equation, a limit below, a limit above: two slack variables, dropped again."""
    saved = tmp_path / "given"
    answer = "2 6\\n 1 -1 0 0 1 -1\\n 0 0 1 -1 0 0\\n"
    script = f"cp release.mat {saved}; printf '{answer}' > release.mar"
    program = fake_program(tmp_path, script)
    limits = Linear(["row", "col"], {(1, 1): 1, (1, 2): -1}, lower=-3, upper=3)
    moves = markov_basis(Release(SQUARE, [Total(9), limits]), program=program)
    assert saved.read_text("ascii").split("\n")[:4] == [
        "3 6",
        "1 1 1 1 0 0",
        "1 -1 0 0 -1 0",
        "1 -1 0 0 0 1",
    ]
    assert moves.array.tolist() == [[1, -1, 0, 0], [0, 0, 1, -1]]
    assert moves.connected.kind is Connection.PROVEN


# connecting


def test_connectivity_wants_each_table_once():
    moves = Moves.of_array("swaps", np.array([[1, -1]]), GUESS)
    assert connectivity(moves, np.array([[0, 2], [2, 0]])).kind is Connection.BROKEN
    assert connectivity(moves, np.array([[0, 2], [1, 1]])).kind is Connection.PROVEN
    with pytest.raises(InvalidInput, match="of which 1 differ"):
        connectivity(moves, np.array([[0, 2], [0, 2]]))
    with pytest.raises(InvalidInput, match="with 2 cells"):
        connectivity(moves, np.array([[0, 2, 1]]))


# running


def test_the_same_seed_gives_the_same_draws_whatever_the_blocks():
    release = Release(CUBE, [Total(60), rates_of(["0.2", "0.8"], ["0.4", "0.6"], eps="0.1")])
    weights = GammaPoisson(9, "1/2").weights(CUBE)
    how = {"draws": 40, "thin": 7, "burn_in": 30, "proposal": "two-step", "latent": True}
    one = run_chain(release, weights, rng=3, **how)
    other = run_chain(release, weights, rng=np.random.default_rng(3), block=11, **how)
    assert (one.counts == other.counts).all()
    assert (one.means == other.means).all()
    assert (one.acceptance == other.acceptance).all()
    assert (run_chain(release, weights, rng=4, **how).counts != one.counts).any()


def test_drawn_moves_do_not_depend_on_blocks_either():
    release = grid_release()
    moves = basic_moves(release, most=0)
    weights = Uniform().weights(GRID)
    runs = [
        run_chain(release, weights, moves=moves, rng=5, draws=30, thin=9, block=block).counts
        for block in (13, 50_000)
    ]
    assert (runs[0] == runs[1]).all()
    assert np.ptp(runs[0]) > 0


def test_stopping_early_keeps_what_was_drawn():
    release = grid_release()
    said = []

    def impatient(done: int, total: int) -> None:
        said.append((done, total))
        if len(said) == 4:
            raise KeyboardInterrupt

    drawn = run_chain(
        release, Uniform().weights(GRID), rng=6, draws=100, thin=10, burn_in=50, block=100,
        budget=Budget(progress=impatient),
    )  # fmt: skip
    assert drawn.stopped_early
    assert drawn.counts.shape == (4, 30, 20)
    assert said[-1] == (4 * 350, 4 * 1050)
    whole = run_chain(release, Uniform().weights(GRID), rng=6, draws=100, thin=10, burn_in=50)
    assert not whole.stopped_early
    assert (whole.counts[:, :30] == drawn.counts).all()


def test_the_clock_is_looked_at_between_chains_and_a_round_cut_short_is_left_out(monkeypatch):
    looks = []

    def spent(_budget):
        looks.append(None)
        return len(looks) > 30

    how = {"chains": 20, "draws": 100, "thin": 10, "burn_in": 0, "rng": 6}
    weights = Uniform().weights(GRID)
    whole = run_chain(grid_release(), weights, **how)
    monkeypatch.setattr(Budget, "spent", property(spent))
    drawn = run_chain(grid_release(), weights, block=100, start=whole.counts[:, 0], **how)
    assert drawn.stopped_early
    assert drawn.counts.shape[:2] == (20, 10)


def test_a_keyboard_interrupt_keeps_what_was_drawn():
    def interrupt(done: int, total: int) -> None:
        if done >= total // 2:
            raise KeyboardInterrupt

    how = {"draws": 50, "thin": 10, "block": 100, "rng": 7}
    weights = Uniform().weights(GRID)
    drawn = run_chain(grid_release(), weights, burn_in=0, budget=Budget(progress=interrupt), **how)
    assert drawn.stopped_early
    assert drawn.counts.shape[1] == 30
    with pytest.raises(KeyboardInterrupt):
        run_chain(grid_release(), weights, burn_in=5000, budget=Budget(progress=interrupt), **how)


def test_a_deadline_before_the_first_draw_is_said():
    with pytest.raises(Unsettled, match="give more time"):
        run_chain(
            grid_release(),
            Uniform().weights(GRID),
            rng=8,
            budget=Budget.until(time.monotonic() - 1),
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"proposal": "three-step"}, "choose one of ordinary, two-step"),
        ({"draws": 0}, "draws=0"),
        ({"chains": -1}, "chains=-1"),
        ({"thin": 2.5}, "thin=2.5"),
        ({"burn_in": -1}, "burn_in=-1"),
        ({"latent": True}, "GammaPoisson"),
        ({"start": np.ones((1, 3), dtype=int)}, "20 for each table"),
        ({"start": np.ones((1, 20))}, "give counts"),
        ({"start": np.ones((1, 20), dtype=int)}, "contradicts the release"),
        ({"moves": Moves.of_array("short", np.array([[1, -1]]), GUESS)}, "moves over 2 cells"),
    ],
)
def test_bad_input_is_refused(options, message):
    with pytest.raises(InvalidInput, match=message):
        run_chain(grid_release(), Uniform().weights(GRID), rng=9, **options)


def test_priors_without_weight_are_refused():
    weights = Poisson([[0, 0], [1, 1]]).weights(SQUARE)
    release = publish(Table(SQUARE, [[1, 1], [1, 1]]), "[row]", "[col]")
    with pytest.raises(InvalidInput, match="no weight to any consistent table"):
        run_chain(release, weights, rng=10)
    with pytest.raises(InvalidInput, match="make them from the release's domain"):
        run_chain(release, Uniform().weights(CUBE), rng=10)


def test_tables_without_end_need_a_proper_prior():
    release = Release(SQUARE, [rates_of(["1/2", "1/2"], ["0.4", "0.6"], eps="0.1")])
    with pytest.raises(InvalidInput, match="say what is known of N"):
        run_chain(release, Uniform().weights(SQUARE), rng=11)
    with pytest.raises(InvalidInput, match="only if N is known"):
        run_chain(release, Multinomial().weights(SQUARE), rng=11)
    drawn = run_chain(release, Poisson(5).weights(SQUARE), rng=11, draws=200)
    assert np.ptp(drawn.counts.sum(axis=2)) > 0


def test_an_impossible_release_is_said_so():
    release = Release(SQUARE, [Total(3), Margin(["row"], [1, 1])])
    with pytest.raises(InconsistentRelease):
        run_chain(release, Uniform().weights(SQUARE), rng=12)


def test_more_draws_than_memory_are_refused():
    with pytest.raises(TooMuchWork, match="ask for at most"):
        run_chain(grid_release(), Uniform().weights(GRID), draws=10**8, rng=13)


def test_a_single_table_is_drawn_again_and_again():
    table = Table(SQUARE, [[1, 2], [3, 4]])
    drawn = run_chain(publish(table, "[row,col]"), Uniform().weights(SQUARE), rng=14, draws=8)
    assert (drawn.counts == [1, 2, 3, 4]).all()
    found = diagnose(drawn.counts)
    assert found.fixed.all()
    assert found.agreed
    assert found.worst_rhat == 1.0


def test_chains_start_far_apart_from_consistent_tables():
    release = grid_release()
    starts = start_tables(release, 6, np.random.default_rng(15))
    assert starts.shape == (6, 20)
    for name, axis in (("a", 2), ("b", 1)):
        margin = next(s for s in release.statements if getattr(s, "variables", ()) == (name,))
        assert (starts.reshape(6, 4, 5).sum(axis=axis) == margin.counts).all()
    assert len(np.unique(starts, axis=0)) >= 4
    given = start_tables(release, 3, np.random.default_rng(15), starts[:2])
    assert (given == starts[[0, 1, 0]]).all()
    one = start_tables(release, 2, np.random.default_rng(1), Table(GRID, starts[0].reshape(4, 5)))
    assert (one == starts[[0, 0]]).all()


# diagnostics


def test_batch_means_of_independent_draws_are_the_plain_error():
    draws = np.random.default_rng(16).normal(10, 3, size=(4, 10_000, 2))
    assert batch_errors(draws) == pytest.approx([0.015, 0.015], rel=0.15)
    assert np.isnan(batch_errors(draws[:1, :1])).all()


def test_batch_means_see_correlation():
    noise = np.random.default_rng(17).normal(size=(4, 20_000))
    draws = np.zeros((4, 20_000, 1))
    for k in range(1, 20_000):
        draws[:, k, 0] = 0.9 * draws[:, k - 1, 0] + noise[:, k]
    # The long-run deviation of this series is 1 / (1 - 0.9).
    assert batch_errors(draws)[0] == pytest.approx(10 / np.sqrt(80_000), rel=0.15)
    assert diagnose(draws).error[0] == pytest.approx(10 / np.sqrt(80_000), rel=0.15)


def test_cells_that_stand_still_are_told_apart():
    draws = np.random.default_rng(18).integers(0, 9, size=(4, 100, 3))
    draws[:, :, 1] = 5
    draws[:, :, 2] = np.arange(4)[:, None]
    found = diagnose(draws)
    assert found.fixed.tolist() == [False, True, False]
    assert np.isnan(found.rhat[1])
    assert found.error[1] == 0
    assert found.rhat[2] == np.inf
    assert not found.agreed
    with pytest.raises(InvalidInput, match="at least 4 draws"):
        diagnose(draws[:, :3])


# combining


def test_sets_are_weighted_by_their_moves():
    release = Release(CUBE, [Total(3)])
    tables = np.array([[3, 0, 0, 0], [1, 2, 0, 0]])
    sets = summed_sets(release, ["row", "col"], tables, Uniform().weights(CUBE))
    assert sets.moves.tolist() == [1, 2]
    drawn = combine(sets, "moves", 4, np.random.default_rng(19))
    assert drawn.shares.tolist() == [1 / 3, 2 / 3]
    assert "does not target" in drawn.meaning
    assert np.allclose(drawn.values.reshape(4, 2, 4).sum(axis=1), [5 / 3, 4 / 3, 0, 0])
    posterior = combine(sets, "posterior", 4, np.random.default_rng(19))
    assert posterior.values.dtype == np.int64
    # Uniform over tables: 4 ways to split 3, and 2 * 3 ways to split 1 and 2.
    assert posterior.shares == pytest.approx([0.4, 0.6])


def test_sets_can_be_listed_by_a_fibre():
    class Two:
        name = "two"

        def listed(self):
            return iter([np.array([3, 0, 0, 0]), np.array([1, 2, 0, 0])])

    release = Release(CUBE, [Total(3)])
    sets = summed_sets(release, ["row", "col"], Two(), Uniform().weights(CUBE))
    assert len(sets.summed) == 2


def test_combining_refuses_what_it_cannot_do():
    tables, weights = np.array([[3, 0, 0, 0]]), Uniform().weights(CUBE)
    names = ["row", "col"]
    with pytest.raises(UnsupportedRelease, match="about s too"):
        summed_sets(Release(CUBE, [Margin(["s"], [1, 2])]), names, tables, weights)
    release = Release(CUBE, [Total(3)])
    with pytest.raises(InvalidInput, match="summed table 1 contradicts"):
        summed_sets(release, names, tables + 1, weights)
    with pytest.raises(InvalidInput, match="with 4 cells each"):
        summed_sets(release, names, tables[:, :2], weights)
    uneven = GammaPoisson(2, [[["1", "1"], ["1", "1"]], [["2", "2"], ["2", "2"]]]).weights(CUBE)
    with pytest.raises(UnsupportedRelease, match="no closed form"):
        summed_sets(release, names, tables, uneven)
    sets = summed_sets(release, names, tables, weights)
    rng = np.random.default_rng(20)
    with pytest.raises(InvalidInput, match="choose one of equal, moves, posterior"):
        combine(sets, "best", 3, rng)
    with pytest.raises(InvalidInput, match="size=0"):
        combine(sets, "equal", 0, rng)
    single = summed_sets(
        Release(SQUARE, [Total(3)]), SQUARE.names, tables, Uniform().weights(SQUARE)
    )
    with pytest.raises(InvalidInput, match="0/0"):
        combine(single, "moves", 3, rng)
