"""Joint fine-tuning of a pretrained network on the data of all tasks so far."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from clsnet.arrays.devices import resolve_device
from clsnet.errors import ClsnetError
from clsnet.extractor.backbones.weights import read_weights
from clsnet.images import Samples
from clsnet.memory import MEGABYTE, MemoryUse
from clsnet.methods.common.residual import Residual
from clsnet.methods.common.trainer import Exemplars
from clsnet.methods.declared_options import DeclaredOptions, option
from clsnet.methods.registry import Method
from clsnet.pretraining.feeding import Feed, room
from clsnet.pretraining.loop import train
from clsnet.pretraining.supervised import Supervised


class Tuning(Supervised):
    """The objective of the pretraining for these classes alone: upright, in smaller steps."""

    rate = 0.1
    turn = 0.015
    turns = 1


class JointFineTuned(DeclaredOptions):
    """Train all layers of a pretrained network on all data of all tasks so far: the upper bound.

    Every task starts again from the pretrained weights. It keeps every sample, and its memory
    counts them; the pretrained network counts in addition to the trained one.

    Parameters
    ----------
    seed
        Of the new head and everything random.
    backbone
        File of ``clsnet pretrain``.
    epochs
        Over all samples so far, at every task.
    device
        ``"auto"``, ``"cpu"``, ``"cuda"``.
    """

    seed: int = option(0, least=0)
    backbone: str = option("")
    epochs: int = option(30, least=0)
    device: Any = option("auto")

    exemplars: Exemplars | None = None

    def check_parameters(self) -> None:
        """Raise an error if an option has a bad value, or no network is given."""
        super().check_parameters()
        resolve_device(self.device)
        if not self.backbone:
            raise ClsnetError("joint-finetuned needs --backbone FILE.safetensors to start from.")

    def partial_fit(self, X: Samples, y: np.ndarray) -> JointFineTuned:
        """Learn one task, and all before it again."""
        if self.exemplars is None:
            self.check_parameters()
            self.device_ = torch.device(resolve_device(self.device))
            self.labels: list[int] = []
        self.about, state = read_weights(Path(self.backbone))
        self.n_pretrained = sum(array.size for array in state.values())
        self.labels += [label for label in np.unique(y).tolist() if label not in self.labels]
        samples = torch.from_numpy(np.array(X))
        codes = torch.tensor([self.labels.index(label) for label in y.tolist()])
        if self.exemplars is not None:
            samples = torch.cat([self.exemplars.X, samples])
            codes = torch.cat([self.exemplars.y, codes])
        self.exemplars = Exemplars(samples, codes)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            depth = int(self.about.network.removeprefix("resnet"))
            network = Residual(depth, self.about.small, len(self.labels))
            body = {name: array for name, array in state.items() if not name.startswith("fc.")}
            tensors = {name: torch.from_numpy(array) for name, array in body.items()}
            network.load_state_dict(tensors, strict=False)
            self.objective = Tuning(network, self.about.mean, self.about.deviation)
            self.objective.to(self.device_).to(memory_format=torch.channels_last)  # type: ignore[call-overload]
            feed = self._feed(samples.numpy(), codes.numpy())
            nothing = self._feed(samples[:0].numpy(), codes[:0].numpy())
            train(self.objective, feed, nothing, self.epochs, self.seed)
            self.objective.zero_grad(set_to_none=True)  # gradients are no part of the model
        return self

    def predict(self, X: Samples) -> np.ndarray:
        """Return the class of each sample."""
        feed = self._feed(X, np.zeros(len(X), dtype=np.int64))
        scores, _ = self.objective.outputs(feed, self.objective.network.fc)
        best: Tensor = scores.argmax(dim=1)
        return np.asarray(np.array(self.labels)[best.cpu().numpy()])

    def kept(self) -> dict[str, Tensor]:
        """Return what is kept of old tasks beside network and exemplars."""
        return {}

    def memory(self) -> MemoryUse:
        """Return the size of the network, of all samples, and of the network to start from."""
        numbers = sum(tensor.numel() for tensor in self.objective.network.state_dict().values())
        samples = self.exemplars.X.numel() if self.exemplars is not None else 0
        sizes = (4 * count / MEGABYTE for count in (numbers, samples, self.n_pretrained))
        return MemoryUse(*sizes)

    def _feed(self, X: Samples, y: np.ndarray) -> Feed:
        return Feed(X, y, self.about.size, self.device_, room(self.device_))


METHOD = Method(
    name="joint-finetuned",
    module=__name__,
    learner="JointFineTuned",
    family="bound",
    keeps="all samples",
    reference="upper bound: fine-tuning a pretrained network on all data so far",
    backbones=True,
    needs="FILE.safetensors",
    finetunes=True,
)
