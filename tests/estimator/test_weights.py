"""Weights of samples and of classes, beside repeated samples and weighted ridge regression."""

import itertools

import numpy as np
import pytest
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_wine
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, VotingClassifier
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.class_weight import compute_class_weight, compute_sample_weight
from tests.literal import mean_diagonal, one_hot

from clsnet import CLSNet, load
from clsnet.extractor import Identity

RETAINS = ["total", "tasks", "classes"]


@pytest.fixture(scope="module")
def wine():
    """Three classes of unequal size, their columns of equal scale, in an order of their own."""
    X, y = load_wine(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(y))
    X, y = (X / X.std(axis=0))[order], np.array(["red", "white", "rose"])[y[order]]
    keep = np.flatnonzero((y != "rose") | (np.arange(len(y)) % 3 == 0))
    return X[keep], y[keep]


def fixed(**options):
    """A model whose representations do not depend on data."""
    return CLSNet(backbone=Identity("none"), connection="Z", **options)


def tasks_of(y):
    """The first task has two classes, the second all three."""
    first = np.flatnonzero(y != "rose")[:60]
    return first, np.setdiff1d(np.arange(len(y)), first)


def whole_weights(y, seed=0):
    return np.random.RandomState(seed).randint(0, 4, len(y)).astype(float)


def literal(X, y, weights, classes, ridge):
    """Weighted ridge regression; the ridge is relative to the mean diagonal."""
    A = np.pad(X, ((0, 0), (0, 1)), constant_values=1.0)
    rows = weights[:, None] ** 0.5 * A
    gram, cross = rows.T @ rows, A.T @ (weights[:, None] * one_hot(y, classes))
    return np.linalg.solve(gram + ridge * mean_diagonal(rows) * np.eye(len(gram)), cross)


def assert_same_answers(one, other, X, within=1e-9):
    np.testing.assert_array_equal(one.classes_, other.classes_)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=0, atol=within)
    omega = one.classifier_.omega
    atol = within * abs(omega).max()
    np.testing.assert_allclose(other.classifier_.omega, omega, rtol=0, atol=atol)


# -------------------------------------------------------------------- weights of samples


@pytest.mark.parametrize("retain", RETAINS)
@pytest.mark.parametrize("ridge", ["auto", 1e-3])
@pytest.mark.parametrize("saved", [False, True])
def test_a_whole_weight_is_the_sample_repeated(wine, tmp_path, retain, ridge, saved):
    X, y = wine
    weights = whole_weights(y)
    weighted, repeated = (fixed(retain=retain, ridge=ridge) for _ in "ab")
    for rows in tasks_of(y):
        weighted.partial_fit(X[rows], y[rows], sample_weight=weights[rows])
        again = np.repeat(rows, weights[rows].astype(int))
        repeated.partial_fit(X[again], y[again])
        assert_same_answers(weighted, repeated, X)
        if saved:
            weighted.save(tmp_path / "m.clsnet")
            weighted = load(tmp_path / "m.clsnet")
    if retain == "tasks":
        assert_same_answers(weighted.forget(task=0), repeated.forget(task=0), X)
    if retain == "classes":
        assert_same_answers(*(m.forget(classes=["red"]) for m in (weighted, repeated)), X)


@pytest.mark.parametrize("n", [3, 4, 15])
@pytest.mark.parametrize("retain", RETAINS)
@pytest.mark.parametrize(("ridge", "within"), [("auto", 1e-5), (1e-2, 1e-9)])  # 3e-8 is chosen
def test_so_it_is_where_samples_are_few(wine, n, retain, ridge, within):
    """As a factor, in the space of the samples, and where a Gram matrix would be cheaper."""
    X, y = wine
    X = np.maximum(X @ np.random.RandomState(1).standard_normal((X.shape[1], 80)), 0)
    rows = np.concatenate([np.flatnonzero(y == label)[:n] for label in np.unique(y)])
    weights = np.resize([2.0, 1.0, 0.0], len(rows))
    again = np.repeat(rows, weights.astype(int))
    weighted = fixed(retain=retain, ridge=ridge).fit(X[rows], y[rows], weights)
    repeated = fixed(retain=retain, ridge=ridge).fit(X[again], y[again])
    assert_same_answers(weighted, repeated, X, within)


