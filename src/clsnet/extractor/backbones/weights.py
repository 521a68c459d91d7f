"""Weights of a pretrained network, in one safetensors file that says what it is."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from clsnet.arrays.devices import Array, to_numpy
from clsnet.errors import ClsnetError
from clsnet.storage.files import write_atomically
from clsnet.storage.json_text import read_json
from clsnet.storage.schema import (
    FLAG,
    NOTHING,
    Kind,
    Misfit,
    arguments,
    check_finite,
    listed,
    number,
    one_of,
    text,
    whole,
)
from clsnet.storage.tensors import as_bytes, read_metadata, read_tensors

FORMAT = "clsnet-weights"
MOST_PIXELS = 512  # along a side
MOST_VALUES = 1 << 16  # of a header; an array has eight or so


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

    accepts: ClassVar[Mapping[str, Kind]] = {
        "network": one_of("resnet18", "resnet50"),
        "small": FLAG,
        "size": whole(1, MOST_PIXELS),
        "mean": listed(number(-100, 100), most=3, least=3),
        "deviation": listed(number(0, 100, above=True), most=3, least=3),
        "objective": text(100),
        "dataset": text(),
        "classes": listed(text(), most=10**6),
        "accuracy": NOTHING | number(0, 1),
    }
    """What a file may hold of each."""


def write_weights(path: Path, about: About, state: Mapping[str, Array]) -> None:
    """Write weights atomically."""
    arrays = {name: np.asarray(to_numpy(value), order="C") for name, value in state.items()}
    metadata = {"format": FORMAT, "about": json.dumps(dataclasses.asdict(about))}
    write_atomically(path, as_bytes(arrays, metadata))


def read_weights(path: Path) -> tuple[About, dict[str, np.ndarray]]:
    """Read weights, or say in one line why the file has none."""
    about = read_about(path)
    try:
        _, state = read_tensors(path)
        check_finite(state)
    except Misfit as error:
        raise ClsnetError(
            f"{path} is damaged: {error}; make it again with clsnet pretrain."
        ) from None
    return about, state


def read_about(path: Path) -> About:
    """Read what a file of weights says about itself."""
    try:
        metadata = read_metadata(path, "the weights ", MOST_VALUES)
    except Misfit:
        metadata = {}
    if metadata.get("format") != FORMAT:
        raise ClsnetError(f"{path} does not hold weights of clsnet pretrain.")
    try:
        return about_of(read_json(metadata.get("about", "")))
    except Misfit as error:
        raise ClsnetError(
            f"{path} is damaged: {error}; make it again with clsnet pretrain."
        ) from None


def about_of(fields: Any) -> About:
    """Return what a file said, or raise `Misfit`."""
    arguments(About, About.accepts).check(fields, "about")
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
