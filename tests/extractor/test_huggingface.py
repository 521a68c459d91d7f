import json
import shutil
import sys

import numpy as np
import pytest
import torch

from clsnet import CLSNet, load
from clsnet.errors import ClsnetError
from clsnet.extractor.backbones import HuggingFace, resolve_backbone
from clsnet.extractor.backbones.runtime import fastest

IMAGES = np.random.default_rng(0).integers(0, 256, (5, 3, 40, 40), dtype=np.uint8)
PROCESSOR = {
    "image_processor_type": "ViTImageProcessor",
    "do_normalize": True,
    "do_resize": True,
    "size": {"height": 32, "width": 32},
    "image_mean": [0.4, 0.5, 0.6],
    "image_std": [0.2, 0.25, 0.3],
}


def saved(network, folder, **processor):
    network.save_pretrained(folder)
    (folder / "preprocessor_config.json").write_text(json.dumps({**PROCESSOR, **processor}))
    return str(folder)


@pytest.fixture(scope="module")
def vit(tmp_path_factory):
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.ViTConfig(
        hidden_size=16,
        num_hidden_layers=5,
        num_attention_heads=2,
        intermediate_size=32,
        image_size=32,
        patch_size=8,
        id2label={0: "cat", 1: "dog"},
        label2id={"cat": 0, "dog": 1},
    )
    return saved(transformers.ViTModel(config), tmp_path_factory.mktemp("vit"))


@pytest.fixture(scope="module")
def resnet(tmp_path_factory):
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 12, 16, 20], depths=[1, 1, 1, 1], layer_type="basic"
    )
    options = {
        "image_processor_type": "ConvNextImageProcessor",
        "size": {"shortest_edge": 64},
        "crop_pct": 0.875,
    }
    return saved(transformers.ResNetModel(config), tmp_path_factory.mktemp("resnet"), **options)


def rooted(v):
    return v.sign() * v.abs().sqrt()


def both_means(outputs, dim):
    return [outputs.mean(dim=dim), (outputs**2).mean(dim=dim) ** 0.5]


def states(folder, x, **options):
    from transformers import AutoModel

    with torch.no_grad():
        answer = AutoModel.from_pretrained(folder)(x, output_hidden_states=True, **options)
    return [*answer.hidden_states[:-1], answer.last_hidden_state]


def test_transformer_gives_class_token_and_means_of_patches_of_its_last_four_layers(vit):
    backbone = HuggingFace(vit, views=1)
    expected = []
    for state in states(vit, backbone.normalised(torch.from_numpy(IMAGES)))[-4:]:
        expected += [state[:, 0], *both_means(state[:, 1:], 1)]
    Z = backbone(backbone.as_input(IMAGES))
    assert Z.shape == (5, 4 * 3 * 16)
    torch.testing.assert_close(Z, rooted(torch.cat(expected, dim=1)), rtol=1e-3, atol=1e-3)


def test_transformer_looks_at_larger_images_with_its_positions_stretched(vit):
    backbone = HuggingFace(vit, taps="many", views=1)
    backbone.fit(IMAGES, np.random.RandomState(0))
    larger = backbone.normalised(torch.from_numpy(IMAGES), 48)
    expected = []
    for state in states(vit, larger, interpolate_pos_encoding=True)[-4:]:
        expected += [state[:, 0], *both_means(state[:, 1:], 1)]
    expected = (rooted(torch.cat(expected, dim=1)) - backbone.centre[192:]) * backbone.factor[192:]
    Z = backbone(backbone.as_input(IMAGES))
    assert Z.shape == (5, 2 * 192)
    torch.testing.assert_close(Z[:, 192:], expected, rtol=1e-3, atol=1e-2)


