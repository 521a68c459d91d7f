"""A model of photos in one file: learn, predict, forget, undo, export; what the commands do."""

from clsnet.photos.about import Info, info
from clsnet.photos.exporting import Exported, export
from clsnet.photos.forgetting import Forgotten, forget
from clsnet.photos.learning import Learned, learn
from clsnet.photos.predicting import Prediction, predict
from clsnet.photos.undoing import Undone, undo

__all__ = [
    "Exported",
    "Forgotten",
    "Info",
    "Learned",
    "Prediction",
    "Undone",
    "export",
    "forget",
    "info",
    "learn",
    "predict",
    "undo",
]
