"""How a photo becomes the image that a network sees, as a part of an ONNX graph.

It does what `clsnet.images.decode` does after decoding: transparency on white, and a bicubic,
antialiased square from the centre, its width first, rounded after each direction.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from clsnet.extractor.graph import Graph

A = -0.5  # of the cubic
UNIT = 2.0**22  # parts of one that Pillow's weights have
FLOAT, BYTE, DOUBLE = 1, 2, 11  # numbers of types of ONNX
Constant = Callable[[float], str]

PYTHON = """\
import numpy as np
from PIL import Image, ImageOps


def prepared(path, size):
    with Image.open(path) as file:
        file.draft(None, (2 * size, 2 * size))  # a large JPEG at a half of its size or less
        image = ImageOps.exif_transpose(file)  # the first frame, upright
    if image.mode.startswith("I"):  # greys of 16 bits
        pixels = (np.asarray(image, np.uint32) + 128) // 257
    else:  # palettes, CMYK and others
        pixels = np.asarray(image.convert("RGBA" if image.has_transparency_data else "RGB"))
    return pixels.astype(np.uint8).reshape(1, image.height, image.width, -1)
"""
"""Decoding with Pillow; the file's metadata hold it."""
PREPARE = (
    "Decode the first frame of the photo and turn it upright, as its EXIF orientation says. A "
    "JPEG whose smaller side is at least four times {size} pixels is decoded at a half, a quarter "
    "or an eighth of its size, the smallest that leaves twice {size}; otherwise pixels differ a "
    "little. Give the result as it is, as bytes of shape (n, height, width, channels): grey, grey "
    "and alpha, RGB, or RGBA with colours that are not multiplied by alpha. Palettes, CMYK and "
    "others become RGB or RGBA. A value v of 16 bits becomes (v + 128) // 257. The file itself "
    "lays what is transparent on white, scales the smaller side to {size} pixels (bicubic, "
    "antialiased) and cuts the square in the centre out. Photos of one size can be given "
    "together."
)


def write_preparation(graph: Graph, images: str, size: int) -> str:
    """Write what happens to decoded photos before the network.

    Parameters
    ----------
    graph
        Gets the nodes.
    images
        Value of the photos as bytes, (n, height, width, 1 to 4 channels).
    size
        Side length of the square that is wanted.

    Returns
    -------
    str
        Value of the images as bytes, (n, 3, size, size).
    """
    height, width, channels = (
        graph.node("Shape", images, start=axis, end=axis + 1) for axis in (1, 2, 3)
    )
    x = _on_white(graph, images, channels)
    smaller = graph.node("Cast", graph.node("Min", height, width), to=DOUBLE)
    columns = graph.node("Transpose", _scaling(graph, width, smaller, size), perm=[1, 0])
    x = _bytes(graph, graph.node("MatMul", x, columns), UNIT)
    x = _bytes(graph, graph.node("MatMul", _scaling(graph, height, smaller, size), x), UNIT)
    x = graph.node("Cast", x, to=BYTE)
    return graph.node("Reshape", x, graph.constant(np.array([-1, 3, size, size])))


def _on_white(graph: Graph, images: str, channels: str) -> str:
    """Write red, green and blue over white, (n, 3, height, width), of 1 to 4 channels."""
    one, two, opaque = (graph.constant(np.array([n])) for n in (1, 2, 255))
    with_alpha = graph.node("Sub", one, graph.node("Mod", channels, two))  # 1 if they are even
    last = graph.node("Sub", channels, one)
    most = graph.node("Sub", last, with_alpha)
    planes = graph.node("Transpose", images, perm=[0, 3, 1, 2])
    which = graph.node("Min", graph.constant(np.arange(3)), most)
    colours = graph.node("Cast", graph.node("Gather", planes, which, axis=1), to=FLOAT)
    alpha = graph.node("Cast", graph.node("Gather", planes, last, axis=1), to=FLOAT)
    used = graph.node("Cast", with_alpha, to=FLOAT)
    white = graph.node("Cast", opaque, to=FLOAT)
    clear = graph.node("Mul", graph.node("Sub", white, alpha), used)  # 0 where there is no alpha
    covered = graph.node("Mul", colours, graph.node("Sub", white, clear))
    mixed = graph.node("Add", covered, graph.node("Mul", clear, white))
    return _bytes(graph, graph.node("Cast", mixed, to=DOUBLE), 255)


def _scaling(graph: Graph, length: str, smaller: str, size: int) -> str:
    """Write the matrix (size, length) that scales a row of pixels and cuts its centre out.

    Its numbers are whole: so many parts of `UNIT`.
    """

    def number(value: float) -> str:
        return graph.constant(np.array([value], np.float64))

    half, two = number(0.5), number(2.0)
    scale = graph.node("Div", smaller, number(size))
    whole = graph.node("Cast", length, to=DOUBLE)
    start = graph.node("Mul", graph.node("Sub", whole, smaller), half)
    steps = graph.constant((np.arange(size) + 0.5)[:, None])
    centres = graph.node("Add", graph.node("Mul", steps, scale), start)
    zero, one = (graph.constant(np.array(n)) for n in (0, 1))
    scalar = graph.node("Squeeze", length, graph.constant(np.array([0])))
    pixels = graph.node("Cast", graph.node("Range", zero, scalar, one), to=DOUBLE)
    away = graph.node("Sub", graph.node("Add", pixels, half), centres)
    away = graph.node("Div", graph.node("Abs", away), graph.node("Max", scale, number(1.0)))
    t = graph.node("Min", away, two)
    weights = graph.node("Add", _inner(graph, t, number), _outer(graph, t, number))
    total = graph.node("ReduceSum", weights, graph.constant(np.array([1])), keepdims=1)
    shares = graph.node("Mul", graph.node("Div", weights, total), number(UNIT))
    return graph.node("Floor", graph.node("Add", shares, half))


def _inner(graph: Graph, t: str, number: Constant) -> str:
    """Write ``(a + 2) t^3 - (a + 3) t^2 + 1`` where t < 1, else 0."""
    near = graph.node("Cast", graph.node("Less", t, number(1.0)), to=DOUBLE)
    y = graph.node("Sub", graph.node("Mul", t, number(A + 2)), number(A + 3))
    y = graph.node("Add", graph.node("Mul", graph.node("Mul", y, t), t), number(1.0))
    return graph.node("Mul", y, near)


def _outer(graph: Graph, t: str, number: Constant) -> str:
    """Write ``a t^3 - 5 a t^2 + 8 a t - 4 a`` where t >= 1, else 0; it is 0 at 2."""
    far = graph.node("Cast", graph.node("GreaterOrEqual", t, number(1.0)), to=DOUBLE)
    y = graph.node("Sub", t, number(5.0))
    y = graph.node("Add", graph.node("Mul", y, t), number(8.0))
    y = graph.node("Sub", graph.node("Mul", y, t), number(4.0))
    return graph.node("Mul", graph.node("Mul", y, number(A)), far)


def _bytes(graph: Graph, x: str, unit: float) -> str:
    """Write the nearest bytes to whole numbers of parts; halves go up, as Pillow rounds."""
    parts = graph.node("Div", x, graph.constant(np.float64(unit)))
    whole = graph.node("Floor", graph.node("Add", parts, graph.constant(np.float64(0.5))))
    return graph.node("Clip", whole, *(graph.constant(np.float64(limit)) for limit in (0, 255)))
