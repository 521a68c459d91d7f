"""The frozen part g' of Subnetwork I: one file per backbone, found by name.

A backbone of another package is found by its entry point in the group ``clsnet.backbones``::

    [project.entry-points."clsnet.backbones"]
    mine = "package.module:Mine"

It is a subclass of `Backbone` whose `name` is that of the entry point, or a plain function of a
batch of images. ``"mine:SOURCE"`` gives SOURCE to its constructor as the first argument.
"""

from __future__ import annotations

import difflib
import importlib
import inspect
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clsnet.errors import ClsnetError
from clsnet.extractor.backbones.base import Backbone
from clsnet.extractor.backbones.identity import Identity
from clsnet.extractor.backbones.patches import Patches

if TYPE_CHECKING:
    from clsnet.extractor.backbones.callables import CallableBackbone
    from clsnet.extractor.backbones.efficientnet_lite import EfficientNetLite
    from clsnet.extractor.backbones.huggingface import HuggingFace
    from clsnet.extractor.backbones.network import Network
    from clsnet.extractor.backbones.resnet import ResNet
    from clsnet.extractor.backbones.timm_models import Timm

GROUP = "clsnet.backbones"
PHOTOGRAPH = 96
OURS = {
    "identity": "identity:Identity",
    "patches": "patches:Patches",
    "efficientnet-lite0": "efficientnet_lite:EfficientNetLite0",
    "efficientnet-lite1": "efficientnet_lite:EfficientNetLite1",
    "efficientnet-lite2": "efficientnet_lite:EfficientNetLite2",
    "resnet": "resnet:ResNet",
    "hf": "huggingface:HuggingFace",
    "timm": "timm_models:Timm",
}
"""Module and class of each of our own backbones; imported when its name is asked for."""
SOURCES = {"resnet18": "FILE", "resnet50": "FILE", "hf": "NAME", "timm": "NAME"}
LAZY = {
    "CallableBackbone": "callables",
    "EfficientNetLite": "efficientnet_lite",
    "HuggingFace": "huggingface",
    "Network": "network",
    "ResNet": "resnet",
    "Timm": "timm_models",
}

__all__ = [
    "Backbone",
    "CallableBackbone",
    "EfficientNetLite",
    "HuggingFace",
    "Identity",
    "Network",
    "Patches",
    "ResNet",
    "Timm",
    "auto_backbone",
    "backbone_class",
    "is_photograph",
    "is_registered",
    "resolve_backbone",
]


def __getattr__(name: str) -> Any:
    if name not in LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{LAZY[name]}"), name)


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


def backbone_class(name: str) -> type[Backbone]:
    """Return the class that a model's file calls by this name.

    Examples
    --------
    >>> backbone_class("patches").__name__
    'Patches'
    """
    found = _found(name)
    if not (isinstance(found, type) and issubclass(found, Backbone)):
        raise ClsnetError(
            f"the backbone {name!r} is not installed here: it is no class of an entry point in "
            f"the group {GROUP!r}."
        )
    return found


def is_registered(backbone: Backbone) -> bool:
    """Whether a model's file can name a backbone: its class is found by its name.

    Examples
    --------
    >>> class Mine(Identity):
    ...     name = "mine"
    >>> is_registered(Identity()), is_registered(Mine())
    (True, False)
    """
    return _found(backbone.name) is type(backbone)


def resolve_backbone(
    backbone: str | Backbone | Callable[[Any], Any],
    sample_shape: tuple[int, ...],
    taps: str = "several",
    views: int = 2,
    nodes: int = 0,
) -> Backbone:
    """Return the backbone of that name; ``"auto"`` looks at the shape of a sample.

    Pretrained networks are ``"efficientnet-lite0"`` to ``"efficientnet-lite2"``,
    ``"resnet18:FILE"``, ``"resnet50:FILE"`` or just ``"FILE.safetensors"`` (of ``clsnet
    pretrain``), ``"hf:NAME"`` and ``"timm:NAME"``. A backbone gets those of `taps`, `views` and
    `nodes` that its constructor takes. Any function of images, such as a ``torch.nn.Module``, is
    a backbone too.

    Examples
    --------
    >>> type(resolve_backbone("auto", (28, 28))).__name__
    'Patches'
    >>> type(resolve_backbone("auto", (784,))).__name__
    'Identity'
    """
    if isinstance(backbone, Backbone):
        return backbone
    if not isinstance(backbone, str):
        return _wrapped(backbone)
    if backbone == "auto":
        backbone = auto_backbone(sample_shape)
    options = {"taps": taps, "views": views, "nodes": nodes}
    if backbone.endswith(".safetensors") and ":" not in backbone:
        return _built(_found("resnet"), [backbone], options)
    kind, _, source = backbone.partition(":")
    if kind in SOURCES and not source:
        raise ClsnetError(f"{kind} needs to know which: {kind}:{SOURCES[kind]}")
    if kind.startswith("resnet") and kind in SOURCES:
        return _built(_found("resnet"), [_weights(kind, source)], options)
    ours = kind in OURS and (kind in SOURCES) == bool(source) and kind != "resnet"
    found = _found(kind) if ours or kind not in OURS else None
    if found is None:
        raise _unknown(backbone)
    return _built(found, [source] if source else [], options)


def _found(name: str) -> Any:
    """Return what is registered by a name, or None."""
    if name in OURS:
        module, _, attribute = OURS[name].partition(":")
        return getattr(importlib.import_module(f"{__name__}.{module}"), attribute)
    for entry in metadata.entry_points(group=GROUP, name=name):
        try:
            return entry.load()
        except Exception as error:
            raise ClsnetError(f"the backbone {name!r} ({entry.value}) fails: {error}") from None
    return None


def _built(found: Any, arguments: list[str], options: dict[str, Any]) -> Backbone:
    """Return a backbone of a registered class or function, with the options that it takes."""
    if isinstance(found, type) and issubclass(found, Backbone):
        taken = inspect.signature(found).parameters
        return found(*arguments, **{name: options[name] for name in options if name in taken})
    return _wrapped(found)


def _wrapped(function: Any) -> Backbone:
    if not callable(function) or isinstance(function, type):
        raise ClsnetError(
            f"a backbone is a name, a Backbone or a function of images, not {function!r}."
        )
    from clsnet.extractor.backbones.callables import CallableBackbone

    return CallableBackbone(function)


def _weights(network: str, source: str) -> str:
    """Return the path of weights, having made sure that they are of that network."""
    from clsnet.extractor.backbones.weights import read_about

    held = read_about(Path(source)).network
    if held != network:
        raise ClsnetError(f"{source} holds weights of {held}, not of {network}.")
    return source


def _unknown(backbone: str) -> ClsnetError:
    alone = [name for name in OURS if name not in SOURCES and name != "resnet"]
    others = sorted(metadata.entry_points(group=GROUP).names)
    names = [*alone, *others, *SOURCES]
    near = difflib.get_close_matches(backbone, names, n=1, cutoff=0.0)
    forms = (*alone, *others, "FILE.safetensors", *(f"{k}:{v}" for k, v in SOURCES.items()))
    known = ", ".join(forms)
    return ClsnetError(f"unknown backbone {backbone!r}; did you mean {near[0]!r}? ({known})")
