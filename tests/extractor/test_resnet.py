import functools

import numpy as np
import pytest
import safetensors
import torch
from torch.nn.functional import interpolate

from clsnet import CLSNet, load
from clsnet.errors import ClsnetError
from clsnet.extractor.backbones import ResNet, resolve_backbone
from clsnet.extractor.backbones.weights import About, write_weights
from clsnet.methods.common.residual import Residual

SIZE = 16
IMAGES = np.random.default_rng(0).integers(0, 256, (12, 3, SIZE, SIZE), dtype=np.uint8)
ABOUT = About(
    network="resnet18",
    small=True,
    size=SIZE,
    mean=(0.4, 0.5, 0.6),
    deviation=(0.2, 0.25, 0.3),
    objective="supervised",
    dataset="TinyImageNet",
    classes=("cat", "dog"),
)


@functools.cache
def network(depth=18, small=True):
    """A network in which every block adds something."""
    torch.manual_seed(depth)
    net = Residual(depth, small, n_classes=2).eval().requires_grad_(False)
    for layer in net.modules():
        if isinstance(layer, torch.nn.BatchNorm2d):
            torch.nn.init.uniform_(layer.weight, 0.5, 1)
    return net


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("weights") / "r18.safetensors"
    write_weights(path, ABOUT, network().state_dict())
    return str(path)


def features(backbone, images):
    return torch.from_numpy(backbone.transform(backbone.as_input(images)))


@pytest.fixture(scope="module")
def backbone(file):
    backbone = ResNet(file)
    backbone.fit(IMAGES, np.random.RandomState(0))
    return backbone


def normalised(images):
    mean, deviation = (torch.tensor(v).reshape(3, 1, 1) for v in (ABOUT.mean, ABOUT.deviation))
    return (torch.from_numpy(images) / 255 - mean) / deviation


def rooted(v):
    return v.sign() * v.abs().sqrt()


def pooled(block):
    return [block.mean(dim=(2, 3)), (block**2).mean(dim=(2, 3)) ** 0.5]


