"""Convolutions with whitened random patches: good features of small images without training."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from clsnet.arrays.devices import Array, Device, is_torch, to_device, to_numpy
from clsnet.errors import ClsnetError
from clsnet.extractor.backbones.base import Backbone
from clsnet.extractor.backbones.cells import positions, triangles
from clsnet.extractor.backbones.patch_filters import filter_bank
from clsnet.extractor.backbones.responses import Responses
from clsnet.extractor.parallel import in_threads
from clsnet.extras import needed
from clsnet.images.dead_leaves import dead_leaves
from clsnet.storage.schema import (
    FLAG,
    Kind,
    Misfit,
    check_arrays,
    listed,
    number,
    one_of,
    whole,
)

if TYPE_CHECKING:
    from clsnet.extractor.graph import Graph

N_LEAVES = 500
LARGEST_SIDE = 2048  # of the images of a file, as pooling takes the square of it


class Patches(Backbone):
    """Responses of contrast-normalised windows to whitened patches, both signs, pooled, rooted.

    A filter is a random patch, whitened (ZCA) twice over: once as a patch, once to undo the
    correlation of the windows it meets. A window's mean is removed by the filter, which sums to
    zero, and its contrast by dividing by its deviation. Positive and negative parts of the
    responses are averaged in overlapping cells, and the square root of that, less its mean over
    synthetic images, is a feature.

    Parameters
    ----------
    filters
        Number of filters of each size and contrast.
    sizes
        Side lengths of the patches, in pixels.
    contrast
        Variances below which a window counts as flat rather than as faint.
    pool
        Cells along each side of the image.
    mirror
        Average the features of the image and of its mirror image.
    source
        Where patches come from: ``"leaves"``, synthetic images, so that the map depends on no
        data, or ``"task"``, images of the first task.

    Examples
    --------
    >>> backbone = Patches(filters=2, sizes=(3,), pool=2)
    >>> images = np.random.RandomState(0).uniform(size=(4, 8, 8))
    >>> backbone.fit(images, np.random.RandomState(0))
    >>> backbone.transform(backbone.as_input(images)).shape
    (4, 16)
    """

    name = "patches"
    default_connection: ClassVar[str] = "Z"
    batch_size: ClassVar[int] = 256
    gpu_batch_size: ClassVar[int] = 1024
    peak: Array
    centre: Array
    accepts: ClassVar[Mapping[str, Kind]] = {
        "filters": whole(1, 10_000),
        "sizes": listed(whole(1, 64), most=32, least=1),
        "contrast": listed(number(0, above=True), most=32, least=1),
        "pool": whole(1, 64),
        "mirror": FLAG,
        "source": one_of("leaves", "task"),
    }

    def __init__(
        self,
        filters: int = 33,
        sizes: Sequence[int] = (4, 8),
        contrast: Sequence[float] = (1e-3,),
        pool: int = 5,
        mirror: bool = False,
        source: str = "leaves",
    ) -> None:
        self.filters = filters
        self.sizes = sizes
        self.contrast = contrast
        self.pool = pool
        self.mirror = mirror
        self.source = source
        self.sees_task = source == "task"
        self.fitted = ("peak", "centre", *(f"bank{size}" for size in sizes))
        self.peak, self.centre = np.zeros((), np.float32), np.zeros((), np.float32)
        for size in sizes:
            setattr(self, f"bank{size}", np.empty(0, np.float32))
        self._cells: dict[tuple[int, int, Device], Array] = {}

    def fit(self, X: np.ndarray, random: np.random.RandomState) -> None:
        """Draw the filters."""
        if X.ndim not in (3, 4):
            raise ClsnetError(
                "the patches backbone needs images, (n, h, w) or (n, channels, h, w), "
                f"not an array of shape {X.shape}."
            )
        self.peak = np.zeros((), np.float32)
        if self.source == "task":
            self._draw(self.as_input(X), dead_leaves(N_LEAVES, random), random)
            return
        options = (self.filters, tuple(self.sizes), tuple(self.contrast), self.pool)
        drawn, after = _drawn_from_leaves(options, _frozen(random))
        for name, array in drawn.items():
            setattr(self, name, array.copy())
        random.set_state(after)

    def _draw(self, images: np.ndarray, leaves: np.ndarray, random: np.random.RandomState) -> None:
        """Take filters from images, and the centre from leaves."""
        images = images.reshape(-1, *images.shape[-2:])
        for size in self.sizes:
            banks = [filter_bank(images, size, self.filters, c, random) for c in self.contrast]
            setattr(self, f"bank{size}", np.concatenate(banks).astype(np.float32)[:, None])
        self.centre = self._features(leaves.astype(np.float32), mirror=False).mean(axis=0)

    def as_input(self, X: np.ndarray) -> np.ndarray:
        """Return a copy in single precision, in which the brightest value of an image is one.

        That of 8-bit images is 255, and that of others the largest of each.
        """
        if X.dtype == np.uint8 or self.peak > 0:
            return np.array(X, dtype=np.float32) / np.float32(self.brightest)
        largest = abs(X.astype(np.float64)).max(axis=tuple(range(1, X.ndim)), keepdims=True)
        return np.asarray(X / np.where(largest > 0, largest, 1.0), np.float32)

    @property
    def brightest(self) -> float:
        """The brightest value of an 8-bit image; models of version 0.1 keep that of all images."""
        return float(self.peak) or 255.0

    def transform(self, X: Array) -> Array:
        """Return one row of features per image."""
        images = X.reshape(-1, *X.shape[-2:])
        if is_torch(X):
            Z = self._torch_features(images)
            if self.mirror:
                Z = (Z + self._torch_features(images.flip(-1))) / 2
        else:
            Z = self._features(images, self.mirror)
        Z -= self.centre
        return Z.reshape(X.shape[0], -1)

    def check(self, state: Mapping[str, np.ndarray], sample_shape: tuple[int, ...]) -> int:
        """Refuse samples that are no images, and filters that are not as many as was said."""
        if len(sample_shape) not in (2, 3) or max(sample_shape) > LARGEST_SIDE:
            raise Misfit(f"sample_shape is {sample_shape}, which is no image")
        bank = self.filters * len(self.contrast)
        width = 2 * bank * len(self.sizes) * self.pool**2
        banks = {f"bank{size}": (bank, 1, size, size) for size in self.sizes}
        check_arrays(state, {"peak": (), "centre": (width,), **banks}, "backbone.")
        return width * (sample_shape[0] if len(sample_shape) == 3 else 1)

    def _features(self, images: np.ndarray, mirror: bool) -> np.ndarray:
        """Return the square roots of averages, by NumPy."""
        maps = [self._responses(size, images.shape[1:], mirror) for size in self.sizes]
        contrasts, filters, pool = len(self.contrast), self.filters, self.pool
        Z = np.empty((len(images), len(maps), 2, contrasts, filters, pool, pool), np.float32)

        def work(block: tuple[int, slice]) -> None:
            i, rows = block
            averages = maps[i].averages(images[rows])
            np.maximum(averages, 0, out=averages)
            roots = np.sqrt(averages, out=averages)
            roots = roots.reshape(-1, 2, pool, pool, contrasts, 1 + mirror, filters)
            roots = roots.transpose(5, 0, 1, 4, 6, 2, 3)
            if mirror:
                np.add(roots[0], roots[1, ..., ::-1], out=Z[rows, i])
                Z[rows, i] *= 0.5
            else:
                Z[rows, i] = roots[0]

        blocks = [
            (i, slice(start, start + one.at_once))
            for i, one in enumerate(maps)
            for start in range(0, len(images), one.at_once)
        ]
        in_threads(work, blocks)
        return Z.reshape(len(images), -1)

    def _responses(self, size: int, shape: tuple[int, ...], mirror: bool) -> Responses:
        """Return the map to averages; mirrored filters stand for mirrored images."""
        bank = getattr(self, f"bank{size}").reshape(len(self.contrast), 1, -1, size, size)
        if mirror:
            bank = np.concatenate([bank, bank[..., ::-1]], axis=1)
        rows, columns = (triangles(positions(n, size), self.pool) for n in shape)
        return Responses(bank.reshape(-1, size, size), self.contrast, rows, columns)

    def _torch_features(self, images: Any) -> Any:
        torch = needed("torch", f"device {images.device}", "torch")
        pad, convolved = torch.nn.functional.pad, torch.nn.functional.conv2d
        parts = []
        for size in self.sizes:
            padded = pad(images[:, None], [size // 2] * 4)
            response = convolved(padded, getattr(self, f"bank{size}"))
            line = images.new_full((1, 1, size, 1), 1 / size)
            both = convolved(convolved(torch.cat([padded, padded.square()]), line), line.mT)
            mean, square = both.chunk(2)
            variance = (square - mean.square()).clamp_min_(0)
            for part, flat in zip(
                response.chunk(len(self.contrast), 1), self.contrast, strict=True
            ):
                part.mul_((variance + flat).rsqrt_())
            cells = self._pooling(response.shape[-2], response.shape[-1], response.device)
            response = response.flatten(2)
            total = response @ cells
            positive = response.clamp_min_(0) @ cells
            parts += [positive, positive - total]
        return torch.cat(parts, dim=1).clamp_min_(0).sqrt_().flatten(1)

    def write_graph(self, graph: Graph, images: str) -> str:
        """Convolve, normalise, pool and take roots, in single precision."""
        sides = [length for length in graph.shape(images)[1:] if isinstance(length, int)]
        if len(sides) != 3:
            raise ClsnetError("the patches backbone needs images of a known size to export.")
        channels, height, width = sides
        peak = graph.constant(np.float32(self.brightest))
        centre = graph.constant(to_numpy(self.centre))
        grey = graph.node("Reshape", images, graph.constant(np.array([-1, 1, height, width])))
        grey = graph.node("Div", graph.node("CastLike", grey, peak), peak)
        Z = self._write_features(graph, grey, height, width)
        if self.mirror:
            backwards = graph.constant(np.arange(width)[::-1].copy())
            flipped = graph.node("Gather", grey, backwards, axis=3)
            Z = graph.node("Add", Z, self._write_features(graph, flipped, height, width))
            Z = graph.node("Mul", Z, graph.constant(np.float32(0.5)))
        n_features = channels * self.centre.shape[0]
        shape = graph.constant(np.array([-1, n_features]))
        return graph.node("Reshape", graph.node("Sub", Z, centre), shape)

    def _write_features(self, graph: Graph, grey: str, height: int, width: int) -> str:
        """Write the square roots of averages, by ONNX."""
        zero = graph.constant(np.float32(0))
        parts = []
        for size in self.sizes:
            pads = graph.constant(np.array([0, 0, size // 2, size // 2] * 2))
            padded = graph.node("Pad", grey, pads)
            mean, mean_square = (
                graph.node("AveragePool", value, kernel_shape=[size, size])
                for value in (padded, graph.node("Mul", padded, padded))
            )
            variance = graph.node("Sub", mean_square, graph.node("Mul", mean, mean))
            variance = graph.node("Max", variance, zero)
            rows = graph.constant(triangles(positions(height, size), self.pool).T.copy())
            columns = graph.constant(triangles(positions(width, size), self.pool))
            banks = np.split(to_numpy(getattr(self, f"bank{size}")), len(self.contrast))
            signs: tuple[list[str], list[str]] = ([], [])
            for bank, flat in zip(banks, self.contrast, strict=True):
                floor = graph.constant(np.float32(flat))
                deviation = graph.node("Sqrt", graph.node("Add", variance, floor))
                response = graph.node("Conv", padded, graph.constant(bank))
                response = graph.node("Div", response, deviation)
                for pooled, value in zip(
                    signs, (response, graph.node("Neg", response)), strict=True
                ):
                    lines = graph.node("MatMul", rows, graph.node("Relu", value))
                    pooled.append(graph.node("MatMul", lines, columns))
            parts += [*signs[0], *signs[1]]
        return graph.node("Flatten", graph.node("Sqrt", graph.node("Concat", *parts, axis=1)))

    def _pooling(self, height: int, width: int, device: Device) -> Array:
        """Return the averages over cells as one matrix, positions by cells."""
        key = (height, width, device)
        if key not in self._cells:
            rows, columns = triangles(height, self.pool), triangles(width, self.pool)
            self._cells[key] = to_device(np.kron(rows, columns), device)
        return self._cells[key]


def _frozen(random: np.random.RandomState) -> tuple[Any, ...]:
    """Return the state of random numbers so that it can be looked up."""
    name, keys, *rest = random.get_state(legacy=True)
    return (name, tuple(np.asarray(keys).tolist()), *rest)


@functools.lru_cache(maxsize=4)
def _drawn_from_leaves(
    options: tuple[Any, ...], state: tuple[Any, ...]
) -> tuple[dict[str, np.ndarray], Any]:
    """Return what follows from options and a seed alone, and the random numbers' next state.

    It takes a second; a process that makes several models takes it once.
    """
    random = np.random.RandomState()
    random.set_state(state)
    backbone = Patches(*options)
    leaves = dead_leaves(N_LEAVES, random)
    backbone._draw(leaves, leaves, random)
    names = [name for name in backbone.fitted if name != "peak"]
    return {name: getattr(backbone, name) for name in names}, random.get_state()
