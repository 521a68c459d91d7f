"""The base class of backbones."""

from __future__ import annotations

import abc
import inspect
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from clsnet.arrays.devices import CPU, Array, Device, to_device
from clsnet.errors import ClsnetError
from clsnet.storage.schema import Kind, Misfit

if TYPE_CHECKING:
    from clsnet.extractor.graph import Graph


class Backbone(abc.ABC):
    """Base class of backbones: a fixed map from samples to representations Z.

    Constructor arguments are attributes of the same name, so that `config` describes a backbone.
    `fit` is called once, with training samples of the first task and without labels; the arrays
    that it computes are the attributes listed in `fitted`, so that they can be saved. From then on
    the map is a function of one sample.
    """

    name: ClassVar[str]
    accepts: ClassVar[Mapping[str, Kind]] = MappingProxyType({})
    """The values that a model's file may hold for each constructor argument."""
    fitted: tuple[str, ...] = ()
    """Names of the arrays that `fit` finds."""
    batch_size: ClassVar[int] = 1024
    gpu_batch_size: ClassVar[int] = 4096
    sees_task: bool = True
    """Whether `fit` uses more of the samples than their shape and type."""
    standardised: ClassVar[bool] = False
    """Whether the classifier should standardise the columns of Z, using its sums."""
    default_connection: ClassVar[str] = "Z+G"
    """The default connection: Z, or Z and random nodes, which need no data."""
    device: Device = CPU
    held: bool = False
    """Whether a saved model holds the weights of a frozen network."""
    form: Mapping[str, Any] = MappingProxyType({})
    """JSON-compatible values from which, with weights and `config`, a frozen network is built."""

    @property
    def fingerprint(self) -> str:
        """A digest of all that determines the features of a frozen network; otherwise empty."""
        return ""

    @property
    def referred_mb(self) -> float:
        """Size of a frozen network that a saved model refers to and does not hold."""
        return 0.0

    def state_to_hold(self) -> dict[str, Array]:
        """Return the weights of a frozen network by name, for a model that holds them."""
        return {}

    @classmethod
    def restored(
        cls, config: Mapping[str, Any], form: Mapping[str, Any], state: Mapping[str, Array]
    ) -> Self:
        """Return a frozen network from its `config`, its `form` and the weights of a model."""
        raise ClsnetError(f"the backbone {cls.name} is not one that a model holds.")

    @property
    def config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def inputs(self, width: int) -> Array | None:
        """Return which of the first columns of Z each of the next ones, random nodes, sees.

        None where no column is a node. Only asked of backbones that are `standardised`.

        Parameters
        ----------
        width
            Number of columns of Z.
        """
        return None

    @abc.abstractmethod
    def fit(self, X: np.ndarray, random: np.random.RandomState) -> None:
        """Fix the map, given samples without labels."""

    @abc.abstractmethod
    def as_input(self, X: np.ndarray) -> np.ndarray:
        """Return the samples, checked, in the form that `transform` takes."""

    @abc.abstractmethod
    def transform(self, X: Array) -> Array:
        """Map samples to Z, one row per sample, on the device where they are."""

    def write_graph(self, graph: Graph, images: str) -> str:
        """Write the map as a part of an ONNX graph.

        Parameters
        ----------
        graph
            Gets the nodes.
        images
            Value of the samples, (n, channels, height, width), bytes.

        Returns
        -------
        str
            Value of Z, float32.
        """
        raise ClsnetError(f"the backbone {self} cannot be exported.")

    def check(self, state: Mapping[str, np.ndarray], sample_shape: tuple[int, ...]) -> int | None:
        """Raise `Misfit` unless arrays of a file can be what `fit` finds for such samples.

        Returns
        -------
        int or None
            The width of Z, if it follows from them.
        """
        if state.keys() != set(self.fitted):
            raise Misfit(f"the arrays of the backbone {self.name} are not {', '.join(self.fitted)}")
        return None

    def state(self) -> dict[str, Array]:
        """Return what `fit` found, by name."""
        return {name: getattr(self, name) for name in self.fitted}

    def restore(self, state: dict[str, Array]) -> None:
        """Restore what an earlier `fit` found."""
        for name in self.fitted:
            setattr(self, name, state[name])

    def to(self, device: Device) -> None:
        """Move to a device."""
        self.device = device
        self.restore({name: to_device(value, device) for name, value in self.state().items()})

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.config.items())
        return f"{type(self).__name__}({arguments})"