def literal_parts(x, cells=True):
    blocks = list(network().blocks(x))
    parts = []
    for i in range(2, 8):
        parts += pooled(blocks[i])
        if i < 6 and cells:
            n, channels, side, _ = blocks[i].shape
            quarters = blocks[i].reshape(n, channels, 2, side // 2, 2, side // 2).mean(dim=(3, 5))
            parts.append(quarters.flatten(1))
    return parts


def test_features_are_both_means_of_blocks_2_to_7_and_cells_of_stages_2_and_3(file):
    backbone = ResNet(file, views=1)
    expected = rooted(torch.cat(literal_parts(normalised(IMAGES)), dim=1))
    assert expected.shape[1] == 128 * 12 + 256 * 12 + 512 * 4 == 6656
    Z = features(backbone, IMAGES)
    torch.testing.assert_close(Z, expected, rtol=1e-3, atol=1e-3)


def test_many_taps_look_at_larger_images_too(file):
    backbone = ResNet(file, taps="many", views=1)
    large = interpolate(torch.from_numpy(IMAGES) / 255, (24, 24), mode="bilinear", antialias=True)
    parts = literal_parts(normalised(IMAGES)) + literal_parts(
        normalised(255 * large.numpy()), False
    )
    expected = rooted(torch.cat(parts, dim=1))
    assert expected.shape[1] == 6656 + 128 * 4 + 256 * 4 + 512 * 4
    Z = features(backbone, IMAGES)
    torch.testing.assert_close(Z, expected, rtol=1e-3, atol=1e-3)


def literal_nodes(block, number, seed):
    """Random nodes, one place after another."""
    random = np.random.RandomState(seed)
    weight = random.standard_normal((number, block.shape[1])) / block.shape[1] ** 0.5
    bias = random.uniform(-0.5, 0.5, number)
    rows = []
    for image in block.double().numpy():
        places = image.reshape(len(image), -1).T
        places = places - places.mean(axis=1, keepdims=True)
        places = places / (places.std(axis=1, keepdims=True) + 1e-3)
        rows.append(np.maximum(places @ weight.T + bias, 0).mean(axis=0))
    return torch.from_numpy(np.array(rows)).float()


def test_nodes_at_every_place_take_the_place_of_cells(file):
    backbone = ResNet(file, views=1, nodes=24)
    blocks = list(network().blocks(normalised(IMAGES)))
    parts = []
    for i, number in enumerate((0, 4, 6, 8, 6, 0)):
        parts += pooled(blocks[i + 2])
        if number:
            parts.append(literal_nodes(blocks[i + 2], number, seed=i))
    expected = rooted(torch.cat(parts, dim=1))
    assert expected.shape[1] == 128 * 4 + 256 * 4 + 512 * 4 + 24
    Z = features(backbone, IMAGES)
    torch.testing.assert_close(Z, expected, rtol=1e-3, atol=1e-3)


def test_many_taps_have_half_of_the_nodes_at_each_scale(file):
    backbone = ResNet(file, taps="many", views=1, nodes=48)
    Z = features(backbone, IMAGES)
    assert Z.shape[1] == 2 * (128 * 4 + 256 * 4 + 512 * 4 + 24)
    one = ResNet(file, views=1, nodes=24)
    torch.testing.assert_close(Z[:, : Z.shape[1] // 2], features(one, IMAGES))


def test_the_last_layer_and_a_deeper_network_have_no_nodes(file, tmp_path):
    about = About(**{**vars(ABOUT), "network": "resnet50", "small": False, "size": 32})
    write_weights(tmp_path / "w", about, network(50, False).state_dict())
    assert ResNet(file, nodes=24).has_nodes
    assert not ResNet(file, taps="last", nodes=24).has_nodes
    assert not ResNet(str(tmp_path / "w"), nodes=24).has_nodes


def test_a_network_with_nodes_is_another_and_its_copies_are_the_same(file):
    plain, some, more = (ResNet(file, nodes=nodes).fingerprint for nodes in (0, 24, 48))
    assert len({plain, some, more}) == 3
    assert ResNet(file, nodes=24).fingerprint == some


@pytest.mark.parametrize("self_contained", [False, True])
def test_a_model_remembers_how_many_nodes_its_network_has(file, tmp_path, self_contained):
    backbone = ResNet(file, views=1, nodes=24)
    model = CLSNet(backbone=backbone, connection="Z", device="cpu")
    model.partial_fit(IMAGES, np.arange(12) % 3)
    model.save(tmp_path / "m", self_contained=self_contained)
    again = load(tmp_path / "m", device="cpu", allow=() if self_contained else file)
    assert again.extractor_.backbone.nodes == 24
    np.testing.assert_allclose(again.transform(IMAGES), model.transform(IMAGES), atol=1e-2)


def test_last_taps_are_the_papers_last_layer(file):
    backbone = ResNet(file, taps="last", views=1)
    Z = features(backbone, IMAGES)
    expected = rooted(network().embed(normalised(IMAGES)))
    torch.testing.assert_close(Z, expected, rtol=1e-3, atol=1e-3)


def test_deeper_network_is_tapped_at_the_ends_of_its_stages(tmp_path):
    about = About(**{**vars(ABOUT), "network": "resnet50", "small": False, "size": 32})
    write_weights(tmp_path / "w", about, network(50, False).state_dict())
    backbone = ResNet(str(tmp_path / "w"), views=1)
    X = IMAGES[:2].repeat(2, axis=2).repeat(2, axis=3)
    blocks = list(network(50, False).blocks(normalised(X)))
    parts = [part for i in (6, 11, 12, 14, 15) for part in pooled(blocks[i])]
    expected = torch.cat(parts, dim=1)
    assert [b.shape[1] for b in (blocks[6], blocks[11], blocks[15])] == [512, 1024, 2048]
    Z = features(backbone, X)
    torch.testing.assert_close(Z, rooted(expected), rtol=1e-3, atol=1e-3)


def test_features_of_an_image_ignore_the_rest_of_the_batch(backbone):
    together = features(backbone, IMAGES)
    alone = torch.cat([features(backbone, IMAGES[i : i + 1]) for i in range(12)])
    assert torch.equal(together, alone)


def test_backbone_tells_what_its_weights_have_seen(backbone):
    assert backbone.trained_on == "TinyImageNet"
    assert backbone.seen_classes == ("cat", "dog")


def test_fingerprint_does_not_depend_on_where_the_file_lies(backbone, file, tmp_path):
    write_weights(tmp_path / "elsewhere", ABOUT, network().state_dict())
    assert ResNet(str(tmp_path / "elsewhere")).fingerprint == backbone.fingerprint
    changed = {**network().state_dict(), "bn1.bias": torch.full((64,), 1e-3)}
    write_weights(tmp_path / "elsewhere", ABOUT, changed)
    assert ResNet(str(tmp_path / "elsewhere")).fingerprint != backbone.fingerprint


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("last", 1, 0), "2124e7c67d9dfd64533600163cd4358d"),
        (("several", 2, 0), "645f5212c5452f39b2a3d4effce12d52"),
        (("many", 8, 48), "7516ee179be2bf4bb98e3d15e1bdaebf"),
    ],
)
def test_fingerprints_are_those_of_version_0_1(write_network, tmp_path, options, expected):
    file = write_network(tmp_path / "w.safetensors", ("cat",))
    assert ResNet(file, *options).fingerprint == expected


