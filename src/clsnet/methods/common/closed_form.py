"""The base class of learners in closed form: features as in CLSNet, one pass over each task."""

from __future__ import annotations

import copy
import functools
from typing import Any, ClassVar, Self

import numpy as np

from clsnet.arrays.devices import (
    Array,
    Device,
    device_of,
    namespace,
    resolve_device,
    to_device,
    to_numpy,
)
from clsnet.arrays.linalg import cholesky, solve_by_factor
from clsnet.classifier.sums import Label, RunningSums
from clsnet.estimator import CLSNet
from clsnet.estimator.features import FEATURES, new_extractor
from clsnet.extractor import Extractor
from clsnet.images import Samples
from clsnet.memory import MEGABYTE, MemoryUse
from clsnet.methods.declared_options import DeclaredOptions, Option, option
from clsnet.model import ROWS
from clsnet.storage import model_file


class ClosedForm(DeclaredOptions):
    """Learn in closed form from the features that `CLSNet` with the same preset and seed uses.

    Vectors come from the backbone ``"identity"``, standardised by the first task, because only
    CLSNet's own classifier can handle columns of any scale.

    Subclasses define what is summed (`start`, `learn`), what is kept (`kept`), how to solve for
    weights (`solve`), and the scores of classes (`labels`, `scores`).

    Memory is counted alike for all methods: random weights that follow from a seed are not
    counted, and a frozen network is counted in its own column. A symmetric matrix counts as its
    triangle.

    Parameters
    ----------
    seed
        Of the extractor.
    preset
        Of the extractor for images; None is ``"fast"``.
    device
        ``"auto"``, ``"cpu"``, ``"cuda"``.
    features
        Further options of `CLSNet` about its features, such as `backbone` and `cache`. Its other
        options are refused.
    """

    seed: int = option(0, least=0)
    preset: str | None = option(None)
    device: Any = option("auto")
    declared: ClassVar = {
        name: Option(default) for name, default in CLSNet().get_params().items() if name in FEATURES
    }

    extractor_: Extractor
    solution: Any = None  # follows from what is kept, so it is not counted as memory
    follows_from_sums: ClassVar[bool] = False  # whether answers are a function of sums over samples

    # ------------------------------------------------------------------- a method overrides

    def start(self, dimension: int) -> None:
        """Forget everything; features will have so many columns."""
        raise NotImplementedError

    def learn(self, A: Array, y: np.ndarray) -> None:
        """Add the features of one task to what is kept."""
        raise NotImplementedError

    def solve(self) -> Any:
        """Return what predicting needs, computed from what is kept."""
        raise NotImplementedError

    @property
    def labels(self) -> list[Label]:
        """Classes in the order of scores."""
        raise NotImplementedError

    def scores(self, A: Array) -> Array:
        """Return one score per class, given `solution`; the largest wins."""
        raise NotImplementedError

    def kept(self) -> dict[str, Array]:
        """Return everything that predicting and further learning need, except the extractor."""
        raise NotImplementedError

    # ------------------------------------------------------------------- the same for all

    def check_parameters(self) -> None:
        """Raise an error if an option has a bad value; nothing is learned."""
        super().check_parameters()
        resolve_device(self.device)
        self.features_model().check_parameters()

    def features_model(self) -> CLSNet:
        """Return the model whose features are used."""
        features = {name: getattr(self, name) for name in FEATURES}
        return CLSNet(preset=self.preset or "fast", random_state=self.seed, **features)

    @functools.cached_property
    def device_(self) -> Device:
        """Where the features and the sums live."""
        return resolve_device(self.device)

    def partial_fit(self, X: Samples, y: np.ndarray) -> Self:
        """Learn one task."""
        if not hasattr(self, "extractor_"):
            self.check_parameters()
            model = self.features_model()
            if X.ndim == 2 and model.backbone == "auto":
                model.backbone = "identity"
            self.extractor_ = new_extractor(model, X.shape[1:]).fit(X, self.device_)
            self.start(self.extractor_.dimension)
        parts = [self.extractor_.transform(X[i : i + ROWS]) for i in range(0, len(X), ROWS)]
        self.learn(namespace(*parts).concat(parts), np.asarray(y))
        self.solution = None
        return self

    def consolidate(self) -> Self:
        """Solve now, rather than at the first prediction."""
        if self.solution is None:
            self.solution = self.solve()
        return self

    def predict(self, X: Samples) -> np.ndarray:
        """Return the class of each sample."""
        self.consolidate()
        best = []
        for start in range(0, len(X), ROWS):
            scores = self.scores(self.extractor_.transform(X[start : start + ROWS]))
            best.append(to_numpy(namespace(scores).argmax(scores, axis=1)))
        return np.asarray(np.array(self.labels)[np.concatenate(best)])

    def twin(self) -> Self:
        """Return a learner that has learned nothing but shares this one's fixed extractor."""
        twin = copy.copy(self)
        twin.start(self.extractor_.dimension)
        return twin

    @property
    def order_free(self) -> bool:
        """Whether the same tasks in any other order would have led to the same answers."""
        return self.follows_from_sums and not self.extractor_.sees_task

    def memory(self) -> MemoryUse:
        """Return the size of extractor and sums."""
        arrays = {**self.extractor_.state(), **self.kept()}
        count = sum(model_file.numbers(name, array) for name, array in arrays.items())
        return MemoryUse(4 * count / MEGABYTE, backbone_mb=self.extractor_.referred_mb)

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "solution": None}


