"""File name endings of photos, and what has to be installed to read them."""

from __future__ import annotations

import functools
import importlib.util

PLAIN = (".jpg", ".jpeg", ".jpe", ".jfif", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff")
HEIF = (".heic", ".heif", ".hif")
AVIF = (".avif",)
RAW = (
    *(".3fr", ".arw", ".cr2", ".cr3", ".crw", ".dcr", ".dng", ".erf", ".fff", ".iiq", ".kdc"),
    *(".mef", ".mos", ".mrw", ".nef", ".nrw", ".orf", ".pef", ".raf", ".raw", ".rw2", ".rwl"),
    *(".sr2", ".srf", ".srw", ".x3f"),
)
PHOTOS = (*PLAIN, *HEIF, *AVIF, *RAW)
"""All that can be read, some of it with the extra `formats`."""
OTHERS = (
    *(".apng", ".bpg", ".eps", ".exr", ".hdr", ".ico", ".j2k", ".jp2", ".jpf", ".jpx", ".jxl"),
    *(".jxr", ".mpo", ".pcx", ".pgm", ".pnm", ".ppm", ".psb", ".psd", ".qoi", ".svg", ".tga"),
    *(".wdp", ".xcf"),
)
"""Images that nothing here reads."""
INSTALL = "pip install 'clsnet[formats]'"


def ending(name: str) -> str:
    """Return the ending of a file's name, in lower case.

    Examples
    --------
    >>> ending("IMG_1.CR2"), ending("README"), ending(".hidden")
    ('.cr2', '', '')
    """
    stem, dot, rest = name.rpartition(".")
    return f".{rest.lower()}" if dot and stem else ""


def kind_of(name: str) -> str:
    """Return the reader that a name needs: "", "heif", "avif" or "raw".

    Examples
    --------
    >>> kind_of("a.JPG"), kind_of("a.heic"), kind_of("a.nef")
    ('', 'heif', 'raw')
    """
    end = ending(name)
    kinds = {"heif": HEIF, "avif": AVIF, "raw": RAW}
    return next((kind for kind, endings in kinds.items() if end in endings), "")


@functools.cache
def missing(kind: str) -> str:
    """Return the package that a reader needs and that is not installed, if any.

    Examples
    --------
    >>> missing("")
    ''
    """
    if kind == "avif":
        from PIL import features

        return "" if "avif" in features.modules and features.check("avif") else "Pillow 11.3"
    package = {"heif": "pillow_heif", "raw": "rawpy"}.get(kind, "")
    return package if package and importlib.util.find_spec(package) is None else ""
