"""`CLSNet` for scikit-learn: parameters, validation, labels."""

from clsnet.estimator.clsnet import CLSNet, load

__all__ = ["CLSNet", "load"]
