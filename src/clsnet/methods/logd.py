"""Layer-wise optimisation by gradient decomposition."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from clsnet.methods.declared_options import option
from clsnet.methods.gem import GEM
from clsnet.methods.registry import Method

NEGLIGIBLE = 1e-8  # share of all squares that counts as none


class LOGD(GEM):
    """Let each layer's step follow what old gradients share, and avoid what is specific to each.

    Before each step, gradients of several parts of the exemplars are taken. In each layer, weights
    and biases together, their sum is the shared gradient s; each one less their mean is specific.
    The gradient of the batch, and s, lose what they have in the first `n_specific` principal
    directions of the specific gradients. The step is what is left of the batch's gradient, plus
    what is left of s times a weight: the least one with which the step does not point against s,
    or the margin if that is more. With one old task there is nothing specific, and without a
    margin this is A-GEM in each layer.

    The authors have released no code. In the paper each part holds the exemplars of one task. In
    a network with one head for all classes, no step can then mend the small errors of the steps
    before, since it would trade one old task for another: 0.37 right on the digits below. A port
    by others takes random parts there, as many as there are old tasks, and gives s a margin of 0.5;
    so it is here. Parts are drawn anew for each step, with which 0.90 are right, and 0.79 if they
    are drawn once per task, as in the port. The port groups layers; here each stands for itself.
    The learning rate is lower than the paper's 0.1, chosen on held-out training data.

    Parameters
    ----------
    n_specific
        Number of directions that a layer's step must not have.
    by_task
        Whether each part holds the exemplars of one task; else parts are random, each of at most
        `batch_size` exemplars.
    margin
        Least weight of the shared gradient.
    epochs
        Passes over a task.
    options
        As for `GEM`.

    References
    ----------
    S. Tang et al., "Layerwise Optimization by Gradient Decomposition for Continual Learning",
    CVPR 2021.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> small = {"hidden": (32, 32), "batch_size": 20, "device": "cpu"}
    >>> model = LOGD(budget=200, epochs=5, learning_rate=0.05, **small)
    >>> for first in range(0, 10, 2):
    ...     task = (y == first) | (y == first + 1)
    ...     model = model.partial_fit(X[task] / 16, y[task])
    >>> bool((model.predict(X / 16) == y).mean() > 0.8)
    True
    """

    epochs = 3
    learning_rate = 0.03
    n_specific: int = option(3, least=0)
    by_task: bool = option(False)

    def parts(self) -> list[tuple[Tensor, Tensor]]:
        """Return the exemplars of each old task, or as many random parts of all exemplars."""
        if self.by_task or self.exemplars is None:
            return self.memories
        order = torch.randperm(len(self.exemplars), generator=self.random).to(self.device_)
        n = min(self.batch_size, len(order) // len(self.memories))
        rows = [order[i * n : (i + 1) * n] for i in range(len(self.memories))]
        return [(self.exemplars.X[part], self.exemplars.y[part]) for part in rows]

    def before_step(self) -> None:
        """Project the gradient of each layer."""
        if not self.memories:
            return
        layers = self.net.layers()
        parameters = [weight for layer in layers for weight in (layer.weight, layer.bias)]
        old = []
        for x, y in self.parts():
            loss = nn.functional.cross_entropy(self.net(x), y)
            old.append(torch.autograd.grad(loss, parameters))
        new = [weight.grad for weight in parameters if weight.grad is not None]
        blocks = []
        for i in range(0, len(parameters), 2):
            pairs = [new[i : i + 2], *(gradients[i : i + 2] for gradients in old)]
            blocks.append(torch.stack([torch.cat([w.flatten(), b]) for w, b in pairs]))
        # All projections follow from inner products, so the host sees these alone, and once.
        products = torch.stack([block.double() @ block.double().T for block in blocks]).cpu()
        for i, block in enumerate(blocks):
            weights = decompose(products[i].numpy(), self.n_specific, self.margin)
            step = torch.from_numpy(weights).to(block) @ block
            new[2 * i].copy_(step[: new[2 * i].numel()].view_as(new[2 * i]))
            new[2 * i + 1].copy_(step[new[2 * i].numel() :])


def decompose(products: np.ndarray, n_specific: int, margin: float = 0.0) -> np.ndarray:
    """Return the step as weights of gradients, of which only inner products are known.

    Parameters
    ----------
    products
        Of all pairs of gradients: the batch's first, then one of each old task.
    n_specific
        Number of specific directions that the step must not have.
    margin
        Least weight of the shared gradient in a step that would otherwise point against it.

    Examples
    --------
    >>> gradients = np.array([[1.0, -1.0, 1.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]])
    >>> (decompose(gradients @ gradients.T, n_specific=1) @ gradients).round(6) + 0.0
    array([0., 0., 1.])
    """
    n_old = len(products) - 1
    batch, *old = np.eye(n_old + 1)
    shared = np.sum(old, axis=0)
    specific = old - shared / n_old
    variances, vectors = np.linalg.eigh(specific @ products @ specific.T)
    first = np.argsort(variances)[::-1][:n_specific]
    first = first[variances[first] > NEGLIGIBLE * np.trace(products)]
    directions = vectors[:, first].T @ specific / np.sqrt(variances[first])[:, None]
    for direction in directions:
        batch = batch - (direction @ products @ batch) * direction
        shared = shared - (direction @ products @ shared) * direction
    agreement, size = shared @ products @ batch, shared @ products @ shared
    if size <= NEGLIGIBLE * np.trace(products):
        return batch
    step: np.ndarray = batch + max(-agreement / size, margin) * shared
    return step


METHOD = Method(
    name="logd",
    module=__name__,
    learner="LOGD",
    family="rehearsal",
    backbones=True,
    keeps="2,000 samples",
    reference="Tang et al., Layerwise Optimization by Gradient Decomposition for Continual "
    "Learning, CVPR 2021",
    paper="LOGD",
    without={"budget": 0},
    grid={"learning_rate": [0.01, 0.03, 0.1], "n_specific": [0, 3]},
)
