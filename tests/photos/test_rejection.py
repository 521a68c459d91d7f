import numpy as np
import pytest

from clsnet.photos.expectation import PERCENT, Expectation
from clsnet.photos.rejection import ALIKE, Rejection

RANDOM = np.random.default_rng(0)
LOOKS = {label: RANDOM.normal(0.6, 0.1, 2000).tolist() for label in ("cat", "dog")}
SCORES = Expectation(best=np.quantile(RANDOM.normal(0.8, 0.2, 100_000), PERCENT).tolist())


def test_the_share_of_known_photos_is_rejected_that_was_asked_for():
    """Look and score correlate as usual; of one class there are no scores."""
    both = RANDOM.multivariate_normal([0, 0], [[1, ALIKE], [ALIKE, 1]], 20_000)
    looks, scores = 0.6 + 0.1 * both[:, 0], 0.8 + 0.2 * both[:, 1]
    for n_classes in (1, 2, 5, 11, 100):
        rejection = Rejection.of(LOOKS, SCORES if n_classes > 1 else None, n_classes)
        for reject in (0.05, 0.2, 0.5):
            rejected = (rejection.fits(looks, scores) < rejection.threshold(reject)).mean()
            assert rejected == pytest.approx(reject, rel=0.25)


def test_with_few_classes_looks_count_more():
    def weight(n_classes):
        by_look, by_score, _ = Rejection.of(LOOKS, SCORES, n_classes).linear
        return by_score * 0.2 / (by_look * 0.1)

    found = [weight(n) for n in (2, 3, 6, 11, 40)]
    np.testing.assert_allclose(found, [0.05, 0.1, 0.25, 0.5, 1], rtol=0.1)


def test_nothing_is_rejected_if_nothing_is_known_or_wanted():
    rejection = Rejection.of({}, SCORES, 3)
    assert rejection.threshold(0.05) == -np.inf
    assert rejection.fits(np.array([0.1]), np.array([0.1])).tolist() == [0.0]
    assert Rejection.of(LOOKS, SCORES, 3).threshold(0) == -np.inf
    assert Rejection.of({"cat": [0.5, 0.5]}, None, 1).threshold(0.9) == -np.inf


def test_numbers_larger_than_any_array_takes_are_numbers():
    looks = {"cat": [10**30, 0.5, 2 * 10**30]}
    assert np.isfinite(Rejection.of(looks, None, 1).threshold(0.05))
