import json
import os
import shutil
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socketserver import BaseRequestHandler, TCPServer

import numpy as np
import pytest
import torch

from clsnet import CLSNet, load
from clsnet.errors import ClsnetError
from clsnet.extractor.backbones import HuggingFace, resolve_backbone
from clsnet.extractor.graph import Graph
from clsnet.extractor.runtime.openvino import InOpenVINO
from clsnet.extractor.runtime.torch_module import fastest

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


def new_vit(kind):
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
    return getattr(transformers, kind)(config)


@pytest.fixture(scope="module")
def vit(tmp_path_factory):
    return saved(new_vit("ViTModel"), tmp_path_factory.mktemp("vit"))


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    """A checkpoint with a head and without a pooler."""
    return saved(new_vit("ViTForImageClassification"), tmp_path_factory.mktemp("classifier"))


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


def normalised(backbone, *size):
    return torch.from_numpy(backbone.normalised(IMAGES, *size))


def features(backbone, images=IMAGES):
    return torch.from_numpy(backbone.transform(backbone.as_input(images)))


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
    for state in states(vit, normalised(backbone))[-4:]:
        expected += [state[:, 0], *both_means(state[:, 1:], 1)]
    Z = features(backbone)
    assert Z.shape == (5, 4 * 3 * 16)
    torch.testing.assert_close(Z, rooted(torch.cat(expected, dim=1)), rtol=1e-3, atol=1e-3)


def test_transformer_looks_at_larger_images_with_its_positions_stretched(vit):
    backbone = HuggingFace(vit, taps="many", views=1)
    backbone.fit(IMAGES, np.random.RandomState(0))
    larger = normalised(backbone, 48)
    expected = []
    for state in states(vit, larger, interpolate_pos_encoding=True)[-4:]:
        expected += [state[:, 0], *both_means(state[:, 1:], 1)]
    centre, factor = (torch.from_numpy(v[192:]) for v in (backbone.centre, backbone.factor))
    expected = (rooted(torch.cat(expected, dim=1)) - centre) * factor
    Z = features(backbone)
    assert Z.shape == (5, 2 * 192)
    torch.testing.assert_close(Z[:, 192:], expected, rtol=1e-3, atol=1e-2)


def test_last_layer_of_a_transformer_is_its_class_token(vit):
    backbone = HuggingFace(vit, taps="last", views=1)
    expected = states(vit, normalised(backbone))[-1][:, 0]
    Z = features(backbone)
    torch.testing.assert_close(Z, rooted(expected), rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("taps, depths", [("several", 4), ("last", 1)])
def test_convolutional_model_gives_means_of_its_maps(resnet, taps, depths):
    backbone = HuggingFace(resnet, taps=taps, views=1)
    assert backbone.size == 64
    maps = states(resnet, normalised(backbone))[-depths:]
    parts = [part for state in maps for part in both_means(state, (2, 3))]
    parts = parts if taps == "several" else parts[:1]
    Z = features(backbone)
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
        part for state in states(folder, normalised(backbone))[-4:] for part in both_means(state, 1)
    ]
    Z = features(backbone)
    torch.testing.assert_close(Z, rooted(torch.cat(expected, dim=1)), rtol=1e-3, atol=1e-3)


def test_images_are_cropped_to_the_size_and_normalised_as_the_model_says(vit, tmp_path):
    backbone = HuggingFace(vit)
    assert backbone.size == 32
    grey = backbone.normalised(np.full((1, 3, 32, 32), 255, dtype=np.uint8))[0, :, 0, 0]
    np.testing.assert_allclose(grey, [3.0, 2.0, 4 / 3], rtol=1e-5)
    from transformers import AutoModel

    processor = {"image_processor_type": "CLIPImageProcessor", "do_normalize": False}
    sizes = {"size": {"shortest_edge": 40}, "crop_size": {"height": 32, "width": 32}}
    network = AutoModel.from_pretrained(vit)
    folder = saved(network, tmp_path, do_center_crop=True, **processor, **sizes)
    backbone = HuggingFace(folder)
    assert backbone.size == 32
    white = backbone.normalised(np.full((1, 8, 8), 255, dtype=np.uint8))
    np.testing.assert_allclose(white, np.ones((1, 3, 32, 32)), atol=1e-6)


@pytest.mark.parametrize("name", ["vit", "resnet"])
def test_fastest_runtime_agrees_with_eager_pytorch(request, name):
    backbone = HuggingFace(request.getfixturevalue(name))
    tapped = backbone._tapped[backbone.size]
    run = fastest(tapped, backbone.size)
    pytest.importorskip("openvino")
    assert isinstance(run, InOpenVINO)
    x = normalised(backbone)
    torch.testing.assert_close(torch.from_numpy(run(x.numpy())), tapped(x), rtol=1e-4, atol=1e-4)


