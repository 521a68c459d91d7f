"""Both parts of Subnetwork I as one fixed function of one sample."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from clsnet.images.ahead import read_ahead
from clsnet.images.lazy import Images
from clsnet.extractor.augmentation import Augmentation
from clsnet.extractor.backbones import Backbone, Network
from clsnet.extractor.cache import FeatureCache, digests
from clsnet.memory import MEGABYTE

FIT_SAMPLES = 10_000
Samples = np.ndarray | Images
Features = dict[Hashable, tuple[Samples, Tensor]]


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
    cache
        Folder for the outputs of a frozen network, if they are to be kept.
    """

    def __init__(
        self,
        backbone: Backbone,
        augmentation: Augmentation,
        seed: int,
        cache: Path | None = None,
    ) -> None:
        super().__init__()
        self.backbone = backbone
        self.augmentation = augmentation
        self.seed = seed
        self.dimension = 0
        self._features: Features | None = None
        self._cache: FeatureCache | None = None
        if cache is not None and isinstance(backbone, Network):
            self._cache = FeatureCache(cache, backbone.fingerprint)

    def fit(self, X: Samples, device: torch.device) -> Extractor:
        """Fix both parts, given samples of the first task without labels."""
        if len(X) > FIT_SAMPLES:
            drawn = np.random.RandomState(self.seed).choice(len(X), FIT_SAMPLES, replace=False)
            X = X[np.sort(drawn)]
        random = np.random.RandomState(self.seed)
        self.backbone.fit(np.asarray(X if self.backbone.sees_task else X[:1]), random)
        self.to(device)
        if self.augmentation.connection != "Z":
            seen = X if self.augmentation.tuned else X[:1]
            self.augmentation.fit(torch.cat(list(self._represented(seen))), random)
        self.to(device)
        self.dimension = self.transform(X[:1]).shape[1]
        return self

    def refitted(self, X: Samples, device: torch.device) -> Extractor:
        """Return a copy with the same random numbers, fitted to other samples."""
        return copy.deepcopy(self).fit(X, device)

    @torch.inference_mode()
    def transform(self, X: Samples) -> Tensor:
        """Return A, one row per sample."""
        place = _place(X)
        if self._features is not None and place in self._features:
            return self._features[place][1]
        parts = [self.augmentation(Z) for Z in self._represented(X)]
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
    def referred_mb(self) -> float:
        """Size of a frozen network that is kept by reference."""
        if not isinstance(self.backbone, Network) or self.backbone.held:
            return 0.0
        tensors = self.backbone.weights_state().values()
        return 4 * sum(tensor.numel() for tensor in tensors) / MEGABYTE

    @property
    def device(self) -> torch.device:
        """Where the maps live."""
        return next(self.buffers()).device

    def _represented(self, X: Samples) -> Iterator[Tensor]:
        """Yield Z, some rows at a time."""
        if self._cache is None:
            yield from map(self._represent, read_ahead(X, list(self._slices(len(X)))))
            return

        def compute(missing: np.ndarray) -> np.ndarray:
            parts = read_ahead(X, [missing[rows] for rows in self._slices(len(missing))])
            return torch.cat([self._represent(part) for part in parts]).cpu().numpy()

        yield torch.from_numpy(self._cache.rows(digests(X), compute)).to(self.device)

    def _represent(self, X: np.ndarray) -> Tensor:
        x = self.backbone.as_input(X)
        if self.device.type == "cuda":
            x = x.pin_memory()  # then the copy need not wait for what the GPU still has to do
        Z: Tensor = self.backbone(x.to(self.device, non_blocking=True))
        return Z

    def _slices(self, n: int) -> Iterator[slice]:
        on_cpu = self.device.type == "cpu"
        size = self.backbone.batch_size if on_cpu else self.backbone.gpu_batch_size
        return (slice(start, start + size) for start in range(0, n, size))


def _place(X: Samples) -> Hashable:
    """Return where samples lie; the same place holds the same samples while they are there."""
    if isinstance(X, Images):
        return X.place
    return X.__array_interface__["data"], X.shape, X.strides, X.dtype
