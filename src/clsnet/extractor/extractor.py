"""Both parts of Subnetwork I as one fixed function of one sample."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn

from clsnet.extractor.augmentation import Augmentation
from clsnet.extractor.backbones import Backbone

FIT_SAMPLES = 10_000
Features = dict[Hashable, tuple[np.ndarray, Tensor]]


class Extractor(nn.Module):
    """``g(x) = g''(g'(x))``: a backbone, then the augmentation of its output.

    Parameters
    ----------
    backbone
        The frozen part g'.
    augmentation
        The plastic part g''.
    seed
        Everything random follows from it.
    """

    def __init__(self, backbone: Backbone, augmentation: Augmentation, seed: int) -> None:
        super().__init__()
        self.backbone = backbone
        self.augmentation = augmentation
        self.seed = seed
        self.dimension = 0
        self._features: Features | None = None

    def fit(self, X: np.ndarray, device: torch.device) -> Extractor:
        """Fix both parts, given samples of the first task without labels."""
        if len(X) > FIT_SAMPLES:
            drawn = np.random.RandomState(self.seed).choice(len(X), FIT_SAMPLES, replace=False)
            X = X[np.sort(drawn)]
        random = np.random.RandomState(self.seed)
        self.backbone.fit(X, random)
        self.to(device)
        if self.augmentation.connection != "Z":
            Z = torch.cat([self._represent(X[rows]) for rows in self._slices(len(X))])
            self.augmentation.fit(Z, random)
        self.to(device)
        self.dimension = self.transform(X[:1]).shape[1]
        return self

    def refitted(self, X: np.ndarray, device: torch.device) -> Extractor:
        """Return a copy with the same random numbers, fitted to other samples."""
        return copy.deepcopy(self).fit(X, device)

    @torch.inference_mode()
    def transform(self, X: np.ndarray) -> Tensor:
        """Return A, one row per sample."""
        place = (X.__array_interface__["data"], X.shape, X.strides, X.dtype)
        if self._features is not None and place in self._features:
            return self._features[place][1]
        parts = [self.augmentation(self._represent(X[rows])) for rows in self._slices(len(X))]
        A = torch.cat(parts) if len(parts) > 1 else parts[0]
        if self._features is not None:
            self._features[place] = (X, A)
        return A

    @contextmanager
    def remembering(self, features: Features) -> Iterator[None]:
        """Within this context, take from and add to `features`, keyed by place in memory."""
        self._features = features
        try:
            yield
        finally:
            self._features = None

    @property
    def device(self) -> torch.device:
        """Where the maps live."""
        return next(self.buffers()).device

    def _represent(self, X: np.ndarray) -> Tensor:
        x = self.backbone.as_input(X).to(self.device)
        Z: Tensor = self.backbone(x)
        return Z

    def _slices(self, n: int) -> Iterator[slice]:
        on_cpu = self.device.type == "cpu"
        size = self.backbone.batch_size if on_cpu else self.backbone.gpu_batch_size
        return (slice(start, start + size) for start in range(0, n, size))
