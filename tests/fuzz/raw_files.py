"""Camera raw files: small, and large in what they announce."""

import struct

import numpy as np

LENGTHS = {"B": 1, "s": 1, "H": 2, "I": 4, "5": 8, "i": 8}  # of types, by their letters below
TYPES = {"B": 1, "s": 2, "H": 3, "I": 4, "5": 5, "i": 10}
Tags = dict[int, tuple[str, object]]


def dng(pixels: np.ndarray | tuple[int, int], orientation: int = 1, preview: bytes = b"") -> bytes:
    """A raw file of one 16-bit number per pixel (red, green; green, blue).

    Parameters
    ----------
    pixels
        Numbers, or just the height and the width of a file that lacks them.
    orientation
        As cameras note it.
    preview
        The camera's own rendering, a JPEG.
    """
    height, width = pixels if isinstance(pixels, tuple) else pixels.shape
    rows = b"" if isinstance(pixels, tuple) else pixels.astype("<u2").tobytes()
    identity = [1, 1, 0, 1, 0, 1, 0, 1, 1, 1, 0, 1, 0, 1, 0, 1, 1, 1]
    tags: Tags = {
        254: ("I", [0]),
        256: ("I", [width]),
        257: ("I", [height]),
        258: ("H", [16]),
        259: ("H", [1]),
        262: ("H", [32803]),
        271: ("s", b"Maker\0"),
        272: ("s", b"Model\0"),
        273: ("I", rows),
        274: ("H", [orientation]),
        277: ("H", [1]),
        278: ("I", [height]),
        279: ("I", [len(rows)]),
        33421: ("H", [2, 2]),
        33422: ("B", bytes([0, 1, 1, 2])),
        50706: ("B", bytes([1, 4, 0, 0])),
        50708: ("s", b"Maker Model\0"),
        50717: ("I", [65535]),
        50721: ("i", identity),
        50728: ("5", [1, 1, 1, 1, 1, 1]),
        50778: ("H", [21]),
    }
    second: Tags = {
        254: ("I", [1]),
        256: ("I", [width]),
        257: ("I", [height]),
        258: ("H", [8, 8, 8]),
        259: ("H", [6]),
        262: ("H", [6]),
        277: ("H", [3]),
        513: ("I", preview),
        514: ("I", [len(preview)]),
    }
    return _tiff([tags, second] if preview else [tags])


def _tiff(directories: list[Tags]) -> bytes:
    """Write directories; long values, and what offsets refer to, follow each of them."""
    file = b"II*\0" + struct.pack("<I", 8)
    for number, tags in enumerate(directories):
        start = len(file) + 2 + 12 * len(tags) + 4
        entries, rest = b"", b""
        for tag, (kind, values) in sorted(tags.items()):
            if kind == "I" and isinstance(values, bytes):  # an offset to these bytes
                entries += struct.pack("<HHII", tag, 4, 1, start + len(rest))
                rest += values + bytes(len(values) % 2)
                continue
            letter = {"5": "I", "i": "i"}.get(kind, kind)
            data = (
                values
                if isinstance(values, bytes)
                else struct.pack(f"<{len(values)}{letter}", *values)
            )
            count = len(data) // LENGTHS[kind]
            entries += struct.pack("<HHI", tag, TYPES[kind], count)
            if len(data) <= 4:
                entries += data.ljust(4, b"\0")
            else:
                entries += struct.pack("<I", start + len(rest))
                rest += data + bytes(len(data) % 2)
        last = number == len(directories) - 1
        after = 0 if last else start + len(rest)
        file += struct.pack("<H", len(tags)) + entries + struct.pack("<I", after) + rest
    return file
