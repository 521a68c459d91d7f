import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from clsnet import CLSNet
from clsnet.classifier.forgetting import LongTerm, Queue, ShortTerm, resolve_policy
from clsnet.classifier.rule import Rule
from clsnet.errors import ClsnetError

X, Y = load_digits(return_X_y=True)
X, Y = X[:500] / 16, Y[:500]
TASKS = [(0, 1), (2, 3, 4), (5,), (6, 7)]
OVERLAPPING = [(0, 1), (1, 2), (2, 3)]


def options(**changes):
    return {"groups": 2, "group_size": 10, "retain": "tasks", **changes}


def learn(model, *tasks):
    for number, classes in tasks:
        rows = np.isin(Y, classes) & (np.arange(len(Y)) % 3 != number % 3)
        model.partial_fit(X[rows], Y[rows])
    return model


def numbered(tasks):
    return list(enumerate(tasks))


def learned(tasks=TASKS, **changes):
    return learn(CLSNet(**options(**changes)), *numbered(tasks))


def assert_same_model(model, other, rtol=1e-8):
    assert sorted(model.classes_) == sorted(other.classes_)
    order = [model.classes_.tolist().index(label) for label in other.classes_]
    omega, expected = model.classifier_.omega[:, order], other.classifier_.omega
    assert abs(omega - expected).max() <= rtol * abs(expected).max()
    np.testing.assert_array_equal(model.predict(X), other.predict(X))
    np.testing.assert_allclose(
        model.predict_proba(X)[:, order], other.predict_proba(X), rtol=1e-4, atol=1e-8
    )


# ------------------------------------------------------------------- which task counts


def test_every_task_has_the_same_gamma_unless_told():
    assert [Rule(gamma=3).gamma_of(t) for t in (0, 9)] == [3.0, 3.0]
    assert [Rule(gamma=[3, 2, 1]).gamma_of(t) for t in range(5)] == [3.0, 2.0, 1.0, 1.0, 1.0]


@given(
    st.integers(1, 12),
    st.sets(st.integers(0, 11)),
    st.one_of(st.none(), st.integers(1, 12)),
)
def test_the_current_task_never_fades_and_old_ones_do_as_told(n_tasks, short_term, queue):
    policy = resolve_policy(None, short_term, queue)
    faded = Rule(retain="tasks", forgetting=policy).forgotten(n_tasks)
    assert n_tasks - 1 not in faded
    for task in range(n_tasks - 1):
        out_of_queue = queue is not None and task + queue < n_tasks
        assert (task in faded) == (task in short_term or out_of_queue)


@pytest.mark.parametrize(
    "policy, forgets", [(LongTerm(), False), (ShortTerm((2,)), True), (Queue(4), True)]
)
def test_policy_says_whether_it_ever_forgets(policy, forgets):
    assert policy.forgets is forgets


# ------------------------------------------------------------------- exact forgetting


@pytest.mark.parametrize("task", range(len(TASKS)))
@pytest.mark.parametrize("ridge", ["auto", 1e-4])
def test_model_that_forgot_a_task_equals_one_that_never_saw_it(task, ridge):
    model = learned(ridge=ridge)
    never = learn(model.twin(), *[t for t in numbered(TASKS) if t[0] != task])
    assert_same_model(model.forget(task=task), never)
    assert model.tasks_[task].classes == []


@pytest.mark.parametrize("task", range(len(OVERLAPPING)))
def test_classes_that_other_tasks_brought_too_survive_the_task(task):
    model = learned(OVERLAPPING)
    never = learn(model.twin(), *[t for t in numbered(OVERLAPPING) if t[0] != task])
    assert_same_model(model.forget(task=task), never)


@pytest.mark.parametrize("classes", [[5], [7, 6], [0, 1, 5], [2, 3, 4]])
def test_classes_that_make_up_whole_tasks_are_forgotten_exactly(classes):
    model = learned()
    never = learn(model.twin(), *[t for t in numbered(TASKS) if not set(t[1]) & set(classes)])
    assert_same_model(model.forget(classes=classes), never)


