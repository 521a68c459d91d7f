"""What learners in closed form share: the features of our own model, and one pass over a task."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from clsnet.storage import tensors as storage
from clsnet.classifier.sums import Label
from clsnet.arrays.devices import torch_device
from clsnet.extractor import Extractor
from clsnet.estimator.features import new_extractor
from clsnet.memory import MEGABYTE, MemoryUse
from clsnet.estimator.clsnet import ROWS, CLSNet


class ClosedForm:
    """Learn from the features that `CLSNet` with the same preset and seed would see.

    Subclasses say what they sum up (`start`, `learn`), what it is in the end (`kept`), and how
    classes are scored (`labels`, `scores`).

    Parameters
    ----------
    seed
        Of the extractor.
    preset
        Of the extractor for images; None is ``"fast"``.
    device
        ``"auto"``, ``"cpu"``, ``"cuda"``.
    features
        Further options of `CLSNet` that say what it sees, such as `backbone` and `cache`.
    """

    extractor_: Extractor

    def __init__(
        self, seed: int = 0, preset: str | None = None, device: str = "auto", **features: Any
    ) -> None:
        self.seed = seed
        self.preset = preset
        self.device = torch_device(device)
        self.model = CLSNet(preset=preset or "fast", random_state=seed, **features)

    # ------------------------------------------------------------------- a method overrides

    def start(self, dimension: int) -> None:
        """Forget everything; features will have so many columns."""
        raise NotImplementedError

    def learn(self, A: Tensor, y: np.ndarray) -> None:
        """Learn from the features of one task."""
        raise NotImplementedError

    @property
    def labels(self) -> list[Label]:
        """Classes in the order of scores."""
        raise NotImplementedError

    def scores(self, A: Tensor) -> Tensor:
        """Return one score per class; the largest wins."""
        raise NotImplementedError

    def kept(self) -> dict[str, Tensor]:
        """Return all that predicting and going on take, beside the extractor."""
        raise NotImplementedError

    # ------------------------------------------------------------------- the same for all

    @torch.no_grad()
    def partial_fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Learn one task."""
        if not hasattr(self, "extractor_"):
            self.extractor_ = new_extractor(self.model, X.shape[1:]).fit(X, self.device)
            self.start(self.extractor_.dimension)
        parts = [self.extractor_.transform(X[i : i + ROWS]) for i in range(0, len(X), ROWS)]
        self.learn(torch.cat(parts), np.asarray(y))
        return self

    @torch.no_grad()
    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the class of each sample."""
        parts = (X[start : start + ROWS] for start in range(0, len(X), ROWS))
        best = [self.scores(self.extractor_.transform(part)).argmax(dim=1) for part in parts]
        return np.asarray(np.array(self.labels)[torch.cat(best).cpu().numpy()])

    def twin(self) -> Self:
        """Return a learner that has learned nothing but shares this one's fixed extractor."""
        model = copy.copy(self)
        model.start(self.extractor_.dimension)
        return model

    def memory(self) -> MemoryUse:
        """Return the size of extractor and sums; a Gram matrix counts as its triangle."""
        tensors = {**self.extractor_.state_dict(), **self.kept()}
        count = sum(storage.numbers(name, tensor) for name, tensor in tensors.items())
        return MemoryUse(4 * count / MEGABYTE, backbone_mb=self.extractor_.referred_mb)
