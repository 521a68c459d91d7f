"""The process that reads one HEIC, AVIF or camera raw file, within limits.

``python -m clsnet.images.foreign_child KIND SIZE``: the file comes in by stdin; its pixels, as an
array of NumPy, or the reason why there are none go out by stdout.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import sys
from typing import Any

import numpy as np
import numpy.typing as npt

from clsnet.images import budget
from clsnet.images.decode import Unreadable, decode, decode_opened
from clsnet.images.foreign import REFUSED

SECONDS = 8  # of a processor: large photos of phones take four
MEMORY = budget.DECODED + 2 * budget.ENCODED  # bytes: the image, and two copies of the file
RAW_BYTES_PER_PIXEL = 8  # while it is developed at half its size
SMALLEST_PREVIEW = 480  # pixels; one whose smaller side is shorter is not taken for the photo


def limit() -> None:
    """Let this process end when it takes too much."""
    with contextlib.suppress(ImportError):  # on Windows
        resource = importlib.import_module("resource")
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def heif(encoded: bytes, size: int | None) -> npt.NDArray[np.uint8]:
    """Decode a photo of a phone."""
    pillow_heif = importlib.import_module("pillow_heif")
    pillow_heif.register_heif_opener(decode_threads=1, thumbnails=False)
    return decode_opened(encoded, ("HEIF",), size)


def avif(encoded: bytes, size: int | None) -> npt.NDArray[np.uint8]:
    """Decode an AVIF image."""
    return decode_opened(encoded, ("AVIF",), size)


def raw(encoded: bytes, size: int | None) -> npt.NDArray[np.uint8]:
    """Decode the camera's own rendering in a raw file, or develop it at half its size."""
    rawpy: Any = importlib.import_module("rawpy")
    try:
        with rawpy.RawPy() as photo:
            photo.open_buffer(io.BytesIO(encoded))
            preview = _preview(rawpy, photo, size)
            return _developed(photo, size) if preview is None else preview
    except rawpy.LibRawFileUnsupportedError:  # as is any TIFF under such a name
        return decode(encoded, size)
    except rawpy.LibRawIOError:
        raise Unreadable("it is cut off or damaged") from None
    except rawpy.LibRawError as error:
        raise Unreadable(f"LibRaw says: {_plain(error)}") from None


def _preview(rawpy: Any, photo: Any, size: int | None) -> npt.NDArray[np.uint8] | None:
    try:
        found = photo.extract_thumb()
    except rawpy.LibRawError:
        return None
    if found.format != rawpy.ThumbFormat.JPEG:
        return None
    try:
        if min(_size_of(found.data)) < SMALLEST_PREVIEW:
            return None
        return decode(found.data, size)
    except Unreadable:
        return None


def _developed(photo: Any, size: int | None) -> npt.NDArray[np.uint8]:
    from PIL import Image

    width, height = photo.sizes.raw_width, photo.sizes.raw_height
    if RAW_BYTES_PER_PIXEL * width * height > budget.DECODED:
        raise Unreadable(f"{width} x {height} pixels are too many")
    pixels = photo.postprocess(half_size=True, use_camera_wb=True, output_bps=8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "BMP")
    return decode(file.getvalue(), size)


def _size_of(encoded: bytes) -> tuple[int, int]:
    from PIL import Image

    try:
        with Image.open(io.BytesIO(encoded), formats=["JPEG"]) as image:
            return image.size
    except Exception:
        raise Unreadable("no preview") from None


def _plain(error: Exception) -> str:
    """Return what LibRaw says, which are bytes."""
    said = error.args[0] if error.args else ""
    return said.decode(errors="replace") if isinstance(said, bytes) else str(said)


READERS = {"heif": heif, "avif": avif, "raw": raw}


def main(kind: str, size: int) -> int:
    """Read, write, and return the exit status."""
    limit()
    try:
        pixels = READERS[kind](sys.stdin.buffer.read(), size or None)
    except (Unreadable, MemoryError) as error:
        sys.stdout.buffer.write((str(error) or "it takes too much memory").encode())
        return REFUSED
    np.save(sys.stdout.buffer, pixels)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
