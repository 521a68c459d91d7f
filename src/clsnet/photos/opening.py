"""The model that photos are learned with: that of a file, or a new one."""

from __future__ import annotations

import copy
from collections.abc import Collection
from pathlib import Path

import numpy as np

from clsnet.errors import ClsnetError
from clsnet.extractor import Augmentation, Backbone, Extractor, Identity
from clsnet.extractor.backbones import resolve_backbone
from clsnet.extractor.backbones.efficientnet_lite import EfficientNetLite
from clsnet.extractor.backbones.network import Network
from clsnet.extractor.backbones.tapped import TEXTURED
from clsnet.model import Model
from clsnet.photos.predicting import of_photos
from clsnet.photos.presets import PRESETS, called
from clsnet.storage.files import at_home

TAPS = "last"  # 1,280 features: what is kept of a class of 50 photos fits in half a megabyte
PHOTOGRAPH = (3, 224, 224)
SIZE = 64  # for backbones that take any
SEED = int(np.random.RandomState(0).randint(2**31))  # that of ``CLSNet(random_state=0)``


def opened(
    path: Path, backbone: str | Backbone | None, keep: str | None, allow: Collection[str]
) -> Model:
    """Return the model, or a new one whose extractor will be fitted to the first photos."""
    if path.exists():
        named = _absolute(backbone) if backbone else ""
        model = of_photos(path, [*allow, named] if isinstance(named, str) else allow)
        retain = model.classifier.rule.retain
        if backbone is not None and not _same(backbone, model):
            raise ClsnetError(
                f"{path} learned with {called(model.parameters['backbone'])}, so it cannot go on "
                f"with {called(backbone)}; omit --preset and --backbone, or start another model."
            )
        if keep not in (None, retain):
            raise ClsnetError(
                f"{path} was made with --keep {retain}, so it cannot go on with --keep "
                f"{keep}; omit --keep, or start another model."
            )
        return model
    return blank_model(backbone, keep)


def blank_model(backbone: str | Backbone | None = None, keep: str | None = None) -> Model:
    """Return an empty model that can learn the first photos."""
    name = _absolute(backbone or PRESETS["fast"])
    taps = TEXTURED if name == EfficientNetLite.name else TAPS
    chosen = resolve_backbone(name, PHOTOGRAPH, taps, views=1)
    if isinstance(chosen, Identity):
        raise ClsnetError("the backbone identity is for vectors, not for photos.")
    size = chosen.size if isinstance(chosen, Network) else SIZE
    options = {"backbone": name, "taps": taps, "views": 1, "connection": "Z"}
    extractor = Extractor(copy.deepcopy(chosen), Augmentation("Z"), SEED)
    return Model.blank(extractor, (3, size, size), {**options, "retain": keep or "classes"})


def _same(backbone: str | Backbone, model: Model) -> bool:
    if _absolute(backbone) == model.parameters["backbone"]:
        return True
    mine, named = model.extractor.backbone, model.parameters["backbone"]
    ours = PRESETS.values()
    if backbone in ours and (named in ours or not isinstance(mine, Network)):
        return False  # even if that network is not installed
    alike = {k: v for k, v in mine.config.items() if k in ("taps", "views", "nodes")}
    other = resolve_backbone(backbone, model.sample_shape, **alike)
    if isinstance(mine, Network) and isinstance(other, Network):
        return mine.fingerprint == other.fingerprint
    return repr(mine) == repr(other)


def _absolute(backbone: str | Backbone) -> str | Backbone:
    """Return a backbone's name with the whole path of its file, if it has one."""
    if isinstance(backbone, Backbone) or not backbone.endswith(".safetensors"):
        return backbone
    kind, colon, file = backbone.rpartition(":")
    return f"{kind}{colon}{at_home(file).resolve()}"
