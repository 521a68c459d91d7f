import numpy as np
import pytest

from clsnet import CLSNet
from clsnet.evaluation.protocol import PROTOCOLS, evaluate
from clsnet.memory import MemoryUse
from clsnet.methods import ExtractorLearner, Learner


class NearestMean:
    """A learner with no more than the protocol asks for; it writes down what it is given."""

    def __init__(self):
        self.means = {}
        self.given = []
        self.asked = []

    def partial_fit(self, X, y):
        self.given.append((X, y))
        for label in np.unique(y):
            self.means[label] = X[y == label].reshape(-1, 64).mean(axis=0)

    def predict(self, X):
        self.asked.append(X)
        labels, means = np.array(list(self.means)), np.array(list(self.means.values()))
        distance = np.square(X.reshape(-1, 1, 64) - means).sum(axis=2)
        return labels[distance.argmin(axis=1)]

    def memory(self):
        return MemoryUse(model_mb=4 * 64 * len(self.means) / 2**20, exemplar_mb=0.25)


@pytest.fixture
def spies():
    return []


@pytest.fixture
def build(spies):
    def make():
        spies.append(NearestMean())
        return spies[-1]

    return make


def test_every_row_tests_all_tasks_so_far(build, tasks):
    outcome = evaluate(build, tasks)
    assert [len(row) for row in outcome.R] == [1, 2, 3, 4, 5]
    assert all(0 <= cell <= 1 for row in outcome.R for cell in row)


def test_a_cell_is_the_accuracy_on_one_tasks_test_set(build, tasks):
    outcome = evaluate(build, tasks[:3])
    learner = NearestMean()
    for T, task in enumerate(tasks[:3]):
        learner.partial_fit(task.X_train, task.y_train)
        for t, past in enumerate(tasks[: T + 1]):
            assert outcome.R[T][t] == np.mean(learner.predict(past.X_test) == past.y_test)


def test_a_learner_is_handed_the_current_task_and_nothing_else(build, spies, tasks):
    evaluate(build, tasks)
    learner, *independent = spies
    assert len(learner.given) == 5
    for (X, y), task in zip(learner.given, tasks, strict=True):
        np.testing.assert_array_equal(X, task.X_train)
        np.testing.assert_array_equal(y, task.y_train)
    assert len(independent) == 4
    for spy, task in zip(independent, tasks[1:], strict=True):
        assert len(spy.given) == 1
        np.testing.assert_array_equal(spy.given[0][0], task.X_train)
        assert len(spy.asked) == 1


def test_a_learner_is_asked_about_samples_and_not_told_the_task(build, spies, tasks):
    evaluate(build, tasks)
    asked = iter(spies[0].asked)
    for T in range(5):
        for past in tasks[: T + 1]:
            np.testing.assert_array_equal(next(asked), past.X_test)
    assert next(asked, None) is None


def test_independent_models_know_one_task_only(build, tasks):
    outcome = evaluate(build, tasks[:3])
    for t, task in enumerate(tasks[:3]):
        alone = NearestMean()
        alone.partial_fit(task.X_train, task.y_train)
        assert outcome.independent[t] == np.mean(alone.predict(task.X_test) == task.y_test)


def test_independent_models_can_be_left_out(build, spies, tasks):
    outcome = evaluate(build, tasks[:3], with_independent=False)
    assert outcome.independent == []
    assert len(spies) == 1
    assert outcome.metrics()["fwt"] is None


def test_time_and_memory_are_measured(build, tasks):
    outcome = evaluate(build, tasks[:2])
    assert outcome.seconds["learn"] > 0
    assert outcome.seconds["predict"] > 0
    assert outcome.memory["model_mb"] == 4 * 64 * 4 / 2**20
    assert outcome.memory["exemplar_mb"] == 0.25


def test_progress_is_reported_task_by_task(build, tasks):
    said = []
    outcome = evaluate(build, tasks[:2], progress=lambda *line: said.append(line))
    assert [line[:2] for line in said] == [
        (number, stage)
        for number in (0, 1)
        for stage in ("learning", "testing", "tested", "independent model")
    ]
    assert said[0][2] is None
    assert said[-1][2] == np.mean(outcome.R[-1])


def test_remembered_features_change_no_answer(small, vectors):
    """The extractor sees each test sample once; the result is that of asking again and again."""
    outcome = evaluate(small, vectors[:3])
    model = small()
    for T, task in enumerate(vectors[:3]):
        model.partial_fit(task.X_train, task.y_train)
        for t, past in enumerate(vectors[: T + 1]):
            assert outcome.R[T][t] == model.score(past.X_test, past.y_test)
        twin = model.twin().partial_fit(task.X_train, task.y_train)
        assert outcome.independent[T] == twin.score(task.X_test, task.y_test)


def test_the_same_seed_measures_the_same(small, vectors):
    one, two = (evaluate(small, vectors[:2]) for _ in range(2))
    assert (one.R, one.independent) == (two.R, two.independent)
    assert one.memory["model_mb"] == two.memory["model_mb"]


def test_the_demo_protocol_leaks(tasks):
    """It refits the representation to the test split of the task that is looked at."""
    honest, leaking = (
        evaluate(lambda: CLSNet.demo(), tasks[:2], protocol, with_independent=False)
        for protocol in ("agnostic", "demo")
    )
    assert honest.R != leaking.R
    assert PROTOCOLS["demo"].startswith("LEAKING")
    assert PROTOCOLS["agnostic"].startswith("honest")


def test_under_the_demo_protocol_an_answer_depends_on_the_rest_of_the_batch(tasks):
    model = CLSNet.demo()
    for task in tasks[:2]:
        model.partial_fit(task.X_train, task.y_train)
    X = tasks[0].X_test
    device = model.extractor_.device
    alone, together = X[:20], np.concatenate([X[:20], tasks[1].X_test])
    scores = []
    for batch in (alone, together):
        extractor = model.extractor_.refitted(batch, device)
        scores.append(model.classifier_.scores(extractor.transform(batch))[:20])
    assert np.abs(scores[0] - scores[1]).max() > 0.01


def test_the_demo_protocol_puts_the_extractor_back(tasks):
    learners = []

    def build():
        learners.append(CLSNet.demo())
        return learners[-1]

    outcome = evaluate(build, tasks[:1], "demo", with_independent=False)
    plain = CLSNet.demo().partial_fit(tasks[0].X_train, tasks[0].y_train)
    X = tasks[0].X_test
    np.testing.assert_array_equal(learners[0].predict_proba(X), plain.predict_proba(X))
    assert outcome.R[0][0] > 0.9


def test_the_solution_is_a_part_of_learning(vectors):
    learned = []

    class Watched(CLSNet):
        def consolidate(self):
            learned.append(self.model_.classifier.stale)
            return super().consolidate()

    outcome = evaluate(lambda: Watched(groups=2, group_size=5), vectors[:2], with_independent=False)
    assert learned[0]  # before anything is predicted
    assert len(outcome.seconds["tasks"]) == 2


def test_a_learner_with_a_fixed_extractor_is_known_by_its_protocol(small, vectors):
    model = small()
    assert isinstance(model, Learner) and not isinstance(model, ExtractorLearner)
    model.partial_fit(vectors[0].X_train, vectors[0].y_train)
    assert isinstance(model, ExtractorLearner)
    assert isinstance(NearestMean(), Learner) and not isinstance(NearestMean(), ExtractorLearner)
