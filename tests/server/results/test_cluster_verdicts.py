from dataclasses import replace

import numpy as np
import pytest

from tagma.server.results.cluster_verdicts import misplaced, mostly_excluded, screened, verdicts
from tagma.strategies.algorithms.clustered_clients import Clustered
from tagma.strategies.clustering import Clustering, density
from tagma.strategies.screening.confinement import Confinement
from tagma.strategies.screening.error_bars import error_bound
from tagma.strategies.screening.second_choice import SecondChoice
from tagma.strategies.screening.standing import Screening, Standing

ERMS = np.random.default_rng(0).normal(size=(9, 4))
LABELS = np.repeat([0, 1], [5, 4])


def state(trimmed=(), quarantine=True, strikes=(), suspect=()):
    outside = np.isin(np.arange(9), trimmed)
    clustering = Clustering(
        LABELS, np.zeros((2, 4)), outside, np.ones(2), LABELS[None], 0, "given", suspect=suspect
    )
    after = Clustered.after(np.arange(9), ERMS, clustering, Screening(quarantine=quarantine))
    struck = np.isin(np.arange(9), strikes)
    standing = Standing(after.standing.quarantined, 2 * struck, struck, 0 * LABELS)
    return Clustered(**(vars(after) | {"standing": standing}))


def test_the_bound_is_that_of_the_clients_that_count_per_entry():
    first, second = verdicts(state(trimmed=[4], strikes=[0]), [None, None])
    for bound, own in ((first["error_bound"], ERMS[1:4]), (second["error_bound"], ERMS[5:])):
        moved = np.linalg.norm(own.mean(axis=0))  # to models that are zero
        assert bound == pytest.approx(np.hypot(error_bound(own), moved) / 2)
    assert (first["excluded"], second["excluded"]) == (1, 0)


def test_there_is_no_bound_where_clients_outside_the_ball_take_part():
    first, second = verdicts(state(trimmed=[4], quarantine=False), [None, None])
    assert first["error_bound"] is None
    assert second["error_bound"] is not None


@pytest.mark.parametrize("radius", [[np.inf, 1.0], [np.inf, np.inf]])
def test_there_is_no_bound_where_there_is_no_ball(radius):
    given = state()
    clustering = replace(given.clustering, radius=np.array(radius))
    rows = verdicts(replace(given, clustering=clustering), [None, None])
    assert [row["error_bound"] is None for row in rows] == np.isinf(radius).tolist()


def test_there_is_no_bound_where_no_group_was_found():
    vectors = np.eye(3)
    after = Clustered.after(np.arange(3), vectors, density(vectors), Screening(quarantine=True))
    assert verdicts(after, [None])[0]["error_bound"] is None


def test_a_cluster_that_lost_most_of_its_clients_is_named_but_what_is_left_is_not_suspect():
    caught = state(strikes=[0, 1, 2, 5])
    assert [row["suspect"] for row in verdicts(caught, [None, "odd replies"])] == [
        None, "odd replies",
    ]  # fmt: skip
    assert mostly_excluded(caught) == [
        "cluster 0: the reply check excluded 3 of 5 clients; its model is that of the other 2"
    ]


def test_a_cluster_without_anyone_left_is_suspect():
    gone = state(strikes=[0, 1, 2, 3, 4])
    assert "excluded all" in verdicts(gone, ["odd replies", None])[0]["suspect"]
    assert mostly_excluded(gone) == []


def test_what_stage_two_suspects_comes_first():
    rows = verdicts(state(suspect=("too tight", None)), ["odd replies", None])
    assert [row["suspect"] for row in rows] == ["too tight", None]


def test_clients_that_do_not_count_are_listed():
    assert screened(state(trimmed=[4], strikes=[0])) == {
        "quarantined": [4], "excluded": [0], "readmitted": [],
    }  # fmt: skip


def test_there_is_no_bound_for_a_stretched_cluster_nor_for_one_that_is_pulled():
    given = state()
    clustering = replace(given.clustering, stretched=(True, False))
    pulled = Confinement(np.ones(2), np.array([0.5, 1.01]))
    first, second = verdicts(
        replace(given, clustering=clustering, confinement=pulled), [None, None]
    )
    assert (first["error_bound"], second["error_bound"]) == (None, None)
    assert (first["stretched"], second["stretched"]) == (True, False)
    assert (first["suspect"], second["suspect"]) == (None, None)


def test_a_cluster_whose_model_is_torn_away_is_suspect():
    torn = replace(state(), confinement=Confinement(np.ones(2), np.array([0.5, 1.3])))
    assert verdicts(torn, [None, None])[0]["suspect"] is None
    assert "farther from its clients" in verdicts(torn, [None, None])[1]["suspect"]


def test_there_is_no_bound_in_a_contradiction():
    rows = verdicts(replace(state(), contradiction="x"), [None, None])
    assert [row["error_bound"] for row in rows] == [None, None]


def test_clients_that_may_be_elsewhere_are_named():
    given = state(trimmed=[0, 1, 2])
    assert misplaced(given) == []
    rows = np.arange(9)
    between = (rows[:, None] == 5) & np.ones(2, dtype=bool)
    grouped = replace(given.clustering, loose=np.where(rows < 3, 0, -1))
    doubted = replace(given, clustering=grouped, second=SecondChoice.of(between))
    wrong, loose = misplaced(replace(doubted, clients=rows + 10))
    assert wrong.startswith("clients 15 may be in the wrong cluster")
    assert (
        loose == "clients 10, 11, 12 lie near each other and in no cluster: they may be a cluster"
    )
