"""All that a person may do with a model file, and what became of it."""

import shutil
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from clsnet import CLSNet, load
from clsnet.errors import ClsnetError

MOST_NUMBERS = 100_000


def use_arrays(path: Path) -> None:
    """Open, ask, teach, make forget, save and open again a model that learns arrays."""
    again = path.with_suffix(".again")
    _use(load(path, device="cpu"), again)
    if again.exists():
        load(again, device="cpu")


def _use(model: CLSNet, again: Path) -> None:
    shape = model.sample_shape_
    if np.prod(shape) > MOST_NUMBERS:
        return
    random = np.random.RandomState(0)
    samples = random.randint(0, 17, (6, *shape)).astype(float)
    if len(model.classes_):
        _check_answers(model, samples)
    _each(
        lambda: model.partial_fit(samples, _labels(model)),
        lambda: _check_answers(model, samples),
        lambda: model.forget(classes=[model.classes_[0].item()], exact=False),
        lambda: model.forget(task=0),
        lambda: model.save(again),
    )


def use_photos(path: Path, photo: Path, heavy: bool) -> None:
    """Do the same with a model of photos."""
    from clsnet.photos import export, forget, info, learn, predict, undo

    known = info(path)
    predict(path, [photo])
    predict(path, [photo], reject=0, top=3)
    folder = photo.parent.parent
    calls: list[Callable[[], object]] = [
        lambda: forget(path, list(known.counts)[:1]),
        lambda: undo(path),
        lambda: learn(path, folder),
    ]
    if heavy:
        calls.append(lambda: export(path, path.with_suffix(".onnx")))
    _each(*calls)


def outcome(call: Callable[[], None]) -> str:
    """Return "answered", "refused", or what happened that must not."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    except ClsnetError as error:
        return "refused" if "\n" not in str(error) else f"more than a line: {error}"
    except Exception:
        return traceback.format_exc(limit=-4)
    return "answered"


def clear(folder: Path) -> None:
    """Remove all files of the last case."""
    shutil.rmtree(folder)
    folder.mkdir()


def _each(*calls: Callable[[], object]) -> None:
    """Call all, whichever of them refuse."""
    for call in calls:
        try:
            call()
        except ClsnetError as error:
            if "\n" in str(error):
                raise AssertionError(f"more than a line: {error}") from None


def _check_answers(model: CLSNet, samples: np.ndarray) -> None:
    """The answers are those that follow from the arrays of the file."""
    scores = model.decision_function(samples)
    chances = model.predict_proba(samples)
    if len(model.classes_) < 2:
        return
    scores = np.atleast_2d(scores)
    assert np.isfinite(scores).all() and np.isfinite(chances).all(), "not finite"
    A = np.asarray(model.extractor_.transform(samples), np.float64)
    expected = A @ model.classifier_.omega
    if len(model.classes_) > 2:
        size = max(1.0, abs(expected).max())
        assert np.allclose(scores / size, expected / size, atol=1e-9), "other scores"
    assert set(model.predict(samples).tolist()) <= set(model.classes_.tolist())


def _labels(model: CLSNet) -> np.ndarray:
    text = len(model.classes_) and model.classes_.dtype.kind == "U"
    return np.array(["cat", "new"] if text else [1, 8])[np.arange(6) % 2]
