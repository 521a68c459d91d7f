"""Decoding one image of any common format to an RGB array."""

from __future__ import annotations

import functools
import io
import math
import time
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from clsnet.errors import ClsnetError
from clsnet.images import budget
from clsnet.images.foreign import Unreadable, foreign_kind, read_foreign

if TYPE_CHECKING:
    from PIL import Image

__all__ = ["FORMATS", "MOST_BYTES", "Unreadable", "decode", "decode_opened"]

# A closed list: some of Pillow's formats start other programs.
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")
MOST_BYTES = budget.ENCODED  # of a file
BYTES_PER_PIXEL = 12  # while an image is decoded, turned and converted
COPIES_BYTES_PER_PIXEL = 20  # where the decoder keeps three copies
SECONDS = 5.0  # of a processor, for one image
MOST_SCANS = 100  # of a JPEG, each over all of its pixels; cameras write up to ten
SCAN = np.frombuffer(b"\xff\xda", np.uint16)[0]  # what a scan of a JPEG begins with
READ_AGAIN = 8  # times that a decoder may read its file, some of it more than once
STRIP = 2**20  # pixels that are converted at a time
MILLION = 10**6
BLOCK = 2**26  # bytes; what is larger than 2**25 goes back to the system when it is freed
ENOUGH = 2  # times the size that is asked for, at which a large JPEG is decoded
WITH_COPIES = ("WEBP", "HEIF", "AVIF")


def decode(encoded: bytes, size: int | None = None, name: str = "") -> npt.NDArray[np.uint8]:
    """Decode an image into red, green and blue, of shape (3, height, width).

    It is turned upright by its EXIF orientation, transparency is laid on white, and the first of
    several frames is used.

    Parameters
    ----------
    encoded
        A file's contents.
    size
        Scale the smaller side to this length and crop the centre square; None changes nothing. A
        JPEG whose smaller side is at least four times as long is decoded at a half, a quarter or an
        eighth of its size, which is faster; at least twice the length is left.
    name
        The file's name; its ending distinguishes most camera raw files from TIFF.

    Raises
    ------
    Unreadable
        If these bytes are not a complete image, or have far too many pixels.

    Examples
    --------
    >>> import io
    >>> from PIL import Image
    >>> from clsnet.images.decode import decode
    >>> file = io.BytesIO()
    >>> Image.new("RGB", (6, 4), "red").save(file, "PNG")
    >>> decode(file.getvalue()).shape, decode(file.getvalue(), size=2)[:, 0, 0].tolist()
    ((3, 4, 6), [255, 0, 0])
    """
    kind = foreign_kind(encoded, name)
    return read_foreign(kind, encoded, size) if kind else decode_opened(encoded, FORMATS, size)


def decode_opened(
    encoded: bytes, formats: tuple[str, ...], size: int | None
) -> npt.NDArray[np.uint8]:
    """Decode an image of one of these formats of Pillow, in this process."""
    try:
        from PIL import Image, ImageOps, UnidentifiedImageError
    except ImportError:
        raise ClsnetError("reading images needs Pillow: pip install 'clsnet[vision]'") from None
    _allocate_large_blocks()
    try:
        with (
            Image.open(_Patient(encoded), formats=formats) as image,
            budget.decoded(_memory(image, encoded)),
        ):
            if size is not None:
                image.draft(None, (ENOUGH * size, ENOUGH * size))
            ImageOps.exif_transpose(image, in_place=True)
            rgb = _rgb(image)
            if size is not None:
                rgb = _square(rgb, size)
            return np.asarray(rgb).transpose(2, 0, 1)
    except Unreadable:
        raise
    except UnidentifiedImageError:
        raise Unreadable("not an image of a known format") from None
    except Image.DecompressionBombError:
        most = budget.DECODED // BYTES_PER_PIXEL // MILLION
        raise Unreadable(f"it has too many pixels; at most {most} million are read") from None
    except Exception as error:  # Pillow raises nearly everything when its input is broken
        raise Unreadable(" ".join(str(error).split()) or type(error).__name__) from error


@functools.cache
def _allocate_large_blocks() -> None:
    """Let Pillow take memory in blocks that the threads' heaps do not keep after use."""
    from PIL import Image

    core = vars(Image)["core"]
    if core.get_block_size() < BLOCK:
        core.set_block_size(BLOCK)


