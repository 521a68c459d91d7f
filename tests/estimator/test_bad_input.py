import warnings

import numpy as np
import pytest
from sklearn.datasets import load_wine

from clsnet import CLSNet


@pytest.fixture
def model(small, vectors):
    return small().partial_fit(vectors[0].X_train, vectors[0].y_train)


@pytest.fixture
def next_task(vectors):
    return vectors[1].X_train.copy(), vectors[1].y_train.copy()


def weights(model):
    return model.classifier_.omega


# ------------------------------------------------------------------------------- samples


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("verb", ["partial_fit", "learn", "fit", "predict", "first"])
def test_values_that_are_no_numbers(small, model, refuses, next_task, value, verb):
    X, y = next_task
    X[5, 6] = value
    calls = {
        "partial_fit": lambda: model.partial_fit(X, y),
        "learn": lambda: model.learn([(X[10:], y[10:]), (X[:10], y[:10])]),
        "fit": lambda: model.fit(X, y),
        "predict": lambda: model.predict(X),
    }
    if verb == "first":
        model = small()
        refuses(model, "NaN or infinite", lambda: model.partial_fit(X, y))
    else:
        refuses(model, "NaN or infinite", calls[verb])


def test_values_too_large_to_be_squared(model, refuses, next_task):
    X, y = next_task
    refuses(model, "too large", lambda: model.partial_fit(X * 1e200, y))


def test_another_width_than_before(model, refuses, next_task):
    X, y = next_task
    reason = "X has 63 features, but CLSNet is expecting 64"
    refuses(model, reason, lambda: model.partial_fit(X[:, 1:], y))
    refuses(model, reason, lambda: model.predict(X[:, 1:]))


def test_a_batch_of_another_width_in_the_middle(small, model, refuses, next_task):
    X, y = next_task
    batches = [(X[:50], y[:50]), (X[50:, 1:], y[50:])]
    refuses(model, "63 features", lambda: model.learn(batches))
    fresh = small()
    refuses(fresh, "63 features", lambda: fresh.learn(batches))
    fresh.partial_fit(X[:, 1:], y)
    assert fresh.n_features_in_ == 63


def test_images_of_another_shape(refuses, tasks):
    model = CLSNet(backbone="identity", connection="Z")
    model.partial_fit(tasks[0].X_train, tasks[0].y_train)
    X, y = tasks[1].X_train, tasks[1].y_train
    reason = r"samples of shape \(8, 7\) given.*learned from samples of shape \(8, 8\)"
    refuses(model, reason, lambda: model.partial_fit(X[:, :, 1:], y))
    refuses(model, reason, lambda: model.predict(X[:, :, 1:]))
    refuses(model, "features", lambda: model.predict(X[:, 1:]))
    refuses(model, "features", lambda: model.predict(X.reshape(len(X), 64)))


def test_patches_of_vectors(refuses, next_task):
    model = CLSNet(backbone="patches")
    refuses(model, "needs images", lambda: model.partial_fit(*next_task))


def test_text_as_samples(small, refuses):
    model = small()
    refuses(model, "not compatible", lambda: model.partial_fit([["a", "b"]], [1]))


# ---------------------------------------------------- little data, and data of every form


def test_one_sample_is_a_task(small, vectors):
    X = vectors[0].X_train
    model = small().partial_fit(X[:1], [3])
    assert model.predict(X).tolist() == [3] * len(X)
    model.partial_fit(X[1:2] + 5, [7])
    assert model.predict([X[0], X[1] + 5]).tolist() == [3, 7]
    assert np.isfinite(model.predict_proba(X)).all()


def test_one_class_is_a_task(small, vectors):
    model = small()
    for label in (4, 9):
        rows = vectors[0].y_train == label
        model.partial_fit(vectors[0].X_train[rows], vectors[0].y_train[rows])
        assert model.predict_proba(vectors[0].X_test).shape[1] == len(model.classes_)
    assert model.score(vectors[0].X_test, vectors[0].y_test) > 0.9


def test_a_constant_feature_changes_no_answer(small, vectors):
    X, y, test = vectors[0].X_train, vectors[0].y_train, vectors[0].X_test
    plain = small(connection="Z").partial_fit(X, y)
    padded = small(connection="Z").partial_fit(np.pad(X, ((0, 0), (0, 1)), constant_values=7), y)
    scores, others = (
        padded.decision_function(np.pad(test, ((0, 0), (0, 1)), constant_values=value))
        for value in (7, -3)
    )
    np.testing.assert_allclose(others, scores, rtol=0, atol=1e-9)
    answers = padded.predict(np.pad(test, ((0, 0), (0, 1)), constant_values=7))
    assert np.mean(answers == plain.predict(test)) > 0.95  # with other random nodes