@pytest.mark.parametrize("classes", [[0], [3, 6], [2, 3, 4], [5, 1]])
def test_any_class_is_forgotten_exactly_where_one_sum_per_class_is_kept(classes):
    model = learned(retain="classes")
    rest = [(number, sorted(set(task) - set(classes))) for number, task in numbered(TASKS)]
    never = learn(model.twin(), *[(number, task) for number, task in rest if task])
    assert_same_model(model.forget(classes=classes), never)


@pytest.mark.parametrize("label", [0, 1, 2, 3])
def test_a_class_of_several_tasks_is_forgotten_in_all_of_them(label):
    model = learned(OVERLAPPING, retain="classes")
    rest = [(number, sorted({*task} - {label})) for number, task in numbered(OVERLAPPING)]
    never = learn(model.twin(), *rest)
    assert_same_model(model.forget(classes=[label]), never)


@pytest.mark.parametrize("task", range(len(TASKS)))
def test_a_task_with_classes_of_its_own_is_forgotten_exactly_from_sums_per_class(task):
    model = learned(retain="classes")
    never = learn(model.twin(), *[t for t in numbered(TASKS) if t[0] != task])
    assert_same_model(model.forget(task=task), never)


@settings(deadline=None, max_examples=15)
@given(st.data())
def test_learning_and_forgetting_in_any_order_leaves_what_was_not_forgotten(data):
    model = learned(TASKS[:1])
    left = {0}
    for number, classes in numbered(TASKS)[1:]:
        learn(model, (number, classes))
        left.add(number)
        for gone in data.draw(st.sets(st.sampled_from(sorted(left)), max_size=len(left) - 1)):
            model.forget(task=gone)
            left.remove(gone)
    never = learn(model.twin(), *[(number, TASKS[number]) for number in sorted(left)])
    assert_same_model(model, never)


@pytest.mark.parametrize("retain", ["tasks", "classes"])
def test_after_forgetting_everything_a_model_learns_as_a_new_one(retain):
    model = learned(retain=retain)
    for task in (2, 0, 3, 1):
        model.forget(task=task)
    assert model.classes_.tolist() == []
    with pytest.raises(ClsnetError, match="forgotten every class"):
        model.predict(X)
    again = [(0, (7, 8)), (1, (9, 0))]
    assert_same_model(learn(model, *again), learn(model.twin(), *again))


def test_text_labels_are_forgotten_exactly():
    names = np.array(["zero", "one", "two", "three"])
    model, rows = CLSNet(**options(retain="classes")), Y < 4
    model.partial_fit(X[rows], names[Y[rows]]).forget(classes=["one"])
    rows &= Y != 1
    assert_same_model(model, model.twin().partial_fit(X[rows], names[Y[rows]]))


def test_forgetting_twice_changes_nothing_more():
    once = learned().forget(task=1)
    assert_same_model(learned().forget(task=1).forget(task=1), once, rtol=1e-12)


def test_old_tasks_keep_their_gamma_when_another_is_forgotten():
    model = learned(gamma=0.3)
    never = learn(model.twin(), *[t for t in numbered(TASKS) if t[0] != 3])
    assert_same_model(model.forget(task=3), never)


# ------------------------------------------------------------------------- memory fades


def test_short_term_tasks_are_forgotten_when_the_next_is_learned():
    model = learned(short_term=[0, 2])
    explicit = learned(TASKS[:1])
    learn(explicit.forget(task=0), *numbered(TASKS)[1:3])
    learn(explicit.forget(task=2), *numbered(TASKS)[3:])
    assert_same_model(model, explicit)
    assert model.classes_.tolist() == [2, 3, 4, 6, 7]


