"""The frozen part g' of Subnetwork I: one file per backbone, all with the same few verbs."""

from __future__ import annotations

import difflib
from pathlib import Path

from clsnet.errors import ClsnetError
from clsnet.extractor.backbones.base import Backbone
from clsnet.extractor.backbones.efficientnet_lite import EfficientNetLite
from clsnet.extractor.backbones.huggingface import HuggingFace
from clsnet.extractor.backbones.identity import Identity
from clsnet.extractor.backbones.network import Network
from clsnet.extractor.backbones.patches import Patches
from clsnet.extractor.backbones.resnet import ResNet
from clsnet.extractor.backbones.timm_models import Timm
from clsnet.extractor.backbones.weights import read_about

BACKBONES: dict[str, type[Backbone]] = {
    kind.name: kind for kind in (Identity, Patches, ResNet, EfficientNetLite, HuggingFace, Timm)
}
ALONE = ("identity", "patches", "efficientnet-lite0")
WITH_SOURCE = {"resnet18": "FILE", "resnet50": "FILE", "hf": "NAME", "timm": "NAME"}
PHOTOGRAPH = 96

__all__ = [
    "BACKBONES",
    "Backbone",
    "EfficientNetLite",
    "HuggingFace",
    "Identity",
    "Network",
    "Patches",
    "ResNet",
    "Timm",
    "auto_backbone",
    "is_photograph",
    "resolve_backbone",
]


def is_photograph(sample_shape: tuple[int, ...]) -> bool:
    """Whether samples of a shape are colour images large enough for a photograph's network.

    Examples
    --------
    >>> is_photograph((3, 224, 224)), is_photograph((3, 32, 32)), is_photograph((224, 224))
    (True, False, False)
    """
    return len(sample_shape) == 3 and sample_shape[0] == 3 and min(sample_shape[1:]) >= PHOTOGRAPH


def auto_backbone(sample_shape: tuple[int, ...]) -> str:
    """Return what ``"auto"`` means for samples of a shape.

    Examples
    --------
    >>> auto_backbone((784,)), auto_backbone((28, 28)), auto_backbone((3, 224, 224))
    ('identity', 'patches', 'efficientnet-lite0')
    """
    if len(sample_shape) == 1:
        return "identity"
    return "efficientnet-lite0" if is_photograph(sample_shape) else "patches"


def resolve_backbone(
    backbone: str | Backbone,
    sample_shape: tuple[int, ...],
    taps: str = "several",
    views: int = 2,
    nodes: int = 0,
) -> Backbone:
    """Return the backbone of that name; ``"auto"`` looks at the shape of a sample.

    Pretrained networks are ``"efficientnet-lite0"``, ``"resnet18:FILE"``, ``"resnet50:FILE"`` or
    just ``"FILE.safetensors"`` (of ``clsnet pretrain``), ``"hf:NAME"`` and ``"timm:NAME"``; they
    are given `taps` and `views`, and a residual network `nodes`.

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
        backbone = auto_backbone(sample_shape)
    kind, _, source = backbone.partition(":")
    if backbone == "identity":
        return Identity()
    if backbone == "patches":
        return Patches()
    if backbone == "efficientnet-lite0":
        return EfficientNetLite(taps, views)
    if kind in WITH_SOURCE and not source:
        raise ClsnetError(f"{kind} needs to know which: {kind}:{WITH_SOURCE[kind]}")
    if kind == "hf":
        return HuggingFace(source, taps, views)
    if kind == "timm":
        return Timm(source, taps, views)
    if kind in WITH_SOURCE:
        held = read_about(Path(source)).network
        if held != kind:
            raise ClsnetError(f"{source} holds weights of {held}, not of {kind}.")
        return ResNet(source, taps, views, nodes)
    if backbone.endswith(".safetensors"):
        return ResNet(backbone, taps, views, nodes)
    near = difflib.get_close_matches(backbone, [*ALONE, *WITH_SOURCE], n=1, cutoff=0.0)
    forms = (*ALONE, "FILE.safetensors", *(f"{name}:{what}" for name, what in WITH_SOURCE.items()))
    known = ", ".join(forms)
    raise ClsnetError(f"unknown backbone {backbone!r}; did you mean {near[0]!r}? ({known})")
