from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from clsnet.pretraining.base import Base


class Tiny(nn.Module):
    """A network with the parts of a residual one that objectives use."""

    def __init__(self, n_classes: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, 2, 1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.fc = nn.Linear(8, n_classes)

    def embed(self, x: Tensor) -> Tensor:
        return self.norm(self.conv(x)).relu().mean(dim=(2, 3))

    def forward(self, x: Tensor) -> Tensor:
        return self.fc(self.embed(x))


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> Iterator[None]:
    """Networks this small do not gain from a second."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def tiny() -> Callable[[int], Tiny]:
    def make(n_classes: int) -> Tiny:
        torch.manual_seed(0)
        return Tiny(n_classes)

    return make


@pytest.fixture(scope="session")
def shapes() -> Callable[[int], Base]:
    """Rectangles in four colours, somewhere on noise of 8x8 pixels."""
    colours = {"red": (9, 0, 0), "green": (0, 9, 0), "blue": (0, 0, 9), "yellow": (9, 9, 0)}
    paints = 25 * np.array(list(colours.values()), np.uint8)[:, :, None, None]

    def draw(n: int, random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X = random.integers(0, 60, (n, 3, 8, 8)).astype(np.uint8)
        y = np.arange(n) % 4
        for image, label in zip(X, y, strict=True):
            row, column, height, width = random.integers((0, 0, 3, 3), (4, 4, 6, 6))
            image[:, row : row + height, column : column + width] = paints[label]
        return X, y

    def make(n: int) -> Base:
        random = np.random.default_rng(0)
        return Base("Shapes", *draw(n, random), *draw(80, random), tuple(colours))

    return make
