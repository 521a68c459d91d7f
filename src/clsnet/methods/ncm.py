"""Nearest class mean."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from clsnet.methods.common.closed_form import ClosedForm
from clsnet.classifier.sums import Label
from clsnet.methods.registry import Method


class NCM(ClosedForm):
    """Answer with the class whose mean feature is nearest, by Euclidean distance.

    Parameters
    ----------
    seed, preset, device
        As for `ClosedForm`.

    References
    ----------
    T. Mensink et al., "Distance-Based Image Classification: Generalizing to New Classes at
    Near-Zero Cost", TPAMI 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits().images, load_digits().target
    >>> model = NCM(device="cpu")
    >>> for first in range(0, 10, 2):
    ...     task = (y == first) | (y == first + 1)
    ...     model = model.partial_fit(X[task], y[task])
    >>> bool((model.predict(X) == y).mean() > 0.9)
    True
    """

    def start(self, dimension: int) -> None:
        """Forget all sums."""
        self.sums: dict[Label, Tensor] = {}
        self.counts: dict[Label, int] = {}

    def learn(self, A: Tensor, y: np.ndarray) -> None:
        """Add the samples of each class."""
        for label in np.unique(y).tolist():
            rows = torch.as_tensor(y == label, device=A.device)
            self.sums[label] = self.sums.get(label, 0.0) + A[rows].double().sum(dim=0)
            self.counts[label] = self.counts.get(label, 0) + int(rows.sum())

    @property
    def labels(self) -> list[Label]:
        """Classes seen, in the order in which they came."""
        return list(self.sums)

    def scores(self, A: Tensor) -> Tensor:
        """Return the distances to all means, squared and negative, less a constant per sample."""
        means = torch.stack([self.sums[label] / self.counts[label] for label in self.sums])
        return A.double() @ means.T - means.square().sum(dim=1) / 2

    def kept(self) -> dict[str, Tensor]:
        """Return the class sums and counts."""
        counts = torch.tensor(list(self.counts.values()))
        return {"sums": torch.stack(list(self.sums.values())), "counts": counts}


METHOD = Method(
    name="ncm",
    build=lambda seed, preset=None, **options: NCM(seed=seed, preset=preset, **options),
    family="analytic",
    presets=True,
    backbones=True,
    keeps="one sum per class",
    reference="Mensink et al., Distance-Based Image Classification, TPAMI 2013",
)
