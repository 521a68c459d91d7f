"""The frozen part g' of Subnetwork I: one file per backbone, all with the same few verbs."""

from __future__ import annotations

import difflib

from clsnet.errors import ClsnetError
from clsnet.extractor.backbones.base import Backbone
from clsnet.extractor.backbones.identity import Identity
from clsnet.extractor.backbones.patches import Patches

BACKBONES: dict[str, type[Backbone]] = {"identity": Identity, "patches": Patches}

__all__ = ["BACKBONES", "Backbone", "Identity", "Patches", "resolve_backbone"]


def resolve_backbone(backbone: str | Backbone, sample_shape: tuple[int, ...]) -> Backbone:
    """Return the backbone of that name; ``"auto"`` looks at the shape of a sample.

    Examples
    --------
    >>> type(resolve_backbone("auto", (28, 28))).__name__
    'Patches'
    >>> type(resolve_backbone("auto", (784,))).__name__
    'Identity'
    """
    if isinstance(backbone, Backbone):
        return backbone
    if backbone == "auto":
        backbone = "identity" if len(sample_shape) == 1 else "patches"
    if backbone not in BACKBONES:
        near = difflib.get_close_matches(str(backbone), BACKBONES, n=1, cutoff=0.0)
        known = ", ".join(BACKBONES)
        raise ClsnetError(f"unknown backbone {backbone!r}; did you mean {near[0]!r}? ({known})")
    return BACKBONES[backbone]()
