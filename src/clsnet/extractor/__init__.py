"""Subnetwork I: from samples X to drifted representations Z to representations A."""

from __future__ import annotations

from clsnet.extractor.augmentation import Augmentation
from clsnet.extractor.backbones import Backbone, Identity, Patches
from clsnet.extractor.extractor import Extractor

__all__ = ["Augmentation", "Backbone", "Extractor", "Identity", "Patches"]
