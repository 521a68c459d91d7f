"""Exporting a model of photos to one ONNX file, for machines without clsnet."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from clsnet.errors import ClsnetError
from clsnet.extractor.graph import Graph
from clsnet.extractor.runtime.onnx_runtime import import_onnxruntime
from clsnet.extras import needed
from clsnet.images.dead_leaves import dead_leaves
from clsnet.model import Model
from clsnet.photos.familiarity import Familiarity, both
from clsnet.photos.predicting import REJECT, opened
from clsnet.photos.preparing import PREPARE, PYTHON, write_preparation
from clsnet.photos.record import Record
from clsnet.photos.rejection import Rejection, familiar
from clsnet.photos.unscaled import Unscaled
from clsnet.storage.files import at_home, write_atomically

ENDING = ".onnx"
OUTPUTS = ("probabilities", "familiarity", "known")
TOLERANCE = 1e-4
TRIALS = 3
DIRECTIONS = 384  # of each class by which the file tells how familiar a photo is
CLOSE = 0.1  # deviations from the threshold within which `known` may differ


@dataclass(frozen=True)
class Exported:
    """What `export` wrote.

    Attributes
    ----------
    path
        The ONNX file.
    size
        Its bytes.
    image_size
        Side length of the square image that its network sees.
    classes
        The classes, in the order of the probabilities.
    threshold
        The fit below which a photo is none of these.
    difference
        Largest difference between ONNX Runtime's probabilities and ours on a few synthetic images;
        None if ONNX Runtime is not installed.
    """

    path: Path
    size: int
    image_size: int
    classes: list[str]
    threshold: float
    difference: float | None


def export(
    model: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    allow: str | Collection[str] = (),
) -> Exported:
    """Write a model of photos as one ONNX file that answers as `predict` does.

    Its input ``images`` is a decoded photo of any size as bytes, (n, height, width, channels): grey
    or RGB, with alpha or without. The file lays it on white, scales it and crops its centre. The
    file's metadata describe what is left to the caller (``prepare``, and ``prepare_python`` as
    code) and name the classes (``classes``, JSON). The outputs for each photo are
    ``probabilities``, ``familiarity`` (how well it fits the most probable class compared with
    photos of known classes, in standard deviations) and ``known`` (whether that reaches
    ``threshold``; otherwise it is none of these). The file holds the 384 most important directions
    of each class, so the fit is a little lower for classes with more photos.

    Parameters
    ----------
    model
        The file of the model.
    out
        The ONNX file, which ends with ``.onnx``; an existing one survives any failure.
    allow
        Networks that the file may refer to, such as ``"hf:NAME"``; see `clsnet.load`.

    Examples
    --------
    >>> from clsnet.photos import export
    >>> export("/tmp/there-is-none.clsnet", "/tmp/there-is-none.onnx")
    Traceback (most recent call last):
    ...
    clsnet.errors.ClsnetError: cannot read /tmp/there-is-none.clsnet: No such file or directory.
    """
    needed("onnx", "export", "export")
    if not os.fspath(out).lower().endswith(ENDING):
        raise ClsnetError(f"cannot write {out}: name a file that ends with {ENDING}.")
    taught, target = opened(model, allow), at_home(out)
    if target.resolve() == at_home(model).resolve():
        raise ClsnetError(f"cannot write {out}: it is the model itself; name another file.")
    rejection = Record.of(taught.notes or {}).rejection
    threshold = rejection.threshold(REJECT)
    size = taught.sample_shape[-1]
    about = {
        "classes": json.dumps(taught.classes, ensure_ascii=False),
        "threshold": repr(threshold),
        "image_size": str(size),
        "prepare": PREPARE.format(size=size),
        "prepare_python": PYTHON,
    }
    data = _graph(taught, rejection).serialised(about)
    images = _trial_images(size)
    A = taught.extractor.transform(images.transpose(0, 3, 1, 2))
    scores = taught.classifier.scores(A)
    unscaled = Unscaled.of(taught.extractor)
    looks = familiar(taught.classifier, A, scores.argmax(axis=1), unscaled)
    fits = rejection.fits(looks, scores.max(axis=1))
    difference = _difference(data, images, taught.probabilities(scores), fits - threshold)
    write_atomically(target, data)
    return Exported(target, len(data), size, taught.classes, threshold, difference)


def _graph(taught: Model, rejection: Rejection) -> Graph:
    """Return extractor and classifier as one graph, from bytes to probabilities."""
    graph = Graph()
    size = taught.sample_shape[-1]
    images = graph.input("images", np.uint8, ("n", "height", "width", "channels"))
    A = taught.extractor.write_graph(graph, write_preparation(graph, images, size))

    def number(value: Any) -> str:
        return graph.constant(np.asarray(value, np.float32))

    scores = graph.node("MatMul", A, number(taught.classifier.omega))
    calibration = taught.classifier.calibration
    chances = graph.node(
        "Softmax", graph.node("Div", scores, number(calibration.temperature)), axis=1
    )
    even = calibration.doubt / len(taught.classes)
    chances = graph.node("Mul", chances, number(1 - calibration.doubt))
    chances = graph.node("Add", chances, number(even))
    best = graph.node("ArgMax", scores, axis=1, keepdims=1)
    columns = graph.constant(np.array([1], np.int64))
    each = _write_looks(graph, A, taught)
    look = graph.node("Squeeze", graph.node("GatherElements", each, best, axis=1), columns)
    highest = graph.node("ReduceMax", scores, columns, keepdims=0)
    by_look, by_score, shift = rejection.linear
    fits = graph.node("Mul", look, number(by_look))
    fits = graph.node("Add", fits, graph.node("Mul", highest, number(by_score)))
    fits = graph.node("Add", fits, number(shift))
    known = graph.node("GreaterOrEqual", fits, number(rejection.threshold(REJECT)))
    graph.output("probabilities", chances, shape=("n", len(taught.classes)))
    graph.output("familiarity", fits, shape=("n",))
    graph.output("known", known, bool, shape=("n",))
    return graph


def _write_looks(graph: Graph, A: str, taught: Model) -> str:
    """Write how familiar each photo is to each class."""
    unscaled = Unscaled.of(taught.extractor)
    looks = [Familiarity.of_class(taught.classifier, label, unscaled) for label in taught.classes]
    pooled = _write_look(graph, A, unscaled, [look.directions(DIRECTIONS) for look in looks])
    if unscaled.textures is None:
        return pooled
    rows = [look.textures.directions(DIRECTIONS) for look in looks if look.textures]
    textures = _write_look(graph, A, unscaled.textures, rows)
    shares = (graph.constant(np.float32(both(*one))) for one in ((1.0, 0.0), (0.0, 1.0)))
    weighted = [graph.node("Mul", *one) for one in zip((pooled, textures), shares, strict=True)]
    return graph.node("Add", *weighted)


def _write_look(graph: Graph, A: str, unscaled: Unscaled, looks: Sequence[np.ndarray]) -> str:
    """Write how much of some features of each photo the directions of each class explain."""

    def number(value: Any) -> str:
        return graph.constant(np.asarray(value, np.float32))

    def whole(*values: int) -> str:
        return graph.constant(np.array(values, np.int64))

    part = A
    if unscaled.end is not None:
        part = graph.node("Slice", A, whole(unscaled.start), whole(unscaled.end), whole(1))
    plain = graph.node("Mul", part, number(unscaled.factor))
    plain = graph.node("Add", plain, number(unscaled.shift))  # the last column of A is 1
    unit = graph.node("Div", plain, graph.node("ReduceL2", plain, whole(1), keepdims=1))
    most = max(map(len, looks))
    padded = [np.pad(look, ((0, most - len(look)), (0, 0))) for look in looks]
    inside = graph.node("MatMul", unit, number(np.concatenate(padded).T))
    inside = graph.node("Reshape", inside, whole(-1, len(looks), most))
    return graph.node("ReduceSumSquare", inside, whole(2), keepdims=0)


def _trial_images(size: int) -> np.ndarray:
    leaves = dead_leaves(3 * TRIALS, np.random.RandomState(0))
    images = 255 * leaves.reshape(TRIALS, 3, *leaves.shape[1:]).transpose(0, 2, 3, 1)
    rows = np.arange(size) * leaves.shape[1] // size
    return np.ascontiguousarray(images[:, rows][:, :, rows]).astype(np.uint8)


def _difference(
    data: bytes, images: np.ndarray, expected: np.ndarray, above: np.ndarray
) -> float | None:
    """Run the file, one image at a time and all at once; refuse it if its answers differ.

    Parameters
    ----------
    data
        The file.
    images
        Trial images.
    expected
        Their probabilities.
    above
        By how much each reaches the threshold.

    Returns
    -------
    float or None
        Largest difference between probabilities; None without ONNX Runtime.
    """
    try:
        onnxruntime = import_onnxruntime()
    except ImportError:
        return None
    onnxruntime.set_default_logger_severity(4)
    try:
        session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
        together = session.run(list(OUTPUTS), {"images": images})
        alone = [session.run(list(OUTPUTS), {"images": image[None]}) for image in images]
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        raise ClsnetError(
            f"nothing was written: ONNX Runtime cannot run the exported model: {reason}"
        ) from None
    one_by_one = [np.concatenate(parts) for parts in zip(*alone, strict=True)]
    chances, _, known = map(np.stack, zip(together, one_by_one, strict=True))
    difference = float(np.abs(chances - expected).max())
    if not difference <= TOLERANCE:
        raise ClsnetError(
            f"nothing was written: probabilities in ONNX Runtime differ by {difference:.1e} from "
            "those of clsnet predict."
        )
    if ((known != (above >= 0)) & (np.abs(above) > CLOSE)).any():
        raise ClsnetError(
            "nothing was written: ONNX Runtime and clsnet predict differ on what is none of these."
        )
    return difference
