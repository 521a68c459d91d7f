"""Images: read lazily from disk, decoded ahead of use, or synthetic."""

import numpy as np

from clsnet.images.lazy import Images, readable
from clsnet.images.progress import Report

Samples = np.ndarray | Images
"""Samples in memory, or images on disk."""

__all__ = ["Images", "Report", "Samples", "readable"]
