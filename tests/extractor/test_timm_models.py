import json
import os
import shutil
import sys

import numpy as np
import pytest
import torch

from clsnet.errors import ClsnetError
from clsnet.extractor.backbones import Timm, resolve_backbone

IMAGES = np.random.default_rng(0).integers(0, 256, (3, 3, 40, 40), dtype=np.uint8)


@pytest.fixture(scope="module")
def timm():
    try:
        import timm
    except Exception as error:  # a torchvision of another build fails with RuntimeError
        pytest.skip(f"timm cannot be imported: {error}")
    return timm


@pytest.fixture(params=["resnet10t", "vit_tiny_patch16_224", "efficientnet_lite0", "dla34"])
def model(request, timm, tmp_path):
    """A model with random weights in a folder, as timm writes it for the hub."""
    torch.manual_seed(0)
    network = timm.create_model(request.param, pretrained=False)
    timm.models.save_for_hf(network, tmp_path)
    return f"local-dir:{tmp_path}", network.eval()


def normalised(backbone):
    return torch.from_numpy(backbone.normalised(IMAGES))


def features(backbone):
    return torch.from_numpy(backbone.transform(backbone.as_input(IMAGES)))


def rooted(v):
    return v.sign() * v.abs().sqrt()


def test_last_layer_is_what_the_head_is_given(model):
    name, network = model
    backbone = Timm(name, taps="last", views=1)
    x = normalised(backbone)
    with torch.no_grad():
        expected = network.forward_head(network.forward_features(x), pre_logits=True)
    Z = features(backbone)
    torch.testing.assert_close(Z, rooted(expected), rtol=1e-3, atol=1e-3)


def test_several_depths_are_the_last_four_maps_that_timm_offers(model):
    name, network = model
    backbone = Timm(name, views=1)
    assert backbone.size == network.pretrained_cfg["input_size"][-1]
    x = normalised(backbone)
    tapped = backbone._tapped[backbone.size]
    maps = [part for part in tapped.outputs.maps(tapped.network, x) if part.ndim == 4]
    assert len(maps) == 4
    if hasattr(network, "forward_intermediates"):
        with torch.no_grad():
            _, expected = network.forward_intermediates(x, indices=4)
        for mine, theirs in zip(maps, expected, strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-3, atol=1e-3)


def test_name_finds_the_model_and_config_rebuilds_it(model):
    name, _ = model
    backbone = resolve_backbone(f"timm:{name}", (3, 40, 40))
    assert backbone.config == {"model": name, "taps": "several", "views": 2}
    assert Timm(**backbone.config).fingerprint == backbone.fingerprint
    assert backbone.trained_on == f"timm:{name}"


def test_unknown_model_is_one_line(timm):
    with pytest.raises(ClsnetError, match="cannot load timm:nonsense: Unknown model"):
        Timm("nonsense")


class Evil:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (os.mkdir, (str(self.path),))


def test_a_pickle_that_asks_for_more_than_arrays_is_refused_and_runs_nothing(timm, tmp_path):
    timm.models.save_for_hf(timm.create_model("resnet10t", pretrained=False), tmp_path / "net")
    for weights in (tmp_path / "net").glob("*.safetensors"):
        weights.unlink()
    torch.save({"state_dict": Evil(tmp_path / "run")}, tmp_path / "net/pytorch_model.bin")
    with pytest.raises(ClsnetError, match="its weights are a pickle that asks for more than"):
        Timm(f"local-dir:{tmp_path / 'net'}")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("absent", ["torch", "timm"])
def test_missing_package_names_the_extra(monkeypatch, absent):
    monkeypatch.setitem(sys.modules, absent, None)
    with pytest.raises(ClsnetError, match=rf"timm:x needs {absent}: pip install 'clsnet\[timm\]'"):
        resolve_backbone("timm:x", (3, 8, 8))


def test_package_that_fails_to_import_says_why(monkeypatch, tmp_path):
    (tmp_path / "timm.py").write_text("raise RuntimeError('operator nms does not exist')")
    monkeypatch.delitem(sys.modules, "timm", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ClsnetError, match="timm, which fails to import: operator nms does not"):
        Timm("x")


@pytest.mark.parametrize("taps", ["last", "several"])
def test_a_held_network_is_rebuilt_without_its_folder(model, taps):
    name, _ = model
    backbone = Timm(name, taps=taps)
    state = backbone.state_to_hold()
    shutil.rmtree(name.removeprefix("local-dir:"))
    again = Timm.restored(backbone.config, json.loads(json.dumps(backbone.form)), state)
    assert again.fingerprint == backbone.fingerprint
    assert again.held
