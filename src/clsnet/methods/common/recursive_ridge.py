"""Ridge regression that goes from one block of samples to the next."""

from __future__ import annotations

from clsnet.arrays.devices import Array, Device, device_of, library, namespace
from clsnet.arrays.gram import mirror
from clsnet.arrays.linalg import cholesky, solve_lower
from clsnet.errors import ClsnetError


class RecursiveRidge:
    """Recursive least squares: what is kept is the inverse ``(H'H + ridge I)^-1``, and weights.

    A block H with targets Y updates both (Woodbury's identity), and the weights are those of
    ridge regression on all blocks, up to rounding.

    Parameters
    ----------
    inputs
        Number of columns of H.
    ridge
        Added to the diagonal.
    device
        Where the arrays live.

    Examples
    --------
    >>> import numpy as np
    >>> regression = RecursiveRidge(1, ridge=1.0, device="cpu")
    >>> regression.add(np.array([[1.0]]), np.array([[3.0]]))
    >>> regression.add(np.array([[2.0]]), np.array([[9.0]]))
    >>> regression.weights.round(6)
    array([[3.5]])
    """

    def __init__(self, inputs: int, ridge: float, device: Device) -> None:
        xp = library(device)
        self.inverse = xp.eye(inputs, dtype=xp.float64, device=device) / ridge
        self.weights = xp.zeros((inputs, 0), dtype=xp.float64, device=device)

    def add(self, H: Array, Y: Array) -> None:
        """Learn from one block, float64; Y may have more columns than before: new outputs."""
        projected = H @ self.inverse
        lower = cholesky(projected @ H.T, 1.0)
        if lower is None:
            raise ClsnetError("recursive least squares lost its precision; use a larger ridge.")
        half = solve_lower(lower, projected)
        self.inverse -= half.T @ half
        mirror(self.inverse)
        self._grow(Y.shape[1])
        self.weights += self.inverse @ (H.T @ (Y - H @ self.weights))

    def _grow(self, outputs: int) -> None:
        """Add weights of zero for new outputs, until there are so many."""
        xp, (inputs, before) = namespace(self.weights), self.weights.shape
        new = xp.zeros((inputs, outputs - before), dtype=xp.float64, device=device_of(self.weights))
        self.weights = xp.concat([self.weights, new], axis=1)
