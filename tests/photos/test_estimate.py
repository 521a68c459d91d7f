import numpy as np

from clsnet.classifier.analytic import AnalyticClassifier
from clsnet.classifier.calibration import softmax
from clsnet.classifier.rule import Rule
from clsnet.photos.estimate import estimated, held_out, lookalikes
from clsnet.photos.familiarity import familiarity, usual_scores
from clsnet.photos.record import TEMPERATURES

RANDOM = np.random.default_rng(0)


def blobs(labels, spread=0.1):
    centres = {"cat": 0, "dog": 1, "bird": 2}
    A = spread * RANDOM.normal(size=(len(labels), 8))
    for i, label in enumerate(labels):
        A[i, centres[label]] += 1
    return A, np.array(labels, dtype="U8")


def blank():
    return AnalyticClassifier(Rule(retain="classes"), 8, "cpu")


def test_a_fifth_of_each_class_is_held_out_but_none_of_small_ones():
    labels = np.array(["cat"] * 20 + ["dog"] * 5 + ["bird"] * 4)
    digests = [f"{digest:032x}" for digest in RANDOM.permutation(29)]
    held = held_out(labels, digests)
    assert [held[labels == label].sum() for label in ("cat", "dog", "bird")] == [4, 1, 0]
    order = RANDOM.permutation(29)
    again = held_out(labels[order], [digests[i] for i in order])
    np.testing.assert_array_equal(again, held[order])


def test_what_is_well_apart_is_recognised():
    A, labels = blobs(["cat", "dog"] * 20)
    held = np.arange(40) < 10
    outcome = estimated(blank(), A, labels, held)
    assert outcome.tested == outcome.right == {"cat": 5, "dog": 5}
    assert outcome.confused == []
    assert all(scores == sorted(scores) for scores in outcome.scores.values())


def test_wrong_names_are_counted_as_confused():
    A, labels = blobs(["cat", "dog"] * 20)
    labels[:3] = "bird"
    held = np.arange(40) < 10
    outcome = estimated(blank().learn(lambda: [blobs(["bird"] * 5)]), A, labels, held)
    assert outcome.right == {"cat": 3, "dog": 4}
    assert set(outcome.confused) == {("bird", "cat", 2), ("bird", "dog", 1)}
    assert outcome.confused[0] == ("bird", "cat", 2)


def test_losses_are_minus_log_probabilities():
    A, labels = blobs(["cat", "dog", "bird"] * 10, spread=0.6)
    held = np.arange(30) < 12
    outcome = estimated(blank(), A, labels, held)
    trial = blank().learn(lambda: [(A[~held], labels[~held])])
    for k, temperature in enumerate(TEMPERATURES):
        chances = softmax(trial.scores(A[held]) / temperature)
        for label in ("cat", "dog", "bird"):
            own = chances[labels[held] == label, trial.labels.index(label)]
            np.testing.assert_allclose(outcome.losses[label][k], -np.log(own).sum())


def test_familiarity_is_kept_of_each_photo_held_out():
    A, labels = blobs(["cat", "dog", "bird"] * 10, spread=0.6)
    held = np.arange(30) < 12
    outcome = estimated(blank(), A, labels, held)
    trial = blank().learn(lambda: [(A[~held], labels[~held])])
    fits = familiarity(trial.scores(A[held]), usual_scores(trial))
    for label, kept in outcome.scores.items():
        np.testing.assert_allclose(kept, np.sort(fits[labels[held] == label]), atol=0.0051)


def test_of_one_class_or_of_no_photo_nothing_can_be_said():
    A, labels = blobs(["cat"] * 10)
    assert estimated(blank(), A, labels, np.arange(10) < 2) is None
    A, labels = blobs(["cat", "dog"] * 2)
    assert estimated(blank(), A, labels, np.zeros(4, bool)) is None


def test_only_a_new_class_that_is_taken_for_one_old_class_looks_like_it():
    old = blank().learn(lambda: [blobs(["cat", "dog"] * 20)])
    cats, _ = blobs(["cat"] * 6)
    birds, _ = blobs(["bird"] * 6)
    A = np.concatenate([cats, birds])
    labels = np.array(["kitten"] * 6 + ["bird"] * 6)
    assert lookalikes(old, A, labels, 0.5) == [("kitten", "cat", 6, 6)]
    assert lookalikes(old, cats, np.array(["cat"] * 6), 0.5) == []