def test_samples_that_are_all_the_same(small):
    model = small().partial_fit(np.full((10, 4), 3.0), [0] * 7 + [1] * 3)
    assert model.predict(np.full((2, 4), 3.0)).tolist() == [0, 0]
    np.testing.assert_allclose(model.decision_function([[3.0] * 4]), -0.4, atol=0.05)


def test_duplicated_samples_leave_the_solution_alone(small, vectors):
    X, y = vectors[0].X_train, vectors[0].y_train
    model = small(ridge=0.01).partial_fit(X, y)
    twice = small(ridge=0.01).partial_fit(np.concatenate([X, X]), np.concatenate([y, y]))
    np.testing.assert_allclose(
        twice.decision_function(X), model.decision_function(X), rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("ridge", ["auto", 0.0])
@pytest.mark.parametrize("curvature", ["full", "low-rank", "diagonal"])
def test_more_features_than_samples(small, vectors, ridge, curvature):
    X, y = vectors[0].X_train, vectors[0].y_train
    model = small(ridge=ridge, curvature=curvature).partial_fit(X[:20], y[:20])
    assert model.score(X[:20], y[:20]) == 1.0
    assert model.score(vectors[0].X_test, vectors[0].y_test) > 0.85


@pytest.mark.parametrize(
    "form",
    [
        lambda X: X.astype(np.uint8),
        lambda X: X.astype(np.float16),
        lambda X: X.astype(np.float32),
        lambda X: X.astype(np.int64),
        lambda X: X.astype(">f8"),
        lambda X: X.astype(object),
        lambda X: X.tolist(),
        lambda X: np.asfortranarray(X),
        lambda X: np.repeat(X, 2, axis=0)[::2],
        lambda X: X[::-1][::-1],
    ],
    ids=["uint8", "float16", "float32", "int", "big-endian", "object", "list", "F", "gaps", "rev"],
)
def test_the_form_of_an_array_does_not_matter(small, vectors, form):
    plain, other = small(), small()
    for task in vectors[:2]:
        plain.partial_fit(task.X_train, task.y_train)
        other.partial_fit(form(task.X_train), task.y_train)
    np.testing.assert_allclose(weights(other), weights(plain), rtol=0, atol=1e-10)
    X = vectors[0].X_test
    np.testing.assert_allclose(other.predict_proba(form(X)), plain.predict_proba(X), atol=1e-10)


@pytest.mark.parametrize("shape", [(64,), (8, 8)])
def test_arrays_that_may_not_be_written_are_not(tasks, shape):
    X = tasks[0].X_train.reshape(-1, *shape).copy()
    y = tasks[0].y_train.copy()
    X.flags.writeable = y.flags.writeable = False
    model = CLSNet(groups=2, group_size=5, backbone="identity").partial_fit(X, y)
    assert model.score(X, y) > 0.95


def test_the_callers_arrays_are_left_alone(model, next_task):
    X, y = next_task
    X_before, y_before = X.copy(), y.copy()
    model.partial_fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(X, X_before)
    np.testing.assert_array_equal(y, y_before)


# ---------------------------------------------------------------------------- empty tasks


def test_a_task_without_samples(small, model, refuses, next_task):
    X, y = next_task
    refuses(model, r"0 sample\(s\)", lambda: model.partial_fit(X[:0], y[:0]))
    refuses(model, r"0 sample\(s\)", lambda: model.predict(X[:0]))
    fresh = small()
    refuses(fresh, r"0 sample\(s\)", lambda: fresh.partial_fit(X[:0], y[:0]))


@pytest.mark.parametrize("batches", [list, lambda: iter([])], ids=["list", "generator"])
def test_a_task_without_batches(small, model, refuses, batches):
    refuses(model, "this task is empty", lambda: model.learn(batches()))
    fresh = small()
    refuses(fresh, "this task is empty", lambda: fresh.learn(batches()))


# --------------------------------------------------------------------------------- labels


@pytest.mark.parametrize(
    "labels", [[1, "a"], ("a", 1), np.array([1, "a"], dtype=object), ["a", None]], ids=repr
)
def test_labels_of_two_kinds(small, model, refuses, next_task, labels):
    X, _ = next_task
    refuses(model, "labels mix text and numbers", lambda: model.partial_fit(X[:2], labels))
    fresh = small()
    refuses(fresh, "labels mix text and numbers", lambda: fresh.partial_fit(X[:2], labels))


def test_labels_of_another_kind_than_before(small, model, refuses, next_task):
    X, y = next_task
    reason = "learned so far are numbers, but these are text"
    refuses(model, reason, lambda: model.partial_fit(X, y.astype(str)))
    by_name = small().partial_fit(X, y.astype(str))
    refuses(by_name, "are text, but these are numbers", lambda: by_name.partial_fit(X, y))


def test_labels_of_another_kind_in_a_later_batch(small, refuses, next_task):
    X, y = next_task
    model = small()
    batches = [(X[:50], y[:50]), (X[50:], y[50:].astype(str))]
    refuses(model, "text", lambda: model.learn(batches))


@pytest.mark.parametrize(
    ("labels", "reason"),
    [
        ([0.5, 1.5], "continuous"),
        ([np.nan, 1.0], "NaN"),
        ([None, None], "Unknown label type"),
        ([[1, 0], [0, 1]], "1d array"),
    ],
    ids=str,
)
def test_labels_that_are_no_classes(model, refuses, next_task, labels, reason):
    refuses(model, reason, lambda: model.partial_fit(next_task[0][:2], labels))


def test_samples_and_labels_of_different_numbers(small, model, refuses, next_task):
    X, y = next_task
    refuses(model, "inconsistent numbers", lambda: model.partial_fit(X, y[1:]))
    refuses(model, "inconsistent numbers", lambda: model.learn([(X, y), (X[1:], y)]))
    fresh = small()
    refuses(fresh, "inconsistent numbers", lambda: fresh.partial_fit(X, y[1:]))
    fresh.partial_fit(X[:, :9], y)
    assert fresh.n_features_in_ == 9


# ---------------------------------------------------------------------------- interruption


@pytest.mark.parametrize("learned", [0, 1])
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_an_interrupted_task_was_never_begun(
    small, vectors, next_task, state_of, assert_same_state, learned, error
):
    X, y = next_task

    def batches():
        yield X[:100], y[:100]
        yield X[100:200], y[100:200]
        raise error

    model = small(retain="classes")
    for task in vectors[:learned]:
        model.partial_fit(task.X_train, task.y_train)
    before = state_of(model) if learned else set(vars(model))
    with pytest.raises(error):
        model.learn(batches())
    if learned:
        assert_same_state(model, before)
    else:
        assert set(vars(model)) == before
    uninterrupted = small(retain="classes")
    for task in [*vectors[:learned], vectors[1]]:
        uninterrupted.partial_fit(task.X_train, task.y_train)
    model.partial_fit(X, y)
    np.testing.assert_array_equal(weights(model), weights(uninterrupted))


# ------------------------------------------------------------------------------ parameters


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"curvature": "x"}, "'curvature' parameter .* Got 'x'"),
        ({"connection": "B"}, "'connection' parameter .* Got 'B'"),
        ({"preset": "x"}, "'preset' parameter .* Got 'x'"),
        ({"backbone": "patchs"}, "unknown backbone 'patchs'; did you mean 'patches'"),
        ({"groups": 0}, "'groups' parameter"),
        ({"group_size": 2.5}, "'group_size' parameter"),
        ({"activation": "sine"}, "'activation' parameter"),
        ({"alpha": -1}, "'alpha' parameter"),
        ({"ridge": "best"}, "'ridge' parameter"),
        ({"rank": 0}, "'rank' parameter"),
        ({"queue": 0, "retain": "tasks"}, "'queue' parameter"),
        ({"random_state": "x"}, "'random_state' parameter"),
        ({"terms": (4,)}, r"terms=\(4,\): use 1, with or without 2 and 3"),
        ({"terms": (2, 3)}, r"terms=\(2, 3\)"),
        ({"gamma": -1.0}, "'gamma' parameter"),
        ({"gamma": (1.0, -1.0)}, "gamma="),
        ({"gamma": []}, "gamma="),
        ({"retain": "classes", "gamma": 2}, 'retain="classes" needs .* gamma=1'),
        ({"retain": "classes", "curvature": "low-rank"}, 'needs curvature="full"'),
        ({"short_term": (0,)}, 'they need retain="tasks"'),
        ({"queue": 2}, 'they need retain="tasks"'),
    ],
    ids=str,
)
def test_a_parameter_that_makes_no_sense(small, model, refuses, next_task, options, reason):
    fresh = small(**options)
    refuses(fresh, reason, lambda: fresh.partial_fit(*next_task))
    good = small().get_params()
    fresh.set_params(**{name: good[name] for name in options}).partial_fit(*next_task)
    assert fresh.classes_.tolist() == [7, 8]


def test_a_parameter_that_makes_no_sense_later_on(model, next_task):
    before = weights(model)
    with pytest.raises(ValueError, match="'curvature' parameter"):
        model.set_params(curvature="x").partial_fit(*next_task)
    np.testing.assert_array_equal(weights(model), before)
    model.set_params(curvature="full").partial_fit(*next_task)
    assert len(model.classes_) == 4


def test_columns_whose_sums_cannot_tell_how_they_vary_are_told():
    X, y = load_wine(return_X_y=True)
    with pytest.warns(UserWarning, match="column 4 of these samples varies by less than"):
        CLSNet(groups=1, device="cpu").partial_fit(X + 1e12 * (np.arange(13) == 4), y)
    unmoved = np.hstack([1e9 * X, np.full((len(X), 1), 1e12)])  # large, and constant
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert CLSNet(groups=1, device="cpu").fit(unmoved, y).score(unmoved, y) > 0.95
