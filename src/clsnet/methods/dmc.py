"""Deep model consolidation."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from clsnet.images import Samples
from clsnet.methods.common.auxiliary_images import check_folder, folder_images, synthetic_images
from clsnet.methods.common.phase import Phase
from clsnet.methods.common.trainer import Trainer
from clsnet.methods.declared_options import option
from clsnet.methods.registry import Method


class DMC(Trainer):
    """Learn new classes with a separate network, then merge the two on unlabelled images.

    The merged network, with new weights, imitates both by regression on auxiliary images: the
    target is each one's scores less their mean over its own classes (the paper's equation 4; a
    library that subtracts a batch's mean per class does something else).

    The paper takes its auxiliary images from another set of photographs (ImageNet). None is
    assumed here: unless a folder is given, they are synthetic (`dead_leaves`, from a fixed seed),
    in the shape of the samples and stretched to the range of the task's values. They are read or
    drawn anew when needed and say nothing of any task, so they count as neither model nor
    exemplars.

    Networks of new classes are trained with momentum and weight decay, as the authors do, at half
    of their rate, since this network has no normalisation. One weakness remains: the outputs of
    networks with two classes each are not comparable, so the outputs of some tasks lose to those of
    others everywhere.

    Parameters
    ----------
    auxiliary
        A folder of images, in folders inside it too; resized to the shape of the samples, and grey
        if they are. None: synthetic images.
    n_auxiliary
        Number of auxiliary images; of a folder, at most so many, drawn from a fixed seed.
    momentum, weight_decay
        Of the training on a task alone.
    merge_epochs, merge_rate
        Of the regression, by Adam.
    options
        As for `Trainer`.

    References
    ----------
    J. Zhang et al., "Class-incremental Learning via Deep Model Consolidation", WACV 2020.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = DMC(n_auxiliary=500, hidden=(32,), epochs=3, batch_size=50, device="cpu")
    >>> for first in range(0, 10, 2):
    ...     task = (y == first) | (y == first + 1)
    ...     model = model.partial_fit(X[task] / 16, y[task])
    >>> bool((model.predict(X / 16) == y).mean() > 0.3)
    True
    """

    learning_rate = 0.05
    auxiliary: str | None = option(None)
    n_auxiliary: int = option(5000, least=1)
    momentum: float = option(0.9, least=0, most=1)
    weight_decay: float = option(5e-4, least=0)
    merge_epochs: int = option(20, least=0)
    merge_rate: float = option(1e-3, least=0)

    def check_parameters(self) -> None:
        """Raise an error if an option cannot be what it is, or the folder holds no image."""
        super().check_parameters()
        if self.auxiliary is not None:
            check_folder(self.auxiliary)

    def optimiser(self) -> torch.optim.Optimizer:
        """Return gradient descent with momentum and weight decay."""
        return torch.optim.SGD(
            self.net.parameters(),
            lr=self.learning_rate,
            momentum=self.momentum,
            weight_decay=self.weight_decay,
        )

    def as_input(self, X: Samples) -> Tensor:
        """Remember the shape of samples, which is that of the auxiliary images."""
        self.shape = X.shape[1:]
        return super().as_input(X)

    def fit_task(self, X: Tensor, y: Tensor) -> None:
        """Train on the task alone; after the first task, merge."""
        if self.task == 0:
            self.train(X, y)
            return
        old, n_old = self.net, self.new.start
        classes, codes = torch.unique(y, return_inverse=True)
        self.net = self.new_network(len(classes))
        self.train(X, codes)
        images = self.auxiliary_inputs(X)
        with torch.no_grad():
            target = double_target(old(images)[:, :n_old], self.net(images), classes)
        self.net = self.new_network(len(self.labels))
        # Adam, since the targets are not bounded.
        optimiser = torch.optim.Adam(self.net.parameters(), lr=self.merge_rate)
        self.train(images, target, Phase(optimiser, self.distance, self.merge_epochs))

    def auxiliary_inputs(self, X: Tensor) -> Tensor:
        """Return auxiliary images as the network sees them, beside inputs of a task."""
        if self.auxiliary is None:
            images = synthetic_images(self.n_auxiliary, self.shape)
        else:
            images = folder_images(self.auxiliary, self.n_auxiliary, self.shape)
        if self.backbone is None:
            return images.to(self.device_) * X.max()
        pixels = images.reshape(-1, *self.shape).mul(255).round()
        return self.as_input(pixels.numpy().astype(np.uint8))

    def distance(self, x: Tensor, target: Tensor) -> Tensor:
        """Return the squared error of the merged scores."""
        return nn.functional.mse_loss(self.net(x), target)


def double_target(old: Tensor, new: Tensor, classes: Tensor) -> Tensor:
    """Return the scores to be imitated: each network's, less their mean over its classes.

    Parameters
    ----------
    old
        Scores of the old network, whose classes are 0, 1, 2, ...
    new
        Scores of the new one.
    classes
        The classes of the new one; one known before is left to the new network.

    Examples
    --------
    >>> old, new = torch.tensor([[1.0, 5.0]]), torch.tensor([[2.0, 2.0, 8.0]])
    >>> double_target(old, new, torch.tensor([2, 3, 4])).tolist()
    [[-2.0, 2.0, -2.0, -2.0, 4.0]]
    """
    width = max(old.shape[1], int(classes.max()) + 1)
    target = nn.functional.pad(old - old.mean(dim=1, keepdim=True), (0, width - old.shape[1]))
    target[:, classes] = new - new.mean(dim=1, keepdim=True)
    return target


METHOD = Method(
    name="dmc",
    module=__name__,
    learner="DMC",
    family="regularisation",
    backbones=True,
    keeps="the network; auxiliary images are synthetic, or of a folder",
    reference="Zhang et al., Class-incremental Learning via Deep Model Consolidation, WACV 2020",
    paper="DMC",
    without={"merge_epochs": 0},
    grid={"weight_decay": [1e-4, 5e-4, 2.5e-3]},
)
