"""Images that are small as files and large, slow or endless to decode."""

import io
import struct
import zlib
from collections.abc import Callable

from PIL import ExifTags, Image

LARGE = 9400  # pixels on a side, just below what is refused
WEBP = 7200  # likewise

Bomb = Callable[[int], bytes]


def stored(image: Image.Image, format: str, **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, format, **options)
    return file.getvalue()


def square(mode: str, format: str, **options: object) -> Bomb:
    """An image of one colour."""
    return lambda side: stored(Image.new(mode, (side, side)), format, **options)


def turned(mode: str, format: str, **options: object) -> Bomb:
    """One that has to be turned upright."""
    exif = Image.Exif()
    exif[ExifTags.Base.Orientation] = 6
    return square(mode, format, exif=exif, **options)


def palette(format: str) -> Bomb:
    def made(side: int) -> bytes:
        image = Image.new("P", (side, side))
        image.putpalette([0] * 768)
        transparency = 0 if format == "GIF" else bytes([0, 128, *[255] * 254])
        return stored(image, format, transparency=transparency)

    return made


def png(width: int, height: int, *chunks: tuple[bytes, bytes], bits: int = 8) -> bytes:
    """A file that announces any size and holds little more than these chunks."""
    header = struct.pack(">IIBBBBB", width, height, bits, 2, 0, 0, 0)
    parts = [(b"IHDR", header), *chunks, (b"IDAT", zlib.compress(bytes(100))), (b"IEND", b"")]
    written = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(written)


def png_text(side: int) -> bytes:
    """Texts that decompress to a gigabyte."""
    text = b"key\0\0" + zlib.compress(bytes(side * 1000), 9)
    return png(8, 8, *[(b"zTXt", text)] * 100)


def png_profile(side: int) -> bytes:
    return png(8, 8, (b"iCCP", b"key\0\0" + zlib.compress(bytes(side * 10_000), 9)))


def jpeg_scans(side: int) -> bytes:
    """A progressive file whose last scan comes a thousand times."""
    data = stored(Image.new("L", (side, side)), "JPEG", progressive=True)
    start = data.rindex(b"\xff\xda")
    return data[:start] + data[start:-2] * 1000 + data[-2:]


def gif_comment(side: int) -> bytes:
    """One comment in very many blocks."""
    data = stored(Image.new("P", (8, 8)), "GIF")
    start = data.index(b",", 13 + 3 * 2)
    blocks = (b"\xff" + b"x" * 255) * (20 * side)
    return data[:start] + b"!\xfe" + blocks + b"\0" + data[start:]


def bmp_runs(side: int) -> bytes:
    """Rows that end before they begin."""
    rows = b"\0\0" * side + b"\0\1"
    palette = b"\0\0\0\0" * 256
    size = 14 + 40 + len(palette)
    header = b"BM" + struct.pack("<IHHI", size + len(rows), 0, 0, size)
    info = struct.pack("<IiiHHIIiiII", 40, side, side, 1, 8, 1, len(rows), 1, 1, 256, 0)
    return header + info + palette + rows


def bmp_header(side: int) -> bytes:
    info = struct.pack("<IiiHHIIiiII", 40, 2**31 - 1, 2**31 - 1, 1, 24, 0, 0, 1, 1, 0, 0)
    return b"BM" + struct.pack("<IHHI", 54, 0, 0, 54) + info


def tiff(entries: list[tuple[int, int, int, int]], rest: bytes = b"", after: int = 0) -> bytes:
    """A file of one directory: tag, type, count and value of each entry."""
    directory = struct.pack("<H", len(entries))
    for tag, kind, count, value in sorted(entries):
        directory += struct.pack("<HHII", tag, kind, count, value)
    return b"II*\0" + struct.pack("<I", 8) + directory + struct.pack("<I", after) + rest


