"""Pixels: images of any kind as bytes or fractions, and what a network wants them to be."""

from __future__ import annotations

import numpy as np

from clsnet.errors import ClsnetError
from clsnet.extractor.graph import Graph

SLACK = 0.01
FLOAT = 1  # the number of float32 among the types of ONNX


def as_images(X: np.ndarray, who: str) -> np.ndarray:
    """Return a copy of images: bytes as bytes, fractions of one in float32.

    Parameters
    ----------
    X
        Images, or what an error is about.
    who
        Needs them, as an error says.

    Examples
    --------
    >>> as_images(np.zeros((5, 4)), "the network")
    Traceback (most recent call last):
        ...
    clsnet.errors.ClsnetError: the network needs images, (n, h, w) or (n, 3, h, w), not an array \
of shape (5, 4).
    """
    if X.ndim not in (3, 4) or (X.ndim == 4 and X.shape[1] not in (1, 3)):
        raise ClsnetError(
            f"{who} needs images, (n, h, w) or (n, 3, h, w), not an array of shape {X.shape}."
        )
    fractions = np.issubdtype(X.dtype, np.floating)
    white = 1 if fractions else 255
    if X.dtype != np.uint8 and X.size and not -SLACK <= X.min() <= X.max() <= white + SLACK:
        raise ClsnetError(
            f"{who} needs images of 0 to 255 as integers, or of 0 to 1 as fractions, "
            f"not {X.dtype} of {X.min():.4g} to {X.max():.4g}."
        )
    return np.array(X, dtype=np.float32 if fractions else np.uint8)


def normalised(x: np.ndarray, factor: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """Return ``x * factor + shift`` in float32, an image at a time, as one fits into a cache."""
    out = np.empty((len(x), len(factor), *x.shape[2:]), np.float32)
    for image, normalised in zip(x, out, strict=True):
        np.multiply(image, factor, out=normalised)
        normalised += shift
    return out


def write_normalised(graph: Graph, images: str, factor: np.ndarray, shift: np.ndarray) -> str:
    """Write ``images * factor + shift`` in float32 into a graph, for images as bytes."""
    x = graph.node("Mul", graph.node("Cast", images, to=FLOAT), graph.constant(factor))
    return graph.node("Add", x, graph.constant(shift))


def is_exact(factor: np.ndarray) -> bool:
    """Whether bytes times a factor need no rounding, as for powers of two.

    Then it makes no difference who computes ``x * factor + shift``, rounding once or twice.

    Examples
    --------
    >>> is_exact(np.array([1 / 128])), is_exact(np.array([1 / 127]))
    (True, False)
    """
    return bool(np.all(np.frexp(factor)[0] == 0.5))
