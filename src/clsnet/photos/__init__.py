"""A model of photos in one file: learn folders, predict, forget, undo; what the commands do."""

from clsnet.photos.about import Info, info
from clsnet.photos.forgetting import Forgotten, forget
from clsnet.photos.learning import Learned, learn
from clsnet.photos.predicting import Prediction, predict
from clsnet.photos.undoing import Undone, undo

__all__ = [
    "Forgotten",
    "Info",
    "Learned",
    "Prediction",
    "Undone",
    "forget",
    "info",
    "learn",
    "predict",
    "undo",
]