def test_features_of_an_image_ignore_the_rest_of_the_batch(vit):
    backbone = HuggingFace(vit)
    backbone.fit(IMAGES, np.random.RandomState(0))
    together = features(backbone)
    alone = torch.cat([features(backbone, IMAGES[i : i + 1]) for i in range(5)])
    assert torch.equal(together, alone)


def test_model_tells_the_classes_that_it_was_trained_on(vit, resnet):
    assert HuggingFace(vit).seen_classes == ("cat", "dog")
    assert HuggingFace(resnet).seen_classes == ()
    assert HuggingFace(vit).trained_on == f"hf:{vit}"


def test_name_finds_the_model_and_config_rebuilds_it(vit):
    backbone = resolve_backbone(f"hf:{vit}", (3, 40, 40))
    assert backbone.config == {"model": vit, "taps": "several", "views": 2}
    assert HuggingFace(**backbone.config).fingerprint == backbone.fingerprint


def test_weights_that_a_classifier_lacks_are_the_same_at_every_load(classifier, tmp_path):
    first, second = HuggingFace(classifier), HuggingFace(classifier)
    assert first.fingerprint == second.fingerprint
    model = CLSNet(backbone=f"hf:{classifier}", connection="Z", cache=tmp_path / "cache")
    model.partial_fit(IMAGES, list("aabbc")).save(tmp_path / "model")
    model.save(tmp_path / "holds", self_contained=True)
    for name in ("model", "holds"):
        with pytest.raises(ClsnetError, match="refers to the network 'hf:/"):
            load(tmp_path / name)
        again = load(tmp_path / name, allow=f"hf:{classifier}")
        np.testing.assert_array_equal(again.predict(IMAGES), model.predict(IMAGES))


@pytest.mark.parametrize("taps", ["several", "last"])
def test_features_of_a_classifier_are_those_of_its_layers(classifier, taps):
    from transformers import AutoModelForImageClassification

    backbone = HuggingFace(classifier, taps=taps, views=1)
    whole = AutoModelForImageClassification.from_pretrained(classifier)
    x = normalised(backbone)
    with torch.no_grad():
        last = whole.vit(x).last_hidden_state
    expected = [last[:, 0], *both_means(last[:, 1:], 1)] if taps == "several" else [last[:, 0]]
    Z = features(backbone)[:, -16 * len(expected) :]
    torch.testing.assert_close(Z, rooted(torch.cat(expected, dim=1)), rtol=1e-3, atol=1e-3)


def test_weights_that_features_need_must_be_there(tmp_path):
    network = new_vit("ViTModel")
    folder = saved(network, tmp_path)
    state = {name: v for name, v in network.state_dict().items() if "layernorm.bias" not in name}
    network.save_pretrained(folder, state_dict=state)
    with pytest.raises(ClsnetError, match=r"hf:.*: its weights lack layernorm\.bias\.$"):
        HuggingFace(folder)


def test_loading_prints_nothing_and_leaves_the_settings_of_transformers(classifier, capfd):
    from transformers import logging

    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    HuggingFace(classifier)
    assert capfd.readouterr() == ("", "")
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before


@pytest.mark.parametrize("folder", ["{tmp}/absent", "./absent", "../a/b/absent", "~absent"])
def test_folder_that_is_not_there_is_one_line(tmp_path, folder):
    pytest.importorskip("transformers")
    folder = folder.format(tmp=tmp_path)
    with pytest.raises(ClsnetError) as refusal:
        HuggingFace(folder)
    assert str(refusal.value) == f"cannot load hf:{folder}: there is no such folder."


@pytest.mark.parametrize(
    ("absent", "said"),
    [
        ("config.json", "it has no config.json, so it is not a saved model."),
        (
            "preprocessor_config.json",
            "it has no preprocessor_config.json; save the model's image processor there too.",
        ),
    ],
)
def test_folder_that_lacks_a_file_is_one_line(vit, tmp_path, absent, said):
    folder = shutil.copytree(vit, tmp_path / "part")
    (folder / absent).unlink()
    with pytest.raises(ClsnetError) as refusal:
        HuggingFace(str(folder))
    assert str(refusal.value) == f"cannot load hf:{folder}: {said}"


def test_an_image_processor_may_be_saved_within_that_of_a_larger_model(vit, tmp_path):
    folder = shutil.copytree(vit, tmp_path / "whole")
    (folder / "preprocessor_config.json").unlink()
    (folder / "processor_config.json").write_text(json.dumps({"image_processor": PROCESSOR}))
    np.testing.assert_array_equal(HuggingFace(str(folder)).centre, HuggingFace(vit).centre)


