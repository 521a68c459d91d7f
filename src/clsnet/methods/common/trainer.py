"""One trainer for every method that learns by gradient descent.

A method defines what happens on a batch, between phases and at the end of a task, and what it
keeps. Network, head, phases, exemplars, device and seed are handled here for all.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor, nn

from clsnet.arrays.devices import resolve_device
from clsnet.errors import ClsnetError
from clsnet.estimator import CLSNet
from clsnet.estimator.features import new_extractor
from clsnet.extractor import Extractor
from clsnet.extractor.backbones.pixels import as_images
from clsnet.extractor.backbones.weights import read_about
from clsnet.images import Samples
from clsnet.memory import MEGABYTE, MemoryUse
from clsnet.methods.common.network import GrowingNetwork, Perceptron
from clsnet.methods.common.phase import Phase
from clsnet.methods.common.tuned import moved, pretrained_body
from clsnet.methods.declared_options import DeclaredOptions, option
from clsnet.storage import model_file

ROWS = 4096
TUNED_ROWS = 256
TUNED_MOMENTUM = 0.9


@dataclass
class Exemplars:
    """Samples of old tasks that a method keeps, vectors or images, and codes of their classes."""

    X: Tensor
    y: Tensor

    def __len__(self) -> int:
        return len(self.y)


class Trainer(DeclaredOptions):
    """Learn tasks by stochastic gradient descent on a network with one growing head.

    Subclasses override a few of: `start`, `start_task`, `loss`, `optimiser`, `schedule`,
    `before_step`, `after_step`, `fit_task`, `end_task`, `kept`. Classes are coded 0, 1, 2, ... in
    the order in which tasks bring them.

    The network is the paper's multi-layer perceptron. Its inputs are flat pixels or, given a
    `backbone`, the features of that frozen network, as for the paper's baselines. In the tuned form
    it is the backbone itself, which is trained further; images are then mirrored and shifted at
    random, and exemplars are images with one byte per pixel. A class that supports this sets
    `tunable`.

    Parameters
    ----------
    seed
        Of the weights and the order of batches.
    hidden
        Widths of the hidden layers.
    epochs, batch_size, learning_rate
        As in the paper: batches of 100, rate 0.1.
    device
        ``"auto"``, ``"cpu"``, ``"cuda"``.
    backbone, cache
        A frozen network and a folder for its outputs, as for `CLSNet`. The features are those of
        its last layer, of the unchanged image. Without a backbone, inputs are pixels.
    form
        ``"frozen"``, or ``"tuned"`` if the backbone itself is trained; it is a file of ``clsnet
        pretrain`` then.
    tuned_rate
        Learning rate of the tuned form, with momentum.
    """

    tunable: ClassVar[bool] = False

    seed: int = option(0, least=0)
    hidden: Sequence[int] = option((900, 900), least=1)
    epochs: int = option(10, least=0)
    batch_size: int = option(100, least=1)
    learning_rate: float = option(0.1, least=0)
    device: Any = option("auto")
    backbone: Any = option(None)
    cache: Any = option(None)
    form: str = option("frozen", among=("frozen", "tuned"))
    tuned_rate: float = option(0.02, least=0)

    net: Any  # a GrowingNetwork
    old_net: Any = None  # before the head grew; while a later task is learned
    exemplars: Exemplars | None = None
    extractor_: Extractor  # where there is a backbone
    task = 0

    # ------------------------------------------------------------------- a method overrides

    def start(self) -> None:
        """Set up what is kept, before the first task."""

    def start_task(self, X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return the samples to train on: those of the task, or more."""
        return X, y

    def loss(self, x: Tensor, y: Tensor) -> Tensor:
        """Return the loss on a batch."""
        return nn.functional.cross_entropy(self.net(x), y)

    def schedule(self, epoch: int) -> float:
        """Return the factor of the learning rate in an epoch of a task."""
        return 1.0

    def optimiser(self) -> torch.optim.Optimizer:
        """Return a fresh optimiser of the network."""
        momentum = TUNED_MOMENTUM if self.tuned else 0.0
        return torch.optim.SGD(self.net.parameters(), lr=self.rate, momentum=momentum)

    def before_step(self) -> None:
        """Change the gradients before the optimiser uses them."""

    def after_step(self) -> None:
        """Look at, or change, the weights after a step."""

    def fit_task(self, X: Tensor, y: Tensor) -> None:
        """Start, train and end a task; further phases come in between."""
        self.train(*self.start_task(X, y))
        self.end_task(X, y)

    def end_task(self, X: Tensor, y: Tensor) -> None:
        """Keep something of the task that has been learned."""

    def kept(self) -> dict[str, Tensor]:
        """Return what is kept of old tasks beside network and exemplars."""
        return {}

    # ------------------------------------------------------------------- a method uses

    def train(self, X: Tensor, y: Tensor, phase: Phase | None = None) -> None:
        """Run a phase over samples and targets; None is the method's own."""
        phase = phase or Phase(
            self.optimiser(),
            self.loss,
            self.epochs,
            self.schedule,
            self.before_step,
            self.after_step,
        )
        optimiser = phase.optimiser
        rates = [group["lr"] for group in optimiser.param_groups]
        self.net.train()
        for epoch in range(phase.epochs):
            for group, rate in zip(optimiser.param_groups, rates, strict=True):
                group["lr"] = rate * group.get("schedule", phase.schedule)(epoch)
            for rows in self.batches(len(y)):
                optimiser.zero_grad(set_to_none=True)
                x = self.varied(X[rows]) if phase.varied else X[rows]
                phase.loss(x, y[rows]).backward()  # type: ignore[no-untyped-call]
                phase.before_step()
                optimiser.step()
                phase.after_step()
        optimiser.zero_grad(set_to_none=True)  # the last gradients are no part of the model
        self.net.zero_grad(set_to_none=True)  # nor are those of weights that the phase left alone

    def batches(self, n: int) -> Iterator[Tensor]:
        """Return the rows of each batch of one epoch, in random order."""
        return self.shuffled(n, self.batch_size)

    def shuffled(self, n: int, size: int) -> Iterator[Tensor]:
        """Return all rows in random order, `size` at a time.

        A last one joins the batch before, since batch normalisation needs two.
        """
        order = torch.randperm(n, generator=self.random).to(self.device_)
        ends = [*range(size, n - 1, size), n] if n else []
        return (order[start:end] for start, end in zip([0, *ends], ends, strict=False))

    def varied(self, x: Tensor) -> Tensor:
        """Return a batch as it is trained on: images mirrored and shifted, vectors as they are."""
        return moved(x, self.random) if self.tuned else x

    def replayed(self, X: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Return all exemplars, and samples behind them."""
        if self.exemplars is None:
            return X, y
        return torch.cat([self.exemplars.X, X]), torch.cat([self.exemplars.y, y])

    @torch.no_grad()
    def features(self, x: Tensor) -> Tensor:
        """Return what goes into the head, for any number of samples."""
        self.net.eval()
        return torch.cat([self.net.features(part) for part in torch.split(x, self.rows_at_once)])

    @torch.no_grad()
    def scores(self, x: Tensor) -> Tensor:
        """Return the scores by which classes are chosen."""
        return self.net_scores(x)

    @torch.no_grad()
    def net_scores(self, x: Tensor) -> Tensor:
        """Return the outputs of the network, for any number of samples."""
        self.net.eval()
        return torch.cat([self.net(part) for part in torch.split(x, self.rows_at_once)])

    def new_network(self, n_outputs: int) -> GrowingNetwork:
        """Return a network with new weights, or with those of the pretrained one."""
        net: GrowingNetwork
        if self.tuned:
            net = GrowingNetwork(*pretrained_body(self.backbone))
        else:
            net = Perceptron(self.n_inputs, self.hidden)
        net.to(self.device_).grow(n_outputs)
        return net

    @property
    def tuned(self) -> bool:
        """Whether the network is the backbone."""
        return self.form == "tuned"

    @property
    def rate(self) -> float:
        """The learning rate of the form that the network has."""
        return self.tuned_rate if self.tuned else self.learning_rate

    @property
    def rows_at_once(self) -> int:
        """How many samples the network sees at once when it is not trained."""
        return TUNED_ROWS if self.tuned else ROWS

    # ------------------------------------------------------------------- the same for all

    def check_parameters(self) -> None:
        """Raise an error if an option has a bad value; nothing is learned."""
        super().check_parameters()
        if not self.tuned:
            self.features_model().check_parameters()
            return
        resolve_device(self.device)
        if not self.tunable:
            raise ClsnetError(
                f"form='tuned': {type(self).__name__} cannot train a backbone; use form='frozen'."
            )
        if not str(self.backbone).endswith(".safetensors"):
            raise ClsnetError("form='tuned' needs a backbone: a FILE.safetensors of pretrain.")
        read_about(Path(self.backbone))

    def features_model(self) -> CLSNet:
        """Return a model whose extractor gives the last features of the backbone."""
        return CLSNet(
            backbone="identity" if self.backbone is None else self.backbone,
            taps="last",
            views=1,
            connection="Z",
            cache=self.cache,
            device=self.device,
            random_state=self.seed,
        )

    def partial_fit(self, X: Samples, y: np.ndarray) -> Self:
        """Learn one task."""
        if self.task == 0:
            self.check_parameters()
            self.device_ = torch.device(resolve_device(self.device))
            self.random = torch.Generator().manual_seed(self.seed)
            self.labels: list[int] = []
            self.start()
        old = list(self.labels)
        self.labels += [label for label in np.unique(y).tolist() if label not in old]
        self.new = slice(len(old), len(self.labels))
        x = self.as_input(X)
        codes = torch.tensor([self.labels.index(label) for label in y.tolist()])
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(torch.randint(2**31, (), generator=self.random)))
            if self.task == 0:
                self.n_inputs = x.shape[1]
                self.net = self.new_network(0)
            else:
                self.old_net = copy.deepcopy(self.net).eval().requires_grad_(False)
            self.net.grow(len(self.labels))
            self.fit_task(x, codes.to(self.device_))
        self.old_net = None
        self.task += 1
        return self

    def as_input(self, X: Samples) -> Tensor:
        """Return what the network sees: flat pixels, features of a frozen network, or images.

        Integers become fractions of the largest one of the first task. Features are divided by
        their root mean square over the first task. Images are bytes, (n, channels, h, w).
        """
        if self.tuned:
            return self._images(X)
        if self.backbone is not None:
            return self._frozen(X)
        pixels = np.asarray(X)
        if self.task == 0:
            self.scale = float(pixels.max()) or 1.0 if pixels.dtype.kind in "iu" else 1.0
        x = torch.from_numpy(pixels.astype(np.float32).reshape(len(X), -1))
        return (x / self.scale).to(self.device_)

    def _images(self, X: Samples) -> Tensor:
        images = as_images(np.asarray(X), "form='tuned'")
        if images.dtype != np.uint8:
            images = np.rint(255 * images.clip(0, 1)).astype(np.uint8)
        x = torch.from_numpy(images).to(self.device_)
        return x if x.ndim == 4 else x[:, None]

    def _frozen(self, X: Samples) -> Tensor:
        """Return features, without the constant that an extractor puts behind them."""
        if not hasattr(self, "extractor_"):
            self.extractor_ = new_extractor(self.features_model(), X.shape[1:])
            self.extractor_.fit(X, resolve_device(self.device))
        parts = (self.extractor_.transform(X[i : i + ROWS]) for i in range(0, len(X), ROWS))
        x = torch.cat([torch.as_tensor(A)[:, :-1].float() for A in parts]).to(self.device_)
        if self.task == 0:
            self.scale = float(x.square().mean().sqrt()) or 1.0
        return x / self.scale

    def predict(self, X: Samples) -> np.ndarray:
        """Return the class of each sample."""
        parts = (self.as_input(X[i : i + ROWS]) for i in range(0, len(X), ROWS))
        best = [self.scores(x).argmax(dim=1) for x in parts]
        return np.asarray(np.array(self.labels)[torch.cat(best).cpu().numpy()])

    def consolidate(self) -> Self:
        """Do nothing: a task is learned when `partial_fit` returns."""
        return self

    def twin(self) -> Self:
        """Return a learner that has learned nothing but shares this one's frozen network."""
        twin = type(self)(**self.get_params())
        twin.extractor_ = self.extractor_
        return twin

    def memory(self) -> MemoryUse:
        """Return the size of network and kept tensors, of exemplars, and of a frozen network."""
        tensors = [*self.net.state_dict().values(), *self.kept().values()]
        model = sum(tensor.numel() for tensor in tensors)
        samples = self.exemplars.X.nbytes if self.exemplars is not None else 0
        frozen = 0.0
        if self.backbone is not None and not self.tuned:
            state = self.extractor_.state()
            model += sum(model_file.numbers(name, array) for name, array in state.items())
            frozen = self.extractor_.referred_mb
        return MemoryUse(4 * model / MEGABYTE, samples / MEGABYTE, frozen)
