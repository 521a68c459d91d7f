"""How much of a photo the photos of a class explain.

The measure of a class follows from its own sums alone, so it does not change when other classes are
learned or forgotten.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np

from clsnet.arrays.linalg import eigh, whitening
from clsnet.classifier.analytic import NO_SUMS, AnalyticClassifier
from clsnet.classifier.curvatures import FewSamples, FullTrace
from clsnet.errors import ClsnetError
from clsnet.photos.unscaled import AS_LEARNED, Unscaled

Mean = TypeVar("Mean", float, np.ndarray)

NOISE = 0.003  # of the sum of squares of a class: what its photos do not have in common
NEGLIGIBLE = 1e-12
TEXTURES = 0.375  # their share of familiarity, where there are any


@dataclass(frozen=True)
class Familiarity:
    """The look of a class: what is common to its photos.

    With G the sum of products of its photos and ``b`` a small share of the trace of G, the photos
    explain ``u'u - b u'(G + b I)^-1 u`` of a photo with the features u of length 1. This is the
    share that a Gaussian process with a linear kernel would not be surprised by.

    Where the sums of products of the class are not known, they are taken as those of its mean.

    Textures, if there are any, have a look of their own, and familiarity is a weighted mean.

    Attributes
    ----------
    rows
        R with ``R'R = G``, a few rows; or None.
    gram
        G, if there are no rows.
    noise
        b.
    unscaled
        Applied to features first; R and G are of what it gives.
    textures
        The look of the textures; None if there are none.

    Examples
    --------
    >>> look = Familiarity.of_rows(np.array([[1.0, 0.0, 0.0], [0.8, 0.6, 0.0]]))
    >>> look.of(np.eye(3)).round(2)
    array([0.99, 0.97, 0.  ])
    >>> look.left_out(np.array([[1.0, 0.0, 0.0], [0.8, 0.6, 0.0]])).round(2)
    array([0.64, 0.64])
    """

    rows: np.ndarray | None
    gram: np.ndarray | None
    noise: float
    unscaled: Unscaled = AS_LEARNED
    textures: Familiarity | None = None

    @classmethod
    def of_rows(cls, rows: np.ndarray, unscaled: Unscaled = AS_LEARNED) -> Familiarity:
        """Return the look of photos with these features, or with the same sum of products."""
        textures = cls.of_rows(rows, unscaled.textures) if unscaled.textures else None
        rows = unscaled(rows)
        return cls(rows, None, NOISE * float((rows**2).sum()) or 1.0, unscaled, textures)

    @classmethod
    def of_products(cls, gram: np.ndarray, unscaled: Unscaled = AS_LEARNED) -> Familiarity:
        """Return the look of photos whose features have this sum of products."""
        textures = cls.of_products(gram, unscaled.textures) if unscaled.textures else None
        gram = unscaled.products(gram)
        return cls(None, gram, NOISE * float(np.trace(gram)) or 1.0, unscaled, textures)

    @classmethod
    def of_class(
        cls, classifier: AnalyticClassifier, label: str, unscaled: Unscaled = AS_LEARNED
    ) -> Familiarity:
        """Return the look of a class that was learned."""
        trace = classifier.traces.get(label) if classifier.rule.retain == "classes" else None
        if trace is None:
            column = classifier.labels.index(label)
            return cls.of_rows(class_sums(classifier)[:, column][None], unscaled)
        if isinstance(trace, FewSamples):
            return cls.of_rows(np.asarray(trace.rows), unscaled)
        if not isinstance(trace, FullTrace):
            raise ClsnetError(NOT_OURS)
        return cls.of_products(np.asarray(trace.gram), unscaled)

    def of(self, A: np.ndarray) -> np.ndarray:
        """Return how familiar photos are, from 0 to 1, given their features."""
        unit = unit_length(self.unscaled(A.astype(float)), axis=1)
        whole = (unit**2).sum(axis=1)
        found = np.asarray(whole - self._strange(unit, whole))
        return found if self.textures is None else both(found, self.textures.of(A))

    def left_out(self, A: np.ndarray) -> np.ndarray:
        """Return how familiar photos of the class are, each to all the others.

        With s for what the class, the photo included, does not explain of it, and x for its
        features, this is ``1 - s / (1 - s |x|^2 / b)``: the noise stays the same.
        """
        features = self.unscaled(A.astype(float))
        unit = unit_length(features, axis=1)
        whole = (unit**2).sum(axis=1)
        strange = self._strange(unit, whole)
        own = strange * (features**2).sum(axis=1) / self.noise
        found = np.asarray(np.clip(whole - strange / np.maximum(1 - own, NEGLIGIBLE), 0, 1))
        return found if self.textures is None else both(found, self.textures.left_out(A))

    def directions(self, most: int) -> np.ndarray:
        """Return rows B with ``|B u|^2`` for `of`, the most important ones if there are more.

        u are the unscaled features, at length 1. Textures are left out; they have their own.
        """
        square = self.gram if self.rows is None else self.rows @ self.rows.T
        assert square is not None
        sizes, vectors = (np.asarray(part)[..., ::-1][..., :most] for part in eigh(square))
        kept = sizes > NEGLIGIBLE * max(float(sizes[0]), NEGLIGIBLE)
        sizes, vectors = sizes[kept], vectors[:, kept]
        if self.rows is not None:
            vectors = (self.rows.T @ vectors) / np.sqrt(sizes)
        return np.asarray((vectors * np.sqrt(sizes / (sizes + self.noise))).T)

    def _strange(self, unit: np.ndarray, whole: np.ndarray) -> np.ndarray:
        """Return ``b u'(G + b I)^-1 u``, given ``u'u``."""
        if self.rows is None:
            half = self._whitening @ unit.T
            return np.asarray(self.noise * (half**2).sum(axis=0))
        inside = self._whitening @ (self.rows @ unit.T)
        return np.asarray(whole - (inside**2).sum(axis=0))

    @cached_property
    def _whitening(self) -> np.ndarray:
        square = self.gram if self.rows is None else self.rows @ self.rows.T
        assert square is not None
        inverse = whitening(square, self.noise)
        if inverse is None:
            raise ClsnetError(NO_SUMS)
        return inverse


def left_out_familiarity(
    classifier: AnalyticClassifier, label: str, A: np.ndarray, unscaled: Unscaled = AS_LEARNED
) -> np.ndarray:
    """Return how familiar photos of a class are, each to all the others that were learned."""
    if classifier.rule.retain == "classes":
        return Familiarity.of_class(classifier, label, unscaled).left_out(A)
    A = A.astype(float)
    others = class_sums(classifier)[:, classifier.labels.index(label)] - A
    return _to_mean(A, others, unscaled)


def _to_mean(A: np.ndarray, others: np.ndarray, unscaled: Unscaled) -> np.ndarray:
    """Return how familiar each photo is to others of which the sum is known."""
    products = unit_length(unscaled(A), axis=1) * unit_length(unscaled(others), axis=1)
    found = np.asarray(products.sum(axis=1) ** 2 / (1 + NOISE))
    textures = unscaled.textures
    return found if textures is None else both(found, _to_mean(A, others, textures))


def both(pooled: Mean, textures: Mean) -> Mean:
    """Return the weighted mean of the familiarity of pooled outputs and that of textures.

    Examples
    --------
    >>> both(1.0, 0.0)
    0.625
    """
    return (1 - TEXTURES) * pooled + TEXTURES * textures


NOT_OURS = 'this model was not made by clsnet learn: it has no curvature="full".'


def class_sums(classifier: AnalyticClassifier) -> np.ndarray:
    """Return the sum of the features of each class, one column per class.

    Examples
    --------
    >>> from clsnet.classifier.rule import Rule
    >>> blank = AnalyticClassifier(Rule(ridge=1e-9), 2, "cpu")
    >>> taught = blank.learn(lambda: [(np.eye(2), np.array(["cat", "dog"]))])
    >>> class_sums(taught)
    array([[1., 0.],
           [0., 1.]])
    """
    sums = np.zeros((classifier.dimension, len(classifier.labels)))
    for trace in classifier.traces.values():
        if not isinstance(trace, FullTrace):
            raise ClsnetError(NOT_OURS)
        sums += trace.columns(classifier.labels)
    return sums


def unit_length(vectors: np.ndarray, axis: int) -> np.ndarray:
    """Return vectors scaled to length 1.

    Examples
    --------
    >>> unit_length(np.array([[3.0, 4.0]]), axis=1)
    array([[0.6, 0.8]])
    """
    lengths = np.linalg.norm(vectors, axis=axis, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, np.finfo(float).tiny))
