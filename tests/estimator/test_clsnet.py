import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from clsnet import CLSNet
from clsnet.arrays.devices import has_gpu
from clsnet.errors import ClsnetError
from clsnet.extractor import Augmentation, Identity, Patches

NAMES = np.array(["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"])


def learn_all(model, tasks):
    for task in tasks:
        model.partial_fit(task.X_train, task.y_train)
    return model


def accuracy(model, tasks):
    return np.mean([model.score(task.X_test, task.y_test) for task in tasks])


def weights(model):
    return model.classifier_.omega


# ------------------------------------------------------------------------------ classes


def test_the_names_of_classes_do_not_matter(small, vectors):
    by_number, by_name = small(), small()
    for task in vectors:
        by_number.partial_fit(task.X_train, task.y_train)
        by_name.partial_fit(task.X_train, NAMES[task.y_train])
    for task in vectors:
        said = by_number.predict(task.X_test)
        # Within a task columns are sorted, so they stand in another order; scores are the same.
        np.testing.assert_array_equal(by_name.predict(task.X_test), NAMES[said])


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        ([3, -1, 3, 7], [-1, 3, 7]),
        (["b", "a", "b", "ccc"], ["a", "b", "ccc"]),
        (np.array([2, 1, 2, 1], dtype=np.uint8), [1, 2]),
        ([True, False, True, True], [False, True]),
        ([1.0, 0.0, 1.0, 1.0], [0.0, 1.0]),
        (np.array(["x", "y", "x", "y"], dtype=object), ["x", "y"]),
    ],
)
def test_labels_of_every_kind_come_back_as_they_are(small, y, classes):
    X = np.eye(4) * 10
    model = small().partial_fit(np.repeat(X, 3, axis=0), np.repeat(y, 3))
    assert model.classes_.tolist() == classes
    assert model.predict(X).tolist() == list(y)


def test_classes_stand_in_the_order_of_tasks_and_sorted_within(small, vectors):
    model = learn_all(small(), vectors)
    assert model.classes_.tolist() == [4, 9, 7, 8, 3, 5, 0, 1, 2, 6]
    assert [task.classes for task in model.tasks_] == [[4, 9], [7, 8], [3, 5], [0, 1], [2, 6]]
    assert model.tasks_[0].n_samples == len(vectors[0].y_train)
    assert model.tasks_[1].counts[7] == np.sum(vectors[1].y_train == 7)


def test_longer_names_may_come_later(small, vectors):
    model = small()
    for task, pair in zip(vectors[:2], (["a", "b"], ["rather long", "c"]), strict=True):
        model.partial_fit(task.X_train, np.where(task.y_train == task.classes[0], *pair))
    assert model.classes_.tolist() == ["a", "b", "c", "rather long"]
    assert "rather long" in model.predict(vectors[1].X_test)


def test_a_task_may_mix_old_classes_and_new_ones(small, digits):
    X = digits.dataset.X_train.reshape(-1, 64)
    y = digits.dataset.y_train
    first, second = y[:700] < 6, y[700:] > 3
    model = small().partial_fit(X[:700][first], y[:700][first])
    model.partial_fit(X[700:][second], y[700:][second])
    assert sorted(model.classes_.tolist()) == list(range(10))
    test = digits.dataset.X_test.reshape(-1, 64)
    assert model.score(test, digits.dataset.y_test) > 0.9


@pytest.mark.parametrize("retain", ["total", "tasks", "classes"])
def test_samples_of_an_old_class_add_up_to_learning_all_at_once(small, vectors, retain):
    X, y = vectors[0].X_train, vectors[0].y_train
    model = small(retain=retain).partial_fit(X[:150], y[:150]).partial_fit(X[150:], y[150:])
    at_once = small().partial_fit(X, y)
    assert model.classes_.tolist() == at_once.classes_.tolist()
    scores, expected = (one.decision_function(X) for one in (model, at_once))
    np.testing.assert_allclose(scores, expected, atol=1e-9)


def test_weights_are_those_of_ridge_regression_on_all_data_ever_seen(small, vectors):
    model = learn_all(small(ridge=0.01, backbone="identity"), vectors)
    X = np.concatenate([task.X_train for task in vectors])
    y = np.concatenate([task.y_train for task in vectors])
    A = model.transform(X)
    alpha = 0.01 * np.square(A).sum(axis=0).mean()
    Y = (y[:, None] == model.classes_).astype(float)
    joint = Ridge(alpha=alpha, fit_intercept=False, solver="cholesky").fit(A, Y)
    np.testing.assert_allclose(weights(model), joint.coef_.T, atol=1e-9)


