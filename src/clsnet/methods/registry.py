"""Every method that can be benchmarked, by name."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from typing import Any, Protocol

import numpy as np

from clsnet import methods as baselines
from clsnet.errors import ClsnetError


class Learner(Protocol):
    """What the protocol asks of a method."""

    def partial_fit(self, X: np.ndarray, y: np.ndarray) -> Any:
        """Learn one task, whose data will not be seen again."""

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the class of each sample, which may come from any task so far."""

    def memory(self) -> Any:
        """Return what is kept, as ``model_mb`` and ``exemplar_mb``."""


@dataclass(frozen=True)
class Method:
    """A method of the benchmark.

    Parameters
    ----------
    name
        As on the command line.
    build
        Makes a fresh learner from a seed, a preset (or None) and options.
    family
        Group in tables.
    keeps
        What it stores of old tasks.
    reference
        Where it was published.
    paper
        Its name in the paper's tables, if it is there.
    grid
        Values that ``--tune`` tries, by option.
    presets, backbones
        Whether ``--preset``, and ``--backbone`` with ``--cache``, mean anything to it.
    """

    name: str
    build: Callable[..., Learner]
    family: str
    keeps: str
    reference: str
    paper: str | None = None
    grid: dict[str, list[Any]] = field(default_factory=dict)
    presets: bool = False
    backbones: bool = False


PAPER = "Li & Zeng, Complementary Learning Subnetworks for Parameter-Efficient CIL"


def _clsnet(seed: int, preset: str | None = None, **options: Any) -> Learner:
    from clsnet.estimator.clsnet import CLSNet

    return CLSNet(random_state=seed, preset=preset, **options)


def _clsnet_paper(seed: int, preset: str | None = None, **options: Any) -> Learner:
    from clsnet.estimator.clsnet import CLSNet

    return CLSNet.paper(random_state=seed, **options)


def _clsnet_demo(seed: int, preset: str | None = None, **options: Any) -> Learner:
    from clsnet.estimator.clsnet import CLSNet

    return CLSNet.demo(random_state=seed, **options)


CLSNET = Method(
    name="clsnet",
    build=_clsnet,
    family="ours",
    keeps="one Gram matrix and one sum per class",
    reference=f"{PAPER}; full curvature",
    paper="CLSNet",
    presets=True,
    backbones=True,
)
CLSNET_PAPER = Method(
    name="clsnet-paper",
    build=_clsnet_paper,
    family="ours",
    keeps="declarative parameters and a diagonal per class",
    reference=f"{PAPER}; the text",
    paper="CLSNet",
    backbones=True,
    grid={"gamma": [1e4, 1e6, 1e7, 3e7, 1e8], "ridge": [2.0**-30, 0.03, 0.3, 1.0]},
)
CLSNET_DEMO = Method(
    name="clsnet-demo",
    build=_clsnet_demo,
    family="ours",
    keeps="declarative parameters and a diagonal per class",
    reference=f"{PAPER}; the released code",
    paper="CLSNet",
    grid={"ridge": [1e-8, 1e-4, 1e-3, 1e-2, 1e-1]},
)


def methods() -> dict[str, Method]:
    """Return all methods, those of other packages too (entry point group ``clsnet.methods``).

    Examples
    --------
    >>> methods()["clsnet-paper"].family
    'ours'
    """
    own = {method.name: method for method in (CLSNET, CLSNET_PAPER, CLSNET_DEMO)}
    for found in pkgutil.iter_modules(baselines.__path__, f"{baselines.__name__}."):
        method = getattr(importlib.import_module(found.name), "METHOD", None)
        if method is not None:
            own[method.name] = method
    for point in entry_points(group="clsnet.methods"):
        if point.name not in own:
            own[point.name] = point.load()
    return own


def check_options(method: Method, options: dict[str, Any]) -> None:
    """Refuse an option that the method does not have.

    Examples
    --------
    >>> check_options(get_method("ewc"), {"strenght": 10})
    Traceback (most recent call last):
        ...
    clsnet.errors.ClsnetError: the method 'ewc' has no option 'strenght'
    """
    for name, value in options.items():
        try:
            method.build(0, **{name: value})
        except TypeError as error:
            if f"unexpected keyword argument '{name}'" not in str(error):
                raise ClsnetError(
                    f"the method {method.name!r}: {name}={value!r}: {error}"
                ) from None
            raise ClsnetError(f"the method {method.name!r} has no option {name!r}") from None


def get_method(name: str) -> Method:
    """Return the method of that name, or name the nearest one."""
    known = methods()
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1, cutoff=0.0)[0]
        raise ClsnetError(f"unknown method {name!r}; did you mean {near!r}? See: clsnet methods")
    return known[name]
