"""What a header can and cannot make of a model."""

import json
import sys

import numpy as np
import pytest
from sklearn.datasets import load_digits

from clsnet import CLSNet, load
from clsnet.classifier.forgetting import Decay
from clsnet.errors import ClsnetError
from clsnet.extractor import Patches
from tests.fuzz.headers import read_parts, write_parts

X, Y = load_digits(return_X_y=True)
NETWORKS = {
    "hf:evil/model": {"backbone": "hf", "config": {"taps": "last", "model": "evil/model"}},
    "timm:local-dir:/x": {"backbone": "timm", "config": {"model": "local-dir:/x"}},
    "/x/weights": {"backbone": "resnet", "config": {"weights": "/x/weights"}},
    "evil": {"backbone": "callable", "config": {"function": "evil"}},
    "plugin": {"backbone": "plugin", "config": {"source": "x"}},
}


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    path = tmp_path_factory.mktemp("header") / "m.clsnet"
    model = CLSNet(groups=2, group_size=3, retain="tasks", forgetting=Decay(3.0), device="cpu")
    model.partial_fit(X[:200], Y[:200]).save(path)
    return read_parts(path)


def refusal(tmp_path, header, tensors, **options):
    write_parts(tmp_path / "m", header, tensors)
    with pytest.raises(ClsnetError) as caught:
        load(tmp_path / "m", device="cpu", **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("name", NETWORKS)
@pytest.mark.parametrize("place", ["backbone", "params"])
def test_a_network_that_lies_elsewhere_has_to_be_allowed(tmp_path, good, name, place):
    header, tensors = json.loads(json.dumps(good[0])), good[1]
    (header if place == "backbone" else header["params"])["backbone"] = NETWORKS[name]
    before = set(sys.modules)
    said = refusal(tmp_path, header, tensors, allow=["hf:evil/model2", "timm:x", "/x"])
    assert f"refers to the network {name!r}" in said
    assert {one.partition(".")[0] for one in set(sys.modules) - before} <= {"clsnet"}


@pytest.mark.parametrize(
    "named", ["hf:evil/model", "timm:x", "/x/w.safetensors", "resnet18:/x", "p:x"]
)
def test_a_network_that_a_parameter_names_has_to_be_allowed(tmp_path, good, named):
    header = json.loads(json.dumps(good[0]))
    header["params"]["backbone"] = named
    assert "refers to the network" in refusal(tmp_path, header, good[1])
    write_parts(tmp_path / "m", header, good[1])
    assert load(tmp_path / "m", device="cpu", allow=named).backbone == named


@pytest.mark.parametrize(
    "value", ["mine", {"forgetting": "mine", "config": {}}], ids=["name", "it"]
)
def test_a_forgetting_policy_of_another_package_has_to_be_allowed(tmp_path, good, value):
    header = json.loads(json.dumps(good[0]))
    header["params"]["forgetting"] = value
    assert "refers to the forgetting policy 'mine'" in refusal(tmp_path, header, good[1])
    assert "no forgetting policy 'mine'" in refusal(tmp_path, header, good[1], allow="mine")


@pytest.mark.parametrize(
    ("place", "value", "said"),
    [
        ("sample_shape", [3, 12_000, 12_000], "sample_shape is"),
        ("sample_shape", [10**9], "sample_shape[0] is 1000000000, not a whole number"),
        ("seed", -1, "seed is -1"),
        ("labels", [0, 0], "labels are repeated"),
        ("labels", ["a\0"], "a label ends with a NUL"),
        ("tasks", [[[99, 3]]], "not among the labels"),
        ("traces", [], "keys of traces"),
        ("calibration", {"temperature": 0, "doubt": 0.1}, "temperature is 0"),
        ("notes", [], "notes is a list of 0"),
        ("more", 1, "has an unknown 'more'"),
    ],
)
def test_a_value_out_of_bounds_is_named(tmp_path, good, place, value, said):
    assert said in refusal(tmp_path, {**good[0], place: value}, good[1])


def test_numbers_that_are_not_finite_are_refused(tmp_path, good):
    for name in ("omega", "trace.0.gram"):
        for value in (np.nan, np.inf):
            odd = good[1][name].copy()
            odd.reshape(-1)[0] = value
            assert f"{name} holds numbers" in refusal(tmp_path, good[0], {**good[1], name: odd})


def test_random_weights_beyond_a_bound_are_in_the_file(tmp_path, monkeypatch):
    """So that a file which leaves them out can be refused if they are more."""
    monkeypatch.setattr("clsnet.extractor.augmentation.MOST_DRAWN", 1000)
    images = X[:60].reshape(-1, 8, 8)
    backbone = Patches(filters=2, sizes=(3,), pool=2)
    for nodes, stored in ((5, 0), (50, 50)):
        model = CLSNet(
            backbone=backbone, connection="Z+G", groups=1, group_size=nodes, device="cpu"
        )
        model.partial_fit(images, Y[:60]).save(tmp_path / "m")
        weight = read_parts(tmp_path / "m")[1]["extractor.augmentation.weight"]
        assert weight.shape[1] == stored
        again = load(tmp_path / "m", device="cpu")
        np.testing.assert_array_equal(again.predict_proba(images), model.predict_proba(images))
    header, tensors = read_parts(tmp_path / "m")
    tensors["extractor.augmentation.weight"] = weight[:, :0].copy()
    assert "has the shape" in refusal(tmp_path, header, tensors)
