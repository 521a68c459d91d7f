import io
import json
import shutil
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from tests.fuzz.odd_photos import good_photo

from clsnet import CLSNet
from clsnet.errors import ClsnetError
from clsnet.extractor import Patches
from clsnet.extractor.graph import Graph
from clsnet.images.decode import decode
from clsnet.images.endings import kind_of
from clsnet.photos import export, forget, learn, predict
from clsnet.photos.familiarity import Familiarity
from clsnet.photos.preparing import PYTHON, write_preparation

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

ODD = 200


@pytest.fixture(scope="module")
def photos(shapes_folder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("export") / "photos"
    for name in ("square-r", "stripes-g", "square-b"):
        shutil.copytree(shapes_folder / name, folder / name)
    return folder


def session_of(path):
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return session, session.get_modelmeta().custom_metadata_map


def follow(about):
    """Return what prepares a photo, as the file's metadata tell."""
    place = {}
    exec(about["prepare_python"], place)
    return partial(place["prepared"], size=int(about["image_size"]))


def test_the_page_about_exported_models_shows_these_instructions():
    page = Path(__file__).parents[2] / "docs" / "export.md"
    assert PYTHON.partition("def ")[2] in page.read_text()


def test_the_file_prepares_odd_photos_as_predict_does(tmp_path):
    """A program that follows the instructions literally, on photos of every mode and format."""
    for name, colour in (("a", 40), ("b", 200)):
        (tmp_path / "photos" / name).mkdir(parents=True)
        for i in range(3):
            pixels = np.random.RandomState(colour + i).randint(0, colour + 56, (40, 40, 3))
            image = Image.fromarray(pixels.astype(np.uint8))
            image.save(tmp_path / "photos" / name / f"{i}.png")
    learn(tmp_path / "m.clsnet", tmp_path / "photos", backbone=Patches(filters=4, pool=2))
    export(tmp_path / "m.clsnet", tmp_path / "m.onnx")
    session, about = session_of(tmp_path / "m.onnx")
    prepared, classes = follow(about), json.loads(about["classes"])
    paths, number = [tmp_path / "large.jpg"], 0
    Image.effect_mandelbrot((900, 700), (-3, -2.5, 2, 2.5), 60).save(paths[0])
    while len(paths) < ODD:
        end, contents = good_photo(number := number + 1)
        if not kind_of(f"a{end}"):  # HEIC, AVIF and raw files are not Pillow's own
            paths.append(tmp_path / f"{number}{end}")
            paths[-1].write_bytes(contents)
    found = predict(tmp_path / "m.clsnet", paths, top=2, reject=0)
    for each in found:
        if each.unreadable:
            assert "floats" in each.unreadable
            continue
        [chances] = session.run(["probabilities"], {"images": prepared(each.path)})
        expected = [dict(each.top)[label] for label in classes]
        assert chances[0].tolist() == pytest.approx(expected, abs=1e-4), each.path
    assert sum(not each.unreadable for each in found) > 0.9 * ODD


def preparing(size):
    """Return a session that does nothing but prepare photos."""
    graph = Graph()
    images = graph.input("images", np.uint8, ("n", "height", "width", "channels"))
    graph.output("y", write_preparation(graph, images, size), np.uint8, ("n", 3, size, size))
    return session_of(graph.serialised())[0]


def compare_prepared(session, size, shape, channels, seed=0):
    pixels = np.random.RandomState(seed).randint(0, 256, (2, *shape, channels)).astype(np.uint8)
    [found] = session.run(None, {"images": pixels})
    for one, answer in zip(pixels, found, strict=True):
        file = io.BytesIO()
        Image.fromarray(one[..., 0] if channels == 1 else one).save(file, "PNG")
        np.testing.assert_array_equal(answer, decode(file.getvalue(), size), f"{shape}, {size}")


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("shape", [(64, 64), (1, 1), (1, 3000), (3000, 1), (333, 200), (50, 41)])
def test_the_graph_prepares_photos_to_the_byte(shape, channels):
    compare_prepared(preparing(64), 64, shape, channels)


TALL = [(320, 240), (320, 180), (225, 200), (300, 200), (300, 223), (300, 225), (400, 300)]


@pytest.mark.parametrize("shape", TALL)
def test_small_portraits_are_prepared_to_the_byte(shape):
    """`ImageOps.fit` of Pillow 13 begins with the height of these."""
    compare_prepared(preparing(224), 224, shape, channels=3)


def test_photos_of_any_shape_are_prepared_to_the_byte():
    state = np.random.RandomState(0)
    for size in (1, 7, 32, 64):
        session = preparing(size)
        near = np.maximum(1, size + state.randint(-8, 9, (25, 2)))
        for shape in (*near, *state.randint(1, 5 * size, (25, 2)), *state.randint(1, 300, (25, 2))):
            compare_prepared(session, size, shape, channels=1, seed=state.randint(1000))


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
    prepared = follow(about)
    images = np.concatenate([prepared(each.path) for each in found])
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
    with pytest.raises(ClsnetError, match=r"name a file that ends with \.onnx"):
        export(model, model)
    assert model.read_bytes() == before
    same = model.rename(model.with_suffix(".onnx"))
    with pytest.raises(ClsnetError, match="it is the model itself"):
        export(same, same)
    assert same.read_bytes() == before


def test_without_the_extra_one_line_names_it(model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ClsnetError, match=r"export needs .*: pip install 'clsnet\[export\]'"):
        export(model, tmp_path / "m.onnx")


def test_without_onnx_runtime_the_file_is_written_unchecked(model, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    assert export(model, tmp_path / "m.onnx").difference is None
    assert (tmp_path / "m.onnx").stat().st_size > 1000


def exaggerate(self, most, plain=Familiarity.directions):
    return 100 * plain(self, most)


def test_a_file_that_knows_other_photos_is_not_left_behind(model, tmp_path, monkeypatch):
    monkeypatch.setattr(Familiarity, "directions", exaggerate)
    with pytest.raises(ClsnetError, match="differ on what is none of these"):
        export(model, tmp_path / "m.onnx")
    assert not (tmp_path / "m.onnx").exists()


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