@pytest.mark.parametrize(
    "options",
    [
        {"curvature": "diagonal", "terms": (1, 2, 3), "ridge": 0.1},
        {"curvature": "diagonal", "fisher": "square-of-mean", "ridge": 0.1},
        {"curvature": "low-rank", "rank": 5, "ridge": 0.1},
        {"terms": (1, 2, 3), "ridge": 0.1},
        {"retain": "tasks", "gamma": 0.5},
        {"precision": "float32", "ridge": 0.1},
    ],
    ids=str,
)
def test_so_it_is_for_other_rules(wine, options):
    X, y = wine
    weights = whole_weights(y)
    weighted, repeated = (fixed(**options) for _ in "ab")
    for label in ("white", "red", "rose"):
        rows = np.flatnonzero(y == label)
        weighted.partial_fit(X[rows], y[rows], sample_weight=weights[rows])
        again = np.repeat(rows, weights[rows].astype(int))
        repeated.partial_fit(X[again], y[again])
    found, wanted = weighted.decision_function(X), repeated.decision_function(X)
    within = 1e-4 if "precision" in options else 1e-8
    np.testing.assert_allclose(found, wanted, rtol=0, atol=within * abs(wanted).max())


@pytest.mark.parametrize("retain", RETAINS)
def test_any_weight_is_that_of_weighted_ridge_regression(wine, retain):
    X, y = wine
    weights = np.random.RandomState(2).uniform(0.1, 5, len(y))
    model = fixed(retain=retain, ridge=1e-3)
    for rows in tasks_of(y):
        model.partial_fit(X[rows], y[rows], sample_weight=weights[rows])
    wanted = literal(X, y, weights, model.classes_, 1e-3)
    np.testing.assert_allclose(model.classifier_.omega, wanted, rtol=1e-7, atol=1e-9)


def test_a_task_in_batches_has_the_weights_of_each(wine):
    X, y = wine
    weights = whole_weights(y)
    weights[:20] = 0
    weights[60:] = 1
    parts = [slice(0, 20), slice(20, 60), slice(60, None)]
    batches = [(X[p], y[p], weights[p]) for p in parts[:2]] + [(X[parts[2]], y[parts[2]])]
    assert_same_answers(fixed().learn(batches), fixed().fit(X, y, weights), X)


def test_a_sample_of_weight_0_is_not_there_for_the_extractor_either(wine):
    X, y = wine
    far = np.concatenate([X, 1e6 + X[:30]])
    weights = np.concatenate([np.ones(len(y)), np.zeros(30)])
    model = CLSNet(backbone="identity", connection="A", groups=2, group_size=5)
    model.fit(far, np.concatenate([y, y[:30]]), weights)
    plain = CLSNet(backbone="identity", connection="A", groups=2, group_size=5).fit(X, y)
    np.testing.assert_array_equal(model.transform(X), plain.transform(X))
    np.testing.assert_array_equal(model.classifier_.omega, plain.classifier_.omega)
    assert model.tasks_ == plain.tasks_


def test_tasks_tell_numbers_of_samples_not_of_weights(wine, tmp_path):
    X, y = wine
    model = fixed().fit(X, y, np.full(len(y), 2.5))
    assert sum(model.tasks_[0].counts.values()) == len(y)
    assert all(isinstance(n, int) for n in model.tasks_[0].counts.values())
    model.save(tmp_path / "m.clsnet")
    assert load(tmp_path / "m.clsnet").tasks_ == model.tasks_
    assert model.tasks_[0].weight("red") == 2.5 * (y == "red").sum()


@pytest.mark.parametrize("scale", [1e-290, 1e-2, 1.0])
@pytest.mark.parametrize("retain", RETAINS)
def test_weights_that_sum_up_to_little_only_tell_samples_apart(wine, scale, retain):
    X, y = wine
    weights = np.random.RandomState(3).uniform(0.5, 1.5, len(y))
    weights *= len(y) / weights.sum()
    model = fixed(retain=retain).fit(X, y, weights)
    assert_same_answers(fixed(retain=retain).fit(X, y, scale * weights), model, X)
    assert_same_answers(fixed(retain=retain).fit(X, y, 0.3), fixed(retain=retain).fit(X, y), X)


def test_small_weights_are_followed_by_small_tasks(wine):
    """A factor of scaled sums would be that of other sums."""
    X, y = wine
    X = np.maximum(X @ np.random.RandomState(1).standard_normal((X.shape[1], 100)), 0)
    models = [fixed(), fixed()]
    for rows in (slice(0, 100), slice(100, 103), slice(103, 105)):
        models[0].partial_fit(X[rows], y[rows], sample_weight=0.01).consolidate()
        models[1].partial_fit(X[rows], y[rows], sample_weight=0.01)
    assert_same_answers(*models, X)


def test_a_model_that_knows_a_class_needs_no_sample_of_it_that_counts(wine):
    X, y = wine
    model = fixed().fit(X, y)
    plain = fixed().fit(X, y).partial_fit(X[y == "red"], y[y == "red"])
    model.partial_fit(X, y, sample_weight=(y == "red").astype(float))
    assert_same_answers(model, plain, X)


