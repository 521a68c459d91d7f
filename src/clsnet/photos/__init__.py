"""A model of photos in one file: learn, predict, forget, undo, export; what the commands do."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clsnet.photos.about import Info, info
    from clsnet.photos.exporting import Exported, export
    from clsnet.photos.forgetting import Forgotten, forget
    from clsnet.photos.learning import Learned, learn
    from clsnet.photos.predicting import Prediction, predict
    from clsnet.photos.undoing import Undone, undo

PLACES = {
    "about": ("Info", "info"),
    "exporting": ("Exported", "export"),
    "forgetting": ("Forgotten", "forget"),
    "learning": ("Learned", "learn"),
    "predicting": ("Prediction", "predict"),
    "undoing": ("Undone", "undo"),
}
"""Names by module; each is imported when it is first used, so that a command starts quickly."""

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


def __getattr__(name: str) -> Any:
    for module, names in PLACES.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
