"""What every backbone can do."""

from __future__ import annotations

import abc
import inspect
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn


class Backbone(nn.Module, abc.ABC):
    """A fixed map from samples to representations Z.

    Constructor arguments are kept as attributes of the same name, so that a backbone can be
    written down as `config`; whatever `fit` finds is a buffer, so that it can be saved. `fit` sees
    training samples of the first task without labels, once. After that the map is a function of
    one sample.
    """

    name: ClassVar[str]
    dtype: ClassVar[torch.dtype] = torch.float32
    batch_size: ClassVar[int] = 1024
    gpu_batch_size: ClassVar[int] = 4096
    sees_task: ClassVar[bool] = True
    """Whether `fit` looks at more of the samples than their shape."""

    @property
    def config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    @abc.abstractmethod
    def fit(self, X: np.ndarray, random: np.random.RandomState) -> None:
        """Fix the map, given samples without labels."""

    def as_input(self, X: np.ndarray) -> Tensor:
        """Return a copy of the samples as the tensor that `forward` takes."""
        return torch.from_numpy(np.array(X, dtype=str(self.dtype).removeprefix("torch.")))

    def settle(self) -> None:
        """Compute from now on in the way that is fastest for many samples, be they many or few."""

    @abc.abstractmethod
    def forward(self, X: Tensor) -> Tensor:
        """Map samples to Z, one row per sample."""

    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self.config.items())
        return f"{type(self).__name__}({arguments})"
