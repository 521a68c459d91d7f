"""Teach a classifier new classes, task after task, without keeping old data."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clsnet.estimator.clsnet import CLSNet, load

__version__ = "0.1.0"
__all__ = ["CLSNet", "__version__", "load"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'clsnet' has no attribute {name!r}")
    from clsnet.estimator import clsnet as model

    return getattr(model, name)
