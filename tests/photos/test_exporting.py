import json
import shutil
import sys

import numpy as np
import pytest
from PIL import Image, ImageOps

from clsnet import CLSNet
from clsnet.errors import ClsnetError
from clsnet.extractor import Patches
from clsnet.photos import export, forget, learn, predict

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")


@pytest.fixture(scope="module")
def photos(shapes_folder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("export") / "photos"
    for name in ("square-r", "stripes-g", "square-b"):
        shutil.copytree(shapes_folder / name, folder / name)
    return folder


def session_of(path):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session, session.get_modelmeta().custom_metadata_map


def prepared(paths, size):
    """As the file's metadata tell."""
    fitted = []
    for path in paths:
        image = ImageOps.exif_transpose(Image.open(path)).convert("RGB")
        fitted.append(np.asarray(ImageOps.fit(image, (size, size), Image.Resampling.BICUBIC)))
    return np.stack(fitted)


@pytest.mark.parametrize("kind", ["efficientnet-lite0", "resnet18", "patches"])
def test_the_file_answers_as_predict_does(
    kind, photos, shapes_folder, tmp_path, write_network, capfd
):
    backbone = {"patches": Patches(filters=4, pool=2)}.get(kind, kind)
    if kind == "resnet18":
        backbone = f"resnet18:{write_network(tmp_path / 'weights.safetensors')}"
    learn(tmp_path / "m.clsnet", photos, backbone=backbone)
    capfd.readouterr()
    allow = [backbone] if isinstance(backbone, str) else []
    done = export(tmp_path / "m.clsnet", tmp_path / "m.onnx", allow=allow)
    assert capfd.readouterr() == ("", "")
    assert done.difference < 1e-4
    assert done.size == (tmp_path / "m.onnx").stat().st_size

    onnx.checker.check_model(tmp_path / "m.onnx", full_check=True)
    session, about = session_of(tmp_path / "m.onnx")
    classes = json.loads(about["classes"])
    assert classes == done.classes == ["square-b", "square-r", "stripes-g"]
    assert str(done.image_size) in about["prepare"]
    assert float(about["threshold"]) == done.threshold
    paths = [photos, shapes_folder / "stripes-b"]
    found = predict(tmp_path / "m.clsnet", paths, top=3, allow=allow)
    images = prepared([each.path for each in found], int(about["image_size"]))
    chances, fits, known = session.run(None, {"images": images})
    for each, row, fit, fitting in zip(found, chances, fits, known, strict=True):
        assert {label: row[classes.index(label)] for label, _ in each.top} == pytest.approx(
            dict(each.top), abs=1e-4
        )
        assert fitting == (fit >= done.threshold)
        assert fitting == (each.label is not None) or abs(fit - done.threshold) < 1e-4
    assert known[:30].any()
    assert kind == "patches" or not known[30:].all()
    [alone] = session.run(["probabilities"], {"images": images[:1]})
    np.testing.assert_allclose(alone, chances[:1], atol=1e-5)


def test_names_of_any_language_and_one_class_are_exported(photos, tiny, tmp_path):
    shutil.copytree(photos / "square-r", tmp_path / "photos" / "Kätzchen 猫")
    learn(tmp_path / "m.clsnet", tmp_path / "photos", backbone=tiny)
    export(tmp_path / "m.clsnet", tmp_path / "m.onnx")
    session, about = session_of(tmp_path / "m.onnx")
    assert json.loads(about["classes"]) == ["Kätzchen 猫"]
    images = np.zeros((2, 64, 64, 3), np.uint8)
    chances, fits, known = session.run(None, {"images": images})
    np.testing.assert_allclose(chances, [[1.0], [1.0]], rtol=1e-6)
    assert known.tolist() == (fits >= float(about["threshold"])).tolist()


def test_a_missing_model_and_one_of_vectors_are_refused(tmp_path):
    with pytest.raises(ClsnetError, match=r"cannot read .*gone"):
        export(tmp_path / "gone.clsnet", tmp_path / "m.onnx")
    CLSNet().partial_fit(np.eye(4), [0, 1, 0, 1]).save(tmp_path / "m")
    with pytest.raises(ClsnetError, match="did not learn from photos"):
        export(tmp_path / "m", tmp_path / "m.onnx")
    assert not (tmp_path / "m.onnx").exists()


def test_a_model_that_forgot_everything_is_refused(model, tmp_path):
    forget(model, ["square-r", "stripes-g", "square-b"])
    with pytest.raises(ClsnetError, match="has forgotten every class"):
        export(model, tmp_path / "m.onnx")


def test_the_model_itself_is_not_overwritten(model):
    before = model.read_bytes()
    with pytest.raises(ClsnetError, match="it is the model itself"):
        export(model, model)
    assert model.read_bytes() == before


def test_without_the_extra_one_line_names_it(model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ClsnetError, match=r"export needs .*: pip install 'clsnet\[export\]'"):
        export(model, tmp_path / "m.onnx")


def test_without_onnx_runtime_the_file_is_written_unchecked(model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert export(model, tmp_path / "m.onnx").difference is None
    assert (tmp_path / "m.onnx").stat().st_size > 1000


def refuse(self, graph, images):
    raise ClsnetError(f"the backbone {self} cannot be exported.")


@pytest.mark.parametrize(
    ("verb", "sabotage", "line"),
    [
        ("transform", lambda self, X, plain=Patches.transform: -plain(self, X), "differ by"),
        ("write_graph", refuse, "cannot be exported"),
    ],
)
def test_what_answers_otherwise_is_not_left_behind(
    model, tmp_path, monkeypatch, verb, sabotage, line
):
    (tmp_path / "m.onnx").write_text("before")
    monkeypatch.setattr(Patches, verb, sabotage)
    with pytest.raises(ClsnetError, match=line) as caught:
        export(model, tmp_path / "m.onnx")
    assert "\n" not in str(caught.value)
    assert (tmp_path / "m.onnx").read_text() == "before"
