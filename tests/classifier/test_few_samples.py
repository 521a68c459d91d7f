import numpy as np
import pytest

from clsnet import CLSNet, load
from clsnet.classifier.analytic import AnalyticClassifier
from clsnet.classifier.curvatures import FewSamples, FullTrace, trace_of
from clsnet.classifier.curvatures.few_samples import trapezoid
from clsnet.classifier.curvatures.total import total
from clsnet.classifier.rule import Rule
from clsnet.classifier.solvers import System
from clsnet.classifier.sums import RunningSums
from clsnet.extractor import Identity
from tests.literal import declarative_parameters, mean_diagonal, one_hot

CPU = "cpu"
SIZE = 24


def matrix(kind, n, seed=0):
    """Rows of SIZE columns, the first of which may depend on each other."""
    A = np.random.default_rng(seed).standard_normal((n, SIZE))
    if kind == "zeros":
        A[:, : n + 3] = 0
    elif kind == "constant":
        A[:, : n + 3] = 1.5
    elif kind == "twice":
        A = A[np.arange(n) // 2]
    elif kind == "nothing":
        A[:] = 0
    return A


def orthogonal(n):
    return np.linalg.qr(np.random.default_rng(1).standard_normal((n, n))).Q


def few(labels, n, seed=0):
    A = matrix("plain", n, seed)
    return trace_of(RunningSums(SIZE).add(A, np.resize(labels, n)))


def dense(trace):
    gram = trace.rows.T @ trace.rows
    return FullTrace(trace.labels, gram, trace.cross, trace.n_samples)


def assert_same(a, b, labels=("a", "b", "c")):
    systems = [System.zeros(SIZE, len(labels), CPU) for _ in "ab"]
    for trace, system in zip((a, b), systems, strict=True):
        trace.add_to(system, labels, 1.5)
    np.testing.assert_allclose(systems[0].shared, systems[1].shared, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(systems[0].rhs, systems[1].rhs, rtol=1e-12, atol=1e-12)
    assert a.n_samples == b.n_samples


# ------------------------------------------------------------------------------ the factor

KINDS = ["plain", "zeros", "constant", "twice", "nothing"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 7, 12])
def test_the_factor_is_upper_trapezoidal_and_has_the_same_products(kind, n, on, back):
    A = matrix(kind, n)
    R = back(trapezoid(on(A)))
    assert R.shape == A.shape
    np.testing.assert_array_equal(R, np.triu(R))
    assert (R.diagonal() >= 0).all()
    np.testing.assert_allclose(R.T @ R, A.T @ A, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", ["plain", "zeros", "nothing"])  # else rounding has a say in it
def test_the_factor_tells_no_more_than_the_products(kind):
    """Any other samples with the same products have the same factor."""
    A = matrix(kind, 8)
    for others in (A[::-1], -A, orthogonal(8) @ A):
        np.testing.assert_allclose(trapezoid(others), trapezoid(A), rtol=1e-9, atol=1e-9)


def normalised(A):
    return A / np.linalg.norm(A, axis=1, keepdims=True)


@pytest.mark.parametrize("kind", ["plain", "zeros", "constant"])
def test_no_row_of_the_factor_is_a_sample(kind):
    A = matrix(kind, 8)
    cosines = normalised(A) @ normalised(trapezoid(A)).T
    assert abs(cosines).max() < 0.99


# ------------------------------------------------------------------------------ the trace


def test_few_samples_stay_a_factor_until_a_matrix_is_cheaper():
    trace = few(["a"], 4)
    for seed, kind in ((1, FewSamples), (2, FewSamples), (3, FullTrace), (4, FullTrace)):
        other = few(["a", "b"], 4, seed)
        before = dense(trace) if isinstance(trace, FewSamples) else trace
        trace = trace.merge(other, 2.0)
        assert type(trace) is kind
        assert_same(trace, before.merge(dense(other), 2.0))


def test_a_factor_is_scaled_and_loses_columns_as_a_matrix_does():
    trace = few(["a", "b"], 5)
    for changed, expected in (
        (trace.times(3.0), dense(trace).times(3.0)),
        (trace.without(["a"]), dense(trace).without(["a"])),
        (trace.dense, dense(trace)),
    ):
        assert_same(changed, expected)
    assert type(trace.times(3.0)) is type(trace.without(["a"])) is FewSamples
    assert "gram" not in vars(trace.times(2.0))


def test_merging_leaves_both_as_they_were():
    one, two = few(["a"], 3), few(["b"], 2, 1)
    rows = one.rows.copy(), two.rows.copy()
    one.merge(two, 2.0)
    assert np.array_equal(one.rows, rows[0])
    assert np.array_equal(two.rows, rows[1])


def test_a_total_of_many_is_their_sum_and_makes_no_matrix_of_any():
    traces = [few([label], 1 + i % 9, i) for i, label in enumerate("abcacbbca" * 3)]
    traces.insert(4, dense(few(["b", "c"], 12, 50)))
    expected = traces[0]
    for trace in traces[1:]:
        expected = expected.merge(trace)
    found = total(traces)
    assert_same(found, expected)
    np.testing.assert_array_equal(found.gram, found.gram.T)
    assert set(found.labels) == set("abc")
    alone = [trace for trace in traces if isinstance(trace, FewSamples)]
    assert not any("gram" in vars(trace) for trace in alone[1:])
    assert total(traces[:1]) is traces[0]


def test_one_total_grows_by_sums_and_classes_by_factors():
    tasks = [(matrix("plain", 3, seed), np.array(["a", "a", "b"])) for seed in range(3)]
    kinds = {}
    for retain in ("total", "classes", "tasks"):
        classifier = AnalyticClassifier(Rule(retain=retain), SIZE, CPU)
        for task in tasks:
            classifier = classifier.learn(lambda task=task: [task])
        kinds[retain] = {isinstance(trace, FewSamples) for trace in classifier.traces.values()}
    assert kinds == {"total": {False}, "classes": {True}, "tasks": {True}}


# -------------------------------------------------------------------------- exact forgetting

D = 60
RANDOM = np.random.default_rng(3)
CENTRES = RANDOM.standard_normal((5, 10))
MIXING = RANDOM.standard_normal((10, D))


def photos(counts, seed):
    """Features like those behind a ReLU."""
    random = np.random.default_rng(seed)
    y = np.repeat(list(counts), list(counts.values()))
    X = (CENTRES[[ord(label) - ord("a") for label in y]] + random.standard_normal((len(y), 10))) / 3
    return np.maximum(X @ MIXING, 0), y


TASKS = {
    "in one task": [{"a": 8, "b": 5}, {"c": 20, "d": 1}, {"b": 4}],
    "in several tasks": [{"a": 8, "c": 3}, {"b": 2, "c": 5}, {"c": 10, "d": 9}],
    "until a matrix is cheaper": [{"a": 8, "c": 20}, {"b": 9, "c": 25}, {"c": 2}],
    "as a matrix at once": [{"a": 35, "b": 40}, {"c": 50}],
}


@pytest.mark.parametrize("tasks", TASKS.values(), ids=TASKS)
@pytest.mark.parametrize("ridge", [1e-4, 1e-2])
@pytest.mark.parametrize("saved", [False, True])
def test_forgetting_a_class_equals_never_having_learned_it(tmp_path, tasks, ridge, saved):
    model = CLSNet(backbone=Identity("none"), connection="Z", retain="classes", ridge=ridge)
    data = [photos(counts, seed) for seed, counts in enumerate(tasks)]
    for X, y in data:
        model.partial_fit(X, y)
        if saved:
            model.save(tmp_path / "m.clsnet")
            model = load(tmp_path / "m.clsnet")
    model.forget(classes=["c"])
    if saved:
        model.save(tmp_path / "m.clsnet")
        model = load(tmp_path / "m.clsnet")
    X, y = (np.concatenate(parts) for parts in zip(*data, strict=True))
    A, y = np.pad(X[y != "c"], ((0, 0), (0, 1)), constant_values=1.0), y[y != "c"]
    literal = declarative_parameters(A, one_hot(y, model.classes_), ridge * mean_diagonal(A))
    error = abs(model.classifier_.omega - literal).max() / abs(literal).max()
    assert error < 1e-8
