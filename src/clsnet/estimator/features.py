"""The extractor that a model's parameters ask for, and how it is fixed."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_random_state

from clsnet.arrays.devices import resolve_device
from clsnet.errors import ClsnetError
from clsnet.estimator.presets import PLACED, PRESETS, TAPS, VIEWS, network_augmentation
from clsnet.estimator.samples import as_samples
from clsnet.extractor import Augmentation, Extractor
from clsnet.extractor.backbones import Columns, is_photograph, resolve_backbone
from clsnet.extractor.backbones.network import Network
from clsnet.model import Model
from clsnet.sums import Source

if TYPE_CHECKING:
    from clsnet.estimator.clsnet import CLSNet

# Parameters of a model, besides its preset and seed, that decide what its classifier sees.
FEATURES = (
    *("backbone", "taps", "views", "connection", "groups", "group_size", "activation", "alpha"),
    *("augmentation", "cache"),
)


def new_extractor(model: CLSNet, sample_shape: tuple[int, ...]) -> Extractor:
    """Return an unfitted extractor for samples of a shape.

    Examples
    --------
    >>> from clsnet import CLSNet
    >>> type(new_extractor(CLSNet(), (3, 64, 64)).backbone).__name__
    'Patches'
    """
    preset = PRESETS[model.preset] if model.preset and len(sample_shape) > 1 else {}
    chosen = model.backbone
    if chosen == "auto" and len(sample_shape) == 1:
        n_nodes = model.groups * model.group_size
        chosen = Columns(n_nodes) if keeps_sums(model) else "identity"
    if chosen == "auto" and not is_photograph(sample_shape):
        chosen = preset.get("backbone", "auto")
    size = model.preset or "fast"
    taps = TAPS[size] if model.taps == "auto" else model.taps
    views = VIEWS[size] if model.views == "auto" else int(model.views)
    backbone = resolve_backbone(chosen, sample_shape, taps, views, PLACED[size])
    connection = model.connection
    if connection == "auto":
        connection = preset.get("connection", backbone.default_connection)
    augmentation = model.augmentation or Augmentation(
        connection, model.groups, model.group_size, model.activation, model.alpha
    )
    if model.connection == "auto" and not model.augmentation and isinstance(backbone, Network):
        augmentation = network_augmentation(size, backbone)
    return Extractor(
        copy.deepcopy(backbone),
        copy.deepcopy(augmentation),
        seed=int(check_random_state(model.random_state).randint(2**31)),
        cache=None if model.cache is None else Path(model.cache),
    )


def fix_extractor(model: CLSNet, sample: Any) -> None:
    """Fix the extractor of a model, fitted to samples if it has to be."""
    extractor = new_extractor(model, sample.shape[1:])
    extractor.fit(sample, resolve_device(model.device))
    model.model_ = Model.blank(extractor, model.sample_shape_, model.get_params(deep=False))


def fix_extractor_without_samples(model: CLSNet, source: Source) -> None:
    """Fix the extractor of a model for samples of which only the shape is known."""
    if new_extractor(model, source.sample_shape).sees_task:
        raise ClsnetError(
            "this model's extractor has to be fitted to samples: call prepare(X) with those "
            "that the extractor of these sums was fitted to."
        )
    fix_extractor(model, as_samples(model, np.zeros((1, *source.sample_shape)), reset=True))
    if source.feature_names is not None:
        model.feature_names_in_ = np.array(source.feature_names, dtype=object)


def keeps_sums(model: CLSNet) -> bool:
    """Whether a model's weights are computed from sums, with which columns can be standardised.

    Examples
    --------
    >>> from clsnet import CLSNet
    >>> keeps_sums(CLSNet()), keeps_sums(CLSNet.paper())
    (True, False)
    """
    return model.curvature == "full" and 3 not in model.terms
