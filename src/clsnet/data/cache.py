"""Where fetched files are kept."""

import os
from pathlib import Path

from clsnet.storage.files import at_home


def cache_folder(name: str) -> Path:
    """Return a data set's folder in $CLSNET_DATA or, if that is not set, in the user's cache."""
    if chosen := os.environ.get("CLSNET_DATA"):
        return at_home(chosen) / name
    caches = os.environ.get("XDG_CACHE_HOME")
    return (Path(caches) if caches else Path.home() / ".cache") / "clsnet" / name