class BrokenHub(BaseRequestHandler):
    """Closes every connection at once."""

    def handle(self):
        self.server.asked += 1


def test_hub_that_cannot_be_reached_is_one_line_at_once(run_clsnet, tmp_path):
    pytest.importorskip("transformers")
    with TCPServer(("127.0.0.1", 0), BrokenHub) as server:
        server.asked = 0
        threading.Thread(target=server.serve_forever, daemon=True).start()
        done = run_clsnet(
            *("bench", "Digits-4/2", "--backbone", "hf:some/model", "--out", tmp_path / "runs"),
            HF_ENDPOINT=f"http://127.0.0.1:{server.server_address[1]}",
            HF_HOME=str(tmp_path),
        )
        server.shutdown()
    assert server.asked <= 2  # it does not try again and again
    assert (done.status, done.out, done.err.count("\n")) == (2, "", 1)
    said = "clsnet: cannot load hf:some/model: it is not on this machine, and the hub cannot be"
    assert done.err.startswith(said)


class EmptyHub(BaseHTTPRequestHandler):
    """Knows no model."""

    def do_GET(self):
        self.server.asked.append(self.path)
        self.send_response(404)
        self.send_header("X-Error-Code", "RepoNotFound")
        self.end_headers()

    do_HEAD = do_GET

    def log_message(self, *line):
        pass


def test_hub_is_asked_once_and_only_for_what_is_not_here(classifier, tmp_path):
    place = tmp_path / "hub/models--some--model"
    shutil.copytree(classifier, place / "snapshots/abc")
    (place / "refs").mkdir()
    (place / "refs/main").write_text("abc")
    code = """
from clsnet.extractor.backbones import HuggingFace
print(HuggingFace("some/model").fingerprint)
try:
    HuggingFace("some/other")
except Exception as error:
    print(error)
"""
    with ThreadingHTTPServer(("127.0.0.1", 0), EmptyHub) as server:
        server.asked = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}"
        environment = {**os.environ, "HF_ENDPOINT": address, "HF_HOME": str(tmp_path)}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=environment
        )
        server.shutdown()
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        HuggingFace(classifier).fingerprint,
        "cannot load hf:some/other: the hub has no such model, or hides it from you.",
    ]
    assert [path for path in server.asked if "some" in path] == ["/api/models/some/other"]


@pytest.mark.parametrize("absent", ["torch", "transformers"])
def test_missing_package_names_the_extra(monkeypatch, absent):
    monkeypatch.setitem(sys.modules, absent, None)
    said = rf"hf:x needs {absent}: pip install 'clsnet\[hub\]'"
    with pytest.raises(ClsnetError, match=said):
        resolve_backbone("hf:x", (3, 8, 8))


@pytest.mark.parametrize("name", ["vit", "resnet"])
def test_network_is_exported(request, name):
    pytest.importorskip("onnxscript")
    onnxruntime = pytest.importorskip("onnxruntime")
    backbone = HuggingFace(request.getfixturevalue(name))
    backbone.fit(IMAGES, np.random.RandomState(0))
    graph = Graph()
    images = graph.input("images", np.uint8, ("n", 3, 40, 40))
    graph.output("Z", backbone.write_graph(graph, images))
    session = onnxruntime.InferenceSession(graph.serialised(), providers=["CPUExecutionProvider"])
    for n in (1, 5):
        [Z] = session.run(None, {"images": IMAGES[:n]})
        np.testing.assert_allclose(Z, features(backbone)[:n], atol=1e-2)


def test_code_of_a_model_is_never_run(vit, tmp_path):
    folder = shutil.copytree(vit, tmp_path / "coded")
    config = json.loads((folder / "config.json").read_text())
    config["model_type"] = "mine"
    config["auto_map"] = {"AutoConfig": "mine.Config", "AutoModel": "mine.Model"}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "mine.py").write_text(f"open({str(tmp_path / 'made')!r}, 'w')")
    with pytest.raises(ClsnetError, match="cannot load hf:"):
        HuggingFace(str(folder))
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("name", ["vit", "resnet"])
def test_a_model_that_holds_the_network_needs_no_folder(request, name, tmp_path):
    folder = tmp_path / "gone"
    shutil.copytree(request.getfixturevalue(name), folder)
    model = CLSNet(backbone=f"hf:{folder}", connection="Z").partial_fit(IMAGES, list("aabbc"))
    model.save(tmp_path / "holds", self_contained=True)
    shutil.rmtree(folder)
    held = load(tmp_path / "holds", allow=f"hf:{folder}")
    assert held.extractor_.backbone.seen_classes == model.extractor_.backbone.seen_classes
    np.testing.assert_allclose(held.predict_proba(IMAGES), model.predict_proba(IMAGES), atol=1e-3)
