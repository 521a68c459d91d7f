"""The fitted attributes of an estimator, and saving it."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from clsnet.classifier.analytic import AnalyticClassifier
from clsnet.classifier.class_weights import ClassWeight
from clsnet.classifier.learned_task import LearnedTask
from clsnet.estimator.labels import label_array
from clsnet.extractor import Extractor
from clsnet.memory import MemoryUse
from clsnet.model import Model


class FittedState(BaseEstimator):  # type: ignore[misc]
    """The attributes of a fitted estimator; all of them are parts of its model."""

    model_: Model
    sample_shape_: tuple[int, ...]
    n_features_in_: int
    class_weight: ClassWeight

    def consolidate(self) -> Self:
        """Compute the weights now, rather than when they are first needed.

        With ``retain="classes"`` the current `class_weight` is used, even if it was different while
        tasks were learned.
        """
        check_is_fitted(self)
        weighed = self.model_.classifier.weighing(self.class_weight)
        self.model_ = replace(self.model_, classifier=weighed).consolidated()
        return self

    @property
    def extractor_(self) -> Extractor:
        """The fixed extractor."""
        return self._fitted.extractor

    @extractor_.setter
    def extractor_(self, extractor: Extractor) -> None:
        self.model_ = replace(self._fitted, extractor=extractor)

    @property
    def classifier_(self) -> AnalyticClassifier:
        """The classifier with weights for everything learned."""
        return self.consolidate().model_.classifier

    @classifier_.setter
    def classifier_(self, classifier: AnalyticClassifier) -> None:
        self.model_ = replace(self._fitted, classifier=classifier)

    @property
    def notes_(self) -> dict[str, Any]:
        """JSON-compatible values, saved with the model; the attribute exists once it is set."""
        notes = self._fitted.notes
        if notes is None:
            raise AttributeError("this model has no notes")
        return notes

    @notes_.setter
    def notes_(self, notes: dict[str, Any]) -> None:
        self.model_ = replace(self._fitted, notes=notes)

    @property
    def classes_(self) -> np.ndarray:
        """Classes known now, in the order in which tasks brought them."""
        check_is_fitted(self)
        return label_array(self.model_.classes)

    @property
    def tasks_(self) -> list[LearnedTask]:
        """Every task learned; a forgotten one has no classes left."""
        check_is_fitted(self)
        return list(self.model_.classifier.tasks)

    @property
    def order_free(self) -> bool:
        """Whether the same tasks in any other order would have led to the same answers."""
        return self._fitted.order_free

    def memory(self) -> MemoryUse:
        """Return the size of the model; every number counts with 32 bits, as in the paper."""
        return self.consolidate().model_.memory()

    def twin(self) -> Self:
        """Return a model that has learned nothing but shares this one's fixed extractor."""
        check_is_fitted(self)
        model: Self = clone(self)
        shared = ("n_features_in_", "feature_names_in_", "sample_shape_")
        model.__dict__.update({k: v for k, v in vars(self).items() if k in shared})
        model.model_ = Model.blank(self.extractor_, self.sample_shape_, self.get_params(deep=False))
        return model

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __getstate__(self) -> dict[str, Any]:
        """Compute the weights first, so that a copy gives the same answers."""
        if hasattr(self, "model_"):
            self.consolidate()
        return dict(super().__getstate__())

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        self_contained: bool = False,
        predicts_only: bool = False,
    ) -> None:
        """Write the model to one file; an existing file survives any failure.

        Parameters
        ----------
        path
            The file.
        self_contained
            Store a frozen network's weights, too, so that the file needs no other file. A model
            that was loaded from such a file always does.
        predicts_only
            Store the weights in single precision and no sums. The file is smaller; its model can
            predict, but neither learn nor forget.
        """
        whole = replace(self.consolidate()._whole, parameters=self.get_params(deep=False))
        whole = whole.for_predicting() if predicts_only else whole
        whole.save(path, self_contained=self_contained)

    @property
    def _whole(self) -> Model:
        """The model with the names of its columns."""
        names = getattr(self, "feature_names_in_", None)
        return replace(self._fitted, feature_names=None if names is None else names.tolist())

    @property
    def _fitted(self) -> Model:
        """The model; `AttributeError` before the first task, as for every fitted attribute."""
        try:
            return self.model_
        except AttributeError:
            raise AttributeError("this model has not learned anything yet") from None
