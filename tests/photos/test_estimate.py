import numpy as np

from clsnet.classifier.analytic import AnalyticClassifier
from clsnet.classifier.rule import Rule
from clsnet.photos.estimate import estimated, held_out, held_out_familiarity, lookalikes

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


def test_wrong_names_are_counted_as_confused():
    A, labels = blobs(["cat", "dog"] * 20)
    labels[:3] = "bird"
    held = np.arange(40) < 10
    outcome = estimated(blank().learn(lambda: [blobs(["bird"] * 5)]), A, labels, held)
    assert outcome.right == {"cat": 3, "dog": 4}
    assert set(outcome.confused) == {("bird", "cat", 2), ("bird", "dog", 1)}
    assert outcome.confused[0] == ("bird", "cat", 2)


def cosine(a, b):
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


def test_familiarity_of_photos_held_out_is_the_cosine_with_the_mean_of_the_others():
    A, labels = blobs(["cat", "dog", "bird"] * 10, spread=0.6)
    held = np.arange(30) < 12
    more, _ = blobs(["cat"] * 7, spread=0.6)
    old = blank().learn(lambda: [(more, np.array(["cat"] * 7, dtype="U8"))])
    found = held_out_familiarity(old, A, labels, held)
    for label in ("cat", "dog", "bird"):
        rest = A[(labels == label) & ~held]
        mean = np.concatenate([more, rest] if label == "cat" else [rest]).mean(axis=0)
        expected = sorted(cosine(row, mean) for row in A[(labels == label) & held])
        np.testing.assert_allclose(found[label], expected, atol=0.00006)


def test_familiarity_does_not_depend_on_other_classes():
    A, labels = blobs(["cat", "dog", "bird"] * 10, spread=0.6)
    held = np.arange(30) < 12
    some = labels != "dog"
    alone = held_out_familiarity(blank(), A[some], labels[some], held[some])
    among = held_out_familiarity(blank(), A, labels, held)
    assert alone == {label: kept for label, kept in among.items() if label != "dog"}
    one = labels == "cat"
    assert held_out_familiarity(blank(), A[one], labels[one], held[one])["cat"] == among["cat"]


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
    assert lookalikes(old, A, labels, -np.inf) == []
