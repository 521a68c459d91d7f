"""Merging estimators that learned separately."""

from __future__ import annotations

import functools
import operator
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from sklearn.utils.validation import check_is_fitted

from clsnet.errors import ClsnetError
from clsnet.estimator.clsnet import CLSNet
from clsnet.estimator.loading import load
from clsnet.model import Model
from clsnet.storage.model_file import SUMS, form_of
from clsnet.sums import Sums


def merge(*models: CLSNet) -> CLSNet:
    """Return the model that would have learned the data of all models, exactly.

    Sums add up, so no sample is exchanged, and the models themselves do not change. Classes of the
    same name become one. A sample that two models have learned counts twice, because the sums
    cannot tell. Models with different features or settings are refused, and so is a model that is
    given twice.

    Parameters
    ----------
    models
        Two or more models with the same extractor, ``curvature="full"``, ``gamma=1``, terms without
        3 and no forgetting policy. Models of photos keep digests, which identify photos that two of
        them learned: use `clsnet.photos.merge` for these.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from clsnet import CLSNet, merge
    >>> X, y = load_digits(return_X_y=True)
    >>> here, there = CLSNet().fit(X[:900], y[:900]), CLSNet().fit(X[900:], y[900:])
    >>> both = CLSNet().fit(X, y)
    >>> bool((merge(here, there).predict(X) == both.predict(X)).all())
    True
    """
    if len(models) < 2:
        raise ClsnetError("give two models or more to merge.")
    for model in models:
        check_is_fitted(model)
        if "photos" in (model.model_.notes or {}):
            raise ClsnetError("models of photos are merged by clsnet.photos.merge.")
    if len({id(model) for model in models}) < len(models):
        raise ClsnetError("a model is given twice: what it learned would count twice.")
    found = models[0].twin()
    found.model_ = functools.reduce(Model.merged, map(_weighed, models))
    return found.consolidate()


def merge_sums(files: Sequence[Path], out: Path, allow: str | Collection[str] = ()) -> list[str]:
    """Add up files of sums; if one of the files is a model, it learns the sums as one task.

    Parameters
    ----------
    files
        Two or more, of which at most one is a model.
    out
        The file to write.
    allow
        Networks that the model may refer to; see `clsnet.load`.

    Returns
    -------
    list of str
        Lines that describe what was done.
    """
    if len({file.resolve() for file in files}) < max(2, len(files)):
        raise ClsnetError("name two files or more, each once.")
    models = [file for file in files if form_of(file) is not SUMS]
    if len(models) > 1:
        raise ClsnetError(f"{models[0]} and {models[1]} are no sums; merge models first.")
    total = functools.reduce(operator.add, map(Sums.load, (f for f in files if f not in models)))
    told = [f"{len(files) - len(models)} files of sums: {total}"]
    if not models:
        total.save(out)
        return [*told, f"Sums: {out}"]
    model = load(models[0], allow=allow)
    if "photos" in (model.model_.notes or {}):
        raise ClsnetError(f"{models[0]} is a model of photos, which learns photos, not sums.")
    model.learn_sums(total).save(out)
    return [*told, f"{models[0]} has learned them.", f"Model: {out}"]


def _weighed(model: CLSNet) -> Model:
    """Return the model of an estimator with its current class weights."""
    weighed = model.model_.classifier.weighing(model.class_weight)
    return replace(model._whole, classifier=weighed)
