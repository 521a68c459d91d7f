"""Features as the network gives them, before they are scaled.

A model of photos scales each feature by what synthetic images give. That suits the scores. How
familiar a photo is shows better without it: features that differ much between photos then count
more. Where the last features are textures, these are looked at apart from the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from clsnet.arrays.devices import to_numpy
from clsnet.extractor import Extractor
from clsnet.extractor.backbones.network import Network


@dataclass(frozen=True)
class Unscaled:
    """A linear map that undoes the scaling, so that sums of features can be mapped, too.

    Attributes
    ----------
    factor, shift
        Of each column; the shift is multiplied with the last column, which is constant.
    start, end
        The first column that is kept, and the first one behind them; None keeps all others.
    textures
        What gives the textures alone, if there are any.

    Examples
    --------
    >>> plain = Unscaled(np.array([2.0, 0.0]), np.array([0.5, 0.0]))
    >>> plain(np.array([[3.0, 1.0]]))
    array([[6.5, 0. ]])
    """

    factor: np.ndarray | float = 1.0
    shift: np.ndarray | float = 0.0
    start: int = 0
    end: int | None = None
    textures: Unscaled | None = None

    @classmethod
    def of(cls, extractor: Extractor) -> Unscaled:
        """Return what undoes the scaling of an extractor; nothing, if it does not scale."""
        backbone, last = extractor.backbone, extractor.augmentation
        if not isinstance(backbone, Network) or last.connection != "Z" or last.constant != 1:
            return cls()
        factor, centre = to_numpy(backbone.factor), to_numpy(backbone.centre)
        factor = np.append(1 / factor.astype(float), 0.0)
        centre = np.append(centre.astype(float), 0.0)
        if not backbone.textures:
            return cls(factor, centre)
        end = len(factor) - 1
        first = end - backbone.textures
        textures = cls(factor[first:end], centre[first:end], first, end)
        return cls(factor[:first], centre[:first], 0, first, textures)

    def __call__(self, A: np.ndarray) -> np.ndarray:
        """Return rows of features, or sums of such rows, unscaled."""
        if np.ndim(self.factor) == 0:  # as learned
            return A
        return np.asarray(A[..., self.start : self.end] * self.factor + A[..., -1:] * self.shift)

    def products(self, gram: np.ndarray) -> np.ndarray:
        """Return the sum of products of features, unscaled."""
        return self(self(gram).T)


AS_LEARNED = Unscaled()
