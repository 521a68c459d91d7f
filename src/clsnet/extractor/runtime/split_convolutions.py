"""Convolutions in float32 on tensor cores, which read 11 bits of the 24 of a number."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import conv2d, pad
from torch.overrides import TorchFunctionMode

GPU_ROWS = 256
UPPER_BITS = -(1 << 13)
CHANNELS = 4  # of which tensor cores take a multiple


class SplitConvolutions(TorchFunctionMode):
    """While it is entered, tensor cores compute the convolutions of float32 numbers.

    A number is the sum of its upper 11 bits and of 13 lower ones, of which the first 11 will do.
    Of the four products, that of both lower parts is too small to count; the other three are one
    convolution of three times the channels. It differs from one in float32 by 1e-5, where tensor
    cores alone differ by 3e-4, and is faster all the same.
    """

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        """Replace convolutions that are not cut into groups; leave all else as it is."""
        if func is conv2d and not kwargs and args[6:] in ((), (1,)):
            x, weight = args[:2]
            if x.dtype == weight.dtype == torch.float32:
                return split_conv2d(*args[:6])
        return func(*args, **(kwargs or {}))


def split_conv2d(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int | Sequence[int] = 1,
    padding: str | int | Sequence[int] = 0,
    dilation: int | Sequence[int] = 1,
) -> Tensor:
    """Return a convolution, as the products of upper and lower halves that count.

    Examples
    --------
    >>> x, weight = torch.randn(2, 3, 5, 5), torch.randn(4, 3, 3, 3)
    >>> torch.allclose(split_conv2d(x, weight), conv2d(x, weight), atol=1e-4)
    True
    """
    (upper, lower), (main, fine) = halves(x), halves(weight)
    inputs = torch.cat([lower, upper, upper], dim=1)
    weights = torch.cat([main, fine, main], dim=1)
    if spare := -inputs.shape[1] % CHANNELS:
        inputs, weights = (pad(each, (0, 0, 0, 0, 0, spare)) for each in (inputs, weights))
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=True):
        return conv2d(inputs, weights, bias, stride, padding, dilation)


def on_tensor_cores(device: torch.device) -> AbstractContextManager[object]:
    """Return the above for a GPU that has such cores, else a context without effect."""
    there = device.type == "cuda" and torch.version.cuda is not None
    there = there and torch.cuda.get_device_capability(device) >= (8, 0)
    return SplitConvolutions() if there else nullcontext()


def in_parts(network: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    """Run a network in float32, on as many images at a time as fit well into a GPU.

    On a CPU it is one image, so that its features are the same in every batch.
    """
    rows = 1 if x.device.type == "cpu" else GPU_ROWS
    x = x.contiguous(memory_format=torch.channels_last)
    exactly = torch.backends.cudnn.flags(enabled=True, allow_tf32=False)
    with torch.no_grad(), exactly, on_tensor_cores(x.device):
        return torch.cat([network(part) for part in torch.split(x, rows)])


def in_numpy(network: Callable[[Tensor], Tensor], images: Iterable[np.ndarray]) -> np.ndarray:
    """Run a network on images of NumPy, in one array or one after another."""
    x = images if isinstance(images, np.ndarray) else np.stack(list(images))
    return in_parts(network, torch.from_numpy(np.ascontiguousarray(x))).numpy()


def halves(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return the upper 11 significant bits of each number, and what is left of it.

    Examples
    --------
    >>> upper, lower = halves(torch.tensor([1 + 2**-10 + 2**-11]))
    >>> upper.item() == 1 + 2**-10, lower.item() == 2**-11
    (True, True)
    """
    upper = x.view(torch.int32).bitwise_and(UPPER_BITS).view(torch.float32)
    return upper, x - upper
