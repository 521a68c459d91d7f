"""Teach a classifier new classes, task after task, without keeping old data."""

from typing import TYPE_CHECKING, Any

from clsnet.errors import ClsnetError

if TYPE_CHECKING:
    from clsnet.estimator import CLSNet, load, merge
    from clsnet.sums import Sums

__version__ = "0.2.0"
__all__ = ["CLSNet", "ClsnetError", "Sums", "__version__", "load", "merge"]


def __getattr__(name: str) -> Any:
    if name == "Sums":
        from clsnet.sums import Sums

        return Sums
    if name not in ("CLSNet", "load", "merge"):
        raise AttributeError(f"module 'clsnet' has no attribute {name!r}")
    from clsnet import estimator  # scikit-learn takes a second to import

    return getattr(estimator, name)
