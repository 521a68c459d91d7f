"""Attention over tokens, and images cut into them."""

from __future__ import annotations

from torch import Tensor, nn


class AttentionBlock(nn.Module):
    """Cross-attention from some tokens to all tokens, then a hidden layer, each with a shortcut.

    Parameters
    ----------
    width
        Of a token.
    heads
        Of the attention; they divide the width.
    hidden
        Width of the hidden layer.

    Examples
    --------
    >>> import torch
    >>> block = AttentionBlock(width=8, heads=2, hidden=16)
    >>> tokens = torch.zeros(5, 7, 8)
    >>> block(tokens[:, :1], tokens).shape
    torch.Size([5, 1, 8])
    """

    def __init__(self, width: int, heads: int, hidden: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.layers = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, hidden), nn.GELU(), nn.Linear(hidden, width)
        )

    def forward(self, asking: Tensor, tokens: Tensor) -> Tensor:
        """Return the new values of the querying tokens."""
        seen = self.norm(tokens)
        found, _ = self.attention(self.norm(asking), seen, seen, need_weights=False)
        asking = asking + found
        answer: Tensor = asking + self.layers(asking)
        return answer


def patches(images: Tensor, side: int) -> Tensor:
    """Cut images into squares, from left to right and from top to bottom.

    Parameters
    ----------
    images
        Of shape (n, channels, height, width). Zeros are put behind what no square fits in.
    side
        Of a square. Of an image of one row, which is a vector, `side` times `side` numbers in a
        row take its place.

    Returns
    -------
    Tensor
        One row for each square, (n, squares, numbers).

    Examples
    --------
    >>> import torch
    >>> patches(torch.arange(8.0).view(1, 1, 2, 4), side=2).tolist()
    [[[0.0, 1.0, 4.0, 5.0], [2.0, 3.0, 6.0, 7.0]]]
    >>> patches(torch.arange(5.0).view(1, 1, 1, 5), side=2).tolist()
    [[[0.0, 1.0, 2.0, 3.0], [4.0, 0.0, 0.0, 0.0]]]
    """
    height, width = images.shape[-2:]
    square = (1, side**2) if height == 1 else (side, side)
    padded = nn.functional.pad(images, (0, -width % square[1], 0, -height % square[0]))
    return nn.functional.unfold(padded, square, stride=square).transpose(1, 2)
