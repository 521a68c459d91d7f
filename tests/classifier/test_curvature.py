import numpy as np
import pytest
from sklearn.datasets import load_digits

from clsnet import CLSNet
from clsnet.classifier.curvatures import DiagonalTrace, LowRankTrace, trace_of
from clsnet.classifier.solvers import System
from clsnet.classifier.sums import RunningSums
from clsnet.extractor import Identity

X, Y = load_digits(return_X_y=True)
X, Y = X[:600] / 16, Y[:600]
SIZE = 7
EVERY = ["a", "b", "c", "d", "new"]


def full(labels, seed, n=20, size=SIZE):
    random = np.random.default_rng(seed)
    A = random.standard_normal((n, size))
    return trace_of(RunningSums(size).add(A, random.choice(labels, n)))


def low_rank(labels, seed, rank=SIZE):
    trace = full(labels, seed)
    omega = np.random.default_rng(seed).standard_normal((SIZE, len(trace.labels)))
    return LowRankTrace.of(trace, omega, rank)


def diagonal(labels, seed):
    F, omega = np.random.default_rng(seed).uniform(0, 1, (2, SIZE, len(labels) + 1))
    return DiagonalTrace(list(labels), F[:, :-1], (F * omega)[:, :-1], F[:, -1], 20)


def system_of(*weighted, labels=EVERY):
    system = System.zeros(SIZE, len(labels), "cpu")
    for trace, gamma in weighted:
        trace.add_to(system, labels, gamma)
    return system


def assert_close(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7)


def assert_same(a, b):
    np.testing.assert_allclose(a.shared, b.shared, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(a.rhs, b.rhs, rtol=1e-10, atol=1e-10)
    assert (a.diagonal is None) == (b.diagonal is None)
    if a.diagonal is not None:
        np.testing.assert_allclose(a.diagonal, b.diagonal, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", [full, low_rank, diagonal])
@pytest.mark.parametrize("gamma", [0.0, 1.0, 2.5])
def test_merged_traces_constrain_as_both_do(kind, gamma):
    one, two = kind(["a", "b", "c"], seed=1), kind(["b", "d"], seed=2)
    merged = one.merge(two, gamma)
    assert_same(system_of((merged, 3.0)), system_of((one, 3.0), (two, 3.0 * gamma)))
    assert set(merged.labels) == {"a", "b", "c", "d"}
    assert merged.n_samples == 20 + gamma * 20


@pytest.mark.parametrize("kind", [full, low_rank, diagonal])
@pytest.mark.parametrize("gamma", [0.0, 4.0])
def test_times_is_a_weight_for_good(kind, gamma):
    trace = kind(["a", "b"], seed=3)
    assert_same(system_of((trace.times(gamma), 2.0)), system_of((trace, 2.0 * gamma)))
    assert trace.times(gamma).n_samples == gamma * 20


@pytest.mark.parametrize("kind", [full, low_rank, diagonal])
def test_merging_and_scaling_leave_their_operands_alone(kind):
    one, two = kind(["a", "b"], seed=1), kind(["c"], seed=2)
    before = system_of((one, 1.0), (two, 1.0))
    one.merge(two, 2.0)
    one.times(5.0)
    one.without(["a"])
    assert_same(system_of((one, 1.0), (two, 1.0)), before)


@pytest.mark.parametrize("kind", [full, low_rank, diagonal])
def test_without_removes_the_pull_of_a_class_and_keeps_the_others(kind):
    trace = kind(["a", "b", "c"], seed=4)
    left = trace.without(["b", "never seen"])
    assert left.labels == ["a", "c"]
    assert_same(
        system_of((left, 1.0), labels=["a", "c", "d"]),
        system_of((trace, 1.0), labels=["a", "c", "d"]),
    )
    assert abs(system_of((left, 1.0)).rhs[:, EVERY.index("b")]).max() == 0
    assert abs(system_of((trace, 1.0)).rhs[:, EVERY.index("b")]).max() > 0


def test_a_class_removed_from_a_diagonal_is_as_good_as_new():
    left = system_of((diagonal(["a", "b"], seed=5).without(["b"]), 1.0))
    assert np.array_equal(left.diagonal[:, EVERY.index("b")], left.diagonal[:, EVERY.index("new")])


@pytest.mark.parametrize("kind", [full, low_rank, diagonal])
def test_trace_without_any_class_still_constrains(kind):
    left = system_of((kind(["a"], seed=6).without(["a"]), 1.0))
    assert abs(left.rhs).max() == 0
    assert abs(left.shared).max() > 0 or abs(left.diagonal).max() > 0


@pytest.mark.parametrize("rank", [1, 3, SIZE, SIZE + 5])
def test_low_rank_keeps_the_whole_diagonal(rank):
    exact = full(["a", "b"], seed=7)
    omega = np.zeros((SIZE, 2))
    kept = system_of((LowRankTrace.of(exact, omega, rank), 1.0)).shared
    assert_close(kept.diagonal(), exact.gram.diagonal())
    if rank >= SIZE:
        assert_close(kept, exact.gram)
    else:
        assert abs(kept - exact.gram).max() > 1e-3


@pytest.mark.parametrize("rank", [1, 3, SIZE])
def test_low_rank_merge_keeps_rank_and_the_whole_diagonal(rank):
    one, two = low_rank(["a", "b"], 8, rank), low_rank(["b", "c"], 9, rank)
    merged = one.merge(two, 2.5)
    assert merged.factor.shape == (SIZE, rank)
    together = system_of((one, 1.0), (two, 2.5))
    kept = system_of((merged, 1.0))
    np.testing.assert_allclose(
        kept.shared.diagonal(), together.shared.diagonal(), rtol=1e-7, atol=1e-7
    )
    assert_close(kept.rhs, together.rhs)
    assert (merged.rest >= -1e-12).all()


def test_low_rank_curvature_keeps_the_leading_directions():
    exact = full(["a"], seed=10)
    trace = LowRankTrace.of(exact, np.zeros((SIZE, 1)), 2)
    leading = np.linalg.eigvalsh(exact.gram)[-2:]
    kept = np.linalg.eigvalsh(trace.factor.T @ trace.factor)
    assert_close(kept, leading)


CLASSES = ([0, 1, 2], [3, 4, 5], [6, 7, 8, 9])


def learned(ridge=1e-9, **options):
    model = CLSNet(backbone=Identity("none"), connection="Z", ridge=ridge, **options)
    for classes in CLASSES:
        task = np.isin(Y, classes)
        model.partial_fit(X[task], Y[task])
    return model


@pytest.mark.parametrize("retain", ["total", "tasks"])
@pytest.mark.parametrize("ridge", [1e-6, 1e-3, 1e-1])
def test_low_rank_of_full_rank_is_the_full_curvature(retain, ridge):
    low_rank = learned(ridge, curvature="low-rank", rank=65, retain=retain)
    full = learned(ridge, retain=retain)
    np.testing.assert_allclose(low_rank.classifier_.omega, full.classifier_.omega, atol=1e-8)


def test_the_more_directions_are_kept_the_closer_to_the_full_curvature():
    exact = learned(curvature="full").decision_function(X)
    ranks = (1, 8, 24, 40, 65)
    kept = [learned(curvature="low-rank", rank=r, retain="tasks") for r in ranks]
    distances = [abs(model.decision_function(X) - exact).mean() for model in kept]
    assert distances == sorted(distances, reverse=True)
    assert distances[0] > 100 * distances[-1]
