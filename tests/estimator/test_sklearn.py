import pickle
from unittest import SkipTest

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

from clsnet import CLSNet
from clsnet.extractor import Identity

# Checks that end early without a package or setting of their own. No check is expected to fail.
ENDS_EARLY = {
    "check_array_api_input": "array API inputs need SCIPY_ARRAY_API",
    "check_classifier_data_not_an_array": "its second half needs pandas",
    "check_dataframe_column_names_consistency": "needs pandas",
    "check_sample_weights_pandas_series": "needs pandas",
}


def checks():
    for estimator, check in estimator_checks_generator(CLSNet(groups=2, group_size=5)):
        details = "-".join(f"{name}={value}" for name, value in check.keywords.items())
        name = check.func.__name__
        yield pytest.param(estimator, check, name, id=f"{name}-{details}".removesuffix("-"))


# These repeat samples, which an extractor that is fitted to samples would notice.
REPEAT = {f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")}


@pytest.mark.parametrize(("estimator", "check", "name"), checks())
def test_scikit_learn_accepts_it_as_an_estimator(estimator, check, name):
    if name in REPEAT:
        estimator = CLSNet(backbone=Identity("none"), connection="Z")
    try:
        check(estimator)
    except SkipTest:
        assert name in ENDS_EARLY


def test_a_clone_has_the_parameters_and_has_learned_nothing(small, vectors):
    model = small(curvature="low-rank", rank=7, gamma=(1.0, 2.0), terms=(1, 2, 3))
    model.partial_fit(vectors[0].X_train, vectors[0].y_train)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "classifier_")
    assert not hasattr(copy, "extractor_")


def test_parameters_are_set_by_name(small):
    model = small().set_params(connection="Z", ridge=0.5)
    assert (model.connection, model.ridge) == ("Z", 0.5)
    with pytest.raises(ValueError, match="Invalid parameter 'colour'"):
        model.set_params(colour="red")


def test_a_pickled_model_goes_on_as_if_nothing_had_happened(small, vectors):
    model = small(retain="tasks").partial_fit(vectors[0].X_train, vectors[0].y_train)
    copy = pickle.loads(pickle.dumps(model))
    for one in (model, copy):
        one.partial_fit(vectors[1].X_train, vectors[1].y_train).forget(task=0)
    np.testing.assert_array_equal(copy.classes_, model.classes_)
    np.testing.assert_array_equal(copy.classifier_.omega, model.classifier_.omega)


def test_it_works_at_the_end_of_a_pipeline_and_in_its_middle(small, vectors):
    X, y = vectors[0].X_train, vectors[0].y_train
    end = make_pipeline(StandardScaler(), small()).fit(X, y)
    middle = make_pipeline(small(connection="G"), CLSNet(connection="Z")).fit(X, y)
    assert end.score(vectors[0].X_test, vectors[0].y_test) > 0.95
    assert middle.score(vectors[0].X_test, vectors[0].y_test) > 0.9


def test_it_can_be_searched_over_and_cross_validated(small, digits):
    X = digits.dataset.X_train[:300].reshape(300, -1)
    y = digits.dataset.y_train[:300]
    grid = {"connection": ["Z", "A"], "groups": np.array([1, 3])}
    search = GridSearchCV(small(), grid, cv=2).fit(X, y)
    assert search.best_score_ > 0.8
    assert cross_val_score(small(), X, y, cv=3).min() > 0.8