def tiff_tile(side: int) -> bytes:
    """Ten pixels in a tile of billions."""
    shape = [(256, 4, 1, 10), (257, 4, 1, 10), (258, 3, 1, 8), (259, 3, 1, 8), (262, 3, 1, 1)]
    tiles = [(322, 4, 1, 60_000), (323, 4, 1, 60_000), (324, 4, 1, 8), (325, 4, 1, 100)]
    return tiff([*shape, *tiles, (277, 3, 1, 1)], zlib.compress(bytes(1000)))


def tiff_tags(side: int) -> bytes:
    """Sixty thousand tags that all refer to the same megabyte."""
    shape = [(256, 4, 1, 10), (257, 4, 1, 10), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1)]
    strips = [(273, 4, 1, 8), (279, 4, 1, 100), (277, 3, 1, 1)]
    others = [(tag, 1, 100 * side, 8) for tag in range(1000, 61_000)]
    return tiff([*shape, *strips, *others], bytes(100 * side))


def tiff_loop(side: int) -> bytes:
    """A directory whose next one is itself."""
    shape = [(256, 4, 1, 10), (257, 4, 1, 10), (258, 3, 1, 8), (259, 3, 1, 1), (262, 3, 1, 1)]
    return tiff([*shape, (273, 4, 1, 8), (279, 4, 1, 100), (277, 3, 1, 1)], bytes(200), after=8)


def exif_loop(side: int) -> bytes:
    """A note of the camera that refers to itself, in a photo."""
    entries = [(0x8769, 4, 1, 8), (0x8825, 4, 1, 8), (0xA005, 4, 1, 8), (0x0112, 3, 1, 6)]
    return stored(Image.new("RGB", (side, 8)), "JPEG", exif=b"Exif\0\0" + tiff(entries))


BOMBS: dict[str, Bomb] = {
    "png-palette": palette("PNG"),
    "png-alpha": turned("RGBA", "PNG"),
    "png-16-bits": turned("I;16", "PNG"),
    "png-greys-alpha": square("LA", "PNG"),
    "png-header": lambda side: png(2**31 - 1, 2**31 - 1),
    "png-wide": lambda side: png(2**31 - 1, 1),
    "png-text": png_text,
    "png-profile": png_profile,
    "jpeg": turned("RGB", "JPEG"),
    "jpeg-progressive": turned("CMYK", "JPEG", progressive=True, subsampling=0),
    "jpeg-scans": jpeg_scans,
    "jpeg-exif": exif_loop,
    "gif-palette": palette("GIF"),
    "gif-comment": gif_comment,
    "bmp": square("1", "BMP"),
    "bmp-runs": bmp_runs,
    "bmp-header": bmp_header,
    "tiff-alpha": turned("RGBA", "TIFF", compression="tiff_lzw"),
    "tiff-cmyk": turned("CMYK", "TIFF", compression="tiff_adobe_deflate"),
    "tiff-fax": square("1", "TIFF", compression="group4"),
    "tiff-32-bits": square("I", "TIFF", compression="tiff_lzw"),
    "tiff-tile": tiff_tile,
    "tiff-tags": tiff_tags,
    "tiff-loop": tiff_loop,
    "webp": lambda side: square("RGB", "WEBP")(min(side, WEBP)),
    "webp-lossless": lambda side: turned("RGBA", "WEBP", lossless=True)(min(side, WEBP)),
}
"""By name, what makes the bomb for a number of pixels on a side."""


def other_formats() -> dict[str, bytes]:
    """Return small images of every other format that Pillow can write; none of them is opened."""
    from clsnet.images.decode import FORMATS

    Image.init()
    found = {}
    for format in sorted(Image.SAVE.keys() & Image.OPEN.keys() - {*FORMATS, "HEIF"}):
        for mode in ("RGB", "L", "1", "F"):
            try:
                found[format.lower()] = stored(Image.new(mode, (64, 64)), format)
                break
            except Exception:
                continue
    return found
