"""Learning to prompt."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from clsnet.errors import ClsnetError
from clsnet.methods.common.network import Perceptron
from clsnet.methods.common.prompted import Prompting
from clsnet.methods.declared_options import option
from clsnet.methods.registry import Method


class PromptPool(Perceptron):
    """Prompts with a key each, and a head.

    Examples
    --------
    >>> pool = PromptPool(width=8, hidden=(), size=5, length=3)
    >>> prompts, likeness = pool.select(torch.ones(2, 8), number=2)
    >>> prompts.shape, likeness.shape
    (torch.Size([2, 6, 8]), torch.Size([2, 2]))
    """

    def __init__(self, width: int, hidden: Sequence[int], size: int, length: int) -> None:
        super().__init__(width, hidden)
        self.prompts = nn.Parameter(2 * torch.rand(size, length, width) - 1)
        self.keys = nn.Parameter(2 * torch.rand(size, width) - 1)

    def select(self, query: Tensor, number: int) -> tuple[Tensor, Tensor]:
        """Return the prompts of each query with the most similar keys, and the similarities."""
        likeness = query @ nn.functional.normalize(self.keys, dim=1).T
        best, chosen = likeness.topk(number, dim=1)
        return self.prompts[chosen].flatten(1, 2), best


class L2P(Prompting):
    """Choose prompts for a frozen vision transformer from a pool, by their keys.

    The class token of the plain transformer is the query of an image. The prompts whose keys are
    most similar to it, by the cosine, are put behind the class token. The mean of what becomes of
    them goes into a linear head. Prompts, keys and head learn by a cross-entropy among the classes
    of the task, less the similarities of the chosen keys, which draws keys to queries.

    In the released code all images of a batch get the prompts that most of them chose, when
    testing too. Here each image gets its own, so expect less than the published figures. Weights
    from ImageNet-21k have seen the classes of most photo data sets.

    Parameters
    ----------
    pool, length
        Number of prompts, and of the tokens of each.
    chosen
        Number of prompts per image.
    options
        As for `Prompting`, among them ``backbone="hf:NAME"``.

    References
    ----------
    Z. Wang et al., "Learning to Prompt for Continual Learning", CVPR 2022.

    Examples
    --------
    >>> L2P(device="cpu").check_parameters()
    Traceback (most recent call last):
        ...
    clsnet.errors.ClsnetError: l2p needs --backbone hf:NAME, a vision transformer of Hugging Face.
    """

    purpose = "l2p"
    pool: int = option(10, least=1)
    length: int = option(10, least=1)
    chosen: int = option(4, least=1)

    def check_parameters(self) -> None:
        """Raise an error if an option cannot be what it is, or no transformer is given."""
        super().check_parameters()
        if self.chosen > self.pool:
            raise ClsnetError(f"chosen={self.chosen}: the pool has {self.pool} prompts.")

    def new_network(self, n_outputs: int) -> PromptPool:
        """Return a new pool with its head."""
        net = PromptPool(self.vision.width, self.hidden, self.pool, self.length).to(self.device_)
        net.grow(n_outputs)
        return net

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the cross-entropy, less the similarities of the chosen keys."""
        prompts, likeness = self.net.select(self.queries[x], self.chosen)
        scores = self.net(self.vision.with_tokens(self.images[x], prompts).mean(dim=1))
        loss: Tensor = self.entropy(scores, y) - likeness.sum(dim=1).mean()
        return loss

    def answer(self, x: Tensor, query: Tensor) -> Tensor:
        """Return the scores of images, given their queries."""
        prompts, _ = self.net.select(query, self.chosen)
        scores: Tensor = self.net(self.vision.with_tokens(x, prompts).mean(dim=1))
        return scores


METHOD = Method(
    name="l2p",
    module=__name__,
    learner="L2P",
    family="cited",
    backbones=True,
    needs="hf:NAME",
    keeps="a pool of prompts",
    reference="Wang et al., Learning to Prompt for Continual Learning, CVPR 2022",
    without={"masked": False},
    grid={"learning_rate": [0.01, 0.03, 0.1]},
)
