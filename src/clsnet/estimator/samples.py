"""Validation of samples: dense or sparse vectors, images in memory or on disk, of one shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import validate_data

from clsnet.errors import ClsnetError
from clsnet.estimator.sparse import SparseRows
from clsnet.images import Images

if TYPE_CHECKING:
    from clsnet.estimator.clsnet import CLSNet


def as_samples(model: CLSNet, data: Any, reset: bool) -> Any:
    """Return samples in a form that a model can take, or raise an error.

    Parameters
    ----------
    model
        The model, which knows the shape of its samples unless they are its first.
    data
        An array, anything that scikit-learn converts to one, a sparse matrix, or `Images`.
    reset
        Whether they are the model's first samples, which set the shape.
    """
    if isinstance(data, Images):
        if not len(data):
            raise ClsnetError("found 0 samples: give at least one image.")
        X: Any = data
        model.n_features_in_ = X.shape[1]
    else:
        X = validate_data(
            model,
            data,
            reset=reset,
            accept_sparse="csr",
            dtype="numeric",
            allow_nd=True,
            ensure_all_finite=False,
        )
        X = SparseRows(X) if issparse(X) else X
        if not (X.finite if isinstance(X, SparseRows) else np.isfinite(X).all()):
            raise ClsnetError("the samples hold NaN or infinite values; remove or replace them.")
    if reset:
        model.sample_shape_ = X.shape[1:]
    elif X.shape[1:] != model.sample_shape_:
        raise ClsnetError(
            f"samples of shape {X.shape[1:]} given, but this model learned from samples of "
            f"shape {model.sample_shape_}."
        )
    return X
