"""The plastic part g'' of Subnetwork I: groups of random nodes, tuned, behind an activation."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from clsnet.arrays.devices import Array, Device, device_of, namespace, to_device, to_numpy
from clsnet.arrays.linalg import contiguous
from clsnet.extractor.admm import lasso_admm
from clsnet.storage.schema import FLAG, Kind, check_arrays, number, one_of, whole

if TYPE_CHECKING:
    from clsnet.extractor.graph import Graph

CONNECTIONS = ("Z", "G", "G*", "A", "Z+G")
ACTIVATIONS = {"none": None, "relu": "Relu", "tanh": "Tanh"}
"""Operators of ONNX."""
ARRAYS = ("weight", "shift", "factor", "tanh_weight", "relu_weight", "relu_bias")
LARGEST = 200  # input of a tanh node on the fitted samples
MOST_NODES = 10**6
MOST_DRAWN = 200_000_000
"""Bytes of random weights that a file may leave out; else a small file could take any memory."""
DRAWN_AT_ONCE = 1 << 22


class Augmentation:
    """Diverse representation augmentation: from Z to ``A = [Z, G*]``.

    Each group maps Z to a few random nodes (Eq. Gi), finds the sparse map that leads from them
    back to Z (Eq. Theta), and transposes it: ``W* = theta'``. A constant column of Z carries the
    biases. As all this is linear, an activation follows.

    Parameters
    ----------
    connection
        The output: ``"Z"``, the random nodes ``"G"``, the tuned nodes ``"G*"``, ``"A"`` (both Z and
        G*), or ``"Z+G"`` (Z and the random nodes, which depend on no task).
    groups, group_size
        Number of groups, n, and nodes in each, k.
    activation
        ``"relu"``, ``"tanh"``, or ``"none"`` for the paper's formula as it is.
    alpha
        Weight of the l1 norm.
    weights
        ``"uniform"`` in [-1, 1], ``"normal"``: two times normal less one, or ``"scaled"``: normal,
        so that standardised inputs give nodes of deviation 0.5, with biases in [-0.5, 0.5].
    constant
        Value of the constant column.
    unit
        Scale the nodes to [0, 1] on the fitted samples, before and after they are tuned.
    tanh_nodes
        Number of further nodes, computed from G* with orthonormal random weights and a tanh.
    relu_nodes
        Number of nodes of a last random layer with a ReLU, which then replaces G*.

    Examples
    --------
    >>> augmentation = Augmentation("A", groups=2, group_size=3)
    >>> Z = np.random.RandomState(0).standard_normal((20, 4))
    >>> augmentation.fit(Z, np.random.RandomState(0))
    >>> augmentation.transform(Z).shape
    (20, 11)
    """

    accepts: ClassVar[Mapping[str, Kind]] = {
        "connection": one_of(*CONNECTIONS),
        "groups": whole(1, MOST_NODES),
        "group_size": whole(1, MOST_NODES),
        "activation": one_of(*ACTIVATIONS),
        "alpha": number(0),
        "weights": one_of("uniform", "normal", "scaled"),
        "constant": number(),
        "unit": FLAG,
        "tanh_nodes": whole(0, MOST_NODES),
        "relu_nodes": whole(0, MOST_NODES),
    }
    """The values that a model's file may hold for each constructor argument."""
    weight: Array
    shift: Array
    factor: Array
    tanh_weight: Array
    relu_weight: Array
    relu_bias: Array

    def __init__(
        self,
        connection: str = "A",
        groups: int = 30,
        group_size: int = 30,
        activation: str = "relu",
        alpha: float = 0.01,
        weights: str = "uniform",
        constant: float = 1.0,
        unit: bool = False,
        tanh_nodes: int = 0,
        relu_nodes: int = 0,
    ) -> None:
        self.connection = connection
        self.groups = groups
        self.group_size = group_size
        self.activation = activation
        self.alpha = alpha
        self.weights = weights
        self.constant = constant
        self.unit = unit
        self.tanh_nodes = tanh_nodes
        self.relu_nodes = relu_nodes
        self.restore({name: np.empty(0, np.float32) for name in ARRAYS})

    @property
    def tuned(self) -> bool:
        """Whether `fit` uses more of Z than its width."""
        return self.connection in ("G*", "A") or self.unit or self.tanh_nodes > 0

    @property
    def drawn(self) -> bool:
        """Whether the weights of the groups are determined by the seed alone."""
        return self.connection in ("G", "Z+G")

    @property
    def left_out(self) -> bool:
        """Whether a file omits the weights of the groups, which are then drawn again."""
        numbers = self.weight.shape[0] * self.groups * self.group_size
        return self.drawn and numbers * self.weight.dtype.itemsize <= MOST_DRAWN

    @property
    def config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def check(self, state: Mapping[str, np.ndarray], width: int | None) -> int | None:
        """Raise `Misfit` unless arrays of a file can be what `fit` finds for Z of a width.

        Returns
        -------
        int or None
            The width of A, if it follows from them.
        """
        if self.connection == "Z":
            check_arrays(state, dict.fromkeys(ARRAYS, (0,)), "augmentation.")
            return None if width is None else width + 1
        nodes = self.groups * self.group_size
        tanh, relu = self.tanh_nodes, self.relu_nodes
        found = state["weight"].shape if "weight" in state else ()
        rows = (found[0] if found else 0) if width is None else width + 1
        drawn = rows * nodes * state["weight"].itemsize if found[1:] == (0,) else 0
        left_out = self.drawn and 0 < drawn <= MOST_DRAWN
        shapes = {
            "weight": (rows, 0 if left_out else nodes),
            "shift": (nodes,),
            "factor": (nodes,),
            "tanh_weight": (nodes + 1, tanh) if tanh else (0,),
            "relu_weight": (nodes + tanh, relu) if relu else (0,),
            "relu_bias": (relu,),
        }
        check_arrays(state, shapes, "augmentation.")
        return (relu or nodes + tanh) + (rows if self.connection in ("A", "Z+G") else 0)

    def state(self) -> dict[str, Array]:
        """Return what `fit` found, by name; arrays that are not needed are empty."""
        return {name: getattr(self, name) for name in ARRAYS}

    def restore(self, state: dict[str, Array]) -> None:
        """Restore what an earlier `fit` found."""
        for name in ARRAYS:
            setattr(self, name, state[name])

    def to(self, device: Device) -> None:
        """Move to a device."""
        self.restore({name: to_device(value, device) for name, value in self.state().items()})

    def fit(self, Z: Array, random: np.random.RandomState) -> None:
        """Draw the random nodes and tune them to Z."""
        Z = self._with_constant(Z)
        self.weight = Z.T[:, :0]
        self.draw(random)
        if not self.drawn:
            self.weight = contiguous(self._tuned(Z))  # as it is saved: products round by layout
        self.shift, self.factor = self._unit_scale(Z @ self.weight)
        nodes = self._groups(Z)
        if self.tanh_nodes:
            raw = self._draw(random, nodes.shape[1] + 1, self.tanh_nodes, np.float64)
            raw = _orthonormal(raw)
            weight = _like(raw, Z)
            largest = namespace(Z).max(self._with_constant(nodes) @ weight)
            self.tanh_weight = weight * (LARGEST / largest)
        if self.relu_nodes:
            shape = (nodes.shape[1] + self.tanh_nodes + 1, self.relu_nodes)
            drawn = _like(random.uniform(-1, 1, shape), Z)
            self.relu_weight, self.relu_bias = drawn[:-1], drawn[-1]

    def draw(self, random: np.random.RandomState) -> None:
        """Draw the weights of the groups, with as many rows as there are now."""
        nodes = self.groups * self.group_size
        dtype = to_numpy(self.weight[:, :0]).dtype
        self.weight = _like(self._draw(random, len(self.weight), nodes, dtype), self.weight)

    def transform(self, Z: Array) -> Array:
        """Return the representations of the chosen connection."""
        xp = namespace(Z)
        if self.connection == "Z":
            return self._with_constant(Z)
        if len(Z) == 1:  # a matrix of one row is multiplied in another order, and rounds otherwise
            return self.transform(xp.concat([Z, Z]))[:1]
        Z = self._with_constant(Z)
        nodes = self._groups(Z)
        if self.tanh_nodes:
            enhanced = xp.tanh(self._with_constant(nodes) @ self.tanh_weight)
            nodes = xp.concat([nodes, enhanced], axis=1)
        if self.relu_nodes:
            nodes = _relu(nodes @ self.relu_weight + self.relu_bias)
        return xp.concat([Z, nodes], axis=1) if self.connection in ("A", "Z+G") else nodes

    def write_graph(self, graph: Graph, Z: str) -> str:
        """Write the map as a part of an ONNX graph, from Z to A, both float32."""

        def constant(array: Array) -> str:
            return graph.constant(to_numpy(array).astype(np.float32))

        pads, value = graph.constant(np.array([0, 0, 0, 1])), constant(np.array(self.constant))
        Z = graph.node("Pad", Z, pads, value)
        if self.connection == "Z":
            return Z
        raw = graph.node("MatMul", Z, constant(self.weight))
        shifted = graph.node("Sub", raw, constant(self.shift))
        nodes = graph.node("Mul", shifted, constant(self.factor))
        if operator := ACTIVATIONS[self.activation]:
            nodes = graph.node(operator, nodes)
        if self.tanh_nodes:
            padded = graph.node("Pad", nodes, pads, value)
            enhanced = graph.node("Tanh", graph.node("MatMul", padded, constant(self.tanh_weight)))
            nodes = graph.node("Concat", nodes, enhanced, axis=1)
        if self.relu_nodes:
            inputs = graph.node("MatMul", nodes, constant(self.relu_weight))
            nodes = graph.node("Relu", graph.node("Add", inputs, constant(self.relu_bias)))
        both = self.connection in ("A", "Z+G")
        return graph.node("Concat", Z, nodes, axis=1) if both else nodes

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.config.items())
        return f"{type(self).__name__}({arguments})"

    def _with_constant(self, Z: Array) -> Array:
        xp = namespace(Z)
        column = xp.full((Z.shape[0], 1), self.constant, dtype=Z.dtype, device=device_of(Z))
        return xp.concat([Z, column], axis=1)

    def _draw(
        self, random: np.random.RandomState, rows: int, columns: int, dtype: npt.DTypeLike
    ) -> np.ndarray:
        """Draw a matrix, some rows at a time: drawn in double precision, it takes more room."""
        drawn = np.empty((rows, columns), dtype)
        step = max(1, DRAWN_AT_ONCE // max(1, columns))
        for start in range(0, rows, step):
            shape = drawn[start : start + step].shape
            if self.weights == "uniform":
                drawn[start : start + step] = random.uniform(-1, 1, shape)
            elif self.weights == "scaled":
                part = 0.5 * random.standard_normal(shape) / np.sqrt(rows - 1)
                drawn[start : start + step] = part
            else:
                drawn[start : start + step] = 2 * random.standard_normal(shape) - 1
        if self.weights == "scaled":
            drawn[-1] = random.uniform(-0.5, 0.5, columns)
        return drawn

    def _tuned(self, Z: Array) -> Array:
        """Return the sparse maps from each group back to Z, transposed."""
        xp = namespace(Z)
        raw = Z @ self.weight
        shift, factor = self._unit_scale(raw)
        nodes = xp.reshape((raw - shift) * factor, (Z.shape[0], self.groups, self.group_size))
        nodes = xp.permute_dims(nodes, (1, 2, 0))
        gram, cross = nodes @ xp.matrix_transpose(nodes), nodes @ Z
        theta = xp.reshape(lasso_admm(gram, cross, self.alpha), (-1, Z.shape[1]))
        return xp.asarray(xp.matrix_transpose(theta), copy=True)

    def _unit_scale(self, nodes: Array) -> tuple[Array, Array]:
        xp = namespace(nodes)
        low, high = xp.min(nodes, axis=0), xp.max(nodes, axis=0)
        one = xp.ones_like(low)
        if not self.unit:
            return xp.zeros_like(low), one
        return low, 1 / xp.where(high > low, high - low, one)

    def _groups(self, Z: Array) -> Array:
        nodes = (Z @ self.weight - self.shift) * self.factor
        if self.activation == "relu":
            return _relu(nodes)
        return namespace(Z).tanh(nodes) if self.activation == "tanh" else nodes


def _relu(nodes: Array) -> Array:
    xp = namespace(nodes)
    return xp.maximum(nodes, xp.zeros((), dtype=nodes.dtype, device=device_of(nodes)))


def _like(drawn: np.ndarray, Z: Array) -> Array:
    """Return random numbers with the type of Z, where Z is."""
    return namespace(Z).asarray(drawn, dtype=Z.dtype, device=device_of(Z))


def _orthonormal(matrix: np.ndarray) -> np.ndarray:
    """Return a matrix of the same shape whose rows (or columns, if fewer) are orthonormal."""
    if matrix.shape[0] <= matrix.shape[1]:
        return np.ascontiguousarray(np.linalg.qr(matrix.T)[0].T)
    return np.linalg.qr(matrix)[0]
