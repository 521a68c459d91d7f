"""Weights of a pretrained network, in one safetensors file that says what it is."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import safetensors
import safetensors.numpy

from clsnet.arrays.devices import Array, to_numpy
from clsnet.errors import ClsnetError
from clsnet.storage.files import write_atomically

FORMAT = "clsnet-weights"


@dataclass(frozen=True)
class About:
    """What a file of weights says about itself.

    Parameters
    ----------
    network
        ``"resnet18"`` or ``"resnet50"``.
    small
        Whether its first layers are those for small images.
    size
        Side length of the images it was trained on.
    mean, deviation
        Of the three channels, as fractions of one: images are normalised with them.
    objective
        ``"supervised"`` or ``"simsiam"``.
    dataset
        What it was trained on.
    classes
        Names of the classes it was trained on.
    accuracy
        On held-out images of those classes, if it was measured.
    """

    network: str
    small: bool
    size: int
    mean: tuple[float, float, float]
    deviation: tuple[float, float, float]
    objective: str
    dataset: str
    classes: tuple[str, ...]
    accuracy: float | None = None


def write_weights(path: Path, about: About, state: Mapping[str, Array]) -> None:
    """Write weights atomically."""
    arrays = {name: np.asarray(to_numpy(value), order="C") for name, value in state.items()}
    metadata = {"format": FORMAT, "about": json.dumps(dataclasses.asdict(about))}
    write_atomically(path, safetensors.numpy.save(arrays, metadata=metadata))


def read_weights(path: Path) -> tuple[About, dict[str, np.ndarray]]:
    """Read weights, or say in one line why the file has none."""
    about = read_about(path)
    try:
        return about, safetensors.numpy.load_file(path)
    except Exception:
        raise ClsnetError(f"{path} is damaged; make it again with clsnet pretrain.") from None


def read_about(path: Path) -> About:
    """Read what a file of weights says about itself."""
    try:
        path.open("rb").close()  # safetensors does not say why a file cannot be opened
        with safetensors.safe_open(path, framework="np") as file:
            metadata = file.metadata() or {}
    except OSError as error:
        reason = error.strerror or "it cannot be read"
        raise ClsnetError(f"cannot read the weights {path}: {reason}.") from None
    except Exception:
        metadata = {}
    if metadata.get("format") != FORMAT:
        raise ClsnetError(f"{path} does not hold weights of clsnet pretrain.")
    fields: dict[str, Any] = json.loads(metadata["about"])
    lists = {name: tuple(value) for name, value in fields.items() if isinstance(value, list)}
    return About(**{**fields, **lists})


def fingerprint(state: Mapping[str, np.ndarray]) -> str:
    """Return a digest of weights, the same wherever they lie.

    Examples
    --------
    >>> fingerprint({"a": np.zeros(2)}) == fingerprint({"a": np.zeros(2)})
    True
    >>> fingerprint({"a": np.zeros(2)}) == fingerprint({"a": np.ones(2)})
    False
    """
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(state):
        array = state[name]
        digest.update(f"{name} torch.{array.dtype} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
