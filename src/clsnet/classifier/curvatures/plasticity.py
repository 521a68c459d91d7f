"""Declarative parameter plasticity: the diagonal of the empirical Fisher information."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor

from clsnet.classifier.sums import Batch, Label
from clsnet.arrays.ranks import add_up

FISHERS = ("mean-of-squares", "square-of-mean")


def plasticity(
    batches: Iterable[Batch],
    labels: Sequence[Label],
    omega: Tensor,
    fisher: str = "mean-of-squares",
    phantoms: int = 8,
) -> tuple[Tensor, Tensor]:
    """Return F_t, one column per class, and the plasticity of a class without weights.

    The log-likelihood is that of a softmax over the outputs ``A Omega_t``. (Under a squared error
    a class with no weights has no residual, hence no plasticity, and nothing would hold it.)
    Phantom classes, whose outputs are zero, share that softmax and stand for all classes that the
    task does not have, known or still to come.

    Parameters
    ----------
    batches
        The task's representations and labels.
    labels
        Classes of the columns of `omega`.
    omega
        Declarative parameters Omega_t.
    fisher
        ``"mean-of-squares"``, the mean over samples of the squared gradient (Eq. myEFIM), or
        ``"square-of-mean"``, N times the squared gradient of the mean loss, as the authors
        released it. They differ by orders of magnitude, and so do their best gammas.
    phantoms
        Number of phantom classes.
    """
    column = {label: i for i, label in enumerate(labels)}
    total = torch.zeros(len(omega), len(labels) + 1, dtype=torch.float64, device=omega.device)
    n_samples = 0
    for A, y in batches:
        A = A.double()
        outputs = torch.nn.functional.pad(A @ omega, (0, phantoms))
        error = torch.softmax(outputs, dim=1)[:, : len(labels) + 1]
        own = torch.as_tensor(np.array([column[label] for label in y.tolist()]))
        error[torch.arange(len(y)), own.to(error.device)] -= 1
        if fisher == "mean-of-squares":
            total += A.square().T @ error.square()
        else:
            total += A.T @ error
        n_samples += len(y)
    total, n_samples = add_up(total), int(add_up(torch.tensor(n_samples)))
    F = total / n_samples if fisher == "mean-of-squares" else total.square() / n_samples
    return F[:, :-1], F[:, -1]
