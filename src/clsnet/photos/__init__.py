"""A model of photos in one file: learn, predict, correct and so on; what the commands do."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from clsnet.photos.about import Info, info
    from clsnet.photos.correcting import Corrected, correct
    from clsnet.photos.exporting import Exported, export
    from clsnet.photos.forgetting import Forgotten, forget
    from clsnet.photos.learning import Learned, learn
    from clsnet.photos.merging import Merged, merge
    from clsnet.photos.predicting import Prediction, predict
    from clsnet.photos.sorting import Sorted, sort
    from clsnet.photos.testing import Tested, test
    from clsnet.photos.undoing import Undone, undo
    from clsnet.photos.unsorting import Unsorted, unsort

PLACES = {
    "about": ("Info", "info"),
    "correcting": ("Corrected", "correct"),
    "exporting": ("Exported", "export"),
    "forgetting": ("Forgotten", "forget"),
    "learning": ("Learned", "learn"),
    "merging": ("Merged", "merge"),
    "predicting": ("Prediction", "predict"),
    "sorting": ("Sorted", "sort"),
    "testing": ("Tested", "test"),
    "undoing": ("Undone", "undo"),
    "unsorting": ("Unsorted", "unsort"),
}
"""Names by module; each is imported when it is first used, so that a command starts quickly."""

__all__ = [
    "Corrected",
    "Exported",
    "Forgotten",
    "Info",
    "Learned",
    "Merged",
    "Prediction",
    "Sorted",
    "Tested",
    "Undone",
    "Unsorted",
    "correct",
    "export",
    "forget",
    "info",
    "learn",
    "merge",
    "predict",
    "sort",
    "test",
    "undo",
    "unsort",
]


def __getattr__(name: str) -> Any:
    for module, names in PLACES.items():
        if name in names:
            return getattr(importlib.import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
