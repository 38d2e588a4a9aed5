"""What the papers of the defences of updates claim for them, and where they say they fail."""

from functools import partial
from importlib import import_module

import numpy as np
import pytest
from scipy.spatial.distance import cosine

import tagma
from tagma.strategies import aggregation as ours

D = 200
DIGITS = (
    "task=rotated_digits", "task.clusters=1", "task.clients=20", "strategy=fedavg", "rounds=15",
    "training.epochs=2", "oracle=false",
)  # fmt: skip


def honest_updates(m, seed=0, noise=1.0):
    """A common direction, and noise of the same length for each."""
    random = np.random.default_rng(seed)
    return np.ones(D) / np.sqrt(D) + noise * random.normal(size=(m, D)) / np.sqrt(D)


def played(rule, updates, rounds, clients=None):
    """The results of a rule that is called with `updates(round)` round by round."""
    memory, results = None, []
    for number in range(rounds):
        rows = updates(number)
        numbers = np.arange(len(rows)) if clients is None else clients(number)
        results.append(rule(rows, clients=numbers, memory=memory))
        memory = results[-1].memory
    return results


@pytest.fixture(scope="module")
def accuracy(tmp_path_factory):
    """Of a run with these settings; every run once."""
    known = {}

    def of(*settings):
        if settings not in known:
            folder = tmp_path_factory.mktemp("run") / "out"
            run = tagma.run(*DIGITS, *settings, engine="vectorised", folder=folder, progress=False)
            known[settings] = run.metrics["accuracy"]["mean"]
        return known[settings]

    return of


@pytest.mark.parametrize("boost", [10, 1000])
def test_norm_clipping_bounds_what_a_boosted_update_does(boost):
    rows = honest_updates(10)
    boosted = np.vstack([rows, boost * np.eye(1, D)])
    clipped = partial(ours.norm_clipping, radius=2.0)
    without = clipped(np.vstack([rows, np.zeros(D)])).estimate
    assert np.linalg.norm(clipped(boosted).estimate - without) <= 2.0 / 11 + 1e-12
    assert np.linalg.norm(ours.mean(boosted).estimate - without) > boost / 12


def test_without_a_radius_norm_clipping_cuts_to_the_median_length():
    rows = np.array([[1.0, 0.0], [0.0, 2.0], [-30.0, 0.0]])
    found = ours.norm_clipping(rows, radius=None).estimate
    assert found == pytest.approx([(1 - 2) / 3, 2 / 3])


def test_its_noise_is_another_one_every_round_and_the_same_for_the_same_seed():
    rule = partial(ours.norm_clipping, noise=0.1)
    first, second = played(rule, lambda _: honest_updates(5), 2)
    again = played(rule, lambda _: honest_updates(5), 2)
    assert np.array_equal(second.estimate, again[1].estimate)
    assert not np.array_equal(first.estimate, second.estimate)
    assert np.std(first.estimate - second.estimate) == pytest.approx(0.1 * np.sqrt(2), rel=0.2)
    other = played(partial(rule, seed=1), lambda _: honest_updates(5), 1)[0]
    assert not np.array_equal(first.estimate, other.estimate)


@pytest.mark.filterwarnings("ignore::tagma.errors.TagmaWarning")
def test_fltrust_survives_a_byzantine_majority_of_60_percent(accuracy):
    attack = ("attack=sign_flip", "attack.scale=4", "attack.fraction=0.6")
    trusting = ("aggregation=fltrust", "task.server_samples=100")
    assert accuracy(*trusting, *attack) > 0.85
    assert accuracy("aggregation=trimmed_mean", *attack) < 0.3


def test_fltrust_by_hand():
    rows = np.array([[3.0, 4.0], [10.0, 0.0], [-1.0, 0.0], [0.0, 0.0]])
    found = ours.fltrust(rows, reference=[2.0, 0.0])
    # Trusts 0.6, 1, 0, 0; at the length of the reference the rows are (1.2, 1.6) and (2, 0).
    assert found.estimate == pytest.approx([(0.6 * 1.2 + 2) / 1.6, 0.6 * 1.6 / 1.6])
    assert found.kept.tolist() == [True, True, False, False]
    assert ours.fltrust(-rows[:2], reference=[2.0, 0.0]).estimate.tolist() == [0.0, 0.0]
    with pytest.raises(ValueError, match="reference: fltrust needs one"):
        ours.fltrust(rows)


def test_flame_removes_a_scaled_backdoor():
    random = np.random.default_rng(1)
    backdoor = random.normal(size=D) / np.sqrt(D)
    rows = honest_updates(20, noise=0.7)
    rows[:4] = 5 * (rows[:4] + 2 * backdoor)
    found = ours.flame(rows)
    assert not found.kept[:4].any()
    assert found.kept[4:].sum() >= 11  # more than half of all
    added = abs(ours.mean(rows).estimate @ backdoor)
    assert abs(found.estimate @ backdoor) < 0.1 * added


def test_flame_costs_little_without_attack(accuracy):
    with_it = accuracy("aggregation=flame", "attack=none")
    assert with_it > accuracy("aggregation=mean", "attack=none") - 0.03


def with_sybils(number, seed):
    """Twelve clients that want different things, and some that push in the same direction."""
    random = np.random.default_rng(seed)
    own = np.random.default_rng(7).normal(size=(12, D)) + 0.2
    honest = own + 0.5 * random.normal(size=(12, D))
    pushed = 3 + 0.3 * random.normal(size=(number, D))
    return np.vstack([honest, pushed])


def test_foolsgold_separates_sybils():
    found = played(ours.foolsgold, partial(with_sybils, 8), 5)[-1]
    assert found.weights[12:].sum() < 0.01
    assert found.weights[:12].min() > 0.9 / 12


