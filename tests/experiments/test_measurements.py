"""What is measured beside runs, on Digits."""

import numpy as np
import pytest

from clsnet import CLSNet
from clsnet.data import load_sequence
from clsnet.experiments import short_term, tsne, unlearning
from clsnet.experiments.answer import FAILS, HOLDS, Panels
from clsnet.experiments.found import Found

FOUR = load_sequence("Digits-4/2")


def kept(study, quick: bool, values) -> Found:
    (measurement,) = study.needs(quick).measurements
    measurement.accepts.check(values, "values")
    return Found(quick, [], {(measurement.name, measurement.sequence): {"values": values}})


# --------------------------------------------------------------------------------- t-SNE


@pytest.fixture(scope="module")
def points():
    return tsne.points(FOUR, per_class=6)


def test_there_is_a_panel_of_raw_samples_and_one_for_each_task(points) -> None:
    spaces = [(panel["space"], panel["tasks"], len(panel["points"])) for panel in points["panels"]]
    assert spaces == [
        (tsne.RAW, 2, 24),
        (tsne.HONEST, 1, 12),
        (tsne.HONEST, 2, 24),
        (tsne.LEAKS, 1, 12),
        (tsne.LEAKS, 2, 24),
    ]
    for panel in points["panels"]:
        plane = np.array(panel["points"])
        assert plane.min() == 0
        assert plane.max() == 1
        assert len(panel["labels"]) == len(plane)


def test_points_are_the_same_every_time(points) -> None:
    assert tsne.points(FOUR, per_class=6) == points


def test_neighbours_alike_are_counted_as_by_hand() -> None:
    random = np.random.RandomState(0)
    X, y = random.normal(size=(30, 3)), random.randint(0, 2, 30)
    shares = []
    for i in range(30):
        order = sorted((j for j in range(30) if j != i), key=lambda j: np.sum((X[i] - X[j]) ** 2))
        shares += [y[i] == y[j] for j in order[: tsne.NEIGHBOURS]]
    assert tsne._alike(X, y) == round(np.mean(shares), 4)


@pytest.mark.parametrize(("honest", "verdict"), [(0.95, HOLDS), (0.8, FAILS)])
def test_clusters_are_judged_by_neighbours(points, honest: float, verdict: str) -> None:
    shares = {tsne.RAW: 0.8, tsne.HONEST: honest, tsne.LEAKS: 0.97}
    panels = [{**panel, "alike": shares[panel["space"]]} for panel in points["panels"]]
    answer = tsne.answer(kept(tsne, True, {**points, "panels": panels}))
    assert answer.verdict == verdict
    assert "0.970" in answer.why
    first, second = answer.parts
    assert isinstance(first, Panels)
    assert [panel.title for panel in first.panels] == [tsne.RAW, "after task 1", "after task 2"]
    assert "LEAKING" in second.caption


# --------------------------------------------------------------------- the membership test


@pytest.fixture(scope="module")
def tests_of_membership():
    return unlearning.membership(load_sequence("Digits-6/3"), repeats=2)


def test_exact_forgetting_leaves_the_answers_of_a_model_that_never_saw_the_task(
    tests_of_membership,
) -> None:
    unlearning.ACCEPTED.check(tests_of_membership, "values")
    assert tests_of_membership[unlearning.EXACT]["differing"] == [0.0, 0.0]
    kept_auc, exact_auc, graceful_auc = (
        np.mean(tests_of_membership[name]["auc"])
        for name in (unlearning.KEPT, unlearning.EXACT, unlearning.GRACEFUL)
    )
    assert kept_auc > 0.8
    assert abs(exact_auc - 0.5) < 0.1
    assert graceful_auc > exact_auc + 0.1


def test_the_test_finds_members_of_a_model_that_remembers_them() -> None:
    """By hand: a member's residual is smaller in so many of all pairs."""
    task = FOUR.tasks(FOUR.order(0, 0))[0]
    mine, others = unlearning._halves(task, np.random.RandomState(0))
    assert not {row.tobytes() for row in mine.X_train} & {row.tobytes() for row in others.X_train}
    other_classes = FOUR.tasks(FOUR.order(0, 0))[1]
    model = CLSNet(preset="fast").partial_fit(mine.X_train, mine.y_train)
    model.partial_fit(other_classes.X_train, other_classes.y_train)
    first, second = (unlearning._residuals(model, part) for part in (mine, others))
    pairs = [float(a < b) + 0.5 * float(a == b) for a in first for b in second]
    assert unlearning._auc(model, mine, others) == pytest.approx(np.mean(pairs))
    scores = model.decision_function(mine.X_train[:1])[0]
    targets = [float(label == mine.y_train[0]) for label in model.classes_]
    assert first[0] == pytest.approx(
        sum((s - t) ** 2 for s, t in zip(scores, targets, strict=True))
    )


@pytest.mark.parametrize(("auc", "verdict"), [((0.49, 0.51), HOLDS), ((0.69, 0.71), FAILS)])
def test_unlearning_is_judged_by_the_interval(tests_of_membership, auc, verdict: str) -> None:
    certain = {"auc": [0.9, 0.91], "differing": [0.1, 0.1], "accuracy": [0.9, 0.9]}
    values = dict.fromkeys(tests_of_membership, certain)
    values[unlearning.EXACT] = {**certain, "auc": list(auc), "differing": [0.0, 0.0]}
    answer = unlearning.answer(kept(unlearning, True, values))
    assert answer.verdict == verdict


# ------------------------------------------------------------------ fewer answers, no forgetting


def test_the_control_answers_among_the_classes_that_remain() -> None:
    """Against a loop over samples, after the second of two tasks."""
    values = short_term.masked(FOUR, "clsnet-demo", orders=1)
    short_term.MASKED.check(values, "values")
    tasks = FOUR.tasks(FOUR.order(0, 0))
    model = CLSNet.demo(random_state=0)
    for task in tasks:
        model.partial_fit(task.X_train, task.y_train)
    for variant, forgotten in short_term.VARIANTS.items():
        gone = [c for t in forgotten if t < 1 for c in tasks[t].classes]
        right = []
        for x, label in zip(tasks[1].X_test, tasks[1].y_test, strict=True):
            scores = dict(zip(model.classes_, model.decision_function(x[None])[0], strict=True))
            best = max((c for c in scores if c not in gone), key=lambda c: scores[c])
            right.append(best == label)
        row = values[variant][-1]
        assert row[1] == pytest.approx(np.mean(right))
        assert (row[0] is None) == (0 in forgotten)
    assert values["LTM"][0] == values["STM: task 1"][0]
