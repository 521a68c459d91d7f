"""A task leaves sums; weights follow when they are asked for, and nobody can tell."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone

from clsnet import load
from clsnet.classifier import consolidation
from clsnet.classifier.curvatures.pending_rows import PendingRows
from clsnet.errors import ClsnetError


def learn_all(model, tasks, each=False):
    for task in tasks:
        model.partial_fit(task.X_train, task.y_train)
        if each:
            model.consolidate()
    return model


@pytest.fixture
def waiting(small, vectors):
    """A model with weights for two tasks, and one task that still waits for its own."""
    model = learn_all(small(), vectors[:2]).consolidate()
    return learn_all(model, vectors[2:3])


@pytest.mark.parametrize("retain", ["total", "tasks", "classes"])
def test_many_tasks_and_one_solution_equal_a_solution_after_each(small, vectors, retain):
    late = learn_all(small(retain=retain), vectors)
    assert late.model_.classifier.stale
    each = learn_all(small(retain=retain), vectors, each=True)
    assert not each.model_.classifier.stale
    X = vectors[0].X_test
    np.testing.assert_allclose(late.decision_function(X), each.decision_function(X), atol=1e-9)
    assert not late.model_.classifier.stale


@pytest.mark.parametrize(
    "ask",
    [
        lambda model, X, path: model.predict(X),
        lambda model, X, path: model.predict_proba(X),
        lambda model, X, path: model.decision_function(X),
        lambda model, X, path: model.memory(),
        lambda model, X, path: model.save(path),
        lambda model, X, path: model.forget(classes=[4], exact=False),
        lambda model, X, path: model.classifier_.omega,
        lambda model, X, path: pickle.dumps(model),
    ],
)
def test_whatever_needs_weights_gets_them(waiting, vectors, tmp_path, ask):
    assert waiting.model_.classifier.stale
    ask(waiting, vectors[0].X_test, tmp_path / "m.clsnet")
    assert not waiting.model_.classifier.stale
    assert waiting.model_.classifier.omega.shape[1] == len(waiting.classes_)


def test_names_and_numbers_of_tasks_need_no_weights(waiting):
    assert len(waiting.classes_) == 6
    assert len(waiting.tasks_) == 3
    assert waiting.model_.classifier.stale


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))]
)
def test_a_copy_answers_to_the_last_bit_as_its_original(waiting, vectors, copied):
    other = copied(waiting)
    for task in vectors[:3]:
        np.testing.assert_array_equal(
            other.decision_function(task.X_test), waiting.decision_function(task.X_test)
        )


def test_a_file_holds_every_task(waiting, vectors, tmp_path):
    waiting.save(tmp_path / "m.clsnet")
    other = load(tmp_path / "m.clsnet")
    X = vectors[0].X_test
    np.testing.assert_array_equal(other.decision_function(X), waiting.decision_function(X))
    assert other.tasks_ == waiting.tasks_


def test_a_clone_knows_nothing(waiting):
    assert not hasattr(clone(waiting), "classifier_")


def test_ctrl_c_in_a_solution_loses_nothing(waiting, vectors, monkeypatch):
    expected = copy.deepcopy(waiting).decision_function(vectors[0].X_test)
    waiting = learn_all(clone(waiting), vectors[:3])
    solve = consolidation.regress

    def interrupted(*arguments):
        solve(*arguments)
        raise KeyboardInterrupt

    monkeypatch.setattr(consolidation, "regress", interrupted)
    with pytest.raises(KeyboardInterrupt):
        waiting.predict(vectors[0].X_test)
    assert waiting.model_.classifier.stale
    monkeypatch.undo()
    np.testing.assert_allclose(
        waiting.decision_function(vectors[0].X_test), expected, rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("n", [5, 100])
def test_values_too_large_are_refused_when_they_are_learned(waiting, vectors, n):
    before = waiting.model_.classifier
    X, y = vectors[3].X_train[:n], vectors[3].y_train[:n]
    with pytest.raises(ClsnetError, match="too large to be squared"):
        waiting.partial_fit(X * 1e160, y)
    assert waiting.model_.classifier is before


def test_a_model_that_is_only_prepared_can_be_saved(small, vectors, tmp_path):
    small().prepare(vectors[0].X_train).save(tmp_path / "m.clsnet")
    again = learn_all(load(tmp_path / "m.clsnet"), vectors[:1])
    assert again.score(vectors[0].X_test, vectors[0].y_test) > 0.9


def test_a_model_that_forgot_all_it_waited_for_can_be_saved(small, vectors, tmp_path):
    model = learn_all(small(retain="tasks"), vectors[:1]).forget(task=0)
    model.save(tmp_path / "m.clsnet")
    again = learn_all(load(tmp_path / "m.clsnet"), vectors[1:2])
    assert again.score(vectors[1].X_test, vectors[1].y_test) > 0.9


def test_a_small_task_leaves_the_large_matrix_alone(small, vectors, tmp_path):
    first, second = vectors[:2]
    options = {"backbone": "identity", "groups": 20, "ridge": 1e-3}
    model = small(**options).partial_fit(first.X_train, first.y_train)
    before = model.classifier_.traces["total"].gram
    for rows in (slice(0, 4), slice(4, 7)):
        model.partial_fit(second.X_train[rows], second.y_train[rows])
    seen = model.model_.classifier.traces["total"]
    assert isinstance(seen, PendingRows)
    assert seen.base is before
    assert len(seen.rows) == 7
    model.save(tmp_path / "m.clsnet")

    whole = small(**options).partial_fit(first.X_train, first.y_train)
    whole.partial_fit(second.X_train[:7], second.y_train[:7])
    expected = whole.classifier_.omega
    for found in (model, load(tmp_path / "m.clsnet")):
        scale = abs(expected).max()
        np.testing.assert_allclose(found.classifier_.omega, expected, rtol=0, atol=1e-8 * scale)
        A = model.transform(np.concatenate([first.X_train, second.X_train[:7]]))
        np.testing.assert_allclose(found.classifier_.traces["total"].gram, A.T @ A, atol=1e-9)

    # Too many of them are added after all.
    model.partial_fit(second.X_train[7:17], second.y_train[7:17])
    assert not isinstance(model.model_.classifier.traces["total"], PendingRows)


# --------------------------------------------------------------------------- precision


def test_a_precision_rounds_products_and_is_saved(small, vectors, tmp_path):
    options = {"ridge": 1e-2, "backbone": "identity"}
    exact = learn_all(small(**options), vectors).classifier_.traces["total"].gram
    for precision, relative in (("float32", 1e-6), ("tf32", 1e-2), ("bfloat16", 2e-2)):
        model = learn_all(small(precision=precision, **options), vectors)
        gram = model.classifier_.traces["total"].gram
        assert gram.dtype == np.float64
        assert 0 < np.linalg.norm(gram - exact) / np.linalg.norm(exact) < relative
        model.save(tmp_path / "m.clsnet")
        assert load(tmp_path / "m.clsnet").precision == precision


def test_no_other_precision(small, vectors):
    with pytest.raises(ValueError, match="precision"):
        learn_all(small(precision="float16"), vectors)
