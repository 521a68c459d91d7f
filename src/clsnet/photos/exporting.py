"""A model of photos as one ONNX file, for machines that have neither clsnet nor PyTorch."""

from __future__ import annotations

import copy
import importlib
import json
import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from clsnet.errors import ClsnetError
from clsnet.images.dead_leaves import dead_leaves
from clsnet.extractor.backbones.network import Network, needed
from clsnet.storage.files import write_atomically
from clsnet.estimator.clsnet import CLSNet
from clsnet.photos.familiarity import familiarity, usual_scores
from clsnet.photos.predicting import REJECT, opened, temperature
from clsnet.photos.record import Record

OUTPUTS = ("probabilities", "familiarity", "known")
OPSET = 18
TOLERANCE = 1e-4
TRIALS = 5
TRACED = 2  # of them, so that the others would find out answers that were merely noted down
PREPARE = (
    "Turn the photo upright (EXIF), lay what is transparent on white, convert it to RGB, scale its "
    "smaller side to {size} pixels (bicubic, antialiased) and cut the centre out; with Pillow: "
    "ImageOps.fit(ImageOps.exif_transpose(image).convert('RGB'), ({size}, {size}), "
    "Image.Resampling.BICUBIC). Stack such arrays of bytes: (n, {size}, {size}, 3)."
)


@dataclass(frozen=True)
class Exported:
    """What was written.

    Attributes
    ----------
    path
        The ONNX file.
    size
        Its bytes.
    image_size
        Side length of the images that it takes.
    classes
        The classes, in the order of the probabilities.
    threshold
        Familiarity below which it says that a photo is none of these.
    difference
        By how much ONNX Runtime's probabilities differed from ours, at most, on a few synthetic
        images; None if it is not installed.
    """

    path: Path
    size: int
    image_size: int
    classes: list[str]
    threshold: float
    difference: float | None


def export(model: str | os.PathLike[str], out: str | os.PathLike[str]) -> Exported:
    """Write a model of photos as one ONNX file that answers as `predict` does.

    Its input ``images`` is a batch of photos as bytes, (n, size, size, 3), red, green and blue;
    the file's metadata say how to prepare them (``prepare``) and name the classes (``classes``,
    JSON). For each photo it gives ``probabilities``, ``familiarity`` (the best score relative to
    what is usual for that class) and ``known``: whether that reaches ``threshold``, else it is
    none of these.

    Parameters
    ----------
    model
        The file of the model.
    out
        The ONNX file; what was there before survives any failure.

    Examples
    --------
    >>> from clsnet.photos import export
    >>> export("/tmp/there-is-none.clsnet", "/tmp/there-is-none.onnx")
    Traceback (most recent call last):
    ...
    clsnet.errors.ClsnetError: cannot read /tmp/there-is-none.clsnet: No such file or directory.
    """
    for module in ("onnx", "onnxscript"):
        needed(module, "export", "export")
    taught, target = opened(model, "cpu"), Path(out).expanduser()
    if target.resolve() == Path(model).expanduser().resolve():
        raise ClsnetError(f"cannot write {out}: it is the model itself; name another file.")
    record = Record.of(getattr(taught, "notes_", {}))
    whole = Whole(taught, record).eval()
    size = taught.sample_shape_[-1]
    traced, images = np.split(_trial_images(size), [TRACED])
    A = taught.extractor_.transform(images.transpose(0, 3, 1, 2))
    expected = (taught.classifier_.scores(A) / whole.temperature).softmax(dim=1).numpy()
    try:
        with _quiet():
            program: Any = torch.onnx.export(
                whole,
                (torch.from_numpy(traced),),
                dynamo=True,
                verbose=False,
                opset_version=OPSET,
                input_names=["images"],
                output_names=list(OUTPUTS),
                dynamic_shapes=({0: torch.export.Dim("n")},),
            )
        proto = program.model_proto
    except Exception as error:
        reason = str(error).strip().partition("\n")[0]
        raise ClsnetError(
            f"the backbone {taught.extractor_.backbone} cannot be exported: {reason}"
        ) from None
    about = {
        "classes": json.dumps(taught.classes_.tolist(), ensure_ascii=False),
        "threshold": repr(whole.threshold),
        "image_size": str(size),
        "prepare": PREPARE.format(size=size),
    }
    for key, value in about.items():
        proto.metadata_props.add(key=key, value=value)
    data = proto.SerializeToString()
    difference = _difference(data, images, expected)
    write_atomically(target, data)
    classes = taught.classes_.tolist()
    return Exported(target, len(data), size, classes, whole.threshold, difference)


class Whole(nn.Module):
    """From photos as bytes to probabilities: backbone, augmentation and classifier in one."""

    omega: Tensor
    usual: Tensor

    def __init__(self, taught: CLSNet, record: Record) -> None:
        super().__init__()
        self.backbone = copy.copy(taught.extractor_.backbone)
        if isinstance(self.backbone, Network):
            self.networks = nn.ModuleList(self.backbone.run_in_pytorch())
        self.augmentation = taught.extractor_.augmentation
        self.register_buffer("omega", taught.classifier_.omega.float())
        self.register_buffer("usual", usual_scores(taught.classifier_).float())
        self.temperature = temperature(taught, record)
        self.threshold = record.threshold(REJECT)

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Answer images of shape (n, size, size, 3)."""
        x = images.permute(0, 3, 1, 2)
        x = x if isinstance(self.backbone, Network) else x.to(self.backbone.dtype)
        scores = self.augmentation(self.backbone(x)).float() @ self.omega
        fits = familiarity(scores, self.usual)
        return torch.softmax(scores / self.temperature, dim=1), fits, fits >= self.threshold


def _trial_images(size: int) -> np.ndarray:
    leaves = dead_leaves(3 * TRIALS, np.random.RandomState(0))
    images = torch.from_numpy(255 * leaves.reshape(TRIALS, 3, *leaves.shape[1:])).float()
    images = nn.functional.interpolate(images, (size, size), mode="bilinear")
    return images.permute(0, 2, 3, 1).contiguous().numpy().astype(np.uint8)


def _difference(data: bytes, images: np.ndarray, expected: np.ndarray) -> float | None:
    """Run the file, one image at a time and all at once; refuse it if it answers otherwise."""
    try:
        onnxruntime = importlib.import_module("onnxruntime")
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
    found = [together[0], np.concatenate([answer[0] for answer in alone])]
    difference = float(np.abs(np.stack(found) - expected).max())
    if not difference <= TOLERANCE:
        raise ClsnetError(
            f"nothing was written: in ONNX Runtime the model's probabilities differ by "
            f"{difference:.1e} from those of clsnet predict."
        )
    return difference


@contextmanager
def _quiet() -> Iterator[None]:
    """Let the exporter write nothing to the terminal."""
    before = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
