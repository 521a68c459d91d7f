import numpy as np
import pytest

from clsnet.classifier.analytic import AnalyticClassifier
from clsnet.classifier.rule import Rule
from clsnet.photos.familiarity import NOISE, Familiarity, class_sums, left_out_familiarity

RANDOM = np.random.default_rng(0)
A = RANDOM.normal(size=(60, 7)) + 1
LABELS = np.array(["cat", "dog", "bird"] * 20)
PHOTOS = RANDOM.normal(size=(9, 7))


def taught(retain, A=A, labels=LABELS):
    blank = AnalyticClassifier(Rule(retain=retain), A.shape[1], "cpu")
    first, second = slice(0, 25), slice(25, len(A))
    return blank.learn(lambda: [(A[first], labels[first])]).learn(
        lambda: [(A[second], labels[second])]
    )


def literal(photo, rows, noise):
    """What rows explain of a photo of length 1, by the definition."""
    u = photo / np.linalg.norm(photo)
    inverse = np.linalg.inv(rows.T @ rows + noise * np.eye(len(u)))
    return 1 - noise * u @ inverse @ u


@pytest.mark.parametrize("retain", ["total", "tasks", "classes"])
def test_a_class_is_the_sum_of_its_photos(retain):
    classifier = taught(retain)
    sums = [A[c == LABELS].sum(axis=0) for c in classifier.labels]
    np.testing.assert_allclose(class_sums(classifier).T, sums, rtol=1e-9, atol=1e-12)


def test_the_sums_of_a_class_do_not_know_a_forgotten_one():
    left = taught("classes").forget([], ["dog"], exact=True)
    before = taught("classes")
    columns = [before.labels.index(label) for label in left.labels]
    np.testing.assert_array_equal(class_sums(left), class_sums(before)[:, columns])
    one, other = (Familiarity.of_class(each, "cat").of(PHOTOS) for each in (left, before))
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("size", [7, 50])  # more photos than features, and fewer
def test_it_is_what_the_photos_of_the_class_explain(size):
    B = RANDOM.normal(size=(60, size)) + 1
    photos = RANDOM.normal(size=(9, size))
    look = Familiarity.of_class(taught("classes", B), "dog")
    rows = B[LABELS == "dog"]
    noise = NOISE * (rows**2).sum()
    expected = [literal(photo, rows, noise) for photo in photos]
    np.testing.assert_allclose(look.of(photos), expected, rtol=1e-9)
    np.testing.assert_allclose(look.of(1e6 * photos), expected, rtol=1e-9)


@pytest.mark.parametrize("size", [7, 50])
def test_left_out_means_that_the_others_explain_it(size):
    B = RANDOM.normal(size=(60, size)) + 1
    rows = B[LABELS == "dog"]
    noise = NOISE * (rows**2).sum()
    found = left_out_familiarity(taught("classes", B), "dog", rows)
    expected = [literal(rows[i], np.delete(rows, i, axis=0), noise) for i in range(len(rows))]
    np.testing.assert_allclose(found, expected, rtol=1e-7)


@pytest.mark.parametrize("retain", ["total", "tasks"])
def test_without_sums_of_products_the_mean_stands_for_a_class(retain):
    classifier = taught(retain)
    rows = A[LABELS == "cat"]

    def cosine(photo, other):
        return photo @ other / np.linalg.norm(photo) / np.linalg.norm(other)

    total = rows.sum(axis=0)
    expected = [cosine(photo, total) ** 2 / (1 + NOISE) for photo in PHOTOS]
    found = Familiarity.of_class(classifier, "cat").of(PHOTOS)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    others = [cosine(row, total - row) ** 2 / (1 + NOISE) for row in rows]
    np.testing.assert_allclose(left_out_familiarity(classifier, "cat", rows), others, rtol=1e-9)


@pytest.mark.parametrize("size", [7, 50])
def test_all_directions_tell_the_same_and_some_tell_a_little_less(size):
    B = RANDOM.normal(size=(60, size)) + 1
    photos = RANDOM.normal(size=(9, size))
    look = Familiarity.of_class(taught("classes", B), "dog")
    unit = photos / np.linalg.norm(photos, axis=1, keepdims=True)
    whole = ((unit @ look.directions(size).T) ** 2).sum(axis=1)
    np.testing.assert_allclose(whole, look.of(photos), rtol=1e-7)
    some = look.directions(3)
    assert some.shape == (3, size)
    assert (((unit @ some.T) ** 2).sum(axis=1) < whole).all()


def test_a_photo_without_features_or_without_others_is_not_familiar():
    look = Familiarity.of_rows(np.ones((1, 3)))
    assert look.of(np.zeros((1, 3))).tolist() == [0.0]
    assert look.left_out(np.zeros((1, 3))).tolist() == [0.0]
    assert look.left_out(np.ones((1, 3))) == pytest.approx([0.0], abs=1e-9)
