"""Anti-retroactive interference."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from clsnet.methods.common.rehearsal import Rehearsal
from clsnet.methods.declared_options import option
from clsnet.methods.registry import Method

FLOOR = 0.85  # added to the square of the distance that a copy has moved


class ARI(Rehearsal):
    """Train a copy of the weights for each task in a batch; mix the copies with the old weights.

    A batch holds samples of the task and exemplars. For each task in it, a copy of the weights
    takes a step on the samples of that task, with a binary cross-entropy, and a second step on the
    same samples after an attack: noise of at most `attack`, and one step of that size along the
    sign of the gradient, so that the loss grows. The copies are averaged, array by array, with
    weights that grow with the distance that each has moved. The average takes the place of a share
    ``exp(-beta)`` of the old weights; in the first task, of all of them. Without the attack, with
    equal weights and with `own_outputs` this is the update of iTAML.

    The authors' loss covers only the outputs of the sample's own task, and they predict within the
    true task, with a network that was tuned on the exemplars of that task. Here the task is
    unknown, and the largest output of all classes wins. With their loss, the accuracy on held-out
    training data of Fashion-MNIST is then 0.22, since outputs of two tasks never compete. So the
    loss covers the outputs of all classes so far, unless `own_outputs` is true.

    The attack is not masked: the authors' network has an attention map, which keeps the attack
    away from what the network looks at, and this one has none. On the features of a frozen network
    it is an attack on features. Their share is ``exp(-beta t / T)`` with the final number of tasks
    T, which nobody knows; here it is that of the end. They keep the epoch that is best on test
    data; here it is the last. In their code the copies of a batch start where the one before
    ended, and the arrays that are averaged are all the last one; here each copy starts from the
    weights of the batch. Their 70 epochs with batches of 512 are 5 with batches of 200 here.

    Parameters
    ----------
    attack
        Largest change of an input; 0 leaves the second step out.
    beta
        How much of the old weights is left.
    by_distance
        Whether copies that moved farther weigh more.
    own_outputs
        Whether the loss of a task sees the outputs of that task alone.
    budget
        Number of exemplars in all, the first of each class.
    options
        As for `Trainer`.

    References
    ----------
    R. Wang et al., "Anti-Retroactive Interference for Lifelong Learning", ECCV 2022.
    J. Rajasegaran et al., "iTAML: An Incremental Task-Agnostic Meta-learning Approach", CVPR 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> options = {"hidden": (64,), "batch_size": 50, "learning_rate": 0.03, "device": "cpu"}
    >>> model = ARI(beta=0.3, budget=200, **options)
    >>> for first in range(0, 10, 2):
    ...     task = (y == first) | (y == first + 1)
    ...     model = model.partial_fit(X[task] / 16, y[task])
    >>> bool((model.predict(X / 16) == y).mean() > 0.8)
    True
    """

    epochs = 5
    batch_size = 200
    learning_rate = 0.01
    attack: float = option(1 / 255, least=0)
    beta: float = option(1.0, least=0)
    by_distance: bool = option(True)
    own_outputs: bool = option(False)

    def start(self) -> None:
        """Know no class yet."""
        self.first_task: list[int] = []  # of each class

    def optimiser(self) -> torch.optim.Optimizer:
        """Return the authors' optimiser, which all copies share."""
        return torch.optim.RAdam(self.net.parameters(), lr=self.learning_rate)

    def schedule(self, epoch: int) -> float:
        """Fall to a fifth after 2, 4 and 6 sevenths of the epochs."""
        return float(0.2 ** (7 * epoch // (2 * self.epochs)))

    def fit_task(self, X: Tensor, y: Tensor) -> None:
        """Update the weights batch by batch."""
        self.first_task += [self.task] * (len(self.labels) - len(self.first_task))
        seen, codes = self.replayed(X, y)
        optimiser = self.optimiser()
        self.net.train()
        for epoch in range(self.epochs):
            for group in optimiser.param_groups:
                group["lr"] = self.learning_rate * self.schedule(epoch)
            for rows in self.batches(len(codes)):
                self.update(seen[rows], codes[rows], optimiser)
        self.net.zero_grad(set_to_none=True)
        self.end_task(X, y)

    def update(self, x: Tensor, y: Tensor, optimiser: torch.optim.Optimizer) -> None:
        """Replace the weights by a mixture of themselves and the average of the copies."""
        weights = list(self.net.parameters())
        old = [weight.detach().clone() for weight in weights]
        copies = []
        for task, rows in self.by_task(y):
            _assign(weights, old)
            self.learn_copy(x[rows], y[rows], self.outputs(task), optimiser)
            copies.append([weight.detach().clone() for weight in weights])
        share = math.exp(-self.beta) if self.task else 1.0
        moved = [torch.stack(each) - one for one, *each in zip(old, *copies, strict=True)]
        _assign(weights, [a + share * self.mean(b) for a, b in zip(old, moved, strict=True)])

    def by_task(self, y: Tensor) -> Iterator[tuple[int, Tensor]]:
        """Yield each task of a batch, and the rows of its samples."""
        tasks = torch.tensor(self.first_task, device=y.device)[y]
        counts = torch.bincount(tasks, minlength=self.task + 1).tolist()
        for task, rows in enumerate(torch.split(tasks.argsort(stable=True), counts)):
            if len(rows):
                yield task, rows

    def outputs(self, task: int) -> slice:
        """Return the outputs that the loss of a task sees: all, or those that it brought."""
        if not self.own_outputs:
            return slice(None)
        start = self.first_task.index(task)
        return slice(start, start + self.first_task.count(task))

    def learn_copy(
        self, x: Tensor, y: Tensor, outputs: slice, optimiser: torch.optim.Optimizer
    ) -> None:
        """Take a step on the samples of a task, and one on the same samples under attack."""
        self.step(x, y, outputs, optimiser)
        if self.attack:
            self.step(self.attacked(x, y, outputs), y, outputs, optimiser)

    def step(self, x: Tensor, y: Tensor, outputs: slice, optimiser: torch.optim.Optimizer) -> None:
        """Take one step of the optimiser."""
        optimiser.zero_grad(set_to_none=True)
        self.task_loss(x, y, outputs).backward()  # type: ignore[no-untyped-call]
        optimiser.step()

    def task_loss(self, x: Tensor, y: Tensor, outputs: slice) -> Tensor:
        """Return the binary cross-entropy on some outputs."""
        scores = self.net(x)
        targets = nn.functional.one_hot(y, scores.shape[1]).to(scores)
        return nn.functional.binary_cross_entropy_with_logits(
            scores[:, outputs], targets[:, outputs]
        )

    def attacked(self, x: Tensor, y: Tensor, outputs: slice) -> Tensor:
        """Return samples changed so that the loss grows, within the range of their values."""
        noise = (2 * torch.rand(x.shape, generator=self.random) - 1).to(x) * self.attack
        noise.requires_grad_()
        (slope,) = torch.autograd.grad(self.task_loss(x + noise, y, outputs), noise)
        change = (noise.detach() + self.attack * slope.sign()).clamp(-self.attack, self.attack)
        return (x + change).clamp(x.min(), x.max())

    def mean(self, moved: Tensor) -> Tensor:
        """Return the average of what the copies have added to one array."""
        if not self.by_distance:
            return moved.mean(dim=0)
        weights = moved.abs().flatten(1).sum(dim=1).square() + FLOOR
        average: Tensor = torch.tensordot(weights / weights.sum(), moved, dims=1)
        return average

    def rank(self, X: Tensor, y: Tensor, quota: int) -> Tensor:
        """Return the first rows of a class."""
        return torch.arange(min(quota, len(y)), device=y.device)


@torch.no_grad()
def _assign(weights: list[nn.Parameter], values: list[Tensor]) -> None:
    for weight, value in zip(weights, values, strict=True):
        weight.copy_(value)


METHOD = Method(
    name="ari",
    module=__name__,
    learner="ARI",
    family="rehearsal",
    backbones=True,
    keeps="2,000 samples",
    reference="Wang et al., Anti-Retroactive Interference for Lifelong Learning, ECCV 2022",
    without={"budget": 0},
    grid={"beta": [0.3, 1.0, 3.0]},
)
