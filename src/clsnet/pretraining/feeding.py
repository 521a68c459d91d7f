"""Images on the device: all of them if they fit, else batch after batch, read ahead."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from clsnet.extras import needed
from clsnet.images import Report
from clsnet.images.ahead import read_ahead

Channels = tuple[float, float, float]

CHUNK = 512
SAMPLE = 10_000


class Feed:
    """Labelled images as square `uint8` batches of three channels on a device.

    Parameters
    ----------
    X
        `uint8` array (n, height, width) or (n, 3, height, width), or images decoded on demand.
    y
        Codes of their classes.
    size
        Side length; of other images, the square in the centre is scaled to it.
    device
        Where batches are wanted.
    room
        Bytes that images may take there; if they need more, they are read anew each time.
    report
        Called as ``report(stage, done, total)`` while images are read.

    Examples
    --------
    >>> X, y = np.zeros((5, 6, 6), np.uint8), np.arange(5)
    >>> feed = Feed(X, y, size=4, device=torch.device("cpu"), room=1000)
    >>> [tuple(images.shape) for images, labels in feed.batches(torch.arange(5), 3)]
    [(3, 3, 4, 4), (2, 3, 4, 4)]
    """

    def __init__(
        self,
        X: Any,
        y: np.ndarray,
        size: int,
        device: torch.device,
        room: int,
        report: Report = lambda stage, done, total: None,
    ) -> None:
        self.X = X
        self.size = size
        self.device = device
        self.labels = torch.from_numpy(np.asarray(y, dtype=np.int64)).to(device)
        self.kept: Tensor | None = None
        if len(X) * 3 * size**2 <= room:
            kept = torch.empty((len(X), 3, size, size), dtype=torch.uint8, device=device)
            chunks = _cut(torch.arange(len(X)), CHUNK)
            for rows, images in zip(chunks, self._read(chunks), strict=True):
                kept[rows[0] : rows[-1] + 1] = images
                report("reading images", int(rows[-1]) + 1, len(X))
            self.kept = kept

    def __len__(self) -> int:
        return len(self.labels)

    def batches(self, order: Tensor, size: int) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield images and labels of these rows, `size` at a time."""
        kept, parts = self.kept, _cut(order, size)
        images = (
            self._read(_cut(order.cpu(), size)) if kept is None else (kept[rows] for rows in parts)
        )
        return zip(images, (self.labels[rows] for rows in parts), strict=True)

    def statistics(self) -> tuple[Channels, Channels]:
        """Return mean and deviation of each channel, as fractions of one, of up to 10,000 images.

        Examples
        --------
        >>> X = np.array([[[0, 255], [255, 0]]], np.uint8)
        >>> Feed(X, np.arange(1), 2, torch.device("cpu"), room=1000).statistics()
        ((0.5, 0.5, 0.5), (0.5, 0.5, 0.5))
        """
        n = min(len(self), SAMPLE)
        rows = torch.arange(n, device=self.device) * len(self) // n
        sums = torch.zeros(2, 3, dtype=torch.int64, device=self.device)
        for images, _ in self.batches(rows, CHUNK):
            wide = images.long()
            sums += torch.stack([wide.sum(dim=(0, 2, 3)), wide.square().sum(dim=(0, 2, 3))])
        mean, square = (sums.cpu().double() / (n * self.size**2)).unbind()
        deviation = (square - mean.square()).clamp(min=1).sqrt()  # one grey level at least
        (r, g, b), (dr, dg, db) = (mean / 255).tolist(), (deviation / 255).tolist()
        return (r, g, b), (dr, dg, db)

    def _read(self, parts: Iterable[Tensor]) -> Iterator[Tensor]:
        """Yield the images of each part, while the next ones are read."""
        for images in read_ahead(self.X, [rows.numpy() for rows in parts]):
            yield self._fitted(torch.from_numpy(np.ascontiguousarray(images)))

    def _fitted(self, images: Tensor) -> Tensor:
        images = images.to(self.device)
        if images.ndim == 3:
            images = images[:, None].expand(-1, 3, -1, -1)
        height, width = images.shape[2:]
        side = min(height, width)
        top, left = (height - side) // 2, (width - side) // 2
        images = images[:, :, top : top + side, left : left + side]
        if side == self.size:
            return images
        scaled = nn.functional.interpolate(
            images.float(), (self.size, self.size), mode="bilinear", antialias=True
        )
        return scaled.round().clamp(0, 255).to(torch.uint8)


def room(device: torch.device) -> int:
    """Return how many bytes of images a device should hold: half of what is free.

    Examples
    --------
    >>> room(torch.device("cpu")) > 0
    True
    """
    if device.type == "cuda":
        return torch.cuda.mem_get_info(device)[0] // 2
    psutil = needed("psutil", "pretraining", "cli")
    return int(psutil.virtual_memory().available) // 2


def _cut(rows: Tensor, size: int) -> list[Tensor]:
    return [rows[start : start + size] for start in range(0, len(rows), size)]
