"""`CLSNet` for scikit-learn: parameters, validation, labels."""

from clsnet.estimator.clsnet import CLSNet
from clsnet.estimator.loading import load

__all__ = ["CLSNet", "load"]