# -------------------------------------------------------------------- weights of classes


def balanced(y):
    labels = np.unique(y)
    return dict(
        zip(labels, compute_class_weight("balanced", classes=labels, y=y).tolist(), strict=True)
    )


@pytest.mark.parametrize("class_weight", ["balanced", {"rose": 8.0, "red": 0.5}], ids=str)
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))), ids=str)
def test_classes_weigh_what_they_should_after_any_order_of_tasks(wine, class_weight, order):
    X, y = wine
    tasks = np.array_split(np.argsort(y, kind="stable"), [20, 90])
    model = fixed(retain="classes", ridge=1e-3, class_weight=class_weight)
    seen = np.array([], int)
    for number in order:
        model.partial_fit(X[tasks[number]], y[tasks[number]])
        seen = np.concatenate([seen, tasks[number]])
        each = balanced(y[seen]) if class_weight == "balanced" else class_weight
        weights = np.array([each.get(label, 1.0) for label in y[seen]])
        wanted = literal(X[seen], y[seen], weights, model.classes_, 1e-3)
        np.testing.assert_allclose(model.classifier_.omega, wanted, rtol=1e-7, atol=1e-9)


def test_balance_follows_what_is_forgotten_and_what_is_saved(wine, tmp_path):
    X, y = wine
    model = fixed(retain="classes", class_weight="balanced").fit(X, y)
    model.save(tmp_path / "m.clsnet")
    model = load(tmp_path / "m.clsnet").forget(classes=["red"])
    rest = y != "red"
    never = fixed(retain="classes", class_weight="balanced").fit(X[rest], y[rest])
    assert_same_answers(model, never, X)


def test_weights_of_classes_may_be_chosen_when_all_is_learned(wine, tmp_path):
    X, y = wine
    model = fixed(retain="classes").fit(X, y)
    plain = model.predict_proba(X)
    for class_weight in ("balanced", {"rose": 8.0}):
        wanted = fixed(retain="classes", class_weight=class_weight).fit(X, y)
        assert_same_answers(model.set_params(class_weight=class_weight), wanted, X)
    model.save(tmp_path / "m.clsnet")
    assert_same_answers(load(tmp_path / "m.clsnet"), wanted, X)
    np.testing.assert_array_equal(model.set_params(class_weight=None).predict_proba(X), plain)
    total = fixed().fit(X, y)
    plain = total.predict_proba(X)
    np.testing.assert_array_equal(total.set_params(class_weight="balanced").predict_proba(X), plain)


@pytest.mark.parametrize("retain", ["total", "tasks"])
@pytest.mark.parametrize("class_weight", ["balanced", {"rose": 8.0, "red": 0.5}], ids=str)
def test_fit_needs_no_sums_per_class(wine, retain, class_weight):
    X, y = wine
    weights = whole_weights(y)
    model = fixed(retain=retain, class_weight=class_weight).fit(X, y, weights)
    later = fixed(retain="classes", class_weight=class_weight).fit(X, y, weights)
    assert_same_answers(model, later, X)


@pytest.mark.parametrize("retain", ["total", "tasks"])
def test_given_weights_of_classes_apply_as_samples_come(wine, retain, tmp_path):
    X, y = wine
    model = fixed(retain=retain, ridge=1e-3, class_weight={"rose": 8.0, "red": 0.5})
    for rows in tasks_of(y):
        model.partial_fit(X[rows], y[rows])
        model.save(tmp_path / "m.clsnet")
        model = load(tmp_path / "m.clsnet")
    weights = compute_sample_weight({"rose": 8.0, "red": 0.5, "white": 1.0}, y)
    wanted = literal(X, y, weights, model.classes_, 1e-3)
    np.testing.assert_allclose(model.classifier_.omega, wanted, rtol=1e-7, atol=1e-9)


def test_numbers_name_classes_too_and_are_saved(wine, tmp_path):
    X, y = wine
    codes = np.unique(y, return_inverse=True)[1]
    model = fixed(class_weight={0: 3.0, np.int64(2): 2}).fit(X, codes)
    model.save(tmp_path / "m.clsnet")
    assert load(tmp_path / "m.clsnet").class_weight == {0: 3.0, 2: 2}
    weights = np.array([3.0, 1.0, 2.0])[codes]
    assert_same_answers(model, fixed().fit(X, codes, weights), X)


# ------------------------------------------------------------------ beside scikit-learn


