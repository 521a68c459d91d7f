"""The sparse fit of Eq. (Theta) by the alternating direction method of multipliers."""

from __future__ import annotations

import torch
from torch import Tensor


def soft_threshold(a: Tensor, b: float) -> Tensor:
    """Shrink towards zero by `b` (Eq. admm2).

    Examples
    --------
    >>> soft_threshold(torch.tensor([-3.0, 0.5, 2.0]), 1.0)
    tensor([-2.,  0.,  1.])
    """
    return a - a.clamp(-b, b)


def lasso_admm(
    gram: Tensor, cross: Tensor, alpha: float, penalty: float = 1.0, iterations: int = 50
) -> Tensor:
    """Minimise ``1/2 |G theta - Z|^2 + alpha |theta|_1`` from ``G'G`` and ``G'Z`` alone.

    These are the steps of Eq. (admm1). The paper writes the squared error without the half, but
    its steps minimise the objective above. Its single constant rho is used for this penalty and
    for the ridge of Eq. (A+); with the published 2^-30 the threshold alpha / rho would erase
    everything, so the penalty is a parameter of its own.

    Parameters
    ----------
    gram
        ``G'G``, shape (..., k, k); leading dimensions are independent problems.
    cross
        ``G'Z``, shape (..., k, d).
    alpha
        Weight of the l1 norm.
    penalty
        The rho of ADMM; it changes the speed of convergence, not the solution.
    iterations
        Number of steps.

    Returns
    -------
    Tensor
        theta, sparse, shape (..., k, d).
    """
    eye = torch.eye(gram.shape[-1], dtype=gram.dtype, device=gram.device)
    factor = torch.linalg.cholesky(gram + penalty * eye)
    theta = torch.zeros_like(cross)
    u = torch.zeros_like(cross)
    for _ in range(iterations):
        theta_star = torch.cholesky_solve(cross + penalty * (theta - u), factor)
        theta = soft_threshold(theta_star + u, alpha / penalty)
        u += theta_star - theta
    return theta
