"""One encoded image, as a photo of any common kind, to one array of colours."""

from __future__ import annotations

import importlib
import io
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from clsnet.errors import ClsnetError

if TYPE_CHECKING:
    from PIL import Image

# A closed list: some of Pillow's formats start other programs.
ENDINGS = (".jpg", ".jpeg", ".png", ".webp", ".gif", ".bmp", ".tif", ".tiff")
FORMATS = ("JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF")
HEIF_BRANDS = (b"heic", b"heix", b"hevc", b"heim", b"heis", b"mif1", b"msf1")


class Unreadable(ClsnetError):
    """Why something is not an image."""


def decode(encoded: bytes, size: int | None = None) -> npt.NDArray[np.uint8]:
    """Decode an image into red, green and blue, of shape (3, height, width).

    It is turned upright as its camera noted, what is transparent is laid on white, and of
    several frames the first is taken.

    Parameters
    ----------
    encoded
        A file's contents.
    size
        Scale the smaller side to this and cut the square in the centre out; None changes nothing.

    Raises
    ------
    Unreadable
        If these bytes are not a whole image, or one of absurdly many pixels.

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
    try:
        from PIL import Image, ImageOps, UnidentifiedImageError
    except ImportError:
        raise ClsnetError("reading images needs Pillow: pip install 'clsnet[vision]'") from None
    try:
        formats = (*FORMATS, *_heif(encoded))
        with Image.open(io.BytesIO(encoded), formats=formats) as image:
            if image.width * image.height > (Image.MAX_IMAGE_PIXELS or np.inf):
                raise Unreadable(f"{image.width} x {image.height} pixels are too many")
            ImageOps.exif_transpose(image, in_place=True)
            rgb = _rgb(image)
            if size is not None:
                rgb = ImageOps.fit(rgb, (size, size), Image.Resampling.BICUBIC)
            return np.asarray(rgb).transpose(2, 0, 1)
    except Unreadable:
        raise
    except UnidentifiedImageError:
        raise Unreadable("not an image of a known format") from None
    except Exception as error:  # Pillow raises nearly everything when its input is broken
        raise Unreadable(" ".join(str(error).split()) or type(error).__name__) from error


def _heif(encoded: bytes) -> tuple[str, ...]:
    """Return the name of the format that phones use, if these bytes have it."""
    if encoded[4:8] != b"ftyp" or encoded[8:12] not in HEIF_BRANDS:
        return ()
    try:
        pillow_heif = importlib.import_module("pillow_heif")
    except ImportError:
        raise Unreadable("HEIC needs pillow-heif (pip install 'clsnet[heic]')") from None
    pillow_heif.register_heif_opener()
    return ("HEIF",)


def _rgb(image: Image.Image) -> Image.Image:
    from PIL import Image

    if image.mode == "F":
        raise Unreadable("its values are floats, of no known range")
    if image.mode.startswith("I"):
        image = Image.fromarray(_eight_bits(np.asarray(image)))
    if image.has_transparency_data:
        colours = image.convert("RGBA")
        white = Image.new("RGBA", colours.size, "white")
        return Image.alpha_composite(white, colours).convert("RGB")
    return image if image.mode == "RGB" else image.convert("RGB")


def _eight_bits(greys: npt.NDArray[np.integer]) -> npt.NDArray[np.uint8]:
    if greys.min() < 0 or greys.max() > 0xFFFF:
        raise Unreadable("its greys have more than 16 bits")
    return ((greys.astype(np.uint32) + 128) // 257).astype(np.uint8)
