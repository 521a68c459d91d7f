"""Models on disk as estimators."""

from __future__ import annotations

import os

import numpy as np

from clsnet.estimator.clsnet import CLSNet
from clsnet.model import Model


def load(path: str | os.PathLike[str], device: str = "auto") -> CLSNet:
    """Read a model that `CLSNet.save` wrote; it predicts the same, and can go on learning.

    Parameters
    ----------
    path
        The file.
    device
        Where the model is to live now.
    """
    model = Model.load(path, device)
    estimator = CLSNet(**{**model.parameters, "device": device})
    estimator.sample_shape_ = model.sample_shape
    estimator.n_features_in_ = model.sample_shape[0]
    if model.feature_names is not None:
        estimator.feature_names_in_ = np.array(model.feature_names, dtype=object)
    estimator.model_ = model
    return estimator
