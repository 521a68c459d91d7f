"""The sparse fit of Eq. (Theta) by the alternating direction method of multipliers."""

from __future__ import annotations

from clsnet.arrays.devices import Array, device_of, namespace


def soft_threshold(a: Array, b: float) -> Array:
    """Shrink towards zero by `b` (Eq. admm2).

    Examples
    --------
    >>> import numpy as np
    >>> soft_threshold(np.array([-3.0, 0.5, 2.0]), 1.0)
    array([-2.,  0.,  1.])
    """
    xp = namespace(a)
    limit = xp.full((), b, dtype=a.dtype, device=device_of(a))
    return a - xp.minimum(xp.maximum(a, -limit), limit)


def lasso_admm(
    gram: Array, cross: Array, alpha: float, penalty: float = 1.0, iterations: int = 50
) -> Array:
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
    Array
        theta, sparse, shape (..., k, d).
    """
    xp = namespace(gram, cross)
    eye = xp.eye(gram.shape[-1], dtype=gram.dtype, device=device_of(gram))
    system = gram + penalty * eye  # of few rows: to factor it anew at every step costs little
    theta = xp.zeros_like(cross)
    u = xp.zeros_like(cross)
    for _ in range(iterations):
        theta_star = xp.linalg.solve(system, cross + penalty * (theta - u))
        theta = soft_threshold(theta_star + u, alpha / penalty)
        u = u + theta_star - theta
    return theta
