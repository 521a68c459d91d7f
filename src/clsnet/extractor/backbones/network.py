"""Frozen pretrained networks, tapped at several depths."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any, ClassVar, Self

import numpy as np

from clsnet.arrays.devices import CPU, Array, device_of, namespace, to_device, to_numpy
from clsnet.errors import ClsnetError
from clsnet.extractor.backbones.base import Backbone
from clsnet.extractor.backbones.convolution import MisfitError
from clsnet.extractor.backbones.pixels import (
    FLOAT,
    as_images,
    is_exact,
    normalised,
    write_normalised,
)
from clsnet.extractor.backbones.resizing import resized, resizing_matrix
from clsnet.extractor.backbones.scales import shipped_scales
from clsnet.extractor.backbones.tapped import TAPS, Run, Tapped
from clsnet.extractor.backbones.views import VIEWS, in_turn, views, write_views
from clsnet.extractor.backbones.weights import fingerprint
from clsnet.extractor.graph import Graph
from clsnet.extractor.runtime.graph_runtime import GraphRuntime
from clsnet.extractor.runtime.threads import n_threads
from clsnet.images.dead_leaves import dead_leaves
from clsnet.memory import MEGABYTE
from clsnet.storage.schema import Kind, Misfit, check_arrays, one_of, text, whole

N_LEAVES = 64
USUAL_SIZE = 224  # of larger images, fewer are taken at once


class Network(Backbone):
    """A frozen pretrained network.

    The signed square root of a pooled output is a feature. The network itself is kept by
    reference unless it is `held`: a saved model holds only `centre` and `factor`, which
    standardise the features of synthetic images. These are always the same, so the map depends on
    no task and no seed.

    Parameters
    ----------
    tapped
        The network.
    size
        Side length of the images it wants; others are resized.
    mean, deviation
        Of the three channels, as fractions of one: images are normalised with them.
    views
        1, 2: average with the mirror image, or 8: with crops and their mirror images too.

    Attributes
    ----------
    trained_on : str
        What the weights were trained on.
    seen_classes : tuple of str
        Names of the classes they were trained on; empty where the weights do not tell.
    textures : int
        How many of the features, the last ones, are textures.
    form : dict
        What the network is built from beside its weights and the constructor's arguments, as JSON
        can hold it.
    """

    batch_size: ClassVar[int] = 32
    gpu_batch_size: ClassVar[int] = 512
    sees_task = False
    accepts: ClassVar[Mapping[str, Kind]] = {
        "taps": one_of(*TAPS),
        "views": one_of(*VIEWS),
        "nodes": whole(0, 50_000),
        "model": text(),
        "weights": text(),
    }
    fitted = ("centre", "factor")
    trained_on: str = ""
    seen_classes: tuple[str, ...] = ()
    textures: int = 0
    centre: Array
    factor: Array

    def __init__(
        self,
        tapped: Tapped,
        size: int,
        mean: Sequence[float],
        deviation: Sequence[float],
        views: int,
    ) -> None:
        if views not in VIEWS:
            raise ClsnetError(f"unknown number of views {views!r}: use 1, 2 or 8.")
        self.form = {}
        self.size = size
        self.taps = tapped.taps
        self.views = views
        self.mean, self.deviation = (
            np.array(value, dtype=np.float32).reshape(-1, 1, 1) for value in (mean, deviation)
        )
        self.centre = np.zeros((), dtype=np.float32)
        self.factor = np.ones((), dtype=np.float32)
        self._tapped = {size: tapped}
        if tapped.taps == "many":
            self._tapped[size * 3 // 2] = tapped.without_cells()
        self._runtimes = {size: each.runtime(size) for size, each in self._tapped.items()}
        self._run_bytes = self._with_bytes(self._runtimes[size])

    @classmethod
    def restored(
        cls, config: Mapping[str, Any], form: Mapping[str, Any], state: Mapping[str, Array]
    ) -> Self:
        """Return a network that is held, without what its weights once came from.

        Parameters
        ----------
        config, form
            Those of the network.
        state
            Its weights, by name.
        """
        backbone = cls.__new__(cls)
        try:
            arrays = {name: to_numpy(value) for name, value in state.items()}
            if any(np.isnan(value).any() for value in arrays.values() if value.dtype.kind == "f"):
                raise ValueError("its weights hold numbers that are not one")
            backbone._build(arrays, form, **config)
        except (
            MisfitError,
            AttributeError,
            LookupError,
            RuntimeError,
            TypeError,
            ValueError,
        ) as error:
            reason = str(error).strip().partition("\n")[0]
            raise ClsnetError(
                f"the {cls.name} network that the model holds does not fit the packages "
                f"installed here: {reason}"
            ) from None
        backbone.held = True
        return backbone

    def _build(
        self, state: Mapping[str, np.ndarray], form: Mapping[str, Any], *args: Any, **config: Any
    ) -> None:
        """Become the backbone with these weights; `config` are the constructor's arguments."""
        raise NotImplementedError

    def fit(self, X: np.ndarray, random: np.random.RandomState) -> None:
        """Standardise the features of dead leaves, whatever the task and the seed."""
        self.as_input(X[:1])
        scales = shipped_scales(self.fingerprint) or self.measured_scales()
        self.centre, self.factor = (to_device(each, self.device) for each in scales)

    def measured_scales(self) -> tuple[Array, Array]:
        """Return a centre and a factor that standardise the features of dead leaves."""
        leaves = to_device(_coloured_leaves(), self.device)
        Z = self._features(leaves)
        xp = namespace(Z)
        deviation = xp.std(Z, axis=0)
        floor = 0.1 * xp.mean(deviation)
        usable = xp.maximum(deviation, floor)
        factor = 1 / xp.where(usable > 0, usable, xp.ones_like(usable))
        return xp.mean(Z, axis=0), factor

    def check(self, state: Mapping[str, np.ndarray], sample_shape: tuple[int, ...]) -> int:
        """Refuse samples that are no images, and arrays of two lengths."""
        if len(sample_shape) not in (2, 3) or (
            len(sample_shape) == 3 and sample_shape[0] not in (1, 3)
        ):
            raise Misfit(f"sample_shape is {sample_shape}, which is no image for {self.name}")
        check_arrays(state, {"centre": (-1,), "factor": (-1,)}, "backbone.")
        check_arrays(state, {"centre": state["factor"].shape, "factor": (-1,)}, "backbone.")
        return len(state["centre"])

    def as_input(self, X: np.ndarray) -> np.ndarray:
        """Return a copy of the images: bytes as bytes, fractions of one in float32."""
        return as_images(X, f"the {self.name} backbone")

    def transform(self, X: Array) -> Array:
        """Return one row of features per image."""
        Z = self._features(X)
        if self.centre.shape not in ((), Z.shape[1:]):
            raise ClsnetError(
                f"the {self.name} network gives {Z.shape[1]} features, but the model has scales "
                f"of {len(self.centre)}; its file is damaged."
            )
        return (Z - self.centre) * self.factor

    def normalised(self, X: Array, size: int | None = None) -> Array:
        """Return images as the network wants them, or of another size."""
        size = size or self.size
        xp, device = namespace(X), device_of(X)
        x = X if X.ndim == 4 else X[:, None]
        white = 1 if xp.isdtype(x.dtype, "real floating") else 255
        if x.shape[-2:] != (size, size):
            x = resized(xp.astype(x, xp.float32), size, size)
        factor, shift = (to_device(value, device) for value in self._affine(white))
        if device == CPU:
            return normalised(x, factor, shift)
        x = xp.astype(x, xp.float32) * factor  # grey becomes three channels
        x += shift
        return x

    def write_graph(self, graph: Graph, images: str) -> str:
        """Write the map from images as bytes, (n, 3, h, w), to Z into an ONNX graph."""
        *_, height, width = graph.shape(images)
        if not isinstance(height, int) or not isinstance(width, int):
            raise ClsnetError(f"the {self.name} backbone needs images of a known size to export.")
        images = graph.node("Cast", images, to=FLOAT)
        factor, shift = (graph.constant(value) for value in self._affine(255))
        parts = []
        for size, tapped in self._tapped.items():
            x = images
            if width != size:
                x = graph.node("MatMul", x, graph.constant(resizing_matrix(width, size).T))
            if height != size:
                x = graph.node("MatMul", graph.constant(resizing_matrix(height, size)), x)
            x = graph.node("Add", graph.node("Mul", x, factor), shift)
            number = self._n_views(size)
            x = graph.node("Concat", *write_views(graph, x, size, number), axis=0)
            v = tapped.write(graph, x, size)
            v = graph.node("Mul", graph.node("Sign", v), graph.node("Sqrt", graph.node("Abs", v)))
            v = graph.node("Unsqueeze", v, graph.constant([0]))
            v = graph.node("Reshape", v, graph.constant([number, -1, 0]))  # 0: as it was
            parts.append(graph.node("ReduceMean", v, graph.constant([0]), keepdims=0))
        Z = graph.node("Concat", *parts, axis=1)
        Z = graph.node("Sub", Z, graph.constant(to_numpy(self.centre)))
        return graph.node("Mul", Z, graph.constant(to_numpy(self.factor)))

    def weights_state(self) -> Mapping[str, np.ndarray]:
        """Return the network's arrays by name."""
        return self._tapped[self.size].state

    @property
    def referred_mb(self) -> float:
        """Size of the network, unless a saved model holds it."""
        numbers = sum(value.size for value in self.weights_state().values())
        return 0.0 if self.held else 4 * numbers / MEGABYTE

    def state_to_hold(self) -> dict[str, Array]:
        """Return the network's arrays, having made sure that they and `form` rebuild it."""
        state = dict(self.weights_state())
        if not self.held:
            try:
                twin = self.restored(self.config, json.loads(json.dumps(dict(self.form))), state)
                same = twin.fingerprint == self.fingerprint
            except (ClsnetError, TypeError):
                same = False
            if not same:
                raise ClsnetError(
                    f"a model cannot hold {self}, which is not built from its weights alone; "
                    "let it refer to it instead."
                )
        return state

    @functools.cached_property
    def fingerprint(self) -> str:
        """A digest of everything that the features follow from, wherever the weights lie."""
        views = self.views if self.views > 2 else self.views == 2  # once it was yes or no
        nodes = [each.number for each in self._tapped[self.size].nodes.values()]
        form = json.dumps([self.name, self.size, self.taps, views, *nodes]).encode()
        extra = {"form": np.frombuffer(form, dtype=np.uint8)}
        numbers = {"mean": self.mean, "deviation": self.deviation}
        return fingerprint({**self.weights_state(), **numbers, **extra})

    @property
    def has_nodes(self) -> bool:
        """Whether there are random nodes at every place of the network's outputs."""
        return len(self._tapped[self.size].nodes) > 0

    def _features(self, X: Array) -> Array:
        """Return signed roots of the pooled outputs, averaged over the views."""
        xp = namespace(X)
        rows = self.batch_size if device_of(X) == CPU else self.gpu_batch_size
        parts = []
        for size, run in self._runtimes.items():
            number = self._n_views(size)
            step = max(1, int(rows * min(1, (USUAL_SIZE / size) ** 2)) // number)
            means = []
            for start in range(0, max(1, len(X)), step):
                v = self._answers(X[start : start + step], size, number, run)
                root = xp.sign(v) * xp.sqrt(xp.abs(v))
                means.append(
                    xp.mean(xp.reshape(root, (len(v) // number, number, v.shape[1])), axis=1)
                )
            parts.append(xp.concat(means))
        return xp.concat(parts, axis=1)

    def _answers(self, X: Array, size: int, number: int, run: Run) -> Array:
        """Return the pooled outputs for the views of each image in turn.

        On a CPU the network normalises bytes itself, where the result is the same to the last bit.
        Other images are normalised a few at a time, when the network asks for them. They stay in
        the processor's cache then, which takes a fraction of the time.
        """
        whole = X.shape[1:] == (3, self.size, self.size) and size == self.size and number <= 2
        if whole and self._run_bytes and device_of(X) == CPU and X.dtype == np.uint8:
            return self._run_bytes(in_turn(views(X, number)))
        if device_of(X) != CPU or len(X) <= 1:
            return run(in_turn(views(self.normalised(X, size), number)))
        few = max(number, n_threads())  # crops are resized in threads
        parts = (X[start : start + few] for start in range(0, len(X), few))
        seen = (in_turn(views(self.normalised(part, size), number)) for part in parts)
        return run(chain.from_iterable(seen))

    def _with_bytes(self, run: Run) -> Run | None:
        """Return the network with normalisation before it, if nothing is rounded otherwise then."""
        factor, shift = self._affine(255)
        if not isinstance(run, GraphRuntime) or not is_exact(factor):
            return None
        return run.after(functools.partial(write_normalised, factor=factor, shift=shift))

    def _n_views(self, size: int) -> int:
        return self.views if size == self.size else min(self.views, 2)

    def _affine(self, white: int) -> tuple[np.ndarray, np.ndarray]:
        """Return what normalises pixels: a factor, and what is added after it."""
        return 1 / (white * self.deviation), -self.mean / self.deviation


def _coloured_leaves() -> np.ndarray:
    """Draw dead leaves whose channels each have their own black and white."""
    random = np.random.RandomState(0)
    grey = dead_leaves(N_LEAVES, random)[:, None]
    black, white = random.uniform(size=(2, N_LEAVES, 3, 1, 1))
    return np.asarray(255 * (black + (white - black) * grey), dtype=np.uint8)
