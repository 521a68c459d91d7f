"""The allowed values of each parameter of the estimator, as scikit-learn declares them."""

from __future__ import annotations

import os
from numbers import Integral, Real
from typing import Any

from sklearn.utils._param_validation import Interval, Options, StrOptions

from clsnet.classifier.curvatures import CURVATURES
from clsnet.classifier.curvatures.plasticity import FISHERS
from clsnet.classifier.forgetting import ForgettingPolicy
from clsnet.classifier.sums import PRECISIONS
from clsnet.estimator.presets import PRESETS
from clsnet.extractor import Augmentation, Backbone
from clsnet.extractor.augmentation import ACTIVATIONS, CONNECTIONS
from clsnet.extractor.backbones.tapped import TAPS, TEXTURED
from clsnet.extractor.backbones.views import VIEWS

PARAMETERS: dict[str, list[Any]] = {
    "backbone": [str, Backbone, callable],
    "taps": [StrOptions({"auto", *TAPS, TEXTURED})],
    "views": [StrOptions({"auto"}), Options(Integral, set(VIEWS))],
    "connection": [StrOptions({"auto", *CONNECTIONS})],
    "groups": [Interval(Integral, 1, None, closed="left")],
    "group_size": [Interval(Integral, 1, None, closed="left")],
    "activation": [StrOptions(set(ACTIVATIONS))],
    "alpha": [Interval(Real, 0, None, closed="left")],
    "augmentation": [None, Augmentation],
    "curvature": [StrOptions(set(CURVATURES))],
    "gamma": [Interval(Real, 0, None, closed="left"), "array-like"],
    "terms": ["array-like"],
    "ridge": [StrOptions({"auto", "gcv"}), Interval(Real, 0, None, closed="left")],
    "retain": [StrOptions({"total", "tasks", "classes"})],
    "class_weight": [None, dict, StrOptions({"balanced"})],
    "rank": [Interval(Integral, 1, None, closed="left")],
    "fisher": [StrOptions(set(FISHERS))],
    "phantoms": [Interval(Integral, 1, None, closed="left")],
    "precision": [StrOptions(set(PRECISIONS))],
    "forgetting": [None, str, ForgettingPolicy],
    "short_term": ["array-like"],
    "queue": [None, Interval(Integral, 1, None, closed="left")],
    "cache": [None, str, os.PathLike],
    "preset": [None, StrOptions(set(PRESETS))],
    "device": [str],
    "random_state": ["random_state"],
}
