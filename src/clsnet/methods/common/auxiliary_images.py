"""Images of no task, in the shape of a task's samples: synthetic, or from a folder."""

from __future__ import annotations

import functools
import math
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from clsnet.data.folder import image_files
from clsnet.errors import ClsnetError
from clsnet.images import Images, readable
from clsnet.images.dead_leaves import dead_leaves
from clsnet.storage.files import at_home

CHUNK = 1000
GREY = (0.299, 0.587, 0.114)  # shares of red, green and blue in what the eye takes as brightness


@functools.lru_cache(maxsize=1)
def synthetic_images(n: int, shape: tuple[int, ...]) -> Tensor:
    """Return synthetic images with values from 0 to 1, as vectors, for samples of that shape.

    Examples
    --------
    >>> synthetic_images(2, (3, 8, 8)).shape
    torch.Size([2, 192])
    """
    random = np.random.RandomState(0)
    parts = [dead_leaves(min(CHUNK, n - done), random) for done in range(0, n, CHUNK)]
    return fitted(torch.from_numpy(np.concatenate(parts)).float()[:, None], shape)


def check_folder(folder: str) -> None:
    """Raise an error if a folder holds no image that can be read."""
    files = _files(folder)
    if not any(readable(Images([file]))[0].all() for file in files):
        raise ClsnetError(f"auxiliary={folder!r}: none of its {len(files)} images can be read.")


@functools.lru_cache(maxsize=1)
def folder_images(folder: str, n: int, shape: tuple[int, ...]) -> Tensor:
    """Return up to `n` images of a folder as `synthetic_images` does; unreadable ones are left out.

    The centre square of each image is used.
    """
    files = _files(folder)
    rows = np.random.RandomState(0).permutation(len(files))[:n]
    images = Images([files[row] for row in np.sort(rows)], size=max(_size(shape)))
    images = images[readable(images)[0]]
    if not len(images):
        raise ClsnetError(f"auxiliary={folder!r}: none of {len(rows)} images can be read.")
    parts = (np.asarray(images[i : i + CHUNK]) for i in range(0, len(images), CHUNK))
    return torch.cat([fitted(torch.from_numpy(part).float() / 255, shape) for part in parts])


def fitted(images: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Return images (n, channels, height, width) as vectors, for samples of that shape.

    They become grey, unless samples have as many channels.

    Examples
    --------
    >>> fitted(torch.ones(1, 3, 16, 16), (8, 8)).shape
    torch.Size([1, 64])
    """
    size = _size(shape)
    channels = math.prod(shape[:-2]) if len(shape) > 1 else 1
    if images.shape[1] == 3 != channels:
        images = torch.einsum("nchw,c->nhw", images, torch.tensor(GREY))[:, None]
    if images.shape[2:] != size:
        images = nn.functional.interpolate(
            images, size, mode="bilinear", align_corners=False, antialias=True
        )
    return images.expand(len(images), channels, *size).reshape(len(images), -1).clamp(0, 1)


def _size(shape: tuple[int, ...]) -> tuple[int, int]:
    """Return height and width of samples; those of vectors are square, if they can be."""
    if len(shape) > 1:
        return shape[-2], shape[-1]
    side = math.isqrt(shape[0])
    return (side, side) if side**2 == shape[0] else (1, shape[0])


def _files(folder: str) -> list[str]:
    path = at_home(Path(folder))
    if not path.is_dir():
        raise ClsnetError(f"auxiliary={folder!r}: there is no such folder.")
    files = sorted(image_files(path))
    if not files:
        raise ClsnetError(f"auxiliary={folder!r}: the folder holds no image; put some there.")
    return files
