"""The plastic part g'' of Subnetwork I: groups of random nodes, tuned, behind an activation."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from clsnet.extractor.admm import lasso_admm

CONNECTIONS = ("Z", "G", "G*", "A", "Z+G")
ACTIVATIONS = {"none": nn.Identity(), "relu": nn.ReLU(), "tanh": nn.Tanh()}


class Augmentation(nn.Module):
    """Diverse representation augmentation: from Z to ``A = [Z, G*]``.

    Each group maps Z to a few random nodes (Eq. Gi), finds the sparse map that leads from them
    back to Z (Eq. Theta), and turns it round: ``W* = theta'``. Biases are carried by a constant
    column of Z. As all this is linear, an activation follows.

    Parameters
    ----------
    connection
        What comes out: ``"Z"``, the random nodes ``"G"``, the tuned nodes ``"G*"``, ``"A"``, or
        ``"Z+G"``: Z and the random nodes, which depend on no task.
    groups, group_size
        n groups of k nodes.
    activation
        ``"relu"``, ``"tanh"``, or ``"none"`` for the formula to the letter.
    alpha
        Weight of the l1 norm.
    weights
        ``"uniform"`` in [-1, 1], ``"normal"``: two times normal less one, or ``"scaled"``: normal,
        so that standardised inputs give nodes of deviation 0.5, with biases in [-0.5, 0.5].
    constant
        Value of the constant column.
    unit
        Scale the nodes of the fitted samples to [0, 1], before and after they are tuned.
    tanh_nodes
        Nodes behind G* with orthonormal random weights and a tanh, added to it.
    relu_nodes
        Nodes of a last random layer with a ReLU, which then replaces G*.
    """

    weight: Tensor
    shift: Tensor
    factor: Tensor
    tanh_weight: Tensor
    relu_weight: Tensor
    relu_bias: Tensor

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
        super().__init__()
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
        for name in ("weight", "shift", "factor", "tanh_weight", "relu_weight", "relu_bias"):
            self.register_buffer(name, torch.empty(0))

    @property
    def tuned(self) -> bool:
        """Whether `fit` looks at more of Z than its width."""
        return self.connection in ("G*", "A") or self.unit or self.tanh_nodes > 0

    @property
    def config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def fit(self, Z: Tensor, random: np.random.RandomState) -> None:
        """Draw the random nodes and tune them to Z."""
        Z = self._with_constant(Z)
        weight = self._draw(random, Z.shape[1], self.groups * self.group_size)
        self.weight = torch.tensor(weight, dtype=Z.dtype, device=Z.device)
        if self.connection not in ("G", "Z+G"):
            self.weight = self._tuned(Z)
        self.shift, self.factor = self._unit_scale(Z @ self.weight)
        nodes = self._groups(Z)
        if self.tanh_nodes:
            raw = _orthonormal(self._draw(random, nodes.shape[1] + 1, self.tanh_nodes))
            self.tanh_weight = torch.tensor(raw, dtype=Z.dtype, device=Z.device)
            self.tanh_weight *= 200 / (self._with_constant(nodes) @ self.tanh_weight).max()
        if self.relu_nodes:
            n_inputs = nodes.shape[1] + self.tanh_nodes
            shape = (n_inputs + 1, self.relu_nodes)
            drawn = torch.tensor(random.uniform(-1, 1, shape), dtype=Z.dtype, device=Z.device)
            self.relu_weight, self.relu_bias = drawn[:-1], drawn[-1]

    def forward(self, Z: Tensor) -> Tensor:
        """Return the representations of the chosen connection."""
        Z = self._with_constant(Z)
        if self.connection == "Z":
            return Z
        nodes = self._groups(Z)
        if self.tanh_nodes:
            enhanced = torch.tanh(self._with_constant(nodes) @ self.tanh_weight)
            nodes = torch.cat([nodes, enhanced], dim=1)
        if self.relu_nodes:
            nodes = torch.relu(nodes @ self.relu_weight + self.relu_bias)
        return torch.cat([Z, nodes], dim=1) if self.connection in ("A", "Z+G") else nodes

    def _with_constant(self, Z: Tensor) -> Tensor:
        return nn.functional.pad(Z, (0, 1), value=self.constant)

    def _draw(self, random: np.random.RandomState, rows: int, columns: int) -> np.ndarray:
        if self.weights == "uniform":
            return random.uniform(-1, 1, (rows, columns))
        if self.weights == "scaled":
            drawn = 0.5 * random.standard_normal((rows, columns)) / np.sqrt(rows - 1)
            drawn[-1] = random.uniform(-0.5, 0.5, columns)
            return np.asarray(drawn)
        return 2 * random.standard_normal((rows, columns)) - 1

    def _tuned(self, Z: Tensor) -> Tensor:
        """Turn round the sparse map from each group back to Z."""
        raw = Z @ self.weight
        shift, factor = self._unit_scale(raw)
        nodes = ((raw - shift) * factor).reshape(len(Z), self.groups, self.group_size)
        nodes = nodes.transpose(0, 1)
        gram, cross = nodes.mT @ nodes, nodes.mT @ Z
        return lasso_admm(gram, cross, self.alpha).flatten(0, 1).T.contiguous()

    def _unit_scale(self, nodes: Tensor) -> tuple[Tensor, Tensor]:
        low, high = nodes.amin(dim=0), nodes.amax(dim=0)
        if not self.unit:
            return torch.zeros_like(low), torch.ones_like(low)
        return low, 1 / torch.where(high > low, high - low, 1.0)

    def _groups(self, Z: Tensor) -> Tensor:
        nodes: Tensor = ACTIVATIONS[self.activation]((Z @ self.weight - self.shift) * self.factor)
        return nodes


def _orthonormal(matrix: np.ndarray) -> np.ndarray:
    """Return a matrix of the same shape whose rows (or columns, if fewer) are orthonormal."""
    if matrix.shape[0] <= matrix.shape[1]:
        return np.ascontiguousarray(np.linalg.qr(matrix.T)[0].T)
    return np.linalg.qr(matrix)[0]
