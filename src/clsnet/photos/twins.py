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
    by_class = np.argsort(codes, kind="stable")
    unit, codes = unit[by_class], codes[by_class]
    starts = np.searchsorted(codes, np.arange(len(classes)))
    found = []
    for code, one in enumerate(classes.tolist()):
        own = np.flatnonzero(codes == code)
        own = own[np.linspace(0, len(own) - 1, min(len(own), LOOKED_AT)).astype(int)]
        alike = np.logical_or.reduceat(unit[own] @ unit.T > ALIKE, starts, axis=1).sum(axis=0)
        enough = np.flatnonzero(alike[code + 1 :] >= max(2, SHARE * len(own))) + code + 1
        found += [(one, str(classes[c]), int(alike[c]), len(own)) for c in enough.tolist()]
    return found
