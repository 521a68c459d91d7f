"""Noise on sums: what it promises, and what somebody who tries finds."""

import math

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

from clsnet import CLSNet, ClsnetError, Sums
from clsnet.classifier.noise import Privacy, delta_of, epsilon_of

X, Y = load_digits(return_X_y=True)
SMALL = {"backbone": "identity", "connection": "Z", "ridge": 0.1}


def model():
    return CLSNet(**SMALL).prepare(X)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-6), (1, 1e-5), (8, 1e-5), (50, 1e-3)])
def test_the_accounting_is_consistent(epsilon, delta):
    promised = Privacy.of(epsilon, delta)
    assert delta_of(promised.mu, epsilon) == pytest.approx(delta, rel=1e-6)
    assert epsilon_of(promised.mu, delta) == pytest.approx(epsilon, rel=1e-6)
    # No worse than the classical bound, which holds up to an epsilon of 1.
    if epsilon <= 1:
        assert 1 / promised.mu <= math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def test_releases_of_the_same_people_cost_more_than_of_others():
    one = Privacy.of(1, 1e-5)
    both = one.beside(one)
    assert both.epsilon == pytest.approx(1)
    assert 1.4 < both.epsilon_in_all < 2


def test_the_numbers_that_are_added_have_the_deviation_that_is_told():
    sums = model().summarise([(X, Y)], clip=1.0)
    draws = [sums.with_noise(5, 1e-5, np.random.default_rng(i)) for i in range(30)]
    mu = draws[0].privacy.mu
    noise = [d.summed.traces["total"].cross - sums.summed.traces["total"].cross for d in draws]
    assert np.std(noise) == pytest.approx(1 / (mu * math.sqrt(0.19)), rel=0.02)
    assert np.linalg.eigvalsh(draws[0].summed.traces["total"].gram).min() > -1e-9


def test_a_membership_test_does_no_better_than_is_promised():
    """The tester knows all other samples and the one in question, and looks at the noisy sums."""
    taught, n = model(), 400
    others = taught.summarise([(X[1:200], Y[1:200])], clip=1.0)
    with_it = others + taught.summarise([(X[:1], Y[:1])], clip=1.0)
    direction = flat(with_it) - flat(others)

    def auc(epsilon):
        random = np.random.default_rng(0)
        scores = [
            float((flat(sums.with_noise(epsilon, 1e-5, random)) - flat(others)) @ direction)
            for sums in (others, with_it)
            for _ in range(n // 2)
        ]
        return roc_auc_score([0] * (n // 2) + [1] * (n // 2), scores)

    assert direction @ direction > 1  # without noise, the sums tell for certain
    weak, strong = auc(50), auc(1)
    promised = Privacy.of(1, 1e-5)
    most = 0.5 * math.erfc(-promised.mu / 2)  # Phi(mu / sqrt(2)): of the best test there is
    assert strong <= most + 3 * math.sqrt(0.25 / n)
    assert weak > 0.85 > strong


def flat(sums):
    trace = sums.summed.traces["total"].dense
    counts = np.array([sums.summed.task.counts.get(label, 0) for label in range(10)])
    return np.concatenate([trace.gram.ravel(), trace.columns(range(10)).ravel(), counts])


def test_a_model_learns_from_noisy_sums_of_two_places(tmp_path):
    big_X, big_Y = np.tile(X, (5, 1)), np.tile(Y, 5)
    taught = model()
    for i in range(2):
        sums = taught.summarise([(big_X[i::2], big_Y[i::2])], clip=1.0)
        sums.with_noise(8, 1e-5, np.random.default_rng(i)).save(tmp_path / f"{i}.sums")
    both = Sums.load(tmp_path / "0.sums") + Sums.load(tmp_path / "1.sums")
    assert both.privacy.epsilon == pytest.approx(8)
    assert both.privacy.epsilon_in_all > 11
    assert "epsilon=8.0" in repr(both)
    assert taught.twin().learn_sums(both).score(X, Y) > 0.8
    exact = taught.summarise([(X, Y)], clip=1.0)
    assert (both + exact).privacy is None


def test_what_cannot_be_promised_is_refused():
    taught = model()
    plain = taught.summarise([(X, Y)])
    short = taught.summarise([(X, Y)], clip=1.0)
    for sums in (plain, short.with_noise(1, 1e-5)):
        with pytest.raises(ClsnetError, match=r"summarise\(..., clip=NORM\)"):
            sums.with_noise(1, 1e-5)
    hidden = np.where(Y == 0, 0.5, 1.0)
    hidden[0] += np.sum(Y == 0) / 2  # the weights of a class sum up to its number of samples
    for weights in (1 + Y, hidden):
        with pytest.raises(ClsnetError, match="without weights"):
            taught.summarise([(X, Y, weights)], clip=1.0)
    for epsilon, delta in ((0, 1e-5), (1, 0), (-1, 1e-5), (1, 2)):
        with pytest.raises(ClsnetError, match="use an epsilon above 0"):
            short.with_noise(epsilon, delta)
    with pytest.raises(ClsnetError, match="different clip"):
        plain + short
    with pytest.raises(ClsnetError, match="clip=-1"):
        taught.summarise([(X, Y)], clip=-1)