def test_name_with_a_file_finds_the_network(file):
    for name in (f"resnet18:{file}", file):
        found = resolve_backbone(name, (3, SIZE, SIZE), taps="last", views=1, nodes=6)
        assert found.config == {"weights": file, "taps": "last", "views": 1, "nodes": 6}


def test_name_of_another_depth_is_refused(file):
    with pytest.raises(ClsnetError, match="holds weights of resnet18, not of resnet50"):
        resolve_backbone(f"resnet50:{file}", (3, SIZE, SIZE))


def test_file_that_is_not_there_is_named():
    with pytest.raises(ClsnetError, match=r"cannot read the weights absent\.safetensors: No such"):
        resolve_backbone("resnet18:absent.safetensors", (3, SIZE, SIZE))


@pytest.mark.parametrize(
    "change, state, message",
    [
        ({"network": "vgg16"}, {}, "about.network is 'vgg16', not one of 'resnet18', 'resnet50'"),
        ({"network": "resnet50"}, network().state_dict(), "do not fit resnet50; make them again"),
        ({}, {"fc.bias": torch.zeros(2)}, "do not fit resnet18; make them again"),
        ({}, {"other": torch.zeros(2)}, "do not fit resnet18; make them again"),
    ],
)
def test_weights_that_do_not_fit_are_refused(tmp_path, change, state, message):
    write_weights(tmp_path / "w", About(**{**vars(ABOUT), **change}), state)
    with pytest.raises(ClsnetError, match=message):
        ResNet(str(tmp_path / "w"))


def test_model_with_a_network_is_saved_without_its_weights(file, tmp_path):
    y = np.arange(12) % 2
    model = CLSNet(backbone=ResNet(file, taps="last"), connection="Z").partial_fit(IMAGES, y)
    assert model.score(IMAGES, y) == 1
    model.save(tmp_path / "m.clsnet")
    with safetensors.safe_open(tmp_path / "m.clsnet", framework="np") as saved:
        held = {name for name in saved.keys() if "backbone" in name}  # noqa: SIM118
    assert held == {"extractor.backbone.centre", "extractor.backbone.factor"}
    again = load(tmp_path / "m.clsnet", device="cpu", allow=file)
    np.testing.assert_allclose(
        again.decision_function(IMAGES), model.decision_function(IMAGES), atol=1e-4
    )
