"""Several looks at one image, whose features are averaged."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor
from torch.nn.functional import interpolate

VIEWS = (1, 2, 8)
CROP = 13 / 16  # of the side length


def views(x: Tensor, number: int) -> Iterator[Tensor]:
    """Yield 1, 2 or 8 views of each image: itself, its mirror image, and crops.

    The crops are the centre, also mirrored, and the four corners, of which those to the right are
    mirrored; they are scaled to the size of the image.

    Examples
    --------
    >>> import torch
    >>> row = torch.arange(4.0).expand(1, 1, 4, 4)
    >>> [view[0, 0, 0].tolist() for view in views(row, 2)]
    [[0.0, 1.0, 2.0, 3.0], [3.0, 2.0, 1.0, 0.0]]
    >>> [tuple(view.shape) for view in views(row, 8)] == [(1, 1, 4, 4)] * 8
    True
    """
    yield x
    if number >= 2:
        yield x.flip(-1)
    if number == 8:
        size = x.shape[-1]
        side = round(CROP * size)
        rest = size - side
        half = rest // 2
        places = ((half, half), (0, 0), (rest, 0), (half, half), (0, rest), (rest, rest))
        for i, (top, left) in enumerate(places):
            crop = x[..., top : top + side, left : left + side]
            crop = interpolate(crop, (size, size), mode="bilinear", antialias=True)
            yield crop if i < 3 else crop.flip(-1)
