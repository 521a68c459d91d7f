"""Classes that hold the same photos, resized or compressed again."""

from __future__ import annotations

import numpy as np

ALIKE = 0.85  # cosine
LOOKED_AT = 20  # photos of each class
SHARE = 0.25


def twins(A: np.ndarray, labels: np.ndarray) -> list[tuple[str, str, int, int]]:
    """Return the pairs of classes that look like copies of each other, given all features.

    Returns
    -------
    list of (one, other, same, looked at)
        Pairs in which a quarter of the photos of `one`, and at least two, have a twin in `other`.

    Examples
    --------
    >>> A = np.eye(4)[[0, 1, 0, 1, 2, 3]] + 0.01
    >>> twins(A, np.array(["cat", "cat", "copy", "copy", "dog", "dog"]))
    [('cat', 'copy', 2, 2)]
    """
    unit = A.astype(np.float32)
    unit /= np.maximum(np.linalg.norm(unit, axis=1, keepdims=True), 1e-12)
    classes, codes = np.unique(labels, return_inverse=True)
    found = []
    for code, one in enumerate(classes.tolist()):
        own = np.flatnonzero(codes == code)
        own = own[np.linspace(0, len(own) - 1, min(len(own), LOOKED_AT)).astype(int)]
        alike = unit[own] @ unit.T > ALIKE
        for other in range(code + 1, len(classes)):
            same = int(alike[:, codes == other].any(axis=1).sum())
            if same >= max(2, SHARE * len(own)):
                found.append((one, str(classes[other]), same, len(own)))
    return found
