"""Vectors: their columns, and random nodes on several scales; no data is needed."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import ClassVar

import numpy as np

from clsnet.arrays.devices import Array, device_of, namespace, to_device
from clsnet.errors import ClsnetError
from clsnet.extractor.backbones.base import Backbone
from clsnet.storage.schema import Kind, Misfit, check_arrays, whole

SCALES = ((10.0, 10.0), (1.0, 1.0), (1.0, 0.01), (1.0, 100.0))
"""Factors a and s of ``a arcsinh(x / s)``, what nodes see; the first two are close to x."""
CLOSE = 2
FEW, MANY = 3, 12  # inputs of a node of either half
FEW_WEIGHT, MANY_WEIGHT = 0.87, 0.55  # deviation of a node whose inputs have deviation 1
LEAST = 1e-150  # a number below this has no square
USUAL_NODES = 900
MOST_NODES = 10**6  # of a file, of which all but the usual ones have at most so many weights
MOST_WEIGHTS = 20_000_000


class Columns(Backbone):
    """Vectors of any scale: x itself, and random Fourier features that need no known scale.

    A node is the cosine of a random sum of ``arcsinh(x / s)`` for some columns and some s, less its
    value where x is zero. That is x / s for small values and a signed logarithm for large ones, so
    that one large value moves it little. One half of the nodes sees a few columns at any s each,
    the other half more of them close to x. All of this follows from the seed and the number of
    columns alone. It has no common scale; the classifier standardises it by the sums that it keeps
    anyway. Of values far below 0.01 the nodes are linear.

    Parameters
    ----------
    n_nodes
        Number of random nodes.

    Examples
    --------
    >>> backbone = Columns(n_nodes=4)
    >>> X = np.array([[5.1, 3.5], [7.0, 3.2]])
    >>> backbone.fit(X[:1], np.random.RandomState(0))
    >>> backbone.transform(backbone.as_input(X)).shape
    (2, 6)
    """

    name = "columns"
    sees_task = False
    standardised: ClassVar[bool] = True
    default_connection: ClassVar[str] = "Z"
    fitted = ("seed",)
    seed: Array
    accepts: ClassVar[Mapping[str, Kind]] = {"n_nodes": whole(0, MOST_NODES)}

    def __init__(self, n_nodes: int = 900) -> None:
        self.n_nodes = n_nodes
        self.seed = np.zeros((), np.int64)

    def fit(self, X: np.ndarray, random: np.random.RandomState) -> None:
        """Draw the seed of the nodes."""
        if X.ndim != 2:
            raise ClsnetError(f"the columns backbone needs vectors, not samples of {X.shape[1:]}.")
        self.seed = np.array(random.randint(2**31), np.int64)

    def check(self, state: Mapping[str, np.ndarray], sample_shape: tuple[int, ...]) -> int:
        """Refuse a seed that is none, and more weights than such nodes need."""
        check_arrays(state, {"seed": ()}, "backbone.", dtypes=("int64",))
        if len(sample_shape) != 1 or not 0 <= int(state["seed"]) < 2**31:
            raise Misfit(f"sample_shape is {sample_shape} and backbone.seed {state['seed']}")
        n_columns = sample_shape[0]
        if self.n_nodes > USUAL_NODES and self.n_nodes * n_columns > MOST_WEIGHTS:
            raise Misfit(f"backbone.n_nodes is {self.n_nodes}, too many for {n_columns} columns")
        return n_columns + self.n_nodes

    def inputs(self, width: int) -> Array | None:
        """Return which columns each node sees."""
        if not self.n_nodes:
            return None
        n_columns = width - self.n_nodes
        weights, _ = nodes(int(self.seed), n_columns, self.n_nodes)
        seen = (weights != 0).reshape(len(SCALES), n_columns, self.n_nodes).any(axis=0)
        return to_device(seen, self.device)

    def as_input(self, X: np.ndarray) -> np.ndarray:
        """Return a copy in double precision."""
        X = np.array(X, dtype=np.float64)
        largest = abs(X).max(axis=1, initial=0)
        if ((largest > 0) & (largest < LEAST)).any():
            raise ClsnetError("a sample holds only values too small to be squared; scale them up.")
        return X

    @np.errstate(over="ignore", invalid="ignore")  # sums that are taken of it tell
    def transform(self, X: Array) -> Array:
        """Return x and the nodes."""
        xp = namespace(X)
        seen = xp.concat([scale * xp.asinh(X / over) for scale, over in SCALES], axis=1)
        drawn = nodes(int(self.seed), X.shape[1], self.n_nodes)
        weights, phases = (to_device(array, device_of(X)) for array in drawn)
        half = seen @ weights / 2  # cos(2 h + p) - cos(p), with every digit of small values
        return xp.concat([X, -2 * xp.sin(half + phases) * xp.sin(half)], axis=1)


@functools.lru_cache(maxsize=16)
def nodes(seed: int, n_columns: int, n_nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of nodes, one column each, and their phases.

    Examples
    --------
    >>> weights, phases = nodes(seed=0, n_columns=64, n_nodes=4)
    >>> weights.shape, (weights != 0).sum(axis=0).tolist()
    ((256, 4), [3, 3, 12, 12])
    """
    random = np.random.RandomState(seed)
    n_seen, n_close = len(SCALES) * n_columns, CLOSE * n_columns
    weights = np.zeros((n_seen, n_nodes))
    for node in range(n_nodes):
        few = node < n_nodes // 2
        n_inputs = min(FEW, n_seen) if few else min(MANY, n_close)
        inputs = random.choice(n_seen if few else n_close, n_inputs, replace=False)
        deviation = FEW_WEIGHT if few else MANY_WEIGHT
        weights[inputs, node] = deviation / n_inputs**0.5 * random.standard_normal(n_inputs)
    return weights, random.uniform(0, 2 * np.pi, n_nodes)
