"""Pretraining, from images to weights."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path

import torch
from torch import Tensor

from clsnet.arrays.devices import resolve_device
from clsnet.data import Report
from clsnet.errors import ClsnetError
from clsnet.extractor.backbones.weights import About
from clsnet.methods.common.residual import Residual
from clsnet.pretraining.augment import TURNS
from clsnet.pretraining.base import Base
from clsnet.pretraining.checkpoint import Checkpoint
from clsnet.pretraining.feeding import Feed, room
from clsnet.pretraining.loop import Status, train
from clsnet.pretraining.objective import Objective
from clsnet.pretraining.simsiam import SimSiam
from clsnet.pretraining.supervised import Supervised

BACKBONES = {"resnet18": 18, "resnet50": 50}
OBJECTIVES: dict[str, type[Objective]] = {"supervised": Supervised, "simsiam": SimSiam}
LARGEST_SMALL = 64


def pretrain(
    data: Base,
    backbone: str = "resnet18",
    objective: str = "supervised",
    *,
    epochs: int | None = None,
    seed: int = 0,
    size: int | None = None,
    device: str = "auto",
    checkpoint: Path | None = None,
    report: Report = lambda stage, done, total: None,
    show: Callable[[Status], None] = lambda status: None,
) -> tuple[About, dict[str, Tensor]]:
    """Train a residual network from scratch; return what it is, and its weights.

    Parameters
    ----------
    data
        Images of base classes.
    backbone
        ``"resnet18"`` or ``"resnet50"``.
    objective
        ``"supervised"``: name the classes. ``"simsiam"``: no labels.
    epochs
        Number of epochs; by default the objective's own.
    seed
        Of the weights and everything random.
    size
        Side length of images; that of the data if not given. Up to 64, the network gets the first
        layers for small images.
    device
        ``"auto"``, ``"cpu"``, ``"cuda"``.
    checkpoint
        File for a checkpoint, from which the same call resumes. It is not removed.
    report
        Called as ``report(stage, done, total)`` while images are read.
    show
        Called after each batch and each epoch.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.zeros((8, 8, 8), np.uint8), np.arange(8) % 2
    >>> about, state = pretrain(Base("Black", X, y, X, y, ("a", "b")), epochs=1, device="cpu")
    >>> about.network, about.size, about.accuracy, state["fc.weight"].shape
    ('resnet18', 8, 0.5, torch.Size([8, 512]))
    """
    depth, made = known_backbone(backbone), known_objective(objective)
    if len(data.class_names) < 2 or len(data.X) < 2:
        raise ClsnetError(f"{data.name} has only one base class: pretraining needs two or more.")
    where = torch.device(resolve_device(device))
    size = size or min(data.X.shape[-2:])
    epochs = epochs or made.epochs
    small = size <= LARGEST_SMALL
    try:
        feed = Feed(data.X, data.y, size, where, room(where), report)
        test = Feed(data.X_test, data.y_test, size, where, room(where), report)
        mean, deviation = feed.statistics()
        about = About(
            backbone, small, size, mean, deviation, objective, data.name, data.class_names
        )
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            network = Residual(depth, small, n_classes=TURNS * len(data.class_names))
            trained = made(network, mean, deviation)
            trained.to(where).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
            kept = None
            if checkpoint:
                chosen = {"backbone": backbone, "objective": objective, "size": size}
                chosen |= {"epochs": epochs, "seed": seed, "images": len(feed)}
                kept = Checkpoint(checkpoint, {**chosen, **dataclasses.asdict(about)})
            accuracy = train(trained, feed, test, epochs, seed, kept, show)
    except torch.cuda.OutOfMemoryError:
        raise ClsnetError(
            f"{where} has too little memory for {backbone} at {size} pixels; choose a smaller size."
        ) from None
    return dataclasses.replace(about, accuracy=accuracy), network.state_dict()


def known_backbone(name: str) -> int:
    """Return the depth of a backbone, or name the nearest.

    Examples
    --------
    >>> known_backbone("resnet50")
    50
    """
    if name not in BACKBONES:
        raise _unknown("backbone", name, list(BACKBONES))
    return BACKBONES[name]


def known_objective(name: str) -> type[Objective]:
    """Return an objective, or name the nearest.

    Examples
    --------
    >>> known_objective("simsiam").epochs
    200
    """
    if name not in OBJECTIVES:
        raise _unknown("objective", name, list(OBJECTIVES))
    return OBJECTIVES[name]


def _unknown(what: str, name: str, known: list[str]) -> ClsnetError:
    [nearest] = get_close_matches(name, known, n=1, cutoff=0.0)
    return ClsnetError(
        f"unknown {what} {name!r}: the nearest is {nearest!r} (known: {', '.join(known)})"
    )
