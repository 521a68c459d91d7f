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
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clsnet.errors import ClsnetError
from clsnet.extractor.backbones.base import Backbone
from clsnet.extractor.backbones.columns import Columns
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
    "columns": "columns:Columns",
    "identity": "identity:Identity",
    "patches": "patches:Patches",
    "efficientnet-lite0": "efficientnet_lite:EfficientNetLite",
    "efficientnet-lite1": "efficientnet_lite:EfficientNetLite1",
    "efficientnet-lite2": "efficientnet_lite:EfficientNetLite2",
    "efficientnet-lite0+1+2": "efficientnet_lites:EfficientNetLites",
    "resnet": "resnet:ResNet",
    "hf": "huggingface:HuggingFace",
    "timm": "timm_models:Timm",
    "callable": "callables:CallableBackbone",
}
"""Module and class of each of our own backbones; imported when its name is asked for."""
IN_FILES = ("resnet", "callable")  # names in models' files that nobody asks for
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
    "Columns",
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
    ('columns', 'patches', 'efficientnet-lite0')
    """
    if len(sample_shape) == 1:
        return "columns"
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

    Pretrained networks are ``"efficientnet-lite0"`` to ``"efficientnet-lite2"``, these three side
    by side as ``"efficientnet-lite0+1+2"``, ``"resnet18:FILE"``, ``"resnet50:FILE"`` or just
    ``"FILE.safetensors"`` (of ``clsnet pretrain``), ``"hf:NAME"`` and ``"timm:NAME"``. A backbone
    gets those of `taps`, `views` and `nodes` that its constructor takes. Any function of images,
    such as a ``torch.nn.Module``, is a backbone too.

    Examples
    --------
    >>> type(resolve_backbone("auto", (28, 28))).__name__
    'Patches'
    >>> type(resolve_backbone("auto", (784,))).__name__
    'Columns'
    """
    if isinstance(backbone, Backbone):
        return backbone
    if not isinstance(backbone, str):
        return _wrapped(backbone)
    if backbone == "auto":
        backbone = auto_backbone(sample_shape)
    options = {"taps": taps, "views": views, "nodes": nodes}
    kind, colon, source = backbone.partition(":")
    if kind in SOURCES and not source:
        raise ClsnetError(f"{kind} needs to know which: {kind}:{SOURCES[kind]}")
    if kind in ("resnet18", "resnet50"):
        return _built("resnet", [_weights(kind, source)], options)
    if backbone.endswith(".safetensors"):
        return _built("resnet", [backbone], options)
    takes_none = kind in OURS and kind not in SOURCES
    if kind in IN_FILES or (takes_none and colon) or _found(kind) is None:
        raise _unknown(backbone)
    return _built(kind, [source] if source else [], options)


def _found(name: str) -> Any:
    """Return what is registered by a name, or None."""
    if name in OURS:
        module, _, attribute = OURS[name].partition(":")
        return getattr(importlib.import_module(f"{__name__}.{module}"), attribute)
    for entry in _entry_points().select(name=name):
        try:
            return entry.load()
        except Exception as error:
            raise ClsnetError(f"the backbone {name!r} ({entry.value}) fails: {error}") from None
    return None


def _entry_points() -> Any:
    from importlib import metadata

    return metadata.entry_points(group=GROUP)


def _built(name: str, arguments: list[str], options: dict[str, Any]) -> Backbone:
    """Return a registered backbone with the options that its constructor takes."""
    found = _found(name)
    if not isinstance(found, type):
        if arguments:
            raise ClsnetError(f"the backbone {name!r} is a function and takes no {arguments[0]!r}.")
        return _wrapped(name)
    if not issubclass(found, Backbone):
        raise ClsnetError(f"the backbone {name!r} is a class that is no subclass of Backbone.")
    signature = inspect.signature(found)
    taken = {key: value for key, value in options.items() if key in signature.parameters}
    try:
        signature.bind(*arguments, **taken)
    except TypeError as error:
        raise ClsnetError(f"the backbone {name!r}: {error}.") from None
    return found(*arguments, **taken)


def _wrapped(function: Any) -> Backbone:
    """Return a function, or the one that is registered by a name, as a backbone."""
    if isinstance(function, type) or not (callable(function) or isinstance(function, str)):
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
    alone = [name for name in OURS if name not in SOURCES and name not in IN_FILES]
    others = sorted(_entry_points().names)
    names = [*alone, *others, *SOURCES]
    near = max(names, key=lambda name: difflib.SequenceMatcher(None, name, backbone).ratio())
    forms = (*alone, *others, "FILE.safetensors", *(f"{k}:{v}" for k, v in SOURCES.items()))
    known = ", ".join(forms)
    return ClsnetError(f"unknown backbone {backbone!r}; did you mean {near!r}? ({known})")
