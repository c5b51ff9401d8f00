"""Tables found one by one by a solver, and sums over that list, against the diagram."""

from __future__ import annotations

import numpy as np
import pytest

import cellbounds as cb
from cellbounds.inference.decision_diagram.diagram_fibre import diagram_fibre
from cellbounds.inference.enumeration import ListedFibre
from cellbounds.inference.solver_enumeration import few_tables
from cellbounds.model.priors import belief_of
from cellbounds.model.structure import gather

TABLE = cb.Table(cb.Domain({"a": [0, 1], "b": [0, 1, 2]}), [[2, 1, 0], [1, 2, 3]])
RELEASES = [["[a]", "[b]"], ["[a]", "[b]~3"], ["[b|a]@1", "[b]"], ["[a,b]"]]
PRIORS = ["uniform", "multinomial", cb.priors.GammaPoisson([[1, 2, 3], [4, 5, 6]], 1)]


@pytest.mark.parametrize("prior", PRIORS, ids=str)
@pytest.mark.parametrize("statements", RELEASES, ids=str)
def test_a_list_says_what_a_diagram_says(statements, prior):
    release = cb.publish(TABLE, *statements)
    few, diagram = few_tables(release), diagram_fibre(gather(release), 1e9)
    assert few.count() == diagram.count() > 0
    listed = [tuple(map(int, one)) for one in few.listed()]
    assert listed == sorted(listed)
    assert set(listed) == {tuple(map(int, one)) for one in diagram.listed()}
    weights = belief_of(prior).weights(release.domain)
    one, other = few.weighted(weights), diagram.weighted(weights)
    assert one.log_mass == pytest.approx(other.log_mass)
    best = weights.logs(np.array([one.mode(), other.mode()]))
    assert best[0] == pytest.approx(best[1])
    for cell in range(release.domain.size):
        mine, theirs = one.distribution(cell), other.distribution(cell)
        assert mine.values.tolist() == theirs.values.tolist()
        assert np.allclose(mine.probabilities, theirs.probabilities, rtol=1e-12)
    drawn = one.draw(20, np.random.default_rng(1))
    assert {tuple(map(int, row)) for row in drawn} <= set(listed)


def test_more_than_a_few_are_not_listed():
    release = cb.publish(TABLE, "[a]", "[b]")
    count = few_tables(release).count()
    assert few_tables(release, most=count).count() == count
    assert few_tables(release, most=count - 1) is None


def test_no_table_and_no_weight():
    nothing = ListedFibre(np.zeros((0, 2), dtype=np.int64))
    weights = cb.priors.Multinomial([0, 1]).weights(cb.Domain({"a": [0, 1]}))
    assert nothing.count() == 0
    with pytest.raises(cb.InconsistentRelease):
        nothing.weighted(weights)
    with pytest.raises(cb.InvalidInput, match="no weight"):
        ListedFibre(np.array([[1, 0], [2, 5]])).weighted(weights)