@pytest.mark.parametrize("queue", [1, 2, 3, 9])
def test_queue_remembers_only_the_latest_tasks(queue):
    model = learned(queue=queue)
    never = learn(model.twin(), *numbered(TASKS)[-queue:])
    assert_same_model(model, never)
    assert len(model.classifier_.traces) == min(queue, len(TASKS))


def test_fading_frees_the_memory_of_a_task():
    sizes = [learned(queue=queue).memory().model_mb for queue in (1, 2, 4)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1] / 2


# ------------------------------------------------------------- where it cannot be exact

IMPOSSIBLE = {
    "total": ({"retain": "total"}, {"task": 1}, 'retain="total"'),
    "total by class": ({"retain": "total"}, {"classes": [5]}, 'retain="total"'),
    "diagonal": ({"curvature": "diagonal"}, {"task": 1}, "diagonal curvature"),
    "low rank": ({"curvature": "low-rank", "rank": 5}, {"task": 1}, "low-rank curvature"),
    "third term": ({"terms": (1, 2, 3)}, {"task": 1}, "third term"),
    "part of a task": ({}, {"classes": [3]}, "a task holds other classes too"),
}


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_what_cannot_be_forgotten_exactly_is_refused_with_what_can_be_done(case):
    changes, what, why = IMPOSSIBLE[case]
    model = learned(**changes)
    before = model.decision_function(X)
    with pytest.raises(ClsnetError) as refusal:
        model.forget(**what)
    wanted = "tasks" if "task" in what else "classes"
    message = str(refusal.value)
    assert why in message
    assert "Available: forget(..., exact=False)" in message
    assert f'curvature="full" and retain="{wanted}"' in message
    np.testing.assert_array_equal(model.decision_function(X), before)
    assert model.tasks_[1].classes == [2, 3, 4]


def test_task_whose_class_others_share_is_refused_where_sums_are_kept_per_class():
    model = learned(OVERLAPPING, retain="classes")
    before = model.decision_function(X)
    with pytest.raises(ClsnetError, match="a class of this task was learned in others"):
        model.forget(task=1)
    np.testing.assert_array_equal(model.decision_function(X), before)


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_graceful_forgetting_removes_the_classes_from_every_answer(case):
    changes, what, _ = IMPOSSIBLE[case]
    model = learned(**changes)
    gone = what.get("classes", [2, 3, 4])
    stay = [i for i, label in enumerate(model.classes_) if label not in gone]
    before = model.decision_function(X)
    model.forget(**what, exact=False)
    assert not set(model.classes_) & set(gone)
    assert not set(model.predict(X)) & set(gone)
    np.testing.assert_allclose(model.decision_function(X), before[:, stay], atol=1e-12)
    assert not any(set(task.classes) & set(gone) for task in model.tasks_)


@pytest.mark.parametrize("case", IMPOSSIBLE)
def test_a_class_forgotten_gracefully_can_be_learned_again(case):
    changes, what, _ = IMPOSSIBLE[case]
    model = learned(**changes).forget(**what, exact=False)
    gone = what.get("classes", [2, 3, 4])
    learn(model, (4, gone))
    assert set(gone) <= set(model.predict(X[np.isin(Y, gone)]))
    assert set(model.classes_) == set(range(8))


def test_exact_false_is_exact_where_that_is_possible():
    assert_same_model(learned().forget(task=1, exact=False), learned().forget(task=1), rtol=1e-12)


@pytest.mark.parametrize(
    "what, message",
    [
        ({}, "say what to forget"),
        ({"task": 0, "classes": [5]}, "say what to forget"),
        ({"task": 4}, "there is no task 4; tasks 0 to 3 exist"),
        ({"task": -1}, "there is no task -1"),
        ({"classes": [5, 99]}, "class 99 is not known"),
    ],
)
def test_forgetting_the_unknown_is_an_error(what, message):
    model = learned()
    with pytest.raises(ClsnetError, match=message):
        model.forget(**what)
    assert len(model.classes_) == 8
