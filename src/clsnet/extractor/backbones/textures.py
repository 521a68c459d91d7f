"""Textures: which channels of a map go together, beside what is usual for photos.

Pooled outputs tell how much there is of each channel. Which channels are strong at the same places
tells more about material and surface. A map of an image, its channels reduced to 40, has the matrix
G of products of channels, summed over the image and scaled to trace 1. About the eighth root of
G + 0.001 I is taken, which weighs weak channels nearly as strong ones: a few steps towards each of
three square roots. What is left after its mean over many photos is subtracted is told in the 128
directions in which photos differ most, each divided by how much they do.
"""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np

from clsnet.errors import ClsnetError
from clsnet.extractor.backbones.convolution import Map, State
from clsnet.extractor.graph import Graph
from clsnet.storage.tensors import read_tensors

SHIPPED = Path(__file__).with_name("textures.safetensors")
"""Written by ``tools/textures.py``."""

CHANNELS = 40  # that a map is reduced to
DIRECTIONS = 128  # that are kept
LEAST = 1e-3  # beside a trace of 1
NEGLIGIBLE = 1e-12
STEPS = (8, 5, 3)  # towards each of three square roots; the later ones are of even matrices
PAIRS = CHANNELS * (CHANNELS + 1) // 2


def shipped_textures(name: str) -> dict[str, np.ndarray]:
    """Return what the textures of a network follow from, to be kept beside its weights.

    Parameters
    ----------
    name
        Of the network.

    Examples
    --------
    >>> sorted(shipped_textures("efficientnet-lite0"))
    ['textures.channels', 'textures.directions', 'textures.usual']
    """
    start = f"{name}."
    found = {
        key.removeprefix(start): array.astype(np.float32)
        for key, array in _shipped().items()
        if key.startswith(start)
    }
    if not found:
        raise ClsnetError(f"no textures of {name} are known: use other taps.")
    return found


def texture_shapes(width: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of what `shipped_textures` gives, given the channels of the map.

    Examples
    --------
    >>> texture_shapes(80)["textures.channels"]
    (40, 80)
    """
    return {
        "textures.channels": (CHANNELS, width),
        "textures.usual": (PAIRS,),
        "textures.directions": (PAIRS, DIRECTIONS),
    }


def write_textures(graph: Graph, x: Map, state: State) -> str:
    """Write the textures of a map into a graph, as (n, `DIRECTIONS`).

    Parameters
    ----------
    graph
        It has the map.
    x
        The map.
    state
        The network's arrays, those of `shipped_textures` included.
    """
    usual, directions = (
        state[f"textures.{name}"].astype(float) for name in ("usual", "directions")
    )
    root = write_roots(graph, x, state["textures.channels"])
    flat = graph.node("Flatten", root, axis=1)
    every = np.zeros((CHANNELS, CHANNELS, directions.shape[1]))
    rows, columns = np.triu_indices(CHANNELS)
    halves = directions / np.where(rows == columns, 1, np.sqrt(2))[:, None]
    every[rows, columns] = every[columns, rows] = halves
    kept = every.reshape(CHANNELS**2, -1)
    turned = graph.node("MatMul", flat, graph.constant(kept.astype(np.float32)))
    return graph.node("Sub", turned, graph.constant((usual @ directions).astype(np.float32)))


def write_roots(graph: Graph, x: Map, channels: np.ndarray) -> str:
    """Write the eighth root of the products of channels into a graph, (n, 40, 40)."""

    def number(value: float) -> str:
        return graph.constant(np.float32(value))

    shape = graph.constant(np.array([-1, x.channels, x.side**2], np.int64))
    places = graph.node("Reshape", x.value, shape)
    places = graph.node("MatMul", graph.constant(channels.astype(np.float32)), places)
    square = graph.node("Mul", places, places)
    size = graph.node("ReduceMean", square, graph.constant([1, 2]), keepdims=1)
    trace = graph.node("Mul", size, number(CHANNELS * x.side**2))
    trace = graph.node("Add", trace, number(NEGLIGIBLE))
    turned = graph.node("Transpose", places, perm=[0, 2, 1])
    G = graph.node("Div", graph.node("MatMul", places, turned), trace)
    G = graph.node("Add", G, graph.constant(LEAST * np.eye(CHANNELS, dtype=np.float32)))
    G = graph.node("Mul", G, number(1 / (1 + LEAST)))  # no eigenvalue above 1
    for steps in STEPS:
        G = _write_root(graph, G, steps)
    return G


def _write_root(graph: Graph, G: str, steps: int) -> str:
    """Write some steps of Newton and Schulz towards the square root of matrices."""
    half = graph.constant(np.float32(0.5))
    thrice = graph.constant(1.5 * np.eye(CHANNELS, dtype=np.float32))
    root, inverse = G, ""
    for step in range(steps):
        product = graph.node("MatMul", inverse, root) if inverse else root
        change = graph.node("Sub", thrice, graph.node("Mul", product, half))
        root = graph.node("MatMul", root, change)
        if step < steps - 1:
            inverse = graph.node("MatMul", change, inverse) if inverse else change
    return root


def upper(matrices: np.ndarray) -> np.ndarray:
    """Return the upper halves of symmetric matrices as rows of the same length.

    Examples
    --------
    >>> upper(np.array([[[1.0, 2.0], [2.0, 3.0]]])).round(2)
    array([[1.  , 2.83, 3.  ]])
    """
    rows, columns = np.triu_indices(matrices.shape[-1])
    return np.asarray(matrices[..., rows, columns] * np.where(rows == columns, 1, np.sqrt(2)))


@functools.cache
def _shipped() -> dict[str, np.ndarray]:
    return read_tensors(SHIPPED)[1]
