"""Files that version 0.1 wrote, with the answers that it gave."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sklearn.datasets import load_digits

from clsnet import load
from clsnet.photos import forget, learn, predict

FOLDER = Path(__file__).parent / "written_by_0_1"
ANSWERS = json.loads((FOLDER / "answers.json").read_text())
X, Y = load_digits(return_X_y=True)


def samples(name):
    return X.reshape(-1, 8, 8) if name.startswith("images") else X


@pytest.mark.parametrize("name", [name for name in ANSWERS if name != "photos"])
def test_a_model_answers_as_it_did(name):
    model = load(FOLDER / f"{name}.clsnet")
    np.testing.assert_allclose(model.predict_proba(samples(name)[:20]), ANSWERS[name], atol=2e-5)


@pytest.mark.parametrize("name", [name for name in ANSWERS if name != "photos"])
def test_a_model_goes_on_learning(name, tmp_path):
    model = load(FOLDER / f"{name}.clsnet")
    known, new = len(model.classes_), np.flatnonzero(Y >= 8)[:100]
    model.partial_fit(samples(name)[new], Y[new])
    assert model.score(samples(name)[new], Y[new]) > 0.8
    model.save(tmp_path / "now.clsnet")
    assert len(load(tmp_path / "now.clsnet").classes_) >= known


def test_what_forgets_by_itself_still_does():
    model = load(FOLDER / "vectors-tasks.clsnet")
    assert (model.queue, model.short_term) == (2, (0,))
    new = np.flatnonzero(Y == 9)[:50]
    model.partial_fit(X[new], Y[new])
    assert model.classes_.tolist() == [4, 9]


@pytest.fixture
def photos(tmp_path):
    random = np.random.RandomState(0)
    for name, colour in {"rust": (150, 60, 20), "sea": (20, 80, 160)}.items():
        (tmp_path / "photos" / name).mkdir(parents=True)
        for i in range(6):
            pixels = random.normal(colour, 25, (64, 64, 3)).clip(0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(tmp_path / "photos" / name / f"{i}.png")
    return tmp_path / "photos"


def test_a_model_of_photos_answers_as_it_did_learns_and_forgets(photos, tmp_path):
    model = Path(shutil.copy(FOLDER / "photos.clsnet", tmp_path))
    found = predict(model, [photos], top=2, reject=0)
    for one, (folder, label, top) in zip(found, ANSWERS["photos"], strict=True):
        assert (one.path.parent.name, one.label) == (folder, label)
        assert dict(one.top) == pytest.approx(dict(top), abs=1e-4)
    (photos / "rust").rename(photos / "moss")
    shutil.rmtree(photos / "sea")
    assert learn(model, photos).counts == {"moss": 6}
    assert forget(model, ["rust"]).left == ["sea", "moss"]
