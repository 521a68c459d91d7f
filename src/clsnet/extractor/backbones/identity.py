"""Vectors on a common scale."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from clsnet.arrays.devices import Array, namespace, to_numpy
from clsnet.errors import ClsnetError
from clsnet.extractor.backbones.base import Backbone
from clsnet.storage.schema import Kind, check_arrays, one_of

if TYPE_CHECKING:
    from clsnet.extractor.graph import Graph

LEAST_DEVIATION = 1e-12
SCALES = ("standard", "sample", "none")


class Identity(Backbone):
    """Standardise each feature with mean and deviation of the first task; flatten images.

    A feature that hardly varies in the first task may vary in later ones, so no deviation counts
    as less than a tenth of the average one.

    Parameters
    ----------
    scale
        ``"standard"``, ``"sample"`` (each sample to mean 0 and deviation 1) or ``"none"``
        (images of 8 bits, if the first are, become fractions of one).

    Examples
    --------
    >>> backbone = Identity("sample")
    >>> X = np.array([[1.0, 2.0, 3.0, 4.0, 5.0]])
    >>> backbone.fit(X, np.random.RandomState(0))
    >>> backbone.transform(backbone.as_input(X)).round(2)
    array([[-1.41, -0.71,  0.  ,  0.71,  1.41]])
    """

    name = "identity"
    default_connection: ClassVar[str] = "A"  # tuned nodes, as in the paper
    accepts: ClassVar[Mapping[str, Kind]] = {"scale": one_of(*SCALES)}
    fitted = ("shift", "factor")
    shift: Array
    factor: Array

    def __init__(self, scale: str = "standard") -> None:
        self.scale = scale
        self.sees_task = scale == "standard"
        self.shift = np.empty(0, np.float32)
        self.factor = np.empty(0, np.float32)

    def fit(self, X: np.ndarray, random: np.random.RandomState) -> None:
        """Take mean and deviation of each feature."""
        if self.scale not in SCALES:
            raise ClsnetError(f"unknown scale {self.scale!r}: use 'standard', 'sample' or 'none'.")
        Z = self.as_input(X)
        brightest = 255 if X.dtype == np.uint8 and X.ndim > 2 else 1
        self.shift, self.factor = np.zeros(Z.shape[1]), np.full(Z.shape[1], 1 / brightest)
        if self.scale == "standard":
            deviation = Z.std(axis=0)
            floor = 0.1 * deviation.mean()
            self.shift = Z.mean(axis=0)
            self.factor = 1 / np.where(deviation + floor > 0, np.maximum(deviation, floor), 1.0)

    def check(self, state: Mapping[str, np.ndarray], sample_shape: tuple[int, ...]) -> int:
        """Refuse arrays that have not one number for each feature."""
        width = math.prod(sample_shape)
        check_arrays(state, {"shift": (width,), "factor": (width,)}, "backbone.")
        return width

    def as_input(self, X: np.ndarray) -> np.ndarray:
        """Return a copy with each sample flattened, in double precision."""
        return np.array(X, dtype=np.float64).reshape(len(X), -1)

    def transform(self, X: Array) -> Array:
        """Shift and scale."""
        if self.scale != "sample":
            return (X - self.shift) * self.factor
        xp = namespace(X)
        X = X - xp.mean(X, axis=1, keepdims=True)
        deviation = xp.std(X, axis=1, keepdims=True)
        return X / xp.where(
            deviation > LEAST_DEVIATION, deviation, xp.full_like(deviation, LEAST_DEVIATION)
        )

    def write_graph(self, graph: Graph, images: str) -> str:
        """Flatten, shift and scale, in single precision."""
        flat = graph.node("Flatten", images, axis=1)
        X = graph.node("CastLike", flat, graph.constant(np.float32(0)))
        if self.scale != "sample":
            shift, factor = (
                graph.constant(to_numpy(a).astype(np.float32)) for a in (self.shift, self.factor)
            )
            return graph.node("Mul", graph.node("Sub", X, shift), factor)
        rows = graph.constant(np.array([1]))
        X = graph.node("Sub", X, graph.node("ReduceMean", X, rows))
        variance = graph.node("ReduceMean", graph.node("Mul", X, X), rows)
        least = graph.constant(np.float32(LEAST_DEVIATION))
        return graph.node("Div", X, graph.node("Max", graph.node("Sqrt", variance), least))
