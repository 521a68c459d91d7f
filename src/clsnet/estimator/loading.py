"""Loading models from disk."""

from __future__ import annotations

import os
from collections.abc import Collection

import numpy as np

from clsnet.errors import ClsnetError
from clsnet.estimator.clsnet import CLSNet
from clsnet.extractor.backbones.references import allowed_by, referred
from clsnet.model import Model


def load(
    path: str | os.PathLike[str], device: str = "auto", allow: str | Collection[str] = ()
) -> CLSNet:
    """Load a model that `CLSNet.save` wrote; it predicts the same and can go on learning.

    Parameters
    ----------
    path
        The file.
    device
        The device to load the model to.
    allow
        Networks that the file may refer to, as ``backbone=`` names them, such as ``"hf:NAME"``. A
        file that refers to any other network, except those that come with clsnet, is refused,
        because its author would decide what this machine loads.
    """
    model = Model.load(path, device, allow)
    parameters = {**model.parameters, "device": device}
    named, held = parameters["backbone"], model.extractor.backbone
    if isinstance(named, str) and referred(named) not in allowed_by(allow):
        parameters["backbone"] = held  # else `fit` would look for the network elsewhere
    try:
        estimator = CLSNet(**parameters)
        estimator._validate_params()
    except (TypeError, ValueError) as error:
        raise ClsnetError(f"{path} is damaged or was not written by clsnet: {error}") from None
    estimator.sample_shape_ = model.sample_shape
    estimator.n_features_in_ = model.sample_shape[0]
    if model.feature_names is not None:
        estimator.feature_names_in_ = np.array(model.feature_names, dtype=object)
    estimator.model_ = model
    return estimator
