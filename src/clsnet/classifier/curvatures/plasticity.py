"""Declarative parameter plasticity: the diagonal of the empirical Fisher information."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from clsnet.arrays.devices import Array, device_of, namespace, to_device
from clsnet.arrays.linalg import double, indices
from clsnet.arrays.ranks import add_up
from clsnet.classifier.sums import Batch, Label

FISHERS = ("mean-of-squares", "square-of-mean")


def plasticity(
    batches: Iterable[Batch],
    labels: Sequence[Label],
    omega: Array,
    fisher: str = "mean-of-squares",
    phantoms: int = 8,
) -> tuple[Array, Array]:
    """Return F_t, one column per class, and the plasticity of a class without weights.

    The log-likelihood is that of a softmax over the outputs ``A Omega_t``. (Under a squared error
    a class with no weights has no residual, hence no plasticity, and nothing would hold it.)
    Phantom classes, whose outputs are zero, share that softmax and stand for all classes that the
    task does not have, known or still to come.

    Parameters
    ----------
    batches
        The task's representations, labels, and weights if there are any.
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
    xp, device = namespace(omega), device_of(omega)
    column = {label: i for i, label in enumerate(labels)}
    shape = (len(omega), len(labels) + 1)
    total = xp.zeros(shape, dtype=xp.float64, device=device)
    n_samples = 0.0
    for A, y, *weights in batches:
        A = double(A)
        n = len(y)
        each = to_device(np.asarray(weights[0] if weights else np.ones(n)), device)[:, None]
        silent = xp.zeros((n, phantoms), dtype=xp.float64, device=device)
        outputs = xp.concat([A @ omega, silent], axis=1)
        chances = xp.exp(outputs - xp.max(outputs, axis=1, keepdims=True))
        error = (chances / xp.sum(chances, axis=1, keepdims=True))[:, : len(labels) + 1]
        own = indices([column[label] for label in y.tolist()], device)
        error[indices(np.arange(n), device), own] -= 1
        if fisher == "mean-of-squares":
            total += (A**2).T @ (each * error**2)
        else:
            total += A.T @ (each * error)
        n_samples += float(each.sum())
    total, n_samples = add_up(total), float(add_up(np.array(n_samples)))
    F = total / n_samples if fisher == "mean-of-squares" else total**2 / n_samples
    return F[:, :-1], F[:, -1]