class _Patient(io.BytesIO):
    """A file that lets itself be read for some time and a few times over, and no longer."""

    def __init__(self, encoded: bytes) -> None:
        super().__init__(encoded)
        self.left = READ_AGAIN * len(encoded) + STRIP
        self.end = time.thread_time() + SECONDS

    def read(self, size: int | None = -1, /) -> bytes:
        if time.thread_time() > self.end:
            raise Unreadable(f"it takes more than {SECONDS:.0f} seconds")
        found = super().read(size)
        self.left -= len(found)
        if self.left < 0:
            raise Unreadable("it refers to the same bytes too often")
        return found


def _memory(image: Image.Image, encoded: bytes) -> int:
    """Return the bytes that an image takes while it is decoded, or refuse it by its header."""
    parts = [image.size]
    tags = getattr(image, "tag_v2", {})
    if image.format == "TIFF" and 322 in tags and 323 in tags:
        parts.append((tags[322], tags[323]))  # width and height of a tile
    copies = image.format in WITH_COPIES
    needed = max(map(math.prod, parts)) * (COPIES_BYTES_PER_PIXEL if copies else BYTES_PER_PIXEL)
    if needed > budget.DECODED:
        width, height = max(parts, key=math.prod)
        most = budget.DECODED * math.prod((width, height)) // needed // MILLION
        raise Unreadable(f"{width} x {height} pixels are too many; at most {most} million are read")
    if image.format == "JPEG" and _n_scans(encoded) > MOST_SCANS:
        raise Unreadable(f"it has more than {MOST_SCANS} scans")
    return needed


def _n_scans(encoded: bytes) -> int:
    """Return how often the mark of a scan is there, in a fraction of the time of `bytes.count`."""
    pairs = (np.frombuffer(encoded, np.uint16, (len(encoded) - at) // 2, at) for at in (0, 1))
    return sum(int(np.count_nonzero(pair == SCAN)) for pair in pairs)


def _rgb(image: Image.Image) -> Image.Image:
    """Convert an image strip by strip, so that few copies of all pixels are there at a time."""
    from PIL import Image

    if image.mode == "F":
        raise Unreadable("its values are floats of unknown range")
    if image.mode == "RGB" and not image.has_transparency_data:
        return image
    rgb = Image.new("RGB", image.size)
    rows = max(1, STRIP // image.width)
    for top in range(0, image.height, rows):
        box = (0, top, image.width, min(top + rows, image.height))
        rgb.paste(_strip_rgb(image.crop(box)), box)
    return rgb


def _strip_rgb(strip: Image.Image) -> Image.Image:
    from PIL import Image

    if strip.mode.startswith("I"):
        strip = Image.fromarray(_eight_bits(np.asarray(strip)))
    if strip.has_transparency_data:
        colours = strip.convert("RGBA")
        white = Image.new("RGBA", colours.size, "white")
        return Image.alpha_composite(white, colours).convert("RGB")
    return strip if strip.mode == "RGB" else strip.convert("RGB")


def _square(image: Image.Image, size: int) -> Image.Image:
    """Scale the smaller side to this length and crop the centre, as `ImageOps.fit` does.

    The width is scaled first. Pillow 12.2 and newer begin with the height where that is cheaper,
    and what is rounded in between then differs.
    """
    from PIL import Image

    bicubic = Image.Resampling.BICUBIC
    width, height = image.size
    side = min(width, height)
    left, top = (width - side) / 2, (height - side) / 2
    margin = 2 * math.ceil(max(side / size, 1)) + 1  # of rows that reach into the square
    first = max(0, math.floor(top) - margin)
    last = min(height, math.ceil(top + side) + margin)
    if last - first < height:
        image = image.crop((0, first, width, last))  # a box would cost Pillow one more pass
    narrow = image.resize((size, last - first), bicubic, box=(left, 0, left + side, last - first))
    return narrow.resize((size, size), bicubic, box=(0, top - first, size, top - first + side))


def _eight_bits(greys: npt.NDArray[np.integer]) -> npt.NDArray[np.uint8]:
    if greys.min() < 0 or greys.max() > 0xFFFF:
        raise Unreadable("it has more than 16 bits per grey value")
    return ((greys.astype(np.uint32) + 128) // 257).astype(np.uint8)
