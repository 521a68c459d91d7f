import numpy as np
import pytest

from clsnet.extractor.backbones import responses as module
from clsnet.extractor.backbones.responses import Responses

RANDOM = np.random.default_rng(0)
IMAGES = RANDOM.uniform(size=(6, 9, 7)).astype(np.float32)
CONTRAST = (1e-3, 0.2)


def weights(positions, cells=3):
    drawn = np.random.default_rng(positions).uniform(size=(positions, cells))
    return drawn.astype(np.float32)


def responses(size):
    bank = np.random.default_rng(1).standard_normal((8, size, size)).astype(np.float32)
    extra = 1 - size % 2
    return Responses(bank, CONTRAST, weights(9 + extra), weights(7 + extra))


def literal(one, images):
    """One window after another, in double precision."""
    size, half = one.size, one.size // 2
    bank = one.bank.T.reshape(2, 4, size, size).astype(float)
    out = np.zeros((len(images), 2, 3, 3, 8))
    for n, image in enumerate(images):
        padded = np.pad(image.astype(float), half)
        for y in range(one.height):
            for x in range(one.width):
                window = padded[y : y + size, x : x + size]
                scale = 1 / np.sqrt(window.var() + np.array(CONTRAST))
                answer = ((bank * window).sum(axis=(2, 3)) * scale[:, None]).ravel()
                both = np.stack([answer.clip(0), (-answer).clip(0)])
                cell = np.outer(one.rows[:, y], one.columns[:, x])
                out[n] += cell[None, :, :, None] * both[:, None, None]
    return out


@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_averages_equal_loops_over_windows(size):
    one = responses(size)
    np.testing.assert_allclose(one.averages(IMAGES), literal(one, IMAGES), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("size", [3, 6])
@pytest.mark.parametrize("cache", [1, 2_000, 6_000])
def test_a_small_cache_cuts_images_into_strips(size, cache, monkeypatch):
    whole = responses(size).averages(IMAGES)
    monkeypatch.setattr(module, "CACHE", cache)
    cut = responses(size)
    assert cut.at_once == 1 and cut.strip < cut.height
    found = np.concatenate([cut.averages(image[None]) for image in IMAGES])
    np.testing.assert_allclose(found, whole, rtol=1e-5, atol=1e-5)


def test_responses_of_one_sign_have_no_average_of_the_other():
    bank = np.ones((1, 1, 1), np.float32)
    one = Responses(bank, [1e-3], weights(9), weights(7))
    positive, negative = one.averages(IMAGES)[0]
    assert (positive > 0).all() and not negative.any()
    positive, negative = one.averages(-IMAGES)[0]
    assert (negative > 0).all() and not positive.any()


def test_memory_of_an_earlier_block_leaves_no_trace():
    one = responses(3)
    expected = responses(3).averages(IMAGES[:2])
    one.averages(1e6 * IMAGES)
    np.testing.assert_array_equal(one.averages(IMAGES[:2]), expected)