def test_scores_of_vectors_are_those_of_a_scaler_and_ridge_regression_on_all_data(small, vectors):
    model = learn_all(small(ridge=0.01), vectors)
    X = np.concatenate([task.X_train for task in vectors])
    y = np.concatenate([task.y_train for task in vectors])
    A = model.transform(X)
    scaled = StandardScaler().fit_transform(A)
    [still] = np.nonzero(X.std(axis=0) == 0)
    assert len(still) and (model.extractor_.backbone.inputs(A.shape[1] - 1)[still].any())
    for column in still:  # nodes that see a constant column have no influence
        moved = X[:1].copy()
        moved[:, column] += 1
        scaled[:, (model.transform(moved) != A[:1])[0]] = 0.0
    alpha = 0.01 * np.square(scaled).sum(axis=0).mean()
    Y = (y[:, None] == model.classes_).astype(float)
    joint = Ridge(alpha=alpha).fit(scaled, Y)
    np.testing.assert_allclose(model.decision_function(X), joint.predict(scaled), atol=1e-3)


@pytest.mark.parametrize("value", [1e-3, 1.0, 1e9])
@pytest.mark.parametrize("load", [load_iris, load_wine, load_digits])
def test_a_column_that_was_constant_has_no_influence(load, value):
    X, y = load(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(y))
    X, y = np.c_[X, np.full(len(y), 7.5)][order], y[order]
    first, rest = slice(len(y) // 2), slice(len(y) // 2, None)
    model = CLSNet().fit(X[first], y[first])
    moved = X[rest].copy()
    moved[:, -1] = value
    scores, expected = model.decision_function(moved), model.decision_function(X[rest])
    np.testing.assert_allclose(scores, expected, atol=1e-9)
    assert model.score(moved, y[rest]) > 0.9


def test_a_column_that_began_to_vary_counts():
    random = np.random.RandomState(0)
    X, y = random.standard_normal((200, 4)), np.arange(200) % 2
    X[:, 3] = 0.0
    model = CLSNet().partial_fit(X, y)
    X[:, 3] = 3 * y
    model.partial_fit(X, y)
    assert model.score(X, y) > 0.95
    zeros = np.c_[X[:, :3], np.zeros(200)]
    together = CLSNet().fit(np.r_[zeros, X], np.r_[y, y])
    np.testing.assert_allclose(
        model.decision_function(X), together.decision_function(X), rtol=0, atol=1e-7
    )


@pytest.mark.parametrize("build", [CLSNet.paper, CLSNet.demo, lambda: CLSNet(curvature="diagonal")])
def test_the_papers_rule_refuses_more_of_an_old_class(build, vectors):
    model = build().partial_fit(vectors[0].X_train, vectors[0].y_train)
    before = weights(model)
    with pytest.raises(ClsnetError, match=r"class 4 was learned before.*curvature=\"full\""):
        model.partial_fit(vectors[0].X_train, vectors[0].y_train)
    np.testing.assert_array_equal(weights(model), before)


# ------------------------------------------------------------------------------ batches


def cut(X, y, size):
    return [(X[i : i + size], y[i : i + size]) for i in range(0, len(X), size)]


@pytest.mark.parametrize("curvature", ["full", "low-rank"])
@pytest.mark.parametrize("size", [1, 7, 100, 10_000])
@pytest.mark.parametrize("once", [False, True], ids=["list", "generator"])
def test_batches_are_the_task_whatever_their_size(small, vectors, curvature, size, once):
    whole = learn_all(small(curvature=curvature), vectors[:2])
    model = small(curvature=curvature)
    for task in vectors[:2]:
        batches = cut(task.X_train, task.y_train, size)
        model.learn((pair for pair in batches) if once else batches)
    assert model.classes_.tolist() == whole.classes_.tolist()
    assert model.tasks_ == whole.tasks_
    np.testing.assert_allclose(weights(model), weights(whole), rtol=0, atol=1e-10)


def test_the_papers_rule_learns_from_batches_that_can_be_read_twice(vectors):
    whole = learn_all(CLSNet.paper(groups=2), vectors[:2])
    model = CLSNet.paper(groups=2)
    for task in vectors[:2]:
        model.learn(cut(task.X_train, task.y_train, 50))
    np.testing.assert_allclose(weights(model), weights(whole), rtol=0, atol=1e-10)


def test_the_papers_rule_refuses_batches_that_can_be_read_only_once(vectors):
    model = CLSNet.paper()
    with pytest.raises(ClsnetError, match=r"reads a task twice.*instead of a generator"):
        model.learn(pair for pair in cut(vectors[0].X_train, vectors[0].y_train, 50))
    assert not hasattr(model, "classifier_")


# --------------------------------------------------------------------------- predictions


@pytest.mark.parametrize("n_tasks", [1, 3])
def test_all_answers_agree(small, vectors, n_tasks):
    model = learn_all(small(), vectors[:n_tasks])
    X, y = vectors[0].X_test, vectors[0].y_test
    said, proba, scores = model.predict(X), model.predict_proba(X), model.decision_function(X)
    assert proba.shape == (len(X), 2 * n_tasks)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert proba.min() >= 0
    np.testing.assert_array_equal(model.classes_[proba.argmax(axis=1)], said)
    best = scores > 0 if n_tasks == 1 else scores.argmax(axis=1)
    np.testing.assert_array_equal(model.classes_[np.asarray(best, dtype=int)], said)
    assert model.score(X, y) == np.mean(said == y) > 0.9


def test_probabilities_can_be_believed(small, digits):
    X, y = digits.dataset.X_train.reshape(-1, 64), digits.dataset.y_train
    model = small().fit(X, y)
    proba = model.predict_proba(digits.dataset.X_test.reshape(-1, 64))
    right = model.classes_[proba.argmax(axis=1)] == digits.dataset.y_test
    assert abs(proba.max(axis=1).mean() - right.mean()) < 0.05


@pytest.mark.parametrize(("connection", "width"), [("Z", 65), ("G", 10), ("G*", 10), ("A", 75)])
def test_the_connection_says_what_the_classifier_sees(small, vectors, connection, width):
    model = small(connection=connection, backbone="identity")
    model.partial_fit(vectors[0].X_train, vectors[0].y_train)
    assert model.transform(vectors[0].X_test).shape == (len(vectors[0].X_test), width)
    assert weights(model).shape == (width, 2)


def test_the_seed_decides_everything_random(small, vectors):
    one, same, other = (
        weights(learn_all(small(random_state=seed), vectors[:2])) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, same)
    assert not np.array_equal(one, other)


# --------------------------------------------------------------------------------- state


def test_fit_begins_again(small, vectors):
    model = learn_all(small(), vectors[:3])
    model.fit(vectors[3].X_train[:, :50], vectors[3].y_train)
    fresh = small().fit(vectors[3].X_train[:, :50], vectors[3].y_train)
    assert model.classes_.tolist() == [0, 1]
    assert model.n_features_in_ == 50
    np.testing.assert_array_equal(weights(model), weights(fresh))


def test_a_fit_that_fails_leaves_what_was_learned(small, vectors, state_of, assert_same_state):
    model = learn_all(small(), vectors[:2])
    before = state_of(model)
    with pytest.raises(ValueError, match="inconsistent"):
        model.fit(vectors[2].X_train, vectors[2].y_train[1:])
    assert_same_state(model, before)


def test_a_twin_has_the_extractor_and_nothing_else(small, vectors):
    model = learn_all(small(), vectors[:2])
    twin = model.twin()
    assert twin.get_params() == model.get_params()
    assert len(twin.classes_) == len(twin.tasks_) == 0
    np.testing.assert_array_equal(
        twin.transform(vectors[0].X_test), model.transform(vectors[0].X_test)
    )
    before = weights(model)
    twin.partial_fit(vectors[2].X_train, vectors[2].y_train)
    assert twin.classes_.tolist() == [3, 5]
    assert model.classes_.tolist() == [4, 9, 7, 8]
    np.testing.assert_array_equal(weights(model), before)


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function", "transform"])
def test_nothing_can_be_asked_of_a_model_that_learned_nothing(small, vectors, method):
    with pytest.raises(ValueError, match="not fitted"):
        getattr(small(), method)(vectors[0].X_test)


def test_memory_grows_with_classes_and_not_with_samples(small, vectors):
    X, y = vectors[0].X_train, vectors[0].y_train
    model = small().partial_fit(X, y)
    once = model.memory()
    assert model.partial_fit(X, y).memory() == once
    assert once.exemplar_mb == 0
    more = model.partial_fit(vectors[1].X_train, vectors[1].y_train).memory()
    # Two columns in Omega and in A'Y, as long as a representation.
    width = model.transform(X[:1]).shape[1]
    assert more.model_mb - once.model_mb == pytest.approx(4 * 2 * 2 * width / 2**20)


def test_memory_of_a_sum_per_task_grows_with_tasks(small, vectors):
    options = {"backbone": "identity", "connection": "A"}
    total = learn_all(small(retain="total", **options), vectors[:2]).memory().model_mb
    tasks = learn_all(small(retain="tasks", **options), vectors[:2]).memory().model_mb
    triangle = 75 * 76 / 2
    assert tasks - total == pytest.approx(4 * triangle / 2**20)


# ---------------------------------------------------------------------------- forgetting


@pytest.mark.parametrize("retain", ["tasks", "classes"])
def test_a_forgotten_task_was_never_there(small, vectors, retain):
    model = learn_all(small(retain=retain), vectors[:3]).forget(task=1)
    never = model.twin()
    learn_all(never, [vectors[0], vectors[2]])
    assert model.classes_.tolist() == never.classes_.tolist() == [4, 9, 3, 5]
    np.testing.assert_allclose(weights(model), weights(never), atol=1e-9)
    assert model.tasks_[1].classes == []


def test_a_forgotten_class_was_never_there(small, vectors):
    model = learn_all(small(retain="classes"), vectors[:2])
    model.forget(classes=[9])
    never = model.twin()
    for task in vectors[:2]:
        others = task.y_train != 9
        never.partial_fit(task.X_train[others], task.y_train[others])
    assert model.classes_.tolist() == never.classes_.tolist() == [4, 7, 8]
    np.testing.assert_allclose(weights(model), weights(never), atol=1e-9)


def test_one_class_may_be_named_without_a_list(small, vectors):
    model = small(retain="classes")
    model.partial_fit(vectors[0].X_train, NAMES[vectors[0].y_train]).forget(classes="nine")
    assert model.classes_.tolist() == ["four"]


def test_a_model_that_forgot_everything_says_so_and_can_learn_again(small, vectors):
    model = small(retain="tasks").partial_fit(vectors[0].X_train, vectors[0].y_train)
    model.forget(task=0)
    with pytest.raises(ClsnetError, match="let it learn some first"):
        model.predict(vectors[0].X_test)
    model.partial_fit(vectors[0].X_train, vectors[0].y_train)
    assert model.score(vectors[0].X_test, vectors[0].y_test) > 0.95


@pytest.mark.parametrize(
    ("wish", "reason"),
    [
        ({}, "say what to forget"),
        ({"task": 0, "classes": [4]}, "say what to forget"),
        ({"task": 1}, "there is no task 1; tasks 0 to 0 exist"),
        ({"task": -1}, "there is no task -1"),
        ({"classes": [4, 5]}, "class 5 is not known"),
        ({"classes": "four"}, "class 'four' is not known"),
        ({"task": 0}, 'keeps only one total over all tasks.*exact=False.*retain="tasks"'),
        ({"classes": [4]}, 'keeps only one total over all tasks.*exact=False.*retain="classes"'),
    ],
)
def test_what_cannot_be_forgotten_is_refused(
    small, vectors, state_of, assert_same_state, wish, reason
):
    model = small().partial_fit(vectors[0].X_train, vectors[0].y_train)
    before = state_of(model)
    with pytest.raises(ClsnetError, match=reason):
        model.forget(**wish)
    assert_same_state(model, before)


@pytest.mark.parametrize("change", [{"curvature": "diagonal"}, {"retain": "tasks"}])
def test_what_is_kept_cannot_change_between_tasks(small, vectors, change):
    model = small().partial_fit(vectors[0].X_train, vectors[0].y_train).set_params(**change)
    with pytest.raises(ClsnetError, match="cannot change once a task has been learned"):
        model.partial_fit(vectors[1].X_train, vectors[1].y_train)


# ------------------------------------------------------------------------------- presets


def test_a_preset_sees_images_well(tasks):
    """The small one; the fast one is in the conformance tests."""
    model = CLSNet(preset="small").partial_fit(tasks[0].X_train, tasks[0].y_train)
    assert isinstance(model.extractor_.backbone, Patches)
    assert model.extractor_.augmentation.connection == "Z"
    assert model.score(tasks[0].X_test, tasks[0].y_test) == 1.0


def test_presets_leave_vectors_alone(small, vectors):
    plain, preset = (
        small(preset=name).partial_fit(vectors[0].X_train, vectors[0].y_train)
        for name in (None, "fast")
    )
    np.testing.assert_array_equal(weights(plain), weights(preset))


def test_patches_see_grey_images_and_colours(tasks):
    model = CLSNet(backbone=Patches(filters=4, sizes=(3,), pool=2), connection="Z")
    grey = model.partial_fit(tasks[0].X_train, tasks[0].y_train).transform(tasks[0].X_test)
    colours = np.repeat(tasks[0].X_train[:, None], 3, axis=1)
    model.fit(colours, tasks[0].y_train)
    assert model.transform(colours[:2]).shape[1] == 3 * (grey.shape[1] - 1) + 1


def test_the_papers_configuration_is_the_papers():
    model = CLSNet.paper()
    assert (model.groups, model.group_size, model.alpha) == (30, 30, 0.01)
    assert (model.curvature, model.gamma, model.terms) == ("diagonal", 1e4, (1, 2, 3))
    assert (model.ridge, model.fisher) == (2.0**-30, "mean-of-squares")
    assert CLSNet.paper(gamma=3.0).gamma == 3.0


def test_the_demos_configuration_is_the_authors_release():
    model = CLSNet.demo()
    assert model.augmentation.config == {
        **Augmentation().config,
        "connection": "G*",
        "groups": 10,
        "group_size": 10,
        "activation": "none",
        "alpha": 1e-3,
        "weights": "normal",
        "constant": 0.1,
        "unit": True,
        "tanh_nodes": 800,
        "relu_nodes": 900,
    }
    assert (model.curvature, model.fisher, model.gamma) == ("diagonal", "square-of-mean", 3000.0)


@pytest.mark.parametrize("build", [CLSNet.paper, CLSNet.demo])
@pytest.mark.parametrize("shape", [(8, 8), (64,)])
def test_the_authors_configurations_learn(tasks, build, shape):
    model = build()
    for task in tasks[:2]:
        model.partial_fit(task.X_train.reshape(-1, *shape), task.y_train)
    newest = tasks[1]
    assert model.score(newest.X_test.reshape(-1, *shape), newest.y_test) > 0.6
    assert model.classes_.tolist() == [4, 9, 7, 8]


def test_a_backbone_is_not_changed_by_the_model_that_uses_it(vectors):
    backbone, augmentation = Identity(), Augmentation(groups=2, group_size=3)
    model = CLSNet(backbone=backbone, augmentation=augmentation)
    model.partial_fit(vectors[0].X_train, vectors[0].y_train)
    assert backbone.shift.size == augmentation.weight.size == 0
    assert model.backbone is backbone
    assert model.transform(vectors[0].X_test).shape[1] == 65 + 6


@pytest.mark.parametrize("device", ["cuda:99", "abacus"])
def test_a_device_that_is_not_there_is_named(small, vectors, device):
    pytest.importorskip("torch")
    model = small(device=device)
    with pytest.raises(ClsnetError, match=f"device '{device}' is not available here; use 'auto'"):
        model.partial_fit(vectors[0].X_train, vectors[0].y_train)
    assert not hasattr(model, "extractor_")


def test_a_gpu_without_torch_is_one_line_that_names_the_extra(small, vectors, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(
        ClsnetError, match=r"^device 'cuda' needs torch: pip install 'clsnet\[torch\]'$"
    ):
        small(device="cuda").partial_fit(vectors[0].X_train, vectors[0].y_train)


def test_the_gpu_is_used_only_where_there_is_one(small, vectors):
    model = small(device="auto").partial_fit(vectors[0].X_train, vectors[0].y_train)
    assert isinstance(model.classifier_.omega, np.ndarray) == (not has_gpu())
