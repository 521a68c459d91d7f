import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from clsnet.extractor import Augmentation, Extractor, Identity, Patches
from clsnet.extractor.extractor import FIT_SAMPLES

CPU = torch.device("cpu")
IMAGES = load_digits().images
VECTORS = IMAGES.reshape(len(IMAGES), -1)
DEMO = {"connection": "G*", "unit": True, "tanh_nodes": 6, "relu_nodes": 9, "weights": "normal"}


def extractor(backbone=None, seed=0, **options):
    augmentation = Augmentation(**{"groups": 2, "group_size": 5, **options})
    return Extractor(backbone or Identity(), augmentation, seed)


def small_patches():
    return Patches(filters=3, sizes=(3,), pool=2)


CASES = {
    "vectors Z": (VECTORS, None, {"connection": "Z"}),
    "vectors G": (VECTORS, None, {"connection": "G"}),
    "vectors A": (VECTORS, None, {"connection": "A"}),
    "vectors demo": (VECTORS, None, DEMO),
    "images A": (IMAGES, small_patches, {"connection": "A"}),
}


@pytest.fixture(params=CASES, scope="module")
def case(request):
    X, backbone, options = CASES[request.param]
    return X, extractor(backbone and backbone(), seed=4, **options).fit(X[:100], CPU)


def test_representations_are_the_augmentation_of_the_backbone(case):
    X, g = case
    A = g.transform(X[:7])
    assert A.shape == (7, g.dimension)
    expected = g.augmentation(g.backbone(g.backbone.as_input(X[:7])))
    torch.testing.assert_close(A, expected, rtol=1e-5, atol=1e-5)


def test_representation_of_a_sample_ignores_the_rest_of_the_batch(case):
    X, g = case
    together = g.transform(X[100:120])
    alone = torch.cat([g.transform(X[i : i + 1]) for i in range(100, 120)])
    tolerance = 1e-9 if together.dtype == torch.float64 else 1e-3
    torch.testing.assert_close(together, alone, rtol=tolerance, atol=tolerance)


def test_more_samples_than_a_batch_are_represented_alike(case):
    X, g = case
    n = 1200 if X is VECTORS else 150
    whole, half = g.transform(X[:n]), g.transform(X[n // 2 : n])
    torch.testing.assert_close(whole[n // 2 :], half, rtol=1e-3, atol=1e-3)


def test_refitted_to_the_same_samples_is_the_same_map(case):
    X, g = case
    again = g.refitted(X[:100], CPU)
    assert again is not g
    assert torch.equal(again.transform(X[:9]), g.transform(X[:9]))


def test_refitting_leaves_the_original_alone(case):
    X, g = case
    before = g.transform(X[:9]).clone()
    g.refitted(X[200:300] + 1, CPU)
    assert torch.equal(g.transform(X[:9]), before)


def test_another_seed_is_another_map():
    one, two = (extractor(seed=s, connection="G").fit(VECTORS[:100], CPU) for s in (1, 2))
    assert not torch.equal(one.augmentation.weight, two.augmentation.weight)


def test_random_numbers_do_not_depend_on_how_many_samples_there_are():
    many = np.random.default_rng(0).standard_normal((FIT_SAMPLES + 1, 2))
    g = extractor(connection="G", tanh_nodes=4, relu_nodes=3).fit(many, CPU)
    few = g.refitted(many[:50], CPU)
    assert torch.equal(g.augmentation.weight, few.augmentation.weight)
    assert torch.equal(g.augmentation.relu_weight, few.augmentation.relu_weight)
    assert torch.equal(g.augmentation.relu_bias, few.augmentation.relu_bias)


def test_filters_and_nodes_of_images_do_not_depend_on_how_many_images_there_are():
    g = extractor(small_patches(), connection="G").fit(IMAGES[:100], CPU)
    few = g.refitted(IMAGES[100:117], CPU)
    assert torch.equal(g.backbone.bank3, few.backbone.bank3)
    assert torch.equal(g.augmentation.weight, few.augmentation.weight)


def test_a_large_task_is_fitted_to_a_sample_that_follows_from_the_seed():
    many = np.random.default_rng(0).standard_normal((FIT_SAMPLES + 500, 2))
    one, again, other = (extractor(seed=s, connection="Z").fit(many, CPU) for s in (1, 1, 2))
    assert torch.equal(one.backbone.shift, again.backbone.shift)
    assert not torch.equal(one.backbone.shift, other.backbone.shift)
    np.testing.assert_allclose(one.backbone.shift, many.mean(axis=0), atol=0.02)


def test_remembered_features_are_used_again_and_only_within_the_context():
    g = extractor().fit(VECTORS[:100], CPU)
    features = {}
    with g.remembering(features):
        first = g.transform(VECTORS[:50])
        assert g.transform(VECTORS[:50]) is first
        other = g.transform(VECTORS[50:100])
        assert not torch.equal(other, first)
        assert len(features) == 2
    outside = g.transform(VECTORS[:50])
    assert outside is not first
    assert torch.equal(outside, first)
    assert len(features) == 2


def test_remembered_features_tell_views_of_one_array_apart():
    g = extractor(connection="Z").fit(VECTORS[:100], CPU)
    X = VECTORS[:40].copy()
    with g.remembering({}):
        for view in (X, X[:20], X[::2], X[::-1], X[5:25]):
            expected = g.augmentation(g.backbone(g.backbone.as_input(view)))
            assert torch.equal(g.transform(view), expected)