def test_last_layer_of_a_transformer_is_its_class_token(vit):
    backbone = HuggingFace(vit, taps="last", views=1)
    expected = states(vit, backbone.normalised(torch.from_numpy(IMAGES)))[-1][:, 0]
    Z = backbone(backbone.as_input(IMAGES))
    torch.testing.assert_close(Z, rooted(expected), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("taps, depths", [("several", 4), ("last", 1)])
def test_convolutional_model_gives_means_of_its_maps(resnet, taps, depths):
    backbone = HuggingFace(resnet, taps=taps, views=1)
    assert backbone.size == 64
    maps = states(resnet, backbone.normalised(torch.from_numpy(IMAGES)))[-depths:]
    parts = [part for state in maps for part in both_means(state, (2, 3))]
    parts = parts if taps == "several" else parts[:1]
    Z = backbone(backbone.as_input(IMAGES))
    assert Z.shape == (5, 2 * 56 if depths == 4 else 20)
    torch.testing.assert_close(Z, rooted(torch.cat(parts, dim=1)), rtol=1e-3, atol=1e-3)


def test_tokens_without_a_class_token_are_averaged(tmp_path):
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    config = transformers.SwinConfig(
        image_size=32, patch_size=2, embed_dim=8, depths=[1, 1, 1], num_heads=[1, 1, 2],
        window_size=4,
    )  # fmt: skip
    folder = saved(transformers.SwinModel(config), tmp_path)
    backbone = HuggingFace(folder, views=1)
    expected = [
        part
        for state in states(folder, backbone.normalised(torch.from_numpy(IMAGES)))[-4:]
        for part in both_means(state, 1)
    ]
    Z = backbone(backbone.as_input(IMAGES))
    torch.testing.assert_close(Z, rooted(torch.cat(expected, dim=1)), rtol=1e-3, atol=1e-3)


def test_images_are_cropped_to_the_size_and_normalised_as_the_model_says(vit, tmp_path):
    backbone = HuggingFace(vit)
    assert backbone.size == 32
    grey = backbone.normalised(torch.full((1, 3, 32, 32), 255, dtype=torch.uint8))[0, :, 0, 0]
    torch.testing.assert_close(grey, torch.tensor([3.0, 2.0, 4 / 3]))
    from transformers import AutoModel

    processor = {"image_processor_type": "CLIPImageProcessor", "do_normalize": False}
    sizes = {"size": {"shortest_edge": 40}, "crop_size": {"height": 32, "width": 32}}
    network = AutoModel.from_pretrained(vit)
    folder = saved(network, tmp_path, do_center_crop=True, **processor, **sizes)
    backbone = HuggingFace(folder)
    assert backbone.size == 32
    assert backbone.normalised(torch.full((1, 8, 8), 255, dtype=torch.uint8)).unique() == 1


@pytest.mark.parametrize("name", ["vit", "resnet"])
def test_fastest_runtime_agrees_with_eager_pytorch(request, name):
    backbone = HuggingFace(request.getfixturevalue(name))
    x = backbone.normalised(torch.from_numpy(IMAGES))
    run = fastest(backbone.tapped, x[:1])
    torch.testing.assert_close(run(x), backbone.tapped(x), rtol=1e-4, atol=1e-4)


def test_features_of_an_image_ignore_the_rest_of_the_batch(vit):
    backbone = HuggingFace(vit)
    backbone.fit(IMAGES, np.random.RandomState(0))
    together = backbone(backbone.as_input(IMAGES))
    alone = torch.cat([backbone(backbone.as_input(IMAGES[i : i + 1])) for i in range(5)])
    torch.testing.assert_close(together, alone, rtol=1e-5, atol=1e-5)


def test_model_tells_the_classes_that_it_was_trained_on(vit, resnet):
    assert HuggingFace(vit).seen_classes == ("cat", "dog")
    assert HuggingFace(resnet).seen_classes == ()
    assert HuggingFace(vit).trained_on == f"hf:{vit}"


def test_name_finds_the_model_and_config_rebuilds_it(vit):
    backbone = resolve_backbone(f"hf:{vit}", (3, 40, 40))
    assert backbone.config == {"model": vit, "taps": "several", "views": 2}
    assert HuggingFace(**backbone.config).fingerprint == backbone.fingerprint


def test_folder_that_is_not_there_is_one_line(tmp_path):
    pytest.importorskip("transformers")
    with pytest.raises(ClsnetError, match=r"cannot load hf:.*absent") as refusal:
        HuggingFace(str(tmp_path / "absent"))
    assert "\n" not in str(refusal.value)


def test_missing_package_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(ClsnetError, match=r"hf:x needs transformers: pip install 'clsnet\[hub\]'"):
        resolve_backbone("hf:x", (3, 8, 8))


@pytest.mark.parametrize("name", ["vit", "resnet"])
def test_a_model_that_holds_the_network_needs_no_folder(request, name, tmp_path):
    folder = tmp_path / "gone"
    shutil.copytree(request.getfixturevalue(name), folder)
    model = CLSNet(backbone=f"hf:{folder}", connection="Z").partial_fit(IMAGES, list("aabbc"))
    model.save(tmp_path / "holds", self_contained=True)
    shutil.rmtree(folder)
    held = load(tmp_path / "holds")
    assert held.extractor_.backbone.seen_classes == model.extractor_.backbone.seen_classes
    np.testing.assert_allclose(held.predict_proba(IMAGES), model.predict_proba(IMAGES), atol=1e-3)