def test_weights_go_where_scikit_learn_takes_them(wine):
    X, y = wine
    weights = whole_weights(y) + 0.5
    assert fixed().fit(X, y).score(X, y, weights) > 0.9
    assert CalibratedClassifierCV(fixed(), cv=3).fit(X, y, sample_weight=weights).score(X, y) > 0.9
    with sklearn.config_context(enable_metadata_routing=True):
        model = fixed().set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        scores = cross_val_score(model, X, y, params={"sample_weight": weights})
        search = GridSearchCV(model, {"ridge": [1e-3, 1e-1]}).fit(X, y, sample_weight=weights)
    assert min(scores) > 0.8
    assert search.best_score_ > 0.9
    voters = VotingClassifier([("a", fixed()), ("b", fixed(ridge=1.0))], voting="soft")
    assert voters.fit(X, y, sample_weight=weights).score(X, y) > 0.9
    assert BaggingClassifier(fixed(), 3, random_state=0).fit(X, y).score(X, y) > 0.9


def test_boosting_gives_weights_that_sum_up_to_1(wine):
    X, y = wine
    boosted = AdaBoostClassifier(fixed(), n_estimators=3, random_state=0).fit(X, y)
    assert boosted.score(X, y) >= fixed().fit(X, y).score(X, y) - 0.02


# ----------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda w: -w, "sample_weight holds a negative weight, -"),
        (lambda w: np.where(w == w[3], np.nan, w), "sample_weight holds NaN or infinite"),
        (lambda w: w * np.inf, "sample_weight holds NaN or infinite"),
        (lambda w: w[1:], "weights given for"),
        (lambda w: w[:, None], "give a 1d array"),
        (lambda w: ["heavy"] * len(w), "not a number"),
        (lambda w: 0 * w, "all sample weights are zero"),
        (lambda w: 1e-322 * w, "all sample weights are zero"),
        (lambda w: 1e306 * w, "too large"),
    ],
    ids=["negative", "nan", "infinite", "shorter", "2d", "text", "zeros", "tiny", "huge"],
)
@pytest.mark.parametrize("verb", ["fit", "partial_fit", "learn", "first"])
def test_weights_that_are_none(wine, refuses, change, reason, verb):
    X, y = wine
    weights = change(np.arange(1.0, len(y) + 1))
    model = fixed()
    if verb != "first":
        model.fit(X, y)
    calls = {
        "fit": lambda: model.fit(X, y, weights),
        "partial_fit": lambda: model.partial_fit(X, y, sample_weight=weights),
        "learn": lambda: model.learn([(X, y, weights)]),
    }
    refuses(model, reason, calls.get(verb, calls["partial_fit"]))


def test_a_batch_of_too_many_parts(wine, refuses):
    model = fixed()
    reason = r"a batch is a pair \(X, y\), or"
    refuses(model, reason, lambda: model.learn([(*wine, None, None)]))
    refuses(model, reason, lambda: model.learn([wine[:1]]))


def test_a_class_of_weight_0(wine, refuses):
    X, y = wine
    weights = (y != "rose").astype(float)
    reason = "all samples of class 'rose' have weight 0; give one"
    fresh, known = fixed(), fixed().fit(X[y != "rose"], y[y != "rose"])
    refuses(fresh, reason, lambda: fresh.fit(X, y, weights))
    refuses(fresh, reason, lambda: fresh.learn([(X[:50], y[:50], 0), (X, y, weights)]))
    refuses(known, reason, lambda: known.partial_fit(X, y, sample_weight=weights))
    known.learn([(X, y, weights), (X, y)])
    assert "rose" in known.classes_


@pytest.mark.parametrize(
    ("class_weight", "reason"),
    [
        ("heavy", "'class_weight' parameter"),
        ({"red": 0}, "class_weight of class 'red' is 0: give a number above 0"),
        ({"red": -1.0}, "is -1.0: give a number above 0"),
        ({"red": np.nan}, "is nan: give a number above 0"),
        ({"red": "much"}, "is 'much': give a number above 0"),
        ({1: 2.0}, "class_weight names classes by numbers, but labels are text"),
    ],
    ids=str,
)
@pytest.mark.parametrize("retain", RETAINS)
def test_weights_of_classes_that_are_none(wine, refuses, class_weight, reason, retain):
    model = fixed(class_weight=class_weight, retain=retain)
    refuses(model, reason, lambda: model.fit(*wine))


def test_balance_as_tasks_come_needs_sums_per_class(wine, refuses):
    model = fixed(class_weight="balanced")
    reason = 'class_weight="balanced" .* needs retain="classes"'
    refuses(model, reason, lambda: model.partial_fit(*wine))
    refuses(model, reason, lambda: model.learn([wine]))
    model = fixed(class_weight="balanced", retain="classes", terms=(1, 2, 3))
    refuses(model, "terms without 3", lambda: model.partial_fit(*wine))
