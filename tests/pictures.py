"""Fixtures that make pictures and image files."""

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image


@pytest.fixture
def picture() -> Callable[..., Image.Image]:
    """Makes a picture in colour, another one for every seed."""

    def make(seed: int = 0, width: int = 16, height: int = 16) -> Image.Image:
        corners = np.random.default_rng(seed).integers(0, 256, (3, 3, 3), np.uint8)
        return Image.fromarray(corners).resize((width, height), Image.Resampling.BICUBIC)

    return make


@pytest.fixture
def encoded(picture) -> Callable[..., bytes]:
    """Makes the contents of an image file."""

    def make(seed: int = 0, width: int = 16, height: int = 16, format: str = "JPEG") -> bytes:
        file = io.BytesIO()
        picture(seed, width, height).save(file, format)
        return file.getvalue()

    return make


@pytest.fixture
def put(encoded) -> Callable[..., Path]:
    """Writes an image file, and the folders above it."""

    def write(path: Path, seed: int = 0, width: int = 16, height: int = 16) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        format = "PNG" if path.suffix.lower() == ".png" else "JPEG"
        path.write_bytes(encoded(seed, width, height, format))
        return path

    return write
