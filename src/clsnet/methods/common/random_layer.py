"""A layer of random weights, which are determined by a seed and therefore not stored."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from clsnet.arrays.devices import Array, Device, is_torch, namespace, to_device
from clsnet.extras import needed


class RandomLayer:
    """Fixed random weights applied to the features, the same on every device.

    Copies omit the weights and draw them again when they are first needed. So they do not count as
    memory; `clsnet.checks` verifies this by continuing with a copy.

    Parameters
    ----------
    inputs, nodes
        Width of what goes in and of what comes out.
    random
        Draws the weights, and can be used further on.
    device
        Where the weights live.
    uniform
        Draw from -1 to 1, divided by the root of `inputs`, as PyTorch's linear layers start, in
        place of standard normal numbers.

    Examples
    --------
    >>> layer = RandomLayer(3, 5, np.random.default_rng(0), "cpu")
    >>> layer(np.ones((2, 3))).shape
    (2, 5)
    >>> twin = copy.deepcopy(layer)
    >>> bool((twin.weights == layer.weights).all())
    True
    """

    def __init__(
        self,
        inputs: int,
        nodes: int,
        random: np.random.Generator,
        device: Device,
        uniform: bool = False,
    ) -> None:
        self.shape = (inputs, nodes)
        self.device = device
        self.uniform = uniform
        self._before = copy.deepcopy(random)
        self._weights: Array | None = self._drawn(random)

    @property
    def weights(self) -> Array:
        """The weights, float32."""
        if self._weights is None:
            self._weights = self._drawn(copy.deepcopy(self._before))
        return self._weights

    def __call__(self, A: Array) -> Array:
        """Return the outputs, one row per sample, with the precision of A."""
        return A @ namespace(A).astype(self.weights, A.dtype, copy=False)

    def _drawn(self, random: np.random.Generator) -> Array:
        if self.uniform:
            drawn = random.random(self.shape, dtype=np.float32)
            drawn = (2 * drawn - 1) / np.float32(self.shape[0]) ** np.float32(0.5)
        else:
            drawn = random.standard_normal(self.shape, dtype=np.float32)
        return to_device(drawn, self.device)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_weights": None}


def relu(H: Array) -> Array:
    """Set negative numbers to zero, in place.

    Examples
    --------
    >>> relu(np.array([-1.0, 2.0]))
    array([0., 2.])
    """
    H[H < 0] = 0.0
    return H


def gelu(H: Array) -> Array:
    """Return each number times the share of a standard normal distribution below it.

    Examples
    --------
    >>> gelu(np.array([-1.0, 0.0, 2.0])).round(3)
    array([-0.159,  0.   ,  1.954])
    """
    if is_torch(H):
        return needed("torch", "a GPU", "torch").nn.functional.gelu(H)
    from scipy.special import ndtr

    return H * ndtr(H)
