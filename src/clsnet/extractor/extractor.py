"""Both parts of Subnetwork I as one fixed function of a sample."""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from clsnet.arrays.devices import CPU, Array, Device, namespace, to_device, to_numpy
from clsnet.errors import ClsnetError
from clsnet.extractor.augmentation import Augmentation
from clsnet.extractor.backbones.base import Backbone
from clsnet.extractor.cache import FeatureCache, digests
from clsnet.extractor.identity import difference, identity
from clsnet.extras import needed
from clsnet.images import Images, Samples
from clsnet.images.ahead import read_ahead
from clsnet.storage.schema import Misfit

if TYPE_CHECKING:
    from clsnet.extractor.graph import Graph

FIT_SAMPLES = 10_000
Features = dict[Hashable, tuple[Samples, Array]]


class Extractor:
    """``g(x) = g''(g'(x))``: a backbone, then the augmentation of its output.

    Parameters
    ----------
    backbone
        The frozen part g'.
    augmentation
        The plastic part g''.
    seed
        It determines everything random.
    cache
        Folder for a cache of the outputs of a frozen network.

    Examples
    --------
    >>> from clsnet.extractor import Augmentation, Extractor, Identity
    >>> X = np.random.RandomState(0).standard_normal((20, 4))
    >>> extractor = Extractor(Identity(), Augmentation("Z"), seed=0).fit(X, "cpu")
    >>> extractor.transform(X).shape
    (20, 5)
    """

    prepared = False
    """Whether `fit` was given samples from `prepare`, which may be kept, and not a task."""

    def __init__(
        self,
        backbone: Backbone,
        augmentation: Augmentation,
        seed: int,
        cache: Path | None = None,
    ) -> None:
        self.backbone = backbone
        self.augmentation = augmentation
        self.seed = seed
        self.dimension = 0
        self._features: Features | None = None
        self._cache: FeatureCache | None = None
        if cache is not None and backbone.fingerprint:
            self._cache = FeatureCache(cache, backbone.fingerprint)

    def fit(self, X: Samples, device: Device) -> Self:
        """Fit both parts to samples without labels: those of the first task, or others."""
        if len(X) > FIT_SAMPLES:
            drawn = np.random.RandomState(self.seed).choice(len(X), FIT_SAMPLES, replace=False)
            X = X[np.sort(drawn)]
        random = np.random.RandomState(self.seed)
        self.backbone.fit(np.asarray(X if self.backbone.sees_task else X[:1]), random)
        self.to(device)
        if self.augmentation.connection != "Z":
            if self.augmentation.drawn:  # so that they can be drawn again, whatever the backbone
                random = np.random.RandomState(self.seed)
            seen = X if self.augmentation.tuned else X[:1]
            self.augmentation.fit(_joined(list(self._represented(seen))), random)
        self.dimension = self.transform(X[:1]).shape[1]
        return self

    def refitted(self, X: Samples, device: Device) -> Self:
        """Return a copy with the same random numbers, fitted to other samples."""
        return copy.deepcopy(self).fit(X, device)

    def transform(self, X: Samples) -> Array:
        """Return A, one row per sample."""
        place = None if self._features is None else _place(X)
        if self._features is not None and place in self._features:
            return self._features[place][1]
        A = _joined([self.augmentation.transform(Z) for Z in self._represented(X)])
        if self._features is not None:
            self._features[place] = (X, A)
        return A

    @contextmanager
    def remembering(self, features: Features) -> Iterator[None]:
        """Within this context, use `features` as a cache, keyed by place in memory."""
        self._features = features
        try:
            yield
        finally:
            self._features = None

    def write_graph(self, graph: Graph, images: str) -> str:
        """Write the whole map as a part of an ONNX graph, from images as bytes to A, float32."""
        return self.augmentation.write_graph(graph, self.backbone.write_graph(graph, images))

    def state(self) -> dict[str, Array]:
        """Return what `fit` found in both parts, by name.

        Random weights that are determined by the seed are left out, since they can be drawn again,
        unless there are very many.
        """
        backbone = {f"backbone.{name}": a for name, a in self.backbone.state().items()}
        nodes = {f"augmentation.{name}": a for name, a in self.augmentation.state().items()}
        if self.augmentation.left_out:
            weight = self.augmentation.weight
            nodes["augmentation.weight"] = namespace(weight).asarray(weight[..., :0], copy=True)
        return backbone | nodes

    def check(self, state: Mapping[str, np.ndarray], sample_shape: tuple[int, ...]) -> None:
        """Raise `Misfit` unless arrays of a file fit both parts and give A its dimension."""
        own, nodes = (_below(f"{part}.", state) for part in ("backbone", "augmentation"))
        if len(own) + len(nodes) < len(state):
            raise Misfit("the extractor has arrays of neither part")
        width = self.backbone.check(own, sample_shape)
        found = self.augmentation.check(nodes, width)
        if found not in (None, self.dimension):
            raise Misfit(f"omega has {self.dimension} rows, but samples have {found} features")

    def restore(self, state: dict[str, Array]) -> None:
        """Restore what an earlier `fit` found."""
        self.backbone.restore(_below("backbone.", state))
        self.augmentation.restore(_below("augmentation.", state))
        self._draw_again()

    def __getstate__(self) -> dict[str, Any]:
        kept = copy.copy(self.augmentation)
        kept.restore(_below("augmentation.", self.state()))
        return {**vars(self), "augmentation": kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._draw_again()

    def _draw_again(self) -> None:
        """Draw random weights that were left out."""
        if self.augmentation.drawn and self.augmentation.weight.shape[1:] == (0,):
            self.augmentation.draw(np.random.RandomState(self.seed))

    def to(self, device: Device) -> Self:
        """Move both parts to a device, and return the extractor."""
        self.backbone.to(device)
        self.augmentation.to(device)
        return self

    @property
    def intercept(self) -> int | None:
        """The number of the constant column of A, if the others are to be standardised."""
        if not self.backbone.standardised or self.augmentation.connection in ("G", "G*"):
            return None
        return self._width

    @property
    def inputs(self) -> Array | None:
        """Which of the first columns of A each of the next ones, random nodes, sees."""
        if self.intercept is None or self.augmentation.connection != "Z":
            return None
        return self.backbone.inputs(self.intercept)

    @property
    def sees_task(self) -> bool:
        """Whether the maps depend on the samples that they were fitted to."""
        return self.backbone.sees_task or self.augmentation.tuned

    @property
    def keeps_task(self) -> bool:
        """Whether the maps depend on samples of the first task, which then cannot be forgotten."""
        return self.sees_task and not self.prepared

    @property
    def referred_mb(self) -> float:
        """Size of a frozen network that is kept by reference, in MB."""
        return self.backbone.referred_mb

    @property
    def device(self) -> Device:
        """Where the maps live."""
        return self.backbone.device

    def difference(self, other: Extractor) -> str:
        """Say in what another fitted map differs, or nothing if it does so by rounding at most."""
        return difference(identity(self), identity(other))

    def _represented(self, X: Samples) -> Iterator[Array]:
        """Yield Z, some rows at a time."""
        if self._cache is None:
            yield from map(self._represent, read_ahead(X, list(self._slices(len(X)))))
            return

        def compute(missing: np.ndarray) -> np.ndarray:
            parts = read_ahead(X, [missing[rows] for rows in self._slices(len(missing))])
            return np.concatenate([to_numpy(self._represent(part)) for part in parts])

        found = self._cache.rows(digests(X), compute)
        if self.dimension and found.shape[1] != self._width:
            raise ClsnetError(
                f"{self._cache.path} holds {found.shape[1]} features of each sample, not "
                f"{self._width}; remove the file to make it anew."
            )
        yield to_device(found, self.device)

    @property
    def _width(self) -> int:
        """The width of Z, once it is known."""
        alone = self.augmentation.connection == "Z"
        return (self.dimension if alone else len(self.augmentation.weight)) - 1

    def _represent(self, X: np.ndarray) -> Array:
        return self.backbone.transform(_moved(self.backbone.as_input(X), self.device))

    def _slices(self, n: int) -> Iterator[slice]:
        backbone = self.backbone
        size = backbone.gpu_batch_size if _is_cuda(self.device) else backbone.batch_size
        return (slice(start, start + size) for start in range(0, n, size))


def _below(start: str, state: Mapping[str, Array]) -> dict[str, Array]:
    return {name.removeprefix(start): a for name, a in state.items() if name.startswith(start)}


def _is_cuda(device: Device) -> bool:
    return bool(device != CPU and device.type == "cuda")


def _moved(x: np.ndarray, device: Device) -> Array:
    """Return samples on a device; a copy to a GPU does not wait for what that still has to do."""
    if not _is_cuda(device):
        return to_device(x, device)
    torch = needed("torch", f"device {device}", "torch")
    return torch.from_numpy(x).pin_memory().to(device, non_blocking=True)


def _joined(parts: list[Array]) -> Array:
    return parts[0] if len(parts) == 1 else namespace(*parts).concat(parts)


def _place(X: Samples) -> Hashable:
    """Return where samples lie; the same place holds the same samples while they are there."""
    if isinstance(X, Images):
        return X.place
    return X.__array_interface__["data"], X.shape, X.strides, X.dtype
