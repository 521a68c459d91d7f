"""`CLSNet` for scikit-learn: parameters, validation, labels."""

from clsnet.estimator.clsnet import CLSNet
from clsnet.estimator.loading import load
from clsnet.estimator.merging import merge

__all__ = ["CLSNet", "load", "merge"]
