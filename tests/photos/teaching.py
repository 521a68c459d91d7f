"""Models that learned some photos in some calls."""

import shutil

from clsnet.photos import learn


def taught(place, classes, calls, backbone=None, keep=None):
    """Return a model that learned some photos of some classes, numbers or paths, in each call."""
    for number, call in enumerate(calls):
        for name, photos in call.items():
            (place / f"call-{number}" / name).mkdir(parents=True)
            for i in photos:
                photo = classes / name / f"{i}.png" if isinstance(i, int) else i
                target = place / f"call-{number}" / name / f"{photo.parent.name}-{photo.name}"
                shutil.copy(photo, target)
        if call:
            learn(place / "m.clsnet", place / f"call-{number}", backbone=backbone, keep=keep)
    return place / "m.clsnet"