def test_foolsgold_fails_for_one_attacker():
    found = played(ours.foolsgold, partial(with_sybils, 1), 5)[-1]
    assert found.weights[12] > 0.9 / 13


def test_foolsgold_remembers_clients_that_are_not_asked_every_round():
    """Sybils whose own noise hides them in every single round."""
    random = np.random.default_rng(3)
    wants = np.vstack([random.normal(size=(10, D)), np.tile(random.normal(size=D), (4, 1))])

    def chosen(number):
        return np.sort(np.random.default_rng(number).permutation(14)[:9])

    def updates(number):
        noise = 2 * np.random.default_rng(100 + number).normal(size=(9, D))
        return wants[chosen(number)] + noise

    results = played(ours.foolsgold, updates, 60, chosen)
    last = results[-1]
    sybil = chosen(59) >= 10
    assert 1 < sybil.sum() < 5
    assert last.weights[sybil].max() < 0.5 * last.weights[~sybil].min()
    assert last.memory["clients"].tolist() == list(range(14))
    now = ours.foolsgold(updates(59)).weights  # which does not know the rounds before
    assert now[sybil].max() > 0.9 * now[~sybil].min()


def test_the_robust_learning_rate_reverses_what_a_minority_pulls():
    rows = np.random.default_rng(0).normal(size=(10, D)) * 0.1
    rows[:, :100] += 1  # what everybody wants
    rows[:8, 100:] = 0  # what two pull alone
    rows[8:, 100:] = 1
    found = ours.rlr(rows, threshold=0.4).estimate
    mean = rows.mean(axis=0)
    assert np.allclose(found[:100], mean[:100])
    assert np.allclose(found[100:], -mean[100:])
    assert np.allclose(ours.rlr(rows, threshold=0.2).estimate, mean)


class Quadratic:
    """Gradients of twelve clients' quadratics at the model that a rule has led to."""

    def __init__(self, forge):
        random = np.random.default_rng(2)
        self.curvature = np.diag(random.uniform(0.5, 1.5, size=20))
        self.optima = 3 + random.normal(size=(12, 20))
        self.forge, self.model, self.memory = forge, np.zeros(20), None

    def suspects(self, rounds):
        """Who is left out in each round."""
        found = []
        for number in range(rounds):
            random = np.random.default_rng(number)
            rows = (self.model - self.optima) @ self.curvature
            rows += 0.01 * random.normal(size=rows.shape)
            rows[:3] = self.forge(rows[:3], random)
            result = ours.fldetector(rows, window=5, clients=np.arange(12), memory=self.memory)
            self.model = self.model - 0.1 * result.estimate
            self.memory = result.memory
            found.append(np.flatnonzero(~result.kept).tolist())
        return found


def test_fldetector_finds_inconsistent_clients():
    found = Quadratic(lambda rows, random: rows + random.normal(size=rows.shape)).suspects(20)
    assert not any(found[:6])
    assert found[8:] == [[0, 1, 2]] * 12


def test_fldetector_misses_clients_that_lie_in_the_same_way_all_the_time():
    found = Quadratic(lambda rows, _: rows + 2).suspects(20)
    assert not any({0, 1, 2} & set(names) for names in found)


def test_fldetector_judges_clients_by_their_last_update_however_long_ago():
    """Two of three clients are asked in every round; four of 24 lie at random."""
    curvature, random = np.diag(np.linspace(0.5, 1.5, 6)), np.random.default_rng(0)
    optima, model, memory = 3 + 0.2 * random.normal(size=(24, 6)), np.zeros(6), None
    for number in range(25):
        random = np.random.default_rng(number)
        chosen = np.sort(random.permutation(24)[:16])
        rows = (model - optima[chosen]) @ curvature
        rows[chosen < 4] += random.normal(size=((chosen < 4).sum(), 6))
        found = ours.fldetector(rows, window=4, clients=chosen, memory=memory)
        model, memory = model - 0.1 * found.estimate, found.memory
        if number >= 15:
            assert found.kept.tolist() == (chosen >= 4).tolist()


LASA = partial(ours.lasa, layers=[120, 60, 20])


@pytest.mark.parametrize("layer", [slice(0, 120), slice(180, 200)])
def test_lasa_survives_an_attack_on_one_layer_that_is_short_as_a_whole(layer):
    rows = honest_updates(20)
    honest = rows.copy()
    rows[:4, layer] = -4 * rows[:4, layer]
    rows[:4] *= np.linalg.norm(honest[:4], axis=1, keepdims=True) / np.linalg.norm(
        rows[:4], axis=1, keepdims=True
    )
    expected = honest[4:].mean(axis=0)
    apart = cosine(LASA(rows).estimate[layer], expected[layer])
    assert apart < 0.5 * cosine(ours.mean(rows).estimate[layer], expected[layer])


def test_lasa_survives_flipped_signs():
    rows = np.abs(honest_updates(20))  # more positive than negative entries
    rows[:4] *= -1
    found = LASA(rows)
    assert not found.kept[:4].any()
    assert cosine(found.estimate, rows[4:].mean(axis=0)) < 0.02


def test_the_layers_of_lasa_must_make_up_a_row():
    with pytest.raises(ValueError, match="layers: must sum to the 200 entries"):
        ours.lasa(honest_updates(5), layers=[100, 99])


def test_a_run_tells_lasa_its_layers(monkeypatch, accuracy):
    seen = []
    monkeypatch.setattr(
        import_module("tagma.strategies.aggregation.lasa"),
        "_usual",
        lambda long, *_: seen.append(1) or np.ones(len(long), dtype=bool),
    )
    accuracy("aggregation=lasa", "attack=none", "rounds=1")
    assert len(seen) % 4 == 0  # weights and biases of two layers, in every round
    assert len(seen) > 0