def solve_ridge(matrix: Array, rhs: Array, ridge: float) -> Array:
    """Return ``(matrix + ridge I)^-1 rhs`` for a symmetric matrix without negative eigenvalues.

    Examples
    --------
    >>> solve_ridge(np.array([[3.0]]), np.array([[8.0]]), ridge=1.0)
    array([[2.]])
    """
    factor = cholesky(matrix, ridge)
    if factor is not None:
        return solve_by_factor(factor, rhs)
    xp = namespace(matrix)  # rounding made an eigenvalue negative
    identity = xp.eye(len(matrix), dtype=matrix.dtype, device=device_of(matrix))
    return xp.linalg.solve(matrix + ridge * identity, rhs)


def one_hot(y: np.ndarray, labels: list[Label], device: Device) -> Array:
    """Return one column per label, float64: one for the samples of that class, else zero.

    Examples
    --------
    >>> one_hot(np.array(["b", "a"]), ["a", "b", "c"], "cpu")
    array([[0., 1., 0.],
           [1., 0., 0.]])
    """
    return to_device((y[:, None] == np.array(labels)).astype(float), device)


def gaussian(sums: RunningSums) -> tuple[Array, Array]:
    """Return the class means, by sorted labels, and the pooled covariance around them.

    Examples
    --------
    >>> sums = RunningSums(1).add(np.array([[1.0], [3.0], [8.0]]), np.array([0, 0, 5]))
    >>> means, covariance = gaussian(sums)
    >>> means.tolist(), covariance.round(3).tolist()
    ([[2.0], [8.0]], [[0.667]])
    """
    counts = np.array([float(sums.counts[label]) for label in sums.labels])
    on_device = to_device(counts, sums.device)
    means = sums.cross(sums.labels).T / on_device[:, None]
    return means, (sums.gram - means.T * on_device @ means) / sums.n_samples


def unit(rows: Array) -> Array:
    """Return rows scaled to a length of one; rows of zeros stay as they are.

    Examples
    --------
    >>> unit(np.array([[3.0, 4.0]]))
    array([[0.6, 0.8]])
    """
    xp = namespace(rows)
    lengths = xp.linalg.vector_norm(rows, axis=1, keepdims=True)
    return rows / xp.where(lengths > 0, lengths, 1.0)
