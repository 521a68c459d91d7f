"""Any function from images to vectors, used as a backbone."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable
from importlib import metadata
from typing import Any, ClassVar

import numpy as np

from clsnet.arrays.devices import Array, device_of, to_device, to_numpy
from clsnet.errors import ClsnetError
from clsnet.extractor.backbones.base import Backbone

GROUP = "clsnet.backbones"


class CallableBackbone(Backbone):
    """A function that maps a batch of samples to one vector each, used as it is.

    A plain function gets the samples as a NumPy array. A ``torch.nn.Module`` gets a tensor on its
    own device: bytes as fractions of one, and all else in float32. It is put into evaluation mode,
    and no gradients are computed. A saved model can name only a function that is registered by an
    entry point of the group ``clsnet.backbones``.

    Parameters
    ----------
    function
        The function, or the name of its entry point.

    Examples
    --------
    >>> backbone = CallableBackbone(lambda X: X.mean(axis=(2, 3)))
    >>> backbone.transform(np.ones((5, 3, 8, 8))).shape
    (5, 3)
    """

    name = "callable"
    batch_size: ClassVar[int] = 32
    gpu_batch_size: ClassVar[int] = 512
    sees_task = False

    def __init__(self, function: Callable[[Any], Any] | str) -> None:
        self.function = function
        self._call = _registered(function) if isinstance(function, str) else function
        if _is_module(self._call):
            self._call.eval()  # type: ignore[attr-defined]

    @property
    def config(self) -> dict[str, Any]:
        """Constructor arguments, if the function has a name that others can find it by."""
        if not isinstance(self.function, str):
            raise ClsnetError(
                f"a model with the backbone {self} cannot be saved: register the function by an "
                f"entry point of the group {GROUP!r}, and give its name."
            )
        return {"function": self.function}

    def fit(self, X: np.ndarray, random: np.random.RandomState) -> None:
        """Try the function on one sample."""
        self.transform(self.as_input(X[:1]))

    def as_input(self, X: np.ndarray) -> np.ndarray:
        """Return the samples."""
        return X

    def transform(self, X: Array) -> Array:
        """Return what the function answers in float64, one row per sample."""
        found = _in_module(self._call, X) if _is_module(self._call) else self._call(to_numpy(X))
        try:
            Z = np.asarray(to_numpy(found), dtype=np.float64)
        except (TypeError, ValueError):
            raise ClsnetError(f"{self} answers with {type(found).__name__}, no array.") from None
        if Z.ndim != 2 or len(Z) != len(X):
            raise ClsnetError(
                f"{self} answers {len(X)} samples with an array of shape {Z.shape}; "
                f"it must be ({len(X)}, d)."
            )
        if not np.isfinite(Z).all():
            raise ClsnetError(f"{self} answers with numbers that are not finite.")
        return to_device(Z, device_of(X))

    def __repr__(self) -> str:
        if isinstance(self.function, str):
            return f"{type(self).__name__}({self.function!r})"
        named = getattr(self._call, "__qualname__", type(self._call).__name__)
        return f"{type(self).__name__}({named})"

    def __deepcopy__(self, memo: dict[int, Any]) -> CallableBackbone:
        return copy.copy(self)  # the function is frozen, so that copies can share it


def _registered(name: str) -> Callable[[Any], Any]:
    for entry in metadata.entry_points(group=GROUP, name=name):
        try:
            found = entry.load()
        except Exception as error:
            raise ClsnetError(f"the backbone {name!r} ({entry.value}) fails: {error}") from None
        if callable(found):
            return found  # type: ignore[no-any-return]
    raise ClsnetError(
        f"the backbone {name!r} is not installed here: no function has an entry point of that "
        f"name in the group {GROUP!r}."
    )


def _is_module(function: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(function, torch.nn.Module)


def _in_module(module: Any, X: Array) -> Any:
    torch = sys.modules["torch"]
    first = next(module.parameters(), None)
    x = X if isinstance(X, torch.Tensor) else torch.from_numpy(np.array(X))
    x = x.to("cpu" if first is None else first.device)
    x = x.float() / 255 if x.dtype == torch.uint8 else x.float()
    with torch.no_grad():
        return module(x)
